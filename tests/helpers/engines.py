"""Real engines that serve one small model, SmolLM2: in this process, and as `haluagent model serve` starts them."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import lora
import vllm_cpu

from haluagent.models import OpenAIModel
from haluagent.models.endpoint import headers
from haluagent.models.engines.embedded import EmbeddedModel

BASE = vllm_cpu.BASE
CONTEXT = 4096
KEY = "the key"
PROGRAM = "import sys; from haluagent.cli.main import main; main()"


@dataclass
class Engine:
    """An engine that runs. `plain` is the model, `tuned` the same with a random adapter. `another()` starts a second
    server of the model, where there are servers."""

    name: str
    plain: Any
    tuned: Any
    another: Callable[[], "Server"] | None = None


@dataclass
class Server:
    url: str
    process: "subprocess.Popen[bytes]"

    def kill(self) -> None:
        """End it at once, with all of its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def started(name: str, folder: Path) -> Iterator[Engine]:
    adapter = lora.random_adapter(folder, BASE)
    with ExitStack() as stack:

        def serve(*arguments: str) -> Server:
            return stack.enter_context(serving(name, arguments, folder))

        if name == "embedded":
            yield Engine(
                name,
                EmbeddedModel(BASE, context=CONTEXT),
                EmbeddedModel(BASE, lora=adapter.gguf, adapter=None, context=CONTEXT),
            )
        elif name == "llama.cpp":
            ours = ("--model", BASE, "--parallel", "4")
            plain, tuned = serve(*ours), serve(*ours, "--lora", str(adapter.gguf))
            yield Engine(name, client(plain), client(tuned), lambda: serve(*ours))
        else:
            ours = ("--model", str(vllm_cpu.model()))
            own = ("--", "--enforce-eager", "--served-model-name", BASE)
            both = serve(*ours, "--lora", f"tuned={adapter.peft}", "--max-lora-rank", str(lora.RANK), *own)
            yield Engine(name, client(both), client(both, "tuned"), lambda: serve(*ours, *own))


def client(server: Server, name: str = BASE, key: str | None = KEY) -> OpenAIModel:
    return OpenAIModel.connect(server.url, name, api_key=key)


@contextmanager
def serving(engine: str, arguments: Sequence[str], folder: Path) -> Iterator[Server]:
    """`haluagent model serve`, ended with all its processes."""
    port = free_port()
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "model",
        "serve",
        "--engine",
        engine,
        "--port",
        str(port),
        "--api-key",
        KEY,
    ]
    if "--context" not in arguments:
        command += ["--context", str(CONTEXT)]
    command += arguments
    log = folder / f"{port}.log"
    environment = dict(os.environ)
    if engine == "vllm":
        environment |= vllm_cpu.SETTINGS | {"HALUAGENT_VLLM": str(vllm_cpu.executable())}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    server = Server(f"http://127.0.0.1:{port}/v1", process)
    try:
        _wait(server, log)
        yield server
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        server.kill()


def _wait(server: Server, log: Path) -> None:
    """Wait until the server lists its models; the limit of a test ends it where that never comes."""
    while server.process.poll() is None:
        with suppress(httpx.TransportError):
            asked = httpx.get(f"{server.url}/models", headers=headers(KEY), trust_env=False, timeout=60)
            if asked.status_code == 200:  # llama.cpp says 503 while it loads
                return
        time.sleep(0.5)  # it takes from seconds to a minute, and is not to lose them to the asking
    raise AssertionError(f"the server ended with {server.process.returncode}:\n{log.read_text()[-3000:]}")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
