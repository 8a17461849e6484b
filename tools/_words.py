"""Words that carry meaning, for finding the passage a sentence is about. Chinese is compared by pairs of characters."""

import re

_LATIN = re.compile(r"[a-z0-9]+(?:[.'][a-z0-9]+)*")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_COMMON = frozenset(
    "a about above after all also an and any are as at be because been before being between both but by can could did "
    "do does during each for from had has have he her him his how i if in into is it its made many may more most much "
    "no not of on one only or other our out over same she so some such than that the their them then there these they "
    "this those through to under up was we were what when where which while who whom whose why will with would you".split()
)


def words(text: str) -> frozenset[str]:
    """Lower-case words and numbers without the commonest, and the pairs of neighbouring Han characters."""
    latin = {word for word in _LATIN.findall(text.lower()) if word not in _COMMON}
    pairs = {run[i : i + 2] for run in _HAN.findall(text) for i in range(max(1, len(run) - 1))}
    return frozenset(latin | pairs)

