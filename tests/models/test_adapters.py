"""Adapters: their cards, when they are used, what a model with one is called, and what the tools make of it."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent.cli import options
from haluagent.cli.main import app as haluagent
from haluagent.cli.model import app
from haluagent.errors import ConfigError
from haluagent.models import adapters
from haluagent.models.adapters import load, shipped
from haluagent.models.calibration import EMBEDDED, IDENTITY
from haluagent.models.engines import llama_cpp
from haluagent.models.engines.embedded import EmbeddedModel
from haluagent.models.resolution import resolve
from haluagent.models.weights import catalogue
from haluagent.settings import config_path

DATA = b"GGUF and what was learnt"

Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without settings, and a package without adapters."""
    for name in ("BASE_URL", "MODEL", "API_KEY", "ADAPTER", "CONFIG", "OFFLINE"):
        monkeypatch.delenv(f"HALUAGENT_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(adapters, "FOLDER", tmp_path / "shipped")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a card and its file into a folder and gives the card's path."""

    def make(folder: str = "mine", data: bytes = DATA, **changes: Any) -> Path:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        card = {
            "name": "haluagent-7", "version": "1", "base": catalogue.DEFAULT, "file": "haluagent-7.gguf", "rank": 16,
            "sha256": hashlib.sha256(DATA).hexdigest(), "bytes": len(DATA), "tools": ["match", "calculator"],
            "calibration": IDENTITY.model_dump(), "licence": "Apache-2.0", "data_sources": ["CMRC 2018 (CC BY-SA 4.0)"],
        }  # fmt: skip
        (place / "haluagent-7.gguf").write_bytes(data)
        file = place / "haluagent-7.json"
        file.write_text(json.dumps(card | changes), encoding="utf-8")
        return file

    return make


# Cards -----------------------------------------------------------------------------------------------------------


def test_a_card_says_what_its_adapter_is(make: Make) -> None:
    card = make()
    for path in (card, card.with_suffix(".gguf")):
        found = load(path)
        assert (found.name, found.fine_tuned_tools, found.calibration) == (
            "haluagent-7",
            {"match", "calculator"},
            IDENTITY,
        )
        assert found.checked() == card.with_suffix(".gguf").resolve()


def test_a_gguf_file_without_a_card_is_used_as_it_is_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "plain.gguf"
    file.write_bytes(DATA)
    found = load(file)
    assert (found.name, found.fine_tuned_tools, found.calibration, found.checked()) == (
        "plain",
        frozenset(),
        EMBEDDED,
        file,
    )
    assert len(caplog.messages) == 1 and "plain.json" in caplog.messages[0] and "\n" not in caplog.messages[0]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"colour": "red"}, "colour: Extra inputs"),
        ({"sha256": "abc"}, "sha256: "),
        ({"file": "../other.gguf"}, "file: "),
        ({"licence": None}, "licence: "),
        ({"calibration": {"claims": {"en": 0.0}}}, "claims must have the keys en, zh"),
    ],
)
def test_a_mistake_in_a_card_is_named(make: Make, changes: dict[str, Any], complaint: str) -> None:
    card = make(**changes)
    with pytest.raises(ConfigError, match=complaint) as caught:
        load(card)
    assert str(card) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["none.json", "none.gguf", "weights.bin"])
