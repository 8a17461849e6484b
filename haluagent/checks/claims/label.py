"""Labelling claims: by tools first, then by merging a checker's findings in the passages."""

import asyncio
from collections.abc import Sequence

from haluagent.checks.claims.by_tools import decide
from haluagent.checks.claims.checkers import Checker, CheckWork, ClaimFinding, together
from haluagent.checks.claims.merge import merge
from haluagent.checks.claims.pointing import relocate
from haluagent.checks.claims.records import CheckedClaim, Claim, Localization
from haluagent.detection.pipeline import share
from haluagent.detection.reflection import SURE
from haluagent.types import Span, ToolResult


async def label(
    work: CheckWork,
    claims: Sequence[Claim],
    wanted: Sequence[Sequence[int]],
    judge: Checker,
    *,
    tools: bool,
    localize: Localization = "overlap",
) -> tuple[list[CheckedClaim], float]:
    """Return the claims with their labels, and the share in [0, 1] of the passages' characters that was read.

    `wanted` holds the numbers of the passages to read for each claim; `localize` is as in `acheck_claims`. Raise as `Checker.check` does.
    """
    sentences = work.context.sentences
    decided = {
        at: found
        for at, claim in enumerate(sentences if tools else ())
        if (found := await decide(work.agent.registry, work.context, claim)) is not None
    }
    open_ones = [at for at in range(len(claims)) if at not in decided or decided[at][1].label == "supported"]
    gate = asyncio.Semaphore(work.agent.concurrency)  # few passages at a time, because their prefixes share a cache

    async def read(number: int) -> dict[int, ClaimFinding]:
        about = [at for at in open_ones if number in wanted[at]]
        async with gate:
            said = await judge.check(work, number, [sentences[at] for at in about])
        return dict(zip(about, said, strict=True))

    said = await together([read(number) for number in range(len(work.passages))])
    findings = [[of[at] for of in said if at in of] for at in range(len(claims))]
    checked = [_labelled(claim, findings[at], judge.name, decided.get(at)) for at, claim in enumerate(claims)]
    if localize == "model":
        checked = await relocate(work, checked, findings)
    spans = [[span for found in of.values() for span in found.read] for of in said]
    return checked, _coverage(work.passages, spans) if open_ones else 1.0


def _labelled(
    claim: Claim, findings: Sequence[ClaimFinding], checker: str, decided: tuple[str, ToolResult] | None
) -> CheckedClaim:
    """Return a claim with its label from a tool and the passages.

    A claim that a tool finds wrong is a Contradiction. One that it finds right must also not contradict a passage, as
    when the agent reflects: a sum may be right and not be the one that the passage reports. Only a checker that gives
    probabilities can be that sure.
    """
    if decided is None:
        return merge(claim, findings, checker)
    tool, result = decided
    if result.label == "contradicted":
        return CheckedClaim(claim=claim, label="Contradiction", probability=result.confidence, checker=tool)
    said = merge(claim, findings, checker)
    if said.label is None or (said.label == "Contradiction" and (said.probability or 0.0) > SURE):
        return said
    citations = said.citations if said.label == "Entailment" else ()
    return CheckedClaim(
        claim=claim, label="Entailment", probability=result.confidence, citations=citations, checker=tool
    )


def _coverage(passages: Sequence[str], read: Sequence[Sequence[Span]]) -> float:
    total = sum(map(len, passages))
    return min(
        1.0, sum(share(spans, len(text)) * len(text) for text, spans in zip(passages, read, strict=True)) / total
    )
