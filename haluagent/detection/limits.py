"""The limits of a detection, and the meter that counts what it used."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from pydantic import Field

from haluagent.errors import DetectionEnded, ModelError
from haluagent.models.wrapper import ModelWrapper
from haluagent.protocols import Choice, Generation, Message, Model, Warmable
from haluagent.text.failures import describe
from haluagent.tooling.isolation import Raised, isolated
from haluagent.types import Record, Usage

T = TypeVar("T")

TURN_TOKENS = 200  # that the model may write in one turn


class Limits(Record):
    """Bounds of one detection. Whatever ends at one is `unverified`, with that reason.

    `steps` and `format_errors` count turns and unreadable turns per sentence; `tokens` counts evaluated prompt
    tokens plus generated ones; `seconds` is wall-clock time. `queries` is how often a sentence is searched for, each time
    in other words, until something decides it.
    """

    steps: int = Field(default=4, ge=1)
    format_errors: int = Field(default=2, ge=0)
    tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    queries: int = Field(default=1, ge=1)


class BudgetExceeded(DetectionEnded):
    """A detection used up its tokens or seconds. It never leaves the agent: it becomes `stop="budget"`."""


class Budget:
    """The tokens and seconds left to one detection."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started = time.monotonic()
        self._tokens = 0

    def seconds_left(self) -> float | None:
        if self._limits.seconds is None:
            return None
        return self._limits.seconds - (time.monotonic() - self._started)

    def spend(self, usage: Usage) -> None:
        self._tokens += max(0, usage.evaluated_tokens) + max(0, usage.generated_tokens)

    def check_time(self) -> None:
        """Raise BudgetExceeded where the time is over."""
        left = self.seconds_left()
        if left is not None and left <= 0:
            raise BudgetExceeded(f"the time limit of {self._limits.seconds:g} s was reached")

    def check(self) -> None:
        """Raise BudgetExceeded where nothing is left."""
        self.check_time()
        if self._limits.tokens is not None and self._tokens >= self._limits.tokens:
            raise BudgetExceeded(f"the limit of {self._limits.tokens} tokens was reached")


class Meter(ModelWrapper):
    """A `Model` that counts what goes through it. Each branch has its own; all share one budget."""

    def __init__(self, model: Model, budget: Budget) -> None:
        super().__init__(model)
        self._budget = budget
        self.usage = Usage()

    async def generate(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        grammar: str | None = None,
        max_tokens: int = 256,
        temperature: float = 0.0,
        samples: int = 1,
    ) -> Generation:
        self._budget.check()
        generation = await self._answer(
            lambda: self._model.generate(
                messages, stop=stop, grammar=grammar, max_tokens=max_tokens, temperature=temperature, samples=samples
            )
        )
        self._count(generation.usage)
        return generation

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        self._budget.check()
        choice = await self._answer(lambda: self._model.choose(messages, choices))
        self._count(choice.usage)
        return choice

    async def warm(self, system: str) -> None:
        """Have the model evaluate a system prompt ahead, where it can."""
        model = self._model
        if isinstance(model, Warmable):
            self._count(await self._answer(lambda: model.warm(system)))

    def check_time(self) -> None:
        """Raise BudgetExceeded where the time of the detection is over: what comes then does not count."""
        self._budget.check_time()

    async def _answer(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what the model answers. What it raises goes on, as a ModelError where that would end more than this."""
        outcome = await isolated(ask)
        if not isinstance(outcome, Raised):
            return outcome
        if isinstance(outcome.error, Exception):
            raise outcome.error
        raise ModelError(f"the model {self.name} failed: {describe(outcome.error)}") from outcome.error

    def _count(self, usage: Usage) -> None:
        self.usage += usage
        self._budget.spend(usage)
