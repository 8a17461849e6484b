"""llama.cpp in this process, with its own HTTP server: one engine for each combination of weights and settings."""

import os
import secrets
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError
from haluagent.models.engines import own_build

PROMPT_CACHE_MIB = 1024  # saved prompts of idle slots; the engine's own default is 8 GB


@dataclass(frozen=True)
class EngineSettings:
    """The settings of an engine.

    `context` is in tokens per slot; each slot serves one request at a time. `port` 0 takes a free one. `lora` is a GGUF
    adapter, applied to every request. `states` is a directory for the states of slots. With `contexts`, all slots share
    the memory of that many contexts, so that the cache holds more conversations than could grow to full size together.

    One adapter per engine: llama.cpp would reuse the cache of one adapter for another, and write garbage.
    """

    weights: Path
    name: str
    context: int
    slots: int = 4
    contexts: int | None = None
    lora: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    api_key: str | None = None
    states: Path | None = None


@dataclass(frozen=True)
class Engine:
    """A running engine: the base URL of its API and the key it asks for. It stops with the process."""

    base_url: str
    api_key: str | None
    server: Any

    def identity(self, settings: EngineSettings) -> str:
        """Return what a saved state depends on: the engine's release, the weights, the adapter, and the size of a
        slot."""
        from importlib.metadata import version

        files = [file.stat() for file in (settings.weights, settings.lora) if file]
        marks = [f"{stat.st_size}-{stat.st_mtime_ns}" for stat in files]
        return " ".join([version("xllamacpp"), *marks, str(settings.context)])


_engines: dict[EngineSettings, Engine] = {}
_starting = threading.Lock()


def shared(settings: EngineSettings) -> Engine:
    """Return the engine with these settings, started if this process has none yet.

    It listens on loopback under a random key, so that neither another user of the machine nor a page in a browser can
    use it. Loading holds the interpreter's lock: 2.7 s measured for the default weights.
    """
    with _starting:
        if settings not in _engines:
            private = EngineSettings(**(vars(settings) | {"api_key": secrets.token_urlsafe(16)}))
            _engines[settings] = start(private)
        return _engines[settings]


def start(settings: EngineSettings) -> Engine:
    """Load the weights and listen. Raise `ConfigError` if the engine is not installed or does not start."""
    # OpenMP's threads otherwise spin while they wait, and take the cores from everyone else, even from each other:
    # 0.4 tokens a second beside another busy process, against 7. The library reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    own_build.prefer()
    try:
        import xllamacpp
    except ImportError:
        raise ConfigError('the embedded engine is not installed: pip install "haluagent[embedded]"') from None
    for file in filter(None, (settings.weights, settings.lora)):
        if not file.is_file():
            raise ConfigError(f"{file} is not there")
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.weights)
    params.model_alias = {settings.name}
    params.n_ctx = settings.context * (settings.contexts or settings.slots)
    params.kv_unified = settings.contexts is not None
    params.n_parallel = settings.slots
    params.cpuparams.n_threads = threads()
    params.cache_ram_mib = PROMPT_CACHE_MIB
    # Otherwise a slot is emptied into that cache whenever another works, and its contents may return to any slot, even
    # to one that the samples of a prompt are put into, which would overwrite them.
    params.cache_idle_slots = False
    params.verbosity = 0  # no output on standard output or standard error
    params.ui = False
    params.endpoint_metrics = True
    params.hostnames = [settings.host]
    params.port = settings.port
    params.cors_origins = "localhost"  # pages from elsewhere may not read its answers
    if settings.api_key:
        params.api_keys = [settings.api_key]
    if settings.states:
        params.slot_save_path = f"{settings.states}{os.sep}"
        params.endpoint_slots = True
    if settings.lora:
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(settings.lora), 1.0)]
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise ConfigError(
            f"llama.cpp did not start with {settings.weights} on {settings.host}:{settings.port or 'a free port'}: "
            "is it a GGUF file, is the port free, is there memory enough (a smaller --context needs less)?"
        ) from error
    return Engine(server.listening_address + "/v1", settings.api_key, server)


def threads() -> int:
    """Return the number of cores this process may use, not counting second hardware threads, which share the arithmetic
    units."""
    cores = set()
    if sys.platform == "linux":
        allowed = os.sched_getaffinity(0)
    else:
        allowed = set(range(os.cpu_count() or 1))
    for cpu in allowed:
        try:
            siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            siblings = str(cpu)
        cores.add(siblings)
    # Two threads even where both share one core: one waits for memory while the other computes.
    return max(len(cores), min(2, len(allowed)))
