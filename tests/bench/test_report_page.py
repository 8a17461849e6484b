"""The page of a report in a real browser, opened from its file."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from haluagent.bench.report.writing import write
from haluagent.bench.rows import ClaimRow, Row, RunInfo
from haluagent.types import Detection, Evidence, Label, MemoryEntry, Sentence, Step, ToolCall, ToolResult, Usage

pytestmark = pytest.mark.browser

HOSTILE = '</script><script>window.bad = 1</script><img src=x onerror="window.bad = 1"><b>bold</b>'
COUNT = 250


def entry(index: int, text: str, start: int, label: Label, **more: Any) -> MemoryEntry:
    return MemoryEntry(sentence=Sentence(index=index, text=text, span=(start, start + len(text))), label=label, **more)


def detection(number: int, response: str) -> Detection:
    """The first sentence is supported, the rest of the response contradicted with hostile evidence."""
    first, rest = response.split("\n", 1)
    evidence = (
        Evidence(source="web_search", text=HOSTILE, url="https://example.org/page"),
        Evidence(source="web_search", text="other", url="javascript:window.bad=1"),
    )
    call = ToolCall(name="calculator", arguments={"sentence": HOSTILE})
    return Detection(
        question=f"Question {number}? {HOSTILE}", response=response, language="en", hallucination=True, score=0.9,
        sentences=(
            entry(1, first, 0, "supported", tool="match"),
            entry(2, rest, len(first) + 1, "contradicted", evidence=evidence, reason="it does not add up"),
        ),
        steps=(
            Step(sentence=2, thought="let us see", call=call, result=ToolResult(observation=HOSTILE, label="contradicted")),
            Step(sentence=2, thought="", call=call, result=None, error="no such sentence", rejected=True),
        ),
        usage=Usage(calls=2, prompt_tokens=100, cached_tokens=40, generated_tokens=9, seconds=1.5),
    )  # fmt: skip


def rows() -> list[Row]:
    """Two sets; in the first every third item is a miss, every third has no verdict; a peer's rows have no report."""
    found = []
    for number in range(COUNT):
        wrong, verdict = True, (True, False, None)[number % 3]
        given: dict[str, Any] = {"id": f"n{number}", "language": "en", "wrong": wrong, "length": 30}
        made = detection(number, f"𝒳😀 first {number}.\nsecond {HOSTILE}")  # not in the BMP: two code units each
        given["claims"] = (
            ClaimRow(wrong=False, label="supported", score=0.1),
            ClaimRow(wrong=True, label="contradicted", score=0.9),
        )
        found.append(
            Row(
                dataset="alpha",
                method="haluagent",
                verdict=verdict,
                score=0.9,
                detection=made,
                usage=made.usage,
                **given,
            )
        )
        found.append(Row(dataset="alpha", method="prompt", verdict=True, score=0.6, **given | {"claims": ()}))
    peer = {"language": "en", "length": 3, "method": HOSTILE}
    found.append(Row(dataset="beta", id="b1", wrong=False, verdict=None, error=HOSTILE, **peer))
    return found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory: Path = tmp_path_factory.mktemp("report")
    run = directory / "run.jsonl"
    about = RunInfo(version="1", model=HOSTILE)
    run.write_text("".join(f"{one.model_dump_json()}\n" for one in (about, *rows())), encoding="utf-8")
    return next(path for path in write(run, directory / "page") if path.suffix == ".html").as_uri()


@pytest.fixture
def page(chromium: Any, address: str) -> Iterator[Any]:
    """The open page. Whatever a test does: no error, nothing on the console, no request but for the file, no markup run."""
    page = chromium.new_page(viewport={"width": 1200, "height": 900})
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page
    assert page.evaluate("window.bad") is None
    assert page.locator("img, b > script, #list script").count() == 0
    assert said == []
    assert {url.split("#")[0] for url in asked} == {address}
    page.close()


def test_tables_and_charts_are_shown(page: Any) -> None:
    assert HOSTILE in page.locator("h1").inner_text()
    assert page.locator("table.quality tr.trivial").count() == 2 * 3 + 2  # two sets, and the sentences of one
    assert page.locator("svg.chart").count() == 2
    assert "GPT-4" not in page.locator("main").inner_text()  # the run has none of the paper's sets


