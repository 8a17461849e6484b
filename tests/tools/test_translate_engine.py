"""`translate` on the real embedded model: translations right, put otherwise, and clearly wrong."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from haluagent.tooling.registry import Registry
from haluagent.tools.translate.tool import translate
from haluagent.types import ToolCall, ToolResult

pytestmark = pytest.mark.engine

# question, a right translation, the same put otherwise, a wrong one
CASES = [
    ("将以下法语翻译成中文：Mon voisin répare des vélos.", "我的邻居修自行车。", "我邻居修理自行车。", "我的老师喜欢画画。"),
    ("把“我们在火车站等了一个小时。”翻译成英语。", "We waited at the train station for an hour.",
     "We waited for one hour at the railway station.", "She bought a new coat yesterday."),
    ("Translate the following Spanish sentence into English: Hoy hace mucho frío.", "It is very cold today.",
     "Today it is very cold.", "My uncle lives in a big house."),
    ("How do you say “The dog is sleeping under the table” in German?", "Der Hund schläft unter dem Tisch.",
     "Unter dem Tisch schläft der Hund.", "Die Kinder gehen heute ins Kino."),
]  # fmt: skip


def check(make_context: Callable[..., Any], model: object, question: str, response: str) -> ToolResult:
    language = "en" if question[0].isascii() else "zh"
    context = make_context(question, response, model=model, language=language)
    call = ToolCall(name="translate", arguments={"sentence": "S0"})
    return asyncio.run(Registry([translate]).call(call, context))


@pytest.mark.parametrize("case", CASES, ids=["fr-zh", "zh-en", "es-en", "en-de"])
def test_right_and_wrong_translations(
    make_context: Callable[..., Any], engine_model: object, case: tuple[str, ...]
) -> None:
    question, right, otherwise, wrong = case
    results = [check(make_context, engine_model, question, response) for response in (right, otherwise, wrong)]
    assert [result.label for result in results] == ["supported", "supported", "contradicted"], results
    assert all(result.evidence[0].source == "translate" for result in results)
