"""Tested answers as JUnit XML, which CI systems read.

There is no standard; the elements are those that the schema of Jenkins' xUnit plugin and GitLab's documentation have.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from haluagent.checks.faithfulness.gate import GatedAnswer, name_of

# What XML 1.0 cannot hold.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(tested: Sequence[GatedAnswer], suite: str) -> str:
    """Return the report: a test case for each answer. A `known` failure is skipped; one without a verdict is an error."""
    outcomes = [one.outcome for one in tested]
    root = ElementTree.Element(
        "testsuite",
        name=_clean(suite),
        tests=str(len(tested)),
        failures=str(outcomes.count("failed")),
        errors=str(outcomes.count("error") + outcomes.count("undecided")),
        skipped=str(outcomes.count("known")),
        time=f"{sum(_seconds(one) for one in tested):.3f}",
    )
    for one in tested:
        case = ElementTree.SubElement(
            root, "testcase", classname=_clean(suite), name=_clean(name_of(one.row)), time=f"{_seconds(one):.3f}"
        )
        if one.outcome == "passed":
            ElementTree.SubElement(case, "system-out").text = summary(one)
        else:
            tag = {"failed": "failure", "known": "skipped"}.get(one.outcome, "error")
            ElementTree.SubElement(case, tag, message=summary(one), type=one.outcome).text = _details(one)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def summary(one: GatedAnswer) -> str:
    """Return one line on an answer: its verdict and score, its earlier score, or why there is none."""
    row = one.row
    if row.error is not None or row.SCORE is None:
        why = row.error or (row.check.error if row.check else None)
        return _clean(f"not decided: {why}")
    before = "" if one.before is None else f", before {one.before:.2f}"
    return f"{row.SCORE} (score {row.score:.2f}{before})"


def _details(one: GatedAnswer) -> str:
    check = one.row.check
    if check is None:
        return ""
    lines = [f"question: {check.question}", f"answer: {check.answer}", *(f"- {reason}" for reason in check.reasoning)]
    return _clean("\n".join(lines + [f"  {item.source}: {item.text}" for item in check.evidence]))


def _seconds(one: GatedAnswer) -> float:
    return one.row.check.seconds if one.row.check else 0.0


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
