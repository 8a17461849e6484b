"""The bubblewrap (bwrap) backend: programs in namespaces of their own, for Linux without Docker."""

import contextlib
import os
import platform
import re
import selectors
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError, SandboxError
from haluagent.protocols import ExecutionOutcome
from haluagent.sandbox import seccomp
from haluagent.sandbox.bubblewrap import cgroups
from haluagent.sandbox.limits import SandboxLimits
from haluagent.sandbox.worker import processes
from haluagent.sandbox.worker.exchange import ENVIRONMENT, STARTUP_SECONDS, command, exit_reason, wait_until_ready
from haluagent.sandbox.worker.pooled import SPARE, PooledSandbox
from haluagent.sandbox.worker.streams import STDERR, STDOUT

NOBODY = 65534
# Since this version of Linux, the limit on a user's processes counts each user namespace by itself.
_LINUX = (5, 14)
# The first version that can size a tmpfs, and the first that can forbid user namespaces inside.
_VERSION, _DISABLE_USERNS = (0, 7), (0, 8)
_WATCH_SECONDS = 0.05
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin")
# Programs have no business with what an administrator put there.
_HIDDEN = ("/usr/local", "/usr/src")


class BubblewrapSandbox(PooledSandbox):
    """A sandbox that runs each program in new user, process, network, mount, IPC and UTS namespaces, as nobody, behind
    a filter of system calls. Of the host it sees only the system libraries and the interpreter, read-only.

    Processes, files and the memory of each process are bounded by rlimits. Total memory is bounded by a control group
    if this process may make one, otherwise by watching it.
    """

    name = "bubblewrap"

    def __init__(self, *, limits: SandboxLimits | None = None, spare: int = SPARE) -> None:
        super().__init__(limits=limits, spare=spare)
        self._command: list[str] | None = None

    def check(self) -> str:
        """Return a line about bubblewrap on this machine.

        Raise a `ConfigError` with advice if programs cannot be run.
        """
        try:
            worker = self._start()
        except SandboxError as error:
            raise ConfigError(str(error)) from error
        memory = "a control group" if worker.group else "watching"
        worker.discard()
        return f"bubblewrap {'.'.join(map(str, _version()))}, {_interpreter()}, memory bounded by {memory}"

    def _start(self) -> "Namespaces":
        if self._command is None:
            self._command = _command(self.limits)
            cgroups.remove_orphans()
        worker = Namespaces(self._command, self.limits)
        try:
            wait_until_ready(worker)
            worker.confine()
        except BaseException:
            worker.discard()
            raise
        return worker

    def _resources(self) -> dict[str, int]:
        return {"RLIMIT_NPROC": self.limits.processes}


class Namespaces:
    """A worker behind bwrap: three pipes and a tree of processes."""

    def __init__(self, arguments: list[str], limits: SandboxLimits) -> None:
        self._limits = limits
        self.group: cgroups.Group | None = None
        self._above_memory = False
        self._watched = 0.0
        filter_end, write_end = os.pipe()
        try:
            os.write(write_end, seccomp.program(platform.machine()))
            os.close(write_end)
            # The limit on processes does not bind root, so root's sandboxes belong to nobody.
            identity: dict[str, Any] = {}
            if os.geteuid() == 0:
                identity = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
            self._process = subprocess.Popen(
                [*arguments[:1], "--seccomp", str(filter_end), *arguments[1:]],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(filter_end,),
                cwd="/", env={}, start_new_session=True, **identity,
            )  # fmt: skip
        except OSError as error:
            raise SandboxError(f"bubblewrap did not start: {error}") from error
        finally:
            os.close(filter_end)
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input, self._output = self._process.stdin, (self._process.stdout, self._process.stderr)
        self._readable = selectors.DefaultSelector()
        for name, pipe in zip((STDOUT, STDERR), self._output, strict=True):
            os.set_blocking(pipe.fileno(), False)
            self._readable.register(pipe, selectors.EVENT_READ, name)
        os.set_blocking(self._input.fileno(), False)

    def confine(self) -> None:
        """Put a runner that waits for its program, and its whole process tree, into a control group if possible."""
        self.group = cgroups.create(self._limits)
        if self.group is not None:
            try:
                self.group.add(processes.tree(self._process.pid))
            except OSError:  # this process may make groups, but not move processes to them
                self.group.remove()
                self.group = None

    def send(self, data: bytes, deadline: float) -> None:
        with selectors.DefaultSelector() as writable:
            writable.register(self._input, selectors.EVENT_WRITE)
            while data:
                if not writable.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                data = data[os.write(self._input.fileno(), data) :]

    def receive(self, deadline: float) -> tuple[int, bytes] | None:
        while self._readable.get_map():
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError
            self._watch(now)
            for key, _ in self._readable.select(min(_WATCH_SECONDS, deadline - now)):
                data = os.read(key.fd, 65536)
                if data:
                    return key.data, data
                self._readable.unregister(key.fileobj)
        return None

    def kill(self) -> None:
        self._process.kill()  # the processes below die with it

    def ending(self, deadline: float) -> tuple[ExecutionOutcome, str]:
        try:
            status = self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        if self._above_memory or (self.group and self.group.out_of_memory()):
            return "memory", "its processes used up their memory together"
        return exit_reason(status if status >= 0 else 128 - status)

    def discard(self) -> None:
        self.kill()
        self._process.wait()
        self._readable.close()
        for pipe in (self._input, *self._output):
            with contextlib.suppress(OSError):
                pipe.close()
        if self.group is not None:
            self.group.remove()

    def _watch(self, now: float) -> None:
        """Kill a program that uses too much memory, if no control group limits it."""
        if self.group is not None or now - self._watched < _WATCH_SECONDS:
            return
        self._watched = now
        # The first process, bwrap itself, is outside the namespaces.
        if processes.memory_above(self._limits.total_memory, processes.tree(self._process.pid)[1:]):
            self._above_memory = True
            self.kill()


