"""Spans that people mark: the page, the labels it saves, their agreement, and their way into the formats of corpora."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent.bench.datasets.loading import load
from haluagent.bench.labelling.agreement import alpha, compare, table
from haluagent.bench.labelling.labels import MarkedResponse, read
from haluagent.cli import main as cli
from haluagent.cli.claims import app
from haluagent.errors import ConfigError

HOSTILE = '</script><script>window.bad = 1</script><img src=x onerror="window.bad = 1">'
UNNAMED = """box => [...box.querySelectorAll("button, input, select, progress, [role=textbox], [role=region]")]
    .filter((one) => !(one.innerText || one.ariaLabel || one.labels?.[0]?.innerText || one.getAttribute("aria-labelledby")))
    .map((one) => one.outerHTML)"""
ITEMS: list[dict[str, Any]] = [
    {"id": "a", "question": "How high is it?", "reference": ["It is 34 m high.", f"Built in 1911. {HOSTILE}"],
     "response": f"😀 It is 52 m high. {HOSTILE}\nIt is red."},
    {"reference": "塔高34米。", "response": "塔高52米。它是红的。"},
    {"reference": "It is old.", "response": "It is old."},
]  # fmt: skip


def write(path: Path, rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def labelled(name: str, annotator: str, *spans: tuple[int, int, str], response: str = "abcdefghij") -> MarkedResponse:
    labels = [{"start": a, "end": b, "text": response[a:b], "label_type": kind} for a, b, kind in spans]
    row = {
        "id": name,
        "annotator": annotator,
        "language": "en",
        "question": "",
        "reference": ["r"],
        "response": response,
    }
    return MarkedResponse.model_validate(row | {"labels": labels})


CONFLICT, BASELESS, UNSURE = "Evident Conflict", "Evident Baseless Info", "Not Sure"
FIRST = [labelled("1", "Ann", (0, 4, CONFLICT)), labelled("2", "Ann", (0, 2, BASELESS)), labelled("3", "Ann")]
SECOND = [
    labelled("1", "Bo", (2, 6, CONFLICT)),
    labelled("2", "Bo", (0, 2, CONFLICT)),
    labelled("3", "Bo", (5, 9, UNSURE)),
]


def test_alpha_is_krippendorffs() -> None:
    """The examples of Computing Krippendorff's Alpha-Reliability (Krippendorff 2011): A, binary, and B, nominal."""
    assert alpha(list(zip("0100000010", "1110010000", strict=True))) == pytest.approx(0.095, abs=5e-4)
    assert alpha(list(zip("aabbdcccedda", "babbbcccEddd".lower(), strict=True))) == pytest.approx(0.692, abs=5e-4)
    assert alpha([(0, 0)] * 3) is None and alpha([(0, 1)] * 50) == pytest.approx(-0.98, abs=0.01)


def test_agreement_by_response_character_and_kind() -> None:
    found = compare([*FIRST, labelled("4", "Ann")], SECOND)
    assert (found.annotators, found.n, found.unmatched, found.characters) == (("Ann", "Bo"), 3, 1, 30)
    assert (found.accuracy, found.kappa) == (1.0, 1.0)  # what Bo is not sure of is not marked
    assert found.f1 == pytest.approx(2 * 4 / (6 + 6)) and found.same_kind == 0.5 and found.kind_kappa == 0.0
    assert [(of.first, of.second, of.both, of.f1) for of in found.kinds] == [
        (4, 6, 2, 0.4), (2, 0, 0, 0.0), (0, 4, 0, 0.0),
    ]  # fmt: skip
    assert compare(SECOND, FIRST).f1 == found.f1 and compare(FIRST, FIRST).alpha == 1.0
    text = table(found)
    assert "F1 66.7 %" in text and "| Evident Conflict | 4 | 6 | 2 | 40.0 |" in text and "1 responses have" in text
    assert "F1 – %" in table(compare(FIRST[2:], SECOND[2:]))


def test_files_that_do_not_belong_together_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no response in common"):
        compare(FIRST[:1], SECOND[1:])
    with pytest.raises(ConfigError, match="another response"):
        compare(FIRST, [labelled("1", "Bo", response="other")])
    row = FIRST[0].model_dump(mode="json")
    for fields, said in (
        ([row, row], "item 2: '1' is there twice"),
        ([row | {"labels": [{**row["labels"][0], "end": 99}]}], "item 1: the response has no 'abcd' at 0"),
        ([row | {"labels": [{**row["labels"][0], "label_type": "bad"}]}], "item 1: labels.0.label_type"),
        ([{"response": "x"}], "item 1: id: Field required"),
        ([[]], "holds no labels"),
        (["text"], "item 1: the line"),
    ):
        with pytest.raises(ConfigError, match=re.escape(said)):
            read(write(tmp_path / "labels.jsonl", fields))


