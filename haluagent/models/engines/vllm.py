"""vLLM in an environment of its own: `haluagent model serve --engine vllm` finds it and becomes it."""

import os
import shlex
import shutil
import subprocess
from dataclasses import replace

from haluagent.errors import ConfigError
from haluagent.models.adapters import Adapter
from haluagent.models.engines import ServeOptions
from haluagent.models.peft import write_peft
from haluagent.models.weights.catalogue import KNOWN


def serve(options: ServeOptions) -> None:
    """Replace this process by vLLM: its output, signals and exit code become those of this command.

    The key is passed in the environment, because every user of the machine can read a command line. Raise `ConfigError`
    where vLLM cannot be started with these options.
    """
    if options.adapter:
        options = _with_adapter(options, options.adapter)
    if options.model is None:
        raise ConfigError("say which model vLLM shall serve: --model ID")
    if any("=" not in adapter for adapter in options.lora):
        raise ConfigError("vLLM takes each adapter with a name: --lora NAME=PATH")
    command = [_working(find(options.executable)), *_arguments(options, options.model)]
    print(shlex.join(command), flush=True)
    os.execve(command[0], command, os.environ | ({"VLLM_API_KEY": options.api_key} if options.api_key else {}))


def _with_adapter(options: ServeOptions, adapter: Adapter) -> ServeOptions:
    """Return the options with an adapter as one more LoRA module, and with its base on the hub where no model is named."""
    place = write_peft(adapter)
    card = adapter.card
    assert card is not None, "write_peft takes only those with a card"
    return replace(
        options,
        model=options.model or KNOWN[card.base].repository,
        lora=(*options.lora, f"{adapter.name}={place}"),
        max_lora_rank=max(options.max_lora_rank or 0, card.rank),
    )


def _arguments(options: ServeOptions, model: str) -> list[str]:
    """Return the arguments of `vllm serve` (0.12 and later)."""
    arguments = ["serve", model, "--host", options.host, "--port", str(options.port)]
    # The second reports what the first saved.
    arguments += [
        "--enable-prefix-caching",
        "--enable-prompt-tokens-details",
    ]
    arguments += ["--structured-outputs-config.backend", "auto"]
    if options.context is not None:
        arguments += ["--max-model-len", str(options.context)]
    if options.parallel is not None:
        arguments += ["--max-num-seqs", str(options.parallel)]
    if options.lora:
        arguments += ["--enable-lora", "--max-loras", str(len(options.lora)), "--lora-modules", *options.lora]
        if options.max_lora_rank is not None:
            arguments += ["--max-lora-rank", str(options.max_lora_rank)]
    return [*arguments, *options.extra]


def _working(executable: str) -> str:
    """Return the executable, once vLLM has shown that it finds its packages and something to run on; its own traceback has
    some fifty lines. Raise `ConfigError` with the last of them."""
    tried = subprocess.run(
        [executable, "serve", "--help"], capture_output=True, text=True, errors="replace", check=False
    )
    if tried.returncode:
        said = [line.strip() for line in (tried.stdout + tried.stderr).splitlines() if line.strip()]
        why = said[-1][:300].rstrip(".") if said else f"it ended with {tried.returncode} and said nothing"
        raise ConfigError(
            f"{executable} does not run here: {why} (there are builds of vLLM for NVIDIA, AMD and Intel GPUs and for CPUs: "
            "install the one for this machine, see docs/engines.md; or use --engine llama.cpp)"
        )
    return executable


def find(given: str | None) -> str:
    """Return the path of the `vllm` executable: the one given, that of `HALUAGENT_VLLM`, or the one on the path.

    What it can run on is for it to say. Raise `ConfigError` if there is none.
    """
    wanted = given or os.environ.get("HALUAGENT_VLLM") or "vllm"
    executable = shutil.which(wanted)
    if executable is None:
        raise ConfigError(
            f"there is no executable {wanted!r}: install vLLM in an environment of its own (pip install vllm) and name "
            "it with --vllm-bin or HALUAGENT_VLLM, or use --engine llama.cpp, which needs neither vLLM nor a GPU"
        )
    return executable
