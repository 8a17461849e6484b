"""A model server in the foreground: llama.cpp with the embedded weights, or vLLM in an environment of its own."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from haluagent.errors import ConfigError


def serve_embedded(
    weights: Path, name: str, *, host: str, port: int, context: int, slots: int, lora: Path | None, api_key: str | None
) -> None:
    """Serve weights with llama.cpp until Ctrl-C or SIGTERM. Raise `ConfigError` if the engine cannot start."""
    from haluagent.models.engines import llama_cpp

    print(f"loading {weights}", flush=True)
    settings = llama_cpp.EngineSettings(weights, name, context, slots, lora=lora, host=host, port=port, api_key=api_key)
    stopping = (signal.SIGINT, signal.SIGTERM)
    # Before the engine starts: its threads inherit this, so that none of them takes the signal instead of this one.
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    running = llama_cpp.start(settings)
    print(f"serving {name} at {running.base_url}; stop with Ctrl-C")
    print(f"use it with: haluagent detect --base-url {running.base_url} …", flush=True)
    signal.sigwait(stopping)


def vllm_command(
    executable: str,
    model: str,
    *,
    host: str,
    port: int,
    context: int | None = None,
    parallel: int | None = None,
    lora: Sequence[str] = (),
    max_lora_rank: int | None = None,
    extra: Sequence[str] = (),
) -> list[str]:
    """Return the command line of `vllm serve` (0.12 and later).

    `lora` holds `NAME=PATH`; `extra` is appended unchanged.
    """
    command = [executable, "serve", model, "--host", host, "--port", str(port)]
    command += ["--enable-prefix-caching", "--enable-prompt-tokens-details"]  # the second reports what the first saved
    command += ["--structured-outputs-config.backend", "auto"]
    if context is not None:
        command += ["--max-model-len", str(context)]
    if parallel is not None:
        command += ["--max-num-seqs", str(parallel)]
    if lora:
        command += ["--enable-lora", "--max-loras", str(len(lora)), "--lora-modules", *lora]
        if max_lora_rank is not None:
            command += ["--max-lora-rank", str(max_lora_rank)]
    return command + list(extra)


def find_vllm(given: str | None) -> str:
    """Return the path of the `vllm` executable: the one given, that of `HALUAGENT_VLLM`, or the one on the path.

    Raise `ConfigError` if there is none, or no NVIDIA GPU for it to run on.
    """
    wanted = given or os.environ.get("HALUAGENT_VLLM") or "vllm"
    executable = shutil.which(wanted)
    if executable is None:
        raise ConfigError(
            f"there is no executable {wanted!r}: install vLLM in an environment of its own (pip install vllm) and name "
            "it with --vllm-bin or HALUAGENT_VLLM, or use --engine llama.cpp, which needs neither vLLM nor a GPU"
        )
    if not has_nvidia_gpu():
        raise ConfigError("vLLM needs an NVIDIA GPU and nvidia-smi lists none here: use --engine llama.cpp instead")
    return executable


def has_nvidia_gpu() -> bool:
    """Return whether nvidia-smi lists a GPU."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return "GPU" in listed.stdout


def serve_vllm(command: Sequence[str], api_key: str | None = None) -> None:
    """Replace this process by vLLM: its output, signals and exit code become those of this command.

    The key is passed in the environment, because every user of the machine can read a command line.
    """
    print(shlex.join(command), flush=True)
    os.execve(command[0], list(command), os.environ | ({"VLLM_API_KEY": api_key} if api_key else {}))
