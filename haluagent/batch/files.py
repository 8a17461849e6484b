"""Check files of items: JSON Lines, CSV, Excel or Parquet, in runs that can be continued."""

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticSerializationError

from haluagent.agent import HaluAgent
from haluagent.batch.columns import fields_of, renamed
from haluagent.batch.journal import Journal, iterate
from haluagent.batch.pool import Bounds, Job, work
from haluagent.batch.results import Added, OutputFile, write_table
from haluagent.batch.tables import FileFormat, InputRow, ItemFile, format_of
from haluagent.errors import ConfigError, HaluAgentError, ModelError
from haluagent.text.failures import describe
from haluagent.text.normalize import writable
from haluagent.types import Detection, Record, Usage

AnyItem = TypeVar("AnyItem", bound=BaseModel)


def _text_or_number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("an id is a text or a whole number")
    return value


Id = Annotated[str | int, BeforeValidator(_text_or_number)]


class CarryingRow(Record):
    """A line of an output, with what stood in the input line and is not read (see `carried`).

    `line` is the number of the input line, counted from 1. `digest` identifies its content, so that a later run can tell
    whether it changed. Each kind of row has an `error` too, which says why the line could not be checked.
    """

    model_config = ConfigDict(extra="allow")

    line: int
    digest: str = ""
    id: Id | None = None

    @property
    def usage(self) -> Usage:
        """Return what the line cost."""
        raise NotImplementedError


AnyRow = TypeVar("AnyRow", bound=CarryingRow)


class BatchItem(BaseModel):
    """A line of the input: the texts to check, and an optional `id` of the user's own. It is copied to the output, as are
    the other fields of the line."""

    model_config = ConfigDict(frozen=True)

    question: str | None = None
    response: str
    reference: str | None = None
    id: Id | None = None

    @field_validator("reference")
    @classmethod
    def _blank_is_none(cls, reference: str | None) -> str | None:
        return reference if reference and reference.strip() else None


class BatchRow(CarryingRow):
    """A line of the output. If the input line could not be checked, there is an `error` and no `detection`."""

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
    return parsed(BatchItem, line, "{question?, response, reference?, id?}")


def parsed(model: type[AnyItem], line: str, form: str) -> AnyItem:
    """Parse a line as an item of `model`; error messages show the expected `form`. Raises ConfigError with one line
    that says what is wrong with it."""
    try:
        item = model.model_validate(json.loads(line, parse_constant=_no_number, parse_float=_finite))
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


ADDED: Added = {"hallucination": bool, "score": float, "contradicted": str, "unverified": str, "error": str}


