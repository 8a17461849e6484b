"""Which model to use: flag, then environment, then config file, then the embedded default."""

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import ConfigError
from ..protocols import Model
from ..search.settings import SearchSettings
from ..types import Record
from .dialect import Dialect


class Settings(Record):
    """The config file. All of it is optional; `context` is in tokens, `timeout` in seconds per try.

    `model`, `adapter` and `api_key` belong to the `base_url` they stand beside: an endpoint named elsewhere gets none.
    """

    base_url: str | None = None
    model: str | None = None
    adapter: str | None = None
    api_key: str | None = None
    dialect: Dialect | None = None
    context: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    search: SearchSettings = SearchSettings()


def resolve(
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    concurrency: int | None = None,
    adapter: str | Path | None = "auto",
) -> Model:
    """The model to use: arguments first, then `HALUAGENT_BASE_URL`, `HALUAGENT_MODEL`, `HALUAGENT_API_KEY` and
    `HALUAGENT_ADAPTER`, then the config file, then the embedded default.

    With a base URL it is that endpoint, which is asked once what it is. Without one, `model` is a path to a
    GGUF file or the name of embedded weights. `concurrency` is the number of requests it is sent at a time. `adapter` is
    the path of what the model was taught (see `EmbeddedModel`), or None for a model as it was; of an endpoint, whose model
    has it already, the path of its card. Raises `ConfigError` where the settings name no model that there is, or no
    adapter, and `ModelError` where the endpoint does not answer.
    """
    file = read_settings()
    if concurrency is not None:
        file = file.model_copy(update={"concurrency": concurrency})
    base_url = base_url or os.environ.get("HALUAGENT_BASE_URL")
    if base_url and base_url != file.base_url:
        file = Settings(concurrency=concurrency)
    base_url = base_url or file.base_url
    model = model or os.environ.get("HALUAGENT_MODEL") or file.model
    if adapter == "auto":
        adapter = os.environ.get("HALUAGENT_ADAPTER") or file.adapter or "auto"
    if base_url is None:
        return _embedded(model, file, adapter)
    from .client import OpenAIModel

    options = {name: value for name in ("concurrency", "timeout") if (value := getattr(file, name)) is not None}
    options |= _taught(adapter)
    api_key = api_key or os.environ.get("HALUAGENT_API_KEY") or file.api_key
    return OpenAIModel.connect(base_url, model, api_key=api_key, dialect=file.dialect, context=file.context, **options)


def _taught(adapter: str | Path | None) -> dict[str, Any]:
    """What the card of its adapter says of a served model; nothing without one. Raises ConfigError."""
    if adapter in (None, "auto", "none"):
        return {}
    from .adapters import read_card

    path = Path(str(adapter)).expanduser()
    if path.suffix != ".json":
        raise ConfigError(f"{path} is no card: the adapter of a served model is named by its card (.json), or by none")
    card = read_card(path)
    return {"calibration": card.calibration, "taught": frozenset(card.tools)}


def _embedded(model: str | None, file: Settings, adapter: str | Path | None) -> Model:
    from .embedded import DEFAULT_CONTEXT, EmbeddedModel
    from .weights import DEFAULT, is_known

    name = model or DEFAULT
    if not is_known(name) and not (name.endswith(".gguf") and Path(name).is_file()):
        raise ConfigError(
            f"there is no embedded model {name!r}: give --base-url for a model on a server, "
            "a path to a .gguf file, or a name from `haluagent model list`"
        )
    context, concurrency = file.context or DEFAULT_CONTEXT, file.concurrency or 1
    return EmbeddedModel(name, context=context, adapter=adapter, concurrency=concurrency)


def config_path() -> Path:
    """Where the config file is, whether or not it exists: `HALUAGENT_CONFIG`, or the user's config directory."""
    if given := os.environ.get("HALUAGENT_CONFIG"):
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_config_dir("haluagent")) / "config.toml"


def cache_dir() -> Path:
    """Where weights are kept: `HALUAGENT_CACHE`, or the user's cache directory."""
    if given := os.environ.get("HALUAGENT_CACHE"):
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir("haluagent"))


def read_settings() -> Settings:
    """The config file's settings, empty where there is no file. Raises `ConfigError` naming the file and the key."""
    path = config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if "HALUAGENT_CONFIG" in os.environ and os.environ["HALUAGENT_CONFIG"]:
            raise ConfigError(f"{path} does not exist: correct HALUAGENT_CONFIG or unset it") from None
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    try:
        return Settings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        table = SearchSettings if len(first["loc"]) > 1 else Settings
        known = f"; known keys are {', '.join(table.model_fields)}" if first["type"] == "extra_forbidden" else ""
        raise ConfigError(f"{path}: key {key!r}: {first['msg']}{known}") from None  # it would show what a key holds
