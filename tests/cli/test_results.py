"""`show`, `compare` and `replay`."""

from __future__ import annotations

import json

import pytest

from tests.cli.helpers import invoke, jsonl, plain
from verifier.cli.common import ExitCode

CODE = "```python\nprint(2 * int(input()))\n```\n"


def row(name, outputs):
    truth = {"inputs": ["1\n", "2\n"], "outputs": outputs}
    return {"id": name, "data_source": "s", "response": CODE, "ground_truth": truth}


@pytest.fixture
def scored(tmp_path, sandbox):
    rows = jsonl(tmp_path / "rows.jsonl", row("right", ["2", "4"]), row("half", ["2", "[5]"]))
    out = tmp_path / "results.jsonl"
    assert invoke("score", rows, "-o", out).exit_code == ExitCode.OK
    return rows, out


@pytest.fixture
def columns(tmp_path, sandbox):
    """The same, as Parquet."""
    pytest.importorskip("pyarrow")
    rows = jsonl(tmp_path / "rows.jsonl", row("right", ["2", "4"]), row("half", ["2", "[5]"]))
    out = tmp_path / "results.parquet"
    assert invoke("score", rows, "-o", out).exit_code == ExitCode.OK
    return rows, out


def test_one_result(scored):
    _, out = scored
    done = invoke("show", out, "half")
    assert done.exit_code == ExitCode.OK, done.output
    said = plain(done.stdout)
    assert "half: WRONG_ANSWER, score 0.5, 1 of 2 cases passed" in said
    assert "WRONG_ANSWER" in said
    assert "[5]" in said
    assert json.loads(invoke("show", out, "half", "--json").stdout)["id"] == "half"
    assert invoke("show", out, "absent").exit_code == ExitCode.USAGE


def test_what_a_program_printed_cannot_drive_the_terminal(scored):
    _, out = scored
    out.write_text(out.read_text().replace('"4\\n"', '"\\u001b[2J[red]4\\n"'))
    done = invoke("show", out, "half")
    assert "\x1b[2J" not in done.stdout
    assert r"\x1b[2J[red]4\n" in done.stdout


def test_two_files(scored, tmp_path, sandbox):
    rows, out = scored
    other = tmp_path / "other.jsonl"
    jsonl(rows, row("right", ["2", "4"]), row("half", ["2", "4"]))
    invoke("score", rows, "-o", other)
    done = invoke("compare", out, other)
    assert done.exit_code == ExitCode.INCOMPLETE
    assert "2 rows in both: 1 better, 0 worse" in done.stdout
    assert "half: WRONG_ANSWER 0.5 -> ACCEPTED 1" in done.stdout
    assert json.loads(invoke("compare", out, other, "--json").stdout)["gained"] == 1
    assert invoke("compare", out, out).exit_code == ExitCode.OK


def test_a_file_that_is_none_of_ours(scored):
    rows, out = scored
    done = invoke("compare", out, rows)
    assert done.exit_code == ExitCode.USAGE
    assert f"{rows}:1: not a result" in plain(done.stderr)


def test_a_row_again(scored, sandbox):
    rows, out = scored
    done = invoke("replay", out, "half")
    assert done.exit_code == ExitCode.OK, done.output
    assert "the verdict held" in done.stdout
    jsonl(rows, row("right", ["2", "4"]), row("half", ["2", "4"]))
    done = invoke("replay", out, "half", "--json")
    assert done.exit_code == ExitCode.INCOMPLETE
    said = json.loads(done.stdout)
    assert (said["held"], said["before"]["score"], said["after"]["score"]) == (False, 0.5, 1.0)


def test_columns_are_shown_compared_and_run_again_too(columns):
    rows, out = columns
    assert "half: WRONG_ANSWER, score 0.5" in invoke("show", out, "half").stdout
    assert invoke("compare", out, out.with_suffix(".parquet.jsonl")).exit_code == ExitCode.OK
    assert invoke("replay", out, "half").exit_code == ExitCode.OK
    jsonl(rows, row("right", ["2", "4"]), row("half", ["2", "4"]))
    assert invoke("replay", out, "half").exit_code == ExitCode.INCOMPLETE


def test_a_row_that_cannot_be_found_again(scored):
    rows, out = scored
    rows.unlink()
    done = invoke("replay", out, "half")
    assert done.exit_code == ExitCode.USAGE
    out.with_name("results.jsonl.config.json").unlink()
    done = invoke("replay", out, "half")
    assert done.exit_code == ExitCode.USAGE
    assert "is needed to find the rows" in plain(done.stderr)
