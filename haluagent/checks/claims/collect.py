"""A model's answers to the questions of a file, as RefChecker collects them: the response of each item is written anew."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from haluagent.agent import HaluAgent
from haluagent.batch.pool import Bounds
from haluagent.checks.claims.file import ClaimItem, parse
from haluagent.checks.claims.file import rows as read_rows
from haluagent.checks.claims.run import ClaimsRow, complete, digest
from haluagent.errors import ConfigError, ModelError
from haluagent.prompts import render
from haluagent.protocols import Message
from haluagent.text.language import detect
from haluagent.types import Record

# What an item says about the response that is replaced.
_OF_RESPONSE = (
    "response", "model", "truncated", "claims", "triplets", "human_claims", "human_labels", "ys", "Y", "error", "haluagent",
)  # fmt: skip


class CollectTask(Record):
    """How questions are asked: `model` is the name that the answers carry, `tokens` the longest answer. References are shown
    unless `closed_book`, and never those of RefChecker's setting `zero_context`."""

    model: str
    tokens: int = 512
    closed_book: bool = False


def questions(path: Path) -> list[ClaimItem]:
    """Return the items of a file without what was known of another response; the same question beside the same reference is
    asked once. Raise `ConfigError` that names an item without a question."""
    found: dict[str, ClaimItem] = {}
    for number, row in enumerate(read_rows(path), start=1):
        if not isinstance(row, dict) or not isinstance(row.get("question"), str) or not row["question"].strip():
            raise ConfigError(f"item {number} has no `question`: an item is {{question, reference?}}")
        kept = {name: value for name, value in row.items() if name not in _OF_RESPONSE}
        item = parse(kept | {"response": ""}, number)
        found.setdefault(repr((item.question, item.reference, kept.get("setting"))), item)
    if not found:
        raise ConfigError(f"{path} has no items: give a list of {{question, reference?}}")
    return [item.model_copy(update={"number": at}) for at, item in enumerate(found.values(), start=1)]


def run(
    items: Sequence[ClaimItem],
    out: Path,
    agents: list[HaluAgent],
    task: CollectTask,
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[ClaimsRow], None] = lambda row: None,
) -> str | None:
    """Ask the questions that are not answered yet, and write the items with the answers; resumed and ended as `complete`."""

    async def one(agent: HaluAgent, item: ClaimItem) -> ClaimsRow:
        return await answer(agent, item, task)

    return complete(
        items, out, agents, task, one, in_flight=in_flight, bounds=bounds, again=again, progress=progress
    )  # fmt: skip


async def answer(agent: HaluAgent, item: ClaimItem, task: CollectTask) -> ClaimsRow:
    """Return an item with the model's answer, sampled at temperature 0. Raise `ModelError` if it gives none."""
    said = await agent.model.generate(messages(item, task), max_tokens=task.tokens)
    if not said.text.strip():
        raise ModelError("the model wrote an empty answer")
    fields: Mapping[str, Any] = {"response": said.text.strip(), "model": task.model}
    cut = {"truncated": True} if said.truncated else {}
    return ClaimsRow(
        number=item.number, digest=digest(item, task), item={**item.fields, **fields, **cut}, usage=said.usage
    )


def messages(item: ClaimItem, task: CollectTask) -> list[Message]:
    """Return the conversation for an item: the question alone, or beside its passages."""
    hidden = task.closed_book or item.fields.get("setting") == "zero_context"
    passages = [item.reference] if isinstance(item.reference, str) else list(item.reference or ())
    if hidden or not passages:
        return [{"role": "user", "content": item.question}]
    language = detect("", item.question)
    return [
        {"role": "user", "content": render("respond", language, question=item.question, passages=passages)}
    ]  # fmt: skip


def summary(items: Sequence[dict[str, Any]]) -> str:
    """Return one line about the items of an output."""
    answered = [item for item in items if "error" not in item]
    words = sum(len(item["response"]) for item in answered)
    cut = sum("truncated" in item for item in answered)
    return f"{len(answered)} answers, {words} characters; {cut} were cut off at the limit of tokens"
