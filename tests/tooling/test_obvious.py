"""Where one tool is left that can be called in one way only, the model is not asked which."""

from collections.abc import Callable
from typing import Any

import pytest
from scripted import believes

from haluagent import Demo, HaluAgent, ToolResult, tool
from haluagent.errors import ConfigError
from haluagent.protocols import ToolContext
from haluagent.types import Sentence

SAYS = {"en": "says so", "zh": "说"}
DEMOS = [
    Demo(language=language, question="?", response="It is.", thought="so", call="says(sentence=S1)", observation="yes")
    for language in ("en", "zh")
]


def detect(model: Any, response: str, **options: Any) -> Any:
    agent = HaluAgent(model, sandbox="none", search="none", tools=options.pop("tools", ()), reflect=False)
    return agent.detect("Where does the Elbe rise?", response, language="en", **options)


def test_a_reference_and_one_sentence_leave_nothing_to_choose(scripted: Callable[..., Any]) -> None:
    model = scripted(
        choose=lambda messages: 0.99 if "A: yes" in messages[-1]["content"] else 0.01, free="In the Giant Mountains."
    )
    found = detect(model, "It rises in the Giant Mountains.", reference="The Elbe rises in the Giant Mountains.")
    assert found.hallucination is False
    assert not any(model.grammars)  # no turn was asked for
    (step,) = [step for step in found.steps if step.call.name == "match"]
    assert step.call.arguments == {"sentence": "S1", "context": "reference"}
    assert step.thought == "the only tool that fits"


def test_of_several_sentences_those_that_are_not_clear_are_left_to_the_model(scripted: Callable[..., Any]) -> None:
    model = scripted(
        lambda messages: f'THOUGHT: so\nACTION: match(sentence={model.checked(messages)}, context="reference")',
        choose=believes(0.5),
    )
    detect(model, "It rises there. It is long.", reference="The Elbe rises in the Giant Mountains.")
    assert sum(grammar is not None for grammar in model.grammars) == 2


def a_tool(obvious: Callable[[ToolContext, Sentence], Any], fails: bool = False) -> Any:
    @tool(description=SAYS, demos=DEMOS, obvious=obvious)
    async def says(context: ToolContext, sentence: Sentence) -> ToolResult:
        return 1 / 0 if fails else ToolResult(observation="yes", label="supported")

    return says


def test_a_tool_of_ones_own(scripted: Callable[..., Any]) -> None:
    model = scripted()
    found = detect(model, "It is.", tools=[a_tool(lambda context, sentence: {"sentence": sentence.name})])
    assert found.hallucination is False and not any(model.grammars)


@pytest.mark.parametrize("obvious", [lambda context, sentence: None, lambda context, sentence: 1 / 0])
def test_else_the_model_is_asked(scripted: Callable[..., Any], obvious: Any) -> None:
    model = scripted(["THOUGHT: so\nACTION: says(sentence=S1)"])
    found = detect(model, "It is.", tools=[a_tool(obvious)])
    assert found.hallucination is False and any(model.grammars)


def test_a_call_that_failed_is_not_obvious_any_more(scripted: Callable[..., Any]) -> None:
    model = scripted(["THOUGHT: so\nACTION: says(sentence=S1)"] * 4)
    found = detect(model, "It is.", tools=[a_tool(lambda context, sentence: {"sentence": sentence.name}, fails=True)])
    assert found.hallucination is None and any(model.grammars)


def test_obvious_is_a_plain_function() -> None:
    async def obvious(context: ToolContext, sentence: Sentence) -> None: ...

    with pytest.raises(ConfigError, match="make obvious a plain function"):
        a_tool(obvious)
