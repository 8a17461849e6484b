"""The calculator: checks the arithmetic a sentence states, or a formula against the number it states."""

import asyncio
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from haluagent.arithmetic.conversions import Conversion, find_conversions
from haluagent.arithmetic.equations import Equation, calculates_rightly, find_equations
from haluagent.arithmetic.expressions import Value, evaluate, solve
from haluagent.arithmetic.figures import numbers_outside
from haluagent.arithmetic.known import USUAL_CONSTANTS, foreign_numbers
from haluagent.arithmetic.notation import tokenize
from haluagent.arithmetic.results import final_answer, stated_results
from haluagent.arithmetic.unknowns import agrees, assigned, solved
from haluagent.errors import FormatError, ToolError
from haluagent.protocols import ToolContext
from haluagent.text.dates import find_dates, find_durations
from haluagent.text.lengths import length_requirement
from haluagent.text.messages import message
from haluagent.text.numbers import Number, find_numbers, matches, show
from haluagent.text.words import words
from haluagent.tooling.coverage import open_parts
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.tools.calculator.answer_check import check_answer
from haluagent.tools.calculator.figures import figures, work_out
from haluagent.types import Evidence, Label, Sentence, Span, ToolResult

STATED_CONFIDENCE = 0.97
MATCH_CONFIDENCE = 0.75
_QUANTITY = re.compile(
    r"多少|几|(?<![要需请])求|计算|等于|how (?:many|much|long|far|old|tall|fast)|what (?:is|are|was|will)|"
    r"\bcalculate\b|\bcompute\b|\bfind\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"多少|几(?![何乎])|\bwhat\b|how (?:many|much|long|far|old|tall|fast)", re.IGNORECASE)
_FIGURE = re.compile(
    r"半径|直径|边长|棱长|周长|面积|体积|容积|圆|正方|立方|"
    r"\b(?:radius|diameter|circle|circumference|perimeter|area|volume|squared?|cube|sphere)\b",
    re.IGNORECASE,
)
_SUM = re.compile(r"\d\s*[-+*/×÷]\s*\d")


def is_problem(context: ToolContext) -> bool:
    """Return whether the question asks for one quantity that is calculated from its numbers alone. Days between dates
    are not for the calculator, where several things are asked no single number answers, and where there is a reference
    the answer may stand in it. One number is enough for a geometric figure, where the response calculates with it."""
    question = context.question
    if context.reference is not None or length_requirement(question):
        return False
    asked = len(_HOW_MANY.findall(question)) or bool(_QUANTITY.search(question) or _SUM.search(question))
    if asked != 1:
        return False
    given = {number.value for number in _plain_numbers(question)}
    if len(given) != 1 or not _FIGURE.search(question):
        return len(_plain_numbers(question)) >= 2
    calculated = (find_numbers(equation.left) for equation in find_equations(context.response))
    return any(number.value in given for numbers in calculated for number in numbers)


def _plain_numbers(text: str) -> list[Number]:
    """Return the numbers of a text that belong to no date and count no days."""
    dates = [date.span for date in find_dates(text)]
    taken = dates + [duration.span for duration in find_durations(text)] if dates else []
    return numbers_outside(text, taken)


def _can_decide(context: ToolContext, sentence: Sentence) -> bool:
    """Accept a sentence that shows a calculation, states a number in answer to a problem, or a figure that the reference may
    give; the whole response where it answers a problem and no sentence does that alone."""
    if sentence.index:
        if _figures(context, sentence):
            return True
        if find_equations(sentence.text) or find_conversions(sentence.text):
            return True
        return is_problem(context) and bool(_plain_numbers(sentence.text))
    return is_problem(context) and bool(find_numbers(context.response)) and not _is_bare_answer(context)


def _is_bare_answer(context: ToolContext) -> bool:
    """Return whether the response is one sentence that shows no calculation."""
    return len(context.sentences) == 1 and not find_equations(context.response)


def _figures(context: ToolContext, sentence: Sentence) -> list[Number]:
    return figures(sentence.text, context.reference, context.question)


def _the_figures(context: ToolContext, sentence: Sentence) -> dict[str, Any] | None:
    """Leave the calculation of a figure to the tool, which reads the reference."""
    return {"sentence": sentence.name} if sentence.index and _figures(context, sentence) else None


@tool(
    description={
        "en": "Check arithmetic. calculator(sentence=S1) checks the equations written in S1, or works its figures out from the "
        "reference's; without either, give a formula of the question's numbers that should result in its number.",
        "zh": "检查计算。calculator(sentence=S1) 检查 S1 中写出的等式，或由参考资料中的数算出 S1 的数；"
        "两者都没有时，再用题目中的数字写出应得到该数的算式 formula。",
    },
    demos=[
        Demo(
            language="en",
            question="A crate holds 15 bottles. How many bottles are in 6 crates?",
            response="6 crates hold 15 * 6 = 80 bottles.",
            thought="it states a calculation",
            call="calculator(sentence=S1)",
            observation="15 * 6 = 90, but the response says 80",
        ),
        Demo(
            language="zh",
            question="一箱有15瓶水，6箱一共有多少瓶水？",
            response="15×6=90，一共有90瓶水。",
            thought="写出了算式，可以直接检查",
            call="calculator(sentence=S1)",
            observation="15×6 = 90，成立",
        ),
    ],
    when=_can_decide,
    obvious=_the_figures,
    plausible=lambda context, sentence: sentence.index > 0 and bool(find_numbers(sentence.text)),
)
async def calculator(context: ToolContext, sentence: Sentence, formula: str | None = None) -> ToolResult:
    """Check the equations that `sentence` states, else where its numbers come from, else `formula` against them.

    A stated equation that does not hold is `contradicted`, with its span in the response, whatever the formula says.
    A number that another sentence calculates rightly, or that the question gives, is traced to it. A formula is the
    model's own: where it gives the stated number that supports the sentence, where it does not nothing is decided.
    A figure that the reference lacks is worked out from those it has, for the comparison with it to read (`figures`).
    The response as a whole, or a bare answer, is checked by working the problem out anew (`_answer_check`).
    Confidence is 0.97 for a stated equation, 0.75 for a formula or a traced number.
    Raises ToolError where there is nothing to calculate, FormatError for a number that is nowhere in the texts.
    """
    if sentence.index == 0 or (is_problem(context) and _is_bare_answer(context)):
        return await check_answer(context)
    if wanted := await asyncio.to_thread(_figures, context, sentence):
        return await work_out(context, sentence, wanted, (formula or "").strip())
    return await asyncio.to_thread(_check, context, sentence, (formula or "").strip())


def _check(context: ToolContext, sentence: Sentence, formula: str) -> ToolResult:
    equations = find_equations(sentence.text)
    conversions = find_conversions(sentence.text)
    stated: list[Equation | Conversion] = [*equations, *conversions]
    if wrong := [item for item in stated if item.holds is False]:
        return _result("contradicted", STATED_CONFIDENCE, [_evidence(context, sentence, item) for item in wrong])
    if checked := _solve_stated(context, sentence, equations):
        return checked
    if right := [item for item in stated if item.holds]:
        evidence = [_evidence(context, sentence, item) for item in right]
        return _supported(context, sentence, STATED_CONFIDENCE, evidence, [item.span for item in right])
    if not equations and (traced := _trace(context, sentence)):
        spans = [number.span for number in find_numbers(sentence.text)]
        return _supported(context, sentence, MATCH_CONFIDENCE, traced, spans)
    if not formula:
        raise ToolError(message("calculator.no_equation", context.language))
    return _check_formula(context, sentence, formula)


def _result(label: Label, confidence: float, evidence: list[Evidence]) -> ToolResult:
    shown = "; ".join(item.text for item in evidence)
    return ToolResult(observation=shown, label=label, confidence=confidence, evidence=tuple(evidence))


def _supported(
    context: ToolContext, sentence: Sentence, confidence: float, evidence: list[Evidence], checked: list[Span]
) -> ToolResult:
    """Return that a sentence is supported but for what it claims beside the spans that were checked, which is read with what was
    found. In a problem it stays open until the answer as a whole is supported (`detection.reflection`)."""
    problem = is_problem(context)
    left = open_parts(sentence, checked, "" if problem else context.question)
    facts = tuple(item.text for item in evidence) if left and not problem else ()
    return _result("supported", confidence, evidence).model_copy(update={"open": left, "facts": facts})


def _evidence(context: ToolContext, sentence: Sentence, found: Equation | Conversion) -> Evidence:
    if isinstance(found, Conversion):
        left = computed = found.source
        right, value, stated = found.stated, found.computed, found.stated
    else:
        left, right, computed, stated = found.left, found.right, found.computed, found.stated
        value = show(found.value.number) if found.value else ""
    if found.holds:
        text = message("calculator.right", context.language, left=left, right=right)
    else:
        text = message("calculator.wrong", context.language, left=computed, value=value, stated=stated)
    return Evidence(source="calculator", text=text, span=_moved(found.span, sentence.span[0]))


def _moved(span: Span, offset: int) -> Span:
    return span[0] + offset, span[1] + offset


def _solve_stated(context: ToolContext, sentence: Sentence, equations: list[Equation]) -> ToolResult | None:
    """Label a sentence whose equation has an unknown that the response gives a value, by solving the equation."""
    values = assigned(context.response)
    for equation in equations:
        known = solved(equation, values)
        if known is None or not known[1]:
            continue
        number, found = known
        key = "solution" if agrees(number, found) else "no_solution"
        text = message(
            f"calculator.{key}",
            context.language,
            equation=f"{equation.left} = {equation.right}",
            value=", ".join(map(show, found)),
            stated=number.text,
        )
        evidence = Evidence(source="calculator", text=text, span=_moved(equation.span, sentence.span[0]))
        if key == "no_solution":
            if _of_several(context, known[1], values):
                return None
            return _result("contradicted", STATED_CONFIDENCE, [evidence])
        return _supported(context, sentence, STATED_CONFIDENCE, [evidence], [equation.span])
    return None


def _of_several(context: ToolContext, found: list[Fraction], values: Mapping[str, Number]) -> bool:
    """Return whether another equation of the response has other solutions: then a letter stands for several unknowns."""
    others = (solved(equation, values) for other in context.sentences for equation in find_equations(other.text))
    return any(known is not None and set(known[1]) != set(found) for known in others)


def _trace(context: ToolContext, sentence: Sentence) -> list[Evidence]:
    """Return where every number of the sentence comes from: rightly calculated in another sentence, or given by the
    question (alone that is enough only where the sentence is not the answer). Empty where one comes from nowhere."""
    calculated = {
        number.value: (_moved(number.span, other.span[0]), other)
        for other in context.sentences
        if other.index != sentence.index and calculates_rightly(other.text)
        for number in stated_results(other.text)
    } | _solutions(context, sentence)
    given = {number.value: number for number in find_numbers(context.question)}
    said = words(sentence.text)
    if 2 * len(said & words(context.question)) < len(said):
        given = {}  # it says something else with the question's numbers
    answers = {number.span for number in final_answer(context.response)}
    evidence = []
    for number in find_numbers(sentence.text):
        if number.value in calculated:
            span, other = calculated[number.value]
            text = message("calculator.traced", context.language, number=number.text, name=other.name)
            evidence.append(Evidence(source="response", text=text, span=span))
        elif number.value in given and _moved(number.span, sentence.span[0]) not in answers:
            text = message("calculator.given", context.language, number=number.text)
            evidence.append(Evidence(source="question", text=text, span=given[number.value].span))
        else:
            return []
    return evidence


def _solutions(context: ToolContext, sentence: Sentence) -> dict[Fraction, tuple[Span, Sentence]]:
    """Return the values that unknowns are said to have and that another sentence's equation does give."""
    values = assigned(context.response)
    found = {}
    for other in context.sentences:
        for equation in find_equations(other.text) if other.index != sentence.index and values else ():
            known = solved(equation, values)
            if known and agrees(*known):
                found[known[0].value] = (_moved(equation.span, other.span[0]), other)
    return found


def _check_formula(context: ToolContext, sentence: Sentence, formula: str) -> ToolResult:
    stated, offset = stated_results(sentence.text) or find_numbers(sentence.text), sentence.span[0]
    if not stated:
        raise ToolError(message("calculator.no_number", context.language, name=sentence.name))
    calculated, values = _values(context, formula)
    _refuse_foreign_numbers(context, calculated)
    pairs = [(value, number) for value in values for number in stated if matches(value.number, number)]
    value, number = pairs[0] if pairs else (values[0], stated[-1])
    text = message(
        "calculator.match" if pairs else "calculator.mismatch",
        context.language,
        formula=calculated,
        value=show(value.number),
        stated=number.text,
    )
    evidence = Evidence(source="calculator", text=text, span=_moved(number.span, offset))
    if pairs:
        return _supported(context, sentence, MATCH_CONFIDENCE, [evidence], [number.span])
    return ToolResult(observation=text)


def _values(context: ToolContext, formula: str) -> tuple[str, list[Value]]:
    """Return what was calculated, and its values: several where an equation has several solutions."""
    tokens = tokenize(formula)
    if not any(token.kind in ("operator", "function", "root", "fraction", "factorial", "pi") for token in tokens):
        raise FormatError(message("calculator.no_step", context.language, formula=formula[:40]))
    places = [token.span for token in tokens if token.kind == "equals"]
    if not places:
        return formula, [evaluate(formula)]
    if any(token.kind == "unknown" for token in tokens):
        return formula, solve(formula)
    # 15 * 6 = 90 without an unknown: the model wrote the result too; what counts is what it calculated.
    sides = [formula[: places[0][0]].strip(), formula[places[0][1] :].strip()]
    calculated = next((side for side in sides if any(token.kind == "operator" for token in tokenize(side))), sides[0])
    return calculated, [evaluate(calculated)]


def _refuse_foreign_numbers(context: ToolContext, formula: str) -> None:
    """Raise FormatError where the formula has a number that no text of this detection has: the model made it up."""
    texts = [context.question, context.response, context.reference or ""]
    texts += [item.text for entry in context.memory for item in entry.evidence]
    for number in foreign_numbers(formula, texts, USUAL_CONSTANTS):
        raise FormatError(message("calculator.foreign", context.language, number=number.text))
