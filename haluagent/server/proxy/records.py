"""What the proxy found about an answer: the records of its reports."""

from collections.abc import Iterable
from typing import Literal, get_args

from haluagent.types import Detection, MemoryEntry, Record, Span

# The worst first. unchecked: the check failed; no_claim: nothing in it could be checked; no_answer: there is no text,
# as in a message that only calls tools.
AnswerVerdict = Literal["contradicted", "unchecked", "unverified", "supported", "no_claim", "no_answer"]
VERDICTS: tuple[AnswerVerdict, ...] = get_args(AnswerVerdict)
# passed: it went out as it came. revised: the second try went out. blocked: at least a part was withheld.
Handling = Literal["passed", "revised", "blocked"]


class Finding(Record):
    """What a check found. Spans are of the answer; `reason` says why there is no better verdict."""

    verdict: AnswerVerdict
    sentences: tuple[MemoryEntry, ...] = ()
    reason: str = ""

    def at(self, offset: int, index: int) -> "Finding":
        """Return the finding about a part of an answer as one about the whole, in which `offset` characters and `index`
        sentences come before it."""
        moved = []
        for entry in self.sentences:
            start, end = entry.sentence.span
            place = {
                "span": (start + offset, end + offset),
                "index": entry.sentence.index and entry.sentence.index + index,
            }
            moved.append(entry.model_copy(update={"sentence": entry.sentence.model_copy(update=place)}))
        return self.model_copy(update={"sentences": tuple(moved)})

    def __add__(self, other: "Finding") -> "Finding":
        return Finding(
            verdict=worst((self.verdict, other.verdict)),
            sentences=self.sentences + other.sentences,
            reason=self.reason or other.reason,
        )


class CheckedAnswer(Record):
    """One answer: a choice of a chat completion, named by its index, or a text of a response, named by its output and
    content index (`0.0`). `sent` is what went out in its place where it was blocked."""

    choice: str
    text: str
    finding: Finding
    sent: str | None = None


class AnswerReport(Record):
    """The report on one request. `first` has the answers of the first try, where there was a second. `at` is the time in
    ISO 8601, `added_seconds` the time that the answer waited for checks and for the second try."""

    id: str
    at: str
    api: str
    handling: Handling
    verdict: AnswerVerdict
    question: str
    answers: tuple[CheckedAnswer, ...]
    first: tuple[CheckedAnswer, ...] = ()
    added_seconds: float


class Flaw(Record):
    """A place of an answer that is not supported."""

    choice: str
    span: Span
    label: str


def worst(verdicts: Iterable[AnswerVerdict]) -> AnswerVerdict:
    """Return the worst of the verdicts; "no_answer" of none."""
    return min(verdicts, key=VERDICTS.index, default="no_answer")


def finding_of(detection: Detection) -> Finding:
    """Return what a detection says of an answer. A part that no sentence stands for counts as unverified."""
    labels = {entry.label for entry in detection.sentences}
    verdict: AnswerVerdict
    if "contradicted" in labels:
        verdict = "contradicted"
    elif detection.stop == "error":
        verdict = "unchecked"
    elif "unverified" in labels or detection.coverage.response < 1:
        verdict = "unverified"
    else:
        verdict = "supported" if "supported" in labels else "no_claim"
    return Finding(verdict=verdict, sentences=detection.sentences, reason="the model failed" * (verdict == "unchecked"))


def flaws(answers: Iterable[CheckedAnswer]) -> list[Flaw]:
    """Return the places that are contradicted or unverified, `not_in_reference` among them."""
    return [
        Flaw(choice=answer.choice, span=entry.sentence.span, label=entry.outcome)
        for answer in answers
        for entry in answer.finding.sentences
        if entry.label in ("contradicted", "unverified")
    ]
