"""A POST endpoint, from its request to its answer."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from starlette.types import Receive, Scope, Send

from haluagent.errors import ConfigError
from haluagent.events import Event
from haluagent.server.bodies import read
from haluagent.server.jobs import JOBS, Work
from haluagent.server.problems import Problem, unexpected
from haluagent.server.settings import ServerSettings
from haluagent.server.stream import JsonReply, Reply, StreamReply, cut_short, failed, wanted
from haluagent.server.watch import Ending, Job, Outcome, Result, Watch, Watcher
from haluagent.server.work import Admitted, Gone, Workshop

LARGE = 20_000  # bytes, from which a body is read in a thread: it takes milliseconds
ARRIVAL = 30.0  # seconds that a body may take to arrive
DRAINED = 20_000_000  # bytes that are read of a body that is too long, so that its sender gets to read why

# Bodies have threads of their own: however many are hard to read, detections keep those that they work in.
_readers = ThreadPoolExecutor(2, thread_name_prefix="haluagent-body")

logger = logging.getLogger(__name__)


class Endpoint:
    """One of the jobs over HTTP (an ASGI application)."""

    def __init__(self, job: Job, workshop: Workshop, watchers: Sequence[Watcher]) -> None:
        self._job, self._workshop, self._watchers = job, workshop, watchers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        watch = _Watches(self._watchers, self._job, headers)
        streams = wanted(headers.get("accept", "")) == "stream"
        reply: Reply = StreamReply(receive, send) if streams else JsonReply(receive, send)
        admitted: Admitted | None = None
        ending: Ending = "internal"
        result: Result | None = None
        try:
            work = await self._work(headers, receive, scope.get("state", {}).get("request_id", ""))
            admitted = self._workshop.admit()
            await reply.begin(admitted.place.before if admitted.place.waits else None)

            def tell(event: Event) -> None:
                watch.event(event)
                reply.event(event)

            result = await admitted.run(work, watch, tell, reply.gone())
            await reply.answer(result, work.text(result))
            ending = "model" if failed(result) else "deadline" if admitted.late and cut_short(result) else "done"
        except Problem as problem:
            ending = problem.ending
            await reply.problem(problem)
        except Gone:
            ending = "gone"
        except asyncio.CancelledError:
            ending = "stopping"
            raise
        except Exception as error:
            await reply.problem(unexpected(error))
        finally:
            if admitted is not None:
                admitted.end()
            waited, worked = (admitted.waited, admitted.worked) if admitted else (0.0, 0.0)
            watch.ended(Outcome(job=self._job, ending=ending, waited=waited, worked=worked, result=result))
            await reply.close()

    async def _work(self, headers: dict[str, str], receive: Receive, request_id: str) -> Work:
        """What the request asks for. Raises Problem."""
        if headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise Problem("media_type", "send the body as JSON, with Content-Type: application/json")
        settings = self._workshop.settings
        body = await _body(receive, headers.get("content-length", ""), settings.body)
        if len(body) > LARGE:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(_readers, self._understood, body, settings, request_id)
        return self._understood(body, settings, request_id)

    def _understood(self, body: bytes, settings: ServerSettings, request_id: str) -> Work:
        try:
            data = read(body, settings.text)
            work = JOBS[self._job](data)
        except ConfigError as error:
            raise Problem("invalid", str(error)) from None
        if settings.log_texts:
            logger.info("%s %s", request_id, json.dumps(data))
        return work


async def _body(receive: Receive, length: str, limit: int) -> bytes:
    """The body of a request. Raises Problem where it has more than `limit` bytes, which are not kept."""
    parts: list[bytes] = []
    size = 0
    too_large = length.isascii() and length.isdigit() and int(length[:20]) > limit
    try:
        async with asyncio.timeout(ARRIVAL):
            more = True
            while more and size <= DRAINED:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                part = message.get("body", b"")
                size += len(part)
                too_large = too_large or size > limit
                if too_large:
                    parts.clear()
                else:
                    parts.append(part)
                more = message.get("more_body", False)
    except TimeoutError:
        if not too_large:
            raise Problem("invalid", f"the body did not arrive within {ARRIVAL:g} s", {"Connection": "close"}) from None
    if too_large:
        raise Problem("too_large", f"the body has more than {limit} bytes", {"Connection": "close"})
    return b"".join(parts)


class _Watches:
    """Several watches as one. One that raises is told of in the log: neither the others nor the request are the worse for it."""

    def __init__(self, watchers: Sequence[Watcher], job: Job, headers: dict[str, str]) -> None:
        self._watches: list[Watch] = []
        for watcher in watchers:
            with _logged():
                self._watches.append(watcher.watch(job, headers))

    def started(self) -> None:
        self._each(lambda watch: watch.started())

    def event(self, event: Event) -> None:
        self._each(lambda watch: watch.event(event))

    def ended(self, outcome: Outcome) -> None:
        self._each(lambda watch: watch.ended(outcome))

    def _each(self, tell: Callable[[Watch], None]) -> None:
        for watch in self._watches:
            with _logged():
                tell(watch)


@contextmanager
def _logged() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        unexpected(error)
