"""The state of one detection: what was given, what is known so far, and the steps that led there."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from haluagent.detection.limits import Limits, Meter
from haluagent.detection.samples import Samples
from haluagent.detection.task import DetectionTask
from haluagent.events import Event, Observation, Verdict
from haluagent.protocols import SearchResult, Services, ToolContext
from haluagent.tooling.registry import Registry
from haluagent.types import CheckedPart, Evidence, Label, MemoryEntry, Revision, Sentence, Span, Step, Stop

Autonomy = Literal["guided", "free"]
Part = Literal["memory", "completion", "choice", "demos", "reading"]
PARTS: tuple[Part, ...] = get_args(Part)
"""What may be left out of a detection, to see what it does: what was found before, in prompts and for tools; the completion of
sentences; the model's choice among the tools offered, in whose place chance decides; the tools' examples in the instructions; and
what is read beside the reference, or looked up on this machine, before the model's first turn."""
RECALLED = 3


class Memory:
    """The entries of one detection by sentence index (the paper's (sentence, label, evidence) triples)."""

    def __init__(self) -> None:
        self._entries: dict[int, MemoryEntry] = {}

    def record(self, entry: MemoryEntry) -> None:
        """Keep an entry, in the place of an earlier one about the same sentence."""
        self._entries[entry.sentence.index] = entry

    def revise(
        self,
        index: int,
        label: Label,
        reason: str,
        *,
        confidence: float,
        evidence: tuple[Evidence, ...] = (),
        tool: str | None = None,
    ) -> MemoryEntry:
        """Change a label and keep what it was and why it changed, with the tool that decided it now, if it is another. The first
        label stays on record."""
        old = self._entries[index]
        first = old.revised_from or Revision(label=old.label, reason=old.reason)
        entry = old.model_copy(
            update={
                "label": label,
                "reason": reason,
                "reason_code": None,
                "confidence": confidence,
                "evidence": old.evidence + evidence,
                "tool": tool or old.tool,
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
        """Return the entries in the order of the response, that of the whole response (index 0) last."""
        return tuple(self._entries[i] for i in sorted(self._entries, key=lambda i: (i == 0, i)))


@dataclass
class DetectionState:
    """The data that the stages of one detection share.

    `read` are the spans of the reference that were looked at, `stops` the limits that ended the branch of a sentence,
    `parts` what tools found about parts of a sentence, by its index, and `unsaid` the probability that the reference does
    not say a sentence, where a tool found that. `judged` are the search results that a sentence was judged by, by its index.
    `samples` are further answers of the model, `base_rate` that of `HaluAgent`. `rests_on` are the earlier sentences that a sentence
    is checked after. `before` are the steps of the detection that this one goes on from.
    """

    task: DetectionTask
    registry: Registry
    limits: Limits
    emit: Callable[[Event], None]
    closed_book: bool = False
    services: Services = field(default_factory=Services)
    autonomy: Autonomy = "guided"
    ablate: frozenset[Part] = frozenset()
    memory: Memory = field(default_factory=Memory)
    steps: list[Step] = field(default_factory=list)
    read: list[Span] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    parts: dict[int, tuple[CheckedPart, ...]] = field(default_factory=dict)
    unsaid: dict[int, float] = field(default_factory=dict)
    judged: dict[int, list[SearchResult]] = field(default_factory=dict)
    samples: Samples = field(default_factory=lambda: Samples(0))
    base_rate: float | None = None
    rests_on: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    before: tuple[Step, ...] = ()

    def context(self, model: Meter, sentence: int | None = None) -> ToolContext:
        """Return the context of a tool, as things stand now, with the facts about the sentence of that index."""
        return ToolContext(
            question=self.task.question,
            response=self.task.response,
            language=self.task.language,
            sentences=self.task.sentences,
            model=model,
            reference=self.task.reference,
            base_rate=self.base_rate,
            memory=() if "memory" in self.ablate else self.memory.entries(),
            facts=() if sentence is None else self._facts(sentence),
            judged=[] if sentence is None else self.judged.setdefault(sentence, []),
            **vars(self.services),
        )

    def _facts(self, sentence: int) -> tuple[str, ...]:
        steps = (step for step in (*self.before, *self.steps) if step.sentence == sentence)
        return tuple(dict.fromkeys(fact for step in steps if step.result for fact in step.result.facts))

    def recalled(self, sentence: Sentence) -> list[MemoryEntry]:
        """Return what was found about the sentences that this one rests on, the nearest `RECALLED` of them."""
        if "memory" in self.ablate:
            return []
        nearest = self.rests_on.get(sentence.index, ())[-RECALLED:]
        return [self.memory[index] for index in nearest if index in self.memory]

    async def segment(self, sentences: tuple[Sentence, ...]) -> None:
        """Go on with these sentences of the response."""
        self.task = await asyncio.to_thread(self.task.segmented, sentences)  # it counts the tokens of a long text

    def record(self, entry: MemoryEntry) -> MemoryEntry:
        """Keep an entry, with what was found about parts of its sentence, and emit it."""
        index = entry.sentence.index
        entry = entry.model_copy(update={"parts": self.parts.get(index, ())})
        if entry.label == "unverified" and index in self.unsaid:
            entry = entry.model_copy(update={"reason_code": "not_in_reference", "confidence": self.unsaid[index]})
        self.memory.record(entry)
        self.emit(Verdict(entry=entry))
        return entry

    def keep(self, step: Step) -> Step:
        """Keep a step and emit it."""
        self.steps.append(step)
        text = step.result.observation if step.result else step.error or ""
        self.emit(Observation(sentence=step.sentence, step=step, text=text))
        return step

    def observations(self) -> list[str]:
        """Return what the tools of this detection have said so far."""
        return [step.result.observation for step in self.steps if step.result]
