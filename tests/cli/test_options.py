"""Options that commands share: each takes some, and is told what they say."""

import typer
from typer.testing import CliRunner

from haluagent.cli.options import MODEL, SHARED, AgentOptions, takes
from haluagent.errors import ConfigError


def said(*arguments: str) -> object:
    """What a command with two shared options and one of its own is told: an AgentOptions, or an error."""
    found: list[object] = []
    app = typer.Typer()

    @app.command()
    @takes(*MODEL, "tools", "search", search="none", sandbox="docker")
    def command(own: int = 1, *, wanted: AgentOptions) -> None:
        """Do it."""
        found.append((own, wanted))

    result = CliRunner().invoke(app, arguments)
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
    assert (own, wanted.model, wanted.adapter, wanted.search, wanted.sandbox) == (2, "m", None, "local", "docker")
    assert [path.name for path in wanted.tools] == ["a.py", "b.py"]


def test_a_command_has_no_option_that_it_does_not_take() -> None:
    assert "No such option" in str(said("--sandbox", "none"))
    assert "--sandbox" not in str(said("--help")) and "--no-adapter" in str(said("--help"))


def test_options_that_exclude_each_other_are_refused() -> None:
    problem = said("--adapter", "a.json", "--no-adapter")
    assert isinstance(problem, ConfigError) and "not both" in str(problem)


def test_every_field_of_the_options_can_be_said() -> None:
    assert {"reflect" if name == "no_reflect" else name for name in SHARED} - {"no_adapter"} == set(
        AgentOptions.__dataclass_fields__
    )
