"""The adapter that comes with the package, on the real engine."""

import asyncio
import re
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.models import EmbeddedModel
from haluagent.models.adapters import all_shipped
from haluagent.protocols import Message, ToolContext
from haluagent.text.numbers import find_numbers
from haluagent.tooling import turn_format
from haluagent.tools.calculator.figures import work_out
from haluagent.types import Language, Sentence

ITEMS: list[tuple[Language, str, str, str | None]] = [
    (
        "en",
        "Who painted the ceiling of the town hall?",
        "Anna Berg painted it in 1911. Her brother helped her. Hope this helps!",
        None,
    ),
    (
        "en",
        "A box holds 12 pens. How many pens are in 7 boxes?",
        "7 boxes hold 12 * 7 = 84 pens. So the answer is 84.",
        None,
    ),
    (
        "en",
        "When did the mill close?",
        "The mill closed in 1974. It had 40 workers.",
        "The mill closed in 1974, with 52 workers.",
    ),
    ("zh", "镇上的桥是谁设计的？", "桥是林远设计的。他还设计了车站。希望对您有帮助！", None),
    ("zh", "一箱有12支笔，7箱一共有多少支？", "7箱一共有12×7=84支。所以答案是84。", None),
    ("zh", "磨坊是哪一年关闭的？", "磨坊在1974年关闭。当时有40名工人。", "磨坊于1974年关闭，当时有52名工人。"),
]


def openings(recorder: Any, search: Any) -> list[list[Message]]:
    """The first turns of the branches of the items, as the agent puts them to a model."""
    with HaluAgent(recorder, search=search, sandbox=None, reflect=False) as agent:
        for language, question, response, reference in ITEMS:
            agent.detect(question, response, reference, language)
    turns = [messages for messages in recorder.seen if [one["role"] for one in messages] == ["system", "user"]]
    return list({one[1]["content"]: one for one in turns if offered(one)}.values())


def offered(messages: list[Message]) -> list[str]:
    """The tools that the last line of a conversation names; none where it is no turn."""
    last = messages[-1]["content"].rpartition("\n")[2]
    for mark, between in (("Offered here: ", ", "), ("这里可用：", "、")):
        if last.startswith(mark):
            return last.removeprefix(mark).split(between)
    return []


@pytest.mark.engine
def test_the_default_model_is_taught(engine_model: Any) -> None:
    (shipped,) = all_shipped()
    assert engine_model.name.endswith(f"+{shipped.name}")
    assert {"calculator", "match", "web_search"} <= engine_model.fine_tuned_tools


@pytest.mark.engine
def test_turns_need_no_grammar_to_be_calls(scripted: Any, empty_search: Any, engine_model: Any) -> None:
    """The base model without examples writes prose here; what was taught is a thought and a call of a tool that is offered."""
    recorder = scripted(lambda messages: "ACTION: get_answer()", choose=0.5)
    recorder.fine_tuned_tools = engine_model.fine_tuned_tools
    conversations = openings(recorder, empty_search)

    async def turns(model: Any, most: int) -> list[str]:
        stop = ["\n" + mark.strip() for mark in turn_format.OBSERVATION.values()]
        written = [await model.generate(messages, stop=stop, max_tokens=120) for messages in conversations[:most]]
        return [generation.text for generation in written]

    taught = asyncio.run(turns(engine_model, len(conversations)))
    assert len(taught) > 9
    assert all(text.count("\n") == 1 for text in taught)
    called = [turn_format.parse(text).call.name for text in taught]
    others = [name for name, messages in zip(called, conversations, strict=True) if name not in offered(messages)]
    assert len(others) < 2, f"{others} are not offered (a grammar keeps the agent from calling them)"
    base = asyncio.run(turns(engine_model.base_model(), 3))  # they are long
    assert sum(one != other for one, other in zip(taught, base, strict=False)) > 1
    assert sum(map(len, taught[:3])) < sum(map(len, base))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("language", "said", "reference"),
    [
        (
            "en",
            "The orchard sold 12 tonnes more pears than plums.",
            "Last year the orchard sold 31 tonnes of pears and 19 of plums.",
        ),
        ("zh", "果园卖出的梨比李子多12吨。", "去年果园卖出31吨梨和19吨李子。"),
    ],
)
def test_a_calculation_names_its_numbers(engine_model: Any, language: Language, said: str, reference: str) -> None:
    """The engine takes the grammar, and the model writes what the calculator can compute."""
    (figure,) = [number for number in find_numbers(said) if number.text == "12"]
    sentence = Sentence(index=1, text=said, span=(0, len(said)))
    context = ToolContext("", said, language, [sentence], engine_model, reference=reference)
    (line,) = asyncio.run(work_out(context, sentence, [figure])).facts
    assert re.fullmatch(r"\[.+\]31 - \[.+\]19 = 12\b.*", line)


PAIRS: dict[Language, list[tuple[str, str, str, str]]] = {
    "en": [
        (
            "Who built Harlow Tower?",
            "Harlow Tower was built by Mary Ellis, paid by John Carrick.",
            "Mary Ellis",
            "John Carrick",
        ),
        ("Where was the bell cast?", "The bell was cast in Lund and hangs in Visby.", "In Lund.", "In Visby."),
        ("When did the mill close?", "The mill opened in 1911 and closed in 1974.", "In 1974.", "In 1911."),
    ],
    "zh": [
        ("高塔是谁建造的？", "高塔由李明建造，王强出资。", "是李明建造的。", "是王强建造的。"),
        ("这口钟是在哪里铸造的？", "钟在苏州铸造，现在挂在扬州。", "在苏州。", "在扬州。"),
        ("磨坊哪一年关闭？", "磨坊1911年开业，1974年关闭。", "1974年。", "1911年。"),
    ],
}


@pytest.mark.engine
@pytest.mark.parametrize("language", ["en", "zh"])
def test_right_answers_are_supported_and_most_wrong_ones_are_not(
    engine_model: EmbeddedModel, language: Language
) -> None:
    """Each wrong one is another name or year of the text. haluagent-8 takes who paid for a tower for who built it."""
    doubted = []
    with HaluAgent(engine_model, search="none", sandbox="none") as agent:
        for question, reference, right, wrong in PAIRS[language]:
            assert agent.detect(question, right, reference, language).hallucination is False
            found = agent.detect(question, wrong, reference, language)
            doubted.append(found.hallucination is not False and found.score > 0.5)
    assert doubted.count(True) >= 2
