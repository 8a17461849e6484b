"""The agent on the real embedded model: the demo's inputs, the cost of branches, and the single transcript."""

import json
from collections.abc import Iterator

import pytest
from places import ROOT

from haluagent import HaluAgent, Limits
from haluagent.protocols import Model
from haluagent.types import Detection, Usage

pytestmark = pytest.mark.engine
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def agent(engine_model: Model) -> Iterator[HaluAgent]:
    with HaluAgent(engine_model) as agent:
        yield agent


def shelves(count: int) -> str:
    return " ".join(f"So it is {n} * 12 = {n * 12}." for n in range(1, count + 1))


def spent(detection: Detection) -> list[Usage]:
    """What each sentence's steps cost, in order."""
    return [step.usage for step in detection.steps if step.sentence]


@pytest.mark.parametrize(("name", "wrong", "tool"), [("invoice.en", 3, "date"), ("river.zh", 3, "match")])
@pytest.mark.core
def test_the_demo_flags_the_wrong_sentence_with_tool_evidence(
    agent: HaluAgent, name: str, wrong: int, tool: str
) -> None:
    detection = agent.detect(**json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8")))
    assert detection.hallucination is True
    flagged = [entry for entry in detection.sentences if entry.label == "contradicted"]
    assert [entry.sentence.index for entry in flagged] == [wrong]
    assert flagged[0].tool == tool
    assert flagged[0].evidence


def test_most_of_the_prompt_comes_from_the_cache(agent: HaluAgent) -> None:
    detection = agent.detect("Describe the shelves.", shelves(5))
    later = spent(detection)[1:]
    assert len(later) == 4
    assert sum(u.cached_tokens for u in later) >= 0.8 * sum(u.prompt_tokens for u in later)
    assert detection.hallucination is False


def test_evaluated_tokens_grow_linearly(agent: HaluAgent) -> None:
    """The first detection pays for the shared system prompt, which the second finds in the cache; only what comes
    after the shared opening is compared."""
    few, many = (sum(spent(agent.detect("Describe the shelves.", shelves(n)))[1:], Usage()) for n in (4, 13))
    assert many.evaluated_tokens <= 1.1 * 4 * few.evaluated_tokens


def test_a_chinese_length_is_counted(agent: HaluAgent) -> None:
    detection = agent.detect("请用20字写一句咖啡店的广告语。", "一杯好咖啡，一天好心情，欢迎光临。")
    whole = detection.sentences[-1]
    assert (whole.label, whole.tool) == ("contradicted", "word_count")
    assert detection.hallucination is True


def test_the_single_transcript_runs_on_the_engine(engine_model: Model) -> None:
    with HaluAgent(engine_model, strategy="linear", limits=Limits(steps=2)) as agent:
        detection = agent.detect(
            "Describe the boxes.", "Two boxes hold 2 * 6 = 12 cups. Three boxes hold 3 * 6 = 19 cups."
        )
    assert detection.steps[0].call is not None
    assert all(step.call is not None for step in detection.steps), "the grammar lets no unreadable turn through"
    assert detection.stop in ("answer", "step_limit")
