"""The examples that the README names work."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from haluagent import HaluAgent

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chemical_symbol", EXAMPLES / "chemical_symbol.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_added_tool_is_offered_described_and_called(scripted: Any, example: ModuleType) -> None:
    model = scripted(lambda messages: f"ACTION: chemical_symbol(sentence={scripted.checked(messages)})")
    with HaluAgent(model, tools=[example.chemical_symbol]) as agent:
        report = agent.detect("Which symbols?", "The symbol of gold is Au. The symbol of iron is Ir.")
    assert [entry.label for entry in report.sentences] == ["supported", "contradicted"]
    assert "the symbol of iron is Fe, not Ir" in report.sentences[1].evidence[0].text
    assert "tool-chemical-symbol" in model.grammars[0]
    assert "checks the chemical symbol" in model.seen[0][0]["content"]


def test_an_added_tool_is_not_offered_where_it_cannot_decide(scripted: Any, example: ModuleType) -> None:
    model = scripted(lambda messages: "ACTION: get_answer()")
    with HaluAgent(model, tools=[example.chemical_symbol]) as agent:
        agent.detect("Who?", "It was 3 o'clock.")
    assert all("chemical-symbol" not in grammar for grammar in model.grammars)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.name)
def test_the_inputs_of_the_demo_are_whole(path: Path) -> None:
    item = json.loads(path.read_text(encoding="utf-8"))
    assert {"question", "response"} <= item.keys() <= {"question", "response", "reference"}
