"""`haluagent bench answers`: every labelled sentence, and what the agent took it for."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from typer.testing import CliRunner

from haluagent import HaluAgent
from haluagent.bench import answers
from haluagent.bench.answers import JudgedSentence
from haluagent.bench.rows import blank
from haluagent.cli.main import app
from haluagent.corpora import packaged
from haluagent.errors import ConfigError
from haluagent.protocols import Message, ToolContext
from haluagent.text.segment import split
from haluagent.tooling.plugins import load_file
from haluagent.tools import default_registry
from haluagent.tools.calculator.figures import figures
from haluagent.types import Detection, Language, MemoryEntry, Step, ToolCall, ToolResult, Usage

DATA = Path(__file__).parents[1] / "data"
ROW: dict[str, Any] = {
    "id": "a", "language": "en", "document": "The ferry runs daily. It costs 4 euros.", "question": "When does it run?",
    "sentences": [
        {"text": "Here you go:", "label": "no_claim"},
        {"text": "\n- The ferry runs every day.", "label": "supported"},
        {"text": "A ticket is 5 euros.", "label": "contradicted"},
        {"text": "Dogs travel free.", "label": "not_in_reference"},
    ],
}  # fmt: skip


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def entries(response: str, **labels: str) -> tuple[MemoryEntry, ...]:
    found = []
    for sentence in split(response):
        label = next((label for word, label in labels.items() if word in sentence.text), "no_claim")
        code = {"label": "unverified", "reason_code": label} if label == "not_in_reference" else {"label": label}
        found.append(MemoryEntry.model_validate({"sentence": sentence} | code))
    return tuple(found)


def test_the_sentences_stand_where_they_were_put(tmp_path: Path) -> None:
    (answer,) = answers.load(write(tmp_path / "own.jsonl", ROW))
    item = answer.item()
    assert (
        item.response == "Here you go:\n- The ferry runs every day. A ticket is 5 euros. Dogs travel free."
        and item.wrong
    )
    assert [item.response[slice(*span)] for span in answer.spans()] == [one.text for one in answer.sentences]


def test_a_sentence_is_taken_for_what_was_said_in_its_place(tmp_path: Path) -> None:
    (answer,) = answers.load(write(tmp_path / "own.jsonl", ROW))
    item = answer.item()
    judged = entries(item.response, ferry="supported", ticket="contradicted", Dogs="not_in_reference")
    detection = Detection(
        question=item.question, response=item.response, language="en", hallucination=True, score=0.9, sentences=judged, usage=Usage(),
    )  # fmt: skip
    row = blank(item, "answers", "haluagent").model_copy(update={"detection": detection})
    found = answers.found({"a": answer}, [row])
    assert [one.given for one in found] == [one.gold for one in found]
    failed = answers.found({"a": answer}, [row.model_copy(update={"detection": None})])
    assert {one.given for one in failed} == {"unverified"}


def test_the_table_counts_alarms_and_catches() -> None:
    def made(gold: answers.Gold, given: answers.Given, answer: str) -> JudgedSentence:
        return JudgedSentence(answer=answer, language="zh", gold=gold, given=given)

    found = [made("supported", given, str(number)) for number, given in enumerate(["supported"] * 3 + ["contradicted"])]
    found += [
        made("contradicted", "not_in_reference", "1"),
        made("not_in_reference", "supported", "2"),
        made("no_claim", "no_claim", "3"),
    ]
    text = answers.table(found)
    assert "| supported | 4 | 3 | 1 | 0 | 0 | 0 |" in text
    assert "| right sentences supported | 75.0 [" in text and "| right sentences contradicted | 25.0 [" in text
    assert "| wrong sentences caught | 50.0 [" in text and "| no claims seen as such | 100.0" in text


def test_the_first_call_is_compared_with_the_tools_that_fit(tmp_path: Path) -> None:
    row = ROW | {
        "document": "",
        "sentences": [
            {"text": "Here you go:", "tools": []},
            {"text": "\n- The ferry runs every day.", "tools": ["web_search"]},
            {"text": "A ticket is 2 + 2 = 5 euros.", "tools": ["calculator", "match"]},
            {"text": "Dogs travel free.", "tools": ["match"]},
        ],
    }
    (answer,) = answers.load(write(tmp_path / "own.jsonl", row))
    item = answer.item()
    assert item.reference is None
    judged = entries(item.response, ferry="unverified", ticket="contradicted", Dogs="unverified")
    judged = tuple(one.model_copy(update={"tool": "match"}) if "Dogs" in one.sentence.text else one for one in judged)
    calls = [(2, "change_tools"), (2, "word_count"), (2, "web_search"), (3, "calculator")]
    steps = tuple(
        Step(sentence=sentence, thought="", call=ToolCall(name=name, arguments={}), result=None)
        for sentence, name in calls
    )
    detection = Detection(
        question=item.question, response=item.response, language="en", hallucination=True, score=0.9, sentences=judged,
        steps=steps, usage=Usage(),
    )  # fmt: skip
    made = blank(item, "answers", "haluagent").model_copy(update={"detection": detection})
    found = answers.found({"a": answer}, [made])
    assert [one.called for one in found] == [None, "word_count", "calculator", "match"]
    text = answers.table(found)
    assert "| a right tool called first | 66.7" in text and "| no claims that no tool was called for | 100.0" in text
    assert "| web_search | word_count | 1 |" in text and "right sentences supported" not in text


@pytest.mark.parametrize(
    ("value", "observation", "right"),
    [
        (6, "[one way]3*2 = 6; something else is stated", True),
        (6, "3*2 = 6, as stated (6)", True),
        (6.5, "3*2 = 6, as stated (6)", False),
        (33.3, "1/3 = 1/3, as stated (a third)", True),
        (12.5, "(4.5-4.0)/4.0 = 12.5%, as stated (12.5%)", True),
        (6, "no calculation with the reference's numbers was found for 6", False),
        (-4, "3-7 = -4, as stated (4)", True),
    ],
)
def test_the_figure_that_a_calculator_came_to(tmp_path: Path, value: float, observation: str, right: bool) -> None:
    row = ROW | {"sentences": [{"text": "Two tickets are 6 euros.", "tools": ["calculator"], "value": value}]}
    (answer,) = answers.load(write(tmp_path / "own.jsonl", row))
    item = answer.item()
    steps = tuple(
        Step(sentence=1, thought="", call=ToolCall(name=name, arguments={}), result=ToolResult(observation=text))
        for name, text in (("match", f"= {value}"), ("calculator", observation))
    )
    detection = Detection(
        question=item.question, response=item.response, language="en", hallucination=None, score=0.5,
        sentences=entries(item.response), steps=steps, usage=Usage(),
    )  # fmt: skip
    made = blank(item, "answers", "haluagent").model_copy(update={"detection": detection})
    (found,) = answers.found({"a": answer}, [made])
    assert found.worked_out is right
    assert f"| the right figure worked out | {'100.0' if right else '0.0'}" in answers.table([found])
    failed = answers.found({"a": answer}, [made.model_copy(update={"detection": None})])
    assert failed[0].worked_out is False


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("own.jsonl", [ROW, ROW], "line 2: field 'id' is 'a', as in a row before"),
        ("own.jsonl", [ROW | {"sentences": [{"text": "x", "label": "right"}]}], "line 1: field"),
        ("own.jsonl", [ROW | {"sentences": [{"text": "x"}]}], "expected is a sentence with a label, or with tools"),
        ("own.jsonl", [ROW | {"document": ""}], "expected is sentences with tools, where there is no document"),
        ("own.txt", [ROW], "is no .jsonl file"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        answers.load(write(tmp_path / name, *rows))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_answers_of_the_tests_are_split_as_they_were_labelled(language: str) -> None:
    known = answers.load(DATA / "answers" / f"{language}.jsonl")
    gold = [sentence.label for answer in known for sentence in answer.sentences]
    assert len(known) == 30 and len(gold) > 140
    assert 0.6 < gold.count("supported") / len(gold) < 0.75, "right ones dominate, as in life"
    for answer in known:
        units = split(answer.item().response)
        for sentence, (start, end) in zip(answer.sentences, answer.spans(), strict=True):
            assert any(unit.span[0] < end and unit.span[1] > start for unit in units), sentence.text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_answers_with_figures_are_no_copies_and_are_not_taught(language: str) -> None:
    known = answers.load(DATA / "figures" / f"{language}.jsonl")
    gold = [sentence.label for answer in known for sentence in answer.sentences]
    assert gold.count("supported") == gold.count("contradicted") == 52
    taught = [
        row["text"]
        for name in ("figures.jsonl", "documents.jsonl")
        for row in packaged.rows("haluagent.train.trajectories", name)
    ]
    assert not {answer.document for answer in known} & set(taught)
    derived = [
        figures(sentence.text, answer.document, answer.question) for answer in known for sentence in answer.sentences
    ]
    assert sum(map(bool, derived)) > 70, "the calculator has something to work out in most"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_tool_that_is_wanted_exists(language: str, scripted: Any) -> None:
    known = answers.load(DATA / "choices" / f"{language}.jsonl")
    wanted = [sentence.tools for answer in known for sentence in answer.sentences]
    with HaluAgent(scripted([]), search="none", sandbox="none") as agent:
        checks = {tool.name for tool in agent.registry if not tool.system}
    assert len(wanted) > 150 and all(tools is not None and set(tools) <= checks for tools in wanted)
    assert {name for tools in wanted for name in tools or ()} == checks - {
        "citation",
        "convert",
    }  # newer than the sentences
    assert any(tools == [] for tools in wanted) and sum(bool(answer.document) for answer in known) >= 25


def test_the_command_prints_the_table(tmp_path: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def say(messages: Sequence[Message]) -> str:
        sentence = re.findall(r"Check (S\d+)", messages[-1]["content"])[-1]
        return f'THOUGHT: a fact\nACTION: match(sentence={sentence}, context="reference")'

    monkeypatch.setattr("haluagent.models.resolution.resolve", lambda *args, **more: scripted(say, choose=0.9))
    arguments = [
        "bench",
        "answers",
        "--data",
        str(write(tmp_path / "own.jsonl", ROW)),
        "--out",
        str(tmp_path / "run.jsonl"),
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "| gold | n | supported | contradicted | not in reference | unverified | no claim |" in result.stdout
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0 and again.stdout == result.stdout


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_tools_that_no_adapter_was_taught_decide_their_sentences(language: Language) -> None:
    untaught = {item.name: item for item in load_file(ROOT / "examples" / "untaught.py")}
    known = {*untaught, *(item.name for item in default_registry())}
    decided: Counter[tuple[str, str]] = Counter()
    for answer in answers.load(DATA / "untaught" / f"{language}.jsonl"):
        item = answer.item()
        sentences = split(item.response)
        for labelled, span in zip(answer.sentences, answer.spans(), strict=True):
            tools = labelled.tools or []
            assert set(tools) <= known
            own = [one for one in sentences if one.span[0] < span[1] and one.span[1] > span[0]]
            for name in tools:
                if name not in untaught:
                    continue
                (sentence,) = own
                context = ToolContext(
                    question=item.question, response=item.response, language=language, sentences=sentences,
                    reference=item.reference, model=None,  # type: ignore[arg-type]
                )  # fmt: skip
                assert untaught[name].when(context, sentence)
                result = asyncio.run(untaught[name].run(context, sentence))
                decided[name, str(result.label)] += 1
    assert set(decided) == {(name, label) for name in untaught for label in ("supported", "contradicted")}
