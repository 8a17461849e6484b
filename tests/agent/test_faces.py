"""The faces of the agent: threads that share one, a stream that is closed early, a chat that goes on."""

import asyncio
import sys
import threading
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from typing import Any, cast

import pytest
from fake_agent import FakeAgent

from haluagent import HaluAgent
from haluagent import agent as agent_module
from haluagent.cli import chat
from haluagent.errors import ConfigError
from haluagent.types import Detection

QUESTION = "Describe what the boxes hold."
RESPONSE = "It is 12 * 7 = 84. After giving away 4 there are 84 - 4 = 79 pens left."


def test_two_threads_share_one_agent(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[agent_module._Loop] = []
    both = threading.Barrier(2)

    class Loop(agent_module._Loop):
        def __init__(self) -> None:
            with suppress(threading.BrokenBarrierError):
                both.wait(0.2)  # without a lock the other thread comes here too
            super().__init__()
            made.append(self)

    monkeypatch.setattr(agent_module, "_Loop", Loop)
    found: list[Detection] = []
    with HaluAgent(scripted(scripted.calculate)) as agent:
        threads = [threading.Thread(target=lambda: found.append(agent.detect(QUESTION, RESPONSE))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert [detection.hallucination for detection in found] == [True, True]
    assert len(made) == 1
    assert not made[0]._thread.is_alive()


@pytest.mark.parametrize("concurrency", [0, -1])
def test_nothing_can_be_checked_by_no_one(scripted: Any, concurrency: int) -> None:
    with pytest.raises(ConfigError, match="concurrency"):
        HaluAgent(scripted(), concurrency=concurrency)


def test_a_closed_stream_has_stopped_its_detection(scripted: Any) -> None:
    class Slow(scripted):  # type: ignore[misc]
        running = 0
        asked = asyncio.Event()

        async def generate(self, *args: Any, **options: Any) -> Any:
            self.running += 1
            self.asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.running -= 1

    async def run() -> None:
        model = Slow()
        events = HaluAgent(model).astream(QUESTION, RESPONSE)
        await anext(aiter(events))
        await model.asked.wait()
        before = asyncio.all_tasks()
        assert len(before) > 1
        await events.aclose()  # type: ignore[attr-defined]
        assert model.running == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_a_bug_in_a_detection_is_one_line_and_the_chat_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "Q?\n\nThis will crash.\n\n/again\nIt is right.\n\n/quit\n"
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(script.encode())))
    agent = FakeAgent()
    chat.talk(cast("HaluAgent", agent))
    out, err = capsys.readouterr()
    assert "! unexpected: RuntimeError: a bug with two lines\n" in out and err == ""
    assert "NO HALLUCINATION FOUND" in out
    assert agent.closed
