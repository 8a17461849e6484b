"""A real browser, and the page in it."""

import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any, site: Any) -> Iterator[Callable[..., Any]]:
    """Opens the page of a module's `site`, whose first part is its address.

    Whatever a test does: no error, no request but to the server, nothing of a text run as markup.

    `console` are the words that the browser may say of requests that fail on purpose.
    """
    opened: list[tuple[Any, list[str], list[str], str, str]] = []

    def open_one(url: str = site[0], console: str = "^$", view: str = "", **options: Any) -> Any:
        options = {"viewport": {"width": 1280, "height": 800}, "locale": "en-US", "reduced_motion": "reduce"} | options
        page = chromium.new_context(**options).new_page()
        page.set_default_timeout(30_000)
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{url}/#{view}" if view else url)
        page.locator("h1:visible:not(:empty)").wait_for()
        opened.append((page, said, asked, url, console))
        return page

    yield open_one
    for page, said, asked, url, console in opened:
        assert page.evaluate("window.bad") is None
        assert page.locator("img, main script, aside script, main b:text('bold')").count() == 0
        assert [text for text in said if not re.search(console, text)] == []
        assert [address for address in asked if not address.startswith((f"{url}/", f"blob:{url}/"))] == []
        page.context.close()
