"""The code interpreter in real sandboxes: handcrafted questions and responses, and what must come of them."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from haluagent.protocols import Sandbox, ToolContext
from haluagent.text.language import HAN
from haluagent.text.segment import split
from haluagent.tooling.tool import Demo
from haluagent.tools.code_interpreter.tool import code_interpreter
from haluagent.types import Language, ToolResult


@pytest.fixture(
    scope="module",
    params=[pytest.param("docker", marks=pytest.mark.docker), pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)],
)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    from haluagent.sandbox.choose import resolve

    found = resolve(request.param)
    assert found is not None
    yield found
    found.close()  # type: ignore[attr-defined]


@pytest.fixture
def interpret(sandbox, scripted):
    def interpret(question: str, response: str, language: Language = "en") -> ToolResult:
        context = ToolContext(
            question=question,
            response=response,
            language=language,
            sentences=split(response),
            model=scripted(),
            sandbox=sandbox,
        )
        whole = context.sentence(0)
        assert code_interpreter.when(context, whole)
        result = asyncio.run(code_interpreter.run(context, sentence=whole))
        for evidence in result.evidence:
            if evidence.span is not None:
                source = question if evidence.source == "question" else response
                assert 0 <= evidence.span[0] < evidence.span[1] <= len(source)
        return result

    return interpret


@dataclass(frozen=True)
class Case:
    """`said` is part of the observation, `at` the text of the response at the first evidence."""

    question: str
    response: str
    label: str
    said: str
    at: str | None


def read_cases(text: str) -> Iterator[tuple[str, Case]]:
    """A case begins with `======== name`; its fields with `-------- field`, the label standing for what is said."""
    text = text.replace(r"\ud800", "\ud800")  # which no file can hold
    text = re.sub(r"\n*^#{8} .*\n+", "\n", text, flags=re.MULTILINE)  # headings
    for case in re.split(r"^======== ", text, flags=re.MULTILINE)[1:]:
        name, *fields = re.split(r"^-------- ", case, flags=re.MULTILINE)
        values = {key: value.removesuffix("\n") for key, _, value in (field.partition("\n") for field in fields)}
        label = next(key for key in values if key not in ("question", "response", "at"))
        question = values.get("question", "Write the code.")
        yield name.strip(), Case(question, values["response"], label, values[label], values.get("at"))


CASES = dict(read_cases((Path(__file__).parent / "code_interpreter_cases.txt").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", CASES)
def test_case(interpret, name: str) -> None:
    case = CASES[name]
    result = interpret(case.question, case.response, "zh" if HAN.search(case.said) else "en")
    assert (result.label, result.observation) == (case.label, result.observation)
    assert case.said in result.observation
    if case.at is not None:
        span = result.evidence[0].span
        assert span is not None and case.response[slice(*span)] == case.at


@pytest.mark.parametrize("demo", code_interpreter.demos, ids=lambda demo: demo.language)
def test_the_demos_are_true(interpret, demo: Demo) -> None:
    assert interpret(demo.question, demo.response, demo.language).observation == demo.observation
