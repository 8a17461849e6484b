"""Stage 2: the claims of the answer, each with its groundedness in the run's own tool results.

Agent Hallucination Detection Spec, "Groundedness scoring". The answer is cut into clauses by rule. Each is judged
against the results by the scored choice of `claims.check`, whose probability of "supported" is the score. Word overlap
only chooses which windows of long results are read. Where the spec is silent:

- The user's words are no evidence: asking for a refund of 300 does not make it 300. A claim may contain a number or a
  day from the user, and a claim about what the user said or asked for is judged against the user's words.
- What follows by arithmetic is written below the results (`derived`), so that a sum or a rounded value is grounded.
- A URL, an e-mail, an identifier, a title or a day that is nowhere in the run makes a claim ungrounded, whatever the
  model thinks.
- Judgements are calibrated on equally many wrong and right claims, but an answer has fewer wrong ones: their odds are
  multiplied by those of the settings' base rate. What a rule decides stays unchanged.
- Without any tool result every claim has the score 0: this detector checks against results, not against the world.
"""

import asyncio
import re
from collections.abc import Sequence

from haluagent.agent import HaluAgent
from haluagent.checks.claims.check import acheck_claims
from haluagent.checks.claims.extract import extract
from haluagent.checks.claims.records import CheckedClaim, Claim
from haluagent.checks.runs.answers.critical import is_critical, specifics
from haluagent.checks.runs.answers.derived import Derived
from haluagent.checks.runs.answers.evidence import EvidenceText, Field, calls_of, evidence_of
from haluagent.checks.runs.records import AgentRun, EvidenceSpan, ReportClaim
from haluagent.checks.runs.settings import GateSettings
from haluagent.text.language import han_ratio
from haluagent.text.normalize import unspaced
from haluagent.text.numbers import find_numbers, matches
from haluagent.types import Language, Usage

INVENTED = 0.1  # the highest score of a claim that cites something nowhere in the run
VALUES = 2000  # of the results, that a claim's numbers are looked for in
CHINESE = 0.15  # the least share of Han characters in an answer in Chinese

_OF_USER = re.compile(
    r"^\W*(?:as\s+)?you(?:'ve|’ve|\s+have)?\s+(?:just\s+)?(?:asked|said|mentioned|want(?:ed)?|requested|told|gave|provided|specified|prefer)"
    r"|^\W*your\s+(?:question|request)\b|^\W*(?:按照?|根据)?(?:您|你)(?:刚才|之前)?(?:问|说|提到|提供|想要?|要求|希望|需要|指定|给出)",
    re.I,
)


async def score_claims(
    agent: HaluAgent, run: AgentRun, settings: GateSettings | None = None
) -> tuple[list[ReportClaim], Usage]:
    """Score the claims of the answer, and return them with the cost.

    There are none if the task turns groundedness off or the answer claims nothing. A claim that could not be judged is
    `unchecked`. Raise `ModelError` if the endpoint is gone.
    """
    settings = settings or GateSettings.for_task(run.task)
    if not settings.groundedness or not run.answer.strip():
        return [], Usage()
    user, language = user_text(run), language_of(run)
    asked = next((turn.text for turn in reversed(run.turns) if turn.role == "user"), "")
    extraction = await extract(agent, run.answer, asked, format=settings.format, language=language)
    evidence = await asyncio.to_thread(evidence_of, run)  # long results take seconds
    claims, usage = extraction.claims, extraction.usage
    of_user = [claim for claim in claims if _OF_USER.search(claim.text) and user.strip()]
    of_results = [claim for claim in claims if claim not in of_user]
    invented = await asyncio.to_thread(explain, evidence, of_results, run, user)
    scored: dict[Claim, ReportClaim] = {}
    for group, text, places in ((of_results, evidence.text, evidence), (of_user, user, None)):
        checked, spent = await _judged(agent, run, group, text, language, settings, of_results=places is not None)
        usage += spent
        scored.update((one.claim, _scored(one, places, invented.get(one.claim, False), settings)) for one in checked)
    return [scored[claim] for claim in claims], usage


