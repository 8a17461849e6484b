"""The choice of a model: flag, then environment, then config file, then the embedded default."""

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from haluagent.errors import ConfigError
from haluagent.models.adapters import read_card
from haluagent.models.calibration import Calibration, CalibrationFile
from haluagent.models.client import OpenAIModel
from haluagent.models.engines.embedded import DEFAULT_CONTEXT, EmbeddedModel
from haluagent.models.weights.catalogue import DEFAULT, is_known
from haluagent.protocols import Model
from haluagent.settings import Settings, read_settings


def resolve(
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    concurrency: int | None = None,
    adapter: str | Path | None = "auto",
) -> Model:
    """Return the model to use.

    Arguments come first, then `HALUAGENT_BASE_URL`, `HALUAGENT_MODEL`, `HALUAGENT_API_KEY` and `HALUAGENT_ADAPTER`,
    then the config file, then the embedded default. With a base URL the model is that endpoint, which is asked once
    what it is. Without one, `model` is a path to a GGUF file or the name of embedded weights. `concurrency` is the
    number of requests sent at a time. `adapter` is the path of an adapter (see `EmbeddedModel`), or None for the base
    model; for an endpoint, whose model has it already, it is the path of the adapter's card. `HALUAGENT_CALIBRATION` or the
    config file name a calibration that was fitted to the model (`haluagent calibrate`). Raise `ConfigError` if the
    settings name a model, an adapter or a calibration that does not exist, `ModelError` if the endpoint does not answer.
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
    calibration = _calibration(os.environ.get("HALUAGENT_CALIBRATION") or file.calibration)
    if base_url is None:
        embedded = _embedded(model, file, adapter)
        embedded.calibration = calibration or embedded.calibration
        return embedded

    options = {name: value for name in ("concurrency", "timeout") if (value := getattr(file, name)) is not None}
    options |= _of_adapter(adapter) | ({"calibration": calibration} if calibration else {})
    api_key = api_key or os.environ.get("HALUAGENT_API_KEY") or file.api_key
    return OpenAIModel.connect(base_url, model, api_key=api_key, dialect=file.dialect, context=file.context, **options)


def _of_adapter(adapter: str | Path | None) -> dict[str, Any]:
    """Return a served model's options from the card of its adapter; empty without one. Raise `ConfigError`."""
    if adapter in (None, "auto", "none"):
        return {}

    path = Path(str(adapter)).expanduser()
    if path.suffix != ".json":
        raise ConfigError(f"{path} is no card: the adapter of a served model is named by its card (.json), or by none")
    card = read_card(path)
    return card.of_served()


def _calibration(path: str | None) -> Calibration | None:
    """Return the calibration in a file; None without one. Raise `ConfigError` naming the file and what is wrong in it."""
    if path is None:
        return None
    try:
        return CalibrationFile.model_validate_json(Path(path).expanduser().read_bytes()).calibration
    except OSError as error:
        raise ConfigError(f"the calibration {path} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ConfigError(f"{path} is no calibration: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _embedded(model: str | None, file: Settings, adapter: str | Path | None) -> EmbeddedModel:
    name = model or DEFAULT
    if not is_known(name) and not (name.endswith(".gguf") and Path(name).is_file()):
        raise ConfigError(
            f"there is no embedded model {name!r}: give --base-url for a model on a server, "
            "a path to a .gguf file, or a name from `haluagent model list`"
        )
    context, concurrency = file.context or DEFAULT_CONTEXT, file.concurrency or 1
    return EmbeddedModel(name, context=context, adapter=adapter, concurrency=concurrency)
