"""Stage 3: critical claims asked anew, from the same evidence and in other words (self-consistency).

Agent Hallucination Detection Spec, "Self-consistency probing". The critical part of a claim is left out, and the model
fills the gap from the tool results without having seen what was there: "The total is ____." A claim that only says that
something was done is asked as a question. An answer agrees if it gives the same number, day or words. A claim diverges
if most answers put something else of the same kind there. Answers that find nothing in the results, or name no number
where one is asked for, do not count, because small models often give them. The spec has the model asked that wrote the
answer: it is, where it is given, beside the one that checks.
"""

import asyncio
from collections.abc import Sequence

from haluagent.agent import HaluAgent
from haluagent.checks.claims.checkers import together
from haluagent.checks.runs.answers.critical import Kind, Specific, is_commitment, specifics
from haluagent.checks.runs.answers.evidence import evidence_of
from haluagent.checks.runs.answers.ground import language_of
from haluagent.checks.runs.records import AgentRun, ConsistencyProbe, ReportClaim
from haluagent.checks.runs.settings import GateSettings
from haluagent.detection.limits import Budget, BudgetExceeded, Meter
from haluagent.errors import ModelError
from haluagent.judging.agreement import agreement, answers_nothing
from haluagent.judging.judge import WINDOW_TOKENS
from haluagent.judging.passages import best_windows
from haluagent.prompts import conversation
from haluagent.protocols import Model
from haluagent.text.clocks import find_clocks
from haluagent.text.dates import find_days
from haluagent.text.normalize import letters
from haluagent.text.numbers import find_numbers, matches
from haluagent.text.windows import clip
from haluagent.types import Language

GAP = "____"
WORDINGS = 3  # paraphrases in the prompt
PARTS = 3  # parts of one claim that are asked for
ANSWER_TOKENS = 30
SAME = 0.5  # the F1 of their words from which two answers say the same
MAJORITY = 0.5
_DONE: dict[Language, tuple[str, str]] = {"en": ("yes", "no"), "zh": ("是", "否")}


def needs_probe(claim: ReportClaim, settings: GateSettings) -> bool:
    """Return whether a claim is to be asked anew: a critical one that is not surely decided."""
    return claim.critical and (settings.probe_all or settings.block <= claim.score < settings.sure)


async def probe(
    agent: HaluAgent,
    run: AgentRun,
    claims: Sequence[ReportClaim],
    settings: GateSettings | None = None,
    own: Model | None = None,
) -> list[ConsistencyProbe]:
    """Probe the critical parts of the claims that need it, at most three per claim, in order.

    The agent's model is asked, and `own`, the model that wrote the answer, if it is given: then each part has two
    probes. Raise `ModelError` if the endpoint fails or a limit of the agent is reached.
    """
    settings = settings or GateSettings.for_task(run.task)
    asked = [(claim, part) for claim in claims if needs_probe(claim, settings) for part in _parts(claim.text)]
    evidence = (await asyncio.to_thread(evidence_of, run)).text
    if not asked or not evidence.strip():
        return []
    await agent.aprepare()
    gate = asyncio.Semaphore(agent.concurrency)
    models = [agent.model] if own is None else [agent.model, own]

    async def one(claim: ReportClaim, part: Specific | None, model: Model) -> ConsistencyProbe:
        async with gate:
            try:
                meter = Meter(model, Budget(agent.limits))
                return await _ask(meter, language_of(run), evidence, claim.text, part, settings)
            except BudgetExceeded as limit:
                raise ModelError(f"the claims could not be asked anew: {limit}") from limit

    return await together([one(*item, model) for item in asked for model in models])


def diverges(probe: ConsistencyProbe) -> bool:
    """Return whether most of the answers contradict the claim."""
    stated = sum(_is_answer(answer, probe.original) for answer in probe.probe_answers)
    agreeing = round(probe.agreement * len(probe.probe_answers))
    return stated - agreeing > MAJORITY * len(probe.probe_answers)


def _is_answer(answer: str, original: str) -> bool:
    """Return whether an answer fills the gap with something of the same kind."""
    if done := next((words for words in _DONE.values() if original == words[0]), None):
        return answer.casefold().lstrip(" \"'“").startswith(done)
    if answers_nothing(answer):
        return False
    if find_days(original) or find_clocks(original):
        return bool(find_days(answer) or find_clocks(answer))
    if find_numbers(original):
        return bool(find_numbers(answer))
    if original.islower() or not original.isascii() or agrees(answer, original, "name", "en"):
        return True
    return any(map(str.isupper, answer))  # a name has a capital


def _parts(claim: str) -> list[Specific | None]:
    """Return the parts to leave out of a claim, one per question: names only if it has nothing else.

    None asks whether it was done.
    """
    found = specifics(claim)
    exact = [part for part in found if part.kind != "name"] or found
    return [*exact[:PARTS]] or ([None] if is_commitment(claim) else [])


async def _ask(
    model: Model, language: Language, text: str, claim: str, part: Specific | None, settings: GateSettings
) -> ConsistencyProbe:
    count = model.count_tokens
    gapped = claim if part is None else claim[: part.span[0]] + GAP + claim[part.span[1] :]
    most = max(1, (model.context - 800) // (2 * WINDOW_TOKENS))
    windows, _ = await asyncio.to_thread(best_windows, text, gapped, most, WINDOW_TOKENS, count)
    evidence = "\n".join(text[slice(*window)] for window in windows)
    answers = []
    for turn in range(settings.probes):
        messages = conversation(
            "probe",
            language,
            evidence=evidence,
            claim=clip(gapped, WINDOW_TOKENS // 2, count)[0],
            wording=turn % WORDINGS,
            done=part is None,
        )
        temperature = settings.temperature if turn else 0.0
        said = await model.generate(messages, stop=["\n"], max_tokens=ANSWER_TOKENS, temperature=temperature)
        answers.append(said.text.strip())
    original = _DONE[language][0] if part is None else part.text
    agreeing = sum(agrees(answer, original, part.kind if part else None, language) for answer in answers)
    return ConsistencyProbe(
        claim=claim, original=original, probe_answers=tuple(answers), agreement=agreeing / len(answers)
    )


def agrees(answer: str, original: str, kind: Kind | None, language: Language) -> bool:
    """Return whether a new answer says what the claim said; numbers may be rounded, days and times written
    otherwise."""
    if kind is None:
        return answer.casefold().lstrip(" \"'“").startswith(_DONE[language][0])
    if answers_nothing(answer):
        return False
    if kind == "date" and (days := find_days(original)):
        return any(day.is_same(other) for day in days for other in find_days(answer))
    if kind == "date" and (clocks := find_clocks(original)):
        return any(clock.is_same(other) for clock in clocks for other in find_clocks(answer))
    numbers, given = find_numbers(original), find_numbers(answer)
    if kind == "number" and numbers:
        return any(matches(new.value, old) or matches(old.value, new) for old in numbers for new in given)
    if letters(original) in letters(answer):
        return True
    return (agreement(answer, original, "") or 0.0) >= SAME if kind == "name" else False
