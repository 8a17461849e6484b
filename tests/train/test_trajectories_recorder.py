"""What a recorder keeps of a teacher: what was asked, what was said, and never the hint."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from haluagent.prompts import conversation, remembering
from haluagent.protocols import Message
from haluagent.train.trajectories.hints import Hinted
from haluagent.train.trajectories.recorder import Recorder, target
from haluagent.train.trajectories.records import TrajectoryItem
from haluagent.types import Language

CLAIM: dict[str, Any] = {"question": "How high?", "claim": "It is 3 m high.", "turned": False}
BRANCH: list[Message] = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "Check S2: <statement>x</statement>"},
]


@pytest.fixture(autouse=True)
def in_a_detection() -> Iterator[None]:
    with remembering():
        yield


def test_a_turn_is_kept_with_its_sentence(scripted: Any) -> None:
    recorder = Recorder(scripted(["THOUGHT: t\nACTION: a()\n"]))
    asyncio.run(recorder.generate(BRANCH, grammar="g"))
    (call,) = recorder.calls
    assert (call.prompt, call.sentence, call.reply, call.choices, call.learn) == (
        "agent",
        2,
        "THOUGHT: t\nACTION: a()",
        (),
        True,
    )
    assert [message.content for message in call.messages] == ["rules", "Check S2: <statement>x</statement>"]


def test_a_choice_is_kept_with_the_best_option(scripted: Any) -> None:
    recorder = Recorder(scripted(choose=0.2))
    asyncio.run(recorder.choose(conversation("claim", "en", **CLAIM), ["A", "B"]))
    (call,) = recorder.calls
    assert (call.prompt, call.sentence, call.reply, call.choices, call.learn) == ("claim", None, "B", ("A", "B"), True)


@pytest.mark.parametrize("prompt", ["opinion", "standalone"])
def test_what_has_no_gold_is_kept_and_not_taught(scripted: Any, prompt: str) -> None:
    recorder = Recorder(scripted(free="Yes"))
    variables: dict[str, Any] = {"question": "How high?", "claim": "It is.", "before": "", "sentence": "It is."}
    asyncio.run(recorder.generate(conversation(prompt, "en", **variables)))
    assert [call.learn for call in recorder.calls] == [False]


def test_an_empty_reply_is_not_taught(scripted: Any) -> None:
    recorder = Recorder(scripted(free=" \n"))
    asyncio.run(recorder.generate(conversation("answer", "en", evidence="e", question="q")))
    assert [(call.reply, call.learn) for call in recorder.calls] == [("", False)]


def test_samples_that_are_the_same_are_kept_once(scripted: Any) -> None:
    recorder = Recorder(scripted(["3*4"]))
    asyncio.run(recorder.generate(conversation("formula", "en", question="q"), grammar="g", samples=4))
    assert [call.reply for call in recorder.calls] == ["3*4"]


def test_only_the_turns_of_the_agent_get_the_temperature(scripted: Any) -> None:
    class Warm(scripted):  # type: ignore[misc]
        given: list[float] = []

        async def generate(self, messages: Sequence[Message], **options: Any) -> Any:
            self.given.append(options.get("temperature", 0.0))
            return await super().generate(messages, **options)

    recorder = Recorder(Warm(["THOUGHT: t\nACTION: a()", "1+1"]), temperature=0.7)
    asyncio.run(recorder.generate(BRANCH, grammar="g", temperature=0.0))
    asyncio.run(recorder.generate(conversation("formula", "en", question="q"), grammar="g", temperature=0.6))
    assert Warm.given == [0.7, 0.6]


@pytest.mark.parametrize(
    ("language", "gold", "said"),
    [
        ("en", True, "holds a hallucination"),
        ("en", None, "cannot be decided"),
        ("zh", False, "是对的"),
        ("zh", True, "有幻觉"),
    ],
)
def test_a_hint_is_sent_to_the_agent_and_not_recorded(
    scripted: Any, language: Language, gold: bool | None, said: str
) -> None:
    item = TrajectoryItem(
        id="i", group="g", source="own", kind="knowledge", language=language, question="q", response="r", gold=gold,
        gold_labels=("supported", "contradicted"),
    )  # fmt: skip
    teacher = scripted(["THOUGHT: t\nACTION: a()"])
    recorder = Recorder(Hinted(teacher, item))
    asyncio.run(recorder.generate(BRANCH, grammar="g"))
    asyncio.run(recorder.choose(conversation("claim", "en", **CLAIM), ["A", "B"]))
    sent, asked = teacher.seen
    assert said in sent[-1]["content"] and "S2" in sent[-1]["content"].split("\n", 1)[1]
    assert said not in asked[-1]["content"]
    assert all(said not in message.content for call in recorder.calls for message in call.messages)
    assert BRANCH[-1]["content"] == "Check S2: <statement>x</statement>"


def test_the_sentence_of_a_branch_is_read_from_its_opening_only() -> None:
    observed: Message = {"role": "user", "content": "OBSERVATION: Check S9"}
    assert target([*BRANCH, {"role": "assistant", "content": "ACTION: a()"}, observed]) == 2
    assert target([{"role": "user", "content": "核查 S0，即整段回复"}]) == 0
    assert target([{"role": "user", "content": "no sentence"}]) is None
