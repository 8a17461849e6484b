"""Claims whose evidence has to be found: one index of all texts, and the figures of what came of the search."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent.bench import facts
from haluagent.bench.datasets.claims_beside_texts import sources
from haluagent.bench.rows import Row, read
from haluagent.cli.main import app
from haluagent.errors import ConfigError
from haluagent.protocols import Message
from haluagent.types import Detection, Evidence, MemoryEntry, Sentence, Usage

TOWERS = ("Alster", "Bille", "Dove", "Elbe")
COLOURS = ("green", "blue", "red", "white")


def claim(number: int, tower: str, colour: str, wrong: bool, text: str = "") -> dict[str, Any]:
    return {
        "id": f"c{number}", "source": "towers", "language": "en", "question": "", "claim": f"The {tower} Tower is painted {colour}.",
        "text": text or f"The {tower} Tower was built by the harbour. The {tower} Tower is painted {COLOURS[TOWERS.index(tower)]}.",
        "wrong": wrong, "kind": "",
    }  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        claim(2 * place + wrong, tower, COLOURS[(place + wrong) % 4], bool(wrong))
        for place, tower in enumerate(TOWERS)
        for wrong in (0, 1)
    ]
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "towers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_claim_stands_once_and_is_decided_by_any_of_its_texts(data: Path) -> None:
    other, against = "All agree that the Alster Tower is painted green.", "The Bille Tower is painted pink."
    more = [claim(20, "Alster", "green", False, other), claim(21, "Bille", "blue", True, against)]
    with (data / "towers.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in more)
    opened = facts.without_texts(sources(data))
    items = opened.items["towers"]
    assert [item.response for item in items] == [
        response
        for response in sorted(item.response for item in items)
        if response != "The Bille Tower is painted blue."
    ]
    assert all(item.reference is None for item in items) and len(items) == 7
    green = next(item for item in items if "Alster" in item.response and not item.wrong)
    assert opened.evidence["towers", green.id] == {other, claim(0, "Alster", "green", False)["text"]}
    assert {other, against} < set(opened.texts) and len(opened.texts) == 6


def test_an_index_holds_the_texts_passages_of_sets_and_documents_beside_them(data: Path, tmp_path: Path) -> None:
    (data / "webqa.jsonl").write_text(
        json.dumps(
            {
                "question": "谁？",
                "answer": "李白。",
                "output": "这首诗是李白写的，他是唐代的诗人。",
                "id": 1,
                "judge": 0,
            }
        )
    )
    (tmp_path / "more.txt").write_text("Bananas are yellow.")
    opened = facts.without_texts(sources(data, "towers,webqa", passages=True))
    made = facts.index(tmp_path, opened.texts, ["webqa"], data, [tmp_path / "more.txt"], 20)
    assert [item.response for item in opened.items["webqa"]] == ["李白。"] and len(opened.texts) == 4
    assert made.stats().passages == 20 and made.stats().documents > 6
    with pytest.raises(ConfigError, match="no references"):
        sources(data, "webqa")


def say(messages: Sequence[Message]) -> str:
    tower = next(name for name in TOWERS if f"{name} Tower" in messages[1]["content"])
    return f'ACTION: web_search(sentence=S1, query="{tower} Tower painted")'


def test_the_command_looks_every_claim_up_and_goes_on(endpoint: Any, data: Path, tmp_path: Path) -> None:
    endpoint.say = say  # whose choices say nothing, so that only what stands in a text word for word is decided
    out = tmp_path / "run.jsonl"
    command = ["bench", "facts", "--data", str(data), "--out", str(out), "--base-url", endpoint.base_url]
    call = CliRunner().invoke(app, [*command, "--sample", "4", "--passages", "12"])
    assert call.exit_code == 0, call.output
    cells = [cell.strip() for cell in call.stdout.splitlines()[2].split("|")[1:-1]]
    assert cells[:2] == ["towers", "4"] and cells[2].startswith("50.0") and cells[3].startswith("100.0")
    assert cells[6].startswith("100.0") and float(cells[7]) >= 1
    asked, begun = endpoint.chats, out.read_bytes()
    assert CliRunner().invoke(app, [*command, "--sample", "4", "--passages", "12"]).exit_code == 0
    assert (endpoint.chats, out.read_bytes()) == (asked, begun)
    assert CliRunner().invoke(app, command).exit_code == 0
    rows = read(out)[1]
    assert {row.id: row.verdict for row in rows} == {f"c{number}": None if number % 2 else False for number in range(8)}


def row(name: str, wrong: bool, verdict: bool | None, shown: str = "") -> Row:
    sentence = Sentence(index=1, text=name, span=(0, len(name)))
    label = {True: "contradicted", False: "supported", None: "unverified"}[verdict]
    entry = MemoryEntry.model_validate(
        {"sentence": sentence, "label": label, "evidence": (Evidence(source="web_search", text=shown),) if shown else (),
         "tool": "web_search", "confidence": 0.9, "reason": ""}
    )  # fmt: skip
    detection = Detection(
        question="", response=name, language="en", hallucination=verdict, score=0.5, sentences=(entry,), steps=(),
        usage=Usage(), stop="answer",
    )  # fmt: skip
    return Row(
        dataset="one",
        id=name,
        method="haluagent",
        language="en",
        wrong=wrong,
        verdict=verdict,
        length=1,
        detection=detection,
    )


def test_the_table_counts_what_is_decided_rightly_and_where_the_evidence_is_from() -> None:
    rows = [
        row("a", False, False, "It is  green."),
        row("b", False, False, "It is old."),
        row("c", False, True),
        row("d", False, None),
        row("e", True, False, "It is green."),
        row("f", True, True),
    ]
    texts = frozenset({"Hear: It is green. So be it."})
    lines = facts.table(rows, {("one", one.id): texts for one in rows}).splitlines()
    cells = [cell.strip().split(" ")[0] for cell in lines[2].split("|")[1:-1]]
    assert cells == ["one", "6", "83.3", "60.0", "25.0", "50.0", "50.0", "0.0", "0.0"]
    assert len(lines) == 3  # a single source is not repeated as the whole


def test_answers_of_several_sentences_are_also_counted_by_the_one_that_answers() -> None:
    whole = row("a", False, None)
    assert whole.detection
    (entry,) = whole.detection.sentences
    entries = [entry.model_copy(update={"label": label}) for label in ("no_claim", "supported", "unverified")]
    several = whole.model_copy(update={"detection": whole.detection.model_copy(update={"sentences": tuple(entries)})})
    lines = facts.table([several, row("b", True, True)], {}).splitlines()
    assert [[cell.strip().split(" ")[0] for cell in line.split("|")[1:5]] for line in lines[2:]] == [
        ["one", "2", "50.0", "100.0"],
        ["one,", "2", "100.0", "100.0"],
    ]
