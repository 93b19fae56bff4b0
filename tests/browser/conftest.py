"""A headless Chromium of the system's, and pages of it.

Playwright's asynchronous interface: browser and gateway are on one loop, and none is left running
between tests, as pytest-playwright's fixtures do.
"""

from __future__ import annotations

import os
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


def _missing() -> str:
    try:
        import playwright.async_api  # noqa: F401
    except ModuleNotFoundError:
        return "playwright is not installed"
    return "" if os.access(CHROMIUM, os.X_OK) else f"there is no {CHROMIUM}"


@pytest.fixture
async def browser():
    """Skips where there is none, or fails where the caller said there has to be one."""
    reason = _missing()
    if reason and os.environ.get("VERIFIER_REQUIRE_BROWSER") == "1":
        pytest.fail(f"browser: {reason}")
    if reason:
        pytest.skip(f"browser: {reason}")
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        # Chromium's own sandbox cannot be had by root; the page is ours.
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        await opened.close()


@pytest.fixture
async def open_page(browser):
    """Opens pages; a page that logs an error, or throws one, fails its test."""
    problems: list[str] = []

    async def open_(url: str, *, width: int = 1200, height: int = 860, **options):
        expected = options.pop("expected", ())
        context = await browser.new_context(viewport={"width": width, "height": height}, **options)
        page = await context.new_page()
        page.set_default_timeout(60_000)

        def logged(message) -> None:
            if message.type == "error" and not any(text in message.text for text in expected):
                problems.append(message.text)

        page.on("console", logged)
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.goto(url)
        return page

    yield open_
    assert problems == []
