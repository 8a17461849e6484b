"""The input of a mode, and its finding."""

from dataclasses import dataclass
from typing import NamedTuple

from haluagent.checks.faithfulness.records import Score
from haluagent.detection.limits import Meter
from haluagent.types import Evidence, Language, Usage

NO_USAGE = Usage()
EVEN = 0.5  # the score if nothing is known


@dataclass(frozen=True)
class Case:
    """An answer and the document it should rest on. `base_rate` is that of `HaluAgent`."""

    question: str
    answer: str
    document: str
    language: Language
    threshold: float
    model: Meter
    base_rate: float | None = None

    def verdict(self, score: float) -> Score:
        """Return FAIL if the score, the probability of FAIL, is above the threshold, else PASS."""
        return "FAIL" if score > self.threshold else "PASS"


class FaithfulnessFinding(NamedTuple):
    """The fields of `Faithfulness` that a mode decides. `usage` is the cost that the case's meter did not count."""

    score: float
    verdict: Score | None
    reasoning: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    coverage: float = 1.0
    error: str | None = None
    usage: Usage = NO_USAGE


def undecided(error: str, usage: Usage = NO_USAGE) -> FaithfulnessFinding:
    """Return a finding of neither PASS nor FAIL."""
    return FaithfulnessFinding(EVEN, None, error=error, usage=usage)