def language_of(run: AgentRun) -> Language:
    """Return the language of the prompts: that of the answer, or of the user if there is none yet. Any third language is
    judged in English."""
    if run.language != "auto":
        return run.language
    return "zh" if han_ratio(run.answer or user_text(run)) >= CHINESE else "en"


def user_text(run: AgentRun) -> str:
    return "\n".join(turn.text for turn in run.turns if turn.role == "user")


def explain(evidence: EvidenceText, claims: Sequence[Claim], run: AgentRun, user: str) -> dict[Claim, bool]:
    """Write what the claims derive below the results, and return for each whether it cites something nowhere in the
    run.

    The lines are the same for all claims, so that they share the prefix.
    """
    known = unspaced("\n".join([evidence.text, run.system, user, *(call.tool for call in calls_of(run))]))
    derived = Derived(evidence, user)
    lines: dict[str, tuple[Field, ...]] = {}
    invented: dict[Claim, bool] = {}
    for claim in claims:
        notes, missing = derived.notes(claim.text)
        lines.update(notes)
        cited = [one.text for one in specifics(claim.text) if one.kind == "citation"]
        invented[claim] = bool(missing) or not all(_is_known(text, known) for text in cited)
    if lines and evidence.text:
        evidence.write("\n\n")
        for line, parts in lines.items():
            evidence.note(line, parts)
    return invented


def _is_known(citation: str, known: str) -> bool:
    """Return whether the run contains a citation. A bracketed number passes, since its target is unknown."""
    return (
        unspaced(citation.strip('《》“”"「」')) in known or re.fullmatch(r"[\[【]\d{1,3}[\]】]", citation) is not None
    )


def _values(evidence: EvidenceText, claim: str) -> list[EvidenceSpan]:
    """Return where the numbers of a claim stand in the results, those that stand in one place only: citations go by
    shared words, and a number alone may be all that a claim has from a result."""
    fields = [(value.value, field) for field in evidence.fields[:VALUES] for value in find_numbers(field.text)[:1]]
    found: list[EvidenceSpan] = []
    for number in find_numbers(claim):
        same = [field for value, field in fields if matches(value, number)]
        found += evidence.spans(same[0].span) if len(same) == 1 else ()
    return found


async def _judged(
    agent: HaluAgent,
    run: AgentRun,
    claims: Sequence[Claim],
    text: str,
    language: Language,
    settings: GateSettings,
    *,
    of_results: bool,
) -> tuple[list[CheckedClaim], Usage]:
    """Check the claims against one text, whose prefix they share. Without a text, each is surely Neutral."""
    if not claims:
        return [], Usage()
    if not text.strip():
        return [CheckedClaim(claim=claim, label="Neutral", probability=1.0) for claim in claims], Usage()
    report = await acheck_claims(
        agent, run.answer, text, claims=claims, language=language, of_results=of_results, base_rate=settings.base_rate
    )
    return list(report.claims), report.usage


def _scored(one: CheckedClaim, evidence: EvidenceText | None, invented: bool, settings: GateSettings) -> ReportClaim:
    """Return a checked claim as a claim of the report."""
    text, critical = one.claim.text, is_critical(one.claim.text)
    if one.label is None:
        return ReportClaim(text=text, score=settings.undecided, critical=critical, status="unchecked")
    probability = one.probability if one.probability is not None else 1.0
    score = probability if one.label == "Entailment" else 1 - probability
    if one.label == "Entailment" and invented:
        score = min(score, INVENTED)
    spans = [span for place in one.citations for span in (evidence.spans(place.span) if evidence else ())]
    if one.label == "Entailment" and evidence and not spans:
        spans = _values(evidence, text)
    status = "contradicted" if one.label == "Contradiction" else settings.status(score)
    return ReportClaim(
        text=text,
        evidence_spans=tuple(dict.fromkeys(spans)),
        score=min(1.0, max(0.0, score)),
        critical=critical,
        status=status,
    )
