"""Run many detections over one or several endpoints, within bounds, and pass on each result as it comes."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import Field

from haluagent.agent import HaluAgent
from haluagent.errors import ConfigError, HaluAgentError, ModelError
from haluagent.models.client import OpenAIModel
from haluagent.models.discovery import discover
from haluagent.text.failures import describe
from haluagent.tooling.isolation import is_ctrl_c
from haluagent.types import Record, Usage


class Bounds(Record):
    """When to stop: after this many items, tokens (evaluated and generated), or seconds of this call. What has begun is
    finished."""

    items: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)


class WithUsage(Protocol):
    @property
    def usage(self) -> Usage: ...


R = TypeVar("R", bound=WithUsage)

FAILURES = 10  # in a row: then the items are not the cause


@dataclass
class Job(Generic[R]):
    """One thing to do. If `run` raises ModelError, it is tried once more; after a second error, or any other one, the
    result is that of `failed`."""

    run: Callable[[HaluAgent], Awaitable[R]]
    failed: Callable[[str], R]
    tried: bool = False


async def work(
    jobs: Iterable[Job[R]],
    agents: list[HaluAgent],
    keep: Callable[[R], None],
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    prepare: bool = True,
) -> str | None:
    """Run jobs, `in_flight` at a time at each agent, and pass their results to `keep` as they come, in any order. Jobs
    are drawn one by one, so that they need not all fit in memory.

    Returns None if all are done, otherwise the bound that ended it. An endpoint that no longer answers is dropped, and
    its jobs go to the others. Raises ModelError if none is left or many items fail in a row, and ConfigError if an
    engine cannot start. With `prepare` False, for jobs that do not use the model, no engine is started. Closes the
    agents.
    """
    try:
        for agent in agents if prepare else ():  # a failure to start is not an item's fault
            await asyncio.to_thread(agent.prepare)
        state = _SharedState(iter(jobs), keep, bounds or Bounds())
        async with asyncio.TaskGroup() as group:
            for agent in agents * in_flight:
                group.create_task(state.serve(agent))
    except* Exception as errors:
        raise errors.exceptions[0] from None
    finally:
        for agent in agents:
            await agent.aclose()
    if state.again and not state.ended:
        raise ModelError(
            f"no endpoint answers any more: {state.last_error}; what is done is kept, and the same again goes on from there"
        )
    return state.ended


class _SharedState(Generic[R]):
    """The state shared by the tasks of all endpoints: the remaining jobs, the jobs to retry, and the usage so far."""

    def __init__(self, jobs: Iterator[Job[R]], keep: Callable[[R], None], bounds: Bounds) -> None:
        self._jobs = jobs
        self._keep = keep
        self._bounds = bounds
        self._began = time.monotonic()
        self._items = 0
        self._tokens = 0
        self._running = 0
        self._changed = asyncio.Condition()
        self._gone: set[HaluAgent] = set()
        self._failures = 0
        self.again: deque[Job[R]] = deque()
        self.ended: str | None = None
        self.last_error = ""

    async def serve(self, agent: HaluAgent) -> None:
        """Take jobs until none is left or can come back, a bound is reached, or the endpoint is gone."""
        while agent not in self._gone:
            job = self._next()
            if job is not None:
                await self._do(job, agent)
            elif self._running and not self.ended:  # a running job may have to be tried again
                async with self._changed:
                    await self._changed.wait()
            else:
                return

    def _next(self) -> Job[R] | None:
        if self.ended:
            return None
        job = self.again.popleft() if self.again else next(self._jobs, None)
        if job is not None and (bound := self._bound()):
            self.ended = bound
            self.again.clear()
            return None
        self._items += job is not None and not job.tried
        return job

    def _bound(self) -> str | None:
        bounds, seconds = self._bounds, time.monotonic() - self._began
        if bounds.items is not None and self._items >= bounds.items:
            return f"the limit of {bounds.items} items"
        if bounds.tokens is not None and self._tokens >= bounds.tokens:
            return f"the limit of {bounds.tokens} tokens"
        if bounds.seconds is not None and seconds >= bounds.seconds:
            return f"the limit of {bounds.seconds:g} seconds"
        return None

    async def _do(self, job: Job[R], agent: HaluAgent) -> None:
        self._running += 1
        try:
            if (result := await self._result(job, agent)) is not None:
                self._tokens += result.usage.evaluated_tokens + result.usage.generated_tokens
                self._keep(result)
        finally:
            self._running -= 1
            async with self._changed:
                self._changed.notify_all()

    async def _result(self, job: Job[R], agent: HaluAgent) -> R | None:
        """Run a job and return its result; None if it is to be tried again."""
        try:
            result = await job.run(agent)
            self._failures = 0
            return result
        except ConfigError as error:  # of this item: an empty text, a language that is not supported
            return job.failed(str(error))
        except ModelError as error:
            self.last_error = str(error)
            if not await asyncio.to_thread(answers, agent):
                self._gone.add(agent)
            elif job.tried:
                return self._failed(job, error, str(error))
            else:
                job.tried = True
            self.again.append(job)
            return None
        except BaseException as error:
            task = asyncio.current_task()
            if is_ctrl_c(error) or (isinstance(error, asyncio.CancelledError) and task and task.cancelling()):
                raise
            return self._failed(job, error, f"unexpected {describe(error)}")

    def _failed(self, job: Job[R], error: BaseException, why: str) -> R:
        self._failures += 1
        if self._failures >= FAILURES:
            raise ModelError(f"{FAILURES} items failed one after another, the last with: {why}") from error
        return job.failed(why)


def answers(agent: HaluAgent) -> bool:
    """Return True if an endpoint still answers a request for its models. An engine in this process always does."""
    if not isinstance(agent.model, OpenAIModel):
        return True
    try:
        discover(agent.model.base_url, agent.model.api_key)
    except HaluAgentError:
        return False
    return True
