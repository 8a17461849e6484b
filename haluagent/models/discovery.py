"""Asking a server about itself: its software, its models, and the length of their context."""

from dataclasses import dataclass
from typing import Any

import httpx

from haluagent.errors import ConfigError, ModelError
from haluagent.models.endpoint import headers, is_local, normalize, read_object
from haluagent.models.fields import count_in, list_in, object_in
from haluagent.settings import Dialect
from haluagent.text.failures import describe
from haluagent.text.normalize import without_surrogates

_DIALECT_OF_OWNER: dict[str, Dialect] = {"llamacpp": "llama.cpp", "vllm": "vllm"}


@dataclass(frozen=True)
class Served:
    """A server's description of itself.

    `context` is in tokens per conversation; `slots` is how many samples it takes in one request. Both are None if the
    server does not say.
    """

    dialect: Dialect
    models: tuple[str, ...]
    context: int | None = None
    slots: int | None = None


def discover(base_url: str, api_key: str | None = None, model: str | None = None, timeout: float = 10.0) -> Served:
    """Ask a server what it is, once, with `GET /v1/models` (and `/props` of llama.cpp).

    A server without that list gets the dialect "plain". Raise `ModelError` if nothing answers, `ConfigError` if the API
    key is refused.
    """
    url = normalize(base_url) + "/models"
    with httpx.Client(headers=headers(api_key), timeout=timeout, trust_env=not is_local(base_url)) as client:
        try:
            response = client.get(url)
        except httpx.HTTPError as error:
            raise ModelError(f"{url} gave no answer ({describe(error)}): is the server running?") from error
        if response.status_code in (401, 403):
            raise ConfigError(f"{url} refuses the API key ({response.status_code}): set HALUAGENT_API_KEY")
        if response.status_code in (404, 405, 501):
            return Served("plain", ())
        entries = [entry for entry in list_in(read_object(response), "data") if isinstance(entry, dict)]
        ids = [entry["id"] for entry in entries if entry.get("id") and isinstance(entry["id"], str)]
        names = tuple(map(without_surrogates, ids))
        # A name that is not listed may be an alias of the first model, as in llama.cpp, which takes any name.
        entry = next((e for e in entries if e.get("id") == model), entries[0] if entries else {})
        dialect = _DIALECT_OF_OWNER.get(str(entry.get("owned_by")), "plain")
        if dialect == "llama.cpp":
            props = _props(client, url)
            settings, meta = object_in(props, "default_generation_settings"), object_in(entry, "meta")
            context = count_in(settings, "n_ctx") or count_in(meta, "n_ctx") or count_in(meta, "n_ctx_train")
            return Served(dialect, names, context, count_in(props, "total_slots") or None)
        # vLLM says the length of the base alone, which it lists before its adapters.
        lengths = (count_in(one, "max_model_len") for one in (entry, *entries[:1]))
        return Served(dialect, names, next(filter(None, lengths), None))


def _props(client: httpx.Client, models_url: str) -> dict[str, Any]:
    """Return llama.cpp's description of itself, or an empty object if that page is switched off."""
    try:
        return read_object(client.get(models_url.removesuffix("/v1/models") + "/props"))
    except (httpx.HTTPError, ModelError):
        return {}
