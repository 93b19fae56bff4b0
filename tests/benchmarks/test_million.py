"""The checks of the million rows find what they are to find."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmarks.million import compare, report, rows
from verifier.data import Columns, Journal, Row, columns_of, records
from verifier.testcases import load_suite


@pytest.mark.parametrize("suffix", rows.FORMATS)
def test_every_kind_of_file_has_the_same_rows(tmp_path, suffix):
    path = tmp_path / f"rows.{suffix}"
    wanted = rows.write(path, 200, 3)
    assert wanted == Counter(ACCEPTED=156, WRONG_ANSWER=32, NO_CODE=8, INVALID_SUITE=4)
    columns = Columns(None, None, "x")
    columns.check(columns_of(path))
    read = [row for record in records(path) for row in columns.rows(record)]
    assert [row.id for row in read] == [rows.row(number, 3)[0]["id"] for number in range(200)]
    good = [row for row in read if isinstance(row, Row)]
    assert len(good) == 198
    assert len(load_suite(good[0].ground_truth).cases) == 3


def line(number, **changes):
    case = {"status": "ACCEPTED", "stdout": "1\n", "memory_bytes": number}
    case |= dict.fromkeys(("cpu_time_s", "wall_time_s", "queue_s"), 0.5)
    row = {"id": f"r{number}", "line": number, "status": "ACCEPTED", "outcome": "SCORED"}
    row |= {"cases": [case], "timing": {"total_s": 1}, "cached": False}
    return json.dumps({**row, **changes}).encode() + b"\n"


def test_rows_differ_in_what_lasts_alone(tmp_path):
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_bytes(line(1) + line(2) + line(3))
    other.write_bytes(line(1, timing={"total_s": 9}, cached=True) + line(2) + line(3))
    assert compare.differences(one, other) == (0, [])
    other.write_bytes(line(1) + line(2, status="WRONG_ANSWER"))
    count, first = compare.differences(one, other)
    assert (count, [text.split(":")[0] for text in first]) == (2, ["line 2", "line 3"])


def test_a_row_that_is_twice_or_missing_is_found(tmp_path):
    results = tmp_path / "a"
    results.write_bytes(line(1) + line(2))
    assert compare.statuses(results) == {"ACCEPTED": 2}
    results.write_bytes(line(1) + line(1))
    with pytest.raises(AssertionError, match="row 1 stands in line 2"):
        compare.statuses(results)


def test_what_a_kill_left(tmp_path):
    results = tmp_path / "a"
    journal = Journal.begin(results, {})
    for number in (0, 1, 5, 3):
        journal.add(number, line(number))
    whole = results.read_bytes()
    results.write_bytes(whole + b'{"half')
    done, size, crc, ahead = compare.at_the_kill(results)
    journal.close()
    assert (done, size, ahead) == (2, len(whole), 2)
    assert compare.begins_with(results, size, crc)
    results.write_bytes(whole.replace(b"ACCEPTED", b"REJECTED"))
    assert not compare.begins_with(results, size, crc)


def test_figures_go_between_their_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- figures: fake -->\nold\n<!-- end of figures -->\nb\n")
    tenths = [1.0] * 10
    kill = {"rows_written": 5, "rows_ahead": 1, "resumed_rows": 0, "first_row_s": 1.0}
    kill["highest_mib"] = 9.0
    found = {
        "backend": "fake", "machine": "m", "python": "3", "format": "gz", "cases": 3,
        "as_they_have_to_be": True,
        "undisturbed": {
            "seconds": 2.0, "rows_per_s": 5.0, "rows": 10, "scorer_mib": tenths,
            "others_mib": tenths, "at_seconds": tenths, "highest_over_first": 1.0, "flat": False,
            "rows_bytes": 1, "results_bytes": 1, "journal_bytes_most": 1, "journal_bytes_end": 1,
        },
        "killed": {
            "kills": [kill], "rows": 10, "different_rows": 0, "kept": True, "none_lost": True,
            "last": {"first_row_s": 2.0, "resumed_rows": 5, "highest_mib": 8.0},
        },
    }  # fmt: skip
    report.into_page(page, found)
    text = page.read_text()
    assert text.startswith("a\n<!-- figures: fake -->\n### 10 rows, `--backend fake`")
    assert "flat: **no**" in text
    assert "| 5 | 1 | 5 | 2.0 s | 8 MiB |" in text
    assert text.endswith("<!-- end of figures -->\nb\n")
    with pytest.raises(ValueError, match="docker"):
        report.into_page(page, {**found, "backend": "docker"})
