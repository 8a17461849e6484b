"""Both backends for real: the same programs, one after another, at the same time, cancelled, and after a crash.

What a program may try against its sandbox is in tests/escape.
"""

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from seen import marked, naming
from typer.testing import CliRunner
from waiting import until

from haluagent.cli.sandbox import app
from haluagent.errors import ConfigError, SandboxError
from haluagent.protocols import Execution, ExecutionOutcome, Sandbox
from haluagent.sandbox import owner
from haluagent.sandbox.bubblewrap.backend import BubblewrapSandbox
from haluagent.sandbox.docker.backend import DockerSandbox
from haluagent.sandbox.docker.build import build
from haluagent.sandbox.docker.engine import DEFAULT_IMAGE, LABEL, connect
from haluagent.sandbox.limits import MIB, SandboxLimits
from haluagent.sandbox.worker import processes
from haluagent.sandbox.worker.exchange import SandboxWorker
from haluagent.sandbox.worker.pooled import PooledSandbox

KINDS: dict[str, type[PooledSandbox]] = {"docker": DockerSandbox, "bubblewrap": BubblewrapSandbox}
BACKENDS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in KINDS]


@pytest.fixture(params=BACKENDS, scope="module")
def sandbox(request: pytest.FixtureRequest) -> Iterator[PooledSandbox]:
    made = KINDS[request.param](limits=SandboxLimits(memory=256 * MIB))
    yield made
    made.close()
    assert left(made.name) == 0


def run(sandbox: Sandbox, code: str, seconds: float = 20.0) -> Execution:
    return asyncio.run(sandbox.run(code, seconds=seconds))


def containers(name: str) -> int:
    """Containers of the process of that name. An engine under load may list one for ever that it is done removing."""
    with contextlib.closing(connect()) as client:
        found = client.containers(all=True, filters={"label": f"{LABEL}={name}"})
        return sum(container["State"] != "removing" for container in found)


def below(process: int) -> int:
    """How many bwraps a process has started that have not ended."""
    count = 0
    for pid in processes.tree(process)[1:]:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().split()
            count += fields[1] == "(bwrap)" and fields[3] == str(process)
    return count


def left(backend: str) -> int:
    """Sandboxes of this process."""
    if backend == "docker":
        return containers(owner.this_process())
    return below(os.getpid())


def waiting(sandbox: PooledSandbox) -> list[SandboxWorker]:
    """The workers that are ready."""
    return list(sandbox._state.pool._ready) if sandbox._state else []


def starting(sandbox: PooledSandbox) -> int:
    return sandbox._state.pool._starting if sandbox._state else 0


OUTCOMES: list[tuple[str, ExecutionOutcome, str]] = [
    ("print('数')", "ok", ""),
    ("def f(:", "syntax_error", "SyntaxError"),
    ("assert 1 + 1 == 3, 'sum'", "exception", "AssertionError: sum"),
    ("input()", "exception", "EOFError"),
    ("import numpy_is_not_here", "missing_package", "numpy_is_not_here"),
    ("while True: pass", "timeout", ""),
    ("import time\ntime.sleep(60)", "timeout", ""),
    ("import os, time\nos.closerange(0, 200)\ntime.sleep(60)", "timeout", ""),
    ("x = bytearray(10**9)", "memory", "MemoryError"),
    ("while True: print('y' * 5000)", "output", ""),
    ("import os\nos._exit(3)", "killed", "exit code 3"),
    ("import os\nos.kill(os.getpid(), 11)", "killed", "SIGSEGV"),
    ("import os\nos.kill(os.getpid(), 15)", "killed", "SIGTERM"),
]


@pytest.mark.parametrize(
    ("code", "outcome", "error"), cases({repr(item[0])[:30]: item for item in OUTCOMES}, repr("print('数')"))
)
def test_outcomes(sandbox: PooledSandbox, code: str, outcome: ExecutionOutcome, error: str) -> None:
    result = run(sandbox, code, seconds=1.0 if outcome == "timeout" else 20.0)
    assert result.outcome == outcome and error in result.error
    assert result.backend == sandbox.name


def test_memory_of_all_processes_together(sandbox: PooledSandbox) -> None:
    code = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        block = bytearray(100 * 2**20)
        block[::4096] = b"x" * len(block[::4096])
        time.sleep(2)
        os._exit(0)
print([os.wait()[1] for _ in range(6)])
"""
    result = run(sandbox, code)
    # The kernel ends one of the children, or the first process, as it likes.
    assert result.outcome == "memory" or "9" in result.stdout
    assert run(sandbox, "print(1)").stdout == "1\n"


LIBRARY = """
import asyncio, concurrent.futures, csv, ctypes, dataclasses, datetime, decimal, hashlib, json, lzma, math, multiprocessing
import os, random, re, socket, sqlite3, ssl, statistics, string, subprocess, sys, tempfile, threading, typing, unittest
import zoneinfo
def square(n):
    return n * n
