"""Figures of a sentence that the reference does not have: work them out from those that it has.

The model writes the calculation and says of each number which one it is, and the calculator computes it. Where that gives the
figure, the line is a fact that the comparison with the reference reads. By itself it decides nothing: many calculations give
the same number.
"""

import asyncio
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from haluagent.arithmetic.conversions import converted_from, find_conversions, line_at
from haluagent.arithmetic.equations import find_equations
from haluagent.judging.judge import WINDOW_TOKENS
from haluagent.judging.passages import best_windows, missing_numbers
from haluagent.prompts import conversation
from haluagent.protocols import ToolContext
from haluagent.text.clocks import find_clocks
from haluagent.text.dates import find_days
from haluagent.text.messages import message
from haluagent.text.numbers import Number, find_numbers
from haluagent.tools.calculator.calculation import WorkedOut, worked_out
from haluagent.types import Sentence, Span, ToolResult

MOST = 3  # figures of a sentence that are worked out
LARGEST_COUNT = 12  # a count up to this is seen, not calculated
HALF = Fraction(1, 2)
LONGEST = 160  # tokens of a calculation
# Numbers with names in brackets before them, so that the model says of each which one it takes.
NAMED = r"""root ::= ("[" name "]" [0-9] | [0-9.:+*/() -])+
name ::= [^\[\]0-9:\n]+"""
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
# Telephone, order and version numbers, and ranges.
_CHAIN = re.compile(r"(?<![\d.,])(?:\d+(?:[-–]\d+| \d{2,})+|\d+(?:\.\d+){2,}|0\d+)")


def figures(said: str, reference: str | None, question: str) -> list[Number]:
    """Return the figures of a sentence that the reference and the question do not have, if these have two others to work
    them out from. Empty without a reference, and for a sentence that shows a calculation or a conversion of its own."""
    own = [number for number in _numbers(said) if _is_figure(number)] if reference is not None else []
    if not own or find_equations(said) or find_conversions(said):
        return []
    known = f"{reference} {question}"
    absent = set(missing_numbers(said, known))
    found = [number for number in own if number.text in absent]
    return found[:MOST] if found and len(_numbers(known)) + len(find_clocks(known)) > 1 else []


def _is_figure(number: Number) -> bool:
    """Return whether a number is more than a small count or a half (of an hour)."""
    if number.is_percent:
        return True
    return number.value != HALF and (number.value.denominator > 1 or abs(number.value) > LARGEST_COUNT)


@lru_cache(maxsize=256)  # the reference is read again for each sentence
def _numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text that are no years, and belong to no date, time of day, range or number of several groups."""
    taken = [*(day.span for day in find_days(text)), *(clock.span for clock in find_clocks(text))]
    taken += [chain.span() for chain in _CHAIN.finditer(text)]
    return tuple(numbers_outside(text, taken))


def numbers_outside(text: str, taken: Sequence[Span]) -> list[Number]:
    """Return the numbers of a text that are no years and begin in none of the spans."""
    return [
        number
        for number in find_numbers(text)
        if not any(start <= number.span[0] < end for start, end in taken) and not _YEAR.fullmatch(number.text)
    ]


async def work_out(context: ToolContext, sentence: Sentence, wanted: Sequence[Number], formula: str = "") -> ToolResult:
    """Return conversions of the reference's quantities and calculations with its numbers that give the figures that are wanted,
    as facts without a label. A calculation is the `formula`, if it is given, for the first figure, or the model writes
    it. One that gives another number is shown and is no fact: more often it is the calculation that is wrong."""
    facts: list[str] = []
    lines: list[str] = []
    known = f"{context.reference} {context.question}"
    converted = await asyncio.to_thread(converted_from, sentence.text, known)
    for figure in wanted:
        if line := line_at(converted, figure.span[0]):
            found: WorkedOut | None = WorkedOut(line, same=True)
        else:
            written = formula or await _written(context, sentence, figure)
            formula = ""
            found = await asyncio.to_thread(worked_out, written, figure, sentence.text, known, context.language)
        if found and found.line not in lines:
            lines.append(found.line)
            facts += [found.line] * found.same
    missing = message("calculator.no_figure", context.language, stated=", ".join(one.text for one in wanted))
    return ToolResult(observation="; ".join(lines) or missing, facts=tuple(facts))


async def _written(context: ToolContext, sentence: Sentence, figure: Number) -> str:
    """Return the calculation that the model writes for a figure."""
    reference, count = context.reference or "", context.model.count_tokens
    about = f"{context.question} {sentence.claim}"
    (window,), _ = await asyncio.to_thread(best_windows, reference, about, 1, WINDOW_TOKENS, count)
    messages = conversation(
        "figure",
        context.language,
        evidence=reference[slice(*window)],
        question=context.question,
        claim=sentence.claim,
        figure=figure.text,
    )
    generation = await context.model.generate(messages, stop=["\n"], grammar=NAMED, max_tokens=LONGEST)
    return generation.text.strip()
