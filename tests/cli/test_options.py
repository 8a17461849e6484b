"""Options that commands share: each command declares those it takes, and makes an `AgentOptions` of them."""

from collections.abc import Iterator
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from haluagent.cli.main import app
from haluagent.cli.options import AgentOptions, takes
from haluagent.errors import ConfigError

# For each shared option a value that is nobody's default.
GIVEN: dict[str, Any] = {
    "closed_book": True, "strategy": "linear", "autonomy": "free", "model": "m", "base_url": "http://x", "api_key": "k", "base_rate": 0.7,
    "adapter": "a.json", "max_steps": 2, "queries": 3, "opinion_samples": 5,
    "max_tokens": 99, "max_seconds": 1.5, "concurrency": 3, "no_reflect": True, "ablate": ["memory"],
    "sandbox": "docker", "search": "mediawiki", "index": Path("i.db"), "fetch_pages": True, "max_queries": 4,
    "tools": [Path("a.py"), Path("b.py")],
}  # fmt: skip


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command below a group with its full name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


EVERY = dict(commands(typer.main.get_command(app)))
# The commands that make an agent or its model.
AGENTS = {name: command for name, command in EVERY.items() if any(one.name == "no_adapter" for one in command.params)}


def said(*arguments: str) -> object:
    """What a command with two shared options and one of its own is told: an AgentOptions, or an error."""
    found: list[object] = []
    small = typer.Typer()

    @small.command()
    @takes("model", "adapter", "no_adapter", "search", "tools", search="none", sandbox="docker")
    def command(own: int = 1, *, wanted: AgentOptions) -> None:
        """Do it."""
        found.append((own, wanted))

    result = CliRunner().invoke(small, arguments)
    return found[0] if found else result.exception if result.exit_code == 1 else result.output


def test_what_is_not_given_is_the_agents_own_default_or_the_commands() -> None:
    assert said() == (1, AgentOptions(search="none", sandbox="docker"))


def test_what_is_given_reaches_the_command() -> None:
    arguments = [
        "--own",
        "2",
        "--model",
        "m",
        "--no-adapter",
        "--search",
        "local",
        "--tools",
        "a.py",
        "--tools",
        "b.py",
    ]
    own, wanted = said(*arguments)  # type: ignore[misc]
    assert (own, wanted.model, wanted.chosen_adapter, wanted.search, wanted.sandbox) == (
        2,
        "m",
        None,
        "local",
        "docker",
    )
    assert [path.name for path in wanted.tools] == ["a.py", "b.py"]


def test_a_command_has_no_option_that_it_does_not_take() -> None:
    assert "No such option" in str(said("--sandbox", "none"))
    assert "--sandbox" not in str(said("--help")) and "--no-adapter" in str(said("--help"))


@pytest.mark.parametrize("take", [lambda: takes("model", "sample"), lambda: takes("model", serach="none")])
def test_an_option_that_there_is_not_cannot_be_taken(take: Any) -> None:
    with pytest.raises(TypeError, match="AgentOptions has no option (sample|serach)"):
        take()


def test_options_that_exclude_each_other_are_refused() -> None:
    problem = said("--adapter", "a.json", "--no-adapter")
    assert isinstance(problem, ConfigError) and "not both" in str(problem)


def test_every_field_of_the_options_can_be_said() -> None:
    assert {*GIVEN, "no_adapter"} == set(AgentOptions.__dataclass_fields__)
    assert {*GIVEN, "no_adapter"} <= {one.name for one in EVERY["detect"].params}


def test_a_shared_option_is_spelled_alike_in_every_command() -> None:
    """The same flags, type and help for the same name, in the same order."""
    shared = [*GIVEN, "no_adapter", "lang", "endpoint", "in_flight", "retry_errors", "token_budget", "second_budget"]
    spelled = {
        name: {one.name: annotation_of(command, one.name) for one in command.params if one.name in shared}
        for name, command in AGENTS.items()
    }
    first: dict[str, object] = {}
    for taken in spelled.values():
        first = taken | first
    assert set(first) == set(shared)
    assert {name: taken for name, taken in spelled.items() if not taken.items() <= first.items()} == {}
    order = [one.name for one in EVERY["detect"].params]
    for taken in spelled.values():
        found = [name for name in taken if name in GIVEN]
        assert found == [name for name in order if name in found]


def annotation_of(command: Any, name: str) -> object:
    """Return the annotated type of a command's parameter: what typer makes flags, type and help of."""
    return signature(command.callback, eval_str=True).parameters[name].annotation


class Enough(Exception):
    pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a command makes its `AgentOptions` of, where that is not the default; the command ends there."""
    found: list[dict[str, Any]] = []

    def record(self: AgentOptions) -> None:
        found.append({one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default})
        raise Enough

    monkeypatch.setattr(AgentOptions, "__post_init__", record)
    return found


def call(name: str, given: dict[str, Any]) -> BaseException | None:
    """Call a command with these values, and something for what it requires."""
    line = name.split()
    for one in EVERY[name].params:
        if one.name in given:
            value = given[one.name]
            for part in value if isinstance(value, list) else [value]:
                line += [one.opts[0]] if part is True else [one.opts[0], str(part)]
        elif one.required:
            line += ["x"] if one.param_type_name == "argument" else [one.opts[0], "x"]
    return CliRunner().invoke(app, line).exception


@pytest.mark.parametrize("name", AGENTS)
def test_a_command_passes_on_what_it_takes(asked: list[dict[str, Any]], name: str) -> None:
    taken = {one.name: GIVEN[one.name] for one in AGENTS[name].params if one.name in GIVEN}
    assert isinstance(call(name, taken), Enough)
    (made,) = asked
    assert {one: made.pop(one) for one in taken} == taken
    assert made.items() <= {"search": "none", "sandbox": "none"}.items()


@pytest.mark.parametrize("name", AGENTS)
def test_no_command_begins_with_an_adapter_named_and_refused(name: str) -> None:
    problem = call(name, {"adapter": "a.json", "no_adapter": True})
    assert isinstance(problem, ConfigError) and "--adapter or --no-adapter, not both" in str(problem)


def test_a_default_is_that_of_the_options() -> None:
    """Only where nothing is searched unless it is said, a command has a default of its own."""
    own = {
        (name, one.name)
        for name, command in AGENTS.items()
        for one in command.params
        if one.name in GIVEN and one.default != getattr(AgentOptions, one.name)
    }
    assert own == {("bench run", "search"), ("bench answers", "search"), ("proxy", "search")}
