"""The engines that `haluagent model serve` can start. Another engine is a module with `serve(options)`, and two lines here."""

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from haluagent.models.adapters import Adapter

EngineName = Literal["llama.cpp", "vllm"]

ENGINES: dict[EngineName, str] = {
    "llama.cpp": "haluagent.models.engines.llama_cpp_server",
    "vllm": "haluagent.models.engines.vllm",
}


@dataclass(frozen=True)
class ServeOptions:
    """The options of a model server; None leaves the engine's own default.

    `model` is what the engine calls one: weights for llama.cpp, an id or a path for vLLM. `adapter` is the package's own, to be
    served with its base or with a model that was made from it. `context` is in tokens per conversation, `parallel` the number of
    requests at a time. `extra` are arguments for the engine itself.
    """

    model: str | None
    host: str
    port: int
    context: int | None = None
    parallel: int | None = None
    lora: tuple[str, ...] = ()
    max_lora_rank: int | None = None
    executable: str | None = None
    api_key: str | None = None
    extra: tuple[str, ...] = ()
    adapter: "Adapter | None" = None


def serve(engine: EngineName, options: ServeOptions) -> None:
    """Serve a model in the foreground with the engine of that name. Raise `ConfigError` where it cannot start."""
    importlib.import_module(ENGINES[engine]).serve(options)
