"""Deciding whether an answer is faithful to its documents: PASS or FAIL, with reasons (Lynx, Ravi et al. 2024)."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from haluagent.agent import HaluAgent
from haluagent.checks.faithfulness.abstain import NO_CLAIM, claims_nothing
from haluagent.checks.faithfulness.by_agent import by_agent
from haluagent.checks.faithfulness.case import Case, FaithfulnessFinding, undecided
from haluagent.checks.faithfulness.fast import by_choice
from haluagent.checks.faithfulness.judge import by_reasons, by_template
from haluagent.checks.faithfulness.records import Faithfulness, Mode
from haluagent.checks.faithfulness.template import Template
from haluagent.detection.limits import Budget, BudgetExceeded, Meter
from haluagent.errors import ConfigError, ModelError
from haluagent.sandbox.worker.work import as_work
from haluagent.text import language as languages
from haluagent.text.messages import message
from haluagent.text.refusals import refusal
from haluagent.types import Span

GAP = "\n\n"  # between documents


def text_of(documents: str | Sequence[str]) -> str:
    """Return the documents as the one text that spans of evidence refer to; several are joined with a blank line."""
    return documents if isinstance(documents, str) else GAP.join(documents)


def place_of(documents: Sequence[str], span: Span) -> tuple[int, Span]:
    """Return the number, from 0, of the document that contains a span of `text_of(documents)`, and the span in it."""
    start = 0
    for number, document in enumerate(documents):
        if span[0] < start + len(document) or number == len(documents) - 1:
            return number, (span[0] - start, span[1] - start)
        start += len(document) + len(GAP)
    raise IndexError("there is no document")


@as_work
async def acheck(
    agent: HaluAgent,
    question: str | None,
    answer: str,
    documents: str | Sequence[str],
    *,
    mode: Mode = "fast",
    threshold: float = 0.5,
    prompt_file: Path | None = None,
    language: Literal["auto", "en", "zh"] = "auto",
    on_error: Literal["report", "raise"] = "report",
) -> Faithfulness:
    """Check whether an answer says nothing beyond the documents and nothing against them. The question may be empty or None.

    `mode` is "fast" (a scored choice), "judge" (reasons, then the score) or "agent" (claim by claim, with tools). The
    verdict is FAIL if the score is above `threshold`. `prompt_file` is, for the mode "judge", the prompt that a model's
    publisher prescribes; see `Template`.

    An answer that claims nothing has no verdict; one that only says that it does not know is a PASS. If the model fails
    or a limit of the agent is reached, the verdict is None, with `error`; with `on_error="raise"` a failed model raises
    `ModelError`. Raise `ConfigError` for an empty answer, blank documents, or an unknown option.
    """
    began = time.monotonic()
    question = question or ""
    template = _template(mode, threshold, prompt_file)
    document = text_of(documents)
    if not answer.strip():
        raise ConfigError("the answer is empty: there is nothing to check without it")
    if not document.strip():
        raise ConfigError("the documents are empty: give a text that the answer should be faithful to")
    chosen = await asyncio.to_thread(languages.choose, language, question, answer)
    meter = Meter(agent.model, Budget(agent.limits))
    try:
        case = Case(question, answer, document, chosen, threshold, meter, agent.base_rate)
        finding = await _find(agent, case, mode, template)
    except BudgetExceeded as limit:
        finding = undecided(str(limit))
    except ModelError as error:
        if on_error == "raise":
            raise
        finding = undecided(str(error))
    return Faithfulness(
        question=question,
        answer=answer,
        language=chosen,
        mode=mode,
        verdict=finding.verdict,
        score=finding.score,
        reasoning=finding.reasoning,
        evidence=finding.evidence,
        coverage=finding.coverage,
        usage=meter.usage + finding.usage,
        seconds=time.monotonic() - began,
        error=finding.error,
    )


def check(
    agent: HaluAgent,
    question: str | None,
    answer: str,
    documents: str | Sequence[str],
    *,
    mode: Mode = "fast",
    threshold: float = 0.5,
    prompt_file: Path | None = None,
    language: Literal["auto", "en", "zh"] = "auto",
    on_error: Literal["report", "raise"] = "report",
) -> Faithfulness:
    """Check an answer synchronously; see `acheck`."""
    return agent.wait_for(
        acheck(
            agent, question, answer, documents, mode=mode, threshold=threshold, prompt_file=prompt_file, language=language,
            on_error=on_error,
        )
    )  # fmt: skip


def _template(mode: str, threshold: float, prompt_file: Path | None) -> Template | None:
    if mode not in get_args(Mode):
        raise ConfigError(f"mode {mode!r} is not known: use {', '.join(get_args(Mode))}")
    if not 0 <= threshold <= 1:
        raise ConfigError(f"threshold {threshold:g}: give a probability from 0 to 1")
    if prompt_file is None:
        return None
    if mode != "judge":
        raise ConfigError("a prompt file is for the mode judge: give --mode judge, or leave the file out")
    return Template(prompt_file)


async def _find(agent: HaluAgent, case: Case, mode: Mode, template: Template | None) -> FaithfulnessFinding:
    # In threads: long texts take seconds.
    if await asyncio.to_thread(claims_nothing, case.question, case.answer):
        return undecided(NO_CLAIM)
    if await asyncio.to_thread(refusal, case.answer, case.question):
        return FaithfulnessFinding(0.0, "PASS", (message("faithfulness.abstains", case.language),))
    await agent.aprepare()
    if mode == "agent":
        return await by_agent(agent, case)
    if template is not None:
        return await by_template(case, template)
    return await by_choice(case) if mode == "fast" else await by_reasons(case)
