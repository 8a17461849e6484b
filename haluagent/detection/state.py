"""The state of one detection: what was given, what is known so far, and the steps that led there."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from haluagent.detection.limits import Limits, Meter
from haluagent.detection.task import Task
from haluagent.errors import FormatError, ToolError
from haluagent.events import Action, Event, Observation, Thought, Verdict
from haluagent.protocols import Services, ToolContext
from haluagent.tooling.provenance import check_provenance
from haluagent.tooling.registry import Registry
from haluagent.tooling.turn_format import Turn
from haluagent.types import Evidence, Label, MemoryEntry, Revision, Span, Step, Stop, ToolResult, Usage


class Memory:
    """The entries of one detection by sentence index (the paper's (sentence, label, evidence) triples)."""

    def __init__(self) -> None:
        self._entries: dict[int, MemoryEntry] = {}

    def record(self, entry: MemoryEntry) -> None:
        self._entries[entry.sentence.index] = entry

    def revise(
        self, index: int, label: Label, reason: str, *, confidence: float, evidence: tuple[Evidence, ...] = ()
    ) -> MemoryEntry:
        """Change a label and keep what it was and why it changed. The first label stays on record."""
        old = self._entries[index]
        first = old.revised_from or Revision(label=old.label, reason=old.reason)
        entry = old.model_copy(
            update={
                "label": label,
                "reason": reason,
                "confidence": confidence,
                "evidence": old.evidence + evidence,
                "revised_from": first,
            }
        )
        self._entries[index] = entry
        return entry

    def __getitem__(self, index: int) -> MemoryEntry:
        return self._entries[index]

    def __contains__(self, index: int) -> bool:
        return index in self._entries

    def entries(self) -> tuple[MemoryEntry, ...]:
        """In the order of the response, the whole response (index 0) last."""
        return tuple(self._entries[i] for i in sorted(self._entries, key=lambda i: (i == 0, i)))


@dataclass
class DetectionState:
    """What the stages of one detection share."""

    task: Task
    registry: Registry
    limits: Limits
    memory: Memory
    steps: list[Step]
    read: list[Span]
    emit: Callable[[Event], None]
    closed_book: bool = False
    services: Services = field(default_factory=Services)
    stops: list[Stop] = field(default_factory=list)

    def context(self, model: Meter) -> ToolContext:
        return ToolContext(
            question=self.task.question,
            response=self.task.response,
            language=self.task.language,
            sentences=self.task.sentences,
            model=model,
            reference=self.task.reference,
            memory=self.memory.entries(),
            **vars(self.services),
        )

    def record(self, entry: MemoryEntry) -> MemoryEntry:
        self.memory.record(entry)
        self.emit(Verdict(entry=entry))
        return entry

    async def act(self, sentence: int | None, turn: Turn, model: Meter, since: Usage) -> Step:
        """Check the call of one turn, run it and keep the step. A call that failed or was rejected is a step with an
        error and no result.

        `since` is the meter's reading before the turn was written: the step's usage is what came on top of it.
        """
        self.emit(Thought(sentence=sentence, text=turn.thought))
        self.emit(Action(sentence=sentence, call=turn.call))
        result: ToolResult | None = None
        error: Exception | None = None
        context = self.context(model)
        try:
            await asyncio.to_thread(
                check_provenance, self.registry[turn.call.name], turn.call, context, self.observations()
            )
            result = await self.registry.call(turn.call, context)
            self.read.extend(result.read)
        except (FormatError, ToolError) as problem:
            error = problem
        return self.keep(
            Step(
                sentence=sentence,
                thought=turn.thought,
                call=turn.call,
                result=result,
                error=str(error) if error else None,
                rejected=isinstance(error, FormatError),
                usage=model.usage - since,
            )
        )

    def observations(self) -> list[str]:
        """What the tools of this detection have said so far."""
        return [step.result.observation for step in self.steps if step.result]

    def keep(self, step: Step) -> Step:
        self.steps.append(step)
        text = step.result.observation if step.result else step.error or ""
        self.emit(Observation(sentence=step.sentence, step=step, text=text))
        return step
