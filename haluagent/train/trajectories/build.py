"""Build trajectories: run the agent over labelled items with a teacher in place of its model, and record the calls."""

import asyncio
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal
from haluagent.detection.pipeline import Strategy
from haluagent.errors import ConfigError, HaluAgentError
from haluagent.prompts import remembering
from haluagent.protocols import Model, Reseedable, Sandbox
from haluagent.search.index.local import LocalIndex
from haluagent.tooling.services import SandboxName
from haluagent.train.trajectories.filter import failing
from haluagent.train.trajectories.gold import GoldTeacher
from haluagent.train.trajectories.hints import Hinted
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.recorder import Recorder
from haluagent.train.trajectories.records import Trajectory, TrajectoryItem, line, read
from haluagent.types import Detection, Usage

Teacher = Callable[[Lesson, int], Model]  # the model for a sample of an item


def gold_teacher(agent_tools: Iterable[str]) -> Teacher:
    """Return the teacher that knows the labels (`GoldTeacher`)."""
    tools = frozenset(agent_tools)
    return lambda lesson, sample: GoldTeacher(lesson, tools)


async def build(
    lessons: Sequence[Lesson],
    teacher: Teacher,
    out: Path,
    *,
    samples: int = 1,
    temperature: float = 0.0,
    hint: bool = False,
    strategy: Strategy = "branches",
    sandbox: Sandbox | SandboxName | None = None,
    progress: Callable[[str], None] = print,
) -> int:
    """Append the trajectories that are not yet in `out`; return how many were added.

    Each item is sampled `samples` times, the first time at temperature 0. With `hint`, an item that no sample got right
    is tried once more with a teacher that sees the gold label. Trajectories that ended with a model failure are tried
    again on the next run. Raises ConfigError if `out` cannot be written, holds something else, or has another item
    under the id of one of the lessons; if a service is not set up; or if there are no lessons.
    """
    if not lessons:
        raise ConfigError("there are no items to make trajectories of")
    added = 0
    with TemporaryDirectory() as folder, Journal(out) as journal:
        first = teacher(lessons[0], 0)
        done = _done(out, first.name, {lesson.id: lesson for lesson in lessons})
        index = await asyncio.to_thread(_index, lessons, Path(folder))
        # Turns are what is taught, so none is left out.
        agent = HaluAgent(first, search=None, sandbox=sandbox, concurrency=1, strategy=strategy, ablate=["reading"])
        searching = agent.searching(index) if index else agent
        try:
            await asyncio.to_thread(agent.prepare)
            for position, lesson in enumerate(lessons, start=1):
                using = searching if lesson.index else agent
                for sample, hinted in [*((number, False) for number in range(samples)), (0, True)]:
                    key = (lesson.id, sample, hinted)
                    right = any(done.get((lesson.id, number, False)) for number in range(samples))
                    if key in done or (hinted and (right or not hint)):
                        continue
                    model = teacher(lesson, sample)
                    trajectory = await run(
                        using,
                        lesson,
                        Hinted(model, lesson) if hinted else model,
                        sample,
                        temperature if sample else 0.0,
                        hinted=hinted,
                    )
                    journal.append(line(trajectory))
                    done[key] = failing(trajectory) is None
                    added += 1
                if position % 100 == 0 or position == len(lessons):
                    progress(f"{position}/{len(lessons)} items, {added} trajectories")
        finally:
            await agent.aclose()
    return added


def _done(out: Path, teacher: str, lessons: Mapping[str, Lesson]) -> dict[tuple[str, int, bool], bool]:
    """Map each finished trajectory of a teacher (item, sample, hinted) to whether it is right. Raises ConfigError if
    the file has another item under the id of one of the lessons."""
    done = {}
    for one in read(out):
        lesson = lessons.get(one.id)
        if lesson and (lesson.question, lesson.response, lesson.reference) != (
            one.question,
            one.response,
            one.reference,
        ):
            raise ConfigError(f"{out} has another item under the id {one.id}: name another file with --out")
        if one.teacher == teacher and (one.error is None or teacher == GoldTeacher.name):
            done[one.id, one.sample, one.hinted] = failing(one) is None
    return done


async def run(
    agent: HaluAgent, lesson: Lesson, teacher: Model, sample: int = 0, temperature: float = 0.0, *, hinted: bool = False
) -> Trajectory:
    """Run one detection with a teacher in place of the agent's model, and return it with all calls to the teacher."""
    recorder = Recorder(teacher, temperature)
    try:
        with remembering():
            found = await agent.on(recorder).adetect(
                lesson.question, lesson.response, lesson.reference, lesson.language
            )
        error = found.error
    except HaluAgentError as problem:  # the question fills the model's whole context
        found, error = _nothing(lesson), str(problem)
    calls = recorder.calls
    if lesson.focus:
        calls = [call if call.prompt in lesson.focus else call.model_copy(update={"learn": False}) for call in calls]
    item = {name: getattr(lesson, name) for name in TrajectoryItem.model_fields}
    return Trajectory(
        **item,
        teacher=teacher.name,
        sample=sample,
        hinted=hinted,
        verdict=found.hallucination,
        labels=tuple(entry.label for entry in found.sentences if entry.sentence.index),
        stop=found.stop,
        error=error,
        invalid_calls=sum(step.error is not None and step.call is not None for step in found.steps),
        format_errors=sum(step.call is None for step in found.steps),
        calls=tuple(calls),
    )


def _nothing(lesson: Lesson) -> Detection:
    return Detection(
        question=lesson.question, response=lesson.response, language=lesson.language, hallucination=None, score=0.5,
        sentences=(), steps=(), usage=Usage(), stop="error",
    )  # fmt: skip


def _index(lessons: Sequence[Lesson], folder: Path) -> LocalIndex | None:
    """Build a search index of the passages of all lessons that need a search, in an order that gives nothing away."""
    passages = sorted({text for lesson in lessons if lesson.index for text in lesson.passages})
    if not passages:
        return None
    random.Random(0).shuffle(passages)
    file = folder / "passages.jsonl"
    file.write_text(
        "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in passages), encoding="utf-8"
    )
    index = LocalIndex(folder / "index.db")
    index.add([file])
    return index


def model_teacher(model: Model) -> Teacher:
    """Return a teacher that is a model, with another seed for each sample of an item."""

    def sampled(lesson: Lesson, sample: int) -> Model:
        return model.reseeded(sample) if sample and isinstance(model, Reseedable) else model

    return sampled
