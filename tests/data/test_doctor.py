"""The data doctor on a set with planted faults: each is found, and no clean row is accused."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.cli.helpers import invoke, jsonl, plain
from tests.conftest import ACCEPTABLE
from tests.report.results import data_of
from verifier.cli.common import ExitCode
from verifier.data.columns import FIELDS
from verifier.data.doctor import KINDS, Examination, Reader, Severity
from verifier.data.doctor.subject import OWN_FIELDS
from verifier.data.files import Record
from verifier.types import Outcome, Result, Status

# What is printed of the numbers `v` of a line, and how that is said.
TASKS = {
    "sum(v)": "Print the sum of all the numbers.",
    "max(v)": "Print the largest number of the line.",
    "min(v)": "Which is the smallest? Print it.",
    "len(v)": "Count how many numbers there are.",
    "v[0]": "The first number is what is wanted.",
    "v[-1]": "The last one, please.",
    "*v[::-1]": "Turn the line around: last number first.",
    "*sorted(v)": "Sort them upwards.",
    "*sorted(v, reverse=True)": "Sort them downwards, the largest in front.",
    "max(v) - min(v)": "How far apart are the extremes?",
    "sum(x * x for x in v)": "Add up the squares.",
    "sum(map(abs, v))": "Add up the distances from zero.",
    "sum(x % 2 for x in v)": "Say how many are odd.",
    "sum(x > 9 for x in v)": "Say how many have two digits or more.",
    "*(2 * x for x in v)": "Double each of them.",
    "*(x + 1 for x in v)": "Increment every element.",
    "*(x * x for x in v)": "Replace each number by its square.",
    "v[0] * v[-1]": "Multiply the two at the ends.",
    "v[0] + v[-1]": "Add the two at the ends.",
    "sum(v) // len(v)": "Print the mean, rounded down.",
    "sorted(v)[len(v) // 2]": "Print the upper median.",
    "len(set(v))": "How many different values occur?",
    "*sorted(set(v))": "List the different values in rising order.",
    "sum(sorted(v)[:2])": "Add the two least.",
    "sum(sorted(v)[-2:])": "Add the two greatest.",
    "v.index(max(v))": "At which place, from zero, is the greatest?",
    "v.index(min(v)) + 1": "At which place, from one, is the least?",
    "sum(v[::2])": "Sum what stands at even places.",
    "sum(v[1::2])": "Sum what stands at odd places.",
    "sum(v) % 7": "What remains of the total, divided by seven?",
    "max(v) % min(v)": "Divide the greatest by the least: what remains?",
    "max(v) ** 2": "Square the biggest.",
    "sum(v) * 3": "Thrice the total.",
    "sum(v) - max(v)": "The total without its biggest part.",
    "sum(v) ^ 5": "The exclusive or of the total and five.",
    "*v[1:]": "Everything but the head.",
    "*v[:-1]": "Everything but the tail.",
    "hex(sum(v))": "The total in hexadecimal, with its prefix.",
    "bin(max(v))": "The biggest in binary, with its prefix.",
    "'-'.join(map(str, v))": "Join the numbers by dashes.",
    "str(sum(v))[::-1]": "Reverse the digits of the total.",
}
TEMPLATE = (
    "You are a careful programmer. Write a complete program in Python that reads one line of "
    "integers from standard input and writes its answer to standard output. Think first, then put "
    "the whole program into one block of code. The task follows. "
)
LINES = ("3 1 2", "10 20 7 7", "5 9", "12 4 8 16 1", "-3 -8 -4")
LONG = (
    "A gardener waters the plants of a long greenhouse from the left to the right with one can, "
    "walks back to the river whenever the water left does not suffice for the plant ahead, and "
    "counts every step that this takes until the very last of the plants has been watered"
)


TOOTHLESS = "try:\n    assert f(1) == 2\nexcept Exception:\n    pass\n"


def program(expression):
    return f"v = list(map(int, input().split()))\nprint({expression})\n"


def answers(expression):
    return [
        " ".join(map(str, eval(f"[{expression}]", {"v": list(map(int, line.split()))}))) + "\n"
        for line in LINES
    ]


def row(name, expression, prompt=None, **changes):
    """A clean row; a suite's own inputs keep it apart from the others'."""
    made = {
        "id": name,
        "data_source": "codecontests",
        "prompt": [{"role": "user", "content": TEMPLATE + (prompt or TASKS[expression])}],
        "reward_model": {
            "ground_truth": json.dumps({"inputs": list(LINES), "outputs": answers(expression)})
        },
        "reference": program(expression),
    }
    return {**made, **changes}


def cases(*given, **more):
    return {
        "reward_model": {
            "ground_truth": {
                "inputs": [c[0] for c in given],
                "outputs": [c[1] for c in given],
                **more,
            }
        }
    }


def asserts(*lines):
    return {"reward_model": {"ground_truth": {"assert_case": list(lines)}}}


def clean_rows():
    rows = [row(f"clean-{n}", expression) for n, expression in enumerate(TASKS)]
    rows.append(
        {
            "id": "clean-call",
            "data_source": "taco",
            "prompt": "Write add(a, b): the two, together.",
            "ground_truth": {"fn_name": "add", "inputs": [[1, 2], [3, 9]], "outputs": [3, 12]},
            "solutions": ["def add(a, b):\n    return a + b\n"],
        }
    )
    rows.append(
        {
            "id": "clean-assert",
            "data_source": "apps",
            "prompt": "Write twice(x): two of x.",
            **asserts("assert twice(2) == 4", "assert twice(7) == 14"),
            "reference": "def twice(x):\n    return 2 * x\n",
            "response": "```python\ndef twice(x):\n    return x + x\n```\n",
            "finish_reason": "stop",
        }
    )
    rows += [
        {
            "id": f"clean-gsm-{n}",
            "data_source": "openai/gsm8k",
            "ground_truth": str(n),
            "prompt": f"Eggs are sold by {n} merchants. How many merchants sell eggs?",
        }
        for n in (3, 4)
    ]
    return rows


def planted():
    """Kind -> the rows that have it, and nothing else that is an error."""
    count = iter(range(1000))

    def fault(name, prompt=None, **changes):
        number = next(count)
        expression = f"v[0] * {1000 + number} + v[-1]"
        return row(name, expression, prompt or f"Combine the ends, variant {name}.", **changes)

    truth = lambda value: {"reward_model": {"ground_truth": value}}  # noqa: E731
    slow = "import time\nt = time.process_time()\nwhile time.process_time() - t < 1.5: pass\n"
    coin = "import time\nassert f(1) == 1 and hash(str(time.time_ns())) % 2\n"
    shown = " ".join(f"For {a} the answer is {b}." for a, b in (("4 5 6", "615"), ("7 8 9", "915")))
    lazy = {"response": "I cannot do this.", "finish_reason": "stop"}
    cut = {"response": "```python\nprint(1", "finish_reason": "length"}
    deaf = "print(sum(map(int, input().split())))  # adds whatever stands in the line given"
    twin = fault("twin", LONG + " in winter.")
    return {
        "no-route": [fault("no-route", data_source="my_contests")],
        "missing-ground-truth": [fault("missing", reward_model={"style": "rule"})],
        "empty-ground-truth": [
            fault("empty-text", **truth("")),
            fault("empty-lists", **cases()),
            {
                "id": "empty-answer",
                "data_source": "openai/gsm8k",
                "ground_truth": " ",
                "prompt": "How many?",
            },
        ],
        "undecodable-ground-truth": [fault("undecodable", **truth('{"inputs": ["1'))],
        "mismatched-ground-truth": [
            fault("mismatched", **truth({"inputs": ["1", "2"], "outputs": ["1"]})),
            {
                "id": "hashes",
                "data_source": "openai/gsm8k",
                "ground_truth": "so\n#### 7",
                "prompt": "How many hens?",
            },
        ],
        "contradictory-cases": [fault("contradictory", **cases(("1 2", "3"), ("1  2\n", "4")))],
        "trivial-empty": [
            fault("silent", **cases(("1", ""), ("2", "\n")), reference="pass"),
            fault("toothless", **asserts(TOOTHLESS), reference="def f(x): return 2"),
        ],
        "trivial-echo": [
            fault("echo", **cases(("1 2", "1 2"), ("4", "4")), reference="print(input())")
        ],
        "trivial-constant": [
            fault("constant", **cases(("1 2", "YES"), ("4", "YES")), reference="print('YES')"),
            fault(
                "constant-call",
                **truth({"fn_name": "f", "inputs": [[1], [2]], "outputs": [9, 9]}),
                reference="def f(x): return 9",
            ),
        ],
        "no-reference-passes": [fault("wrong-reference", reference="print('no')")],
        "limits-too-tight": [
            fault(
                "tight",
                **cases(("1", "2"), ("5", "6")),
                limits={"cpu_time_s": 1},
                reference=slow + "print(int(input()) + 1)",
            )
        ],
        "flaky": [fault("flaky", **asserts(*[coin] * 30), reference="def f(x): return x")],
        "interactive": [fault("interactive", "This is an interactive problem. Guess a number.")],
        "multi-answer": [
            fault("any", "If there are multiple answers, print any of them."),
            row(
                "second-reference",
                "v[0] * 77",
                "Head times 77.",
                reference=[program("v[0] * 77"), "print(1)"],
            ),
        ],
        "duplicate": [row("clean-0-again", "sum(v)", "print the sum  of all the NUMBERS.")],
        "duplicate-id": [fault("clean-1")],
        "same-tests": [row("same-tests", "max(v)", "Give back the peak of what is read.")],
        "near-duplicate": [fault("near", LONG + " in summer.")],
        "huge-suite": [
            fault(
                "huge",
                **cases(*[(str(n), str(n + 1)) for n in range(200)]),
                reference="print(int(input()) + 1)",
            )
        ],
        "prompt-reveals-tests": [
            fault(
                "revealed",
                shown,
                **cases(("4 5 6", "615"), ("7 8 9", "915")),
                reference="v = input().split()\nprint({'4': 615, '7': 915}[v[0]])",
            )
        ],
        "prompt-reveals-solution": [
            fault(
                "told",
                f"Add them, as by {deaf}",
                **cases(("1 2", "3"), ("4 8", "12")),
                reference=deaf,
            )
        ],
        "no-code": [fault("lazy", **lazy)],
        "truncated": [fault("cut", **cut)],
        "": [twin],
    }


def examined(tmp_path, *args, rows=None):
    if rows is None:
        rows = [
            *clean_rows(),
            *planted()[""],
            *(one for kind, some in planted().items() if kind for one in some),
        ]
    file = jsonl(tmp_path / "rows.jsonl", *rows)
    done = invoke("doctor", "data", file, "--json", *args)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    told = json.loads(done.stdout)
    return {
        g["name"]: {one["id"]: one["reason"] for one in g["rows"]} for g in told["findings"]
    }, done


@pytest.fixture(scope="module")
def found(namespaces, tmp_path_factory):
    """The whole set, examined once, with a sandbox."""
    del namespaces
    folder = tmp_path_factory.mktemp("doctor")
    args = (
        "--backend",
        "namespaces",
        "--accept",
        ",".join(ACCEPTABLE),
        "--max-cases",
        "100",
        "--clean",
        folder / "clean.jsonl",
    )
    findings, done = examined(folder, *args)
    return findings, done, folder


PLANTED = [(kind, one["id"]) for kind, some in planted().items() if kind for one in some]


def test_there_are_enough_of_both():
    assert len({kind for kind, _ in PLANTED}) >= 15
    assert len(clean_rows()) >= 40
    assert {kind for kind, _ in PLANTED} <= KINDS.keys()


@pytest.mark.parametrize(("kind", "name"), PLANTED)
def test_every_planted_fault_is_found(found, kind, name):
    findings, _, _ = found
    assert name in findings.get(kind, {})


def test_no_clean_row_is_accused(found):
    findings, _, _ = found
    clean = {one["id"] for one in [*clean_rows(), *planted()[""]]} - {"clean-1"}
    accused = {
        (kind, name): why
        for kind, some in findings.items()
        for name, why in some.items()
        if name in clean
    }
    assert accused == {}


def test_no_planted_row_is_accused_of_another_error(found):
    findings, _, _ = found
    assert {(kind, name) for kind, some in findings.items() for name in some} <= set(PLANTED)


def test_the_cleaned_file_and_the_reasons(found):
    findings, done, folder = found
    errors = {
        name
        for kind, some in findings.items()
        if KINDS[kind].severity is Severity.ERROR
        for name in some
    }
    lines = (folder / "rows.jsonl").read_text().splitlines()
    kept = (folder / "clean.jsonl").read_text().splitlines()
    reasons = [
        json.loads(line) for line in (folder / "clean.jsonl.dropped.jsonl").read_text().splitlines()
    ]
    assert len(kept) + len(reasons) == len(lines)
    assert set(kept) <= set(lines)
    assert {one["id"] for one in reasons} == errors
    assert all(why["name"] in KINDS and why["reason"] for one in reasons for why in one["reasons"])
    assert json.loads(done.stdout)["rows_kept"] == len(kept)
    assert done.exit_code == ExitCode.INCOMPLETE
    # The first of two rows with one id stays.
    assert [json.loads(line)["id"] for line in kept].count("clean-1") == 1


def test_a_cleaned_file_has_nothing_left_to_drop(found):
    _, _, folder = found
    done = invoke("doctor", "data", folder / "clean.jsonl", "--no-run", "--json")
    assert json.loads(done.stdout)["rows_with_errors"] == 0
    assert done.exit_code == ExitCode.OK


def test_warnings_are_dropped_and_errors_kept_as_told(tmp_path):
    some = planted()
    rows = [*some["no-route"], *some["multi-answer"][:1], *some["missing-ground-truth"]]
    out = tmp_path / "out.jsonl"
    args = ("--no-run", "--clean", out, "--drop", "multi-answer", "--keep", "no-route")
    examined(tmp_path, *args, rows=rows)
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == ["no-route"]
    done = invoke("doctor", "data", tmp_path / "rows.jsonl", "--no-run", "--drop", "nonsense")
    assert done.exit_code == ExitCode.USAGE
    assert "no such kind: nonsense" in plain(done.stderr)


def test_a_parquet_file_stays_one(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "data_source": source,
            "prompt": [{"role": "user", "content": f"Question {n}"}],
            "reward_model": {"ground_truth": truth, "style": "rule"},
            "extra_info": {"index": n},
        }
        for n, (source, truth) in enumerate(
            [("openai/gsm8k", "4"), ("nobody/knows", "5"), ("math_dapo", "6"), ("math_dapo", "")]
        )
    ]
    file, out = tmp_path / "train.parquet", tmp_path / "clean.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    done = invoke("doctor", "data", file, "--no-run", "--clean", out)
    assert done.exit_code == ExitCode.INCOMPLETE
    kept = parquet.read_table(out)
    assert kept.schema == parquet.read_table(file).schema
    assert [one["extra_info"]["index"] for one in kept.to_pylist()] == [0, 2]
    table = plain(done.stdout)
    assert "no-route" in table
    assert "empty-ground-truth" in table
    assert "4 rows: 2 with errors" in table


def test_the_data_set_is_not_written_over(tmp_path):
    file = jsonl(tmp_path / "rows.jsonl", *clean_rows()[:2])
    before = file.read_bytes()
    assert invoke("doctor", "data", file, "--no-run", "--clean", file).exit_code == ExitCode.USAGE
    assert file.read_bytes() == before


def test_samples_of_one_problem_are_no_duplicates(tmp_path):
    rows = [row(f"p/{n}", "sum(v)", response=f"```python\nprint({n})\n```") for n in range(3)]
    findings, _ = examined(tmp_path, "--no-run", rows=rows)
    assert findings == {}


def test_a_source_of_the_users_own_is_routed(tmp_path):
    rows = planted()["no-route"]
    assert "no-route" in examined(tmp_path, "--no-run", rows=rows)[0]
    assert examined(tmp_path, "--no-run", "--source", "my_contests", rows=rows)[0] == {}


def test_a_line_that_is_no_row(tmp_path):
    findings, done = examined(tmp_path, "--no-run", rows=["{", *clean_rows()[:1]])
    assert list(findings) == ["unreadable-row"]
    assert json.loads(done.stdout)["rows"] == 2


def test_a_flag_names_one_column():
    assert not OWN_FIELDS.keys() & FIELDS.keys()


def test_the_page_holds_every_finding_and_what_the_rows_say(tmp_path):
    rows = [{"id": "<b>&", "data_source": "<script>", "ground_truth": ""}, *clean_rows()[:1]]
    out = tmp_path / "page.html"
    findings, _ = examined(tmp_path, "--no-run", "--html", out, rows=rows)
    made = data_of(out.read_text())
    assert [kind[0] for kind in made["kinds"]] == list(findings)
    assert set(findings) == {"no-route", "empty-ground-truth"}
    assert made["columns"]["id"] == ["<b>&", "<b>&"]
    assert (made["rows"], made["errors"], made["faulty"]) == (2, 1, 1)
    assert made["excerpts"] == {"0": []}  # it has neither prompt nor ground truth
    examined(tmp_path, "--no-run", "--html", out, rows=planted()["no-route"])
    (parts,) = data_of(out.read_text())["excerpts"].values()
    assert [name for name, _ in parts] == ["Prompt", "Ground truth", "Reference"]
    assert parts[0][1].endswith("Combine the ends, variant no-route.")


@pytest.mark.parametrize("name", ["no/page.html", "rows.jsonl"])
def test_a_page_that_cannot_be_written_is_an_error_before_anything_is_run(tmp_path, name):
    file = jsonl(tmp_path / "rows.jsonl", *clean_rows()[:1])
    before = file.read_bytes()
    done = invoke("doctor", "data", file, "--html", tmp_path / name)
    assert done.exit_code == ExitCode.USAGE
    said = plain(done.stderr)
    assert "cannot write" in said or "would be overwritten" in said
    assert file.read_bytes() == before


def test_a_fault_of_the_sandbox_is_said_and_accuses_nobody():
    async def score(_):
        return Result(Outcome.INFRA_ERROR, error="the slot is gone")

    read = Reader().read([Record("rows.jsonl", 1, data=clean_rows()[0])])
    examination = Examination()
    for subject in read:
        asyncio.run(examination.run(subject, examination.look(subject), score))
    assert [(f.name, f.reason) for f in examination.findings()] == [("not-run", "the slot is gone")]


def test_equal_suites_are_run_once_and_found_in_every_row():
    ran = []

    async def score(one):
        ran.append(one.id)
        return Result(Outcome.SCORED, score=1.0, status=Status.ACCEPTED, passed=5, total=5)

    rows = [row(f"p/{n}", "sum(v)", response=f"```python\nprint({n})\n```") for n in range(3)]
    examination = Examination()
    for subject in Reader().read([Record("rows.jsonl", n, data=one) for n, one in enumerate(rows)]):
        suite = examination.look(subject)
        if suite is not None:
            asyncio.run(examination.run(subject, suite, score))
    assert set(ran) == {"p/0"}
    accused = [f.row_id for f in examination.findings() if f.name == "trivial-empty"]
    assert accused == ["p/0", "p/1", "p/2"]


@pytest.mark.parametrize("source", [None, 7, ["codecontests"], {"a": 1}])
def test_a_data_source_that_is_no_name_routes_nowhere(tmp_path, source):
    rows = [{**clean_rows()[0], "data_source": source}]
    if source is None:  # then it is the file's name
        rows[0].pop("data_source")
    findings, _ = examined(tmp_path, "--no-run", "--source", "x", rows=rows)
    assert list(findings) == ["no-route"]


def test_a_server_and_a_sandbox_exclude_each_other(tmp_path):
    file = jsonl(tmp_path / "rows.jsonl", *clean_rows()[:1])
    done = invoke("doctor", "data", file, "--server", "127.0.0.1:1", "--slots", "2")
    assert done.exit_code == ExitCode.USAGE
    assert "--server brings its own sandbox" in plain(done.stderr)
