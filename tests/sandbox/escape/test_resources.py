"""No program uses more than its share of time, disk, files, stack or output, and all of it comes back."""

import resource
from collections.abc import Callable
from typing import Any

import pytest
from cases import cases

Arena = Callable[..., Any]

ENDLESS = {
    "sleep": "time.sleep(3600)",
    "busy": "while True: pass",
    "one call of C code": "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
    "a large power": "9 ** 9 ** 9 ** 9",
    "ignoring every signal": """
import signal
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    try:
        time.sleep(3600)
    except BaseException:
        pass
""",
    "catching everything": """
while True:
    try:
        while True: time.sleep(0.01)
    except BaseException:
        pass
""",
    "stopped by itself": "import signal; os.kill(os.getpid(), signal.SIGSTOP); time.sleep(3600)",
    "a lock that nobody opens": "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "reading from a pipe": "reader, writer = os.pipe(); os.read(reader, 1)",
    "children that use every core": """
for _ in range(8):
    if os.fork() == 0:
        while True: pass
while True: pass
""",
}


@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_time_ends(arena: Arena, code: str) -> None:
    attack = arena("print('begun', flush=True)\n" + code, seconds=1.0)
    assert attack.execution.outcome == "timeout"
    assert attack.execution.stdout == "begun\n"
    assert attack.execution.seconds >= 0.9
    assert attack.processes >= 1, "the host saw nothing of it"


LATE = {
    "a thread": "import threading; threading.Thread(target=time.sleep, args=(3600,)).start()",
    "at exit": "import atexit; atexit.register(time.sleep, 3600)",
    "a destructor": """
class Late:
    def __del__(self): time.sleep(3600)
late = Late()
""",
    "a child": "os.fork() or time.sleep(3600)",
    "a daemon": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)
os.wait()
""",
    "a daemon without descriptors": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 300)
        os.chdir("/")
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        time.sleep(3600)
    os._exit(0)
os.wait()
""",
    "a daemon that is another program": """
import subprocess
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)", MARK], start_new_session=True)
""",
}


@pytest.mark.parametrize("code", cases(LATE, "a daemon"))
def test_nothing_goes_on_after_the_end(arena: Arena, code: str) -> None:
    """The arena looks for what is left; here it is seen that there was something."""
    attack = arena(code + "\ntime.sleep(0.3)\nprint('end', flush=True)", seconds=1.5)
    assert attack.execution.outcome in {"ok", "timeout"}
    assert attack.execution.stdout == "end\n"
    assert attack.processes >= 1


def test_disk_ends(arena: Arena) -> None:
    """Every place that can be written takes little, and all of them together."""
    attack = arena(
        """
import glob
places = ["/tmp", "/var/tmp", "/dev/shm", "/dev", "/run", "/var/run", "/run/lock", "/var/log", "/var/cache", "/mnt",
          os.path.expanduser("~"), os.getcwd(), "/dev/mqueue"]
total = 0
for place in dict.fromkeys(map(os.path.realpath, places)):
    for i in range(8):
        try:
            with open(f"{place}/hx-{i}", "wb", buffering=0) as file:
                for _ in range(64):
                    total += file.write(bytes(2**20))
        except OSError as error:
            print("refused", place, errno.errorcode[error.errno], flush=True)
print("total", total)
if total > 2**27:
    print("ESCAPED", total)
""",
        seconds=6.0,
    )
    assert attack.refused["/tmp"] in {"ENOSPC", "EFBIG"}
    assert int(attack.execution.stdout.split()[-1]) >= 2**20


@pytest.mark.parametrize(
    "grow",
    [
        "os.posix_fallocate(fd, 0, 2**40)",
        "[os.pwrite(fd, b'x', place * 2**12) for place in range(2**16)]",
        "[os.mkdir(f'/tmp/hx-{i}') for i in range(10**6)]",
        "[open(f'/tmp/hx-{i}', 'w').close() for i in range(10**6)]",
        "[os.symlink('x' * 4000, f'/tmp/hx-{i}') for i in range(10**6)]",
        "[os.link('/tmp/hx', f'/tmp/hx-{i}') for i in range(10**6)]",
    ],
)  # fmt: skip
def test_files_end(arena: Arena, grow: str) -> None:
    """A million files take a gigabyte of the host's memory even where they are empty."""
    attack = arena(f"fd = os.open('/tmp/hx', os.O_RDWR | os.O_CREAT)\nattempt('grow', lambda: {grow})", seconds=1.5)
    assert attack.execution.outcome in {"ok", "timeout", "memory"}
    if attack.execution.outcome == "ok":
        assert attack.refused["grow"] in {"ENOSPC", "EFBIG", "EMLINK", "EDQUOT", "MemoryError"}


