"""Questions about a run that need understanding (Relign, appendices B to D), and the judge that answers each with one
token of the measured model."""

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

from haluagent.checks.runs.records import ToolSpec, ToolUse
from haluagent.detection.limits import Budget, Limits, Meter
from haluagent.judging.judge import ask, in_both_orders
from haluagent.judging.probabilities import Judgement, judgement, log_odds
from haluagent.models.calibration import MatchCurve, Wording
from haluagent.prompts import conversation
from haluagent.protocols import Model, ToolContext
from haluagent.text.messages import message
from haluagent.text.windows import clip
from haluagent.types import Language, Sentence, Usage

Verdict = Literal["yes", "no", "unsure"]

AS_IT_IS = MatchCurve(lean=0.0, slope=1.0)
SURE = 0.2  # log-odds, below which either way nothing is said
TEXT_TOKENS = 1200  # of a text in a question


class JudgedCall(NamedTuple):
    """An answer, and the probability of "yes" in [0, 1]; `unsure` if that is too close to one half."""

    verdict: Verdict
    probability: float


class CallJudge(Protocol):
    """What is asked about a run. `history` is what the user and the tools said before a call; `unknown` are its arguments
    that are not in there. `usage` is the cost so far."""

    @property
    def usage(self) -> Usage: ...

    async def relevant(self, query: str, tool: ToolSpec) -> JudgedCall: ...

    async def premature(self, history: Sequence[str], call: ToolUse, tools: Sequence[ToolSpec]) -> JudgedCall: ...

    async def authentic(
        self, history: Sequence[str], call: ToolUse, tool: ToolSpec, unknown: dict[str, Any]
    ) -> JudgedCall: ...

    async def uses(self, answer: str, calls: Sequence[ToolUse]) -> JudgedCall: ...

    async def solved(self, query: str, answer: str, calls: Sequence[ToolUse]) -> JudgedCall: ...


def request_for(tool: ToolSpec, language: Language) -> str:
    """Return the statement that a user asks for what a tool does."""
    return message("reliability.asks_for", language, what=tool.description or tool.name)


def mention_of(arguments: dict[str, Any], language: Language) -> str:
    """Return the statement that a text mentions the values of a call."""
    values = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in arguments.values()
    ]
    return message("reliability.mentions", language, what="; ".join(values))


class Judge:
    """A judge that asks a model about one run, and adds up the cost in `usage`.

    Whether a tool is relevant is asked once per tool. A question is put as a statement held against a text, as `match`
    does: a small model does that best, and the embedded one's adapter was fine-tuned on it.
    """

    def __init__(self, model: Model, language: Language) -> None:
        self._meter = Meter(model, Budget(Limits()))
        self._language = language
        self._relevance: dict[str, JudgedCall] = {}

    @property
    def usage(self) -> Usage:
        return self._meter.usage

    async def relevant(self, query: str, tool: ToolSpec) -> JudgedCall:
        """Judge whether a tool can help with a request."""
        if tool.name not in self._relevance:
            self._relevance[tool.name] = await self._says(
                self._clip(query), request_for(tool, self._language), "relevance"
            )
        return self._relevance[tool.name]

    async def premature(self, history: Sequence[str], call: ToolUse, tools: Sequence[ToolSpec]) -> JudgedCall:
        """Return "unsure" without asking: how well one token answers this has not been measured."""
        return JudgedCall("unsure", 0.5)

    async def authentic(
        self, history: Sequence[str], call: ToolUse, tool: ToolSpec, unknown: dict[str, Any]
    ) -> JudgedCall:
        """Judge whether the unknown arguments come from what was said before, or may be inferred from it."""
        return await self._says(self._join(history), mention_of(unknown, self._language), "authentic")

    async def uses(self, answer: str, calls: Sequence[ToolUse]) -> JudgedCall:
        """Judge whether an answer draws on the results of these calls."""
        return await self._says(self._join(map(shown, calls)), answer, "results")

    async def solved(self, query: str, answer: str, calls: Sequence[ToolUse]) -> JudgedCall:
        """Judge whether the answer gives what was asked for (`yes`) or gives the task back to the user (`no`)."""
        results = self._join(map(shown, calls))
        given = {"query": self._clip(query), "results": results, "answer": self._clip(answer)}
        one, other, scored = await in_both_orders(
            self._meter, lambda turned: conversation("reliability_solved", self._language, turned=turned, **given)
        )
        return _judged(judgement(one, other, AS_IT_IS, scored=scored))

    async def _says(self, text: str, statement: str, wording: Wording) -> JudgedCall:
        """Judge whether a text says what a statement says."""
        context = ToolContext(question="", response=statement, language=self._language, sentences=(), model=self._meter)
        sentence = Sentence(index=1, text=statement, span=(0, len(statement)))
        return _judged(await ask(context, sentence, text, wording))

    def _join(self, texts: Any) -> str:
        """Join texts in order, and cut the latest ones if they are too long."""
        return self._clip("\n".join(texts)) or "-"

    def _clip(self, text: str, tokens: int = TEXT_TOKENS) -> str:
        return clip(text, min(tokens, self._meter.context // 4), self._meter.count_tokens)[0]


def _judged(found: Judgement) -> JudgedCall:
    if found.silent or abs(log_odds(found.supported)) < SURE:
        return JudgedCall("unsure", found.supported)
    return JudgedCall("yes" if found.supported > 0.5 else "no", found.supported)


def shown(call: ToolUse) -> str:
    """Return a call's tool and result in one text."""
    return f"{call.tool}: {call.result or ''}"
