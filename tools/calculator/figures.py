"""Figures of a sentence that the reference does not have: work them out from those that it has.

The model reads the sentence with a gap for the figure, writes the calculation, and says of each number which one it is; the
calculator computes it. If it does not give the figure, the model writes some more. One that gives it is a fact that the
comparison with the reference reads, and decides nothing by itself: a calculation may be of something else. Where most agree on
another number near it, the sentence is wrong. Agreement of sampled calculations is self-consistency (Wang et al., 2022).
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence

from haluagent.arithmetic.conversions import converted_from, find_conversions, line_at
from haluagent.arithmetic.equations import find_equations
from haluagent.arithmetic.figures import is_figure, plain_numbers
from haluagent.judging.judge import WINDOW_TOKENS
from haluagent.judging.passages import best_windows, missing_numbers
from haluagent.prompts import conversation
from haluagent.protocols import Message, ToolContext
from haluagent.text.clocks import find_clocks
from haluagent.text.messages import message
from haluagent.text.numbers import Number
from haluagent.tools.calculator.calculation import WorkedOut, worked_out
from haluagent.types import Evidence, Language, Sentence, ToolResult

MOST = 3  # figures of a sentence that are worked out
GAP = "___"
LONGEST = 160  # tokens of a calculation
TEMPERATURE = 0.8
SAMPLES = 4  # calculations of a figure
AGREEING = 3  # of these, that contradict it
CONFIDENCE = 0.8  # in these
# Numbers with names in brackets before them, so that the model says of each which one it takes.
NAMED = r"""root ::= ("[" name "]" [0-9] | [0-9.:+*/() -])+
name ::= [^\[\]0-9:\n]+"""


def figures(said: str, reference: str | None, question: str) -> list[Number]:
    """Return the figures of a sentence that the reference and the question do not have, if these have two others to work
    them out from. Empty without a reference, and for a sentence that shows a calculation or a conversion of its own."""
    own = [number for number in plain_numbers(said) if is_figure(number)] if reference is not None else []
    if not own or find_equations(said) or find_conversions(said):
        return []
    known = f"{reference} {question}"
    absent = set(missing_numbers(said, known))
    found = [number for number in own if number.text in absent]
    return found[:MOST] if found and len(plain_numbers(known)) + len(find_clocks(known)) > 1 else []


async def work_out(context: ToolContext, sentence: Sentence, wanted: Sequence[Number], formula: str = "") -> ToolResult:
    """Return conversions of the reference's quantities and calculations with its numbers that give the figures that are wanted,
    as facts. A calculation is the `formula`, if it is given, for the first figure, or the model writes it. `contradicted` where
    most of its calculations agree on another number, else without a label."""
    known = f"{context.reference} {context.question}"
    converted = await asyncio.to_thread(converted_from, sentence.text, known)
    facts: list[str] = []
    others: list[Evidence] = []
    undecided: list[str] = []
    for place, figure in enumerate(wanted):
        if line := line_at(converted, figure.span[0]) or adds_up(sentence.text, figure, known, context.language):
            facts.append(line)
            continue
        own = formula if place == 0 else ""
        results = await _results(context, sentence, figure, own, known)
        if not results:
            continue
        first = next((one for one in results if one.same), results[0])
        if first.same:
            facts.append(first.line)
        elif other := _agreed(results):
            first = other
            start, end = figure.span
            span = (start + sentence.span[0], end + sentence.span[0])
            others.append(Evidence(source="calculator", text=first.line, span=span))
        else:
            undecided.append(first.line)
    missing = message("calculator.no_figure", context.language, stated=", ".join(one.text for one in wanted))
    lines = dict.fromkeys([*facts, *(one.text for one in others), *undecided])
    return ToolResult(
        observation="; ".join(lines) or missing,
        label="contradicted" if others else None,
        confidence=CONFIDENCE if others else 1.0,
        evidence=tuple(others),
        facts=tuple(dict.fromkeys(facts)),
    )


def adds_up(said: str, figure: Number, known: str, language: Language) -> str | None:
    """Return the calculation of a figure, as a line (`420 + 140 + 70 = 630`), if the largest figure of the sentence is the sum of all its
    others, and all but this one are known; else None."""
    own = [one for one in plain_numbers(said) if is_figure(one)]
    others = [one for one in own if one.span != figure.span]
    absent = {one.text for one in own}.intersection(missing_numbers(said, known))
    if len(others) < 2 or any(one.is_percent for one in own) or absent != {figure.text}:
        return None
    total = max(own, key=lambda one: one.value)
    if 2 * total.value != sum(one.value for one in own):
        return None
    sign = " + " if figure == total else " - "
    formula = sign.join(one.text for one in sorted(others, key=lambda one: one != total))
    return message("calculator.match", language, formula=formula, value=figure.text, stated=figure.text)


def _agreed(results: Sequence[WorkedOut]) -> WorkedOut | None:
    """Return the first of the calculations whose result most of `SAMPLES` agree on; None if there is none."""
    result, count = Counter(one.result for one in results).most_common(1)[0]
    if result is None or count < AGREEING:
        return None
    return next(one for one in results if one.result == result)


async def _results(
    context: ToolContext, sentence: Sentence, figure: Number, formula: str, known: str
) -> list[WorkedOut]:
    """Compute the formula, if there is one, else the calculation that the model thinks likeliest, and only where that does not give
    the figure further ones."""
    found: list[WorkedOut] = []
    for samples in (1, SAMPLES - 1):
        written = (formula,) if formula else await _written(context, sentence, figure, samples)
        for text in written:
            if one := await asyncio.to_thread(worked_out, text, figure, sentence.text, known, context.language):
                found.append(one)
        if formula or any(one.same for one in found):
            break
    return found


async def _written(context: ToolContext, sentence: Sentence, figure: Number, samples: int) -> tuple[str, ...]:
    """Return the calculations that the model writes for a figure. It does not see the figure, so that it works out what the
    sentence is about and not the number that it states."""
    reference, count = context.reference or "", context.model.count_tokens
    about = f"{context.question} {sentence.claim}"
    (window,), _ = await asyncio.to_thread(best_windows, reference, about, 1, WINDOW_TOKENS, count)
    messages = question_of(sentence.claim, figure, reference[slice(*window)], context.question, context.language)
    temperature = TEMPERATURE if samples > 1 else 0.0
    generation = await context.model.generate(
        messages, stop=["\n"], grammar=NAMED, max_tokens=LONGEST, temperature=temperature, samples=samples
    )
    return tuple(text.strip() for text in generation.texts)


def question_of(claim: str, figure: Number, text: str, question: str, language: Language) -> list[Message]:
    """Return the messages that ask for the calculation of a figure, which is left out of the claim."""
    there = rf"(?<![\d.,]){re.escape(figure.text)}(?!\d)"
    claim = re.sub(there, GAP + "%" * figure.is_percent, claim)
    return conversation("figure", language, evidence=text, question=question, claim=claim, figure=GAP)
