"""The adapter that comes with the package, on the real engine."""

import asyncio
from typing import Any

import pytest
from haluagent.tools import default_registry

from haluagent import HaluAgent, wire
from haluagent.models import EmbeddedModel
from haluagent.protocols import Message
from haluagent.segment import split
from haluagent.task import make_task
from haluagent.types import Language

ITEMS: list[tuple[Language, str, str, str | None]] = [
    ("en", "Who painted the ceiling of the town hall?", "Anna Berg painted it in 1911. Her brother helped her. Hope this helps!", None),
    ("en", "A box holds 12 pens. How many pens are in 7 boxes?", "7 boxes hold 12 * 7 = 84 pens. So the answer is 84.", None),
    ("en", "When did the mill close?", "The mill closed in 1974. It had 40 workers.", "The mill closed in 1974, with 52 workers."),
    ("zh", "镇上的桥是谁设计的？", "桥是林远设计的。他还设计了车站。希望对您有帮助！", None),
    ("zh", "一箱有12支笔，7箱一共有多少支？", "7箱一共有12×7=84支。所以答案是84。", None),
    ("zh", "磨坊是哪一年关闭的？", "磨坊在1974年关闭。当时有40名工人。", "磨坊于1974年关闭，当时有52名工人。"),
]


def openings(model: Any) -> list[list[Message]]:
    """The first turn of each sentence of the items, as a branch opens."""
    registry = default_registry()
    found = []
    for language, question, response, reference in ITEMS:
        task = make_task(question, response, reference, language, split(response), registry, model)
        found += [task.messages(sentence) for sentence in task.sentences]
    return found


@pytest.mark.engine
def test_the_default_model_is_taught(engine_model: Any) -> None:
    assert engine_model.name.endswith("+haluagent-2")
    assert {"calculator", "match", "web_search"} <= engine_model.taught


@pytest.mark.engine
def test_turns_need_no_grammar_to_be_calls(engine_model: Any) -> None:
    """The base model without examples writes prose here; what was taught is a thought and a call of a tool that exists."""
    names = {item.name for item in default_registry()}

    async def turns(model: Any, most: int) -> list[str]:
        stop = ["\n" + mark.strip() for mark in wire.OBSERVATION.values()]
        written = [await model.generate(messages, stop=stop, max_tokens=120) for messages in openings(engine_model)[:most]]
        return [generation.text for generation in written]

    taught = asyncio.run(turns(engine_model, 14))
    assert len(taught) == 14
    assert all(wire.parse(text).call.name in names for text in taught), "\n".join(taught)
    assert all(text.count("\n") == 1 for text in taught), "\n".join(taught)
    base = asyncio.run(turns(engine_model.untaught(), 3))  # they are long
    assert sum(one != other for one, other in zip(taught, base, strict=False)) > 1
    assert sum(map(len, taught[:3])) < sum(map(len, base))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("language", "question", "reference", "right", "wrong"),
    [
        ("en", "Who built Harlow Tower?", "Harlow Tower was built by Mary Ellis, paid by John Carrick.", "Mary Ellis", "John Carrick"),
        ("zh", "高塔是谁建造的？", "高塔由李明建造，王强出资。", "是李明建造的。", "是王强建造的。"),
    ],
)
def test_a_right_answer_is_supported_and_a_wrong_one_is_not(
    engine_model: EmbeddedModel, language: Language, question: str, reference: str, right: str, wrong: str
) -> None:
    """The wrong one is another name of the text."""
    with HaluAgent(engine_model, search="none", sandbox="none") as agent:
        assert agent.detect(question, right, reference, language).hallucination is False
        doubted = agent.detect(question, wrong, reference, language)
        assert doubted.hallucination is not False and doubted.score > 0.5
