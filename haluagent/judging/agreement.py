"""Compare a sentence with the answer that the model gives from a text alone."""

from collections.abc import Callable
from difflib import SequenceMatcher

from haluagent.judging.probabilities import AGREEMENT_TURNS
from haluagent.text.normalize import letters
from haluagent.text.numbers import find_numbers
from haluagent.text.refusals import refusal
from haluagent.text.words import words

Words = frozenset[str]

SAID = 0.8  # the share of an answer's characters that a sentence has where it says the same
LONGER = 1.5  # how much longer the same may be said
LONGEST = 2000  # letters of a claim that is compared letter by letter
UNIT = 2  # characters beside the numbers of an answer that are only their unit
# What is said of an answer, whatever it is about.
_OF_ANSWERS = (
    "according answer correct correctly reference response question right source sources text true yes "
    "这个问题的正确答案应该是，根据资料来源，参考文本，回答"
)


def answers_nothing(own: str) -> bool:
    """Return whether an answer only says that the text has none. That speaks neither for a sentence nor against it."""
    return not words(own) or refusal(own) is not None


def agreement(own: str, claim: str, question: str) -> float | None:
    """Return how far a claim agrees with a text's own answer, in [0, 1]: the F1 of their words apart from those of the
    question (as in SQuAD's evaluation), 1 where it says the same in other words, 0 where it has other numbers. None
    where one of the two says nothing."""
    return _measured(own, claim, question, lambda one, other: 2 * len(one & other) / (len(one) + len(other)))


def contained(own: str, claim: str, question: str) -> float | None:
    """Measure `agreement` with a sentence that may say more: the share of the answer's words that it has."""
    return _measured(own, claim, question, lambda one, other: len(one & other) / len(one))


def counted(agrees: float | None, own: str, claim: str, question: str, text: str) -> float | None:
    """Limit an answer's agreement where the claim says more than the answer. What it adds may be made up: where it has
    words that neither the text nor the question has, the answer may speak against it and no longer for it."""
    if agrees is None or agrees <= AGREEMENT_TURNS or not adds(claim, f"{text} {question} {own}"):
        return agrees
    return AGREEMENT_TURNS


def adds(claim: str, known: str) -> bool:
    """Return whether a claim has words that `known` does not have, apart from filler such as "the answer is". A pair of Han
    characters is known where one of them is. Numbers, which are written in more than one way, do not count
    (`missing_numbers` looks for them)."""
    known = f"{known} {_OF_ANSWERS}"
    there, characters = words(known), set(known)
    said = {word.removesuffix("'s") for word in words(claim) if not word[0].isdigit()}
    return any(word not in there and (word.isascii() or not set(word) & characters) for word in said)


def _measured(own: str, claim: str, question: str, measure: Callable[[Words, Words], float]) -> float | None:
    if answers_nothing(own) or not words(claim):
        return None
    if (known := _by_numbers(own, claim)) is not None:
        return known
    if says(claim, own):
        return 1.0
    one, other, asked = words(own), words(claim), words(question)
    if one - asked and other - asked:
        one, other = one - asked, other - asked
    return measure(one, other)


def _by_numbers(own: str, claim: str) -> float | None:
    """Return 0 where both have numbers and each has one that the other has not; 1 where the answer is nothing but
    numbers that the claim has; else None."""
    found = find_numbers(own)
    one, other = {number.value for number in found}, {number.value for number in find_numbers(claim)}
    if not one or not other:
        return None
    if not (one <= other or other <= one):
        return 0.0
    rest = own
    for number in reversed(found):
        rest = rest[: number.span[0]] + rest[number.span[1] :]
    return 1.0 if one <= other and len(letters(rest)) <= UNIT else None


def says(claim: str, own: str) -> bool:
    """Return whether a claim has the characters of an answer in their order and close together, some left out or put
    between, but none in the place of another: 黄果树瀑布 for 黄果树大瀑布, and not 白头海雕 for 白尾海雕."""
    wanted, given = letters(own), letters(claim)
    if len(given) > LONGEST:
        return wanted in given
    blocks = [
        block for block in SequenceMatcher(None, wanted, given, autojunk=False).get_matching_blocks() if block.size
    ]
    if not blocks:
        return False
    start, end = blocks[0].b, blocks[-1].b + blocks[-1].size
    whole = blocks[0].a == 0 and blocks[-1].a + blocks[-1].size == len(wanted)
    replaced = any(a.a + a.size < b.a and a.b + a.size < b.b for a, b in zip(blocks, blocks[1:], strict=False))
    kept = sum(block.size for block in blocks)
    return whole and not replaced and kept >= SAID * len(wanted) and end - start <= LONGER * len(wanted) + UNIT
