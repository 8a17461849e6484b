"""Wrong answers that a model makes from right ones by a subtle change of meaning (Lynx, Ravi et al. 2024, section 3.2
and appendix A.1), beside the perturbations by rule. A judge looks at both sides: a pair is kept if the right answer
passes and the changed one fails."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal, iterate
from haluagent.batch.pool import Bounds, Job, work
from haluagent.checks.faithfulness.check import acheck
from haluagent.corpora.gold_answers import GoldAnswer
from haluagent.errors import ConfigError
from haluagent.prompts import conversation
from haluagent.protocols import Closable, Model
from haluagent.text.normalize import spaced
from haluagent.text.windows import clip
from haluagent.types import Record, Usage

REPLY_TOKENS = 800
LONGER = 2.0  # times the length of the right answer, and EXTRA characters, that a changed one may have
EXTRA = 40
GRAMMAR = r"""root ::= "{\"change_made\": \"" char{1,600} "\", \"new_answer\": \"" char{1,1500} "\"}"
char ::= [^"\\\n\r\t] | "\\" ["\\n]"""


class PerturbedPair(Record):
    """A right answer and a changed one. `change` says what was changed; `dropped` why the pair is not used, None if it
    is. `right_score` and `wrong_score` are the judge's probabilities in [0, 1] that an answer is unfaithful, None if it
    was not asked."""

    gold: GoldAnswer
    model: str
    judge: str
    changed: str = ""
    change: str = ""
    dropped: str | None = None
    right_score: float | None = None
    wrong_score: float | None = None
    usage: Usage = Usage()
    error: str | None = None


async def perturb(agent: HaluAgent, gold: GoldAnswer, *, judging: Model | None = None) -> PerturbedPair:
    """Return a right answer with one that the agent's model changed, judged by the same model or by `judging`.

    Raise `ModelError` if a model fails.
    """
    model = agent.model
    room = max(model.context - REPLY_TOKENS - 400, 400)
    passage, hidden = clip(gold.passage, room * 3 // 4, model.count_tokens)
    pair = PerturbedPair(gold=gold, model=model.name, judge=(judging or model).name)
    if hidden:
        return pair.model_copy(update={"dropped": "the passage does not fit the model's context"})
    messages = conversation("perturb", gold.language, passage=passage, question=gold.question, answer=gold.answer)
    generation = await model.generate(messages, grammar=GRAMMAR, max_tokens=REPLY_TOKENS)
    reply = _json(generation.text)
    changed, change = (str(reply.get(key) or "").strip() for key in ("new_answer", "change_made"))
    pair = pair.model_copy(update={"changed": changed, "change": change, "usage": generation.usage})
    if dropped := wrong_with(gold.answer, changed, change):
        return pair.model_copy(update={"dropped": dropped})
    judge = agent if judging is None else agent.on(judging)
    right, wrong = [
        await acheck(
            judge, gold.question, answer, gold.passage, language=gold.language, on_error="raise"
        )
        for answer in (gold.answer, changed)
    ]  # fmt: skip
    dropped = None
    if right.verdict != "PASS":
        dropped = "the judge does not pass the right answer"
    elif wrong.verdict != "FAIL":
        dropped = "the judge does not fail the changed answer"
    scores = {"right_score": right.score, "wrong_score": wrong.score}
    return pair.model_copy(update={"dropped": dropped, "usage": pair.usage + right.usage + wrong.usage, **scores})


def wrong_with(answer: str, changed: str, change: str) -> str | None:
    """Return why a changed answer is no use before any judge sees it, or None."""
    if not changed or not change:
        return "the reply is not of the form that was asked for"
    if spaced(changed).rstrip(".。") == spaced(answer).rstrip(".。"):
        return "the answer was not changed"
    if len(changed) > LONGER * len(answer) + EXTRA:
        return "the changed answer is much longer"
    return None


def run(
    golds: Sequence[GoldAnswer],
    out: Path,
    agents: list[HaluAgent],
    *,
    judging: Model | None = None,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    progress: Callable[[PerturbedPair], None] = lambda pair: None,
) -> str | None:
    """Make the pairs that `out` does not have yet, and append them to it, also those that are dropped.

    Return None if all were tried, else the reason for stopping. What failed is passed to `progress` and not written, so
    that the next call makes it again. Raise `ConfigError` if `out` holds other pairs, `ModelError` if no endpoint answers
    any more.
    """
    with Journal(out) as journal:
        done = made(golds, out, agents[0].model.name, (judging or agents[0].model).name)

        def keep(pair: PerturbedPair) -> None:
            if pair.error is None:
                journal.append(json.dumps(pair.model_dump(mode="json"), ensure_ascii=False))
            progress(pair)

        jobs = (_job(gold, judging) for gold in golds if gold.id not in done)

        async def closing() -> str | None:
            try:
                return await work(jobs, agents, keep, in_flight=in_flight, bounds=bounds)
            finally:
                if isinstance(judging, Closable):
                    await judging.aclose()

        return asyncio.run(closing())


def made(golds: Sequence[GoldAnswer], out: Path, model: str, judge: str) -> dict[str, PerturbedPair]:
    """Return the pairs in `out` by the id of their answer.

    Raise `ConfigError` if a line is none, or one of another model, judge or answer.
    """
    known = {gold.id: gold for gold in golds}
    found: dict[str, PerturbedPair] = {}
    for number, row in enumerate(iterate(out) if out.exists() else (), start=1):
        try:
            pair = PerturbedPair.model_validate(row)
        except ValidationError:
            raise ConfigError(f"{out}, line {number} is no pair of answers: name another file") from None
        if (pair.model, pair.judge) != (model, judge) or known.get(pair.gold.id, pair.gold) != pair.gold:
            raise ConfigError(f"{out} holds pairs of another model, another judge or other answers: name another file")
        found[pair.gold.id] = pair
    return found


class HaluBenchRow(Record):
    """A row with the fields of HaluBench; `change_made` says what makes the answer wrong."""

    id: str
    passage: str
    question: str
    answer: str
    label: Literal["PASS", "FAIL"]
    source_ds: str
    change_made: str = ""


def halubench_rows(pair: PerturbedPair) -> tuple[HaluBenchRow, HaluBenchRow]:
    """Return the right and the changed answer of a pair as rows of HaluBench."""
    gold = pair.gold
    right = HaluBenchRow(
        id=f"{gold.id}:right", passage=gold.passage, question=gold.question, answer=gold.answer, label="PASS",
        source_ds=gold.source,
    )  # fmt: skip
    changed = {"id": f"{gold.id}:wrong", "answer": pair.changed, "label": "FAIL", "change_made": pair.change}
    return right, right.model_copy(update=changed)


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text[text.find("{") : text.rfind("}") + 1], strict=False)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _job(gold: GoldAnswer, judging: Model | None) -> Job[PerturbedPair]:
    async def one(agent: HaluAgent) -> PerturbedPair:
        return await perturb(agent, gold, judging=judging)

    return Job(one, lambda error: PerturbedPair(gold=gold, model="", judge="", error=error))
