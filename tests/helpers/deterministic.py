"""What the tools that ask no model find in a response: the calculator, the dates, the citations and the length."""

import asyncio
from collections.abc import Sequence
from typing import Any

from haluagent.errors import HaluAgentError, ModelError
from haluagent.protocols import ToolContext
from haluagent.text.segment import split
from haluagent.tooling.coverage import left_open
from haluagent.tools.calculator import calculator
from haluagent.tools.citation.tool import citation
from haluagent.tools.date import date
from haluagent.tools.word_count import word_count
from haluagent.types import CheckedPart, Label, Language

TOOLS = (calculator, date, citation, word_count)


class NoModel:
    """A model that cannot be asked."""

    name = "none"
    context = 8192

    async def generate(self, *arguments: Any, **named: Any) -> Any:
        raise ModelError("there is no model")

    async def choose(self, *arguments: Any, **named: Any) -> Any:
        raise ModelError("there is no model")

    def count_tokens(self, text: str) -> int:
        return len(text)


def found(question: str, response: str, language: Language) -> dict[int, list[CheckedPart]]:
    """Return what the tools find about each sentence by its index, and about the response as a whole at 0."""
    sentences = split(response)
    context = ToolContext(question=question, response=response, language=language, sentences=sentences, model=NoModel())
    parts: dict[int, list[CheckedPart]] = {index: [] for index in range(len(sentences) + 1)}
    for tool in TOOLS:
        for sentence in (context.sentence(0), *sentences):
            if not tool.when(context, sentence):
                continue
            try:
                result = asyncio.run(tool.run(context, sentence))
            except HaluAgentError:
                continue  # it cannot tell
            if result.label is not None:
                part = CheckedPart(tool=tool.name, label=result.label, confidence=1, open=result.open)
                parts[sentence.index].append(part)
    return parts


def label(parts: Sequence[CheckedPart]) -> Label:
    """Return the label that parts make together."""
    if any(part.label == "contradicted" for part in parts):
        return "contradicted"
    return "supported" if parts and not left_open(parts) else "unverified"


def verdict(question: str, response: str, language: Language) -> Label:
    """Return the label of a response whose sentences only these tools decide, with its length where one is asked."""
    whole, *sentences = found(question, response, language).values()
    labels = [label(parts) for parts in sentences] + [label(whole)] * bool(whole)
    if "contradicted" in labels:
        return "contradicted"
    return "supported" if set(labels) == {"supported"} else "unverified"
