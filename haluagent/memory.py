"""What a detection knows so far: one entry a sentence, and how entries make a verdict."""

from collections.abc import Iterable

from .types import Evidence, Label, MemoryEntry, Revision


class Memory:
    """The entries of one detection by sentence index (the paper's (sentence, label, evidence) triples)."""

    def __init__(self) -> None:
        self._entries: dict[int, MemoryEntry] = {}

    def record(self, entry: MemoryEntry) -> None:
        self._entries[entry.sentence.index] = entry

    def revise(
        self, index: int, label: Label, reason: str, *, confidence: float, evidence: tuple[Evidence, ...] = ()
    ) -> MemoryEntry:
        """Change a label and keep what it was and why it changed. The first label stays on record."""
        old = self._entries[index]
        first = old.revised_from or Revision(label=old.label, reason=old.reason)
        entry = old.model_copy(
            update={
                "label": label,
                "reason": reason,
                "confidence": confidence,
                "evidence": old.evidence + evidence,
                "revised_from": first,
            }
        )
        self._entries[index] = entry
        return entry

    def __getitem__(self, index: int) -> MemoryEntry:
        return self._entries[index]

    def __contains__(self, index: int) -> bool:
        return index in self._entries

    def entries(self) -> tuple[MemoryEntry, ...]:
        """In the order of the response, the whole response (index 0) last."""
        return tuple(self._entries[i] for i in sorted(self._entries, key=lambda i: (i == 0, i)))


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
