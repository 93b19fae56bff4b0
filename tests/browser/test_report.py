"""The report in a real browser: clicks, 50,000 rows, and text that would be a program."""

from __future__ import annotations

import pytest

from tests.report.results import fault, result_of, row_of, written
from verifier.data.reading import read_results
from verifier.report import add_samples, collect, report_page, write_page
from verifier.types import Status

HOSTILE = '</script><script>window.hit=1</script><img src=x onerror="window.hit=1">\ud83d'
ROWS = "#rows .row"


def report(tmp_path, pairs, rows=()):
    notes = []
    found = collect(read_results(written(tmp_path / "r.jsonl", pairs), notes))
    add_samples(found, rows)
    write_page(report_page(found, title="A run", facts={}), tmp_path / "r.html")
    return (tmp_path / "r.html").as_uri()


async def counted(page, text: str) -> None:
    await page.wait_for_function(
        "text => document.querySelector('#count').textContent === text", arg=text
    )


async def test_filters_search_and_order_over_50000_rows(open_page, tmp_path):
    def pairs():
        for i in range(50_000):
            row = row_of(i + 1, f"p{i // 5}/{i % 5}", problem=f"p{i // 5}", source=f"set-{i % 2}")
            status = Status.WRONG_ANSWER if i % 4 == 0 else Status.ACCEPTED
            yield row, result_of(status, cpu=i / 500)

    page = await open_page(report(tmp_path, pairs()))
    await counted(page, "50,000 of 50,000 rows")
    assert await page.locator(ROWS).count() < 60
    await page.click("[data-filter=ACCEPTED]")
    await counted(page, "12,500 of 50,000 rows")
    await page.select_option("#source", "set-1")
    await counted(page, "0 of 50,000 rows")  # every fourth row is even
    await page.select_option("#source", "set-0")
    await page.select_option("#order", "cpu")
    assert "p9999/1" in await page.locator(ROWS).first.inner_text()
    await page.fill("#search", "P123/")
    await counted(page, "1 of 50,000 rows")
    assert "p123/1" in await page.locator(ROWS).first.inner_text()
    await page.fill("#search", "")
    await counted(page, "12,500 of 50,000 rows")
    await page.select_option("#order", "")
    await page.evaluate("document.querySelector('#rows').scrollTop = 1e9")
    await page.wait_for_function(
        "() => [...document.querySelectorAll('#rows .row')].at(-1).textContent.includes('p9999/1')"
    )


async def test_a_failure_opens_with_its_difference_and_its_program(open_page, tmp_path):
    row = row_of(1, "p1/0")
    url = report(
        tmp_path, [(row, result_of(Status.WRONG_ANSWER)), (row_of(2, "x"), fault())], [row]
    )
    page = await open_page(url)
    assert "infrastructure faults" in await page.inner_text(".figures .bad")
    await page.click(f"{ROWS}:has-text('p1/0')")
    await page.wait_for_selector("dialog[open]")
    assert await page.inner_text("pre.diff .del") == "- end"
    assert await page.inner_text("pre.diff .add") == "+ fin"
    assert await page.inner_text("pre.input") == "2\n"
    assert await page.inner_text("pre.code .t-k >> nth=0") == "def "
    await page.click("#close")
    await page.click(f"{ROWS}:has-text('x')")
    assert "the runner died" in await page.inner_text("dialog[open]")
    await page.keyboard.press("Escape")
    assert await page.locator("dialog[open]").count() == 0


async def test_text_of_the_data_does_not_run(open_page, tmp_path):
    row = row_of(1, HOSTILE, problem=HOSTILE, source=HOSTILE)
    bad = result_of(Status.WRONG_ANSWER, stdout=HOSTILE[:-1].encode(), message=HOSTILE)
    page = await open_page(report(tmp_path, [(row, bad), (row_of(2, "b"), fault(HOSTILE))], [row]))
    for number in (0, 1):
        await page.locator(ROWS).nth(number).click()
        assert "window.hit=1" in await page.inner_text("dialog[open]")
        await page.click("#close")
    assert await page.evaluate("window.hit") is None
    assert await page.locator("img").count() == 0
    assert await page.locator("script").count() == 2


async def test_the_pages_policy_admits_its_own_script_alone(open_page, tmp_path):
    url = report(tmp_path, [(row_of(1, "a"), result_of())])
    page = await open_page(url, expected=("Content Security Policy",))
    await page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
        " document.body.append(s); }"
    )
    assert await page.evaluate("window.hit") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_follows_the_systems_colors_and_the_button(open_page, tmp_path, scheme):
    url = report(tmp_path, [(row_of(1, "a"), result_of())])
    page = await open_page(url, color_scheme=scheme)
    assert await page.get_attribute("html", "data-theme") == scheme
    await page.click("#theme")
    assert await page.get_attribute("html", "data-theme") == "light"
    await page.click("#theme")
    assert await page.get_attribute("html", "data-theme") == "dark"


async def test_a_phone_scrolls_one_way(open_page, tmp_path):
    long = "a-very-long-name-without-any-blank-" * 6
    rows = [row_of(1, long, problem=long), row_of(2, "b")]
    url = report(tmp_path, [(row, result_of(Status.WRONG_ANSWER)) for row in rows], rows)
    page = await open_page(url, width=375, height=700)
    assert await page.evaluate("document.documentElement.scrollWidth") == 375
    await page.locator(ROWS).first.click()
    assert await page.evaluate("document.documentElement.scrollWidth") == 375


async def test_it_prints_rows_and_no_controls(open_page, tmp_path):
    pairs = [(row_of(i, f"p{i}"), result_of()) for i in range(300)]
    page = await open_page(report(tmp_path, pairs), color_scheme="dark")
    await page.emulate_media(media="print")
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert await page.locator(ROWS).count() == 200
    assert not await page.is_visible("#search")
    assert "100 more rows are not printed" in await page.inner_text("#rows")
    assert await page.get_attribute("html", "data-theme") == "light"
    await page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert await page.get_attribute("html", "data-theme") == "dark"


async def test_what_the_run_left_out_is_said_first(open_page, tmp_path):
    path = written(tmp_path / "r.jsonl", [(row_of(1, "a"), result_of()), (row_of(2, "b"), fault())])
    path.write_bytes(path.read_bytes()[:-9])
    notes = []
    found = collect(read_results(path, notes))
    found.notes += notes
    write_page(report_page(found, title="t", facts={}), tmp_path / "r.html")
    page = await open_page((tmp_path / "r.html").as_uri())
    assert "not whole (line 2)" in await page.inner_text("[role=note]")
