"""The live page in a real browser, over a real gateway."""

from __future__ import annotations

import asyncio

import pytest

from tests.telemetry.gateways import world
from verifier.gateway.auth import Auth

ROWS = "#failures tbody tr"


async def rows(page, count: int) -> list[str]:
    """The failures' texts, once there are so many."""
    await page.wait_for_function(
        "n => document.querySelectorAll('#failures tbody tr').length === n", arg=count
    )
    return [await row.inner_text() for row in await page.query_selector_all(ROWS)]


async def box(page, selector: str) -> dict[str, float]:
    found = await page.locator(selector).first.bounding_box()
    assert found is not None
    return found


async def test_a_failure_appears_live_and_opens_its_detail(open_page):
    async with world() as gateway:
        await gateway.score("1\n", "2\n")
        page = await open_page(f"http://{gateway.http}/")
        await page.wait_for_selector("#no-failures:not([hidden])")
        assert await page.inner_text("#state") == "ready"
        await gateway.score("1\n", "crash\n", request_id="step-7/3")
        (row,) = await rows(page, 1)
        assert "Runtime error" in row
        assert "1 / 2" in row
        assert "step-7/3" in row
        await page.click(ROWS)
        detail = page.locator("dialog[open]")
        await detail.wait_for()
        text = await detail.inner_text()
        assert "1 of 2" in text
        # What the program wrote is text, whatever it is.
        assert "<script>document.title = 'taken'</script><img src=x onerror=alert(1)> &" in text
        assert await page.title() == "verifier"
        await page.keyboard.press("Escape")
        await detail.wait_for(state="hidden")
        # By keyboard alone, too.
        await page.focus(f"{ROWS} button")
        await page.keyboard.press("Enter")
        await detail.wait_for()
        await page.click("#close")
        await detail.wait_for(state="hidden")


async def test_the_numbers_are_those_of_the_gateway(open_page):
    async with world() as gateway:
        await asyncio.gather(*(gateway.score("1\n", "2\n") for _ in range(6)))
        await gateway.score("1\n", wrong=True)
        await gateway.score("1\n", ground_truth={"inputs": ["1\n"], "outputs": []})
        page = await open_page(f"http://{gateway.http}/")
        # The window is of whole seconds: the last requests are in it a moment later.
        await page.wait_for_function(
            "() => document.querySelector('#mix-table tbody').innerText.includes('75.0 %')"
            " && document.querySelector('#clients tbody').innerText.includes('75.0 %')"
        )
        table = await page.inner_text("#mix-table tbody")
        assert [line.split("\t") for line in table.splitlines()] == [
            ["Accepted", "75.0 %", "6", "6"],
            ["Wrong answer", "12.5 %", "1", "1"],
            ["Invalid suite", "12.5 %", "1", "1"],
        ]
        assert await page.locator("#mix rect").count() == 3
        assert "Accepted 75.0 %" in (await page.get_attribute("#mix", "aria-label") or "")
        assert await page.locator("#latency rect:not(.none)").count() >= 1
        assert "of 2 busy" in await page.inner_text("#busy-of")
        client = (await page.inner_text("#clients tbody")).split("\t")
        assert client[0] == "trainer"
        assert client[2:5] == ["8", "75.0 %", "0"]


async def test_filters_choose_among_verdicts(open_page):
    async with world() as gateway:
        await gateway.score("crash\n")
        await gateway.score("1\n", wrong=True)
        await gateway.score("fault\n")
        page = await open_page(f"http://{gateway.http}/")
        assert len(await rows(page, 3)) == 3
        chip = page.locator('#filters button[data-filter="RUNTIME_ERROR"]')
        assert await chip.get_attribute("aria-pressed") == "true"
        await chip.click()
        assert await chip.get_attribute("aria-pressed") == "false"
        left = await rows(page, 2)
        assert not any("Runtime error" in row for row in left)
        assert any("Infra error" in row for row in left)
        await chip.click()
        await rows(page, 3)


async def test_pause_holds_the_page_and_resume_catches_up(open_page):
    async with world() as gateway:
        page = await open_page(f"http://{gateway.http}/")
        await page.wait_for_selector("#no-failures:not([hidden])")
        await page.click("#pause")
        assert await page.inner_text("#state") == "paused"
        assert await page.get_attribute("#pause", "aria-pressed") == "true"
        await gateway.score("crash\n")
        # The stream goes on meanwhile: the message with the failure has come, and was not shown.
        before = await page.inner_text("#responses-note")
        gateway.gateway._pages.tick()
        async with page.expect_response("**/status.json"):
            await page.evaluate("fetch('status.json')")
        assert await page.locator(ROWS).count() == 0
        assert await page.inner_text("#responses-note") == before
        await page.click("#pause")
        await rows(page, 1)
        assert await page.inner_text("#state") == "ready"


