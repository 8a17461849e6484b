"""The report of a run: cost, tools and cited figures by hand; Markdown, JSON and the page's parts from made-up rows."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from haluagent.bench.datasets.catalogue import DATASETS
from haluagent.bench.report import cited
from haluagent.bench.report.cited import nearest, note
from haluagent.bench.report.data import as_json, figures
from haluagent.bench.report.html import embedded
from haluagent.bench.report.markdown import paper_table
from haluagent.bench.report.page import page
from haluagent.bench.report.svg import reliability_chart
from haluagent.bench.report.writing import markdown, table, write
from haluagent.bench.rows import ClaimRow, Row, RunInfo
from haluagent.bench.scoring.cost import cost
from haluagent.bench.scoring.tool_use import outcome, tool_use
from haluagent.errors import ConfigError
from haluagent.types import Detection, Evidence, Label, MemoryEntry, Sentence, Step, ToolCall, ToolResult, Usage

ABOUT = RunInfo(version="9.9", model="tiny")
HOSTILE = '</script><script>document.title="bad"</script><img src=x onerror="document.title=1">'
USAGE = Usage(calls=2, prompt_tokens=300, cached_tokens=172, generated_tokens=24, seconds=3.0)


def step(tool: str, label: Label | None = None, error: str | None = None, rejected: bool = False) -> Step:
    result = None if error else ToolResult(observation="seen", label=label)
    return Step(sentence=1, thought="t", call=ToolCall(name=tool), result=result, error=error, rejected=rejected)


def detection(verdict: bool | None, steps: tuple[Step, ...] = (), response: str = "It is so.") -> Detection:
    labels: dict[bool | None, Label] = {True: "contradicted", False: "supported", None: "unverified"}
    entry = MemoryEntry(
        sentence=Sentence(index=1, text=response, span=(0, len(response))), label=labels[verdict], tool="calculator",
        evidence=(Evidence(source="calculator", text="1 + 1 = 2"),), reason="because",
    )  # fmt: skip
    return Detection(
        question="Is it?",
        response=response,
        language="en",
        hallucination=verdict,
        score=0.5,
        sentences=(entry,),
        steps=steps,
    )


def row(number: int, wrong: bool, verdict: bool | None, **changes: Any) -> Row:
    given: dict[str, Any] = {
        "dataset": "wordcnt", "method": "haluagent", "language": "en", "score": {True: 0.9, False: 0.1, None: 0.5}[verdict],
        "length": 10 + number, "usage": USAGE, "seconds": 4.0, "detection": detection(verdict),
    }  # fmt: skip
    return Row(id=str(number), wrong=wrong, verdict=verdict, **given | changes)


def a_run() -> list[Row]:
    """Two sets, three methods, one of them a peer; sentences with gold labels in the second set."""
    rows = []
    for number in range(8):
        wrong = number % 2 == 0
        agent = (wrong, None, wrong, not wrong)[number % 4]
        rows.append(row(number, wrong, agent))
        rows.append(row(number, wrong, True, method="prompt", detection=None, usage=Usage(calls=1, prompt_tokens=64)))
        rows.append(row(number, wrong, wrong, method="lynx", detection=None))
    label: Label = "contradicted"
    claims = (ClaimRow(wrong=True, label=label, score=0.9), ClaimRow(wrong=False, label="supported", score=0.2))
    rows += [row(number, True, True, dataset="factool_math", claims=claims) for number in range(3)]
    return rows


# Cost and tools --------------------------------------------------------------------------------------------------


def test_cost_by_hand() -> None:
    steps = (
        step("split_text"),
        step("calculator", "supported"),
        step("calculator"),
        step("change_tools"),
        step("get_answer"),
    )
    rows = [row(1, True, True, detection=detection(True, steps)), row(2, True, None, detection=None, error="no model")]
    found = cost(rows)
    assert (found.items, found.failed, found.calls, found.evaluated, found.cached, found.generated) == (
        2,
        1,
        4,
        256,
        344,
        48,
    )
    assert found.seconds == 8.0
    assert found.normalised == pytest.approx(256 / 64 + 48 / 12)
    assert found.per_item("normalised") == pytest.approx(4.0)
    assert found.tools == {"calculator": 2}  # the system tools check nothing
    assert cost([]).per_item("calls") == 0.0


def test_tool_use_by_hand() -> None:
    """Four items with a report: the calculator in three of them, right in one; five calls of it."""
    decided, undecided = step("calculator", "contradicted"), step("calculator")
    failed, rejected = step("calculator", error="x"), step("calculator", error="y", rejected=True)
    rows = [
        row(1, True, True, detection=detection(True, (step("split_text"), decided, undecided))),
        row(2, False, True, detection=detection(True, (failed, rejected))),
        row(3, True, None, detection=detection(None, (step("calculator", "unverified"), step("match", "supported")))),
        row(4, True, True),
        row(5, True, True, detection=None),
    ]
    first, second = tool_use(rows)
    assert (first.tool, first.items, first.used, first.usage, first.calls) == ("calculator", 4, 3, 0.75, 5)
    assert first.success == pytest.approx(1 / 3)
    assert (first.decided, first.undecided, first.failed, first.rejected) == (0.2, 0.4, 0.2, 0.2)
    assert (second.tool, second.usage, second.success, second.decided) == ("match", 0.25, 0.0, 1.0)
    assert [outcome(one) for one in (decided, undecided, failed, rejected)] == [
        "decided",
        "undecided",
        "failed",
        "rejected",
    ]


# What is cited ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "n", "share"),
    [
        (93.44, 63, (57, 61, True)),
        (82.83, 100, (82, 99, True)),
        (67.48, 206, (139, 206, True)),
        (100.00, 63, (63, 63, True)),
        (0.00, 5, (0, 5, True)),
        (66.67, 4, (2, 3, True)),
        (72.33, 100, (34, 47, False)),  # 72.34: the nearest that a hundred items or fewer give
    ],
)
def test_nearest_share(percent: float, n: int, share: tuple[int, int, bool]) -> None:
    found = nearest(percent, n)
    assert (found.k, found.m, found.exact) == share


def test_notes_say_which_percentages_are_not_of_all_items() -> None:
    assert note(93.44, 63) == "93.44 is 57 of 61, of 63 items"
    assert note(82.00, 100) is None
    assert note(72.33, 100) == "72.33 is no share of 100 items, nor of a few less (217 of 300 gives it)"
    assert "humaneval: 93.44 is 57 of 61, of 63 items" in cited.notes()
    assert not any(line.startswith("wordcnt") for line in cited.notes())


def test_the_cited_f1_is_that_of_its_precision_and_recall() -> None:
    """A slip of the pen in the figures would show."""
    rows = [row for sets in cited.SENTENCES.values() for row in sets.values()]
    assert len(rows) == 24
    for _, precision, recall, f1 in rows:
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=0.02)


def test_the_sets_of_the_paper_are_known_by_their_names() -> None:
    quoted = {name for table in (cited.RESPONSES, cited.SENTENCES) for sets in table.values() for name in sets}
    assert quoted <= set(DATASETS)
    assert all(DATASETS[name].n == n for name, n in cited.TEST_ITEMS.items())


# Tables ----------------------------------------------------------------------------------------------------------


def test_the_agent_comes_first_and_what_needs_no_model_is_always_there() -> None:
    report = figures(ABOUT, a_run())
    assert [figure.name for figure in report.sets] == ["wordcnt", "factool_math", "factool_math, by sentence"]
    assert [own.method for own in report.sets[0].methods] == ["haluagent", "prompt", "lynx"]
    assert [own.method for own in report.sets[0].trivial] == ["always yes", "always no", "length rule"]
    assert [own.method for own in report.sets[2].trivial] == ["always yes", "always no"]
    assert report.sets[0].best_trivial("accuracy") == 0.5
    assert report.totals["prompt"].evaluated == 8 * 64


def test_the_short_table() -> None:
    head, *lines = table(a_run()).splitlines()
    assert head.split()[:3] == ["set", "n", "accuracy"]
    # Of four items the agent has two right, one open and one wrong.
    assert re.match(r"wordcnt +8 +50\.0 \[\d+\.\d, \d+\.\d\] +50\.0 +", lines[0])
    assert "50.0/50.0" in lines[0] and lines[0].endswith("4.0")
    assert lines[2].startswith("factool_math, by sentence") and " 6 " in lines[2]
    assert len({len(line) for line in (head, *lines)}) == 1


def test_runs_without_the_agent_or_without_rows_have_a_report() -> None:
    peers = [one for one in a_run() if one.method == "lynx"]
    assert "wordcnt (lynx)" in table(peers)
    for rows in (peers, []):
        assert markdown(ABOUT, rows).startswith("Model `tiny`")
        assert "<h2>Trajectories</h2>" in page(figures(ABOUT, rows), rows)


def test_markdown_tables_are_whole_and_cited_rows_stand_apart() -> None:
    rows = [one.model_copy(update={"method": "a|b\n<c"}) if one.method == "lynx" else one for one in a_run()]
    text = markdown(ABOUT, rows)
    blocks = [block.split("\n") for block in text.split("\n\n") if block.startswith("| ")]
    assert len(blocks) == 4  # quality, cost, the paper's two; no tool was called
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block}) == 1
    assert "a\\|b &lt;c" in text
    head, *lines = blocks[2]
    assert "wordcnt (n = 8)" in head and "factool_math" not in head
    assert [line.split(" | ")[0] for line in lines[1:3]] == ["| haluagent, measured here", "| prompt, measured here"]
    assert all(" †" in line for line in lines[3:]) and len(lines) == 9
    assert "Rows marked † are cited" in text and "57 of 61" in text


def test_the_paper_s_table_has_the_columns_of_the_run_in_its_own_order() -> None:
    rows = [row(1, True, True, dataset=name) for name in ("wordcnt", "other", "webqa")]
    found = paper_table(figures(ABOUT, rows), "response")
    assert found is not None
    head, measured, quoted = found
    assert head == ["", "webqa (n = 1)", "wordcnt (n = 1)"]
    assert measured == [["haluagent, measured here", "100.00 / 100.00", "100.00 / 100.00"]]
    assert quoted[0] == ["GPT-4 prompt †", "82.00 / 35.71", "56.00 / 66.15"]
    assert paper_table(figures(ABOUT, rows), "sentence") is None


def test_json_has_every_figure_and_the_cited_ones_apart() -> None:
    report = as_json(figures(ABOUT, a_run()))
    measured = json.loads(json.dumps(report, allow_nan=False))["measured"]
    scores = measured["sets"][0]["methods"][0]["scores"]
    assert scores["accuracy"] == 0.5 and scores["intervals"]["accuracy"][0] < 0.5
    assert "GPT-4 prompt" in report["cited"]["responses"] and "GPT-4" not in json.dumps(measured)


# Files -----------------------------------------------------------------------------------------------------------


def run_file(path: Path, rows: list[Row]) -> Path:
    data = "".join(one.model_dump_json() + "\n" for one in (ABOUT, *rows)).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_write_makes_three_files(tmp_path: Path, name: str) -> None:
    paths = write(run_file(tmp_path / name, a_run()), tmp_path / "docs" / "dev-0.1")
    assert [path.name for path in paths] == ["dev-0.1.md", "dev-0.1.json", "dev-0.1.html"]
    assert paths[0].read_text(encoding="utf-8") == markdown(ABOUT, a_run())
    assert json.loads(paths[1].read_text(encoding="utf-8"))["measured"]["about"]["model"] == "tiny"
    assert paths[2].read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_run_that_cannot_be_read_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        write(tmp_path / "none.jsonl", tmp_path / "out" / "report")
    assert not (tmp_path / "out").exists()


# The page --------------------------------------------------------------------------------------------------------


def test_nothing_of_the_data_becomes_markup() -> None:
    """Every text of the run is hostile; the page has the same elements as that of a harmless run."""

    def a_page(text: str) -> str:
        steps = (
            Step(sentence=1, thought=text, call=ToolCall(name=text, arguments={text: text}), result=None, error=text),
        )
        own = detection(True, steps, text)
        rows = [row(1, True, True, dataset=text, method=method, detection=own) for method in (text, "haluagent")]
        return page(figures(ABOUT.model_copy(update={"model": text, "strategy": text}), rows), rows)

    harmless, hostile = a_page("words"), a_page(HOSTILE)
    assert re.findall(r"<[a-z/!][^\s>]*", hostile) == re.findall(r"<[a-z/!][^\s>]*", harmless)
    assert "<img" not in hostile and HOSTILE not in hostile


def test_embedded_json_is_whole_and_has_no_tag() -> None:
    for text in (HOSTILE, "<!--<script>", "\u2028 \u2029 𝒳 \\u003c"):
        assert "<" not in embedded([text])
        assert json.loads(embedded([text])) == [text]


def test_the_page_needs_nothing_else() -> None:
    text = page(figures(ABOUT, a_run()), a_run())
    assert re.findall(r'(?:src|srcset|action|data|poster)="?(?!image)[^ >]*(?://|\.js|\.css)', text) == []
    assert "<link" not in text and "@import" not in text and "url(" not in text
    assert {target[0] for target in re.findall(r'href="([^"]*)"', text)} == {"#"}
    assert "default-src 'none'" in text.replace("&#39;", "'")


def test_the_reliability_curve_has_a_dot_for_every_bin_with_items() -> None:
    rows = [row(i, i > 2, True, score=score) for i, score in enumerate((0.05, 0.08, 0.35, 0.95, 1.0))]
    bins = figures(ABOUT, [*rows, row(9, True, None, score=0.5, error="failed")]).reliability
    assert [(one.n, round(one.score, 3), one.hallucinations) for one in bins] == [
        (2, 0.065, 0), (1, 0.35, 0), (1, 0.5, 1), (2, 0.975, 1)
    ]  # fmt: skip
    assert reliability_chart(bins).count("<circle") == 4
