"""Training items from word problems: the equations of Ape210K and the worked solutions of GSM8K, right and with a
change.

A wrong answer has the form of the right one. Either its formula has another operator or number and the result follows
from it, or the formula is right and its result is not.
"""

import ast
import random
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from haluagent.arithmetic.expressions import evaluate
from haluagent.errors import ToolError
from haluagent.text.numbers import show
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.records import Alteration
from haluagent.types import Language

LONGEST = 60  # characters of a formula in the training data
FORMULA_CHARACTERS = r"[0-9.+*/() %-]+"  # as allowed by the grammar of `tools/calculator/answer_check.py`
_OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*"}
_STEP = re.compile(r"<<([^<>=]+)=([^<>]+)>>")
_ORDER: dict[Language, tuple[str, ...]] = {
    "zh": ("第一步", "第二步", "第三步", "第四步"),
    "en": ("First", "Then", "Next", "After that"),
}
_BARE: dict[Language, tuple[str, ...]] = {
    "zh": ("{}", "答案是{}。", "{}。", "一共是{}。", "结果等于{}。"),
    "en": ("{}", "The answer is {}.", "It comes to {}.", "{} in total."),
}
_GIVEN: dict[Language, tuple[str, ...]] = {
    "zh": ("题目说{}。", "已知{}。", "根据题意，{}。"),
    "en": ("We know this: {}.", "The question says: {}.", "Given: {}."),
}
PLANS: dict[Language, tuple[str, ...]] = {
    "zh": ("我们一步一步来算。", "先弄清数量之间的关系，再列式计算。"),
    "en": ("We work it out step by step.", "First see how the amounts belong together, then calculate."),
}
_CLAUSES = re.compile(r"[，。；;]|[,.](?!\d)")
_ASKS = re.compile(r"[?？几求]|多少|如果|\b(?:how|what|find|if|calculate|determine)\b", re.IGNORECASE)
_END: dict[Language, str] = {"zh": "所以答案是{}。", "en": "So the answer is {}."}


class WordProblem(NamedTuple):
    """A word problem with the formula of its answer."""

    name: str
    language: Language
    question: str
    formula: str
    value: Fraction


def ape210k(row: dict[str, Any], number: int) -> WordProblem | None:
    """Convert a row of Ape210K; None if its equation is not a formula of numbers or does not give its answer."""
    formula = row["equation"].removeprefix("x=").replace("**", "^")
    value, answer = _value(formula), _value(row["ans"])
    if value is None or value != answer or not _usable(formula):
        return None
    return WordProblem(f"ape210k_valid:{number}", "zh", row["original_text"], formula, value)


def gsm8k(row: dict[str, Any], number: int) -> WordProblem | None:
    """Convert a row of GSM8K, substituting its steps into each other; None if they do not give its answer."""
    worked, _, final = row["answer"].partition("####")
    formula, value = "", _value(final.strip().replace(",", ""))
    known: dict[Fraction, str] = {}
    for left, right in _STEP.findall(worked):
        result = _value(right.replace(",", ""))
        if result is None:
            return None
        formula = re.sub(r"\d+(?:\.\d+)?", lambda found: known.get(Fraction(found[0]), found[0]), left.replace(" ", ""))
        known[result] = f"({formula})"
    if value is None or _value(formula) != value or not _usable(formula):
        return None
    return WordProblem(f"gsm8k_train:{number}", "en", row["question"], formula, value)


def _usable(formula: str) -> bool:
    """Return True if a formula is short and a calculation that the calculator's grammar allows."""
    return (
        re.fullmatch(FORMULA_CHARACTERS, formula) is not None
        and len(formula) <= LONGEST
        and bool(re.search(r"\d[-+*/]", formula))
    )


def lessons(problem: WordProblem, chance: random.Random) -> Iterator[Lesson]:
    """Yield a right and a wrong answer of one form that differ in the formula, then a right and a wrong answer of
    another form that differ in the result. Answers that are more than a number sometimes begin with what the question
    says or with a plan."""
    changed = _changed(problem, chance)
    if changed is None:
        return
    first = chance.choice(("bare", "formula", "steps", "steps"))
    for name, form, wrong in (
        ("formula", first, changed),
        ("result", chance.choice(("formula", "steps")), _slipped(problem, chance)),
    ):
        bare = chance.choice(_BARE[problem.language])
        formula, value, change = wrong
        before = "" if form == "bare" else _introduced(problem, chance)
        yield _lesson(
            problem, f"{name}:right", before + _written(problem, form, problem.formula, problem.value, bare), None
        )
        yield _lesson(problem, f"{name}:wrong", before + _written(problem, form, formula, value, bare), change)


def formula_only(problem: WordProblem, chance: random.Random) -> Lesson:
    """Return the problem with a bare answer, right or wrong, of which only the formula is used for training."""
    changed = _changed(problem, chance) if chance.random() < 0.5 else None
    response, change = (show(changed[1]), changed[2]) if changed else (show(problem.value), None)
    return _lesson(problem, "only", response, change).model_copy(update={"focus": ("formula",)})


def _lesson(problem: WordProblem, name: str, response: str, change: Alteration | None) -> Lesson:
    return Lesson(
        id=f"{problem.name}:{name}",
        group=problem.name,
        source=problem.name.partition(":")[0],
        kind="math",
        language=problem.language,
        question=problem.question,
        response=response,
        gold=change is not None,
        change=change,
        answer=show(problem.value),
        formula=problem.formula,
    )


