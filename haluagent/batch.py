"""Files of items, checked one after another: JSON lines in, JSON lines out, and a run that can be continued."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError

from .agent import HaluAgent
from .bulk import Bounds, Job, work
from .errors import ConfigError, ModelError
from .journal import Journal, iterate
from .types import Detection, Record, Usage


class BatchItem(Record):
    """A line of the input: what to check, and an `id` of the user's own, which is handed through."""

    question: str
    response: str
    reference: str | None = None
    id: str | int | None = None


class BatchRow(Record):
    """A line of the output: `line` counts the input's lines from 1. A line that could not be checked has an `error` and no
    `detection`."""

    line: int
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
    """An item of the input. Raises ConfigError with one line that says what is wrong with it."""
    try:
        item = BatchItem.model_validate(json.loads(line))
        item.model_dump_json()
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the line"
        raise ConfigError(f"{field}: {first['msg']}; an item is {{question, response, reference?, id?}}") from None
    except PydanticSerializationError:
        raise ConfigError("a text holds half a character (a lone surrogate), which cannot be written") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {error}") from None
    return item


async def check(agent: HaluAgent, item: BatchItem, line: int) -> BatchRow:
    """The detection of one item. Raises ConfigError for an item that cannot be checked, ModelError where the endpoint
    failed."""
    began = time.monotonic()
    detection = await agent.adetect(item.question, item.response, item.reference)
    if detection.stop == "error":
        raise ModelError(detection.error or "the endpoint failed")
    return BatchRow(
        line=line,
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
    """Check the lines of `source` that `out` does not hold yet, and append each result as it comes: in any order, with the
    number of its line. With `again` lines with an error are checked again; the last row of a line counts.

    The input is read as it is needed. Returns None where all is done, else what ended it. Raises ConfigError where a file
    cannot be read or written, ModelError where no endpoint answers any more.
    """
    if not source.is_file():
        raise ConfigError(f"{source} is not there: give a file of JSON lines, each {{question, response, reference?, id?}}")
    if out.exists() and out.samefile(source):
        raise ConfigError(f"{out} is the input: name another file for the results")
    with Journal(out) as journal:
        done = finished(out)
        if again:
            done = {line: failed for line, failed in done.items() if not failed}

        def keep(row: BatchRow) -> None:
            journal.append(row.model_dump_json())
            progress(row)

        jobs = (_job(number, line) for number, line in lines(source) if number not in done)
        return asyncio.run(work(jobs, agents, keep, in_flight=in_flight, bounds=bounds))


def finished(out: Path) -> dict[int, bool]:
    """The numbers of the lines that an output holds, and whether they failed. Raises ConfigError where it is no output of
    a batch."""
    done = {}
    for row in iterate(out):
        if not isinstance(row.get("line"), int):
            raise ConfigError(f"{out} is no output of `haluagent batch`: name another file")
        done[row["line"]] = row.get("error") is not None
    return done


def lines(source: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers; cut at line feeds only, since U+2028 and the like may
    stand inside JSON strings. Bytes that are no UTF-8 fail in their own line."""
    with source.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line


def _job(number: int, line: str) -> Job[BatchRow]:
    async def judge(agent: HaluAgent) -> BatchRow:
        return await check(agent, parse(_utf8(line)), number)

    return Job(judge, lambda error: BatchRow(line=number, id=_id(line), error=error))


def _utf8(line: str) -> str:
    try:
        line.encode()
    except UnicodeEncodeError:
        raise ConfigError("the line is not UTF-8") from None
    return line


def _id(line: str) -> str | int | None:
    """The id of a line that failed, where it has one that can be written."""
    try:
        found = json.loads(line).get("id")
        str(found).encode()
    except (ValueError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, str | int) else None
