"""A judge that is not the measured model, after Relign (section 2.1, appendices B to D): any model behind an endpoint.

It gives its reason before its verdict, and may say that it is unsure. Each question is put up to three times, with the
verdicts listed in another order; the majority decides.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from haluagent.checks.reliability.judge import JudgedCall, Verdict, shown
from haluagent.checks.runs.records import ToolSpec, ToolUse
from haluagent.detection.limits import Budget, Limits, Meter
from haluagent.prompts import conversation
from haluagent.protocols import Model
from haluagent.text.windows import clip
from haluagent.types import Language, Usage

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
ORDERS = tuple(VERDICTS[first:] + VERDICTS[:first] for first in range(len(VERDICTS)))
TEXT_TOKENS = 3000  # of a text in a question
REPLY_TOKENS = 1024
GRAMMAR = f"""root ::= "REASON: " [^\\n]{{1,600}} "\\nVERDICT: " ({" | ".join(f'"{one}"' for one in VERDICTS)})"""

_VERDICT = re.compile(r"(?:VERDICT|结论)[*`\s]*[:：][*`\"'\s]*(yes|no|unsure)\b\W*$", re.IGNORECASE | re.MULTILINE)

Asked = Literal["relevant", "premature", "authentic", "uses", "solved"]


class SeparateJudge:
    """A judge that asks a model in words about one run, and adds up the cost in `usage`.

    All calls raise `ModelError` if the model fails. A reply without a verdict counts as unsure.
    """

    def __init__(self, model: Model, language: Language) -> None:
        self._meter = Meter(model, Budget(Limits()))
        self._language = language
        self._relevance: dict[str, JudgedCall] = {}

    @property
    def usage(self) -> Usage:
        return self._meter.usage

    async def relevant(self, query: str, tool: ToolSpec) -> JudgedCall:
        """Judge whether a tool can help with a request (appendix B)."""
        if tool.name not in self._relevance:
            self._relevance[tool.name] = await self._ask("relevant", question=query, statement=_described(tool))
        return self._relevance[tool.name]

    async def premature(self, history: Sequence[str], call: ToolUse, tools: Sequence[ToolSpec]) -> JudgedCall:
        """Judge whether a call comes too early: it needs a result that no earlier call has given (section 2.1)."""
        statement = "\n".join([*map(_described, tools), _written(call)])
        return await self._ask("premature", text="\n".join(history), statement=statement)

    async def authentic(self, history: Sequence[str], call: ToolUse, tool: ToolSpec, unknown: Any) -> JudgedCall:
        """Judge whether the values of a call come from what was said before, or may be inferred from it (appendix C)."""
        return await self._ask("authentic", text="\n".join(history), statement=f"{_described(tool)}\n{_written(call)}")

    async def uses(self, answer: str, calls: Sequence[ToolUse]) -> JudgedCall:
        """Judge whether an answer draws on the results of these calls (appendix D)."""
        return await self._ask("uses", text="\n".join(map(shown, calls)), response=answer)

    async def solved(self, query: str, answer: str, calls: Sequence[ToolUse]) -> JudgedCall:
        """Judge whether the answer gives what was asked for (`yes`) or gives the task back to the user (`no`)."""
        return await self._ask("solved", question=query, text="\n".join(map(shown, calls)), response=answer)

    async def _ask(
        self, asked: Asked, *, question: str = "", text: str = "", statement: str = "", response: str = ""
    ) -> JudgedCall:
        given = {"question": question, "text": text, "statement": statement, "response": response}
        given = {name: self._clip(one) for name, one in given.items()}
        said: list[Verdict] = []
        for order in ORDERS:
            messages = conversation("reliability_verdict", self._language, asked=asked, order=list(order), **given)
            generation = await self._meter.generate(messages, grammar=GRAMMAR, max_tokens=REPLY_TOKENS)
            said.append(verdict_in(generation.text))
            if said.count(said[-1]) > len(ORDERS) // 2:
                break
        return majority(said)

    def _clip(self, text: str) -> str:
        return clip(text, min(TEXT_TOKENS, self._meter.context // 4), self._meter.count_tokens)[0]


def verdict_in(reply: str) -> Verdict:
    """Return the last verdict in a reply, `unsure` if it has none."""
    found = _VERDICT.findall(reply)
    return next(one for one in VERDICTS if one == found[-1].lower()) if found else "unsure"


def majority(said: Iterable[Verdict]) -> JudgedCall:
    """Return the verdict of more than half of the answers, else `unsure`; and the share of yes, where unsure is half."""
    counts = Counter(said)
    total = counts.total()
    best, times = counts.most_common(1)[0]
    return JudgedCall(best if times > total / 2 else "unsure", (counts["yes"] + counts["unsure"] / 2) / total)


def _described(tool: ToolSpec) -> str:
    return f"{tool.name}: {tool.description} {json.dumps(tool.parameters.get('properties', {}), ensure_ascii=False)}"


def _written(call: ToolUse) -> str:
    return f"> {call.tool} {json.dumps(call.arguments, ensure_ascii=False)}"