def solutions(row: dict[str, Any], number: int, problem: WordProblem | None) -> Iterator[Lesson]:
    """Yield one right and one wrong solution from the published, labelled model solutions to a GSM8K problem, if there
    are both."""
    found: dict[bool, str] = {}
    for solution in row.values():
        if isinstance(solution, dict) and len(solution["solution"]) < 500:
            text = re.sub(
                r"\nA: (.+)$",
                lambda last: f"\n{_END['en'].format(last[1])}",
                _STEP.sub("", solution["solution"]).strip(),
            )
            found.setdefault(not solution["is_correct"], text)
    if problem is not None and len(found) == 2:
        for wrong, text in sorted(found.items()):
            lesson = _lesson(problem, f"solution:{'wrong' if wrong else 'right'}", text, None)
            change = Alteration(kind="published", before="", after="") if wrong else None
            named = {
                "source": "gsm8k_model_solutions",
                "gold": wrong,
                "change": change,
                "group": f"gsm8k_model_solutions:{number}",
            }
            yield lesson.model_copy(
                update=named | {"id": f"gsm8k_model_solutions:{number}:{'wrong' if wrong else 'right'}"}
            )


def _value(formula: str) -> Fraction | None:
    try:
        return Fraction(evaluate(formula).number)
    except (ToolError, ValueError, TypeError):
        return None


def _changed(problem: WordProblem, chance: random.Random) -> tuple[str, Fraction, Alteration] | None:
    """Return the formula with another operator or number, if its value is positive and at least as round as the right
    one."""
    formula = problem.formula
    places = [match for match in re.finditer(r"(?<=[\d)])[-+*/](?=[\d(])|\d+(?:\.\d+)?", formula)]
    for place in chance.sample(places, len(places)):
        old = place.group()
        new = _OPERATORS.get(old) or str(int(float(old)) + chance.choice((1, 2, 10)))
        changed = formula[: place.start()] + new + formula[place.end() :]
        value = _value(changed)
        if value is not None and value > 0 and value != problem.value and _round(value) >= _round(problem.value):
            return (
                changed,
                value,
                Alteration(kind="operator" if old in _OPERATORS else "number", before=formula, after=changed),
            )
    return None


def _slipped(problem: WordProblem, chance: random.Random) -> tuple[str, Fraction, Alteration]:
    """Return the right formula with another result."""
    value = problem.value
    other = chance.choice((value * 10, value + 1, value + 10, value * 2))
    return problem.formula, other, Alteration(kind="result", before=show(value), after=show(other))


def _round(value: Fraction) -> int:
    """Return a greater number for a rounder value: whole numbers first, then those with one or two decimals."""
    return next((3 - digits for digits in range(3) if (value * 10**digits).denominator == 1), 0)


def _introduced(problem: WordProblem, chance: random.Random) -> str:
    """Return a line on what the question gives, on the plan, or both; often neither."""
    language = problem.language
    given = [
        clause.strip()
        for clause in _CLAUSES.split(problem.question)
        if re.search(r"\d", clause) and not _ASKS.search(clause)
    ]
    lines = [chance.choice(PLANS[language])] if chance.random() < 0.3 else []
    if given and chance.random() < 0.5:
        lines.append(chance.choice(_GIVEN[language]).format(chance.choice(given)))
    return "".join(f"{line}\n" for line in lines)


def _written(problem: WordProblem, form: str, formula: str, value: Fraction, bare: str) -> str:
    """Write the answer as a number, as one equation, or as steps. A result that does not follow from the formula is put
    at the end."""
    language, shown = problem.language, show(value)
    if form == "bare":
        return bare.format(shown)
    end = _END[language].format(shown)
    steps = _steps(formula) if form == "steps" else None
    if not steps or len(steps) > len(_ORDER[language]):
        return f"{_pretty(formula)} = {shown}{'。' if language == 'zh' else '.'}{'' if language == 'zh' else ' '}{end}"
    comma, stop = ("，", "。") if language == "zh" else (", ", ".")
    slipped = _value(formula) != value
    lines = []
    for at, (left, right) in enumerate(steps):
        result = shown if slipped and at == len(steps) - 1 else right
        lines.append(f"{_ORDER[language][at]}{comma}{_pretty(left)} = {result}{stop}")
    return "\n".join([*lines, end])


def _pretty(formula: str) -> str:
    return re.sub(r"\s*([-+×÷])\s*", r" \1 ", formula.replace("*", "×").replace("/", "÷")).strip()


def _steps(formula: str) -> list[tuple[str, str]] | None:
    """Return the operations of a formula in order, each with its result; None if it is not made of plain numbers."""
    try:
        tree = ast.parse(formula, mode="eval").body
    except SyntaxError:
        return None
    steps: list[tuple[str, str]] = []

    def walk(node: ast.expr) -> str | None:
        if isinstance(node, ast.Constant):
            return str(node.value)
        if not isinstance(node, ast.BinOp):
            return None
        left, right = walk(node.left), walk(node.right)
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}.get(type(node.op))
        if left is None or right is None or sign is None:
            return None
        value = _value(f"{left}{sign}{right}")
        if value is None or value <= 0 or _round(value) == 0:
            return None
        steps.append((f"{left}{sign}{right}", show(value)))
        return show(value)

    return steps if walk(tree) is not None and steps else None