def test_open_files_end(arena: Arena) -> None:
    attack = arena("kept = []\nattempt('open', lambda: [kept.append(os.open('/dev/null', 0)) for _ in range(70000)])")
    assert attack.refused["open"] == "EMFILE"


def test_a_large_archive_does_not_fit(arena: Arena) -> None:
    attack = arena("""
import io, zipfile
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
    for i in range(8):
        archive.writestr(f"../../../../../../tmp/../hx-{i}", bytes(2**25))
attempt("unpack", lambda: zipfile.ZipFile(packed).extractall("/tmp"))
""", seconds=6.0)  # fmt: skip
    assert attack.refused["unpack"] in {"ENOSPC", "EFBIG"}


FLOODS = {
    "lines": "for _ in range(10**8): print('x' * 100)",
    "one line": "while True: sys.stdout.write('x' * 2**16)",
    "errors": "while True: sys.stderr.write('x' * 2**16)",
    "both": "while True: print('x' * 1000), print('y' * 1000, file=sys.stderr)",
    "bytes": "while True: os.write(1, bytes(range(256)) * 256)",
    "of a child": "os.fork()\nwhile True: os.write(2, b'x\\n' * 2**15)",
    "nulls": "while True: os.write(1, bytes(2**16))",
    "a traceback": "raise Exception('x' * 10**8)",
    "a warning a line": "import warnings\nfor i in range(10**7): warnings.warn(str(i) * 100)",
}


@pytest.mark.parametrize("code", FLOODS.values(), ids=FLOODS)
def test_output_ends(arena: Arena, code: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    attack = arena(code, seconds=3.0)
    execution = attack.execution
    assert execution.outcome == ("exception" if "raise" in code else "output")
    assert sum(map(len, (execution.stdout, execution.stderr, execution.error, execution.traceback))) < 2**21
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 1024, "the host held the flood"


STACKS = {
    "of Python": ("def f(): f()\nf()", {"exception"}),
    "of C": (
        "sys.setrecursionlimit(10**8)\ndef f(): return [*map(lambda _: f(), [0])]\nf()",
        {"killed", "memory", "exception"},
    ),
    "of the comparison": (
        "sys.setrecursionlimit(10**8)\na, b = [], []\nfor _ in range(10**6): a, b = [a], [b]\na == b",
        {"killed", "memory", "exception"},
    ),
    "of a thread": (
        "import threading\nthreading.stack_size(2**16)\nsys.setrecursionlimit(10**8)\n"
        "def f(): return [*map(lambda _: f(), [0])]\nt = threading.Thread(target=f)\nt.start()\nt.join()\nassert False",
        {"killed", "memory", "exception"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "outcomes"), STACKS.values(), ids=STACKS)
def test_stacks_end(arena: Arena, code: str, outcomes: set[str]) -> None:
    assert arena(code, seconds=5.0).execution.outcome in outcomes


@pytest.mark.parametrize(
    "code", ["os.abort()", "ctypes.string_at(8)", "import signal; os.kill(os.getpid(), signal.SIGQUIT)"]
)
def test_a_crash_leaves_no_core(arena: Arena, code: str) -> None:
    """The child's, whose directory its parent can look into; the program's own goes with it."""
    attack = arena(
        f"""
import glob
os.chdir("/tmp")
if os.fork() == 0:
    {code}
    os._exit(0)
status = os.wait()[1]
print("signalled", os.WIFSIGNALED(status), "dumped", os.WCOREDUMP(status), *glob.glob("/tmp/*core*"), flush=True)
{code}
"""
    )
    assert attack.execution.stdout == "signalled True dumped False\n"
    assert attack.execution.outcome == "killed"


def test_waiting_for_input_does_not_wait(arena: Arena) -> None:
    attack = arena("print(len(sys.stdin.buffer.read()), len(os.read(0, 10)), flush=True)\ninput('? ')", seconds=10.0)
    assert attack.execution.stdout.startswith("0 0\n")
    assert (attack.execution.outcome, "EOFError" in attack.execution.error) == ("exception", True)
