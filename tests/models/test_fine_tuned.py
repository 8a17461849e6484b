"""A model with an adapter: the tools read its calibration, and it is shown and completed less."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from scripted import believes, prompt, three_way

from haluagent import HaluAgent
from haluagent.detection.check_worthiness import is_claim
from haluagent.detection.decontextualisation import judged_as_it_is
from haluagent.detection.limits import Budget, Limits, Meter
from haluagent.detection.task import DetectionTask, make_task
from haluagent.judging.comparison import compare, judge
from haluagent.judging.judge import ask
from haluagent.models.calibration import EMBEDDED, IDENTITY, Calibration
from haluagent.text.segment import split
from haluagent.tools import default_registry
from haluagent.tools.calculator.answer_check import check_answer
from haluagent.tools.translate.comparison import TextPair, likeness
from haluagent.types import Language

TOWER = "The tower stands in Bergen, near the sea."
OTHER = EMBEDDED.model_copy(
    update={
        "claims": {"en": 5.0, "zh": 5.0},
        "mentions": {"en": 5.0, "zh": 5.0},
        "otherwise": {"en": 9.0, "zh": 9.0},
        "problem": EMBEDDED.problem.model_copy(update={"intercept": 9.0}),
        "translation": {
            key: curve.model_copy(update={"intercept": -99.0}) for key, curve in EMBEDDED.translation.items()
        },
    }
)


def model(
    scripted: Any, calibration: Calibration = IDENTITY, taught: frozenset[str] = frozenset(), **options: Any
) -> Any:
    made = scripted(**options)
    made.calibration, made.fine_tuned_tools = calibration, taught
    return made


def task(made: Any, response: str, language: Language = "en", **options: Any) -> DetectionTask:
    question = "Where does the tower stand?"
    options = {"free": True, **options}
    return make_task(question, response, TOWER, language, default_registry(), made, **options).segmented(
        split(response)
    )


# The tools -------------------------------------------------------------------------------------------------------


def test_a_curve_is_that_of_the_model(scripted: Any, make_context: Any) -> None:
    found = {}
    for name, calibration in (("taught", IDENTITY), ("embedded", EMBEDDED)):
        context = make_context(
            "Where?", "Bergen is where it stands.", model=model(scripted, calibration, choose=believes(0.6))
        )
        found[name] = asyncio.run(ask(context, context.sentences[0], TOWER, "statement")).supported
    assert found["taught"] == pytest.approx(0.6), "its log-odds are taken as they are"
    assert found["embedded"] > 0.9


def test_what_is_put_does_not_depend_on_what_the_model_was_taught(scripted: Any, make_context: Any) -> None:
    asked = []
    for calibration in (IDENTITY, EMBEDDED):
        made = model(scripted, calibration)
        context = make_context("Where does it stand?", "It stands in Bergen.", model=made)
        asyncio.run(ask(context, context.sentences[0], TOWER, "answer"))
        asked.append(made.seen)
    assert asked[0] == asked[1]


def test_the_other_constants_are_those_of_the_model(scripted: Any, make_context: Any) -> None:
    """Thresholds that nothing passes, and intercepts that decide."""

    def believing(messages: Any) -> Any:
        text = messages[-1]["content"]
        if three_way(messages):
            return believes("otherwise")(messages)
        return 0.1 if "A: no" in text or "A: a greeting" in text else 0.9

    said = {}
    for name, calibration in (("embedded", EMBEDDED), ("other", OTHER)):
        made = model(scripted, calibration, say=lambda messages: "2+3", choose=believing)
        meter = Meter(made, Budget(Limits()))
        context = make_context("Where does the tower stand?", "The tower stands in Oslo.", model=meter)
        referring = replace(context, reference=TOWER)
        silence = make_context("", "The documents do not mention the tower.", reference=TOWER, model=meter)
        problem = make_context("What are 2 and 3?", "They are 5.", model=meter)
        pair = TextPair("It rains.", "There is rain.", "en", "It rains.", back=False)
        said[name] = (
            asyncio.run(compare(referring, context.sentences[0])).label,
            asyncio.run(judge(silence, silence.sentences[0])).label,
            asyncio.run(check_answer(problem)).label,
            asyncio.run(likeness(meter, pair)) > 0.5,
            asyncio.run(is_claim(task(made, "It stands."), split("It stands.")[0], meter)),
        )
    assert said == {
        "embedded": ("contradicted", "contradicted", "supported", True, True),
        "other": (None, None, "contradicted", False, False),
    }


@pytest.mark.parametrize(("believed", "alone", "beside"), [(0.5, True, True), (0.25, True, False), (0.1, False, False)])
def test_beside_a_reference_less_is_taken_for_a_claim(
    scripted: Any, believed: float, alone: bool, beside: bool
) -> None:
    """Log-odds of 0, -1.1 and -2.2 by the bound -1.5, and by one that is 0.75 higher; the question is not shown."""

    def choose(messages: Any) -> list[float]:
        shares = [believed, 1 - believed]
        return shares[::-1] if "A: a greeting" in prompt(messages) else shares

    bounds = EMBEDDED.model_copy(update={"claims": {"en": -1.5, "zh": -1.5}})
    made = model(scripted, bounds, choose=choose)
    beside_it = task(made, "It stands.")
    for one, claims in ((replace(beside_it, reference=None), alone), (beside_it, beside)):
        meter = Meter(made, Budget(Limits()))
        assert asyncio.run(is_claim(one, split("It stands.")[0], meter)) is claims
    assert made.seen and not any(beside_it.question in prompt(seen) for seen in made.seen)


# What it is shown ------------------------------------------------------------------------------------------------


def test_a_tool_that_decides_nothing_is_shown_where_the_model_chooses(scripted: Any) -> None:
    guided, free = (task(model(scripted), "It stands.", free=free).system for free in (False, True))
    assert "convert(" in free and "convert(" not in guided and "calculator(" in guided


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_examples_of_tools_that_it_knows(scripted: Any, language: Language) -> None:
    response = "It stands in Bergen (ISBN 978-3-16-148410-0)."  # every tool has to do with it
    every = frozenset(item.name for item in default_registry())
    plain, one, all_known = (
        task(model(scripted, taught=frozenset(names)), response, language, free=True).system
        for names in ((), ("calculator",), every)
    )
    demos = [(item.name, demo) for item in default_registry() for demo in item.demos if demo.language == language]
    shown = [(name, demo.observation) for name, demo in demos if name != "split_text"]
    assert {name for name, _ in shown} >= {"calculator", "match"}
    assert all(observation in plain for _, observation in shown)
    assert all((observation in one) is (name != "calculator") for name, observation in shown)
    assert not any(observation in all_known for _, observation in shown)
    assert "calculator(" in one, "it is still on the list of tools"


def test_without_demos_no_examples_at_all(scripted: Any) -> None:
    plain, without = (task(model(scripted), "It stands in Bergen.", demos=demos).system for demos in (True, False))
    assert "OBSERVATION" in plain and "OBSERVATION" not in without and "calculator(" in without
    taught = model(scripted, taught=frozenset(item.name for item in default_registry()))
    assert task(taught, "It stands in Bergen.", demos=False).system == without


def test_a_base_model_alone_is_shown_how_the_single_transcript_begins(scripted: Any) -> None:
    known = frozenset(item.name for item in default_registry())
    taught, base, branches = (
        task(model(scripted, taught=names), "It stands.", single_transcript=single).system
        for names, single in ((known, True), (frozenset(), True), (frozenset(), False))
    )
    begins = "ACTION: split_text()"
    assert [begins in shown for shown in (taught, base, branches)] == [False, True, False]


# Completion ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("response", "as_it_is"), [("Bergen.", True), ("There are two. It stands in Bergen.", False)])
def test_one_sentence_is_judged_as_it_is(scripted: Any, response: str, as_it_is: bool, language: Language) -> None:
    assert judged_as_it_is(task(model(scripted), response, language)) is as_it_is


@pytest.mark.parametrize("taught", [(), ("match",)])
@pytest.mark.parametrize(("before", "completed"), [("", None), ("There are two. ", "The tower stands in Bergen.")])
def test_a_detection_completes_what_it_must(
    scripted: Any, taught: tuple[str, ...], before: str, completed: str | None
) -> None:
    made = model(
        scripted, IDENTITY, frozenset(taught),
        say=lambda messages: f'ACTION: match(sentence={scripted.checked(messages)}, context="reference")',
        free="The tower stands in Bergen.",
    )  # fmt: skip
    with HaluAgent(made, search="none", sandbox="none") as agent:
        detection = agent.detect("Where does the tower stand?", f"{before}It stands in Bergen.", reference=TOWER)
    assert detection.sentences[-1].sentence.standalone == completed