if __name__ == "__main__":
    assert zoneinfo.ZoneInfo("Asia/Shanghai").utcoffset(datetime.datetime(2024, 1, 1)).seconds == 8 * 3600
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("text")
    assert os.cpu_count() == 1
    with multiprocessing.Pool() as pool:
        assert pool.map(square, range(4)) == [0, 1, 4, 9]
    with concurrent.futures.ThreadPoolExecutor() as threads:
        assert sum(threads.map(square, range(4))) == 14
    async def main():
        await asyncio.sleep(0)
        return "done"
    assert asyncio.run(main()) == "done"
    a, b = socket.socketpair()
    a.sendall(b"x")
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname()).close()
    assert subprocess.run([sys.executable, "-c", "print(5)"], capture_output=True).stdout == b"5\\n"
    assert sqlite3.connect(":memory:").execute("select 1").fetchone() == (1,)
    open("notes.txt", "w").write("here")
    assert os.path.abspath("notes.txt") == "/tmp/notes.txt" and os.path.expanduser("~") == "/tmp"
"""


def test_ordinary_programs_work(sandbox: PooledSandbox) -> None:
    result = run(sandbox, LIBRARY)
    assert result.traceback == "" and result.outcome == "ok"


def test_the_next_run_knows_nothing_of_the_last(sandbox: PooledSandbox) -> None:
    mess = """
import builtins, os, sys, time
open("/tmp/left", "w").write("x")
open("/dev/shm/left", "w").write("x")
builtins.print = None
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
"""
    assert run(sandbox, mess).outcome == "ok"
    look = "import os\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'), [p for p in os.listdir('/proc') if p.isdigit()][2:])"
    assert run(sandbox, look).stdout == "[] [] []\n"


def test_nothing_of_the_host_is_there(sandbox: PooledSandbox) -> None:
    code = """
import os, socket
print(sorted(os.listdir("/proc/self/fd")))
assert os.environ.pop("HOME") == "/tmp"
print(sorted(os.environ), os.getuid(), os.getgid(), socket.gethostname())
print([line.split(":")[0].strip() for line in open("/proc/net/dev")][2:])
assert not os.path.exists("/var/run/docker.sock")
"""
    result = run(sandbox, code)
    fds, identity, interfaces = result.stdout.splitlines()
    assert fds == "['0', '1', '2', '3', '4', '5']"  # standard streams, the runner's two, and the directory that is read
    assert "65534 65534 sandbox" in identity and "lo" in interfaces
    assert "PYTEST_CURRENT_TEST" not in identity


def test_several_event_loops_and_threads_at_once(sandbox: PooledSandbox) -> None:
    results: dict[int, str] = {}

    async def some(first: int) -> None:
        codes = [f"print({first + i})" for i in range(4)]
        for i, result in enumerate(await asyncio.gather(*(sandbox.run(code) for code in codes))):
            results[first + i] = result.stdout

    threads = [threading.Thread(target=lambda n=n: asyncio.run(some(10 * n))) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {10 * n + i: f"{10 * n + i}\n" for n in range(3) for i in range(4)}


def test_waiting_for_others_does_not_count(sandbox: PooledSandbox) -> None:
    async def many() -> list[Execution]:
        wait = "import time\ntime.sleep(0.4)"
        return await asyncio.gather(*(sandbox.run(wait, seconds=3) for _ in range(3 * (os.cpu_count() or 1))))

    assert {result.outcome for result in asyncio.run(many())} == {"ok"}


def test_a_cancelled_run_ends_at_once(sandbox: PooledSandbox) -> None:
    mark = f"hx{secrets.token_hex(5)}"

    async def cancelled() -> None:
        task = asyncio.create_task(sandbox.run(naming(mark) + "while True: pass", seconds=3600))
        await asyncio.to_thread(until, lambda: marked(mark))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert run(sandbox, "print(2)").stdout == "2\n"
    until(lambda: left(sandbox.name) <= 4)


def test_close_leaves_nothing_and_it_can_be_used_again(sandbox: PooledSandbox) -> None:
    assert run(sandbox, "print(1)").outcome == "ok"
    assert left(sandbox.name) > 0
    asyncio.run(sandbox.aclose())
    assert left(sandbox.name) == 0
    assert run(sandbox, "print(1)").outcome == "ok"


def test_closing_while_a_program_runs_is_an_error_and_no_outcome(sandbox: PooledSandbox) -> None:
    mark = f"hx{secrets.token_hex(5)}"

    async def close_soon() -> None:
        task = asyncio.create_task(sandbox.run(naming(mark) + "import time\ntime.sleep(3600)", seconds=3600))
        await asyncio.to_thread(until, lambda: marked(mark))
        await sandbox.aclose()
        with pytest.raises(SandboxError, match="closed"):
            await task

    asyncio.run(close_soon())
    assert left(sandbox.name) == 0


def test_workers_that_died_while_they_waited_are_replaced(sandbox: PooledSandbox) -> None:
    for _ in range(2):
        run(sandbox, "print(1)")
    until(lambda: len(waiting(sandbox)) >= 2 and not starting(sandbox))
    for worker in waiting(sandbox):
        worker.kill()
    until(lambda: all(worker.receive(time.monotonic() + 10) is None for worker in waiting(sandbox)))
    assert run(sandbox, "print(1)").stdout == "1\n"


@pytest.mark.parametrize("code", ["x" * (2**20 + 1)])
def test_a_program_that_is_too_long_is_not_run(sandbox: PooledSandbox, code: str) -> None:
    with pytest.raises(SandboxError, match="1048576 characters"):
        run(sandbox, code)
    assert run(sandbox, "x = '" + "y" * (2**20 - 100) + "'").outcome == "ok"


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_seconds_that_are_no_time(sandbox: PooledSandbox, seconds: float) -> None:
    with pytest.raises(SandboxError, match="cannot run for"):
        run(sandbox, "print(1)", seconds)


SCRIPT = """
import asyncio, os, sys
from haluagent.sandbox.choose import resolve
sandbox = resolve(sys.argv[1])
async def main():
    for _ in range(2):
        result = await sandbox.run("print(1)")
    from haluagent.sandbox import owner
    from haluagent.sandbox.worker import processes
    print(owner.this_process(), result.outcome, flush=True)
    if "wait" in sys.argv:
        await sandbox.run("import time; time.sleep(600)", seconds=600)