async def test_a_phone_shows_all_of_it_in_the_dark(open_page):
    async with world() as gateway:
        for request_id in ("a" * 60, "b", "c"):
            await gateway.score("crash\n", request_id=request_id)
        page = await open_page(
            f"http://{gateway.http}/",
            width=360,
            height=740,
            color_scheme="dark",
            has_touch=True,
            is_mobile=True,
        )
        await rows(page, 3)
        ground = "getComputedStyle(document.documentElement).backgroundColor"
        assert await page.evaluate(ground) == "rgb(19, 20, 18)"
        assert await page.evaluate("document.documentElement.scrollWidth") == 360
        for selector in ("#pause", "#theme", "#failures tbody tr", "#filters button"):
            assert (await box(page, selector))["height"] >= 34, selector
        await page.tap(ROWS)
        dialog = page.locator("dialog[open]")
        await dialog.wait_for()
        assert (await box(page, "dialog[open]"))["width"] <= 360
        await page.tap("#close")
        # The toggle overrules the system: auto, light, dark.
        await page.tap("#theme")
        assert await page.evaluate(ground) == "rgb(246, 246, 244)"
        await page.reload()
        await rows(page, 3)
        assert await page.evaluate(ground) == "rgb(246, 246, 244)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_has_contrast(open_page, scheme):
    async with world() as gateway:
        await gateway.score("crash\n")
        page = await open_page(f"http://{gateway.http}/", color_scheme=scheme)
        await rows(page, 1)
        ratios = await page.evaluate(CONTRAST)
        assert len(ratios) > 30
        assert [pair for pair in ratios if pair[1] < 4.5] == []


CONTRAST = """() => {
  const rgb = (s) => s.match(/[\\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("header *, main *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(rgb(e.tagName === "text" ? style.fill : style.color)), light(ground(e))];
    found.push([e.textContent.trim(), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
  }
  return found;
}"""


async def test_every_control_and_picture_has_a_name(open_page):
    async with world() as gateway:
        await gateway.score("crash\n")
        page = await open_page(f"http://{gateway.http}/")
        await rows(page, 1)
        unnamed = await page.evaluate(
            """() => [...document.querySelectorAll('main button:not([hidden]), header button, svg')]
              .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim()))
              .map((e) => e.outerHTML)"""
        )
        assert unnamed == []
        assert await page.locator("table caption").count() == await page.locator("table").count()


async def test_a_gateway_with_tokens_is_asked_with_one(open_page, monkeypatch, tmp_path):
    token = "s3cret" * 6
    tokens = tmp_path / "tokens"
    tokens.write_text(f"trainer {token}\n")
    tokens.chmod(0o600)
    monkeypatch.setenv("VERIFIER_TOKEN", token)
    seen: list[str] = []
    check = Auth.check

    def watched(self, header, **options):
        seen.append(header or "")
        return check(self, header, **options)

    monkeypatch.setattr(Auth, "check", watched)
    async with world(tokens=tokens) as gateway:
        await gateway.score("crash\n")
        page = await open_page(f"http://{gateway.http}/", expected=("401",))
        await page.wait_for_selector("#ask:not([hidden])")
        assert not await page.is_visible("#board")
        await page.fill("#token", "wrong")
        await page.keyboard.press("Enter")
        await page.wait_for_function("() => document.getElementById('ask-problem').textContent")
        await page.fill("#token", token)
        await page.click("#ask button")
        await rows(page, 1)
        await page.click(ROWS)
        await page.locator("dialog[open] pre").first.wait_for()
        # Kept for the tab, and nowhere that outlives it.
        await page.reload()
        await rows(page, 1)
        assert await page.evaluate("JSON.stringify(localStorage)") == "{}"
        assert token not in page.url
    assert set(seen) == {"", "Bearer wrong", f"Bearer {token}"}


async def test_a_gateway_that_goes_is_said_and_one_that_comes_back_is_found(open_page):
    async with world() as gateway:
        page = await open_page(f"http://{gateway.http}/", expected=("ERR_", "Failed to load"))
        await page.wait_for_selector('#state[data-state="ready"]')
        where = gateway.http
    await page.wait_for_selector('#state[data-state="lost"]')
    async with world(http=where) as gateway:
        await gateway.score("crash\n")
        await page.wait_for_selector('#state[data-state="ready"]')
        await rows(page, 1)
