"""One detection from beginning to end: segment, verify, reflect, answer. How a verdict comes about stands in `verdict`."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal

from haluagent.detection.branch import verify
from haluagent.detection.decontextualisation import complete, judged_as_it_is
from haluagent.detection.dependence import dependences
from haluagent.detection.limits import Budget, BudgetExceeded, Limits, Meter
from haluagent.detection.reflection import reflect
from haluagent.detection.review import review
from haluagent.detection.samples import Samples
from haluagent.detection.state import Autonomy, DetectionState, Part
from haluagent.detection.task import DetectionTask, make_task
from haluagent.detection.transcript import transcript
from haluagent.detection.verdict import act, combine, decidable, no_claim, parts_of_whole, unreached
from haluagent.detection.writing import is_writing
from haluagent.errors import HaluAgentError, ToolError
from haluagent.events import Answered, Event, Found
from haluagent.protocols import Model, Services
from haluagent.sandbox.worker.work import as_work
from haluagent.search.shared import shared
from haluagent.text.courtesies import courtesy
from haluagent.tooling.registry import Registry
from haluagent.tooling.turn_format import ModelTurn
from haluagent.types import (
    Coverage,
    Detection,
    Language,
    MemoryEntry,
    Segmentation,
    Sentence,
    Span,
    Stop,
    ToolCall,
    Usage,
)

Strategy = Literal["branches", "linear"]

SPLIT = ToolCall(name="split_text")


class Run:
    """A detection in progress. `run()` ends in a Detection whatever the model, a tool or the endpoint does."""

    def __init__(
        self,
        question: str,
        response: str,
        reference: str | None,
        language: Language,
        *,
        model: Model,
        registry: Registry,
        limits: Limits,
        strategy: Strategy,
        autonomy: Autonomy,
        closed_book: bool,
        samples: int = 0,
        base_rate: float | None = None,
        concurrency: int,
        reflection: bool,
        ablate: frozenset[Part],
        services: Services,
        emit: Callable[[Event], None],
    ) -> None:
        self.budget = Budget(limits)
        self.model = model
        self.meters: list[Meter] = []
        self.strategy = strategy
        self.concurrency = concurrency
        self.reflection = reflection
        self.stop: Stop = "answer"
        self.error: str | None = None
        self.whole: Sentence | None = None  # the response, where a tool has something to decide about it as a whole
        task = make_task(
            question, response, reference, language, registry, model,
            single_transcript=strategy == "linear", demos="demos" not in ablate, free=autonomy == "free",
        )  # fmt: skip
        if services.search is not None:
            services = replace(services, search=shared(services.search))
        self.state = DetectionState(
            task, registry, limits, emit, closed_book, services, autonomy, ablate, samples=Samples(samples), base_rate=base_rate
        )  # fmt: skip

    @property
    def task(self) -> DetectionTask:
        """Return what is checked, with its sentences as far as they are cut and completed."""
        return self.state.task

    @property
    def usage(self) -> Usage:
        """Add up what the model calls of all branches cost."""
        return sum((meter.usage for meter in self.meters), Usage())

    def meter(self) -> Meter:
        """Make the meter of one branch; all of them share the budget."""
        meter = Meter(self.model, self.budget)
        self.meters.append(meter)
        return meter

    @as_work
    async def run(self) -> Detection:
        """Check everything within the limits. Only cancellation leaves this early."""
        meter = self.meter()
        try:
            await self._segment(meter)
            async with asyncio.timeout(self.budget.seconds_left()):
                await self._complete(meter)
                units = await self._units(meter)
                if self.strategy == "linear":
                    self.stop = await transcript(self.state, units, meter)
                else:
                    await self._verify(units)
                if self.reflection:
                    await self._reflect()
        except TimeoutError as problem:
            self._ended("budget" if self.budget.seconds_left() is not None else "error", self._late(problem))
        except BudgetExceeded as limit:
            self._ended("budget", str(limit))
        except HaluAgentError as error:
            self._ended("error", str(error))
        return self._answer()

    @as_work
    async def one(self, sentence: Sentence) -> MemoryEntry:
        """Check a single sentence, within the limits."""
        try:
            async with asyncio.timeout(self.budget.seconds_left()):
                await self._see_dependences()
                return await verify(self.state, sentence, self.meter())
        except TimeoutError as problem:
            why = self._late(problem)
        except BudgetExceeded as problem:
            why = str(problem)
        except HaluAgentError as problem:
            why = self.error = str(problem)
        return unreached(self.state, sentence, "budget", why)

    async def _segment(self, meter: Meter) -> None:
        """Have `split_text` cut the response. In a single transcript the model calls it itself, to read what it says."""
        if self.strategy == "linear":
            result = await self.state.registry.call(SPLIT, self.state.context(meter))
            await self.state.segment(result.sentences if isinstance(result, Segmentation) else ())
            return
        step = await act(self.state, None, ModelTurn(thought="", call=SPLIT), meter, meter.usage)
        if step.result is None:
            raise ToolError(f"the response could not be cut into sentences: {step.error}")

    async def _complete(self, meter: Meter) -> None:
        compared = self.task.reference or self.state.services.search  # only what is compared with a text gains by it
        if compared and "completion" not in self.state.ablate and not judged_as_it_is(self.task):
            self.state.task = self.task.completed(await complete(self.task, meter))
        for sentence in self.task.sentences:
            self.state.emit(Found(sentence=sentence))

    async def _units(self, meter: Meter) -> list[Sentence]:
        """Choose what is verified: every sentence that claims something by itself, and the whole response where a tool has
        something to decide about it."""
        units = []
        for sentence in self.task.sentences:
            if courtesy(sentence.text):
                no_claim(self.state, sentence, "courtesy")
            else:
                units.append(sentence)
        whole = self.state.context(meter).sentence(0)
        if await self._decidable(whole, meter):
            parts = await asyncio.to_thread(parts_of_whole, self.state, meter)
            units = [unit for unit in units if unit.index not in parts]
            if not parts and not self.task.reference and await is_writing(self.state, meter):
                units = [unit for unit in units if await self._decidable(unit, meter)]
                for sentence in self.task.sentences:
                    if sentence not in units:
                        no_claim(self.state, sentence, "writing")
            units.append(whole)
            self.whole = whole
        return units

    async def _decidable(self, sentence: Sentence, meter: Meter) -> bool:
        """Return True where a specific tool has something to decide about a sentence, or about the whole response."""
        return await asyncio.to_thread(decidable, self.state, sentence, meter)

    async def _verify(self, units: list[Sentence]) -> None:
        """Check the first alone, so that the others find the shared prefix in the engine's cache; then the rest together, each
        after those it rests on."""
        await self._see_dependences()
        after = await asyncio.to_thread(self._after, units)
        first, rest = units[:1], units[1:]
        done = {sentence.index: asyncio.Event() for sentence in rest}
        for sentence in first:
            await verify(self.state, sentence, self.meter())
        gate = asyncio.Semaphore(self.concurrency)

        async def one(sentence: Sentence) -> None:
            for index in after[sentence.index]:
                if index in done:
                    await done[index].wait()
            async with gate:
                await verify(self.state, sentence, self.meter())
            done[sentence.index].set()

        try:
            async with asyncio.TaskGroup() as group:
                for sentence in rest:
                    group.create_task(one(sentence))
        except* Exception as errors:
            raise errors.exceptions[0] from None

    def _after(self, units: list[Sentence]) -> dict[int, tuple[int, ...]]:
        """Return the sentences that each is checked after: those it rests on, and all before it where facts follow from them."""
        context, tools = self.state.context(self.meter()), self.state.registry
        after = {}
        for sentence in units:
            alone = self.task.reference is None and any(tools.adds(item, context, sentence) for item in tools)
            earlier = tuple(range(1, sentence.index)) if alone else ()
            after[sentence.index] = earlier or tuple(self.state.rests_on.get(sentence.index, ()))
        return after

    async def _see_dependences(self) -> None:
        if self.state.autonomy == "free":
            given = f"{self.task.question} {self.task.reference or ''}"
            self.state.rests_on = await asyncio.to_thread(dependences, self.task.sentences, given)

    async def _reflect(self) -> None:
        try:
            if self.strategy == "branches" and self.state.autonomy == "free":
                await review(self.state, self.meter())
        finally:
            await reflect(self.state, self.meter())

    def _late(self, problem: TimeoutError) -> str:
        seconds = self.state.limits.seconds
        return f"TimeoutError: {problem}" if seconds is None else f"the time limit of {seconds:g} s was reached"

    def _ended(self, stop: Stop, why: str) -> None:
        self.stop = stop
        self.error = why if stop == "error" else None
        for sentence in (*self.task.sentences, *filter(None, (self.whole,))):
            if sentence.index not in self.state.memory:
                unreached(self.state, sentence, "error" if stop == "error" else "budget", why)

    def _answer(self) -> Detection:
        entries = self.state.memory.entries()
        hallucination, score = combine(entries)
        detection = Detection(
            question=self.task.question,
            response=self.task.response,
            language=self.task.language,
            hallucination=hallucination,
            score=score,
            sentences=entries,
            steps=tuple(self.state.steps),
            usage=self.usage,
            coverage=self._coverage(entries),
            stop=self.stop if self.stop != "answer" else next(iter(self.state.stops), "answer"),
            error=self.error,
        )
        self.state.emit(Answered(detection=detection))
        return detection

    def _coverage(self, entries: Iterable[MemoryEntry]) -> Coverage:
        task = self.task
        total = sum(len(sentence.text) for sentence in task.sentences)
        reached = {step.sentence for step in self.state.steps}
        missed = sum(
            len(entry.sentence.text)
            for entry in entries
            if entry.label == "unverified" and entry.sentence.index not in reached and self.stop in ("budget", "error")
        )
        response = 1.0 - min(1.0, (missed + task.hidden) / total) if total else 1.0
        reference = share(self.state.read, len(task.reference)) if task.reference else None
        return Coverage(response=response, reference=reference)


def share(spans: Iterable[Span], length: int) -> float:
    """Return the part in [0, 1] of a text of `length` characters that the spans cover together."""
    covered, reached = 0, 0
    for start, end in sorted(spans):
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return covered / length if length else 1.0
