"""The turns of the gold teacher: the tool that decides a sentence, and the shortest call to it."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from haluagent.arithmetic.equations import find_equations
from haluagent.errors import FormatError, ModelError
from haluagent.protocols import Message
from haluagent.text.numbers import find_numbers
from haluagent.text.words import words
from haluagent.tooling import turn_format
from haluagent.train.trajectories.lessons import Lesson
from haluagent.types import Label, Language, Sentence, ToolCall

QUERY_CHARACTERS = 60
_ASKING_EN = re.compile(
    r"\b(?:what|which|who|whom|whose|where|when|how|why|is|are|was|were|did|does|do|the|a|an)\b", re.IGNORECASE
)
_ASKING_ZH = re.compile(r"请问|什么时[候间]|什么地方|什么|哪里|哪儿|哪[一个年天位]{0,2}|谁|多少|几|[？?。，]")

_THOUGHTS: dict[Language, dict[str, str]] = {
    "en": {
        "calculator": "it calculates",
        "traced": "its numbers stand before it",
        "whole": "the answer as a whole",
        "formula": "a result, to be calculated from the question",
        "match": "a fact; the reference decides",
        "consistency": "to compare with the rest",
        "web_search": "a fact, to be looked up",
        "date": "it counts days or names a weekday",
        "word_count": "a length was asked for",
        "translate": "a translation was asked for",
        "get_answer": "it states nothing",
        "change_tools": "a fact; nothing here can decide it",
        "split_text": "first the sentences",
        "end": "every sentence is checked",
    },
    "zh": {
        "calculator": "写出了算式",
        "traced": "数字在前文出现过",
        "whole": "看整个答案",
        "formula": "是计算结果，按题目列式",
        "match": "是事实，查参考资料",
        "consistency": "和其余部分比较",
        "web_search": "是事实，需要检索",
        "date": "是天数或星期",
        "word_count": "题目要求了长度",
        "translate": "题目要求翻译",
        "get_answer": "没有断言",
        "change_tools": "是事实，这里没有工具能判定",
        "split_text": "先分成句子",
        "end": "各句都查过了",
    },
}
_NO_TOOL: dict[Language, str] = {"en": "no source to look it up in", "zh": "没有可以查证的来源"}


class Move(NamedTuple):
    """A tool call and the reason for it."""

    why: str
    call: ToolCall


def say(move: Move, language: Language) -> str:
    """Return a turn in the action format."""
    return turn_format.write(turn_format.ModelTurn(thought=_THOUGHTS[language][move.why], call=move.call), language)


def turn(lesson: Lesson, sentence: Sentence, label: Label | None, before: Sequence[str], grammar: str) -> Move:
    """Return the next call about a sentence, after those of the tools `before`, from the tools that a grammar allows. Raises
    ModelError if none is suitable."""
    offered = {name.replace("-", "_") for name in re.findall(r"tool-([a-z-]+) ::=", grammar)}
    pointer = {"sentence": sentence.name}
    if label == "no_claim" and "get_answer" in offered:
        return Move("get_answer", ToolCall(name="get_answer", arguments=pointer | {"label": "no_claim"}))
    if "calculator" in offered:
        return _calculation(lesson, sentence, pointer, before)
    for name in ("date", "word_count", "translate"):
        if name in offered and name not in before:
            return Move(name, ToolCall(name=name, arguments=pointer))
    if "web_search" in offered and "web_search" not in before:
        return Move("web_search", ToolCall(name="web_search", arguments=pointer | {"query": query(lesson, sentence)}))
    if "match" in offered and "match" not in before:
        if lesson.reference:
            return Move("match", ToolCall(name="match", arguments=pointer | {"context": "reference"}))
        if lesson.kind == "consistency":
            return Move("consistency", ToolCall(name="match", arguments=pointer | {"context": "response"}))
    if "change_tools" in offered:
        return Move(
            "change_tools", ToolCall(name="change_tools", arguments=pointer | {"reason": _NO_TOOL[lesson.language]})
        )
    raise ModelError(
        f"the gold teacher has no call for {sentence.name} of {lesson.id} among {', '.join(sorted(offered))}"
    )


def pointers(grammar: str) -> list[str]:
    """Return the names of the sentences that a grammar lets a call point to."""
    (rule,) = re.findall(r"^pointer ::= (.*)$", grammar, re.MULTILINE)
    return re.findall(r"S\d+", rule)


def made(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the calls of a conversation so far."""
    found = []
    for message in messages:
        if message["role"] == "assistant":
            with suppress(FormatError):
                found.append(turn_format.parse(message["content"]).call)
    return found


def _calculation(lesson: Lesson, sentence: Sentence, pointer: dict[str, str], before: Sequence[str]) -> Move:
    """Return a call on the sentence's own equations or, if it has none or they cannot be computed, on the problem's
    formula, provided that this sentence gives its result."""
    plain = ToolCall(name="calculator", arguments=pointer)
    if sentence.index == 0:
        return Move("whole", plain)
    if "calculator" not in before:
        if find_equations(sentence.text):
            return Move("calculator", plain)
        if _traced(lesson, sentence):
            return Move("traced", plain)
    if lesson.formula and before.count("calculator") < 2:
        return Move("formula", ToolCall(name="calculator", arguments=pointer | {"formula": lesson.formula}))
    raise ModelError(f"the gold teacher has no formula for {sentence.name} of {lesson.id}")


def _traced(lesson: Lesson, sentence: Sentence) -> bool:
    """Return True if all numbers of a sentence appear before it, in the question or as results of earlier steps. Always
    False after a wrong step."""
    if any(equation.holds is False for equation in find_equations(lesson.response[: sentence.span[0]])):
        return False
    known = {number.value for number in find_numbers(f"{lesson.question} {lesson.response[: sentence.span[0]]}")}
    own = {number.value for number in find_numbers(sentence.text)}
    return bool(own) and own <= known


def query(lesson: Lesson, sentence: Sentence) -> str:
    """Return a search query: the question's words for the sentence that answers it, otherwise the sentence's own
    words."""
    asked = _keywords(lesson.question, lesson.language)
    if sentence.index == 1 or len(words(sentence.text) & words(lesson.question)) * 2 >= len(words(sentence.text)):
        return asked
    return _keywords(sentence.text, lesson.language)


def _keywords(text: str, language: Language) -> str:
    asking = _ASKING_ZH if language == "zh" else _ASKING_EN
    kept = " ".join(re.sub(r"[\"“”?!.,;:]", " ", asking.sub(" ", text)).split())
    kept = kept if language == "en" else kept.replace(" ", "")
    if len(kept) <= QUERY_CHARACTERS:
        return kept or text[:QUERY_CHARACTERS]
    return kept[:QUERY_CHARACTERS].rsplit(" ", 1)[0]
