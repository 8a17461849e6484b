"""A run in its JSON form: what is read, and the one line that says what is wrong with what is not."""

import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import ROOT
from run_examples import EXAMPLES

from haluagent.checks.runs import RunSource
from haluagent.checks.runs.forms.reading import SOURCES, convert, parse, read, read_text, schema
from haluagent.checks.runs.records import AgentRun, HallucinationReport
from haluagent.errors import ConfigError

EXAMPLE: dict[str, Any] = json.loads((ROOT / "examples" / "run.json").read_text(encoding="utf-8"))
MANY = int(os.environ.get("HALUAGENT_TEST_FUZZ", "300"))  # 10000 in a release
FUZZ = settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))


def changed(path: str, value: Any) -> dict[str, Any]:
    """The example with another value at a path; `...` takes the field out."""
    run = json.loads(json.dumps(EXAMPLE))
    way: list[Any]
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    at = run
    for part in way:
        at = at[part]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return run


@pytest.mark.parametrize("name", ["run.json", "run.zh.json"])
def test_the_examples_are_read_and_written_as_they_are(name: str) -> None:
    path = ROOT / "examples" / name
    run = read(path)
    assert run.model_dump(mode="json", exclude_unset=True) == json.loads(path.read_text(encoding="utf-8"))
    assert parse(run.model_dump(mode="json")) == run
    invented = [call.arguments["order_id"] for turn in run.turns for call in turn.calls if "order_id" in call.arguments]
    assert invented == ([] if name == "run.json" else ["DD-20933", "DD-20993"])


def test_a_byte_order_mark_and_arguments_that_are_a_text_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(changed("turns.1.calls.0.arguments", '{"parcel_id": ')), encoding="utf-8-sig")
    assert read(path).turns[1].calls[0].arguments == '{"parcel_id": '


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("answer", ..., "r: answer is missing"),
        ("turns", ..., "r: turns is missing"),
        ("run_id", 7, "r: run_id is not a text"),
        ("turns", {}, "r: turns is not a list"),
        ("turns.0", "hello", "r: turns[0] is not an object"),
        ("turns.0.text", None, "r: turns[0].text is not a text"),
        ("turns.0.role", "system", "r: turns[0].role - Input should be 'user' or 'assistant'"),
        ("turns.1.calls.0.id", ..., "r: turns[1].calls[0].id is missing"),
        ("turns.1.calls.0.arguments", [1], "r: turns[1].calls[0].arguments is neither an object nor a text"),
        ("turns.1.calls.0.result", {"a": 1}, "r: turns[1].calls[0].result is not a text"),
        ("turns.1.calls.0.failed", "no", "r: turns[1].calls[0].failed is not true or false"),
        ("turns.1.calls.0.output", "x", "r: turns[1].calls[0].output is no field of a run"),
        ("turns.2.calls.0.id", "call-1", "r: the call id 'call-1' is there twice"),
        ("turns.2.role", "user", "r: turns[2] is the user's, and only the model makes calls"),
        (
            "turns.2.calls.0",
            {"id": "c", "tool": "t", "arguments": {}, "failed": True},
            "r: turns[2].calls[0] failed without a result: ",
        ),
        ("tools.1.name", "track_parcel", "r: the tool 'track_parcel' is there twice"),
        ("tools.0.parameters", "object", "r: tools[0].parameters is not an object"),
        ("answer", "\ud800", "r holds half a character"),
        ("turns.1.calls.0.arguments", {"x": float("inf")}, "r is no JSON data: "),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(path: str, value: Any, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(changed(path, value), "r")
    assert str(caught.value).startswith(line) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "is not JSON"), (b'{"run_id": ', "is not JSON"), (b"\xff\xfe", "is not UTF-8 text"), (b"[]", "is not an object"),
        (b"[" * 100_000, "is not JSON"), (b'{"run_id": ' + b"[" * 500 + b"]" * 500 + b"}", "nested|recursion"), (b"9" * 5000, "is not"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_run(data: bytes, line: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=line) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_and_a_form_that_is_not() -> None:
    with pytest.raises(ConfigError, match="cannot read nowhere.json: No such file"):
        read("nowhere.json")
    with pytest.raises(ConfigError, match="no form of a run is called 'gemini': use haluagent, openai, "):
        convert([], "gemini")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from("user assistant call-1 text".split()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at] * bool(at) + [path for name, member in inner for path in paths(member, (*at, name))]


def replaced(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    if not way:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[way[0]] = replaced(copy[way[0]], way[1:], new)
    return copy


def only_a_run_or_a_config_error(make: Any) -> None:
    try:
        run = make()
    except ConfigError as error:
        assert "\n" not in str(error).strip() and str(error)
    else:
        assert isinstance(run, AgentRun)
        assert AgentRun.model_validate_json(run.model_dump_json()) == run
        ids = [call.id for turn in run.turns for call in turn.calls]
        assert len(ids) == len(set(ids))


@FUZZ
@given(st.sampled_from(paths(EXAMPLE)), VALUES)
def test_any_field_may_hold_anything(path: tuple[Any, ...], value: Any) -> None:
    only_a_run_or_a_config_error(lambda: parse(replaced(EXAMPLE, path, value)))


@FUZZ
@given(st.integers(0, 3000), st.integers(0, 40), st.text(max_size=4))
def test_a_file_may_be_cut_and_spoiled_anywhere(start: int, length: int, new: str) -> None:
    text = json.dumps(EXAMPLE)
    only_a_run_or_a_config_error(lambda: read_text(text[:start] + new + text[start + length :], "r"))
    only_a_run_or_a_config_error(lambda: read_text(text[:start], "r"))


def test_every_form_has_an_example() -> None:
    assert set(EXAMPLES) == set(SOURCES)


@FUZZ
@given(st.sampled_from([(source, path) for source in EXAMPLES for path in paths(EXAMPLES[source])]), VALUES)
def test_what_another_library_kept_may_hold_anything(place: tuple[str, tuple[Any, ...]], value: Any) -> None:
    source, path = place
    only_a_run_or_a_config_error(lambda: convert(replaced(EXAMPLES[source], path, value), source))


@pytest.mark.parametrize(("record", "name"), [(HallucinationReport, "hallucination-report"), (AgentRun, "agent-run")])
def test_the_schemas_in_the_package_are_those_of_the_records(record: Any, name: str) -> None:
    import haluagent.checks.runs

    path = Path(haluagent.checks.runs.__file__).with_name(f"{name}.schema.json")
    assert json.loads(path.read_text(encoding="utf-8")) == schema(record), (
        f"write schema({record.__name__}) to {path.name}"
    )


def test_the_sources_that_can_be_named_are_those_that_are_read() -> None:
    assert get_args(RunSource) == ("haluagent", *SOURCES)
