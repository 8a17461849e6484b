"""Take the pictures of the views of the page, of a server that runs: python docs/pictures/views.py http://127.0.0.1:8642 docs/pictures"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ANSWER = "The tower of Osk is 34 metres high. It was built in 1950."
REFERENCES = ("The tower of Osk, 34 metres high, stands in Brod.", "The tower of Osk was built in 1887.")
ROWS = ["12 * 7 = 84.", "The kiosk holds 12 * 7 = 85 pens.", "12 * 8 = 96.", "The tower of Osk is 34 metres high."]


def main(url: str, folder: Path) -> None:
    """Write `page-VIEW.png` for each view."""
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1000, "height": 800}, locale="en-US").new_page()
        page.set_default_timeout(120_000)
        for view, prepare in {"check": documents, "claims": documents, "runs": run, "batch": table}.items():
            page.goto(f"{url}/#{view}")
            page.locator(f"#view-{view}").wait_for()
            prepare(page, view)
            page.locator(f"#view-{view} [type=submit]").click()
            page.locator(f"#view-{view} h2").first.wait_for()
            page.locator(f"#view-{view} .stop").wait_for(state="hidden")
            if view == "claims":
                page.get_by_role("button", name="It was built in 1950.").click()
            page.evaluate("scrollTo(0, 0)")
            box = page.locator(f"#view-{view} .outcome").bounding_box()
            clip = {"x": 0, "y": box["y"] - 24, "width": 1000, "height": min(box["height"] + 48, 760)}
            page.screenshot(path=folder / f"page-{view}.png", full_page=True, clip=clip)
        conversation(page, url)
        page.locator("#view-chat .conversation").screenshot(path=folder / "page-chat.png")
        browser.close()


def conversation(page: Any, url: str) -> None:
    page.goto(f"{url}/#chat")
    page.locator("#chat-question").fill("How many pens are left?")
    page.locator("#chat-answer").fill("There are 12 * 7 = 84 pens. After giving away 4 there are 84 - 4 = 79 left.")
    page.locator("#chat-answer").press("Control+Enter")
    page.locator(".turn:nth-child(1) .outcome-title.contradicted").wait_for()
    add(page, "chat")
    page.locator("#chat-question").fill("When was the tower built?")
    page.locator("#chat-answer").fill(ANSWER)
    page.locator("#chat-answer").press("Control+Enter")
    page.locator(".turn:nth-child(2) .outcome-title.contradicted").wait_for()


def documents(page: Any, view: str) -> None:
    page.locator(f"#{view}-answer").fill(ANSWER)
    add(page, view)


def add(page: Any, view: str) -> None:
    for text in REFERENCES:
        page.locator(f"#{view}-text").fill(text)
        page.locator(f"#view-{view}").get_by_role("button", name="Add this text").click()


def run(page: Any, view: str) -> None:
    page.locator(f"#view-{view}").get_by_role("button", name="Try an example").click()


def table(page: Any, view: str) -> None:
    with tempfile.TemporaryDirectory() as folder, page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open CSV, Excel or JSON Lines…").click()
        file = Path(folder, "answers.jsonl")
        file.write_text("".join(json.dumps({"response": row}) + "\n" for row in ROWS), encoding="utf-8")
        chooser.value.set_files(file)
        page.get_by_text("answers.jsonl").wait_for()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
