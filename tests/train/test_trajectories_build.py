"""Making trajectories: continued after an interruption, sampled, and hinted where no sample was right."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError, ModelError
from haluagent.models import EmbeddedModel, OpenAIModel
from haluagent.protocols import Choice, Generation, Message
from haluagent.tools import default_registry
from haluagent.train.trajectories.build import Teacher, build, gold_teacher, model_teacher
from haluagent.train.trajectories.filter import failing, keep
from haluagent.train.trajectories.gold import GoldTeacher
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.recorder import prompt_of
from haluagent.train.trajectories.records import Trajectory, read
from haluagent.types import Usage

TOOLS = frozenset(tool.name for tool in default_registry())
HINT = "For the one who writes examples"
REFERENCE = "Harlow Tower was built in 1834 by Mary Ellis. The roof was repaired in 1871."


def lesson(number: int) -> Lesson:
    return Lesson(
        id=f"mine:{number}", group="mine", source="mine", kind="knowledge", language="en", question="Who built Harlow Tower?",
        response="The builder was Mary Ellis. The roof was repaired in 1903.", reference=REFERENCE, gold=True,
        gold_labels=("supported", "contradicted"), answer="Mary Ellis",
    )  # fmt: skip


class Wavering:
    """A teacher that holds what is right for wrong, and the other way round, unless it was hinted."""

    name = "wavering"
    context = GoldTeacher.context
    calibration = GoldTeacher.calibration
    fine_tuned_tools = TOOLS

    def __init__(self, item: Lesson) -> None:
        other = {"gold": True, "gold_labels": ("contradicted", "supported")}
        self._sides = {True: GoldTeacher(item, TOOLS), False: GoldTeacher(item.model_copy(update=other), TOOLS)}
        self.hinted = False

    async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
        if prompt_of(messages) == "agent":
            self.hinted = HINT in messages[-1]["content"]
        return await self._sides[self.hinted].generate(messages, **options)

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        return await self._sides[self.hinted].choose(messages, choices)

    def count_tokens(self, text: str) -> int:
        return self._sides[True].count_tokens(text)


def make(
    out: Path, teacher: Teacher | None = None, lessons: Sequence[Lesson] = (lesson(1), lesson(2)), **options: Any
) -> int:
    teacher = teacher or gold_teacher(TOOLS)
    return asyncio.run(build(lessons, teacher, out, progress=lambda text: None, **options))


def made(out: Path) -> list[Trajectory]:
    return list(read(out))


def test_what_was_interrupted_is_continued(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    assert make(whole) == 2
    first, second = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    cut.write_text(first + second[:100], encoding="utf-8")
    assert make(cut) == 1
    assert cut.read_bytes() == whole.read_bytes()
    assert make(cut) == 0


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    asyncio.run(build([lesson(1)], gold_teacher(TOOLS), tmp_path / "out.jsonl", progress=told.append))
    assert told == ["1/1 items, 1 trajectories"]


def test_samples_are_numbered_and_only_the_first_is_without_temperature(tmp_path: Path) -> None:
    given: list[float] = []

    class Warm(Wavering):
        async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
            if prompt_of(messages) == "agent":
                given.append(options["temperature"])
            return await super().generate(messages, **options)

    out = tmp_path / "out.jsonl"
    assert make(out, lambda item, sample: Warm(item), [lesson(1)], samples=3, temperature=0.7) == 3
    assert [one.sample for one in made(out)] == [0, 1, 2]
    assert sorted(set(given)) == [0.0, 0.7] and given[0] == 0.0
    assert make(out, lambda item, sample: Warm(item), [lesson(1)], samples=4, temperature=0.7) == 1


def test_a_hint_makes_right_what_was_wrong_and_leaves_no_trace(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert make(out, lambda item, sample: Wavering(item), [lesson(1)], hint=True) == 2
    plain, hinted = made(out)
    assert (plain.hinted, failing(plain)) == (False, "sentences")
    assert (hinted.hinted, failing(hinted)) == (True, None)
    assert HINT not in out.read_text(encoding="utf-8")
    assert [one.hinted for one in keep(made(out)).kept] == [True]


def test_what_was_right_gets_no_hint_also_when_it_is_continued(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert make(out, hint=True) == 2
    assert make(out, hint=True) == 0


def test_what_an_endpoint_failed_is_tried_again(tmp_path: Path) -> None:
    class Down(Wavering):
        async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
            raise ModelError("the endpoint does not answer")

    out = tmp_path / "out.jsonl"
    make(out, lambda item, sample: Down(item), [lesson(1)])
    assert [(one.stop, one.error) for one in made(out)] == [("error", "the endpoint does not answer")]
    assert make(out, lambda item, sample: Wavering(item), [lesson(1)]) == 1


def test_another_teacher_writes_into_the_same_file(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    make(out)
    assert make(out, lambda item, sample: Wavering(item)) == 2
    assert teachers(out) == {"gold": 2, "wavering": 2}


def teachers(out: Path) -> dict[str, int]:
    names = [one.teacher for one in made(out)]
    return {name: names.count(name) for name in names}


def test_only_the_prompts_of_a_lesson_in_focus_are_taught(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    make(out, lessons=[lesson(1).model_copy(update={"focus": ("verdict",)})])
    (one,) = made(out)
    assert {call.prompt for call in one.calls if call.learn} == {"verdict"}
    assert {call.prompt for call in one.calls} > {"verdict"}


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text('{"id": 1}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1 has version None"):
        make(out)
    assert out.read_text(encoding="utf-8") == '{"id": 1}\n'


def test_without_lessons_there_is_nothing_to_make(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there are no items"):
        make(tmp_path / "out.jsonl", lessons=[])


def test_each_sample_of_a_model_has_a_seed_of_its_own(scripted: Any) -> None:
    """Also of the embedded one, before and after its engine was started."""
    asked: list[int] = []

    class Asked(OpenAIModel):
        async def _complete(self, body: dict[str, Any], constraint: Any) -> Any:
            asked.append(body["seed"])
            return [{"message": {"content": "A"}}], Usage()

    client, embedded = Asked("http://127.0.0.1:1/v1", "m"), EmbeddedModel(adapter=None)
    for model in (client, embedded, embedded):
        teacher = model_teacher(model)
        assert teacher(lesson(1), 0) is model
        if isinstance(model, EmbeddedModel):
            sampled = teacher(lesson(1), 2)
            assert isinstance(sampled, EmbeddedModel)
            assert (sampled._seed, model._seed, sampled.name) == (2, 0, model.name)
            if model._client is None:
                model._client = client  # as if it were started
                continue
        for sample in (0, 1, 2):
            asyncio.run(teacher(lesson(1), sample).generate([Message(role="user", content="?")]))
    assert asked == [0, 1, 2, 0, 1, 2]
    plain = scripted()
    assert model_teacher(plain)(lesson(1), 2) is plain
