"""How a server wants its constraints spelled, and how to find out which server it is.

The chat API is the same everywhere; holding the text to a grammar is not. llama.cpp takes `grammar`,
vLLM since 0.12 takes `structured_outputs`, and a server that takes neither is asked without.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import httpx

from ..errors import ConfigError, ModelError
from .endpoint import describe, headers, is_local, normalize, read_object

Dialect = Literal["llama.cpp", "vllm", "plain"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
_DIALECT_OF_OWNER: dict[str, Dialect] = {"llamacpp": "llama.cpp", "vllm": "vllm"}


def grammar_fields(dialect: Dialect, grammar: str | None) -> dict[str, Any]:
    """The request fields that hold a text to a GBNF grammar; none where there is no way to."""
    if not grammar or dialect == "plain":
        return {}
    return {"grammar": grammar} if dialect == "llama.cpp" else {"structured_outputs": {"grammar": grammar}}


def choice_fields(dialect: Dialect, choices: Sequence[str]) -> dict[str, Any]:
    """The request fields that hold a text to one of a few literal answers."""
    if dialect == "vllm":
        return {"structured_outputs": {"choice": list(choices)}}
    # JSON escapes are GBNF escapes for every character a choice can hold.
    literals = " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    return grammar_fields(dialect, f"root ::= {literals}")


def scoring_fields(dialect: Dialect, choices: Sequence[str]) -> dict[str, Any]:
    """The constraint to send when a choice is scored by its log-probabilities.

    vLLM masks the logits first, so that its constraint brings every choice into the top tokens. llama.cpp
    reports log-probabilities from before the grammar (measured), so that there it would change nothing.
    """
    return choice_fields(dialect, choices) if dialect == "vllm" else {}


@dataclass(frozen=True)
class Served:
    """What a server says about itself. `context` is in tokens per conversation, `slots` is how many
    samples it takes in one request; None where it does not say."""

    dialect: Dialect
    models: tuple[str, ...]
    context: int | None = None
    slots: int | None = None


def discover(base_url: str, api_key: str | None = None, model: str | None = None, timeout: float = 10.0) -> Served:
    """Ask a server what it is, once, with `GET /v1/models` (and `/props` of llama.cpp).

    A server without that list is spoken to plainly. Raises `ModelError` where nothing answers and
    `ConfigError` where the API key is refused.
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
        entries = [entry for entry in read_object(response).get("data") or [] if isinstance(entry, dict)]
        names = tuple(str(entry["id"]) for entry in entries if "id" in entry)
        # A name that is not listed may be an alias of the first model, as in llama.cpp, which takes any name.
        entry = next((e for e in entries if e.get("id") == model), entries[0] if entries else {})
        dialect = _DIALECT_OF_OWNER.get(str(entry.get("owned_by")), "plain")
        if dialect == "llama.cpp":
            props = _props(client, url)
            settings, meta = props.get("default_generation_settings") or {}, entry.get("meta") or {}
            context = settings.get("n_ctx") or meta.get("n_ctx") or meta.get("n_ctx_train")
            return Served(dialect, names, context, props.get("total_slots"))
        return Served(dialect, names, entry.get("max_model_len"))


def _props(client: httpx.Client, models_url: str) -> dict[str, Any]:
    """llama.cpp's own page about itself; it may be switched off, and then we know less."""
    try:
        return read_object(client.get(models_url.removesuffix("/v1/models") + "/props"))
    except (httpx.HTTPError, ModelError):
        return {}
