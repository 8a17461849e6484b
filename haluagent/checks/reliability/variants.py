"""Variants of tasks that cannot be solved (Relign, section 2.3): a value is missing, or no tool fits.

A model rewrites the request without a value that a tool needs (the task of appendix E), and says what it hid; whatever
it wrote is held against rules. The unmatched tools are those of another task, if the model thinks that none of them can
help. A variant that fails is kept as a row with the reason (`dropped`), so that it is not made again.
"""

import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal, iterate
from haluagent.batch.pool import Bounds, Job, work
from haluagent.checks.reliability.judge import Judge
from haluagent.checks.reliability.records import Kind, ToolTask
from haluagent.checks.reliability.schema import TERMINALS
from haluagent.checks.reliability.timing import stands_in
from haluagent.errors import ConfigError
from haluagent.prompts import conversation
from haluagent.protocols import Model
from haluagent.text.language import written_in
from haluagent.text.normalize import spaced
from haluagent.text.words import words
from haluagent.types import Record, Usage

VARIANTS: tuple[Kind, ...] = ("missing_parameter", "unmatched_tools")
KEPT = 0.6  # the least share of the other words that stay
CANDIDATES = 5  # other tasks whose tools are tried
REPLY_TOKENS = 1024
GRAMMAR = "\n".join(
    (
        r'root ::= "{\"hidden\": [" (pair (", " pair){0,4})? "], \"query\": \"" char{1,2000} "\"}"',
        r'pair ::= "{\"parameter\": " string ", \"value\": " string "}"',
        *(rule for rule in TERMINALS if rule.startswith(("string", "char"))),
    )
)
_FIGURE = re.compile(r"[^\W_]*\d[\w.:-]*")


class Original(Record):
    """A solvable task with its row."""

    row: dict[str, Any]
    task: ToolTask


class MadeVariant(Record):
    """A row of a variant, also of one that was dropped, or the error that kept it from being made."""

    row: dict[str, Any]
    usage: Usage = Usage()
    error: str | None = None


async def build(
    originals: Sequence[Original],
    out: Path,
    agents: list[HaluAgent],
    kinds: Sequence[Kind] = VARIANTS,
    *,
    seed: int = 0,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    progress: Callable[[MadeVariant], None] = lambda made: None,
) -> str | None:
    """Make the variants that `out` does not have yet, and append their rows to it as they come.

    Return None if all were tried, else the reason for stopping. What ended in an error is passed to `progress` and not
    written, so the next call makes it again. Raise `ConfigError` if `out` holds rows of other tasks, `ModelError` if no
    endpoint answers any more.
    """
    with Journal(out) as journal:
        done = made(originals, out)

        def keep(variant: MadeVariant) -> None:
            if variant.error is None:
                journal.append(json.dumps(variant.row, ensure_ascii=False))
            progress(variant)

        jobs = (
            _job(original, kind, originals, seed)
            for original in originals
            for kind in kinds
            if (kind, original.row["query_id"]) not in done
        )
        return await work(jobs, agents, keep, in_flight=in_flight, bounds=bounds)


def made(originals: Sequence[Original], out: Path) -> dict[tuple[str, Any], dict[str, Any]]:
    """Return the rows that `out` has of these tasks, by kind and task. Raise `ConfigError` if one is of another request."""
    queries = {original.row["query_id"]: original.task.query for original in originals}
    found = {}
    for row in iterate(out) if out.exists() else ():
        number = row.get("query_id")
        if row.get("kind") not in VARIANTS or "of" not in row or queries.get(number, row["of"]) != row["of"]:
            raise ConfigError(f"{out} holds other rows than variants of these tasks: name another file")
        found[row["kind"], number] = row
    return found


