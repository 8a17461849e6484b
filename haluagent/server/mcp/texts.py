"""What a model reads of a result: the verdict first, then whatever is not supported, with the evidence.

The result itself goes to the client as structured content. The verdict of a detection and its labels are in its language; the
other labels are those that the files of `check`, `claims` and `runs` have.
"""

from collections import Counter
from collections.abc import Iterator

from haluagent.checks.claims.records import RELATIONS, CheckedClaim, ClaimReport
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.checks.runs.records import ToolCallValidation
from haluagent.protocols import SearchResult
from haluagent.report.lines import Line, entry_lines, evidence_text, verdict_line, warning_lines
from haluagent.types import Detection

UNDECIDED = "UNDECIDED"


def of_detection(detection: Detection) -> Iterator[Line]:
    """Yield the verdict, every sentence that is not supported, and the warnings."""
    yield verdict_line(detection)
    for entry in detection.sentences:
        if entry.label not in ("supported", "no_claim"):
            yield from entry_lines(entry, detection.language)
    yield from warning_lines(detection)


def of_check(found: Faithfulness) -> Iterator[Line]:
    """Yield the verdict with its reasons, and the places in the documents."""
    yield Line(("", f"{found.verdict or UNDECIDED} (score {found.score:.2f})"))
    for reason in found.reasoning:
        yield Line(("", f"- {reason}"), indent=2)
    for item in dict.fromkeys(found.evidence):
        yield Line(("", evidence_text(item, None, found.language)), indent=2)
    if found.coverage < 1:
        yield Line(("", f"only {found.coverage:.0%} of the documents was read"), indent=2)
    yield from _error(found.error)


def of_claims(report: ClaimReport) -> Iterator[Line]:
    """Yield the verdict with the number of claims for each label, and every claim that is not entailed."""
    counts = Counter(one.label for one in report.claims)
    parts = [f"{counts[label]} {label}" for label in RELATIONS if counts[label]]
    parts += [f"{counts[None]} not checked"] if counts[None] else []
    yield Line(("", f"{report.verdict or UNDECIDED}: {', '.join(parts) or 'no claim'}"))
    for number, one in enumerate(report.claims, start=1):
        if one.label != "Entailment":
            yield from _claim(number, one)
    if report.coverage < 1:
        yield Line(("", f"only {report.coverage:.0%} of the references was read"), indent=2)
    yield from _error(report.error)


def of_call(validation: ToolCallValidation) -> Iterator[Line]:
    """Yield the status of a call, and what there is to say of it."""
    yield Line(("", f"{validation.status}: {validation.tool}"))
    for error in validation.errors:
        yield Line(("", error), indent=2)


def of_documents(found: tuple[SearchResult, ...]) -> Iterator[Line]:
    """Yield the passages that were found, each with its title and its place."""
    if not found:
        yield Line(("", "nothing found: that says nothing about what is true"))
    for number, one in enumerate(found, start=1):
        yield Line(("", f"{number}. {one.title} <{one.url}>"))
        yield Line(("", one.text or one.snippet), indent=3)


def _claim(number: int, one: CheckedClaim) -> Iterator[Line]:
    yield Line(("", f"[{number}] {one.label or 'not checked'}: {one.claim.text}"), indent=2)
    for cited in one.citations:
        place = f"reference {cited.passage + 1}, characters {cited.span[0]}-{cited.span[1]}"
        yield Line(("", f"evidence ({place}): {cited.text}"), indent=6)
    if not one.citations and one.checker and one.label is not None:
        yield Line(("", f"decided by {one.checker}"), indent=6)
    yield from _error(one.error, indent=6)


def _error(error: str | None, indent: int = 2) -> Iterator[Line]:
    if error:
        yield Line(("", f"error: {error}"), indent=indent)
