"""The questions about a run that only meaning decides, each answered by the served model with one token (Relign, appendices B to D)."""

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ..prompts import conversation
from ..protocols import Model
from ..runs.records import ToolSpec, ToolUse
from ..tokens import clip
from ..types import Language, Usage

Question = Literal["relevance", "authentic", "answer", "solved"]
Verdict = Literal["yes", "no", "unsure"]
VERDICTS: tuple[Verdict, ...] = ("yes", "no", "unsure")

# In the order of the verdicts; the words of a question begin with different tokens.
WORDS: dict[Question, dict[Language, tuple[str, str, str]]] = {
    "relevance": {"en": ("Relevant", "Irrelevant", "Unsure"), "zh": ("相关", "无关", "不确定")},
    "authentic": {"en": ("Given", "Invented", "Unsure"), "zh": ("已给", "编造", "不确定")},
    "answer": {"en": ("Relevant", "Irrelevant", "Unsure"), "zh": ("相关", "无关", "不确定")},
    "solved": {"en": ("Solved", "Returned", "Unsure"), "zh": ("解决", "退回", "不确定")},
}
TEXT_TOKENS = 1200  # of a text in a question
SHORT_TOKENS = 300


class Judged(NamedTuple):
    """The likeliest answer, and its probability; `unsure` where two are as likely."""

    verdict: Verdict
    probability: float


class Judge:
    """Asks a model about one run, and counts what that costs in `usage`. Whether a tool is relevant is asked once."""

    def __init__(self, model: Model, language: Language) -> None:
        self.usage = Usage()
        self._model = model
        self._language = language
        self._relevance: dict[str, Judged] = {}

    async def relevant(self, query: str, tool: ToolSpec) -> Judged:
        """Whether a tool can help with a request."""
        if tool.name not in self._relevance:
            self._relevance[tool.name] = await self._ask(
                "relevance", query=self._clip(query), tool=tool.name, description=tool.description, parameters=self._parameters(tool)
            )
        return self._relevance[tool.name]

    async def authentic(self, history: Sequence[str], tool: ToolSpec, arguments: dict[str, Any]) -> Judged:
        """Whether the arguments come from what was said before, or may be inferred from it."""
        return await self._ask(
            "authentic", history=self._join(history), tool=tool.name, parameters=self._parameters(tool),
            arguments=self._clip(json.dumps(arguments, ensure_ascii=False), SHORT_TOKENS),
        )  # fmt: skip

    async def uses(self, answer: str, calls: Sequence[ToolUse]) -> Judged:
        """Whether an answer draws on the results of these calls."""
        return await self._ask("answer", results=self._join(map(_shown, calls)), answer=self._clip(answer))

    async def solved(self, query: str, answer: str, calls: Sequence[ToolUse]) -> Judged:
        """`yes`: the answer gives what was asked for. `no`: it gives the task back to the user."""
        results = self._join(map(_shown, calls))
        return await self._ask("solved", query=self._clip(query), results=results, answer=self._clip(answer))

    async def _ask(self, question: Question, **variables: str) -> Judged:
        words = WORDS[question][self._language]
        messages = conversation(f"reliability_{question}", self._language, **variables)
        choice = await self._model.choose(messages, words)
        self.usage += choice.usage
        probability = choice.probabilities[choice.best]
        if list(choice.probabilities.values()).count(probability) > 1:  # as where the server wrote none of the words
            return Judged("unsure", probability)
        return Judged(VERDICTS[words.index(choice.best)], probability)

    def _parameters(self, tool: ToolSpec) -> str:
        return self._clip(json.dumps(tool.parameters.get("properties", {}), ensure_ascii=False), SHORT_TOKENS)

    def _join(self, texts: Any) -> str:
        """Texts one after another. Where they are too long, the latest ones are cut away."""
        return self._clip("\n".join(texts)) or "-"

    def _clip(self, text: str, tokens: int = TEXT_TOKENS) -> str:
        return clip(text, min(tokens, self._model.context // 4), self._model.count_tokens)[0]


def _shown(call: ToolUse) -> str:
    return f"{call.tool}: {call.result or ''}"
