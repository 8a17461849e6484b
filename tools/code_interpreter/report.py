"""Turn the results of runs into a label, an observation and evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

from haluagent.protocols import ToolContext
from haluagent.text.messages import message
from haluagent.tools.code_interpreter.examples import CallExample, calls
from haluagent.tools.code_interpreter.plan import Plan
from haluagent.tools.code_interpreter.run import SECONDS, Result
from haluagent.tools.code_interpreter.verdict import LIMITS, SURROUNDINGS, WRONG
from haluagent.types import Evidence, Label, Span, ToolResult

BY_QUESTION = 0.9  # the question's examples decide
BY_ITSELF = 0.75  # only the response's own tests passed
BY_LIMIT = 0.7  # tests that did not end: perhaps only slow
BY_OWN_TEST = 0.7  # a test of the response that the question speaks against

MAX_SHOWN = 160  # characters of code or output in an observation
MAX_EVIDENCE = 5  # examples of the question


@dataclass(frozen=True)
class CodeReport:
    """The verdict on one version of the code."""

    label: Label
    text: str
    confidence: float = 1.0
    evidence: tuple[Evidence, ...] = ()


def report(context: ToolContext, plan: Plan, results: Sequence[Result]) -> CodeReport:
    """Label one version. The question's examples count more than the response's own tests, and a proven fault more than
    one that a limit suggests."""
    wrong = sorted((one for one in results if one.finding.cause in WRONG), key=_weight)
    if wrong:
        return _contradicted(context, plan, wrong[0], results)
    tested = {"given", "own", "sample"} | ({"program"} if plan.asserts else set())
    for result in results:
        if result.finding.cause in LIMITS and result.of in tested:
            return CodeReport("contradicted", _reason(context, result), BY_LIMIT, _evidence(context, plan, result))
    given, apart = _passed(results, "given", "sample"), _passed(results, "given", "sample", "own")
    total = sum(result.passed for result in results)
    failed = next((one for one in results if one.finding.cause != "ok"), None)
    # Where the program as a whole only lacked its surroundings, tests that were run apart from it say enough.
    lacking = failed is not None and failed.of == "program" and failed.finding.cause in (*SURROUNDINGS, "unknown_name")
    others = all(one.finding.cause == "ok" for one in results if one is not failed)
    if (total and failed is None) or (apart and lacking and others):
        text = message("code.passed", context.language, tests=_counts(context, results)) + _renamed(context, plan)
        return CodeReport("supported", text, BY_QUESTION if given else BY_ITSELF, _proof(context, plan, results, text))
    if failed is None:
        blind = any(result.blind for result in results)
        return CodeReport("unverified", message("code.blind" if blind else "code.untested", context.language))
    text = _reason(context, failed)
    if total:
        text += message("code.also_passed", context.language, tests=_counts(context, results))
    return CodeReport("unverified", text, evidence=_evidence(context, plan, failed))


def combined(context: ToolContext, reports: Sequence[CodeReport], versions: int) -> ToolResult:
    """Return one answer for all `versions`, of which the first have reports: wrong where one is wrong, right where all
    are."""
    order: tuple[Label, ...] = ("contradicted", "unverified", "supported")
    number, worst = min(enumerate(reports, 1), key=lambda item: (order.index(item[1].label), item[1].confidence))
    text = worst.text
    if versions > 1 and worst.label != "supported":
        text = message("code.version", context.language, number=number, count=versions, text=text)
    return ToolResult(observation=text, label=worst.label, confidence=worst.confidence, evidence=worst.evidence)


def _weight(result: Result) -> tuple[int, int]:
    """Return how much a fault counts: what the question shows, what cannot be run, what the response says of itself."""
    return ("given", "sample", "program", "own", "stated").index(result.of), result.finding.cause == "test"


def _contradicted(context: ToolContext, plan: Plan, result: Result, results: Sequence[Result]) -> CodeReport:
    confidence = BY_QUESTION
    text = _fault(context, result) + _renamed(context, plan)
    if result.of in ("program", "own") and result.finding.cause == "test" and _against_question(context, plan, result):
        confidence = BY_OWN_TEST
        text += message("code.own_test_is_wrong", context.language)
    if counts := _counts(context, results):
        text += message("code.also_passed", context.language, tests=counts)
    return CodeReport("contradicted", text, confidence, _evidence(context, plan, result))


def _fault(context: ToolContext, result: Result) -> str:
    finding = result.finding
    if result.of in ("sample", "stated") and finding.cause == "test" and (result.wanted or result.real):
        values = {"input": _short(result.given), "stated": _short(result.wanted), "real": _short(result.real)}
        return message(f"code.{result.of}", context.language, **values)
    detail = _detail(context, finding.detail)
    line = (
        message("code.line", context.language, line=_short(context.response[slice(*finding.span)]))
        if finding.span
        else ""
    )
    if result.example is not None:
        key = "given_example" if result.of == "given" else "own_example"
        return message(f"code.{key}", context.language, example=_example_text(context, result), detail=detail)
    key = "given_test" if result.of == "given" and finding.cause == "test" else finding.cause
    return message(f"code.{key}", context.language, detail=detail, line=line)


def _detail(context: ToolContext, error: str) -> str:
    detail = _short(error.removeprefix("AssertionError: "))
    for key in ("returned", "printed", "raised_nothing"):  # what `prelude.py` says of an example that was not met
        if detail.startswith(said := message(f"code.detail.{key}", "en")):
            rest = detail.removeprefix(said)
            joined = message("code.detail.and_returned", context.language)
            rest = rest.replace(message("code.detail.and_returned", "en"), joined)
            return message(f"code.detail.{key}", context.language) + rest
    return detail


def _example_text(context: ToolContext, result: Result) -> str:
    assert result.example is not None
    text = context.question if result.of == "given" else context.response
    return _short(text[slice(*result.example.span)])


def _against_question(context: ToolContext, plan: Plan, result: Result) -> bool:
    """Return whether a failed test of the response says something else of a call than an example of the question."""
    given: dict[str, CallExample] = {one.source: one for one in plan.given.examples if one is not None}
    names = {name for part in plan.parts for name in part.functions}
    line = context.response[slice(*result.finding.span)] if result.finding.span else ""
    said = [result.example] if result.example else calls(line, names)
    return any(one.source in given and given[one.source].wanted != one.wanted for one in said)


def _reason(context: ToolContext, result: Result) -> str:
    detail = _short(result.finding.detail)
    return message(f"code.reason.{result.finding.cause}", context.language, detail=detail, seconds=SECONDS)


def _passed(results: Sequence[Result], *of: str) -> int:
    return sum(result.passed for result in results if result.of in of)


def _counts(context: ToolContext, results: Sequence[Result]) -> str:
    """Return the tests that passed: `7 assertions of the response and 2 examples of the question`."""
    kinds = {"own": ("program", "own"), "given": ("given", "sample"), "stated": ("stated",)}
    texts = []
    for kind, of in kinds.items():
        if count := _passed(results, *of):
            number = "one" if count == 1 else "more"
            texts.append(message(f"code.count.{kind}.{number}", context.language, count=count))
    return message("code.and", context.language).join(texts)


def _renamed(context: ToolContext, plan: Plan) -> str:
    return message("code.renamed", context.language, asked=plan.renamed[0], own=plan.renamed[1]) if plan.renamed else ""


def _evidence(context: ToolContext, plan: Plan, result: Result) -> tuple[Evidence, ...]:
    """Return the traceback at the line of the response that failed, and the example of the question that it failed
    on."""
    finding = result.finding
    span = finding.span or _definition(plan, result)
    by_example = result.example is not None and finding.cause == "test"  # there is nothing to trace back
    text = finding.traceback if finding.traceback and not by_example else _told(context, result)
    evidence = [Evidence(source="code_interpreter", text=text, span=span)]
    if result.of == "given" and result.example is not None:
        place = result.example.span
        evidence.append(Evidence(source="question", text=context.question[slice(*place)], span=place))
    return tuple(evidence)


def _told(context: ToolContext, result: Result) -> str:
    return _fault(context, result) if result.finding.cause in WRONG else _reason(context, result)


def _definition(plan: Plan, result: Result) -> Span | None:
    """Return where the function that an example is about begins; else where the code does."""
    source = result.example.source if result.example else ""
    for part in plan.parts:
        for name, node in part.functions.items():
            if name in source or (plan.renamed and name == plan.renamed[1]):
                return part.lines[node.lineno - 1].span
    return next((part.block for part in plan.parts if part.block), None)


def _proof(context: ToolContext, plan: Plan, results: Sequence[Result], text: str) -> tuple[Evidence, ...]:
    """Return what passed, at the code that it passed for, with the examples of the question."""
    blocks = [part.block for part in plan.parts if part.block]
    given = [one for result in results if result.of == "given" and result.tests for one in result.tests.examples]
    spans = [example.span for example in given if example is not None and example.kind != "run"]
    found = [Evidence(source="code_interpreter", text=text, span=blocks[0] if blocks else None)]
    found += [
        Evidence(source="question", text=context.question[slice(*span)], span=span) for span in spans[:MAX_EVIDENCE]
    ]
    return tuple(found)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
