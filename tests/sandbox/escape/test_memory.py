"""No program takes more than its share of processes and memory, whatever holds it: it all counts together.

Every program has a bound of its own above the sandbox's limits, and says ESCAPED where it gets there.
"""

from collections.abc import Callable
from typing import Any

import pytest

BACKENDS = ("docker", "bubblewrap", "watched")
Arena = Callable[..., Any]
MOST_PROCESSES = 200  # of one run, as the host counts them: the limit, and what the sandbox itself needs

PROCESSES = {
    "processes": """
def bomb():
    for _ in range(1500):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
attempt("bomb", bomb)
""",
    "threads": """
import threading
def bomb():
    for _ in range(1500):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
attempt("bomb", bomb)
os._exit(1)
""",
    "sessions": """
def bomb():
    for _ in range(1500):
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
            os._exit(0)
attempt("bomb", bomb)
""",
}


@pytest.mark.parametrize("code", PROCESSES.values(), ids=PROCESSES)
def test_processes_and_threads_are_counted(arena: Arena, code: str) -> None:
    attack = arena(code, seconds=3.0)
    assert attack.refused["bomb"] in {"EAGAIN", "RuntimeError", "MemoryError"}
    assert attack.processes <= MOST_PROCESSES


@pytest.mark.core
def test_a_fork_bomb_that_grows_is_held_and_removed(arena: Arena) -> None:
    attack = arena(
        """
print("begun", flush=True)
for _ in range(11):
    try:
        os.fork()
    except OSError:
        pass
while True:
    try:
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    except OSError:
        pass
"""
    )
    assert attack.execution.outcome != "ok"
    assert 10 <= attack.processes <= MOST_PROCESSES


MEMORY = {
    "bytes": "kept = []\nfor _ in range(100): kept.append(bytes(b'x' * 2**24))",
    "one block": "kept = bytearray(2**40)",
    "a mapping": """
import mmap
kept = []
for _ in range(100):
    kept.append(mmap.mmap(-1, 2**24))
    kept[-1].write(b"x" * 2**24)
""",
    "small objects": "import gc\ngc.disable()\nkept = []\nwhile True: kept += [[] for _ in range(10**5)]",
    "doubling": "kept = 'x'\nfor _ in range(60): kept += kept",
    "gzip": """
import zlib
packed = zlib.compress(bytes(2**26), 9)
kept = []
for _ in range(32): kept.append(zlib.decompress(packed))
""",
    "nested gzip": """
import gzip, io
packed = gzip.compress(gzip.compress(bytes(2**28)) * 6)
kept = gzip.decompress(gzip.decompress(packed))
""",
}


@pytest.mark.parametrize("code", MEMORY.values(), ids=MEMORY)
def test_memory_ends(arena: Arena, code: str) -> None:
    attack = arena("print('begun', flush=True)\n" + code + "\nprint('ESCAPED')", seconds=8.0)
    assert attack.execution.outcome == "memory"
    assert "begun" in attack.execution.stdout


HELD = """
MIB = 2**20
held = 0
children = []
def hold(count):
    global held
    held += count
    if held > 768 * MIB:
        print("ESCAPED", held // MIB, flush=True)
        os._exit(1)
def child(fill):
    pid = os.fork()
    if pid:
        children.append(pid)
        return
    kept = fill()
    open(f"/tmp/hx-full-{os.getpid()}", "w").close()
    time.sleep(60)
def together(size):  # counts the children that are alive and full at the same time
    full = []
    while not full or len(full) < len(children):
        time.sleep(0.05)
        children[:] = [pid for pid in children if os.waitpid(pid, os.WNOHANG)[0] == 0]
        full = [pid for pid in children if os.path.exists(f"/tmp/hx-full-{pid}")]
        if len(full) * size > 768 * MIB:
            hold(len(full) * size)
        if not children:
            break
print("begun", flush=True)
"""
TOGETHER = {
    "children, each below the limit": """
def fill():
    block = bytearray(100 * MIB)
    block[::4096] = b"x" * len(block[::4096])
    return block
for _ in range(20):
    child(fill)
together(100 * MIB)
""",
    "memory files": """
for _ in range(60):
    fd = os.memfd_create("hx")
    for _ in range(16):
        hold(os.write(fd, bytes(MIB)))
""",
    "shared mappings of children": """
import mmap
for _ in range(20):
    pages = mmap.mmap(-1, 64 * MIB)
    for _ in range(64):
        pages.write(b"x" * MIB)
    child(lambda: None)
    pages.close()
together(64 * MIB)
""",
    "pipes": """
import fcntl
def fill():
    pipes = []
    for _ in range(20):
        pipes.append(os.pipe())
        fcntl.fcntl(pipes[-1][1], 1031, MIB)  # F_SETPIPE_SZ
        os.set_blocking(pipes[-1][1], False)
        os.write(pipes[-1][1], bytes(MIB))
    return pipes
for _ in range(45):
    child(fill)
together(20 * MIB)
""",
    "sockets of children": """
import socket
def fill():
    pairs = []
    for _ in range(100):
        pairs.append(socket.socketpair())
        for end in pairs[-1]:
            end.setblocking(False)
            try:
                while True: end.send(bytes(2**16))
            except BlockingIOError:
                pass
    return pairs
for _ in range(45):
    child(fill)
together(40 * MIB)  # twice 208 kB a pair, which is the usual size of their buffers
""",
    "sockets": """
import socket
kept = []
for _ in range(2000):
    pair = socket.socketpair()
    kept.append(pair)
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * MIB)
        end.setblocking(False)
        try:
            while True: hold(end.send(bytes(MIB)))
        except BlockingIOError:
            pass
""",
    "shared memory of System V": """
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
for _ in range(60):
    number = libc.shmget(0, 16 * MIB, 0o1600)
    place = libc.shmat(number, None, 0)
    if number == -1 or place == 2**64 - 1:
        raise OSError(ctypes.get_errno(), "refused")
    ctypes.memset(place, 1, 16 * MIB)
    libc.shmdt(ctypes.c_void_p(place))
    hold(16 * MIB)
""",
}


@pytest.mark.parametrize("code", TOGETHER.values(), ids=TOGETHER)
def test_memory_of_all_processes_and_objects_is_counted(arena: Arena, code: str) -> None:
    attack = arena(HELD + code, seconds=4.0)
    assert attack.execution.stdout.startswith("begun")
