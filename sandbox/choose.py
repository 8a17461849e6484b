"""The choice of a sandbox backend on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from haluagent.errors import ConfigError
from haluagent.sandbox.worker.pooled import SPARE, PooledSandbox
from haluagent.text.messages import message
from haluagent.types import Language, Record

if TYPE_CHECKING:
    from haluagent.sandbox.bubblewrap.backend import BubblewrapSandbox
    from haluagent.sandbox.docker.backend import DockerSandbox

Backend = Literal["docker", "bubblewrap"]
Choice = Literal["auto", "docker", "bubblewrap", "none"]

# In order of preference.
BACKENDS: tuple[Backend, ...] = ("docker", "bubblewrap")
_DOCKER_SOCKET = Path("/var/run/docker.sock")


class Status(Record):
    """A backend's state on this machine: whether it works, and a line with its version or with advice."""

    backend: Backend
    works: bool
    text: str


def resolve(choice: Choice = "auto", *, spare: int = SPARE) -> PooledSandbox | None:
    """Return the chosen sandbox; for `auto` that is Docker, else bubblewrap, else None.

    Starts no worker before the first run, but tests whether the backend works, which takes about a tenth of a second.
    Raise a `ConfigError` with advice if a backend that was named does not work.
    """
    if choice == "none":
        return None
    if choice != "auto":
        sandbox = _make(choice, spare)
        sandbox.check()
        return sandbox
    return next(_working(spare), None)


def advice(language: Language) -> str:
    """Return one line on how to get a sandbox."""
    return message("sandbox.advice", language)


def status() -> list[Status]:
    """Return the status of each backend."""
    found = []
    for backend in BACKENDS:
        try:
            found.append(Status(backend=backend, works=True, text=_make(backend).check()))
        except ConfigError as error:
            found.append(Status(backend=backend, works=False, text=str(error)))
    return found


def _make(backend: Backend, spare: int = 0) -> "DockerSandbox | BubblewrapSandbox":
    # Imported here because docker-py is slow to import.
    if backend == "docker":
        from haluagent.sandbox.docker.backend import DockerSandbox

        return DockerSandbox(spare=spare)
    from haluagent.sandbox.bubblewrap.backend import BubblewrapSandbox

    return BubblewrapSandbox(spare=spare)


def _working(spare: int) -> Iterator[PooledSandbox]:
    for backend in BACKENDS:
        if backend == "docker" and not (os.environ.get("DOCKER_HOST") or _DOCKER_SOCKET.exists()):
            continue
        sandbox = _make(backend, spare)
        try:
            sandbox.check()
        except ConfigError:
            continue
        yield sandbox
