"""Which sandbox there is here."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from haluagent.errors import ConfigError
from haluagent.sandbox.worker.pooled import SPARE, PooledSandbox
from haluagent.types import Language, Record

if TYPE_CHECKING:
    from haluagent.sandbox.bubblewrap.backend import BubblewrapSandbox
    from haluagent.sandbox.docker.backend import DockerSandbox

Backend = Literal["docker", "bubblewrap"]
Choice = Literal["auto", "docker", "bubblewrap", "none"]

# In the order of preference.
BACKENDS: tuple[Backend, ...] = ("docker", "bubblewrap")
_DOCKER_SOCKET = Path("/var/run/docker.sock")
_ADVICE: dict[Language, str] = {
    "en": "there is no sandbox to run code in: start Docker and run `haluagent sandbox build`, or install bubblewrap "
    "(on Linux); `haluagent sandbox status` says what is missing",
    "zh": "没有可以运行代码的沙箱：请启动 Docker 并运行 `haluagent sandbox build`，或安装 bubblewrap（Linux）；"
    "`haluagent sandbox status` 会说明缺少什么",
}


class Status(Record):
    """Whether a backend works here, and a line about it: its version, or what to do."""

    backend: Backend
    works: bool
    text: str


def resolve(choice: Choice = "auto", *, spare: int = SPARE) -> PooledSandbox | None:
    """The sandbox that was chosen; for `auto` Docker, else bubblewrap, else None.

    It starts nothing before its first run, but it is asked, or tried, whether it works: about a tenth of a second.
    Raises ConfigError where one that was named does not work, with what to do.
    """
    if choice == "none":
        return None
    if choice != "auto":
        sandbox = _make(choice, spare)
        sandbox.check()
        return sandbox
    return next(_working(spare), None)


def advice(language: Language) -> str:
    """One line for someone who has no sandbox, on how to get one."""
    return _ADVICE[language]


def status() -> list[Status]:
    """What each backend says of itself."""
    found = []
    for backend in BACKENDS:
        try:
            found.append(Status(backend=backend, works=True, text=_make(backend).check()))
        except ConfigError as error:
            found.append(Status(backend=backend, works=False, text=str(error)))
    return found


def _make(backend: Backend, spare: int = 0) -> "DockerSandbox | BubblewrapSandbox":
    # Imported here, because docker-py takes its time.
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
