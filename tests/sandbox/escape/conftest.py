"""The arena of the escape tests: every program attacks each real backend, and every time the host is looked at.

An attack is a program with a prelude: `attempt` writes `refused NAME ERROR` or `ESCAPED NAME …` for each thing it
tries, so that a test sees that it was tried. The processes of an attack carry a mark in their name, which the host
sees from outside. Attacks are bounded: where a sandbox fails, they cost the host a gigabyte for seconds, no more.
"""

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from seen import marked
from waiting import until

from haluagent.protocols import Execution, Sandbox

PRELUDE = """
import ctypes, errno, os, platform, sys, time

ctypes.CDLL(None).prctl(15, MARK.encode(), 0, 0, 0)  # PR_SET_NAME
os.environ["HX_LEFT"] = MARK
for place in ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), "."):
    try:
        with open(place + "/hx-left", "w") as file:
            file.write(MARK)
    except OSError:
        pass

def attempt(name, call):
    try:
        value = call()
    except OSError as error:
        print("refused", name, errno.errorcode.get(error.errno, error.errno), flush=True)
    except Exception as error:
        print("refused", name, type(error).__name__, flush=True)
    else:
        print("ESCAPED", name, repr(value)[:200], flush=True)

def syscall(x86, arm, *arguments):
    number = x86 if platform.machine() == "x86_64" else arm
    libc = ctypes.CDLL(None, use_errno=True)
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    value = libc.syscall(ctypes.c_long(number), *values)
    if value == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return value
"""

GOOD = """
import json, math, os, random, statistics, string, sys, traceback
places = ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), ".")
left = [place for place in places if os.path.exists(place + "/hx-left")]
assert not left, left
assert "HX_LEFT" not in os.environ
assert statistics.mean([1, 2, 6]) == 3 and math.factorial(5) == 120
print("good", json.dumps({"sum": sum(range(101))}), "中文")
"""
SESSION = f"hx{secrets.token_hex(3)}-"  # how the marks of all attacks of this process begin; a name has 15 characters


@dataclass
class Attack:
    """What a program did, as it says itself, and what the host saw of it."""

    execution: Execution
    refused: dict[str, str]
    processes: int = 0
    uids: set[int] = field(default_factory=set)


@dataclass
class Watch:
    """Looks at the host's processes while an attack runs: how many carry its mark, and whose they are."""

    mark: str
    processes: int = 0
    uids: set[int] = field(default_factory=set)
    _end: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Watch":
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(0.05):
            found = marked(self.mark)
            self.processes = max(self.processes, len(found))
            for pid in [*found][:3]:
                with contextlib.suppress(OSError):
                    self.uids.add(os.stat(f"/proc/{pid}").st_uid)


class Arena:
    """One sandbox under attack. Calling it runs a program and checks what must hold after every attack."""

    def __init__(self, sandbox: Sandbox, runner: asyncio.Runner, bystander: "subprocess.Popen[bytes]") -> None:
        self.sandbox = sandbox
        self.name = sandbox.name
        self._runner = runner
        self._bystander = bystander

    @staticmethod
    def mark() -> str:
        """A new name for the processes of an attack, by which `marked` finds them on the host."""
        return SESSION + secrets.token_hex(3)

    marked = staticmethod(marked)

    def run(self, code: str, seconds: float = 5.0, sandbox: Sandbox | None = None) -> Execution:
        """A program as it is, with nothing added and nothing checked."""
        return self._runner.run((sandbox or self.sandbox).run(code, seconds=seconds))

    def together(self, *codes: str, seconds: float = 5.0) -> list[Execution]:
        """Programs at the same time."""

        async def gather() -> list[Execution]:
            return await asyncio.gather(*(self.sandbox.run(code, seconds=seconds) for code in codes))

        return self._runner.run(gather())

    def __call__(self, code: str, *, seconds: float = 2.0, prelude: bool = True, **names: object) -> Attack:
        """Attack with a program; `names` are constants for it. Raises SandboxError where the sandbox did."""
        mark = self.mark()
        if prelude:
            code = "\n".join(f"{name} = {value!r}" for name, value in {"MARK": mark, **names}.items()) + PRELUDE + code
        with Watch(mark) as watch:
            execution = self.run(code, seconds)
        lines = [line.split() for line in execution.stdout.splitlines()]
        refused = {line[1]: line[2] for line in lines if len(line) == 3 and line[0] == "refused"}
        print(execution)  # pytest shows it where a check fails
        assert "ESCAPED" not in execution.stdout
        json.loads(execution.model_dump_json())
        self._check_host(mark)
        self.check_next()
        return Attack(execution, refused, watch.processes, watch.uids)

    def check_next(self, sandbox: Sandbox | None = None) -> None:
        """The next run is unaffected."""
        after = self.run(GOOD, sandbox=sandbox)
        assert (after.outcome, after.stdout, after.stderr) == ("ok", 'good {"sum": 5050} 中文\n', "")

    def _check_host(self, mark: str) -> None:
        """No process outlives its run, and the host's own are still there."""
        until(lambda: not marked(mark))  # a busy kernel takes seconds to end processes that hold many sockets
        assert self._bystander.poll() is None, "a process of the host was killed"