asyncio.run(main())
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_process_that_ends_leaves_nothing(backend: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, backend], capture_output=True, text=True, timeout=120)
    assert done.stderr == "" and done.stdout.endswith(" ok\n")
    assert left_by(backend, done.stdout.split()[0]) == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_crashed_process_left_is_removed_by_the_next(backend: str) -> None:
    crashed = subprocess.Popen([sys.executable, "-c", SCRIPT, backend, "wait"], stdout=subprocess.PIPE, text=True)
    assert crashed.stdout is not None
    name = crashed.stdout.readline().split()[0]
    until(lambda: left_by(backend, name) > 0)
    crashed.kill()
    crashed.wait()
    crashed.stdout.close()
    sandbox = KINDS[backend]()
    assert run(sandbox, "print(1)").outcome == "ok"
    sandbox.close()
    # The engine may have made another container since, for a request that came before the crash.
    until(lambda: left_by(backend, name) == 0 or not KINDS[backend]().check())


def left_by(backend: str, name: str) -> int:
    """Sandboxes of the process of that name."""
    if backend == "docker":
        return containers(name)
    mark = f"haluagent-sandbox@{name.replace('/', '@')}@"
    groups = [group for _, names, _ in os.walk("/sys/fs/cgroup") for group in names if group.startswith(mark)]
    return len(groups) + below(int(name.split("/")[1]))


@pytest.mark.bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_bubblewrap_for_an_ordinary_user() -> None:
    code = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n" + SCRIPT
    identity: dict[str, Any] = {"user": 1000, "group": 1000, "extra_groups": []}
    for python in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            done = subprocess.run(
                [python, "-c", code, "bubblewrap"], capture_output=True, text=True, cwd="/", **identity
            )
            if done.returncode == 0:
                assert done.stdout.endswith(" ok\n")
                return
    pytest.skip(f"an ordinary user cannot run this installation: {done.stderr.splitlines()[-1]}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_command_line(backend: str) -> None:
    call = CliRunner()
    fine = call.invoke(app, ["run", "-", "--sandbox", backend, "--json"], input="print(6 * 7)")
    assert fine.exit_code == 0 and '"stdout":"42\\n"' in fine.stdout
    failed = call.invoke(app, ["run", "-", "--sandbox", backend], input="print('before')\n1 / 0")
    assert (failed.exit_code, failed.stdout) == (1, "before\n")
    assert f"exception: ZeroDivisionError: division by zero ({backend}, " in failed.stderr
    assert f"{backend}: works: " in call.invoke(app, ["status"]).stdout


@pytest.mark.docker
def test_build_an_image_on_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a registry: on the image that the other tests use."""
    monkeypatch.setenv("HALUAGENT_SANDBOX_IMAGE", "haluagent-sandbox-made-by-a-test")
    try:
        assert ", image haluagent-sandbox-made-by-a-test, runtime " in build(DEFAULT_IMAGE)
        asyncio.run(check_the_image())
    finally:
        with contextlib.closing(connect()) as client:
            client.remove_image("haluagent-sandbox-made-by-a-test")


async def check_the_image() -> None:
    sandbox = DockerSandbox(spare=0)
    assert sandbox.image == "haluagent-sandbox-made-by-a-test"
    assert (await sandbox.run("print(1)")).stdout == "1\n"
    await sandbox.aclose()


@pytest.mark.docker
def test_a_registry_that_does_not_answer_is_one_line_that_says_what_else_there_is() -> None:
    with pytest.raises(ConfigError, match=r"not built on 127\.0\.0\.1:9/python: .* --debootstrap needs none"):
        build("127.0.0.1:9/python")


def test_a_warm_run_uses_a_worker_that_waited(sandbox: PooledSandbox) -> None:
    for _ in range(2):
        run(sandbox, "print(1)")
    until(lambda: len(waiting(sandbox)) >= 2 and not starting(sandbox))
    before = waiting(sandbox)
    assert run(sandbox, "print(1)").stdout == "1\n"
    assert sum(worker not in waiting(sandbox) for worker in before) == 1
