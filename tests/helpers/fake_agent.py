"""An agent with a script instead of a model: it yields the real events, and its labels follow words in the text.

A sentence with "wrong" (or 错) is contradicted, with "unknown" (or 未知) unverified, with "hello" no claim; any other
is supported. "wait" makes it wait until it is stopped, "break" makes the endpoint fail, "crash" raises a bug.
"""

import re
import time
from collections.abc import Iterator
from typing import Any

from haluagent.detection.verdict import combine
from haluagent.errors import ModelError
from haluagent.events import Action, Answered, Event, Found, Observation, Revised, Thought, Verdict
from haluagent.tooling.definition import tool
from haluagent.tooling.registry import Registry
from haluagent.tooling.tool import Demo
from haluagent.types import Detection, Evidence, MemoryEntry, Revision, Sentence, Step, ToolCall, ToolResult, Usage

DEMOS = [
    Demo(language="en", question="Q?", response="A.", thought="T", call="lookup(sentence=S1)", observation="O"),
    Demo(language="zh", question="问？", response="答。", thought="想", call="lookup(sentence=S1)", observation="看"),
]


@tool(description={"en": "Look it up.", "zh": "查一查。"}, demos=DEMOS)
async def lookup(context: Any, sentence: Sentence) -> ToolResult:
    return ToolResult(observation="")


class FakeAgent:
    def __init__(self) -> None:
        self.registry = Registry([lookup])
        self.calls: list[dict[str, Any]] = []
        self.stopped = False
        self.closed = False

    def stream(
        self, question: str, response: str, reference: str | None = None, language: str = "auto"
    ) -> Iterator[Event]:
        # Kept, so that only `close()` ends it, and not the garbage collector.
        self.running = self._events(question, response, reference, language)
        return self.running

    def _events(self, question: str, response: str, reference: str | None, language: str) -> Iterator[Event]:
        self.calls.append({"question": question, "response": response, "reference": reference, "language": language})
        spans = [match.span() for match in re.finditer(r"[^.。\s][^.。]*[.。]?", response)]
        sentences = [Sentence(index=i, text=response[a:b], span=(a, b)) for i, (a, b) in enumerate(spans, 1)]
        entries, steps = [], []
        try:
            for sentence in sentences:
                yield Found(sentence=sentence)
            for sentence in sentences:
                entry, step = judge(sentence)
                yield Thought(sentence=sentence.index, text=step.thought)
                assert step.call is not None and step.result is not None
                yield Action(sentence=sentence.index, call=step.call)
                misbehave(sentence.text)
                yield Observation(sentence=sentence.index, step=step, text=step.result.observation)
                yield Verdict(entry=entry)
                entries.append(entry)
                steps.append(step)
            yield Answered(detection=answer(question, response, entries, steps))
        except (GeneratorExit, KeyboardInterrupt):
            self.stopped = True
            raise

    def recheck(
        self, detection: Detection, index: int, reference: str | None = None, tool: str | None = None
    ) -> Iterator[Event]:
        self.calls.append({"recheck": index, "reference": reference, "tool": tool})
        old = next(entry for entry in detection.sentences if entry.sentence.index == index)
        misbehave(old.sentence.text)
        before = Revision(label=old.label, reason=old.reason)
        new = old.model_copy(update={"label": "supported", "reason": "looked again", "revised_from": before})
        yield Revised(entry=new)
        entries = [new if entry is old else entry for entry in detection.sentences]
        yield Answered(detection=answer(detection.question, detection.response, entries, list(detection.steps)))

    def close(self) -> None:
        self.closed = True


def judge(sentence: Sentence) -> tuple[MemoryEntry, Step]:
    words = {"wrong": "contradicted", "错": "contradicted", "unknown": "unverified", "未知": "unverified"}
    words["hello"] = "no_claim"
    label: Any = next((label for word, label in words.items() if word in sentence.text), "supported")
    evidence = (Evidence(source="reference", text=f"seen {sentence.index}", span=(0, 4)),)
    decided = label in ("contradicted", "supported")
    entry = MemoryEntry(
        sentence=sentence,
        label=label,
        evidence=evidence if decided else (),
        tool="lookup",
        confidence=0.9,
        reason="" if decided else "the search found nothing",
    )
    usage = Usage(calls=1, prompt_tokens=100, cached_tokens=80, generated_tokens=9, seconds=0.5)
    call = ToolCall(name="lookup", arguments={"sentence": sentence.name})
    result = ToolResult(observation=f"looked {sentence.index}", label=label)
    return entry, Step(sentence=sentence.index, thought="look it up", call=call, result=result, usage=usage)


def misbehave(text: str) -> None:
    if "wait" in text:
        time.sleep(30)
    if "break" in text:
        raise ModelError("the endpoint did not answer")
    if "crash" in text:
        raise RuntimeError("a bug\nwith two lines")


def answer(question: str, response: str, entries: list[MemoryEntry], steps: list[Step]) -> Detection:
    hallucination, score = combine(entries)
    chinese = any("\u4e00" <= character <= "\u9fff" for character in response)
    return Detection(
        question=question,
        response=response,
        language="zh" if chinese else "en",
        hallucination=hallucination,
        score=score,
        sentences=tuple(entries),
        steps=tuple(steps),
        usage=sum((step.usage for step in steps), Usage()),
    )
