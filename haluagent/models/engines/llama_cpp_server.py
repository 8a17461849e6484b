"""A llama.cpp server in the foreground: `haluagent model serve`."""

import signal
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.models.engines import ServeOptions
from haluagent.models.engines.embedded import DEFAULT_CONTEXT, SLOTS, EmbeddedModel
from haluagent.models.engines.llama_cpp import EngineSettings, start
from haluagent.models.weights.catalogue import DEFAULT


def serve(options: ServeOptions) -> None:
    """Serve weights until Ctrl-C or SIGTERM. Raise `ConfigError` if the engine cannot start with these options."""
    if options.extra or options.max_lora_rank is not None or len(options.lora) > 1:
        raise ConfigError("llama.cpp serves with one --lora at most, without --max-lora-rank and arguments after --")
    name = options.model or DEFAULT
    weights = EmbeddedModel(name, adapter=None).path()
    lora = Path(options.lora[0]) if options.lora else None
    if options.adapter:
        if lora:
            raise ConfigError("llama.cpp serves with one adapter: give --adapter or --lora")
        lora, name = options.adapter.checked(), f"{name}+{options.adapter.name}"
    settings = EngineSettings(
        weights, name, options.context or DEFAULT_CONTEXT, options.parallel or SLOTS, lora=lora, host=options.host,
        port=options.port, api_key=options.api_key,
    )  # fmt: skip
    print(f"loading {weights}", flush=True)
    stopping = (signal.SIGINT, signal.SIGTERM)
    # Before the engine starts: its threads inherit this, so that none of them takes the signal instead of this one.
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    running = start(settings)
    print(f"serving {name} at {running.base_url}; stop with Ctrl-C")
    print(f"use it with: haluagent detect --base-url {running.base_url} …", flush=True)
    signal.sigwait(stopping)
