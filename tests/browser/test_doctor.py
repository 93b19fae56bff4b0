"""The page of `verifier doctor data` in a real browser: clicks, 50,000 findings, hostile rows."""

from __future__ import annotations

import pytest

from tests.browser.test_report import HOSTILE, ROWS, counted
from verifier.data.doctor import Finding, Reader, by_kind
from verifier.data.files import Record
from verifier.report import write_page
from verifier.report.findings import FindingsPage


def made(tmp_path, findings, rows=(), *, total=None):
    page = FindingsPage(total or len(findings), by_kind(findings))
    records = [Record("rows.jsonl", n + 1, data=row) for n, row in enumerate(rows)]
    page.add_excerpts(Reader().read(records))
    write_page(page.html("rows.jsonl"), tmp_path / "page.html")
    return (tmp_path / "page.html").as_uri()


async def test_kinds_severities_search_and_order_over_50000_findings(open_page, tmp_path):
    names = ("no-route", "flaky", "no-code", "truncated")
    findings = [
        Finding(names[n % 4], n, f"p{n}", f"reason {n}: {'slow' if n % 10 == 0 else 'odd'}")
        for n in range(50_000)
    ]
    page = await open_page(made(tmp_path, findings, total=60_000))
    await counted(page, "50,000 of 50,000 findings")
    assert await page.locator(ROWS).count() < 60
    assert "25,000" in await page.inner_text("#figures .bad")
    assert "p0" in await page.locator(ROWS).first.inner_text()
    await page.click("[data-kind=flaky]")
    await counted(page, "12,500 of 50,000 findings")
    assert "flaky" in await page.locator(ROWS).first.inner_text()
    await page.click("[data-filter=ERROR]")
    await counted(page, "0 of 50,000 findings")
    await page.click("[data-kind=truncated]")
    await counted(page, "12,500 of 50,000 findings")
    await page.click("[data-kind=truncated]")
    await counted(page, "25,000 of 50,000 findings")
    await page.fill("#search", "SLOW P4999")
    await counted(page, "1 of 50,000 findings")  # p49990
    await page.fill("#search", "")
    await counted(page, "25,000 of 50,000 findings")
    await page.select_option("#order", "row")
    await page.evaluate("document.querySelector('#rows').scrollTop = 1e9")
    await page.wait_for_function(
        "() => [...document.querySelectorAll('#rows .row')].at(-1).textContent.includes('p49999')"
    )


async def test_a_finding_opens_with_its_reason_what_to_do_and_its_row(open_page, tmp_path):
    found = [Finding("duplicate", 1, "twin", "the same row as first", ("first",))]
    rows = [{"id": "first"}, {"id": "twin", "prompt": "Add two\nnumbers.", "ground_truth": "7"}]
    page = await open_page(made(tmp_path, [*found, Finding("no-code", 5, "far", "no fence")], rows))
    assert "Drop it" in await page.inner_text("[data-kind=duplicate]")
    await page.click(f"{ROWS}:has-text('twin')")
    assert await page.inner_text("dialog[open] .reason") == "the same row as first"
    assert "counts double" in await page.inner_text("dialog[open] .advice")
    texts = await page.locator("dialog[open] .excerpt").all_inner_texts()
    assert texts == ["Add two\nnumbers.", "7"]
    assert "first" in await page.inner_text("dialog[open] h3:has-text('Other rows') + pre")
    await page.keyboard.press("Escape")
    await page.click(f"{ROWS}:has-text('far')")
    assert "does not hold what this row says" in await page.inner_text("dialog[open]")


async def test_text_of_the_rows_does_not_run(open_page, tmp_path):
    row = {
        "id": HOSTILE,
        "prompt": [{"role": "user", "content": HOSTILE}],
        "ground_truth": {"inputs": [HOSTILE], "outputs": [HOSTILE]},
        "response": HOSTILE,
        "reference": HOSTILE,
    }
    page = await open_page(
        made(tmp_path, [Finding("flaky", 0, HOSTILE, HOSTILE, (HOSTILE,))], [row])
    )
    await page.click(ROWS)
    shown = await page.locator("dialog[open] .excerpt").all_inner_texts()
    assert len(shown) == 4
    assert all("window.hit=1" in text for text in shown)
    assert await page.evaluate("window.hit") is None
    assert await page.locator("img").count() == 0
    assert await page.locator("script").count() == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_is_light_or_dark_and_fits_a_phone(open_page, tmp_path, scheme):
    long = "a-very-long-name-without-any-blank-" * 6
    url = made(tmp_path, [Finding("huge-suite", 0, long, long, (long,))], [{"prompt": long}])
    page = await open_page(url, color_scheme=scheme, width=375, height=700)
    assert await page.get_attribute("html", "data-theme") == scheme
    assert await page.evaluate("document.documentElement.scrollWidth") == 375
    await page.click(ROWS)
    assert await page.evaluate("document.documentElement.scrollWidth") == 375
    await page.click("#close")
    await page.click("#theme")
    await page.click("#theme")
    assert await page.get_attribute("html", "data-theme") == "dark"


async def test_it_prints_findings_and_no_controls(open_page, tmp_path):
    findings = [Finding("flaky", n, f"p{n}", "coin") for n in range(300)]
    page = await open_page(made(tmp_path, findings), color_scheme="dark")
    await page.emulate_media(media="print")
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert await page.locator(ROWS).count() == 200
    assert await page.is_visible("[data-kind=flaky]")
    assert not await page.is_visible("#search")
    assert "100 more rows are not printed" in await page.inner_text("#rows")
    assert await page.get_attribute("html", "data-theme") == "light"
