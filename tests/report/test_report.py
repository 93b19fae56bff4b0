"""What the report is made of: reading, figures, samples, the page."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.cli.helpers import invoke, plain
from tests.report.results import SOURCE, data_file, data_of, fault, result_of, row_of, written
from verifier.cli.common import ExitCode
from verifier.data import result_to_dict
from verifier.data.outputs import to_parquet
from verifier.data.reading import read_results
from verifier.errors import DataError
from verifier.report import add_samples, collect, render
from verifier.report.figures import effective_rows, wilson
from verifier.report.page import _templates, embedded
from verifier.report.samples import tokens
from verifier.types import Status

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> & \ud83d"


def dicts(*pairs):
    return [result_to_dict(result, row) for row, result in pairs]


# ---------------------------------------------------------------- figures


def test_faults_and_broken_data_are_in_no_rate():
    found = collect(
        dicts(
            (row_of(1, "a"), result_of()),
            (row_of(2, "b"), result_of(Status.WRONG_ANSWER)),
            (row_of(3, "c"), fault()),
        )
    )
    assert (found.rows, found.scored, found.passed, found.infra, found.broken) == (3, 2, 1, 1, 0)
    summary = found.data()["summary"]
    assert summary["mean"] == 0.75
    assert summary["solved"] == 1
    assert 0 < summary["low"] < 0.5 < summary["high"] < 1


def test_wilson_is_the_textbooks():
    low, high = wilson(8, 10, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0, 0) == (0.0, 1.0)
    assert wilson(5, 5, 5)[1] == 1.0
    assert wilson(5, 5, 5)[0] < 0.6


def test_samples_that_all_say_the_same_are_one_row_a_problem():
    alike = [(4, 4), (4, 0)] * 10
    assert effective_rows(alike) == pytest.approx(20, rel=0.06)
    assert effective_rows([(4, 2)] * 20) == 80
    assert effective_rows([(4, 4)] * 20) == 20


def test_rare_verdicts_are_kept_whole_though_common_ones_are_many():
    pairs = [(row_of(i, f"w{i}"), result_of(Status.WRONG_ANSWER)) for i in range(50)]
    found = collect(
        dicts(*pairs, (row_of(60, "slow"), result_of(Status.TIME_LIMIT))), max_failures=3
    )
    assert [one["id"] for one in found.failures.values()] == ["w0", "w1", "w2", "slow"]
    assert found.left_out == 47


def test_the_table_ends_and_the_figures_go_on():
    found = collect(dicts(*((row_of(i, f"r{i}"), result_of()) for i in range(5))), max_rows=2)
    assert found.columns["id"] == ["r0", "r1"]
    assert found.passed == 5
    assert "first 2 of 5 rows" in found.notes[0]


# ---------------------------------------------------------------- samples


def test_input_expected_and_program_come_from_the_data():
    row = row_of(1, "a")
    found = collect(dicts((row, result_of(Status.WRONG_ANSWER))))
    add_samples(found, [row])
    (failure,) = found.failures.values()
    assert "".join(text for _, text in failure["code"]) == SOURCE
    assert ["k", "def "] in failure["code"]
    (case,) = failure["cases"]
    assert (case["input"], case["expected"]) == ("2\n", "4\nend\n")
    assert case["actual"] == "4\nfin\n"
    assert found.notes == []


def test_rows_of_one_id_are_told_apart_by_line():
    rows = [row_of(1, "a"), row_of(2, "a")]
    found = collect(dicts(*((row, result_of(Status.WRONG_ANSWER)) for row in rows)))
    add_samples(found, rows[1:])
    first, second = found.failures.values()
    assert "code" not in first
    assert "code" in second
    assert "1 of 2 failures" in found.notes[0]


def test_any_language_keeps_its_text():
    for language, source in (("cpp", "int main() {}\n"), ("no such", "x\n"), ("java", "\n\n")):
        assert "".join(text for _, text in tokens(source, language)) == source


# ---------------------------------------------------------------- the page


def test_no_text_ends_the_data():
    text = embedded({"x": HOSTILE})
    assert not set("<>&") & set(text)
    assert text.isascii()
    assert json.loads(text) == {"x": HOSTILE}
    with pytest.raises(ValueError, match="JSON"):
        embedded(float("nan"))


def test_titles_facts_and_notes_are_escaped():
    page = render(
        "report.html", title=HOSTILE, data=[HOSTILE], facts={HOSTILE: HOSTILE}, notes=[HOSTILE]
    )
    assert page.count("<script") == 2  # the data's and the page's own
    assert page.count("</script>") == 2
    assert "<img" not in page
    page.encode()


def test_the_page_names_no_other_place():
    page = render("report.html", title="t", data=[])
    assert re.findall(r"""(?:src|href)\s*=|url\(|@import|fetch\(""", page) == []
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}


def test_without_jinja2_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    _templates.cache_clear()
    with pytest.raises(DataError, match=r"sandbox-verifier\[report\]"):
        render("report.html", title="t", data=[])


# ---------------------------------------------------------------- reading


def test_a_broken_last_line_is_a_note(tmp_path):
    path = written(tmp_path / "r.jsonl", [(row_of(1, "a"), result_of()), (row_of(2, "b"), fault())])
    path.write_bytes(path.read_bytes()[:-40])
    notes = []
    assert [row["id"] for row in read_results(path, notes)] == ["a"]
    assert "line 2" in notes[0]


def test_any_other_broken_line_is_an_error(tmp_path):
    path = written(tmp_path / "r.jsonl", [(row_of(1, "a"), result_of())])
    path.write_text("{\n" + path.read_text())
    with pytest.raises(DataError, match=r"r\.jsonl:1: not a result"):
        list(read_results(path, []))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("{\n", ":1: not a result"),
        ("[1]\n", ":1: not a result"),
        ('{"id": "a", "outcome": "SCORED", "score": 1}\n', "another version: 'status' is missing"),
        ("PAR1\n", "not a whole Parquet file"),
    ],
)
def test_what_is_no_results_file_says_so(tmp_path, text, said):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    done = invoke("report", path, "-o", tmp_path / "r.html")
    assert done.exit_code == ExitCode.USAGE
    assert said in plain(done.stderr)
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("there", "instead", "said"),
    [
        ('"memory_bytes"', '"memory"', "a case: a result of another version: 'memory_bytes'"),
        ('"stdout":""', '"stdout":null', "'stdout' is None"),
        ('"score":1.0', '"score":NaN', "'score' is nan"),
        ('"timing":{"cpu_time_s":0.2', '"timing":{"cpu_time_s":"x"', "timing: a result"),
        ('"cases":[', '"cases":[7,', "a case: a result of another version"),
    ],
)
def test_a_field_of_another_version(tmp_path, there, instead, said):
    path = written(tmp_path / "r.jsonl", [(row_of(1, "a"), result_of())])
    text = path.read_text()
    assert there in text
    path.write_text(text.replace(there, instead))
    with pytest.raises(DataError, match=said):
        list(read_results(path, []))


@pytest.fixture
def both(tmp_path):
    """The same results as lines and as columns."""
    pytest.importorskip("pyarrow")
    pairs = [
        (row_of(1, "a"), result_of()),
        (row_of(2, HOSTILE), result_of(Status.WRONG_ANSWER, stdout=b"\xff[")),
        (row_of(3, "c"), fault()),
    ]
    lines = written(tmp_path / "r.parquet.jsonl", pairs)
    to_parquet(lines, tmp_path / "r.parquet")
    return lines, tmp_path / "r.parquet"


def test_columns_are_read_as_lines_are(both):
    lines, columns = (list(read_results(path)) for path in both)
    lines[1]["id"] = lines[1]["problem"] = HOSTILE[:-1] + "?"  # a column holds no half of a pair
    assert columns == lines


def test_every_reader_of_results_takes_columns(both, tmp_path):
    lines, columns = both
    assert invoke("report", columns, "-o", tmp_path / "r.html").exit_code == ExitCode.OK
    assert data_of((tmp_path / "r.html").read_text())["summary"]["infra"] == 1
    assert "the runner died" in invoke("show", columns, "c").stdout
    done = invoke("compare", lines, columns)
    assert done.exit_code == ExitCode.OK
    assert "1 rows in both: 0 better, 0 worse" in plain(done.stdout)


def test_columns_of_another_schema(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"prompt": ["a"], "score": [1.0]}), path)
    for args in (("show", path, "a"), ("compare", path, path), ("report", path, "-o", "x.html")):
        done = invoke(*args)
        assert done.exit_code == ExitCode.USAGE
        assert "rows.parquet:1: not a result of `verifier score`" in plain(done.stderr)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(path.read_bytes()[:-20])
    assert "not a whole Parquet file" in plain(invoke("show", cut, "a").stderr)


# ---------------------------------------------------------------- the command


def test_the_command(tmp_path):
    rows = [row_of(1, "a"), row_of(2, HOSTILE)]
    results = (result_of(), result_of(Status.WRONG_ANSWER))
    path = written(tmp_path / "r.jsonl", zip(rows, results, strict=True))
    data = data_file(tmp_path / "rows.jsonl", rows)
    config = {"version": "9.9", "backend": "docker"}
    path.with_name("r.jsonl.config.json").write_text(json.dumps(config))
    done = invoke("report", path, "-o", tmp_path / "r.html", "--data", data, "--title", "A run")
    assert done.exit_code == ExitCode.OK, done.output
    page = (tmp_path / "r.html").read_text()
    assert "<h1>A run</h1>" in page
    assert "<dd>docker</dd>" in page
    made = data_of(page)
    assert made["columns"]["id"] == ["a", HOSTILE]
    assert made["failures"]["1"]["cases"][0]["expected"] == "4\nend\n"


def test_data_that_is_not_there(tmp_path):
    path = written(tmp_path / "r.jsonl", [(row_of(1, "a"), result_of())])
    done = invoke("report", path, "-o", tmp_path / "r.html", "--data", tmp_path / "no.jsonl")
    assert done.exit_code == ExitCode.USAGE
    assert "no.jsonl does not exist" in plain(done.stderr).replace("\n", "")
    assert not (tmp_path / "r.html").exists()


def test_nothing_is_overwritten(tmp_path):
    path = written(tmp_path / "r.jsonl", [(row_of(1, "a"), result_of())])
    before = path.read_bytes()
    assert invoke("report", path, "-o", path).exit_code == ExitCode.USAGE
    assert path.read_bytes() == before
    done = invoke("report", path, "-o", tmp_path / "absent" / "r.html")
    assert done.exit_code == ExitCode.USAGE
    assert "cannot write" in plain(done.stderr)
