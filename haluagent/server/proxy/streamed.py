"""Answers that are streamed: passed on with the report behind them, or held back until they were checked."""

from collections.abc import AsyncIterator, Awaitable, Callable

from haluagent.server.problems import HttpProblem
from haluagent.server.proxy.conversation import Conversation, Desk, settle, summary
from haluagent.server.proxy.forms import AnswerForm, Data, Texts
from haluagent.server.proxy.gate import Gate
from haluagent.server.proxy.sse import DONE, SentEvent

Events = AsyncIterator[SentEvent]


class Tail:
    """The end of a stream, which follows the report: `[DONE]`."""

    def __init__(self) -> None:
        self.last: Data = {}
        self.done = b""

    def takes(self, event: SentEvent) -> bool:
        """Note an event. Return whether it has to wait for the report."""
        if self.done or event.text.strip() == DONE:
            self.done += event.raw
            return True
        self.last = event.data or self.last
        return False


async def annotated(events: Events, conversation: Conversation, desk: Desk) -> AsyncIterator[bytes]:
    """Yield the events as they come, then the report."""
    texts, tail, form = Texts(), Tail(), conversation.form
    async for event in events:
        for piece in form.pieces(event):
            texts.add(piece)
        if not tail.takes(event):
            yield event.raw
    await conversation.check(texts.said())
    yield form.report_event(tail.last, 0, summary(await desk.file(conversation)))
    yield tail.done


async def held(events: Events, conversation: Conversation, desk: Desk) -> AsyncIterator[bytes]:
    """Yield each sentence when it was checked. From the first that may not go out on, the answer is a refusal."""
    tail, gate = Tail(), Gate(conversation)
    async for event in events:
        if tail.takes(event):
            continue
        for choice in gate.add(event):
            await gate.check(choice)
        for raw in gate.open():
            yield raw
    for choice in gate.texts.said():
        await gate.check(choice, ended=True)
    for raw in gate.open():
        yield raw
    yield conversation.form.report_event(tail.last, gate.shift, summary(await desk.file(conversation)))
    yield tail.done


async def revised(
    events: Events,
    conversation: Conversation,
    desk: Desk,
    ask: Callable[[Data], Awaitable[Events]],
    longest: int,
) -> AsyncIterator[bytes]:
    """Yield a stream when all of it was checked: the first, or the second that `ask` gives for a request."""

    async def again(request: Data) -> list[SentEvent]:
        return await collect(await ask(request), longest)

    chosen = await settle(
        conversation, desk, await collect(events, longest), lambda found: said(found, conversation.form), again
    )
    tail, gate = Tail(), Gate(conversation)
    for event in chosen:
        if not tail.takes(event):
            gate.add(event)
    gate.decided()
    for raw in gate.open():
        yield raw
    yield conversation.form.report_event(tail.last, gate.shift, summary(await desk.file(conversation)))
    yield tail.done


async def collect(events: Events, longest: int) -> list[SentEvent]:
    """Return the events of a stream. Raises HttpProblem where they have more than `longest` bytes."""
    found, size = [], 0
    async for event in events:
        found.append(event)
        size += len(event.raw)
        if size > longest:
            raise HttpProblem("upstream", f"the upstream's answer has more than {longest} bytes")
    return found


def said(events: list[SentEvent], form: AnswerForm) -> dict[str, str]:
    """Return the texts of the answers in the events of a whole stream."""
    texts = Texts()
    for event in events:
        for piece in form.pieces(event):
            texts.add(piece)
    return texts.said()
