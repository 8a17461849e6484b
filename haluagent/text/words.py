"""Words that carry meaning, for finding the passage a sentence is about. Chinese is compared by pairs of characters."""

import re

_LATIN = re.compile(r"[a-z0-9]+(?:[.'][a-z0-9]+)*")
# Function words part the runs, so that 青海省的山脉 and 青海省山脉 share all of their pairs.
_HAN = re.compile(r"[^\W\da-zA-Z_的了是在和与及于为也都就而之它他她]+")
_COMMON = frozenset(
    """
    a about above after all also an and any are as at be because been before being between both but by
    can could did do does during each for from had has have he her him his how i if in into is it its
    made many may more most much no not of on one only or other our out over same she so some such than
    that the their them then there these they this those through to under up was we were what when where
    which while who whom whose why will with would you
    """.split()
)


def words(text: str) -> frozenset[str]:
    """Return lower-case words and numbers without the commonest, and the pairs of neighbouring Han characters."""
    latin = {word for word in _LATIN.findall(text.lower()) if word not in _COMMON}
    runs = [run for run in _HAN.findall(text) if "\u3400" <= run[0] <= "\u9fff"]
    pairs = {run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))}
    return frozenset(latin | pairs)
