"""The results that a text states: right of an equals sign, or in its final answer."""

import re
from bisect import bisect_left

from haluagent.text.numbers import Number, find_numbers
from haluagent.types import Span

_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_PIECE = re.compile(r"(?:[^\n。！？；;!?.．]|[.．](?=\d)|[!?](?=\S))+")
_MARK = re.compile(
    r"答案|答[:：]|答，|所以|因此|综上|故|总共|一共|####|"
    r"\b(?:therefore|thus|hence|answer|so|in total|altogether)\b|^\s*A:",
    re.IGNORECASE,
)
_STOP = re.compile(r"[=≈+*/×÷\n。；]|等于")
# After the number: its unit, then an operator and another number.
_GOES_ON = re.compile(r"[^\s=≈,，.。;；+\-−*/×÷^]{0,6}\s*(?:[+\-−*×÷/^]|x\s)\s*[\d(（$√π]")
_EQUALS = re.compile(r"[=≈]|等于")


def stated_results(text: str) -> list[Number]:
    """Return the numbers that stand as the result of something in `text`: the first one right of each `=`, `≈` or `等于`
    that is not itself the beginning of a longer formula. Spans are into `text`."""
    numbers = find_numbers(text)
    results = []
    for sign in _EQUALS.finditer(text):
        behind = bisect_left(numbers, sign.end(), key=lambda number: number.span[0])
        if behind == len(numbers) or _STOP.search(text, sign.end(), numbers[behind].span[0]):
            continue
        number = numbers[behind]
        if not _GOES_ON.match(text, number.span[1]):
            results.append(number)
    return results


def final_answer(response: str) -> list[Number]:
    """Return the numbers of the response's final answer, with spans into it; empty where it states no number.

    These are the numbers in the last `\\boxed{}`; else in the last sentence that has a number and a word such as 答 or
    therefore; else in the last sentence with a number. Where that sentence states equations, their last
    result and what follows it.
    """
    boxed = list(_BOXED.finditer(response))
    if boxed and (numbers := _inside(response, boxed[-1].span(1))):
        return numbers
    pieces = [match.span() for match in _PIECE.finditer(response) if _inside(response, match.span())]
    marked = [span for span in pieces if _MARK.search(response[slice(*span)])]
    if not pieces:
        return []
    span = (marked or pieces)[-1]
    results = [_moved(number, span[0]) for number in stated_results(response[slice(*span)])]
    numbers = _inside(response, span)
    return [number for number in numbers if not results or number.span[0] >= results[-1].span[0]]


def _inside(text: str, span: Span) -> list[Number]:
    return [_moved(number, span[0]) for number in find_numbers(text[slice(*span)])]


def _moved(number: Number, offset: int) -> Number:
    start, end = number.span
    return Number(
        number.value,
        (start + offset, end + offset),
        number.text,
        number.decimals,
        number.is_percent,
        number.approximate,
    )
