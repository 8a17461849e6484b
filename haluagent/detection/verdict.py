"""What a detection knows so far: one entry a sentence, and how entries make a verdict."""

from collections.abc import Iterable

from haluagent.types import MemoryEntry


def verdict(entries: Iterable[MemoryEntry]) -> tuple[bool | None, float]:
    """Whether the response holds a hallucination, and the probability in [0, 1] that it does.

    True if any sentence is contradicted; False if there is a claim and every claim is supported; None otherwise.
    The score is that of the most doubtful claim. The verdict looks at labels alone, so a score above one half
    beside None means: suspicious, not shown.
    """
    claims = [entry for entry in entries if entry.label != "no_claim"]
    score = max((doubt(entry) for entry in claims), default=0.5)
    if any(entry.label == "contradicted" for entry in claims):
        return True, score
    if claims and all(entry.label == "supported" for entry in claims):
        return False, score
    return None, score


def doubt(entry: MemoryEntry) -> float:
    """The probability that the sentence is wrong. Nothing known is one half; an opinion moves it half of its way."""
    if entry.label == "contradicted":
        return max(entry.confidence, 0.5)
    if entry.label == "supported":
        return min(1.0 - entry.confidence, 0.5)
    if entry.opinion is None:
        return 0.5
    return 0.5 + (0.5 - entry.opinion) / 2
