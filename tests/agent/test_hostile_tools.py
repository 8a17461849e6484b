"""Whatever a tool does, its call has failed, and nothing else: the report, the other lines and the next detection are there."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from raising import CLASSES, made

from haluagent import Demo, HaluAgent, Limits, ToolContext, tool
from haluagent.batch.files import BatchRow, run
from haluagent.tooling.tool import Tool
from haluagent.types import Detection, Evidence, Sentence, ToolResult

QUESTION, RESPONSE = "What is it?", "The tower is old."
DEMOS = [
    Demo(language=language, question="q", response=text, thought="t", call="probe(sentence=S1)", observation="o")
    for language, text in (("en", "It is."), ("zh", "是的。"))
]


def make(function: Callable[[Sentence], Any], **parts: Any) -> Tool:
    """A tool that does what a function does with the sentence: it returns, raises, or gives something to wait for."""

    @tool(description={"en": "does it", "zh": "做这件事"}, demos=DEMOS, **parts)
    async def probe(context: ToolContext, sentence: Sentence) -> ToolResult:
        found = function(sentence)
        return await found if asyncio.iscoroutine(found) else found

    return probe


def agent(scripted: Any, *tools: Tool, **options: Any) -> HaluAgent:
    model = scripted(lambda messages: f"THOUGHT: t\nACTION: probe(sentence={scripted.checked(messages)})")
    return HaluAgent(model, tools=tools, sandbox="none", search="none", **options)


def raising(kind: type[BaseException], late: bool = False) -> Callable[[Any], Any]:
    async def later() -> None:
        await asyncio.sleep(0)
        raise made(kind)

    def raises(*given: Any) -> Any:
        if late:
            return later()
        raise made(kind)

    return raises


def unverified(detection: Detection) -> str:
    """The error of the step with the tool, of a report that verified nothing and can be written."""
    assert Detection.model_validate_json(detection.model_dump_json()) == detection
    assert [entry.label for entry in detection.sentences] == ["unverified"]
    assert detection.hallucination is None and detection.stop != "error" and 0 <= detection.score <= 1
    return next(step.error for step in detection.steps if step.call and step.call.name == "probe") or ""


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_whatever_a_tool_raises_is_the_error_of_its_call(scripted: Any, kind: type[BaseException]) -> None:
    name = "RuntimeError" if kind is StopIteration else kind.__name__
    for late in (False, True):
        with agent(scripted, make(raising(kind, late))) as one:
            for _ in range(2):  # the agent's own thread still runs
                error = unverified(one.detect(QUESTION, RESPONSE))
                assert error.startswith(f"probe failed: {name}") and "\n" not in error


@pytest.mark.parametrize("part", ["when", "covers", "obvious"])
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_whatever_the_parts_of_a_tool_raise_leaves_the_others(
    scripted: Any, kind: type[BaseException], part: str
) -> None:
    supports = make(lambda sentence: ToolResult(observation="so it is", label="supported"), **{part: raising(kind)})
    with agent(scripted, supports) as one:
        detection = one.detect(QUESTION, RESPONSE)
    assert [entry.label for entry in detection.sentences] == ["unverified" if part == "when" else "supported"]


@pytest.mark.parametrize("in_flight", [1, 4])
def test_every_line_of_a_batch_is_there_whatever_a_tool_raises(scripted: Any, tmp_path: Path, in_flight: int) -> None:
    """Line 1 is checked by a tool that raises the first class, and so on; every second line is in order."""
    kinds = dict(enumerate((kind for kind in CLASSES for _ in range(2)), start=1))

    def check(sentence: Sentence) -> ToolResult:
        number = int(sentence.text.split()[1])
        if number % 2:
            raise made(kinds[number])
        return ToolResult(observation="so it is", label="supported")

    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps({"response": f"Tower {number} is old."}) + "\n" for number in kinds))
    one = agent(scripted, make(check))
    assert run(source, out, [one], in_flight=in_flight) is None
    rows = [BatchRow.model_validate_json(line) for line in out.read_text().splitlines()]
    assert sorted(row.line for row in rows) == sorted(kinds)
    for row in rows:
        assert row.error is None and row.detection is not None
        assert row.hallucination is (None if row.line % 2 else False)


HOSTILE = {
    "confidence 2.0": (lambda: ToolResult(observation="o", label="supported", confidence=2.0), "less than or equal to 1"),
    "confidence -1": (lambda: ToolResult(observation="o", label="supported", confidence=-1), "greater than or equal to 0"),
    "confidence NaN": (lambda: ToolResult(observation="o", label="supported", confidence=float("nan")), "finite number"),
    "confidence inf": (lambda: ToolResult(observation="o", label="contradicted", confidence=float("inf")), "finite number"),
    "a score NaN": (lambda: ToolResult(observation="o", evidence=(Evidence(source="s", text="t", score=float("nan")),)), "finite number"),
    "2.0 past validation": (
        lambda: ToolResult(observation="o", label="supported").model_copy(update={"confidence": 2.0}), "less than or equal to 1",
    ),
    "NaN past validation": (
        lambda: ToolResult.model_construct(observation="o", label="supported", confidence=float("nan")), "finite number",
    ),
    "another label": (lambda: ToolResult.model_construct(observation="o", label="true"), "Input should be 'supported'"),
    "no observation": (lambda: ToolResult.model_construct(label="supported"), "observation"),
    "a number as text": (lambda: ToolResult.model_construct(observation=5, label="supported"), "valid string"),
    "no result": (lambda: "supported", "returned str and not a ToolResult"),
}  # fmt: skip


@pytest.mark.parametrize("result", HOSTILE)
def test_a_result_out_of_its_bounds_is_the_tools_error_in_one_line(scripted: Any, result: str) -> None:
    returned, said = HOSTILE[result]
    with agent(scripted, make(lambda sentence: returned())) as one:
        error = unverified(one.detect(QUESTION, RESPONSE))
    assert error.startswith("probe failed: ") and said in error
    assert "\n" not in error and "pydantic.dev" not in error


@pytest.mark.parametrize("confidence", [0, 0.0, 0.5, 1, 1.0])
def test_a_confidence_within_its_bounds_counts(scripted: Any, confidence: float) -> None:
    result = ToolResult(observation="o", label="supported", confidence=confidence)
    with agent(scripted, make(lambda sentence: result)) as one:
        detection = one.detect(QUESTION, RESPONSE)
    assert detection.hallucination is False and detection.sentences[0].confidence == confidence


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit(0)


@pytest.mark.parametrize(
    "error", [Unspeakable(), ValueError("half \ud83d"), ValueError("x\n" * 10_000), OSError(5, "\udcff")]
)
def test_an_error_that_cannot_be_told_is_told_all_the_same(scripted: Any, error: Exception) -> None:
    def raises(sentence: Sentence) -> ToolResult:
        raise error

    with agent(scripted, make(raises)) as one:
        said = unverified(one.detect(QUESTION, RESPONSE))
    assert said.startswith(f"probe failed: {type(error).__name__}: ") and len(said) < 600 and "\n" not in said


def test_half_a_character_in_a_result_is_replaced(scripted: Any) -> None:
    evidence = Evidence(source="page", text="\ud83d is old", url="http://a/\udcff", span=(0, 1))
    result = ToolResult(observation="found \ud83d", label="supported", evidence=(evidence,))
    with agent(scripted, make(lambda sentence: result)) as one:
        detection = one.detect(QUESTION, RESPONSE)
    entry = Detection.model_validate_json(detection.model_dump_json()).sentences[0]
    assert (entry.label, entry.reason) == ("supported", "found \ufffd")
    assert (entry.evidence[0].text, entry.evidence[0].span) == ("\ufffd is old", (0, 1))


def test_half_a_character_in_the_texts_is_replaced(scripted: Any) -> None:
    with agent(scripted) as one:
        detection = one.detect("What is \ud83d?", "It \ude00 is 2 + 2 = 5.", reference="\udcff")
    assert (detection.question, detection.response) == ("What is \ufffd?", "It \ufffd is 2 + 2 = 5.")
    assert Detection.model_validate_json(detection.model_dump_json()) == detection


def test_a_verdict_that_comes_after_the_limit_does_not_count(scripted: Any) -> None:
    def blocks(sentence: Sentence) -> ToolResult:
        time.sleep(0.4)  # nothing can end this: what counts is that its verdict does not
        return ToolResult(observation="so it is", label="supported")

    with agent(scripted, make(blocks), limits=Limits(seconds=0.2)) as one:
        detection = one.detect(QUESTION, RESPONSE)
    assert (detection.hallucination, detection.stop) == (None, "budget")
    assert [entry.label for entry in detection.sentences] == ["unverified"]
    assert "the time limit of 0.2 s was reached" in detection.sentences[0].reason


def test_a_verdict_from_a_tool_that_goes_on_after_the_limit_does_not_count(scripted: Any) -> None:
    async def stubborn() -> ToolResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return ToolResult(observation="so it is", label="supported")
        raise AssertionError

    with agent(scripted, make(lambda sentence: stubborn()), limits=Limits(seconds=0.2)) as one:
        detection = one.detect(QUESTION, RESPONSE)
    assert (detection.hallucination, detection.stop) == (None, "budget")


def test_a_task_that_a_tool_leaves_behind_cannot_end_the_agent(scripted: Any) -> None:
    async def exits() -> None:
        raise SystemExit(0)

    async def leaves() -> ToolResult:
        asyncio.get_running_loop().create_task(exits())
        await asyncio.sleep(0.01)
        return ToolResult(observation="so it is", label="supported")

    with agent(scripted, make(lambda sentence: leaves())) as one:
        for _ in range(2):
            assert one.detect(QUESTION, RESPONSE).hallucination is False


TOOLS = '''
from haluagent import Demo, Sentence, ToolContext, ToolResult, tool

DEMOS = [
    Demo(language=language, question="q", response=text, thought="t", call="probe(sentence=S1)", observation="o")
    for language, text in (("en", "It is."), ("zh", "是的。"))
]

@tool(description={"en": "does it", "zh": "做这件事"}, demos=DEMOS, obvious=lambda context, sentence: {"sentence": sentence.name})
async def probe(context: ToolContext, sentence: Sentence) -> ToolResult:
    if "5" in sentence.text:
        RAISE
    return ToolResult(observation="so it is", label="supported")
'''  # fmt: skip


@pytest.mark.parametrize("statement", ["raise SystemExit(0)", "raise GeneratorExit", "raise KeyboardInterrupt"])
def test_the_commands_exit_code_is_never_a_tools(endpoint: Any, tmp_path: Path, statement: str) -> None:
    (tmp_path / "own.py").write_text(TOOLS.replace("RAISE", statement))
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"response": f"Tower {n}."}) + "\n" for n in range(1, 8)))
    at = ["--base-url", endpoint.base_url, "--tools", "own.py", "--sandbox", "none", "--search", "none"]

    def haluagent(*command: str) -> "subprocess.CompletedProcess[str]":
        command = (sys.executable, "-m", "haluagent", *command, *at)
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    done = haluagent("detect", "--response", "Tower 5 is old.")
    assert done.returncode == 3 and "NOT VERIFIED" in done.stdout and "Traceback" not in done.stderr
    done = haluagent("batch", "in.jsonl", "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    rows = [BatchRow.model_validate_json(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row.line: row.hallucination for row in rows} == {n: None if n == 5 else False for n in range(1, 8)}
