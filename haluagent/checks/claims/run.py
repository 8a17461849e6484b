"""Files of responses whose claims are extracted or checked.

Items are kept as they are done, so a run can be resumed.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal, iterate
from haluagent.batch.pool import Bounds, Job, work
from haluagent.batch.tables import FileFormat
from haluagent.checks.claims import check, file
from haluagent.checks.claims.check import CheckerName
from haluagent.checks.claims.checkers import Checker
from haluagent.checks.claims.extract import extract
from haluagent.checks.claims.file import ClaimItem
from haluagent.checks.claims.records import Aggregator, Format, Localization
from haluagent.errors import ConfigError
from haluagent.types import Record, Usage

Command = Literal["extract", "check", "extract-check"]


class ClaimsTask(Record):
    """The work to do for each item. `nli_model` goes with the checker "nli"."""

    command: Command
    format: Format = "sentence"
    aggregator: Aggregator = "strict"
    checker: CheckerName = "choice"
    nli_model: str | None = None
    tools: bool = True
    language: str = "auto"
    localize: Localization = "overlap"


class ClaimsRow(Record):
    """An item that is done, as it will be written. `digest` tells whether the item and the task are still the same."""

    number: int
    digest: str
    item: dict[str, Any]
    usage: Usage = Usage()

    @property
    def failed(self) -> bool:
        return "error" in self.item


def partial(out: Path) -> Path:
    """Return the file that keeps the items of an output until all are done."""
    return out.with_name(f"{out.name}.partial.jsonl")


def finished(items: Sequence[ClaimItem], out: Path, task: Record) -> dict[int, ClaimsRow]:
    """Return the items that an earlier run has done, by number.

    Raise `ConfigError` if they are other items, or of another task. An item that failed may have been corrected since.
    """
    path = partial(out)
    rows = {row.number: row for row in map(ClaimsRow.model_validate, iterate(path))} if path.exists() else {}
    digests = {item.number: digest(item, task) for item in items}
    for row in rows.values():
        if not row.failed and digests.get(row.number) != row.digest:
            raise ConfigError(f"{path} holds another input, or other settings: remove it, or name another output")
    return rows


def run(
    items: Sequence[ClaimItem],
    out: Path,
    agents: list[HaluAgent],
    task: ClaimsTask,
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[ClaimsRow], None] = lambda row: None,
    format: FileFormat | None = None,
) -> str | None:
    """Extract or check the claims of the items that are not done yet; see `complete`."""
    checker = check.make_checker(task.checker, task.nli_model)

    async def one(agent: HaluAgent, item: ClaimItem) -> ClaimsRow:
        return await do(agent, item, task, checker)

    return complete(
        items, out, agents, task, one, in_flight=in_flight, bounds=bounds, again=again, progress=progress, format=format,
        prepare=_asks_model(task, checker),
    )  # fmt: skip


def complete(
    items: Sequence[ClaimItem],
    out: Path,
    agents: list[HaluAgent],
    task: Record,
    one: Callable[[HaluAgent, ClaimItem], Awaitable[ClaimsRow]],
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[ClaimsRow], None] = lambda row: None,
    format: FileFormat | None = None,
    prepare: bool = True,
) -> str | None:
    """Do the items that are not done yet, each with `one`, and write `out` when all are; with `again`, those that failed are
    repeated. `format` is that of a file whose ending names none. `prepare` is as in `work`.

    Return None if all are done, else the reason for stopping: `out` is not written then, and the same call resumes.
    Done items are kept beside `out` until all have succeeded. Raise `ConfigError` if a file cannot be written,
    `ModelError` if no endpoint answers any more.
    """
    with Journal(partial(out)) as journal:
        rows = {number: row for number, row in finished(items, out, task).items() if not (again and row.failed)}

        def keep(row: ClaimsRow) -> None:
            rows[row.number] = row
            journal.append(row.model_dump_json())
            progress(row)

        jobs = (_job(item, task, one) for item in items if item.number not in rows)
        ended = asyncio.run(work(jobs, agents, keep, in_flight=in_flight, bounds=bounds, prepare=prepare))
    if ended is None:
        file.write(out, [rows[item.number].item for item in items], format)
        if not any(row.failed for row in rows.values()):
            partial(out).unlink()
    return ended


async def do(agent: HaluAgent, item: ClaimItem, task: ClaimsTask, checker: Checker) -> ClaimsRow:
    """Do one item. Raise `ConfigError` for one that cannot be checked, `ModelError` if the endpoint failed."""
    known = digest(item, task)
    if task.command == "extract":
        found = await extract(agent, item.response, item.question, format=task.format, language=task.language)
        return ClaimsRow(number=item.number, digest=known, item=file.with_claims(item, found), usage=found.usage)
    if task.command == "extract-check":
        item = item.model_copy(update={"claims": None})
    elif item.claims is None:
        raise ConfigError("there are no `claims`: extract them first, or use extract-check")
    report = await check.acheck_claims(
        agent,
        item.response,
        item.reference,
        item.question,
        claims=item.claims,
        format="triplet" if item.claims and not isinstance(item.claims[0], str) else task.format,
        checker=checker,
        aggregator=task.aggregator,
        tools=task.tools,
        language=task.language,
        localize=task.localize,
    )
    return ClaimsRow(number=item.number, digest=known, item=file.with_report(item, report), usage=report.usage)


def _asks_model(task: ClaimsTask, checker: Checker) -> bool:
    extracts = task.command != "check" and task.format == "triplet"
    checks = checker.asks_model or task.localize == "model"
    return extracts or (task.command != "extract" and checks)


def _job(
    item: ClaimItem, task: Record, do_one: Callable[[HaluAgent, ClaimItem], Awaitable[ClaimsRow]]
) -> Job[ClaimsRow]:
    async def one(agent: HaluAgent) -> ClaimsRow:
        return await do_one(agent, item)

    def failed(error: str) -> ClaimsRow:
        return ClaimsRow(number=item.number, digest=digest(item, task), item=file.with_error(item, error))

    return Job(one, failed)


def digest(item: ClaimItem, task: Record) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of an item and its task."""
    whole = [item.fields, task.model_dump(), *([item.columns] if item.columns else [])]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:16]
