"""The claims of a response checked against passages, after RefChecker (Hu et al. 2023): labels, citations, a verdict.

Tools come first: arithmetic and dates go to the tool that computes them. A claim that a tool finds wrong is a
Contradiction, and no passage is asked. One that it finds right is an Entailment, unless a passage surely contradicts
it; it cites a passage only if that says the same. Every other claim goes to the checker, passage by passage.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from haluagent.agent import HaluAgent
from haluagent.checks.claims.checkers import Checker, CheckWork
from haluagent.checks.claims.choice import ChoiceChecker
from haluagent.checks.claims.extract import extract
from haluagent.checks.claims.inputs import given_claims, given_passages
from haluagent.checks.claims.joint import JointChecker
from haluagent.checks.claims.label import label
from haluagent.checks.claims.merge import aggregate, ratios
from haluagent.checks.claims.records import Aggregator, CheckedClaim, Claim, ClaimReport, Format, Localization
from haluagent.checks.claims.retrieve import retrieve
from haluagent.detection.limits import Budget, Meter
from haluagent.errors import ConfigError, SearchError
from haluagent.protocols import ToolContext
from haluagent.sandbox.worker.work import as_work
from haluagent.text import language as languages
from haluagent.types import Language, Sentence, Usage

CheckerName = Literal["choice", "joint", "nli"]


def make_checker(checker: str | Checker, nli_model: str | None = None) -> Checker:
    """Return the checker of that name; `nli` needs a model. Raise `ConfigError` for an unknown name."""
    if not isinstance(checker, str):
        return checker
    if checker == "nli":
        if not nli_model:
            raise ConfigError("the checker nli needs a model: --nli-model PATH, or checker=NLIChecker(PATH) in Python")
        from haluagent.checks.claims.nli import NLIChecker  # an extra

        return NLIChecker(nli_model)
    if checker not in get_args(CheckerName):
        raise ConfigError(f"checker {checker!r} is not known: use {', '.join(get_args(CheckerName))}")
    return ChoiceChecker() if checker == "choice" else JointChecker()


def check_claims(
    agent: HaluAgent,
    response: str,
    reference: str | Sequence[str] | None,
    question: str | None = "",
    *,
    claims: Sequence[Claim | str | Sequence[str]] | None = None,
    format: Format = "sentence",
    checker: CheckerName | Checker = "choice",
    aggregator: Aggregator = "strict",
    language: str = "auto",
    tools: bool = True,
    localize: Localization = "overlap",
) -> ClaimReport:
    """Check the claims of a response synchronously; see `acheck_claims`."""
    return agent.wait_for(
        acheck_claims(
            agent,
            response,
            reference,
            question,
            claims=claims,
            format=format,
            checker=checker,
            aggregator=aggregator,
            language=language,
            tools=tools,
            localize=localize,
        )
    )


@as_work
async def acheck_claims(
    agent: HaluAgent,
    response: str,
    reference: str | Sequence[str] | None,
    question: str | None = "",
    *,
    claims: Sequence[Claim | str | Sequence[str]] | None = None,
    format: Format = "sentence",
    checker: CheckerName | Checker = "choice",
    aggregator: Aggregator = "strict",
    language: str = "auto",
    tools: bool = True,
    localize: Localization = "overlap",
    of_results: bool = False,
    base_rate: float | None = None,
) -> ClaimReport:
    """Check the claims of a response, given ones or those that `extract` finds, and return the report.

    `reference` is one document (accurate context), several passages (noisy context: any Entailment, else any
    Contradiction, else Neutral), or None (zero context: passages are searched for). Prompts are in the language of the
    response, whatever the language of the passages. `tools=False` leaves every claim to the checker. `localize="model"` has the
    model point at the sentence that a claim is about, where the words do not tell (see `pointing`). `of_results` says
    that the passages are the tool results of an agent's run; `base_rate`, in (0, 1), is the expected share of right
    claims, by default the agent's.

    A claim that could not be checked has no label, and then the response has no verdict: `error` says why. Raise
    `ConfigError` for an empty response or reference, an unknown option, or zero context without a search; `ModelError`
    if the claims could not be extracted or the endpoint is gone.
    """
    began = time.monotonic()
    question = question or ""
    judge = make_checker(checker)
    if aggregator not in get_args(Aggregator):
        raise ConfigError(f"aggregator {aggregator!r} is not known: use {', '.join(get_args(Aggregator))}")
    if localize not in get_args(Localization):
        raise ConfigError(f"localization {localize!r} is not known: use {', '.join(get_args(Localization))}")
    if not response.strip():
        raise ConfigError("the response is empty: give the text to check")
    passages = None if reference is None else given_passages(reference)
    if passages is None and agent.services.search is None:
        raise ConfigError(
            "there is no reference and no search: give a reference, add documents with `haluagent index add PATH`, or "
            "name a search with --search"
        )
    chosen = await asyncio.to_thread(languages.choose, language, question, response)
    usage, errors = Usage(), []
    if claims is None:
        extraction = await extract(agent, response, question, format=format, language=chosen)
        stated, usage, errors = extraction.claims, extraction.usage, [extraction.error]
    else:
        stated = await asyncio.to_thread(given_claims, claims, response)
    budget = Budget(agent.limits)
    meter = Meter(agent.model, budget)
    if stated and (judge.asks_model or localize == "model"):
        await agent.aprepare()
    context = replace(
        _context(agent, question, response, chosen, stated, meter),
        results=of_results,
        base_rate=agent.base_rate if base_rate is None else base_rate,
    )
    checked, passages, coverage = await _check(agent, context, passages, stated, judge, budget, tools, localize)
    labels = [one.label for one in checked]
    errors = [*(one.error for one in checked), *errors]
    return ClaimReport(
        question=question,
        response=response,
        language=chosen,
        format=format,
        aggregator=aggregator,
        claims=tuple(checked),
        verdict=aggregate(labels, aggregator),
        ratios=ratios([one for one in labels if one is not None]),
        passages=passages,
        coverage=coverage,
        usage=usage + meter.usage,
        seconds=time.monotonic() - began,
        error=next(filter(None, errors), None),
    )


def _context(
    agent: HaluAgent, question: str, response: str, language: Language, claims: Sequence[Claim], model: Meter
) -> ToolContext:
    """Return the context for tools and checkers, in which each claim is a sentence."""
    return ToolContext(
        question=question,
        response=response,
        language=language,
        sentences=[Sentence(index=i, text=claim.text, span=claim.span or (0, 0)) for i, claim in enumerate(claims, 1)],
        model=model,
        **vars(agent.services),
    )


async def _check(
    agent: HaluAgent,
    context: ToolContext,
    passages: tuple[str, ...] | None,
    claims: Sequence[Claim],
    judge: Checker,
    budget: Budget,
    tools: bool,
    localize: Localization,
) -> tuple[list[CheckedClaim], tuple[str, ...], float]:
    """Return the claims with their labels, the passages they were compared with, and the share of these that was
    read."""
    if not claims:
        return [], passages or (), 1.0
    if passages is not None:
        wanted = [[number for number, text in enumerate(passages) if text.strip()]] * len(claims)
    else:
        assert context.search is not None
        failed = "the search found nothing to compare with"
        try:
            passages, wanted = await retrieve(context.search, context)
        except SearchError as error:
            passages, failed = (), f"the search failed: {error}"
        if not passages:
            return [CheckedClaim(claim=claim, label=None, error=failed) for claim in claims], (), 1.0
    context = replace(context, reference="\n\n".join(passages))
    work = CheckWork(agent, context, passages, budget, asyncio.Semaphore(agent.concurrency))
    checked, coverage = await label(work, claims, wanted, judge, tools=tools, localize=localize)
    return checked, passages, coverage