@dataclass(frozen=True)
class Secret:
    """A text that only the host knows: in its environment and in files that anyone on it may read."""

    text: str
    paths: tuple[str, ...]


@pytest.fixture(scope="session")
def secret() -> Iterator[Secret]:
    text = f"hx-secret-{secrets.token_hex(16)}"
    name = f"hx-{secrets.token_hex(4)}"
    paths = [Path(place) / name for place in ("/tmp", "/var/tmp", "/dev/shm", Path.home())]
    os.environ["HALUAGENT_ESCAPE_SECRET"] = text
    try:
        for path in paths:
            path.write_text(text)
            path.chmod(0o644)
        yield Secret(text, tuple(map(str, paths)))
    finally:
        del os.environ["HALUAGENT_ESCAPE_SECRET"]
        for path in paths:
            path.unlink(missing_ok=True)


def _host() -> dict[str, Any]:
    """Return the state of the host that no attack may change, and what is free of it, in MiB.

    For memory it is what no process holds, with a minus: files in memory, shared segments, and the kernel's own. What
    other programs hold is theirs.
    """
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    kernel = {name: Path(f"/proc/sys/kernel/{name}").read_text() for name in ("core_pattern", "hostname")}
    return kernel | {
        "python": Path(sys.executable).resolve().stat().st_mtime_ns,
        "memory": -sum(int(memory[name].split()[0]) for name in ("Shmem", "SUnreclaim")) >> 10,
        "disk": shutil.disk_usage("/").free >> 20,
        "shm": shutil.disk_usage("/dev/shm").free >> 20,
    }


def _left(backend: str) -> list[str]:
    """Files that an attack would have written, had it come out, and control groups and containers of this process."""
    files = [Path(place) / "hx-left" for place in ("/tmp", "/var/tmp", "/dev/shm", Path.home())]
    # The groups of other processes may go away meanwhile, which ends a `Path.rglob`.
    every = [Path(at) / name for at, names, _ in os.walk("/sys/fs/cgroup") for name in names]
    groups = [path for path in every if path.match(f"haluagent-sandbox@*@{os.getpid()}@*")]
    left = [str(path) for path in (*files, *groups) if path.exists()]
    if backend == "docker":
        import docker

        with contextlib.closing(docker.from_env()) as client:
            for container in client.api.containers(all=True, filters={"label": "haluagent.sandbox.owner"}):
                with contextlib.suppress(docker.errors.NotFound):  # the engine may list what is gone
                    label = client.api.inspect_container(container)["Config"]["Labels"]["haluagent.sandbox.owner"]
                    left += [container["Id"]] * (f"/{os.getpid()}/" in label)
    return left


def _make(backend: str, patch: pytest.MonkeyPatch) -> Sandbox:
    """`watched` is bubblewrap where no control group can be made, as for most users."""
    if backend == "docker":
        from haluagent.sandbox.docker.backend import DockerSandbox

        return DockerSandbox()
    from haluagent.sandbox.bubblewrap import cgroups
    from haluagent.sandbox.bubblewrap.backend import BubblewrapSandbox

    if backend == "watched":
        patch.setattr(cgroups, "create", lambda *_: None)
    return BubblewrapSandbox()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs against every backend, or against those that its module names."""
    if "arena" in metafunc.fixturenames:
        names = getattr(metafunc.module, "BACKENDS", ("docker", "bubblewrap"))
        marks = {"docker": pytest.mark.docker, "bubblewrap": pytest.mark.bubblewrap, "watched": pytest.mark.bubblewrap}
        backends = [pytest.param(name, marks=marks[name]) for name in names]
        metafunc.parametrize("arena", backends, indirect=True, scope="module")


@pytest.fixture(scope="module")
def arena(request: pytest.FixtureRequest, secret: Secret) -> Iterator[Arena]:
    """A backend's sandbox for all attacks on it. At its end the host must be as it was."""
    before = _host()
    bystander = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL)
    try:
        with asyncio.Runner() as runner, pytest.MonkeyPatch.context() as patch:
            sandbox = _make(request.param, patch)
            yield Arena(sandbox, runner, bystander)
            sandbox.close()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    after = _host()
    for name, room in {"memory": 1024, "disk": 3072, "shm": 64}.items():  # other programs use some, too
        assert after.pop(name) > before.pop(name) - room, f"{name} is used up"
    assert after == before
    assert marked(SESSION) == set()
    assert _left(request.param) == []


Refuse = Callable[..., None]


@pytest.fixture
def refuse(arena: Arena) -> Refuse:
    """Runs a program whose every attempt must be made, and refused with one of the errors."""

    def check(code: str, errors: str, *, seconds: float = 5.0, **names: object) -> None:
        attack = arena(code, seconds=seconds, **names)
        assert attack.execution.outcome == "ok"
        assert attack.refused
        wrong = {name: error for name, error in attack.refused.items() if error not in errors.split()}
        assert not wrong, f"refused, but not for the sandbox's reasons: {wrong}"

    return check