def test_what_is_not_there_is_no_adapter(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load(tmp_path / name)


@pytest.mark.parametrize("data", [DATA[:-1], DATA[:-1] + b"!"])
def test_a_damaged_file_is_refused_with_a_way_out(make: Make, data: bytes) -> None:
    found = load(make(data=data))
    with pytest.raises(ConfigError, match="damaged.*--no-adapter"):
        found.checked()


def test_a_file_that_is_missing_is_refused(make: Make) -> None:
    card = make()
    card.with_suffix(".gguf").unlink()
    with pytest.raises(ConfigError, match="is not there.*--no-adapter"):
        load(card).checked()


def test_a_file_is_hashed_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []

    def counted(path: Path) -> Any:
        hashed.append(path)
        return hashlib.sha256(path.read_bytes())

    monkeypatch.setattr(adapters, "sha256_of", counted)
    card = make("once")
    for _ in range(3):
        load(card).checked()
    assert len(hashed) == 1


# The embedded model ----------------------------------------------------------------------------------------------


def test_without_an_adapter_in_the_package_nothing_changes() -> None:
    model = EmbeddedModel()
    assert shipped(catalogue.DEFAULT) is None
    assert (model.name, model.calibration, model.fine_tuned_tools) == (catalogue.DEFAULT, EMBEDDED, frozenset())


def test_the_adapter_of_the_package_is_on_for_its_weights_only(make: Make) -> None:
    make("shipped")
    model = EmbeddedModel()
    assert (model.name, model.weights) == (f"{catalogue.DEFAULT}+haluagent-7", catalogue.DEFAULT)
    assert (model.calibration, model.fine_tuned_tools) == (IDENTITY, {"match", "calculator"})
    for other in (EmbeddedModel(adapter=None), EmbeddedModel(lora=Path("some.gguf"))):
        assert (other.name, other.calibration, other.fine_tuned_tools) == (catalogue.DEFAULT, EMBEDDED, frozenset())
    assert EmbeddedModel("smollm2-135m-instruct-q4_1").name == "smollm2-135m-instruct-q4_1"


def test_an_adapter_for_other_weights_is_refused(make: Make) -> None:
    with pytest.raises(ConfigError, match=f"belongs to {catalogue.DEFAULT} and not to smollm2"):
        EmbeddedModel("smollm2-135m-instruct-q4_1", adapter=make())


class Started(Exception):
    def __init__(self, settings: llama_cpp.EngineSettings) -> None:
        self.settings = settings


def started(monkeypatch: pytest.MonkeyPatch, model: EmbeddedModel) -> llama_cpp.EngineSettings:
    """What the engine of a model is started with."""

    def shared(settings: llama_cpp.EngineSettings) -> None:
        raise Started(settings)

    monkeypatch.setattr(llama_cpp, "shared", shared)
    place = catalogue._place(catalogue.DEFAULT)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"GGUF")
    with pytest.raises(Started) as caught:
        model.start()
    return caught.value.settings


