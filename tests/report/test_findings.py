"""The page of the data doctor: bounded, and each kind has its share."""

from __future__ import annotations

from tests.report.results import data_of
from verifier.data.doctor import Finding, Reader, by_kind
from verifier.data.files import Record
from verifier.report.findings import FindingsPage


def findings(name, count, reason="why"):
    return [Finding(name, n, f"r{n}", reason) for n in range(count)]


def test_a_rare_kind_is_there_though_a_common_one_fills_the_table():
    groups = by_kind([*findings("no-route", 50), *findings("flaky", 9), *findings("no-code", 2)])
    page = FindingsPage(60, groups, max_findings=20)
    columns = page.data()["columns"]
    assert [columns["kind"].count(kind) for kind in range(3)] == [9, 9, 2]
    assert page.data()["kinds"][0][3] == 50
    assert "holds 20 of 61 findings" in page.html("t")


def test_excerpts_are_of_the_first_rows_of_each_kind_and_reading_ends_there():
    records = (
        Record("f", n + 1, data={"prompt": f"<{n}>", "responses": ["a", "b"]}) for n in range(9)
    )
    page = FindingsPage(9, by_kind([*findings("no-route", 9), *findings("no-code", 9)]))
    page.max_excerpts = 2
    page.add_excerpts(Reader().read(records))
    assert page.excerpts == {n: [("Prompt", f"<{n}>"), ("Response", "a")] for n in range(2)}
    assert next(records).line == 3


def test_a_line_that_is_no_row_is_its_own_excerpt_and_long_texts_keep_both_ends():
    long = "a" * 5000 + "z"
    lines = [Record("f", 1, b"{"), Record("f", 2, data={"prompt": long, "ground_truth": [1]})]
    page = FindingsPage(2, by_kind(findings("no-route", 2, reason=long)))
    page.add_excerpts(Reader().read(lines))
    assert page.excerpts[0] == [("The line", "{")]
    (_, prompt), (_, truth) = page.excerpts[1]
    assert prompt.startswith("aaa")
    assert prompt.endswith("az")
    assert len(prompt) < 1010
    assert truth == "[1]"
    made = data_of(page.html("t"))
    assert len(made["texts"]) == 1  # one reason, though two rows have it
    assert len(made["texts"][0]) < 510


def test_a_page_without_findings_is_one_too():
    assert data_of(FindingsPage(3, {}).html("t"))["kinds"] == []
