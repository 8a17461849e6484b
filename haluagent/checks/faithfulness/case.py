"""What a mode is given to judge, and what it finds."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from haluagent.checks.faithfulness.records import Score
from haluagent.detection.limits import Meter
from haluagent.types import Evidence, Language, Usage

NO_USAGE = Usage()
EVEN = 0.5  # the score where nothing is known


@dataclass(frozen=True)
class Case:
    """An answer and the document it should rest on. `readable` is the document with white space in place of sentences that
    give orders to its reader: the offsets are the same."""

    question: str
    answer: str
    document: str
    readable: str
    language: Language
    threshold: float
    model: Meter

    def reading(self, readable: str) -> "Case":
        return replace(self, readable=readable)

    def verdict(self, score: float) -> Score:
        return "FAIL" if score > self.threshold else "PASS"


class Finding(NamedTuple):
    """The fields of `Faithfulness` that a mode decides. `usage` is what did not go through the meter of the case."""

    score: float
    verdict: Score | None
    reasoning: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    coverage: float = 1.0
    error: str | None = None
    usage: Usage = NO_USAGE


def undecided(error: str, usage: Usage = NO_USAGE) -> Finding:
    """Nothing was shown: neither PASS nor FAIL."""
    return Finding(EVEN, None, error=error, usage=usage)
