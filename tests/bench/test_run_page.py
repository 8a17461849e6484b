"""`haluagent report`: the page of a file of results."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from haluagent.batch.files import BatchRow
from haluagent.bench.report.run_page import histogram, read_results, run_page
from haluagent.checks.faithfulness.batch import CheckRow
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.cli import main as cli
from haluagent.errors import ConfigError
from haluagent.types import Detection, Evidence, MemoryEntry, Sentence

HOSTILE = '</script><script>window.bad = 1</script><img src=x onerror="window.bad = 1">'


def detection(response: str, label: Any = "contradicted", language: Any = "en") -> Detection:
    entry = MemoryEntry(
        sentence=Sentence(index=1, text=response, span=(0, len(response))), label=label, tool="calculator",
        evidence=(Evidence(source="calculator", text=f"evidence {HOSTILE}"),), reason="the sum is wrong",
    )  # fmt: skip
    return Detection(
        question="How much?", response=response, language=language, hallucination=label == "contradicted", score=0.9, sentences=(entry,)
    )  # fmt: skip


def batch_rows() -> list[BatchRow]:
    return [
        BatchRow(line=3, id=HOSTILE, error="the endpoint failed"),
        BatchRow(line=1, id="first", hallucination=True, score=0.97, detection=detection(f"It is 5. {HOSTILE}")),
        BatchRow(line=2, hallucination=False, score=0.02, detection=detection("是4。", "supported", "zh")),
        BatchRow(line=4, hallucination=None, score=0.5, detection=detection("Who knows.", "unverified")),
    ]


def check_rows() -> list[CheckRow]:
    check = Faithfulness(
        question="Who?", answer="Carrick did.", language="en", mode="fast", verdict="FAIL", score=0.8,
        reasoning=("the documents name Ellis",), evidence=(Evidence(source="reference", text="built by Ellis"),),
    )  # fmt: skip
    return [CheckRow(line=1, SCORE="FAIL", score=0.8, REASONING=check.reasoning, check=check)]


def write(path: Path, rows: Any) -> Path:
    path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows), encoding="utf-8")
    return path


def rows_in(page: str) -> list[dict[str, Any]]:
    (data,) = re.findall(r'<script type="application/json" id="rows">(.*?)</script>', page, re.DOTALL)
    found: list[dict[str, Any]] = json.loads(data)
    return found


def test_the_page_has_every_line_once_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = BatchRow(line=3, hallucination=True, score=0.8, detection=detection("Again."))
    run = write(tmp_path / "run.jsonl", [*batch_rows(), again])
    assert cli.run(["report", str(run)]) == 0
    assert "run.html: 4 items" in capsys.readouterr().out
    page = (tmp_path / "run.html").read_text("utf-8")
    assert [row["name"] for row in rows_in(page)] == ["first", "line 2", "line 3", "line 4"]
    assert [row["verdict"] for row in rows_in(page)] == [True, False, True, None]
    assert "<dt>hallucination</dt><dd>2 (50%)</dd>" in page and "<dt>failed</dt><dd>0</dd>" in page
    assert '<th scope="row">calculator</th><td>1</td><td>2</td><td>1</td><td>0</td>' in page
    assert (
        HOSTILE not in page
        and page.count("<script") == 2
        and "http" not in page.replace("http-equiv", "").split("<body>")[0]
    )


def test_checks_show_their_reasons(tmp_path: Path) -> None:
    page = run_page(read_results(write(tmp_path / "run.jsonl", check_rows())), "run")
    [row] = rows_in(page)
    assert (row["verdict"], row["reasons"], row["detection"]["response"]) == (
        True,
        ["the documents name Ellis"],
        "Carrick did.",
    )
    assert "not faithful" in page and "With a sentence" not in page


def test_a_histogram_counts_each_score_once() -> None:
    svg = histogram([0.0, 0.05, 0.1, 0.999, 1.0])
    assert [int(n) for n in re.findall(r"<title>(\d+) from", svg)] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert histogram([]).count("<rect") == 10


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is no file"),
        ("", "holds no results yet"),
        ('{"response": "x"}\n', "does not hold results"),
        ("a,b\n1,2\n", "is not JSON"),
        ('{"format": 1, "version": "1", "model": "m"}\n', "haluagent bench report"),
    ],
)
def test_what_is_no_run_is_one_line(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "run.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=message) as raised:
        read_results(path)
    assert "\n" not in str(raised.value)


def test_the_run_is_not_overwritten_and_a_page_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run.html", check_rows())
    assert cli.run(["report", str(run)]) == 2 and read_results(run)
    assert cli.run(["report", str(run), "--out", str(run / "page.html")]) == 2
    assert "page.html cannot be written: " in capsys.readouterr().err


@pytest.mark.browser
def test_filters_and_details_in_a_browser(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    cli.run(["report", str(write(tmp_path / "run.jsonl", batch_rows()))])
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((tmp_path / "run.html").as_uri())
        count = page.locator("#count")
        assert count.inner_text() == "4 of 4 shown"
        for box, option, number in (
            ("Verdict", "hallucination", 1), ("Verdict", "failed", 1), ("Verdict", "no verdict", 1), ("Verdict", "all", 4),
            ("With a sentence", "supported", 1), ("Language", "zh", 1), ("Language", "en", 0),
        ):  # fmt: skip
            page.get_by_role("combobox", name=box).select_option(label=option)
            assert count.inner_text() == f"{number} of 4 shown"
        page.get_by_role("combobox", name="With a sentence").select_option("")
        page.locator("details.item summary").first.click()
        text = page.locator("details.item .body").first.inner_text()
        assert "Verdict: hallucination" in text and "the sum is wrong" in text and "Gold label" not in text
        assert page.evaluate("window.bad") is None
        browser.close()
