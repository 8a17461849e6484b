"""One detection from beginning to end: segment, verify, reflect, answer."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Literal

from haluagent.detection.branch import fitting_tools, leave_to_whole, verify
from haluagent.detection.decontextualisation import complete, judged_as_it_is
from haluagent.detection.limits import Budget, BudgetExceeded, Limits, Meter
from haluagent.detection.reflection import reflect
from haluagent.detection.state import DetectionState, Memory
from haluagent.detection.task import Task, make_task
from haluagent.detection.transcript import transcript
from haluagent.detection.verdict import verdict
from haluagent.detection.writing import is_writing
from haluagent.errors import HaluAgentError
from haluagent.events import Answered, Event, Found
from haluagent.prompts import render
from haluagent.protocols import Model, Services
from haluagent.text.segment import split
from haluagent.tooling import turn_format
from haluagent.tooling.registry import Registry
from haluagent.types import Coverage, Detection, Language, MemoryEntry, Sentence, Span, Stop, ToolCall, Usage

Strategy = Literal["branches", "linear"]


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
        closed_book: bool,
        concurrency: int,
        reflection: bool,
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
        sentences = split(response)
        task = make_task(
            question, response, reference, language, sentences, registry, model, single_transcript=strategy == "linear"
        )
        self.planned: list[Sentence] = list(sentences)
        self.state = DetectionState(task, registry, limits, Memory(), [], [], emit, closed_book, services)

    @property
    def task(self) -> Task:
        return self.state.task

    def meter(self) -> Meter:
        meter = Meter(self.model, self.budget)
        self.meters.append(meter)
        return meter

    @property
    def usage(self) -> Usage:
        return sum((meter.usage for meter in self.meters), Usage())

    async def one(self, sentence: Sentence) -> MemoryEntry:
        """Check a single sentence, within the limits."""
        try:
            async with asyncio.timeout(self.budget.seconds_left()):
                return await verify(self.state, sentence, self.meter())
        except TimeoutError as problem:
            why = self._late(problem)
        except BudgetExceeded as problem:
            why = str(problem)
        except HaluAgentError as problem:
            why = self.error = str(problem)
        reason = render("reason", self.task.language, kind="budget", detail=why)
        return self.state.record(MemoryEntry(sentence=sentence, label="unverified", reason=reason))

    async def run(self) -> Detection:
        """Check everything within the limits. Only cancellation leaves this early."""
        try:
            async with asyncio.timeout(self.budget.seconds_left()):
                if self.strategy == "linear":
                    self.stop = await transcript(self.state, self.meter())
                else:
                    await self._branches()
                if self.reflection:
                    await reflect(self.state, self.meter())
        except TimeoutError as problem:
            self._ended("budget" if self.budget.seconds_left() is not None else "error", self._late(problem))
        except BudgetExceeded as limit:
            self._ended("budget", str(limit))
        except HaluAgentError as error:
            self._ended("error", str(error))
        return self._answer()

    def _late(self, problem: TimeoutError) -> str:
        seconds = self.state.limits.seconds
        return f"TimeoutError: {problem}" if seconds is None else f"the time limit of {seconds:g} s was reached"

    async def _branches(self) -> None:
        meter = self.meter()
        await self._segment(meter)
        units = list(self.task.sentences)
        whole = self.state.context(meter).sentence(0)
        if await self._decidable(whole, meter):
            parts = await asyncio.to_thread(leave_to_whole, self.state, meter)
            units = [unit for unit in units if unit.index not in parts]
            if not parts and not self.task.reference and await is_writing(self.state, meter):
                units = [unit for unit in units if await self._decidable(unit, meter)]
                reason = render("reason", self.task.language, kind="writing", detail="")
                for sentence in self.task.sentences:
                    if sentence not in units:
                        self.state.record(MemoryEntry(sentence=sentence, label="no_claim", reason=reason))
            units.append(whole)
            self.planned.append(whole)
        await self._verify_all(units)

    async def _decidable(self, sentence: Sentence, meter: Meter) -> bool:
        """Whether a specific tool has something to decide about a sentence, or about the whole response."""
        offered, _ = await asyncio.to_thread(fitting_tools, self.state, sentence, meter)
        return any(not item.system and not item.general for item in offered)

    async def _segment(self, meter: Meter) -> None:
        call = ToolCall(name="split_text")
        await self.state.act(None, turn_format.Turn(thought="", call=call), meter, meter.usage)
        compared = self.task.reference or self.state.services.search  # only what is compared with a text gains by it
        if compared and not judged_as_it_is(self.task, meter):
            self.state.task = self.task.with_sentences(await complete(self.task, meter))
        sentences = self.task.sentences
        self.planned = list(sentences)
        for sentence in sentences:
            self.state.emit(Found(sentence=sentence))

    async def _verify_all(self, units: list[Sentence]) -> None:
        """The first branch alone, so that the others find the shared prefix in the engine's cache; then together."""
        first, rest = units[:1], units[1:]
        for sentence in first:
            await verify(self.state, sentence, self.meter())
        gate = asyncio.Semaphore(self.concurrency)

        async def one(sentence: Sentence) -> None:
            async with gate:
                await verify(self.state, sentence, self.meter())

        try:
            async with asyncio.TaskGroup() as group:
                for sentence in rest:
                    group.create_task(one(sentence))
        except* (BudgetExceeded, HaluAgentError) as errors:
            raise errors.exceptions[0] from None

    def _ended(self, stop: Stop, why: str) -> None:
        self.stop = stop
        self.error = why if stop == "error" else None
        kind = "error" if stop == "error" else "budget"
        reason = render("reason", self.task.language, kind=kind, detail=why)
        for sentence in self.planned:
            if sentence.index not in self.state.memory:
                self.state.record(MemoryEntry(sentence=sentence, label="unverified", reason=reason))

    def _answer(self) -> Detection:
        entries = self.state.memory.entries()
        hallucination, score = verdict(entries)
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
    """The part in [0, 1] of a text of `length` characters that the spans cover together."""
    covered, reached = 0, 0
    for start, end in sorted(spans):
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return covered / length if length else 1.0
