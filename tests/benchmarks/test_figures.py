"""Percentiles, series, verdicts, and how they are shown."""

from __future__ import annotations

import json

import pytest

from benchmarks.bench import report
from benchmarks.bench.machine import cgroup_version
from benchmarks.bench.rounds import round_robin
from benchmarks.bench.values import Check, NotMeasuredError, Row, Series, number, percentile


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1), (10, 1), (10.1, 2), (50, 5), (90, 9), (99, 10), (100, 10)]
)
def test_a_percentile_is_the_nearest_rank(percent, expected):
    assert percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], percent) == expected


def test_the_tail_of_a_thousand_is_its_999th_value():
    values = list(range(1, 1001))
    assert percentile(values, 99.9) == 999
    assert percentile(values, 99.91) == 1000


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1.0], -1), ([1.0], 100.5)])
def test_no_percentile_of_nothing(values, percent):
    with pytest.raises(ValueError, match="no percentile"):
        percentile(values, percent)


def test_ratios_are_of_the_same_round():
    ours, floor = (
        Series("ours", "cases/s", (50.0, 200.0, 90.0)),
        Series("floor", "cases/s", (100.0, 200.0, 100.0)),
    )
    ratio = ours.over(floor)
    assert ratio.values == (0.5, 1.0, 0.9)
    assert ratio.median == 0.9
    assert ratio.text() == "0.900 (0.500..1.00)"
    assert ours.minus(floor).values == (-50.0, 0.0, -10.0)
    with pytest.raises(ValueError, match="zip"):
        ours.over(Series("other", "cases/s", (1.0,)))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (1234.5, "1,234"), (0.01234, "0.0123"), (9.876, "9.88"), (float("inf"), "inf")],
)
def test_three_digits(value, shown):
    assert number(value) == shown


MET, MISSED = Check("a", "1.0", ok=True), Check("b", "2.0", ok=False)
UNKNOWN = Check("c", "", None, "no engine")


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ((MET,), "met"),
        ((MET, MISSED), "missed"),
        ((MET, UNKNOWN), "met in part"),
        ((UNKNOWN, MISSED), "missed"),
        ((UNKNOWN,), "not measured"),
    ],
)
def test_a_row_is_as_good_as_its_worst_check(checks, verdict):
    assert Row("key", "work", "target", checks).verdict == verdict


@pytest.fixture
def rows():
    return [
        Row("cases", "a work", ">= 1", (MET, UNKNOWN), (Series("ours", "cases/s", (1.0, 3.0)),)),
        Row("other", "another", "<= 1", (MISSED,), notes=("how it was done",), facts={"bytes": 7}),
    ]


def test_the_table_has_target_value_verdict_and_why(rows):
    text = "\n".join(report.table_lines(rows))
    assert text.startswith("MET IN PART  cases: a work")
    assert "MISSED       other: another" in text
    assert "c: not measured: no engine" in text
    assert "<= 1" in text


def test_a_work_shows_median_and_spread(rows):
    assert report.row_lines(rows[0])[1].split() == ["ours", "2.00", "cases/s", "1.00..3.00"]
    assert report.row_lines(rows[1]) == ["== other: another", "  how it was done"]


def test_json_has_everything(rows):
    first, second = json.loads(json.dumps([report.as_dict(row) for row in rows]))
    assert first["verdict"] == "met in part"
    assert first["series"][0] == {
        "name": "ours",
        "unit": "cases/s",
        "median": 2.0,
        "min": 1.0,
        "max": 3.0,
        "values": [1.0, 3.0],
    }
    assert second["facts"] == {"bytes": 7}
    assert second["checks"][0]["ok"] is False


def test_a_page_keeps_all_but_the_section(rows, tmp_path):
    page = tmp_path / "page.md"
    first, last = (mark.format("scripts/bench") for mark in (report.BEGIN, report.END))
    page.write_text(f"# Head\n{first}\nold\n{last}\ntail\n")
    section = report.markdown({"cores": 2, "load": [1.0, 2.0]}, rows, "scripts/bench --quick")
    for _ in range(2):
        report.write_section(page, section, "scripts/bench")
    text = page.read_text()
    assert text == f"# Head\n{first}\n{section}{last}\ntail\n"
    assert "| cases | a work | >= 1 | a: 1.0; c: not measured: no engine | met in part |" in text
    assert "cores 2; load 1.0 2.0" in text
    assert "| ours | 2.00 | 1.00 | 3.00 | cases/s |" in text


def test_a_page_without_marks_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("mine\n")
    with pytest.raises(ValueError, match="has no lines"):
        report.write_section(page, "new\n", "scripts/bench")
    assert page.read_text() == "mine\n"


async def test_rounds_are_interleaved_and_the_first_is_thrown_away():
    order = []

    def contender(name):
        async def measure():
            order.append(name)
            return float(len(order))

        return measure

    async def refuses():
        order.append("c")
        raise NotMeasuredError("not here")

    contenders = {"a": contender("a"), "b": contender("b"), "c": refuses}
    series, refused = await round_robin(contenders, unit="s", rounds=2)
    assert "".join(order) == "abcbaab"
    assert series["a"].values == (5.0, 6.0)
    assert series["b"].values == (4.0, 7.0)
    assert refused == {"c": "not here"}


async def test_rounds_keep_an_order_that_matters():
    order = []

    def contender(name):
        async def measure():
            order.append(name)
            return 0.0

        return measure

    both = {"first": contender("1"), "again": contender("2")}
    await round_robin(both, unit="s", rounds=2, chained=True)
    assert "".join(order) == "1212"


@pytest.mark.parametrize(
    ("made", "version"),
    [("cgroup.controllers", "v2"), ("unified", "v1 (hybrid)"), (None, "v1")],
)
def test_the_version_of_the_hierarchy(tmp_path, made, version):
    if made:
        (tmp_path / made).touch()
    assert cgroup_version(tmp_path) == version
    assert cgroup_version(tmp_path / "nothing") == "none"
