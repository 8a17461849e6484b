"""The interface of the claim checkers: the work they are given, and the findings they return."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from haluagent.agent import HaluAgent
from haluagent.batch.pool import answers
from haluagent.checks.claims.records import Citation, Relation
from haluagent.detection.limits import Budget, BudgetExceeded
from haluagent.errors import FormatError, HaluAgentError, ModelError, ToolError
from haluagent.protocols import ToolContext
from haluagent.types import Sentence, Span

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class ClaimFinding:
    """A passage's verdict on a claim.

    `probability` in [0, 1] is that of the label, if the checker gives one; `read` holds the spans of the passage that
    were looked at, and `window` is the one that decided, in which the citation stands. If there is no label, `error` says
    why.
    """

    label: Relation | None
    probability: float | None = None
    citation: Citation | None = None
    read: tuple[Span, ...] = ()
    error: str | None = None
    window: Span | None = None


async def together(parts: Sequence[Coroutine[Any, Any, R]]) -> list[R]:
    """Run all of them concurrently and return their results.

    The first error of this package cancels the others and is raised.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in parts]
    except* HaluAgentError as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


@dataclass(frozen=True)
class CheckWork:
    """The claims of one response (`context.sentences`) to check against `passages`.

    `gate` bounds the concurrent calls.
    """

    agent: HaluAgent
    context: ToolContext
    passages: tuple[str, ...]
    budget: Budget
    gate: asyncio.Semaphore

    async def each(self, run: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
        """Apply `run` to every item and return the results: the first item alone, so that the others find the passage
        in the engine's prefix cache, then those together."""

        async def one(item: T) -> R:
            async with self.gate:
                return await run(item)

        return [await one(item) for item in items[:1]] + await together([one(item) for item in items[1:]])

    async def attempt(self, check: Awaitable[ClaimFinding]) -> ClaimFinding:
        """Await a check; if the model or a tool fails, or a limit is reached, return a finding without a label.

        Raise `ModelError` if the endpoint no longer answers at all, which is no fault of the claim.
        """
        try:
            async with asyncio.timeout(self.budget.seconds_left()):
                return await check
        except ModelError as error:
            if not await asyncio.to_thread(answers, self.agent):
                raise
            return ClaimFinding(None, error=str(error))
        except (ToolError, FormatError, BudgetExceeded) as error:
            return ClaimFinding(None, error=str(error))
        except TimeoutError:
            return ClaimFinding(None, error=f"the time limit of {self.agent.limits.seconds or 0:g} s was reached")


class Checker(Protocol):
    """A checker that labels claims.

    `name` is shown in the report; `asks_model` says whether it needs the agent's model.
    """

    name: str
    asks_model: bool

    async def check(self, work: CheckWork, passage: int, claims: Sequence[Sentence]) -> list[ClaimFinding]:
        """Return a finding for each claim, in order, from the passage of that number alone.

        Raise `ConfigError` if something has to be set up first, `ModelError` if the endpoint is gone.
        """
        ...
