"""The endpoints that read a file: a document as text, the rows of a table, the run of an agent. None of them asks the model."""

import asyncio
import json
import tempfile
from pathlib import Path, PurePath
from typing import Any, get_args

from fastapi import APIRouter, Request, Response

from haluagent.checks.runs import RunSource
from haluagent.checks.runs.forms import reading
from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ToolError
from haluagent.sandbox.worker.limited import LimitedWorker
from haluagent.server.bodies import bounded, examine
from haluagent.server.endpoint import receive_body
from haluagent.server.openapi import errors
from haluagent.server.problems import HttpProblem, problem_of
from haluagent.server.queue import RequestQueue
from haluagent.types import Record

LARGEST = 16_000_000  # bytes of a file
WAITING = 6  # files that wait to be read; each is in memory
SECONDS = 30.0

# A file is untrusted and may attack the parser, so it is parsed in a process with limits.
_worker = LimitedWorker("haluagent.server.extract:read", seconds=SECONDS, memory=2**31)

_FILE: Any = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
router = APIRouter(prefix="/v1/read", responses=errors("unauthorized", "invalid", "too_large", "busy"))


def make_queue() -> RequestQueue:
    """Return the queue of the files of a server, which is not that of the requests that need the model."""
    return RequestQueue(2, WAITING)


class DocumentText(Record):
    """The text of a file. `left_out` names the parts that could not be read, each with the reason."""

    name: str
    text: str
    left_out: tuple[str, ...] = ()


@router.post("/document", summary="The text of a document", openapi_extra=_FILE)
async def read_document(request: Request, name: str = "") -> DocumentText:
    """Read a file of text, Markdown, HTML, PDF or Word; `name` is the name of the file, whose ending says which it is."""
    found = await _extracted(request, name, "document")
    examine(found, request.app.state.scheduler.settings.text)
    return DocumentText(name=_named(name), text=found["text"], left_out=tuple(found["left_out"]))


class TableRow(Record):
    """A row of a table, its values as texts. `number` counts from 1; `problem` says why it cannot be checked."""

    number: int
    values: dict[str, str]
    problem: str | None = None


class Table(Record):
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


@router.post("/table", summary="The rows of a table", openapi_extra=_FILE, response_model=Table)
async def read_table(request: Request, name: str = "") -> Response:
    """Read a file of CSV, Excel or JSON Lines; `name` is the name of the file, whose ending says which it is."""
    found = await _extracted(request, name, "table")
    # A large table is validated and written in a thread: the other requests go on meanwhile.
    written = await asyncio.to_thread(lambda: Table.model_validate(found).model_dump_json())
    return Response(written, media_type="application/json")


@router.post("/run", summary="The run of an agent in the form of another library", openapi_extra=_FILE)
async def read_run(request: Request, source: str = "haluagent") -> AgentRun:
    """Read the JSON of a recorded run in the form `source`, and return it as `/v1/runs` takes it."""
    try:
        settings = request.app.state.scheduler.settings
        body = await receive_body(request, settings.body)
        return await asyncio.to_thread(_run, body, source, settings.text)
    except Exception as error:
        raise problem_of(error) from None


def _run(body: bytes, source: str, text: int) -> AgentRun:
    if source not in get_args(RunSource):
        raise HttpProblem("invalid", f"`source` should be one of {', '.join(get_args(RunSource))}")
    try:
        written = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HttpProblem("invalid", "the run is not UTF-8 text") from None
    try:
        given = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise HttpProblem("invalid", f"the run is not JSON: {str(error) or 'nested too deep'}") from None
    examine({"run": given}, text)
    run = reading.parse(given, "the run") if source == "haluagent" else reading.convert(given, source)
    return bounded(run)


async def _extracted(request: Request, name: str, kind: str) -> Any:
    """Return what the process with limits finds in the file that is sent. Raises HttpProblem."""
    place = request.app.state.reading.join()
    try:
        data = await receive_body(request, LARGEST)
        await place.turn()
        found = await asyncio.to_thread(_read, data, name, kind)
    except ToolError:
        problem = f"{_named(name)} takes more than {SECONDS:g} s or too much memory to read: split it"
        raise HttpProblem("invalid", problem) from None
    finally:
        place.leave()
    if "problem" in found:
        raise HttpProblem("invalid", f"{_named(name)} cannot be read: {found['problem']}")
    return found


def _read(data: bytes, name: str, kind: str) -> Any:
    """Have a file read by the worker. The folder is this process's, so that it goes even if the worker is killed."""
    ending = Path(_named(name)).suffix.lower()[:10]  # all that counts of a name, which may be anything
    with tempfile.TemporaryDirectory(prefix="haluagent-") as folder:
        path = Path(folder, "file" + (ending if ending[1:].isalnum() and ending.isascii() else ""))
        path.write_bytes(data)
        return _worker.call({"path": str(path), "kind": kind})


def _named(name: str) -> str:
    return PurePath(name.replace("\\", "/")).name[:200] or "the file"
