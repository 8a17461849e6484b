"""Check files of items: JSON Lines in, JSON Lines out, in runs that can be continued."""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import PydanticSerializationError

from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal, iterate
from haluagent.batch.pool import Bounds, Job, WithUsage, work
from haluagent.errors import ConfigError, ModelError
from haluagent.types import Detection, Record, Usage

AnyItem = TypeVar("AnyItem", bound=BaseModel)


class ResultLine(WithUsage, Protocol):
    """A line of an output, whatever it is about."""

    def model_dump_json(self) -> str: ...


AnyRow = TypeVar("AnyRow", bound=ResultLine)


class BatchItem(Record):
    """A line of the input: the texts to check, and an optional `id` of the user's own, which is copied to the
    output."""

    question: str
    response: str
    reference: str | None = None
    id: str | int | None = None


class BatchRow(Record):
    """A line of the output. `line` is the number of the input line, counted from 1. If the line could not be checked,
    there is an `error` and no `detection`. `digest` identifies the content of the input line, so that a later run can
    tell whether it changed."""

    line: int
    digest: str = ""
    id: str | int | None = None
    hallucination: bool | None = None
    score: float | None = Field(default=None, ge=0, le=1)
    seconds: float = 0.0
    error: str | None = None
    detection: Detection | None = None

    @property
    def usage(self) -> Usage:
        return self.detection.usage if self.detection else Usage()


def parse(line: str) -> BatchItem:
    """Parse an item of the input. Raises ConfigError with one line that says what is wrong with it."""
    return parsed(BatchItem, line, "{question, response, reference?, id?}")


def parsed(model: type[AnyItem], line: str, form: str) -> AnyItem:
    """Parse a line as an item of `model`; error messages show the expected `form`. Raises ConfigError with one line
    that says what is wrong with it."""
    try:
        item = model.model_validate(json.loads(line))
        item.model_dump_json()
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the line"
        raise ConfigError(f"{field}: {first['msg']}; an item is {form}") from None
    except PydanticSerializationError:
        raise ConfigError("a text holds half a character (a lone surrogate), which cannot be written") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {error}") from None
    return item


async def check(agent: HaluAgent, item: BatchItem, line: int, digest: str = "") -> BatchRow:
    """Return the detection of one item. Raises ConfigError for an item that cannot be checked, ModelError if the
    endpoint failed."""
    began = time.monotonic()
    detection = await agent.adetect(item.question, item.response, item.reference)
    if detection.stop == "error":
        raise ModelError(detection.error or "the endpoint failed")
    return BatchRow(
        line=line,
        digest=digest,
        id=item.id,
        hallucination=detection.hallucination,
        score=detection.score,
        seconds=time.monotonic() - began,
        detection=detection,
    )


def run(
    source: Path,
    out: Path,
    agents: list[HaluAgent],
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[BatchRow], None] = lambda row: None,
) -> str | None:
    """Check the lines of `source` that are not yet in `out`; see `run_lines`."""

    async def judge(agent: HaluAgent, line: str, number: int, digest: str) -> BatchRow:
        return await check(agent, parse(line), number, digest)

    return run_lines(
        source, out, agents, BatchRow, judge, in_flight=in_flight, bounds=bounds, again=again, progress=progress
    )


def run_lines(
    source: Path,
    out: Path,
    agents: list[HaluAgent],
    row: Callable[..., AnyRow],
    judge: Callable[[HaluAgent, str, int, str], Awaitable[AnyRow]],
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[AnyRow], None],
) -> str | None:
    """Judge the lines of `source` that are not yet in `out`, and append each row as it comes: in any order, with its
    line number. With `again`, lines with an error are judged again; the last row of a line counts.

    `judge` receives an agent, a line, its number and its digest. `row` makes the row of a failed line from `line`,
    `digest`, `id` and `error`.

    The input is read lazily. Returns None if everything is done, otherwise the reason why it ended. Raises ConfigError
    if a file cannot be read or written, ModelError if no endpoint answers any more.
    """
    wanted = lines(source)
    if out.exists() and out.samefile(source):
        raise ConfigError(f"{out} is the input: name another file for the results")

    def job(number: int, line: str) -> Job[AnyRow]:
        digest = digest_of(line)

        async def one(agent: HaluAgent) -> AnyRow:
            return await judge(agent, _utf8(line), number, digest)

        return Job(one, lambda error: row(line=number, digest=digest, id=_id(line), error=error))

    with Journal(out) as journal:
        before = finished(out)
        _same(source, out, before)
        done = {row.line for row in before if not (again and row.failed)}

        def keep(row: AnyRow) -> None:
            journal.append(row.model_dump_json())
            progress(row)

        jobs = (job(number, line) for number, line in wanted if number not in done)
        return asyncio.run(work(jobs, agents, keep, in_flight=in_flight, bounds=bounds))


class Finished(NamedTuple):
    """A line that an output already holds."""

    line: int
    digest: str
    failed: bool


def finished(out: Path) -> list[Finished]:
    """Return the lines that an output holds. Raises ConfigError if it is not the output of a batch."""
    done = {}
    for row in iterate(out):
        if not isinstance(row.get("line"), int):
            raise ConfigError(f"{out} does not hold the results of this command: name another file")
        done[row["line"]] = Finished(row["line"], str(row.get("digest", "")), row.get("error") is not None)
    return list(done.values())


def _same(source: Path, out: Path, before: list[Finished]) -> None:
    """Raise ConfigError if a line in the output differs from that line in the input now. Lines that failed are exempt,
    as they may have been corrected."""
    known = {row.line: row.digest for row in before if not row.failed}
    found = {number: digest_of(line) for number, line in lines(source) if number in known} if known else {}
    for number, digest in known.items():
        if found.get(number) != digest:
            raise ConfigError(
                f"line {number} of {source} is not the one that {out} holds: name another file for the results"
            )


def digest_of(line: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a line, without surrounding white space."""
    return hashlib.sha256(line.strip().encode(errors="surrogateescape")).hexdigest()[:16]


def lines(source: Path) -> Iterator[tuple[int, str]]:
    """Return an iterator over the non-blank lines of a file with their numbers. Lines are split at line feeds only,
    since U+2028 and the like may occur inside JSON strings. A line that is not UTF-8 fails on its own. Raises
    ConfigError at once if there is no such file."""
    if not source.is_file():
        raise ConfigError(f"{source} is no file: give one of JSON lines, each {{question, response, reference?, id?}}")
    return _lines(source)


def _lines(source: Path) -> Iterator[tuple[int, str]]:
    with source.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line


def _utf8(line: str) -> str:
    try:
        line.encode()
    except UnicodeEncodeError:
        raise ConfigError("the line is not UTF-8") from None
    return line


def _id(line: str) -> str | int | None:
    """Return the id of a failed line, if it has one that can be written."""
    try:
        found = json.loads(line).get("id")
        str(found).encode()
    except (ValueError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, str | int) else None