def test_rows_are_shown_a_hundred_at_a_time(page: Any) -> None:
    assert page.locator("#count").inner_text() == f"{COUNT} of {2 * COUNT + 1} shown"  # the agent's at first
    assert page.locator("details.item").count() == 100
    page.get_by_role("button", name="Show 100 more").click()
    page.get_by_role("button", name="Show 100 more").click()
    assert page.locator("details.item").count() == COUNT
    assert page.get_by_role("button", name="Show 100 more").is_hidden()


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"Outcome": "right"}, 84),
        ({"Outcome": "wrong"}, 83),
        ({"Outcome": "wrong: missed"}, 83),
        ({"Outcome": "wrong: false alarm"}, 0),
        ({"Outcome": "no verdict"}, 83),
        ({"Method": "prompt"}, 250),
        ({"Method": "all", "Set": "beta"}, 1),
        ({"Method": "all", "Outcome": "failed"}, 1),
    ],
)
def test_filters(page: Any, filters: dict[str, str], count: int) -> None:
    for label, option in filters.items():
        page.get_by_role("combobox", name=label).select_option(label=option)
    assert page.locator("#count").inner_text().startswith(f"{count} of ")


def test_text_search_and_the_address_that_keeps_it(page: Any) -> None:
    page.get_by_role("searchbox").fill("FIRST 249.")
    assert page.locator("details.item").count() == 1
    assert "alpha n249" in page.locator("details.item summary").inner_text()
    page.reload()
    assert page.get_by_role("searchbox").input_value() == "FIRST 249."
    assert page.locator("details.item").count() == 1


def test_a_set_s_name_leads_to_its_items(page: Any) -> None:
    page.get_by_role("combobox", name="Method").select_option("")
    page.locator("table.quality").get_by_role("link", name="beta").click()
    page.wait_for_function("document.querySelectorAll('details.item').length === 1")
    assert page.get_by_role("combobox", name="Set").input_value() == "beta"


def test_a_trajectory_opens_by_keyboard_with_everything_in_it(page: Any) -> None:
    page.get_by_role("searchbox").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    body = page.locator("details.item .body").first
    body.wait_for()
    assert page.locator("details.item .body").count() == 1  # the others are made when they are opened
    text = body.inner_text()
    for part in (f"Question 0? {HOSTILE}", "Gold label: hallucination", "it does not add up", "let us see", "no such sentence",
                 "rejected", f"observation: {HOSTILE}", "2 model calls, 60 tokens evaluated, 40 cached, 9 generated",
                 "prompt: hallucination, 0.60"):  # fmt: skip
        assert part in text
    assert [link.get_attribute("href") for link in body.locator("a").all()] == ["https://example.org/page"]


def test_sentences_are_coloured_where_they_stand(page: Any) -> None:
    """Spans count characters, the browser's strings code units."""
    page.locator("details.item summary").first.click()
    marks = page.locator("details.item .body mark")
    marks.first.wait_for()
    assert [mark.inner_text() for mark in marks.all()] == ["S1𝒳😀 first 0.", f"S2second {HOSTILE}"]
    assert [mark.get_attribute("class") for mark in marks.all()] == ["supported", "contradicted"]


def test_a_row_without_a_report_shows_what_is_known(page: Any) -> None:
    page.get_by_role("combobox", name="Method").select_option("")
    page.get_by_role("combobox", name="Set").select_option("beta")
    page.locator("details.item summary").click()
    text = page.locator("details.item .body").inner_text()
    assert "Gold label: no hallucination · verdict: no verdict" in text and HOSTILE in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_narrow_window_in_both_schemes(chromium: Any, address: str, scheme: str) -> None:
    page = chromium.new_page(viewport={"width": 380, "height": 800}, color_scheme=scheme)
    page.goto(address)
    page.locator("details.item summary").first.click()
    page.locator("details.item .body").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = sum(map(int, back.removeprefix("rgb(").removesuffix(")").split(","))) < 3 * 128
    assert dark is (scheme == "dark")
    page.close()
