"""Figures of a sentence that the reference does not have: work them out from those that it has.

The model writes the calculation, the calculator computes it, and the result is a fact that the comparison with the
reference reads. By itself it decides nothing: many calculations give the same number.
"""

import asyncio
import re
from collections.abc import Sequence
from fractions import Fraction

from haluagent.arithmetic.derivations import gives
from haluagent.arithmetic.equations import find_equations
from haluagent.arithmetic.expressions import evaluate
from haluagent.arithmetic.known import USUAL_CONSTANTS, foreign_numbers
from haluagent.errors import ToolError
from haluagent.judging.judge import WINDOW_TOKENS
from haluagent.judging.passages import best_windows, missing_numbers
from haluagent.prompts import conversation
from haluagent.protocols import ToolContext
from haluagent.text.dates import find_dates
from haluagent.text.messages import message
from haluagent.text.numbers import Number, find_numbers, show
from haluagent.tools.calculator.answer_check import FORMULA
from haluagent.types import Sentence, ToolResult

MOST = 3  # figures of a sentence that are worked out
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
HALF = Fraction(1, 2)  # "half an hour" is no figure
LARGEST_COUNT = 12  # a count up to this is seen, not calculated


def figures(said: str, reference: str | None, question: str) -> list[Number]:
    """Return the figures of a sentence that the reference and the question do not have, if these have two others to work
    them out from. Empty without a reference, and for a sentence that shows a calculation of its own."""
    if reference is None or find_equations(said):
        return []
    known = f"{reference} {question}"
    absent = set(missing_numbers(said, known))
    if not absent or len(_numbers(known)) < 2:
        return []
    return [
        number
        for number in _numbers(said)
        if number.text in absent
        and number.value != HALF
        and (number.is_percent or number.value.denominator > 1 or abs(number.value) > LARGEST_COUNT)
    ][:MOST]


def _numbers(text: str) -> list[Number]:
    """Return the numbers of a text that are no year and belong to no date."""
    try:
        dates = [one.span for one in find_dates(text)]
    except ToolError:  # a date that can be read in two ways
        dates = []
    return [
        one
        for one in find_numbers(text)
        if not _YEAR.fullmatch(one.text) and not any(start <= one.span[0] < end for start, end in dates)
    ]


async def work_out(context: ToolContext, sentence: Sentence, wanted: Sequence[Number], formula: str = "") -> ToolResult:
    """Return calculations with the reference's numbers for the figures that are wanted, as facts without a label: the
    `formula`, or those that the model writes. Raises ToolError if none can be computed."""
    facts: list[str] = []
    texts = [context.question, context.reference or "", context.response]
    for figure in wanted:
        written = formula or await _written(context, sentence, figure)
        fact = await asyncio.to_thread(computed, written, figure, texts)
        if fact and fact not in facts:
            facts.append(fact)
    if not facts:
        raise ToolError(message("calculator.no_figure", context.language, stated=", ".join(one.text for one in wanted)))
    return ToolResult(observation="; ".join(facts), facts=tuple(facts))


async def _written(context: ToolContext, sentence: Sentence, figure: Number) -> str:
    """Return the calculation that the model writes for a figure."""
    count = context.model.count_tokens
    about = f"{context.question} {sentence.claim}"
    (window,), _ = await asyncio.to_thread(best_windows, context.reference or "", about, 1, WINDOW_TOKENS, count)
    messages = conversation(
        "figure",
        context.language,
        evidence=(context.reference or "")[slice(*window)],
        question=context.question,
        claim=sentence.claim,
        figure=figure.text,
    )
    generation = await context.model.generate(messages, stop=["\n"], grammar=FORMULA, max_tokens=60)
    return generation.text.strip()


def computed(formula: str, figure: Number, texts: Sequence[str]) -> str | None:
    """Return a calculation with its result; None if it cannot be computed, calculates nothing, or has a number that is in
    none of the texts."""
    try:
        value = evaluate(formula).number
    except ToolError:
        return None
    if len(find_numbers(formula)) < 2 or foreign_numbers(formula, texts, USUAL_CONSTANTS):
        return None
    if gives(value, figure):
        return f"{formula} = {figure.text}"
    return (
        f"{formula} = {show(value * 100)}%"
        if figure.is_percent and "100" not in formula
        else f"{formula} = {show(value)}"
    )
