"""Check the answer to a word problem: work it out from the question alone, and judge it as a teacher would.

Formulas are sampled without the response in sight, so that one which gives the stated answer is evidence and not an
echo. A small model often fails to find the formula, so that none agrees says less; the judgement is a scored choice.
Both go into one probability by logistic regression (`docs/calibration.md` has its data and how to fit it again).
"""

import asyncio
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from haluagent.arithmetic.equations import calculates_rightly
from haluagent.arithmetic.expressions import evaluate
from haluagent.arithmetic.results import final_answer
from haluagent.errors import ToolError
from haluagent.models.calibration import ProblemCurve, calibration_of
from haluagent.prompts import conversation
from haluagent.protocols import ToolContext
from haluagent.text.messages import message
from haluagent.text.numbers import Number, find_numbers, matches, show
from haluagent.text.windows import clip
from haluagent.types import Evidence, Label, ToolResult

SAMPLES = 4
TEMPERATURES = (0.6, 0.9)  # the second where the first samples neither give the answer nor agree on another one
FORMULA = "root ::= [0-9.+*/() %-]{1,100}"
SUPPORTED, CONTRADICTED = 0.45, 0.55  # probabilities of being wrong; between them nothing is decided
COMPARED = 2  # formulas that could be computed, before their disagreement counts


@dataclass(frozen=True)
class Look:
    """A second look at an answer: the numbers that it states, the formulas that were found for the problem with their
    values, those of them that give one of the numbers, with it, how many of the others agree on one other number, and the
    probability that the model judges it wrong."""

    stated: list[Number]
    formulas: list[tuple[str, Fraction]]
    agreeing: list[tuple[str, Number]]
    rivals: int
    judged: float


async def look_at(context: ToolContext, judge: bool = True) -> Look:
    """Take a second look at the response. Without `judge` the model is not asked for a judgement, which then is one
    half. Raises ToolError where the response states no number."""
    numbers = final_answer(context.response)
    given = {number.value for number in find_numbers(context.question)}
    stated = [number for number in numbers if number.value not in given] or numbers
    if not stated:
        raise ToolError(message("calculator.no_answer", context.language))
    formulas: list[tuple[str, Fraction]] = []
    agreeing: list[tuple[str, Number]] = []
    rivals = 0
    for temperature in TEMPERATURES:
        formulas += await _formulas(context, temperature)
        agreeing = [pair for formula in formulas if (pair := _agreement(formula, stated))]
        others = Counter(value for text, value in formulas if not _agreement((text, value), stated))
        rivals = max(others.values(), default=0)
        if agreeing or rivals > 1:
            break
    return Look(stated, formulas, agreeing, rivals, await _judged_wrong(context) if judge else 0.5)


async def check_answer(context: ToolContext) -> ToolResult:
    """Label a response as the answer to the problem in the question; None where it is open. What the model judges moves
    the probability but never decides: support needs a formula that gives the stated answer.

    Raises ToolError where the response states no number.
    """
    curve = calibration_of(context.model).problem
    look = await look_at(context, judge=curve.judged != 0)
    agreeing, formulas = look.agreeing, look.formulas
    answer = agreeing[0][1] if agreeing else look.stated[-1]
    wrong = _probability(look, curve)
    label: Label | None = None
    if agreeing and wrong < SUPPORTED:
        label = "supported"
    elif (
        len(formulas) >= COMPARED
        and wrong > CONTRADICTED
        and not await asyncio.to_thread(calculates_rightly, context.response)
    ):
        # Formulas written blind do not overrule steps that hold.
        label = "contradicted"
    observation = _describe(context, formulas, answer, len(agreeing), wrong)
    evidence = [Evidence(source="calculator", text=observation, span=answer.span, score=1 - wrong)]
    for formula, number in agreeing[:1]:
        evidence.append(Evidence(source="calculator", text=f"{formula} = {number.text}", span=number.span))
    return ToolResult(observation=observation, label=label, confidence=max(wrong, 1 - wrong), evidence=tuple(evidence))


def _agreement(formula: tuple[str, Fraction], stated: list[Number]) -> tuple[str, Number] | None:
    """Return a formula with the stated number that it gives; None where it gives another."""
    text, value = formula
    return next(((text, number) for number in reversed(stated) if matches(value, number)), None)


async def _formulas(context: ToolContext, temperature: float) -> list[tuple[str, Fraction]]:
    """Return sampled formulas that can be computed, with their values."""
    generation = await context.model.generate(
        conversation("formula", context.language, question=context.question),
        stop=["\n"],
        grammar=FORMULA,
        max_tokens=60,
        temperature=temperature,
        samples=SAMPLES,
    )
    found: list[tuple[str, Fraction]] = []
    for text in generation.texts:
        try:
            found.append((text.strip(), evaluate(text.strip()).number))
        except ToolError:
            continue
    return found


async def _judged_wrong(context: ToolContext) -> float:
    choices = {"en": ["Yes", "No"], "zh": ["是", "否"]}[context.language]
    room, count = context.model.context // 3, context.model.count_tokens
    messages = conversation(
        "problem",
        context.language,
        question=clip(context.question, room, count)[0],
        response=clip(context.response, room, count)[0],
    )
    choice = await context.model.choose(messages, choices)
    return choice.probabilities[choices[1]]


def _probability(look: Look, curve: ProblemCurve) -> float:
    """Return the probability that the answer is wrong, given the judgement, the number of formulas that give it, and
    whether others agree on another one: formulas that all differ only say that the problem is hard for the model."""
    clipped = min(max(look.judged, 1e-6), 1 - 1e-6)
    log_odds = curve.intercept + curve.judged * math.log(clipped / (1 - clipped))
    log_odds += curve.agrees * (len(look.agreeing) > 0) + curve.agrees_more * (len(look.agreeing) > 1)
    log_odds += curve.rivals * (look.rivals > 1)
    return 1 / (1 + math.exp(-log_odds))


def _describe(
    context: ToolContext, formulas: list[tuple[str, Fraction]], answer: Number, agreeing: int, wrong: float
) -> str:
    language = context.language
    values = list({show(value): None for _, value in formulas if not matches(value, answer)})
    others = message("calculator.others", language, values=", ".join(values[:3])) if values else ""
    return message(
        "calculator.anew", language, agreeing=agreeing, n=len(formulas), stated=answer.text, others=others, p=wrong
    )