def test_labels_are_written_for_other_detectors(tmp_path: Path) -> None:
    source, out = write(tmp_path / "bo.jsonl", [one.model_dump(mode="json") for one in SECOND]), tmp_path / "rag"
    assert cli.run(["claims", "label-export", str(source), "--spans", "ragtruth", "--out", str(out)]) == 0
    assert [item.wrong for item in load("ragtruth", out)] == [True, True, False]
    samples = tmp_path / "samples.json"
    assert cli.run(["claims", "label-export", str(source), "--spans", "lettucedetect", "-o", str(samples)]) == 0
    assert json.loads(samples.read_text("utf-8"))[0]["labels"] == [{"start": 2, "end": 6, "label": CONFLICT}]
    assert cli.run(["claims", "label-export", str(source), "--spans", "ragtruth", "-o", str(source)]) == 2


def test_items_that_cannot_be_labelled_are_told(tmp_path: Path) -> None:
    for rows, said in (
        ([{"response": "x"}], "item 1 has no `reference`"),
        ([{"response": " ", "reference": "r"}], "item 1: the response is empty"),
        ([{"response": "x", "reference": " "}], "item 1: the reference is empty"),
        ([{"response": "x", "reference": "r", "id": "2"}, {"response": "y", "reference": "r"}], "2 items have the id '2'"),
        ([{"response": "x", "reference": "r", "id": [1]}], "an id is a text or a whole number"),
        ([], "is not JSON"),
    ):  # fmt: skip
        done = CliRunner().invoke(app, ["label", str(write(tmp_path / "in.jsonl", rows))])
        assert isinstance(done.exception, ConfigError) and said in str(done.exception)
    page = tmp_path / "in.html"
    assert not page.exists() and cli.run(["claims", "label", str(write(page, ITEMS))]) == 2


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    source = write(tmp_path / "items.jsonl", ITEMS)
    assert cli.run(["claims", "label", str(source)]) == 0
    return tmp_path / "items.html"


def test_the_page_is_one_file_in_which_data_is_no_markup(page_file: Path) -> None:
    page = page_file.read_text("utf-8")
    assert HOSTILE not in page and page.count("<script") == 2 and page.count("</script>") == 2
    assert not re.search(r"(?:src|href)=[\"']", page.split('<script type="application/json"')[0])


@pytest.mark.browser
def test_spans_are_marked_with_mouse_and_keyboard_and_kept_over_a_reload(page_file: Path, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(accept_downloads=True, locale="en-US").new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(page_file.as_uri())
        page.get_by_label("Your name").fill("Ann Lee")
        page.keyboard.press("Enter")
        box = page.get_by_role("textbox", name="Response")
        assert box.inner_text() == ITEMS[0]["response"]

        # the keyboard: after the face and a space, "It is 52 m high."
        page.keyboard.press("Control+Home")
        for _ in range(2):
            page.keyboard.press("ArrowRight")
        for _ in range(len("It is 52 m high.")):
            page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("1")
        page.keyboard.type("xyz")
        assert box.inner_text() == ITEMS[0]["response"]
        assert page.locator("#marks li").inner_text().startswith("Contradicts the reference: It is 52 m high.")
        page.keyboard.press("3")  # the cursor is behind it, and nothing is selected
        assert page.locator("#status").inner_text() == "Select a stretch of the response first."
        page.keyboard.press("n")

        # the mouse: the third click selects the line
        assert box.inner_text() == ITEMS[1]["response"] and box.get_attribute("lang") == "zh"
        box.click(click_count=3)
        page.get_by_role("button", name="Not in the reference (2)").click()
        page.locator("#marks li").wait_for()
        assert page.locator("mark.baseless").inner_text() == ITEMS[1]["response"]
        page.reload()
        assert page.locator("mark.baseless").inner_text() == ITEMS[1]["response"]
        page.get_by_role("button", name="Remove the mark").click()
        assert page.locator("mark").count() == 0
        box.click(click_count=3)
        page.keyboard.press("3")
        page.get_by_role("button", name="Done, next").click()
        assert page.locator("#count").inner_text() == "2 of 3 done"

        page.get_by_label("Language").select_option("zh")
        assert page.locator("h1").inner_text() == "这些回答里有什么错误？"
        for language in ("en", "zh"):
            page.get_by_label(re.compile("Language|语言")).select_option(language)
            assert page.locator("body").evaluate(UNNAMED) == []
        with page.expect_download() as download:
            page.get_by_role("button", name="下载标注").click()
        assert download.value.suggested_filename == "labels-Ann-Lee.jsonl"
        download.value.save_as(tmp_path / "ann.jsonl")
        assert said == [] and page.evaluate("window.bad") is None
        browser.close()
    first, second = read(tmp_path / "ann.jsonl")
    assert (first.annotator, first.response, first.reference) == (
        "Ann Lee",
        ITEMS[0]["response"],
        tuple(ITEMS[0]["reference"]),
    )
    assert [(one.start, one.text, one.label_type) for one in first.labels] == [(2, "It is 52 m high.", CONFLICT)]
    assert [(one.text, one.label_type) for one in second.labels] == [
        (ITEMS[1]["response"], UNSURE)
    ] and not second.wrong
