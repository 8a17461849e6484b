"""Methods that judge an item by its reference: the modes of faithfulness, the comparison of `match`, and claims."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from haluagent.agent import HaluAgent
from haluagent.bench.datasets.items import Item
from haluagent.bench.rows import VERDICTS, Row, blank
from haluagent.checks.claims.check import acheck_claims
from haluagent.checks.claims.records import CheckedClaim
from haluagent.checks.faithfulness.check import acheck
from haluagent.checks.faithfulness.records import Mode
from haluagent.detection.limits import Budget, Meter
from haluagent.judging.comparison import compare
from haluagent.protocols import ToolContext
from haluagent.text.segment import split
from haluagent.types import Sentence

NO_REFERENCE = "this method needs a reference, and the item has none"
_Method = Callable[[HaluAgent, Item, str], Awaitable[Row]]


def faithfulness(mode: Mode) -> _Method:
    """Return a method that runs `haluagent check` in this mode; FAIL means a hallucination. The method raises
    ModelError if the endpoint failed."""

    async def method(agent: HaluAgent, item: Item, dataset: str) -> Row:
        row = blank(item, dataset, mode)
        if not item.reference:
            return row.model_copy(update={"error": NO_REFERENCE})
        began = time.monotonic()
        found = await acheck(
            agent, item.question, item.response, item.reference, mode=mode, language=item.language, on_error="raise"
        )
        verdict = None if found.verdict is None else found.verdict == "FAIL"
        update = {"verdict": verdict, "score": found.score, "usage": found.usage, "error": found.error}
        return row.model_copy(update=update | {"seconds": time.monotonic() - began})

    return method


async def match(agent: HaluAgent, item: Item, dataset: str) -> Row:
    """Judge the whole response as one claim, by the comparison that `match` and `haluagent claims` make: supported, wrong
    (contradicted, or not in the reference), or undecided. The score is the probability that the reference does not support
    it. Raises ModelError if the endpoint failed."""
    row = blank(item, dataset, "match")
    if not item.reference:
        return row.model_copy(update={"error": NO_REFERENCE})
    began = time.monotonic()
    meter = Meter(agent.model, Budget(agent.limits))
    claim = Sentence(index=0, text=item.response, span=(0, len(item.response)))
    sentences = await asyncio.to_thread(split, item.response)
    context = ToolContext(
        item.question, item.response, item.language, sentences, meter, reference=item.reference, base_rate=agent.base_rate
    )  # fmt: skip
    found = await compare(context, claim)
    verdict = True if found.not_mentioned else VERDICTS.get(found.label)
    update = {"verdict": verdict, "score": 1 - found.supported, "usage": meter.usage}
    return row.model_copy(update=update | {"seconds": time.monotonic() - began})


async def claims(agent: HaluAgent, item: Item, dataset: str) -> Row:
    """Judge an item as `haluagent claims extract-check` does with its defaults: a hallucination as soon as one claim is
    not entailed, which is how RefChecker counts. The score is that of the least entailed claim. Raises ModelError if
    the endpoint failed."""
    row = blank(item, dataset, "claims")
    if not item.reference:
        return row.model_copy(update={"error": NO_REFERENCE})
    began = time.monotonic()
    report = await acheck_claims(agent, item.response, item.reference, item.question, language=item.language)
    verdict = None if report.verdict is None else report.verdict in ("Contradiction", "Neutral")
    score = max((_risk(claim) for claim in report.claims), default=0.0)
    update = {"verdict": verdict, "score": score, "usage": report.usage, "error": report.error}
    return row.model_copy(update=update | {"seconds": time.monotonic() - began})


def _risk(claim: CheckedClaim) -> float:
    """Return the probability that a claim is not entailed; 0.5 if it could not be judged."""
    if claim.label is None or claim.probability is None:
        return 0.5
    return 1 - claim.probability if claim.label == "Entailment" else claim.probability


GROUNDED: dict[str, _Method] = {
    "fast": faithfulness("fast"),
    "judge": faithfulness("judge"),
    "match": match,
    "claims": claims,
}
