"""With the grammar a malformed call cannot be written; without one, what models write is read."""

import random
from typing import Any

import pytest
from gbnf_sentences import Sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from haluagent.checks.reliability import turns
from haluagent.checks.reliability.turns import ReliabilityTurn
from haluagent.checks.runs.calls.schema_check import schema_errors
from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import ConfigError, FormatError

ODD = st.sampled_from(["a", "b[id]", 'q"', "c\\", "日期"])
NAMES = ODD | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
SCALARS = st.sampled_from(
    [{"type": kind} for kind in ("string", "integer", "number", "boolean", "null", ["string", "null"])]
)
ENUMS = st.lists(st.text(max_size=4) | st.integers(-9, 9) | st.booleans(), min_size=1, max_size=3, unique_by=repr)
LEAVES = (
    SCALARS
    | st.just({})
    | ENUMS.map(lambda values: {"enum": values})
    | st.sampled_from([{"type": "array"}, {"type": "object"}])
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    @st.composite
    def draw(draw: st.DrawFn) -> dict[str, Any]:
        properties = draw(st.dictionaries(NAMES, inner, max_size=4))
        required = [name for name in properties if draw(st.booleans())]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    return draw()


ARGUMENTS = objects(LEAVES | LEAVES.map(lambda item: {"type": "array", "items": item}) | objects(LEAVES))


@settings(deadline=None, max_examples=60)  # the first reading of a schema takes a second
@given(st.lists(ARGUMENTS, min_size=1, max_size=3), st.integers(0, 10**6), st.sampled_from(["en", "zh"]), st.booleans())
def test_every_turn_of_the_grammar_is_a_good_call_or_an_ending(
    schemas: list[dict[str, Any]], seed: int, language: Any, indecisive: bool
) -> None:
    tools = {
        f"tool_{number}": ToolSpec(name=f"tool_{number}", parameters=schema) for number, schema in enumerate(schemas)
    }
    chance = random.Random(seed)
    sentences = Sentences(turns.grammar(list(tools.values()), language, indecisive=indecisive))
    for name in [None, *range(len(schemas))]:
        text = sentences.draw(chance)
        if name is not None:  # each tool, whatever chance says
            text = "ACTION: " + sentences.draw(chance, f"tool-{name}")
        turn = turns.parse(text)
        if turn.name in tools:
            assert schema_errors(tools[turn.name], turn.arguments) == ()
        else:
            assert turn.ending == "answer" or (indecisive and turn.ending)
            assert isinstance(turn.arguments, dict) and turn.said == str(next(iter(turn.arguments.values()))).strip()


def test_a_schema_that_a_grammar_cannot_keep_is_refused() -> None:
    pattern = ToolSpec(
        name="t", parameters={"type": "object", "properties": {"a": {"type": "string", "pattern": "^x"}}}
    )
    with pytest.raises(ConfigError, match="pattern"):
        turns.grammar([pattern], "en", indecisive=True)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ('THOUGHT: x\nACTION: look {"a": 1}', "look", {"a": 1}),
        ('Thought: x\nAction: look\nAction Input: {"a": "b"}\nObservation: no', "look", {"a": "b"}),
        ('思考：看\n行为：look（{"a": "天"}）', "look", {"a": "天"}),
        ('**ACTION:** `look` {"a": "two\nlines"} and more', "look", {"a": "two\nlines"}),
        ("ACTION: look()", "look", {}),
        ("ACTION: look", "look", {}),
        ("ACTION: look {'a': 1}", "look", "{'a': 1}"),
        ("ACTION: look [1]", "look", "[1]"),
    ],
)
def test_free_turns_are_read(text: str, name: str, arguments: Any) -> None:
    turn = turns.parse(text)
    assert (turn.name, turn.arguments) == (name, arguments)


@pytest.mark.parametrize(("text", "truncated"), [("It is sunny.", False), ('ACTION: look {"a": "b', True), ("", False)])
def test_what_names_no_whole_action_is_an_error(text: str, truncated: bool) -> None:
    with pytest.raises(FormatError):
        turns.parse(text, truncated=truncated)


def test_a_turn_is_read_as_it_was_written() -> None:
    turn = ReliabilityTurn(thought="see", name="look", arguments={"a": 'q"', "b": [1.5, None]})
    for language in ("en", "zh"):
        assert turns.parse(turns.write(turn, language)) == turn
