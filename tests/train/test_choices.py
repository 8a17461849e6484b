"""First turns that choose one of several tools: what is taught can be called, and gives nothing away."""

import asyncio
import re
from collections import Counter

from places import ROOT

from haluagent.arithmetic.expressions import evaluate
from haluagent.arithmetic.known import USUAL_CONSTANTS, foreign_numbers
from haluagent.bench import answers
from haluagent.corpora import packaged
from haluagent.protocols import ToolContext
from haluagent.text.segment import split
from haluagent.tooling.turn_format import parse
from haluagent.tools import default_registry
from haluagent.train.trajectories.choices import make

MADE = make(1)


def offered(text: str) -> list[str]:
    return re.split(r", |、", re.findall(r"(?:Offered here: |这里可用：)(.+)", text)[-1])


def test_every_turn_is_a_call_of_a_tool_that_is_offered_beside_others() -> None:
    registry, alone = default_registry(), 0
    for one in MADE:
        call = one.calls[0]
        turn = parse(call.reply)
        names = offered(call.messages[-1].content)
        assert turn.call.name in names and turn.thought
        alone += len(names) == 1
        assert set(turn.call.arguments) <= set(registry[turn.call.name].parameters)
        assert turn.call.arguments["sentence"] == f"S{call.sentence}"
    assert alone < 0.05 * len(MADE)


def test_what_is_taught_to_be_called_computes_something() -> None:
    """Of those that need no model: the dates, and the equations that a sentence shows."""
    ran = 0
    for one in MADE:
        turn = parse(one.calls[0].reply)
        if turn.call.name != "date":
            continue
        sentences = split(one.response)
        context = ToolContext(
            question=one.question, response=one.response, language=one.language, sentences=sentences,
            reference=one.reference, model=None,  # type: ignore[arg-type]
        )  # fmt: skip
        result = asyncio.run(default_registry().call(turn.call, context))
        ran += 1
        assert result.label or result.facts
    assert ran > 40


def test_what_was_computed_is_compared_with_the_text() -> None:
    chained = [one for one in MADE if len(one.calls) == 2]
    assert len(chained) > 60 and {one.language for one in chained} == {"en", "zh"}
    for one in chained:
        first, then = one.calls
        before = parse(first.reply).call
        turn = parse(then.reply)
        assert before.name in ("calculator", "date") and turn.call.name == "match"
        assert then.messages[:-3] == first.messages[:-1] and then.messages[-2].content == first.reply
        assert re.match("OBSERVATION: |观察：", then.messages[-1].content)
        names = offered(then.messages[-1].content)
        assert "match" in names and before.name not in names and len(names) > 1
        assert (turn.call.arguments["context"] == "reference") is (one.reference is not None)


def test_a_calculation_uses_numbers_of_the_texts_and_not_the_stated_result() -> None:
    formulas = [
        (one, turn.call.arguments["formula"])
        for one in MADE
        if "formula" in (turn := parse(one.calls[0].reply)).call.arguments
    ]
    assert len(formulas) > 30
    assert not any(one.reference for one, _ in formulas), (
        "a turn does not show the reference: there the tool has it written"
    )
    outside = 0
    for one, formula in formulas:
        known = [one.question, one.response, one.reference or ""]
        outside += bool(foreign_numbers(formula, known, USUAL_CONSTANTS))
        assert evaluate(formula).number
    assert outside < 0.1 * len(formulas)


def test_no_place_in_the_list_and_no_tool_is_right_by_itself() -> None:
    places: Counter[int] = Counter()
    tools: Counter[str] = Counter()
    declined: Counter[str] = Counter()
    for one in MADE:
        name = parse(one.calls[0].reply).call.name
        names = offered(one.calls[0].messages[-1].content)
        places[names.index(name)] += 1
        tools[name] += 1
        declined.update(other for other in names if other != name)
    assert max(places.values()) < 0.6 * len(MADE)
    assert max(tools.values()) < 0.4 * len(MADE)
    assert len(tools) == 9 and all(declined[name] > 2 for name in tools)
    assert all(declined[name] > 0.4 * tools[name] for name in ("match", "calculator", "date", "web_search"))


def test_both_languages_and_texts_kept_from_teaching() -> None:
    assert set(Counter(one.language for one in MADE)) == {"en", "zh"}
    held = make(1, held=True)
    assert len(held) > 60 and not {one.group for one in held} & {one.group for one in MADE}
    assert [one.id for one in make(1)] == [one.id for one in MADE], "the same for the same seed"


def test_nothing_of_what_is_measured_is_taught() -> None:
    rows = packaged.rows("haluagent.train.trajectories", "choices.jsonl")
    taught = {sentence["text"] for row in rows for sentence in row["sentences"]} | {row["question"] for row in rows}
    measured = [
        one
        for language in ("en", "zh")
        for one in answers.load(ROOT / "tests" / "data" / "choices" / f"{language}.jsonl")
    ]
    assert not taught & {sentence.text for one in measured for sentence in one.sentences if len(sentence.text) > 24}
    assert not taught & {one.question for one in measured}
