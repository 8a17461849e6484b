"""Figures of a sentence that the reference does not have: work them out from those that it has.

The model writes the calculation, the calculator computes it, and the result is a fact that the comparison with the
reference reads. By itself it decides nothing: many calculations give the same number.
"""

import asyncio
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from haluagent.arithmetic.conversions import converted_from, find_conversions, line_at
from haluagent.arithmetic.derivations import gives
from haluagent.arithmetic.equations import find_equations
from haluagent.arithmetic.expressions import evaluate
from haluagent.arithmetic.known import USUAL_CONSTANTS, calculated_numbers, known_numbers
from haluagent.errors import ToolError
from haluagent.judging.judge import WINDOW_TOKENS
from haluagent.judging.passages import best_windows, missing_numbers
from haluagent.prompts import conversation
from haluagent.protocols import ToolContext
from haluagent.text.clocks import find_clocks
from haluagent.text.dates import find_days
from haluagent.text.messages import message
from haluagent.text.numbers import Number, find_numbers, show
from haluagent.tools.calculator.answer_check import FORMULA
from haluagent.types import Sentence, Span, ToolResult

MOST = 3  # figures of a sentence that are worked out
LARGEST_COUNT = 12  # a count up to this is seen, not calculated
HALF = Fraction(1, 2)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_TIMES_100 = re.compile(r"\*\s*100(?![\d.])|(?<![\d.])100\s*\*")
_SMALL = frozenset(map(Fraction, range(1, 13)))


def figures(said: str, reference: str | None, question: str) -> list[Number]:
    """Return the figures of a sentence that the reference and the question do not have, if these have two others to work
    them out from. Empty without a reference, and for a sentence that shows a calculation or a conversion of its own."""
    own = [number for number in _numbers(said) if _is_figure(number)] if reference is not None else []
    if not own or find_equations(said) or find_conversions(said):
        return []
    known = f"{reference} {question}"
    absent = set(missing_numbers(said, known))
    found = [number for number in own if number.text in absent]
    return found[:MOST] if found and len(_numbers(known)) > 1 else []


def _is_figure(number: Number) -> bool:
    """Return whether a number is more than a small count or a half (of an hour)."""
    if number.is_percent:
        return True
    return number.value != HALF and (number.value.denominator > 1 or abs(number.value) > LARGEST_COUNT)


@lru_cache(maxsize=256)  # the reference is read again for each sentence
def _numbers(text: str) -> list[Number]:
    """Return the numbers of a text that are no years, and belong to no date and no time of day."""
    taken = [*(day.span for day in find_days(text)), *(clock.span for clock in find_clocks(text))]
    return numbers_outside(text, taken)


def numbers_outside(text: str, taken: Sequence[Span]) -> list[Number]:
    """Return the numbers of a text that are no years and begin in none of the spans."""
    return [
        number
        for number in find_numbers(text)
        if not any(start <= number.span[0] < end for start, end in taken) and not _YEAR.fullmatch(number.text)
    ]


async def work_out(context: ToolContext, sentence: Sentence, wanted: Sequence[Number], formula: str = "") -> ToolResult:
    """Return conversions of the reference's quantities and calculations with its numbers for the figures that are wanted, as
    facts without a label. A calculation is the `formula`, if it is given, for the first figure, or the model writes it."""
    facts: list[str] = []
    known = f"{context.reference} {context.question}"
    converted = await asyncio.to_thread(converted_from, sentence.text, known)
    for figure in wanted:
        if not (fact := line_at(converted, figure.span[0])):
            written = formula or await _written(context, sentence, figure)
            formula = ""
            fact = await asyncio.to_thread(computed, written, figure, known)
        if fact and fact not in facts:
            facts.append(fact)
    missing = message("calculator.no_figure", context.language, stated=", ".join(one.text for one in wanted))
    return ToolResult(observation="; ".join(facts) or missing, facts=tuple(facts))


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
    generation = await context.model.generate(messages, stop=["\n"], grammar=FORMULA, max_tokens=60)
    return generation.text.strip()


def computed(formula: str, figure: Number, known: str) -> str | None:
    """Return a calculation with its result; None if it cannot be computed, calculates nothing, or has numbers that are not
    in what is known. Small whole numbers may stand in it, such as the 3 of an average."""
    try:
        value = evaluate(formula).number
    except ToolError:
        return None
    numbers = [abs(number.value) for number in calculated_numbers(formula)]
    given = known_numbers(known)
    if len(numbers) < 2 or not set(numbers) & given or set(numbers) - given - USUAL_CONSTANTS - _SMALL:
        return None
    return f"{formula} = {_shown(value, figure, formula)}"


def _shown(value: Fraction, figure: Number, formula: str) -> str:
    """Write the result as the figure is written, if it is the same but for the sign."""
    times_100 = _TIMES_100.search(formula)
    share = figure.is_percent and (times_100 is not None or "/" in formula)
    if gives(value, figure) and share is figure.is_percent:
        return f"-{figure.text}" if value < 0 <= figure.value else figure.text
    if share:
        return f"{show(value if times_100 else value * 100)}%"
    return show(value)