def test_the_engine_gets_the_file_and_keeps_its_alias(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    card = make()
    settings = started(monkeypatch, EmbeddedModel(adapter=card))
    assert (settings.name, settings.lora) == (catalogue.DEFAULT, card.with_suffix(".gguf").resolve())
    assert started(monkeypatch, EmbeddedModel(lora=Path("plain.gguf"))).lora == Path("plain.gguf")
    assert started(monkeypatch, EmbeddedModel(adapter=None)).lora is None


def test_a_damaged_adapter_never_reaches_the_engine(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("shipped", data=b"cut")
    with pytest.raises(ConfigError, match="damaged"):
        started(monkeypatch, EmbeddedModel())


# Settings --------------------------------------------------------------------------------------------------------


def name_of(**options: Any) -> str:
    return resolve(**options).name.partition("+")[2]


def test_the_first_setting_wins(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("shipped")
    flag, variable, file = (make(name, name=name) for name in ("flag", "variable", "file"))
    assert name_of() == "haluagent-7"
    config_path().parent.mkdir(parents=True)
    config_path().write_text(f'adapter = "{file}"\n')
    assert name_of() == "file"
    monkeypatch.setenv("HALUAGENT_ADAPTER", str(variable))
    assert name_of() == "variable"
    assert name_of(adapter=str(flag)) == "flag"
    assert name_of(adapter=None) == ""
    monkeypatch.setenv("HALUAGENT_ADAPTER", "none")
    assert name_of() == ""
    monkeypatch.delenv("HALUAGENT_ADAPTER")
    config_path().write_text('adapter = "none"\n')
    assert name_of() == ""


def test_a_served_model_is_read_with_the_card_of_its_adapter(make: Make, endpoint: Any) -> None:
    make("shipped")
    card = make()
    card.with_suffix(".gguf").unlink()  # nothing is loaded
    plain = resolve(base_url=endpoint.base_url)
    assert (plain.calibration, plain.fine_tuned_tools) == (IDENTITY, frozenset())  # type: ignore[attr-defined]
    taught = resolve(base_url=endpoint.base_url, adapter=card)
    assert (taught.calibration, taught.fine_tuned_tools) == (IDENTITY, {"match", "calculator"})  # type: ignore[attr-defined]
    assert taught.name == plain.name == "scripted"
    with pytest.raises(ConfigError, match="named by its card"):
        resolve(base_url=endpoint.base_url, adapter="some.gguf")


def test_the_agent_passes_it_on(make: Make) -> None:
    from haluagent import HaluAgent

    make("shipped")
    assert HaluAgent(search="none", sandbox="none").model.name == f"{catalogue.DEFAULT}+haluagent-7"
    assert HaluAgent(search="none", sandbox="none", adapter=None).model.name == catalogue.DEFAULT


# The command line ------------------------------------------------------------------------------------------------


def test_a_command_takes_one_or_none() -> None:
    assert options.AgentOptions().chosen_adapter == "auto"
    assert options.AgentOptions(adapter="a.json").chosen_adapter == "a.json"
    assert options.AgentOptions(no_adapter=True).chosen_adapter is None
    with pytest.raises(ConfigError, match="not both"):
        options.AgentOptions(adapter="a.json", no_adapter=True)


@pytest.mark.parametrize(
    "command",
    [
        ["detect", "--question", "Q?", "--response", "R."], ["chat"], ["batch", "{in}", "--out", "{out}"],
        ["bench", "run", "--datasets", "wordcnt", "--out", "{out}"],
        ["bench", "compare", "--datasets", "wordcnt", "--out", "{out}"],
        ["calibrate", "--data", "{folder}", "--out", "{out}"],
    ],
    ids=lambda command: " ".join(command[:2]),
)  # fmt: skip
@pytest.mark.parametrize(
    ("flags", "adapter"), [([], "auto"), (["--no-adapter"], None), (["--adapter", "a.json"], "a.json")]
)
def test_every_command_passes_it_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str], flags: list[str], adapter: str | None
) -> None:
    asked: list[Any] = []

    def stop(*arguments: Any, **more: Any) -> None:
        asked.append(more["adapter"] if "adapter" in more else arguments[0].chosen_adapter)
        raise ConfigError("enough")

    monkeypatch.setattr(options, "make_agent", stop)
    monkeypatch.setattr("haluagent.cli.batch.make_agents", stop)
    monkeypatch.setattr("haluagent.cli.bench.make_agents", stop)
    monkeypatch.setattr("haluagent.models.resolution.resolve", stop)
    (tmp_path / "in.jsonl").write_text("{}\n")
    places = {"in": tmp_path / "in.jsonl", "out": tmp_path / "out.jsonl", "folder": tmp_path}
    result = CliRunner().invoke(haluagent, [part.format(**places) for part in command] + flags)
    assert str(result.exception) == "enough" and asked == [adapter]


@pytest.mark.parametrize(
    ("flags", "name"), [([], "+haluagent-7"), (["--no-adapter"], ""), (["--adapter", "{mine}"], "+mine")]
)
def test_a_flag_reaches_the_model(make: Make, monkeypatch: pytest.MonkeyPatch, flags: list[str], name: str) -> None:
    from haluagent.cli import endpoints

    make("shipped")
    mine = make(name="mine")
    given = {"adapter": str(mine) if "--adapter" in flags else None, "no_adapter": "--no-adapter" in flags}
    wanted = options.AgentOptions(**given, search="none", sandbox="none")
    assert options.make_agent(wanted).model.name == catalogue.DEFAULT + name
    (agent,), _ = endpoints.make_agents(wanted, [], None)
    assert agent.model.name == catalogue.DEFAULT + name


def test_the_list_shows_the_adapter(make: Make) -> None:
    make("shipped")
    result = CliRunner().invoke(app, ["list"], catch_exceptions=False)
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("haluagent-7")]
    for part in (f"on by default with {catalogue.DEFAULT}", "Apache-2.0", "haluagent-7.gguf"):
        assert part in line
