"""A POST endpoint, from its request to its answer."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from haluagent.events import Event
from haluagent.server.bodies import read
from haluagent.server.problems import HttpProblem, problem_of, unexpected
from haluagent.server.scheduler import Admitted, Run, Scheduler, Tell
from haluagent.server.stream import StreamReply, wants_events
from haluagent.server.watch import Ending, Job, Outcome, Result, Watch, Watcher
from haluagent.types import Detection

LARGE = 20_000  # bytes, from which a body is read in a thread: it takes milliseconds
ARRIVAL = 30.0  # seconds that a body may take to arrive
DRAINED = 20_000_000  # bytes that are read of a body that is too long, so that its sender gets to read why

# Bodies have threads of their own: however many are hard to read, detections keep those that they work in.
_readers = ThreadPoolExecutor(2, thread_name_prefix="haluagent-body")

AnyValue = TypeVar("AnyValue")

logger = logging.getLogger(__name__)


class JobRoute(APIRoute):
    """A route for a job, named after its function: bodies are read strictly, and watchers are told how each request ends."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, job = super().get_route_handler(), cast(Job, self.name)

        async def handled(request: Request) -> Response:
            call = JobRequest(request, job)
            ending: Ending = "stopping"
            try:
                await call.receive_body()
                return await handle(call)
            except ClientDisconnect:
                ending = "gone"
                raise
            except Exception as error:
                problem = problem_of(error)
                ending = problem.ending
                return problem.response()
            finally:
                if call.admitted is None:
                    call.end(ending)

        return handled


class JobRequest(Request):
    """A request for a job: its body is a JSON object, and it is answered in its turn."""

    def __init__(self, request: Request, job: Job) -> None:
        super().__init__(request.scope, request.receive)
        self._job = job
        self._scheduler: Scheduler = request.app.state.scheduler
        self._watch = Watches(request.app.state.watchers, job, dict(request.headers))
        self._large = False
        self.admitted: Admitted | None = None
        self.data: dict[str, Any] = {}

    async def receive_body(self) -> None:
        """Read the body into `data`. Raises HttpProblem, ConfigError, and ClientDisconnect where the client left."""
        if self.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise HttpProblem("media_type", "send the body as JSON, with Content-Type: application/json")
        settings = self._scheduler.settings
        body = await receive_body(self, settings.body)
        self._large = len(body) > LARGE
        self.data = await self.aside(read, body, settings.text)
        if settings.log_texts:
            logger.info("%s %s", self.state.request_id, json.dumps(self.data))

    async def body(self) -> bytes:
        """Return a body that is not empty, which makes FastAPI ask for its JSON."""
        return b"{}"

    async def json(self) -> Any:
        return self.data

    async def aside(self, function: Callable[..., AnyValue], *arguments: Any) -> AnyValue:
        """Call a function that reads the body; in a thread, if the body is large."""
        if not self._large:
            return function(*arguments)
        return await asyncio.get_running_loop().run_in_executor(_readers, function, *arguments)

    async def answer(self, run: Run, text: Callable[[Any], str]) -> Response:
        """Return the response with what `run` gives, as JSON that `text` makes of it.

        Raises HttpProblem, and ClientDisconnect where the client left.
        """
        self.admitted = self._scheduler.admit()
        place = self.admitted.place
        if wants_events(self.headers.get("accept", "")):
            return StreamReply(place.before if place.waits else None, partial(self._work, run, text))
        status, written = await self._work(run, text, lambda event: None, disconnected(self.receive))
        return Response(written, status, media_type="application/json")

    async def _work(self, run: Run, text: Callable[[Any], str], tell: Tell, gone: Awaitable[object]) -> tuple[int, str]:
        """Return status and text of the answer. Raises what `answer` does."""
        assert self.admitted is not None
        ending: Ending = "stopping"
        result: Result | None = None

        def told(event: Event) -> None:
            self._watch.event(event)
            tell(event)

        try:
            result = await self.admitted.run(run, self._watch.started, told, gone)
            written = text(result)
            report = result if isinstance(result, Detection) else None
            failed = report is not None and report.error is not None
            late = report is not None and report.stop == "budget" and self.admitted.late
            ending = "model" if failed else "deadline" if late else "done"
            return 502 if failed else 200, written
        except ClientDisconnect:
            ending = "gone"
            raise
        except Exception as error:
            problem = problem_of(error)
            ending = problem.ending
            raise problem from (None if problem is error else error)
        finally:
            self.end(ending, result)

    def end(self, ending: Ending, result: Result | None = None) -> None:
        """Free the request's place, and tell the watchers how it ended."""
        waited = worked = 0.0
        if self.admitted is not None:
            self.admitted.end()
            waited, worked = self.admitted.waited, self.admitted.worked
        if self._job == "recheck":  # its report was counted when it came first
            result = None
        self._watch.ended(Outcome(job=self._job, ending=ending, waited=waited, worked=worked, result=result))


async def disconnected(receive: Receive) -> None:
    """Wait until the client is gone; its body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def receive_body(request: Request, limit: int) -> bytes:
    """Return the body of a request. Raises HttpProblem where it has more than `limit` bytes, which are not kept."""
    length = request.headers.get("content-length", "")
    announced = int(length[:20]) if length.isascii() and length.isdigit() else 0
    problem = HttpProblem("too_large", f"the body has more than {limit} bytes", {"Connection": "close"})
    if announced > max(limit, DRAINED):  # its sender would be cut off in any case
        raise problem
    too_large = announced > limit
    size, body = 0, bytearray()
    try:
        async with asyncio.timeout(ARRIVAL):
            async for part in request.stream():
                size += len(part)
                too_large = too_large or size > limit
                if size > DRAINED:
                    break
                body += b"" if too_large else part
    except TimeoutError:
        if not too_large:
            raise HttpProblem(
                "invalid", f"the body did not arrive within {ARRIVAL:g} s", {"Connection": "close"}
            ) from None
    if too_large:
        raise problem
    return bytes(body)


class Watches:
    """Several watches as one. One that raises goes to the log, and harms neither the others nor the request."""

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
