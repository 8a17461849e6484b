"""Converting the top tokens of one position into probabilities of a few answers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

_NEVER = -1000.0  # its exponential is 0.0


def choice_probabilities(
    top: Sequence[Mapping[str, Any]], choices: Sequence[str], least: float = 0.0
) -> dict[str, float] | None:
    """Return probabilities over `choices`, summing to 1, from OpenAI's `top_logprobs`; None if the tokens that tell a choice
    have no more than `least` of the probability.

    A token counts for a choice if, without white space, it begins that choice and no other, in the same case. All
    spellings of a beginning count together: with and without a leading space, whole word or first syllable.
    """
    mass = dict.fromkeys(choices, 0.0)
    for entry in top:
        beginning = _bytes(entry).strip()
        matching = [choice for choice in choices if beginning and choice.encode().startswith(beginning)]
        if len(matching) == 1:
            mass[matching[0]] += _probability(entry.get("logprob"))
    total = sum(mass.values())
    return {choice: value / total for choice, value in mass.items()} if total > least else None


def _probability(logprob: Any) -> float:
    """Return the probability of a log-probability; 0.0 for what is none. Rounding can bring one a little above 0."""
    if isinstance(logprob, bool) or not isinstance(logprob, int | float) or not logprob < 1:
        return 0.0
    return math.exp(min(max(logprob, _NEVER), 0.0))


def _bytes(entry: Mapping[str, Any]) -> bytes:
    """Return a token's bytes: a token can be part of a Chinese character, which its text does not show."""
    try:
        return bytes(entry["bytes"]) if isinstance(entry.get("bytes"), list) else _text(entry.get("token"))
    except (TypeError, ValueError, OverflowError):  # not a list of bytes
        return b""


def _text(token: Any) -> bytes:
    return token.encode("utf-8", "replace") if isinstance(token, str) else b""


def match_choice(text: str, choices: Sequence[str]) -> str | None:
    """Return the choice that a written answer begins with, whatever its case and quotation marks; the longest of
    several.

    Only the beginning counts: "not YES" and "不支持" contain a choice and mean the opposite.
    """
    answer = text.lstrip(_OPENING).casefold()
    found = [choice for choice in choices if _begins(answer, choice.casefold())]
    return max(found, key=len, default=None)


_OPENING = " \t\r\n\"'`*_([{“‘「『（【《"


def _begins(answer: str, choice: str) -> bool:
    if not choice or not answer.startswith(choice):
        return False
    rest = answer[len(choice) :]
    # "nothing" does not begin with the answer "no". Chinese has no spaces, so there other characters may follow.
    return not (choice[-1].isascii() and choice[-1].isalnum() and rest[:1].isascii() and rest[:1].isalnum())