def verdict(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns `ADDED` of a line of the output: the sentences that are contradicted, and those that nothing
    decided, each with its number and the reason."""
    sentences = (row.get("detection") or {}).get("sentences", ())
    return {
        **{name: row.get(name) for name in ("hallucination", "score", "error")},
        **{label: _told(sentences, label) for label in ("contradicted", "unverified")},
    }


def _told(sentences: Any, label: str) -> str:
    told = []
    for entry in sentences:
        if entry["label"] == label:
            why = entry["reason"] or "; ".join(one["text"] for one in entry["evidence"])
            # It begins with a bracket, so that a spreadsheet never takes a text for a formula.
            told.append(f"[{entry['sentence']['index']}] {entry['sentence']['text']}" + (f" ({why})" if why else ""))
    return "\n".join(told)


async def check_line(agent: HaluAgent, line: str, number: int, digest: str) -> BatchRow:
    """Return the detection of an item as a line of JSON; see `parse` and `check`."""
    return await check(agent, parse(line), number, digest)


def run(
    source: Path,
    out: Path,
    agents: list[HaluAgent],
    judge: Callable[[HaluAgent, str, int, str], Awaitable[BatchRow]] = check_line,
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[BatchRow], None] = lambda row: None,
    columns: Mapping[str, str] | None = None,
    format: FileFormat | None = None,
) -> str | None:
    """Check the rows of `source` that are not yet in `out`; see `run_lines`. `columns` are the names of question, response,
    reference or id in the file; `format` is that of files whose ending names none."""
    return run_lines(
        item_file(BatchItem, source, format, columns),
        output_file(out, format, source),
        agents,
        Kind(BatchItem, BatchRow, ADDED, verdict),
        judge,
        in_flight=in_flight,
        bounds=bounds,
        again=again,
        progress=progress,
    )


def item_file(
    item: type[BaseModel], source: Path, format: FileFormat | None = None, columns: Mapping[str, str] | None = None
) -> ItemFile:
    """Return a file of such items, checked. Raise `ConfigError` if it is not there, or has no such columns."""
    file = ItemFile(source, fields_of(item), format_of(source, format), columns or {})
    file.check()
    return file


def output_file(out: Path, format: FileFormat | None, source: Path) -> OutputFile:
    """Return a file of results for this input, checked. Raise `ConfigError` if writing it would destroy another file."""
    file = OutputFile(out, format_of(out, format))
    file.check(source)
    return file


@dataclass(frozen=True)
class Kind(Generic[AnyRow]):
    """The models of a line of the input and of the output, and the columns that a table of results gets."""

    item: type[BaseModel]
    row: type[AnyRow]
    added: Added
    verdict: Callable[[Mapping[str, Any]], dict[str, Any]]


def run_lines(
    source: ItemFile,
    out: OutputFile,
    agents: list[HaluAgent],
    kind: Kind[AnyRow],
    judge: Callable[[HaluAgent, str, int, str], Awaitable[AnyRow]],
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[AnyRow], None],
) -> str | None:
    """Judge the rows of `source` that are not yet in `out`, and append each result as it comes: in any order, with its
    line number. With `again`, lines with an error are judged again; the last row of a line counts. A table is written
    from these lines when all are done.

    `judge` receives an agent, a line as JSON, its number and its digest. A failed line has a row with `line`, `digest`,
    `id` and `error`.

    The input is read lazily. Returns None if every line is in `out`, otherwise the reason why it ended. Raises
    ConfigError if a file cannot be read or written, ModelError if no endpoint answers any more.
    """
    item, row = kind.item, kind.row

    def job(given: InputRow) -> Job[AnyRow]:
        number, line, problem = given
        digest = digest_of(line)

        async def one(agent: HaluAgent) -> AnyRow:
            if problem is not None:
                raise ConfigError(problem)
            made = await judge(agent, _utf8(line), number, digest)
            return made.model_copy(update=carried(line, item, row))

        return Job(one, partial(failed, number, line))

    def failed(number: int, line: str, error: str) -> AnyRow:
        return unchecked(number, digest_of(line), _id(line), error).model_copy(update=carried(line, item, row))

    def unchecked(number: int, digest: str, id: str | int | None, error: str) -> AnyRow:
        return row.model_validate({"line": number, "digest": digest, "id": id, "error": error})

    with Journal(out.journal) as journal:
        before = finished(out.journal)
        _same(source, out.journal, before)
        done = {row.line for row in before if not (again and row.failed)}

        def keep(found: AnyRow) -> None:
            try:
                text = found.model_dump_json()
            except ValueError as error:  # pydantic's: what was carried through is nested too deep
                found = unchecked(found.line, found.digest, found.id, f"cannot be written: {describe(error)}")
                text = found.model_dump_json()
            journal.append(text)
            done.add(found.line)
            progress(found)

        jobs = (job(given) for given in source.rows() if given.number not in done)
        ended = asyncio.run(work(jobs, agents, keep, in_flight=in_flight, bounds=bounds))
        if ended is None and (missing := sum(given.number not in done for given in source.rows())):
            raise HaluAgentError(f"{missing} lines are not in {out.journal}: the same command goes on with them")
        if ended is None and out.format != "jsonl":
            write_table(out, source, kind.added, kind.verdict)
        return ended


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


def last_rows(out: Path, parse: Callable[[dict[str, Any]], AnyRow]) -> list[AnyRow]:
    """Return the rows of an output, the last of each line, by line. `parse` makes a row of the fields. Raises what it raises."""
    rows = {row.line: row for row in map(parse, iterate(out))}
    return [rows[line] for line in sorted(rows)]


def _same(source: ItemFile, out: Path, before: list[Finished]) -> None:
    """Raise ConfigError if a line in the output differs from that line in the input now. Lines that failed are exempt,
    as they may have been corrected."""
    known = {row.line: row.digest for row in before if not row.failed}
    found = {row.number: digest_of(row.text) for row in source.rows() if row.number in known} if known else {}
    for number, digest in known.items():
        if found.get(number) != digest:
            raise ConfigError(
                f"line {number} of {source.path} is not the one that {out} holds: name another file for the results"
            )


def digest_of(line: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a line, without surrounding white space."""
    return hashlib.sha256(line.strip().encode(errors="surrogateescape")).hexdigest()[:16]


def carried(line: str, item: type[BaseModel], row: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of an input line that `item` does not read, as far as they can be written.

    Each has its own name. One that a field of `row` has is written as `input_NAME`; if the line has that name too, once
    more with `input_` before it, and so on.
    """
    read = {name for field in fields_of(item).values() for name in field.names}
    others = {name: value for name, value in _object(line).items() if name not in read}
    new = renamed(others, row.model_fields)
    return {new[name]: value for name, value in others.items()}


def _utf8(line: str) -> str:
    try:
        line.encode()
    except UnicodeEncodeError:
        raise ConfigError("the line is not UTF-8") from None
    return line


def _id(line: str) -> str | int | None:
    """Return the id of a failed line, if it has one."""
    found = _object(line).get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _object(line: str) -> dict[str, Any]:
    """Return the object of a line as far as it can be written: without numbers that JSON does not have, and without half
    characters. Empty where there is none."""
    try:
        found = writable(json.loads(line, parse_constant=lambda name: None, parse_float=_finite_or_none))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    if (number := _finite_or_none(text)) is None:
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _finite_or_none(text: str) -> float | None:
    return number if math.isfinite(number := float(text)) else None
