"""The client of a peer: it runs the worker process under the peer's own Python and sends it one item at a time as a
JSON line."""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Self

from haluagent.bench.peers.install import python_of
from haluagent.bench.peers.meter_proxy import MeterProxy
from haluagent.errors import ConfigError
from haluagent.types import Usage

_LINE = 1 << 24  # bytes: a reference may be long, and asyncio's own limit is 64 KiB
# The only variables a worker inherits: none of the user's keys, no setting that sends data elsewhere.
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "OMP_NUM_THREADS")


class PeerAnswer(NamedTuple):
    """A peer's answer for one item: `verdict` is True for a hallucination and None if there is none (then `error` is
    set), `score` is the probability of a hallucination in [0, 1], `usage` the cost of its calls, `seconds` the
    wall-clock time."""

    verdict: bool | None
    score: float
    error: str | None
    usage: Usage
    seconds: float


class Peer:
    """The peer `name` with the model `model` of the endpoint behind `proxy`.

    Give each peer its own proxy: what the proxy meters between an item and its answer is the cost of that item.
    `timeout` is in seconds and applies to each item and to the start of the worker. `python` and `worker` default to
    the installed ones. Raises ConfigError if the peer is not installed.
    """

    def __init__(
        self,
        name: str,
        proxy: MeterProxy,
        model: str,
        *,
        timeout: float = 600.0,
        python: Path | None = None,
        worker: Path | None = None,
    ) -> None:
        self.name = name
        self._proxy = proxy
        self._model = model
        self._timeout = timeout
        self._python = python or python_of(name)
        self._worker = worker or Path(str(files(__package__).joinpath("workers", f"{name}_worker.py")))
        if not self._worker.is_file():
            raise ConfigError(f"{self._worker} is not there: install haluagent again")
        self._process: asyncio.subprocess.Process | None = None
        self._stderr: asyncio.Task[str] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        # Its own home directory: libraries keep logins and caches there, and must not see the user's.
        self._home = tempfile.TemporaryDirectory(prefix=f"haluagent-{self.name}-", ignore_cleanup_errors=True)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._end()
        self._home.cleanup()

    async def detect(self, question: str, response: str, reference: str | None = None) -> PeerAnswer:
        """Return the peer's answer for an item. If the worker exits or takes too long, the item gets an error with the
        last line of its stderr, and the next item gets a new worker."""
        line = json.dumps({"question": question, "response": response, "reference": reference or ""}) + "\n"
        async with self._one_at_a_time:
            before, began = self._proxy.usage, time.monotonic()
            try:
                async with asyncio.timeout(self._timeout):
                    process = await self._running()
                began = time.monotonic()  # the start-up does not count as the item's time
                async with asyncio.timeout(self._timeout):
                    answer = _read(await _say(process, line.encode()))
            except TimeoutError:
                answer = _failed(f"{self.name} gave no answer in {self._timeout:g} s", await self._end())
            except (EOFError, OSError):
                answer = _failed(f"the worker of {self.name} ended", await self._end())
            except ValueError as error:
                answer = _failed(f"the worker of {self.name} answered {error}", await self._end())
            except BaseException:  # cancelled: its answer must not be taken for the next item's
                await self._end(wait=False)
                raise
            seconds = time.monotonic() - began
            return PeerAnswer(**answer, usage=self._proxy.usage - before, seconds=seconds)

    async def _running(self) -> asyncio.subprocess.Process:
        """Return the worker, started if necessary, once it has said that it is ready. Raises EOFError if it exited,
        ValueError if it says something else."""
        if self._process is not None and self._process.returncode is not None:
            await self._end()
        if self._process is not None:
            return self._process
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "HOME": self._home.name,
            "OPENAI_BASE_URL": self._proxy.url,
            "OPENAI_API_KEY": self._proxy.api_key,
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        pipe = asyncio.subprocess.PIPE
        process = self._process = await asyncio.create_subprocess_exec(
            str(self._python), str(self._worker), self._model,
            stdin=pipe, stdout=pipe, stderr=pipe, limit=_LINE, env=environment, cwd=self._home.name,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        self._stderr = asyncio.create_task(_last_line(process.stderr))
        if not (said := await process.stdout.readline()).endswith(b"\n"):
            raise EOFError
        if said.strip() != b'{"ready": true}':
            raise ValueError(said[:200].decode(errors="replace").strip())
        return process

    async def _end(self, wait: bool = True) -> str:
        """Kill the worker, if there is one, and return the last line of its stderr. With `wait`, wait for its last
        calls to end, so that their cost is not charged to another item."""
        if self._process is None or self._stderr is None:
            return ""
        process, stderr = self._process, self._stderr
        self._process = self._stderr = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # including any child processes
        await process.wait()
        if wait:
            await asyncio.to_thread(self._proxy.wait_idle, self._timeout)
        return await stderr


async def _say(process: asyncio.subprocess.Process, line: bytes) -> bytes:
    """Send a line to the worker and return its answer. Raises EOFError or an OSError if the worker has exited."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line)
    await process.stdin.drain()
    said = await process.stdout.readline()
    if not said.endswith(b"\n"):
        raise EOFError
    return said


def _read(said: bytes) -> dict[str, Any]:
    """Parse a worker's answer. Raises ValueError quoting it if it is not a valid one."""
    try:
        answer = json.loads(said)
        verdict, score, error = answer["verdict"], float(answer["score"]), answer["error"]
        if 0 <= score <= 1 and isinstance(verdict, bool | None) and (verdict is None) == bool(error):
            return {"verdict": verdict, "score": score, "error": error}
    except (ValueError, TypeError, KeyError):
        pass
    raise ValueError(said[:200].decode(errors="replace").strip())


async def _last_line(stream: asyncio.StreamReader) -> str:
    """Return the last non-empty line of a stream when it ends. Reading continuously keeps the writer from blocking."""
    last, rest = "", b""
    while block := await stream.read(1 << 16):
        *lines, rest = (rest[-4096:] + block).split(b"\n")
        last = next((text for line in reversed(lines) if (text := line.decode(errors="replace").strip())), last)
    return rest.decode(errors="replace").strip() or last


def _failed(what: str, last: str) -> dict[str, Any]:
    return {"verdict": None, "score": 0.5, "error": f"{what}: {last[:300]}" if last else what}
