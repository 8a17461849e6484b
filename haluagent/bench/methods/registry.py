"""The methods that judge an item, by name: the agent, the plain prompt, the judges in the style of Lynx and FActScore, and
those that need a reference."""

import time
from collections.abc import Awaitable, Callable

from haluagent.agent import HaluAgent
from haluagent.bench.datasets.items import Item
from haluagent.bench.methods import factscore, lynx, simple_prompt
from haluagent.bench.methods.grounded import GROUNDED
from haluagent.bench.methods.small_judges import SMALL_JUDGES
from haluagent.bench.peers import PEERS
from haluagent.bench.rows import ClaimRow, Row, blank
from haluagent.detection.verdict import doubt
from haluagent.errors import ModelError
from haluagent.protocols import Adapted, Model
from haluagent.types import Detection, Label, Language, Usage

Judge = Callable[[Model, str, str, str | None, Language], Awaitable[tuple[bool | None, float, Usage, str | None]]]
Method = Callable[[HaluAgent, Item, str], Awaitable[Row]]

_RISK: dict[Label, float] = {"contradicted": 1.0, "unverified": 0.5, "supported": 0.0, "no_claim": -1.0}
_LABELS: dict[bool | None, Label] = {True: "contradicted", False: "supported", None: "unverified"}


async def agent(agent: HaluAgent, item: Item, dataset: str) -> Row:
    """Judge an item by the agent's detection. Raises ModelError if the endpoint failed."""
    began = time.monotonic()
    detection = await agent.adetect(item.question, item.response, item.reference, item.language)
    if detection.stop == "error":
        raise ModelError(detection.error or "the endpoint failed")
    return blank(item, dataset, "haluagent").model_copy(
        update={
            "verdict": verdict_on(detection),
            "score": detection.score,
            "claims": tuple(claim_row(detection, item, number) for number in range(len(item.claims))),
            "usage": detection.usage,
            "seconds": time.monotonic() - began,
            "detection": detection,
        }
    )


def verdict_on(detection: Detection) -> bool | None:
    """Return the verdict that is compared with a set's label: what the reference does not say counts as a hallucination, as it
    does in `check` and `claims`."""
    if detection.hallucination is None and any(entry.reason_code for entry in detection.sentences):
        return True
    return detection.hallucination


async def untaught(own: HaluAgent, item: Item, dataset: str) -> Row:
    """Judge an item by the agent on the base model. Raises ModelError if the endpoint failed."""
    row = await agent(own.on(without_adapter(own.model)), item, dataset)
    return row.model_copy(update={"method": "untaught"})


async def by_facts(own: HaluAgent, item: Item, dataset: str) -> Row:
    """Judge an item by its atomic facts, on the base model. Raises ModelError if the endpoint failed."""
    return await factscore.judge(own.on(without_adapter(own.model)), item, dataset)


def without_adapter(model: Model) -> Model:
    """Return the base model if it is available here, otherwise the model itself."""
    return model.base_model() if isinstance(model, Adapted) else model


def _asked(name: str, judge: Judge, *, by_claim: bool = False) -> Method:
    """Return a method that asks a judge about the response and, with `by_claim`, about each of its claims as well. The
    judge runs on the base model."""

    async def method(agent: HaluAgent, item: Item, dataset: str) -> Row:
        began = time.monotonic()
        model = without_adapter(agent.model)
        verdict, score, usage, error = await judge(model, item.question, item.response, item.reference, item.language)
        claims = []
        for claim in item.claims if by_claim else ():
            wrong, risk, cost, _ = await judge(model, item.question, claim.text, item.reference, item.language)
            usage += cost
            claims.append(ClaimRow(wrong=claim.wrong, label=_LABELS[wrong], score=risk))
        update = {"verdict": verdict, "score": score, "claims": tuple(claims), "usage": usage, "error": error}
        return blank(item, dataset, name).model_copy(update=update | {"seconds": time.monotonic() - began})

    return method


# These cannot judge an item without a reference.
NEEDS_REFERENCE = {"lynx", *GROUNDED, *SMALL_JUDGES, *(peer.name for peer in PEERS.values() if peer.needs_reference)}

METHODS: dict[str, Method] = {
    "haluagent": agent,
    "untaught": untaught,
    "prompt": _asked("prompt", simple_prompt.judge, by_claim=True),
    "lynx": _asked("lynx", lynx.judge),
    "factscore": by_facts,
    **GROUNDED,
}


def claim_row(detection: Detection, item: Item, number: int) -> ClaimRow:
    """Return the agent's result for one claim, from the sentences that overlap the claim in the response: the worst of
    their labels and the highest of their probabilities of being wrong."""
    claim = item.claims[number]
    start = sum(len(before.text) + 1 for before in item.claims[:number])
    end = start + len(claim.text)
    entries = [
        entry
        for entry in detection.sentences
        if entry.sentence.index > 0 and entry.sentence.span[0] < end and entry.sentence.span[1] > start
    ]
    label: Label = max((entry.label for entry in entries), key=lambda label: _RISK[label], default="unverified")
    return ClaimRow(
        wrong=claim.wrong,
        label=label,
        score=max((0.0 if e.label == "no_claim" else doubt(e) for e in entries), default=0.5),
    )