def _command(limits: SandboxLimits) -> list[str]:
    """Return the command line of a worker. Raise a `SandboxError` with advice if bubblewrap cannot run here."""
    if not sys.platform.startswith("linux") or _numbers(platform.release()) < _LINUX:
        raise SandboxError(f"bubblewrap needs Linux {_LINUX[0]}.{_LINUX[1]} or newer: use Docker")
    if not seccomp.machine_supported(platform.machine()):
        raise SandboxError(f"there is no filter of system calls for {platform.machine()}: use Docker")
    version = _version()
    if version < _VERSION:
        raise SandboxError(f"bubblewrap {_VERSION[0]}.{_VERSION[1]} or newer is needed: update it, or use Docker")
    interpreter = _interpreter()
    arguments = [_executable(), "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
    arguments += ["--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "sandbox", "--cap-drop", "ALL"]
    arguments += ["--disable-userns"] if version >= _DISABLE_USERNS else []
    arguments += _file_system(interpreter, limits)
    for name, value in (ENVIRONMENT | {"PATH": f"{interpreter.parent}:/usr/bin:/bin"}).items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--chdir", "/tmp", "--", *command(str(interpreter))]


def _file_system(interpreter: Path, limits: SandboxLimits) -> list[str]:
    """Return the arguments that make the file system: read-only, except for two places of limited size."""
    arguments = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    for hidden in map(Path, _HIDDEN):
        if hidden.is_dir() and not interpreter.is_relative_to(hidden):
            arguments += ["--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    if not interpreter.is_relative_to("/usr"):
        prefix = str(interpreter.parents[1])
        arguments += ["--ro-bind", prefix, prefix]
    arguments += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev"]
    # Some kernel settings belong to the namespaces, whose owner could change them.
    arguments += ["--tmpfs", "/proc/sys", "--remount-ro", "/proc/sys"]
    for writable in ("/dev/shm", "/tmp"):
        arguments += ["--perms", "1777", "--size", str(limits.disk), "--tmpfs", writable]
    # bwrap makes these two as tmpfs without a size limit.
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/"]


def _interpreter() -> Path:
    """Return the system's Python, or, if that is older than 3.10, the one that this interpreter is based on."""
    for python in (Path("/usr/bin/python3"), Path(sys.base_prefix, "bin", "python3")):
        python = python.resolve()
        if python.exists() and _numbers(python.name) >= (3, 10):
            return python
    raise SandboxError("there is no Python 3.10 or newer in /usr/bin: install it, or use Docker")


def _executable() -> str:
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxError("bubblewrap is not installed: install the package bubblewrap, or use Docker")
    return path


def _version() -> tuple[int, ...]:
    try:
        printed = subprocess.run([_executable(), "--version"], capture_output=True, text=True, timeout=STARTUP_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"bubblewrap did not start: {error}") from error
    return _numbers(printed.stdout)


def _numbers(text: str) -> tuple[int, ...]:
    """Return the first version number in a text: (3, 11) for "python3.11"."""
    found = re.search(r"\d+(\.\d+)+", text)
    return tuple(map(int, found[0].split("."))) if found else ()
