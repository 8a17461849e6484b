"""The other views of the page in a real browser: documents, claims and runs, on the real endpoints with a scripted model."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_files import docx, pdf
from openpyxl import Workbook
from run_examples import EXAMPLES
from scripted import ScriptedModel, believes
from serving import make_agent, serving

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
UNNAMED = """box => [...box.querySelectorAll("button, textarea, select, meter")]
    .filter((one) => !(one.innerText || one.ariaLabel || one.labels?.[0]?.innerText)).map((one) => one.outerHTML)"""
HOSTILE = "<img src=x onerror=window.bad=1>"
ANSWER = "The tower is 34 metres high. It was built in 1950."


def belief(text: str) -> Any:
    """A model that holds 1950 for wrong where a text gives 1887, and for unsaid where none gives a year."""
    return "said" if "1950" not in text else "otherwise" if "1887" in text else "silent"


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[str, ScriptedModel]]:
    model = ScriptedModel(ScriptedModel.calculate, believes(belief))
    with serving(make_agent(model)) as url:
        yield url, model


@pytest.fixture
def documents(tmp_path: Path) -> list[Path]:
    files = {
        "height.pdf": pdf(b"BT /F1 12 Tf 72 720 Td (The tower is 34 metres high.) Tj ET"),
        "year.docx": docx("<w:p><w:r><w:t>\U0001f600 The tower was built in 1887.</w:t></w:r></w:p>"),
        "notes.md": f"# Notes {HOSTILE}\n\nIt stands in Brod.".encode(),
        "page.html": b"<p>It has a clock.",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in files]


def attach(page: Any, view: str, files: list[Path]) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator(f"#view-{view}").get_by_role("button", name="Add files…").click()
    chooser.value.set_files(files)
    for file in files:
        page.locator(f"#view-{view}").get_by_role("button", name=f"Remove: {file.name}").wait_for()
    page.wait_for_function("() => !document.body.innerText.includes('reading…')")


@pytest.mark.core
def test_an_answer_is_checked_beside_uploaded_documents(open_page: Open, documents: list[Path]) -> None:
    page = open_page(console="400", view="check")
    page.locator("#check-answer").fill(ANSWER)
    page.get_by_role("button", name="Check", exact=True).click()
    assert "add a document" in page.get_by_role("alert").inner_text()
    (documents[0].parent / "broken.pdf").write_bytes(b"nothing")
    attach(page, "check", documents[:1])
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files…").click()
    chooser.value.set_files(documents[0].parent / "broken.pdf")
    page.get_by_text("broken.pdf cannot be read").wait_for()
    attach(page, "check", documents[1:])
    page.locator("#check-text").fill("A pasted text.")
    page.locator("#check-answer").press("Control+Enter")
    page.locator("#view-check h2").wait_for()
    assert page.locator("#view-check h2").inner_text() == "✗ It does not rest on the documents"
    assert page.evaluate("document.activeElement.innerText") == "✗ It does not rest on the documents"
    papers = page.locator("#view-check .paper h3").all_inner_texts()
    assert papers == ["Answer", "height.pdf", "year.docx", "notes.md", "page.html", "Pasted text 1"]
    page.get_by_role("button", name="Show in the").first.click()
    assert page.locator("#view-check mark").first.inner_text() == page.locator("#view-check q").first.inner_text()
    assert HOSTILE in page.locator("#check-paper-2").inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save JSON").click()
    assert json.loads(Path(download.value.path()).read_text(encoding="utf-8"))["verdict"] == "FAIL"
    page.get_by_role("button", name="切换到中文").click()
    assert page.locator("#view-check h2").inner_text() == "✗ 回答缺乏文档依据"


def test_each_claim_has_its_label_against_each_reference(open_page: Open, documents: list[Path]) -> None:
    page = open_page(view="claims")
    page.locator("#claims-answer").fill(ANSWER)
    attach(page, "claims", documents[:2])
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("#view-claims td .tag").nth(5).wait_for()
    rows = [row.locator("td .tag").all_inner_texts() for row in page.locator("#view-claims tbody tr").all()]
    assert rows[1] == ["✗ Contradiction", "? Neutral", "✗ Contradiction"]
    page.get_by_role("button", name="It was built in 1950.").press("Enter")
    assert page.locator("#claims-paper-answer mark").all_inner_texts() == ["It was built in 1950."]
    assert "1887" in page.locator("#claims-paper-1 mark").inner_text()
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


@pytest.mark.core
def test_a_run_in_any_form_is_shown_with_its_calls_and_the_decision(open_page: Open) -> None:
    page = open_page(console="400", view="runs")
    page.get_by_role("button", name="Try an example").click()
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("#view-runs h3:has-text('Stage 4')").wait_for()
    assert page.locator("#view-runs h2").inner_text() in (
        "✗ Block: the answer must not go out",
        "? Revise: the answer should be written again",
    )
    calls = page.locator(".turns .call")
    assert ["valid" in calls.nth(0).inner_text(), "fabricated" in calls.nth(1).inner_text()] == [True, True]
    assert "DD-20993' comes from nowhere" in calls.nth(1).inner_text()
    titles = page.locator("#view-runs h3").all_inner_texts()
    assert "Stage 1 · Calls: 1 of 2 valid" in titles and "Stage 4 · Gate" in titles
    for source, given in EXAMPLES.items():
        page.locator("#runs-text").fill(json.dumps(given))
        guessed = page.evaluate("async (text) => (await import('/page/run_forms.js')).guess(text)", json.dumps(given))
        assert guessed == source
    page.locator("#runs-text").fill(json.dumps(EXAMPLES["anthropic"]))
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("no such city").first.wait_for()
    page.locator("#runs-text").fill("[1")
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("the run is not JSON").wait_for()


def test_a_batch_goes_on_after_a_reload(open_page: Open, tmp_path: Path) -> None:
    page = open_page(console="400", view="batch")
    rows = ["12 * 7 = 84.", "12 * 7 = 85.", f"Nobody knows. {HOSTILE}", " ", "12 * 8 = 96."]
    (tmp_path / "answers.csv").write_text("id,Answer\n" + "".join(f"=x,{row}\n" for row in rows), encoding="utf-8")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open CSV, Excel or JSON Lines…").click()
    chooser.value.set_files(tmp_path / "answers.csv")
    page.get_by_text("answers.csv: 5 rows").wait_for()
    assert page.locator("#batch-response").input_value() == "Answer"
    asked: list[str] = []

    def held(route: Any) -> None:
        asked.append(route.request.post_data_json["response"])
        if len(asked) < 3:
            route.continue_()

    page.route("**/v1/detect", held)
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_role("heading", name="2 of 5 rows checked").wait_for()
    page.unroute_all()
    page.reload()
    page.get_by_role("heading", name="5 of 5 rows checked").wait_for()
    verdicts = page.locator("#view-batch tbody tr td:nth-child(2)").all_inner_texts()
    assert [verdicts[i] for i in (0, 1, 3, 4)] == ["✓ none found", "✗ hallucination", "– not checked", "✓ none found"]
    page.get_by_role("button", name="Score").click()
    assert page.locator("#view-batch tbody td").first.inner_text() == "2"
    assert page.locator("th[aria-sort=descending]").inner_text() == "Score ↓"
    page.get_by_role("button", name="hallucination 1").click()
    assert page.locator("#view-batch tbody tr").count() == 1
    with page.expect_download() as download:
        page.get_by_role("button", name="Save CSV").click()
    (saved,) = csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig")))
    assert (saved["id"], saved["Answer"], saved["hallucination"]) == ("=x", "12 * 7 = 85.", "true")
    assert saved["contradicted"].startswith("[1] 12 * 7 = 85.")
    page.get_by_role("button", name="All 5").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save report").click()
    assert "&lt;img" in Path(download.value.path()).read_text(encoding="utf-8")
    page.get_by_role("button", name="12 * 7 = 85.").click()
    assert page.locator("#verdict").inner_text() == "✗ Hallucination found"
    page.go_back()
    page.get_by_role("button", name="Delete all").click()
    page.locator("#view-batch table").wait_for(state="hidden")
    page.reload()
    page.get_by_role("button", name="Open CSV, Excel or JSON Lines…").wait_for()
    assert page.locator("#view-batch table").count() == 0


def test_a_workbook_is_a_batch(open_page: Open, tmp_path: Path) -> None:
    page = open_page(view="batch")
    book = Workbook()
    sheet: Any = book.active
    for row in (["id", "answer"], [7, "12 * 7 = 84."], [8, "12 * 7 = 85."]):
        sheet.append(row)
    book.save(tmp_path / "answers.xlsx")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open CSV, Excel or JSON Lines…").click()
    chooser.value.set_files(tmp_path / "answers.xlsx")
    page.get_by_text("answers.xlsx: 2 rows").wait_for()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_role("heading", name="2 of 2 rows checked").wait_for()
    assert page.locator("#view-batch tbody tr td:nth-child(2)").all_inner_texts() == ["✓ none found", "✗ hallucination"]


def test_two_tabs_share_a_batch_and_a_model_that_is_away_costs_no_row(open_page: Open, tmp_path: Path) -> None:
    page = open_page(console="500", view="batch")
    (tmp_path / "t.csv").write_text("response,score,input_score\n" + "12 * 7 = 84.,1,2\n" * 4, encoding="utf-8")
    page.locator("#view-batch input[type=file]").set_input_files(tmp_path / "t.csv")
    page.get_by_text("t.csv: 4 rows").wait_for()
    away = {"kind": "answer", "detection": {"stop": "error", "error": "no route"}}
    page.route(
        "**/v1/detect",
        lambda route: route.fulfill(content_type="text/event-stream", body=f"data: {json.dumps(away)}\n\n"),
    )
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("The model could not be reached or failed: no route").wait_for()
    assert page.get_by_role("heading", name="0 of 4 rows checked").is_visible()
    page.unroute_all()
    page.route("**/v1/detect", lambda route: None)  # no answer: it is checked for ever
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("#view-batch .stop").wait_for()
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_text("t.csv: 4 rows").wait_for()
    other.get_by_role("button", name="Check", exact=True).click()
    other.get_by_text("A table is being checked already").wait_for()
    (tmp_path / "u.csv").write_text("response\nNo.\n", encoding="utf-8")
    other.get_by_role("button", name="Delete all").click()
    other.locator("#view-batch input[type=file]").set_input_files(tmp_path / "u.csv")
    other.get_by_text("A table is being checked already").wait_for()
    page.goto("about:blank")
    other.get_by_role("heading", name="4 of 4 rows checked").wait_for()  # goes on where the first tab was left
    with other.expect_download() as download:
        other.get_by_role("button", name="Save CSV").click()
    assert Path(download.value.path()).read_text("utf-8-sig").startswith("response,input_input_score,input_score,hall")
    page.goto(other.url)
    page.get_by_role("heading", name="4 of 4 rows checked").wait_for()


def test_a_check_that_failed_is_not_called_running(open_page: Open) -> None:
    page = open_page(console="Failed to load", view="runs")
    page.route("**/v1/runs", lambda route: route.abort())
    page.get_by_role("button", name="Try an example").click()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("The server cannot be reached").wait_for()
    assert "Not finished" in page.locator("#view-runs h2").inner_text()


def test_the_views_fit_a_phone_and_have_names(open_page: Open) -> None:
    page = open_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    for view in ("chat", "check", "claims", "runs"):
        page.locator(f"#views a[href='#{view}']").click()
        page.locator(f"#view-{view}").wait_for()
        page.locator(f"#view-{view}").get_by_role("button", name="Try an example").click()
        page.locator(f"#view-{view} [type=submit]").click()
        page.locator(f"#view-{view} h2").first.wait_for()
        page.wait_for_function("view => document.querySelector(`#view-${view} .stop`).hidden", arg=view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
        unnamed = page.locator(f"#view-{view}").evaluate(UNNAMED)
        assert unnamed == [], view
