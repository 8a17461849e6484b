"""The conversation of the page in a real browser: turns that stay, sentences that are checked again, on the real endpoints."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel, believes
from serving import make_agent, serving

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
HOSTILE = "<img src=x onerror=window.bad=1>"
TOWER = "The tower was built in 1950."


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[str, ScriptedModel]]:
    model = ScriptedModel(ScriptedModel.calculate, believes(lambda text: "otherwise" if "1950" in text else "said"))
    with serving(make_agent(model)) as url:
        yield url, model


def ask(page: Any, answer: str, question: str = "") -> None:
    page.locator("#chat-question").fill(question)
    page.locator("#chat-answer").fill(answer)
    page.locator("#chat-answer").press("Control+Enter")


def titles(page: Any) -> list[str]:
    return [title.inner_text() for title in page.locator(".turn .outcome-title").all()]


def again(page: Any, tool: str) -> None:
    page.locator(".turn summary.waiting, .turn summary.checking").wait_for(state="detached")
    page.get_by_label("Check this sentence again with").select_option(tool)
    page.get_by_role("button", name="Check again").click()


@pytest.mark.core
def test_turns_stay_and_a_sentence_is_checked_again_with_a_tool(open_page: Open, tmp_path: Path) -> None:
    page = open_page(view="chat")
    ask(page, f"12 * 7 = 84. 12 * 7 = 85. Well. {HOSTILE}", f"What is it? {HOSTILE}")
    page.locator(".outcome-title.contradicted").wait_for()
    assert page.evaluate("document.activeElement.innerText") == "✗ Hallucination found"
    assert page.locator("#chat-answer").input_value() == ""
    assert page.locator("details[open] summary").all_inner_texts() == ["✗ contradicted 12 * 7 = 85."]
    names = page.get_by_label("Check this sentence again with").locator("option").all_inner_texts()
    assert names[0] == "any tool" and "calculator" in names and "get_answer" not in names
    with page.expect_request("**/v1/recheck") as request:
        again(page, "word_count")
    assert request.value.post_data_json["tools"] == ["word_count"] and request.value.post_data_json["sentence"] == 2
    page.locator(".outcome-title.unverified").wait_for()
    assert page.locator("details[open] summary").inner_text().endswith("12 * 7 = 85.")
    again(page, "calculator")
    page.locator(".outcome-title.contradicted").wait_for()

    (tmp_path / "tower.md").write_text(f"The tower was built in 1887. {HOSTILE}", encoding="utf-8")
    page.locator("#view-chat input[type=file]").set_input_files(tmp_path / "tower.md")
    page.locator(".attached").get_by_text("characters").wait_for()
    ask(page, TOWER, "When?")
    page.locator(".turn:nth-child(2) .outcome-title.contradicted").wait_for()
    assert page.locator(".turn:nth-child(2)").get_by_text("Beside: tower.md").is_visible()
    page.locator(".turn:nth-child(2)").get_by_role("button", name="contradicted").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my labels (1)").click()
    (claim,) = map(json.loads, Path(download.value.path()).read_text("utf-8").splitlines())
    assert (claim["claim"], claim["label"]) == (TOWER, "contradicted")
    with page.expect_download() as download:
        page.locator(".turn:nth-child(2)").get_by_role("button", name="Save JSON").click()
    assert json.loads(Path(download.value.path()).read_text("utf-8"))["response"] == TOWER

    page.reload()
    page.locator(".turn").nth(1).wait_for()
    assert titles(page) == ["✗ Hallucination found"] * 2 and page.locator("details[open]").count() == 0
    page.locator(".turn:nth-child(2) summary").press("Enter")
    pressed = page.locator(".turn:nth-child(2) button[aria-pressed=true]")
    assert pressed.inner_text() == "contradicted"
    page.get_by_role("button", name="切换到中文").click()
    assert titles(page) == ["✗ 发现幻觉"] * 2
    page.locator(".turn:nth-child(2)").get_by_role("button", name="填入表单").click()
    assert page.locator("#chat-answer").input_value() == TOWER
    assert page.get_by_role("button", name="移除: tower.md").is_visible()
    page.locator(".turn:nth-child(2)").get_by_role("button", name="删除", exact=True).click()
    page.reload()
    assert page.locator(".turn").count() == 1
    page.locator("#view-chat form").get_by_role("button", name="全部删除").click()
    page.reload()
    assert page.locator(".turn").count() == 0


def test_a_turn_that_is_stopped_or_left_keeps_its_texts(open_page: Open) -> None:
    page = open_page(console="400|Failed to load", view="chat")
    page.get_by_role("button", name="Check", exact=True).click()
    assert "fill in the response" in page.get_by_role("alert").inner_text()
    page.route("**/v1/detect", lambda route: None)
    ask(page, "12 * 7 = 84.", "First?")
    page.locator(".turn").get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped. What was not reached is not checked.").wait_for()
    assert titles(page) == ["– Stopped"]
    ask(page, "12 * 7 = 85.", "Second?")
    page.locator(".turn").nth(1).wait_for()
    page.reload()  # while it is checked
    page.locator(".turn").nth(1).wait_for()
    assert titles(page) == ["– Not finished"] * 2
    page.unroute_all()
    page.locator(".turn:nth-child(2)").get_by_role("button", name="Put into the form").click()
    page.locator("#chat-answer").press("Control+Enter")
    page.locator(".turn:nth-child(3) .outcome-title.contradicted").wait_for()
    page.route("**/v1/recheck", lambda route: route.abort())
    again(page, "")
    page.get_by_text("The server cannot be reached").wait_for()
    assert titles(page)[2] == "✗ Hallucination found"  # as it was
    assert page.locator("details[open] summary").inner_text().startswith("✗ contradicted")
    ask(page, "これはペンです。", "これは何ですか？")
    page.get_by_text("Japanese is not supported").wait_for()


def test_two_tabs_keep_the_turns_of_both(open_page: Open) -> None:
    page = open_page(view="chat")
    other = page.context.new_page()
    other.goto(page.url)
    for tab, answer in ((page, "12 * 7 = 84."), (other, "12 * 7 = 85."), (page, "12 * 8 = 96.")):
        ask(tab, answer)
        tab.locator(".turn").last.get_by_role("button", name="Save JSON").wait_for()
    page.reload()
    page.locator(".turn").nth(2).wait_for()
    assert titles(page) == ["✓ No hallucination found", "✗ Hallucination found", "✓ No hallucination found"]
    page.evaluate('localStorage.setItem(\'haluagent.chat\', \'[1, {"id": "x", "papers": [null]}, {"id": 2}]\')')
    page.reload()
    page.locator("#chat-answer").wait_for()
    assert page.locator(".turn").count() == 0