async def missing_parameter(model: Model, original: Original) -> MadeVariant:
    """Return the task with a request that lacks a value. Raise `ModelError`."""
    task = original.task
    tools = [
        {"name": tool.name, "description": tool.description, "required": required(tool.parameters)}
        for tool in task.tools
    ]
    messages = conversation("reliability_hide", written_in(task.query), tools=tools, query=task.query)
    generation = await model.generate(messages, grammar=GRAMMAR, max_tokens=REPLY_TOKENS)
    found = _json(generation.text)
    query, hidden = found.get("query"), found.get("hidden")
    row: dict[str, Any] = {"query": query if isinstance(query, str) else task.query, "hidden": hidden}
    if dropped := wrong_with(task, query, hidden):
        row["dropped"] = dropped
    return MadeVariant(row=_row(original, "missing_parameter", model, row), usage=generation.usage)


async def unmatched_tools(model: Model, original: Original, others: Sequence[Original], seed: int) -> MadeVariant:
    """Return the task with the tools of another one, if the model thinks that none of them can help. Raise `ModelError`."""
    judge = Judge(model, written_in(original.task.query))
    own = {(api["tool_name"], api["api_name"]) for api in original.row["api_list"]}
    strange = [
        other for other in others if not own & {(api["tool_name"], api["api_name"]) for api in other.row["api_list"]}
    ]
    chance = random.Random(f"{seed}/{original.row['query_id']}")
    for other in chance.sample(strange, min(CANDIDATES, len(strange))):
        judged = [await judge.relevant(original.task.query, tool) for tool in other.task.tools]
        if judged and all(one.verdict == "no" for one in judged):
            row = {"api_list": other.row["api_list"], "tools_of": other.row["query_id"]}
            return MadeVariant(row=_row(original, "unmatched_tools", model, row), usage=judge.usage)
    row = {"dropped": "no other task has tools that are all of no use here"}
    return MadeVariant(row=_row(original, "unmatched_tools", model, row), usage=judge.usage)


def wrong_with(task: ToolTask, query: object, hidden: object) -> str | None:
    """Return why a rewritten request is no variant with a missing value, or None if it is one."""
    if not isinstance(query, str) or not query.strip() or not isinstance(hidden, list):
        return "the reply is not of the form that was asked for"
    pairs = [one for one in hidden if isinstance(one, dict)]
    values = [str(one.get("value", "")).strip() for one in pairs]
    needed = {name for tool in task.tools for name in required(tool.parameters)}
    before, after = spaced(task.query), spaced(query)
    if not pairs or before == after:
        return "nothing was hidden"
    if not any(one.get("parameter") in needed for one in pairs):
        return "no hidden value is one of a required parameter"
    if not all(value and stands_in(value, before) for value in values):
        return "a hidden value is not in the request"
    if any(stands_in(value, after) for value in values):
        return "a hidden value is still in the request"
    if set(_FIGURE.findall(after)) - set(_FIGURE.findall(before)):
        return "the new request has a figure that was not there"
    others = words(task.query) - words(" ".join(values))
    if len(words(query) & others) < KEPT * len(others):
        return "too much was changed"
    return None


def required(schema: dict[str, Any]) -> list[str]:
    """Return the required parameters that have no default."""
    properties = schema.get("properties", {})
    return [name for name in schema.get("required", ()) if "default" not in properties.get(name, {})]


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text[text.find("{") : text.rfind("}") + 1], strict=False)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _row(original: Original, kind: Kind, model: Model, changed: dict[str, Any]) -> dict[str, Any]:
    return original.row | {"kind": kind, "of": original.task.query, "made_by": model.name} | changed


def _job(original: Original, kind: Kind, originals: Sequence[Original], seed: int) -> Job[MadeVariant]:
    async def one(agent: HaluAgent) -> MadeVariant:
        if kind == "missing_parameter":
            return await missing_parameter(agent.model, original)
        return await unmatched_tools(agent.model, original, originals, seed)

    return Job(one, lambda error: MadeVariant(row={"kind": kind, "query_id": original.row["query_id"]}, error=error))
