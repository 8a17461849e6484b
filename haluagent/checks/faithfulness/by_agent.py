"""The mode `agent`: the answer claim by claim, with the tools, so that calculations, counts and dates are computed."""

import copy
from dataclasses import replace

from haluagent.agent import HaluAgent
from haluagent.checks.faithfulness.abstain import NO_CLAIM
from haluagent.checks.faithfulness.case import Case, FaithfulnessFinding, undecided
from haluagent.errors import ModelError
from haluagent.text.messages import message
from haluagent.tooling.registry import Registry
from haluagent.types import Detection, MemoryEntry

UNSAID = 0.6  # the lowest score of an answer with a sentence that nothing decides


async def by_agent(agent: HaluAgent, case: Case) -> FaithfulnessFinding:
    """Judge the answer claim by claim: FAIL if a sentence is contradicted, PASS if every claim is supported.

    Claims that could not be checked are new beyond the documents: the score is then at least `UNSAID`, and the
    threshold decides. Undecided if a limit ended the check, or nothing is claimed. Raise `ModelError`.
    """
    detection = await within(agent).adetect(case.question, case.answer, case.document, case.language)
    if detection.stop == "error":
        raise ModelError(detection.error or "the endpoint failed")
    claims = [entry for entry in detection.sentences if entry.label != "no_claim"]
    missing = [entry for entry in claims if entry.label == "unverified"]
    if not claims:
        return undecided(NO_CLAIM, detection.usage)
    if detection.hallucination is None and detection.stop == "budget":
        return undecided(missing[0].reason, detection.usage)
    notes = [_bullet(entry, detection) for entry in detection.sentences]
    score = detection.score
    if detection.hallucination is None:
        notes.append(message("faithfulness.unchecked", case.language, n=len(missing), all=len(claims)))
        score = max(score, UNSAID)
        verdict = case.verdict(score)
    else:
        verdict = "FAIL" if detection.hallucination else "PASS"
    places = [item for entry in claims for item in entry.evidence if item.source == "reference" and item.span]
    coverage = detection.coverage.reference or 0.0
    return FaithfulnessFinding(score, verdict, tuple(notes), tuple(places), coverage, usage=detection.usage)


def within(agent: HaluAgent) -> HaluAgent:
    """Return the same agent, limited to the documents: no search, no third-party tool that looks elsewhere, no closed
    book.

    The built-in search tool stays in the prompt, for the engine's cache, but is not offered.
    """
    own = copy.copy(agent)
    own.services = replace(agent.services, search=None)
    own.registry = Registry(tool for tool in agent.registry if not tool.external or tool.name == "web_search")
    own.closed_book = False
    return own


def _bullet(entry: MemoryEntry, detection: Detection) -> str:
    language = detection.language
    said = [
        step.result.observation for step in detection.steps if step.sentence == entry.sentence.index and step.result
    ]
    reason = entry.reason or (said[-1] if said else "")
    line = message(
        "faithfulness.sentence",
        language,
        label=message(f"report.label.{entry.outcome}", language),
        text=" ".join(entry.sentence.text.split()),
    )
    return line + (message("faithfulness.why", language, reason=reason) if reason else "")
