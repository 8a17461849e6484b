"""The filter of system calls: what it says of each call, and that the kernel takes it."""

import errno
import platform
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from haluagent.sandbox import seccomp
from haluagent.sandbox.worker.exchange import command

ALLOW, KILL = "allow", "kill"
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = tuple(AUDIT)


def decide(machine: str, number: int, *arguments: int, architecture: int | None = None) -> str | int:
    """What the filter does with a call: an interpreter of the instructions it is made of (linux/filter.h)."""
    values = [argument & 0xFFFFFFFFFFFFFFFF for argument in (*arguments, *(6 - len(arguments)) * [0])]
    data = struct.pack("<IIQ6Q", number, architecture or AUDIT[machine], 0, *values)
    code = list(struct.iter_unpack("<HBBI", seccomp.program(machine)))
    at = accumulator = 0
    while True:
        operation, true, false, k = code[at]
        at += 1
        if operation == 0x20:  # load 32 bits
            accumulator = struct.unpack_from("<I", data, k)[0]
        elif operation == 0x06:  # return
            return {0x7FFF0000: ALLOW, 0x80000000: KILL}.get(k, k & 0xFFFF)
        else:
            holds = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[operation]
            at += true if holds else false


def numbers(machine: str) -> dict[str, int]:
    """Some calls by name."""
    which = MACHINES.index(machine)
    table = {
        "read": (0, 63), "openat": (257, 56), "mmap": (9, 222), "execve": (59, 221), "futex": (202, 98),
        "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "ioctl": (16, 29), "personality": (135, 92),
        "setsockopt": (54, 208), "ptrace": (101, 117), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
        "bpf": (321, 280), "keyctl": (250, 219), "io_uring_setup": (425, 425), "userfaultfd": (323, 282),
        "open_by_handle_at": (304, 265), "memfd_create": (319, 279), "init_module": (175, 105),
        "kexec_load": (246, 104), "perf_event_open": (298, 241), "add_key": (248, 217),
    }  # fmt: skip
    return {name: pair[which] for name, pair in table.items()}


REFUSED = """ptrace unshare setns mount bpf keyctl add_key io_uring_setup userfaultfd open_by_handle_at memfd_create
             init_module kexec_load perf_event_open""".split()


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_by_number(machine: str) -> None:
    call = numbers(machine)
    for name in REFUSED:
        assert decide(machine, call[name]) == errno.EPERM, name
    for name in ("read", "openat", "mmap", "execve", "futex"):
        assert decide(machine, call[name]) == ALLOW, name
    assert decide(machine, call["clone3"]) == errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_by_argument(machine: str) -> None:
    call = numbers(machine)
    thread, child = 0x3D0F00, 0x1200011
    for flags in (thread, child, 0):
        assert decide(machine, call["clone"], flags) == ALLOW
    for namespace in (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert decide(machine, call["clone"], child | namespace) == errno.EPERM
        assert decide(machine, call["clone"], 2**40 | namespace) == errno.EPERM
    families = {
        0: ALLOW,
        1: ALLOW,
        2: ALLOW,
        10: ALLOW,
        16: errno.EAFNOSUPPORT,
        17: errno.EAFNOSUPPORT,
        40: errno.EAFNOSUPPORT,
    }
    for family, decision in families.items():
        assert decide(machine, call["socket"], family, 1) == decision, family
    for request, decision in {0x5412: errno.EPERM, 0x541C: errno.EPERM, 0x5413: ALLOW, 0x5401: ALLOW}.items():
        assert decide(machine, call["ioctl"], 0, request) == decision
        assert decide(machine, call["ioctl"], 0, request | 2**32) == decision  # the kernel reads 32 bits
    for persona, decision in {0: ALLOW, 0xFFFFFFFF: ALLOW, 0x40000: errno.EPERM, 8: errno.EPERM}.items():
        assert decide(machine, call["personality"], persona) == decision
    assert decide(machine, call["setsockopt"], 5, 1, 7) == decide(machine, call["setsockopt"], 5, 1, 8) == 0
    assert decide(machine, call["setsockopt"], 5, 1, 2) == decide(machine, call["setsockopt"], 5, 6, 7) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_other_tables_of_calls_kill(machine: str) -> None:
    for architecture in (0x40000003, 0x40000028, AUDIT[MACHINES[1 - MACHINES.index(machine)]]):  # i386, arm, the other
        assert decide(machine, 0, architecture=architecture) == KILL
    assert decide("x86_64", 0x40000000 + 39) == KILL  # x32


def test_machines() -> None:
    assert [seccomp.machine_supported(name) for name in ("x86_64", "aarch64", "i686", "")] == [True, True, False, False]
    with pytest.raises(ValueError, match="riscv64"):
        seccomp.program("riscv64")


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[machine].read_text()
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", text)}
    refused = {name: pair[MACHINES.index(machine)] for name, pair in seccomp._REFUSED.items()}
    common = [name for name, number in refused.items() if number is not None and name in known]
    assert len(common) > 50
    assert {name: refused[name] for name in common} == {name: known[name] for name in common}
    mine = numbers(machine)
    assert mine == {name: known[name] for name in mine}


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in MACHINES,
    reason="a filter of Linux's system calls",
)
def test_the_kernel_takes_it() -> None:
    code = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x40000000):
    assert libc.unshare(flags) == -1 and ctypes.get_errno() == errno.EPERM
try:
    socket.socket(40)
except OSError as error:
    assert error.errno == errno.EAFNOSUPPORT
else:
    raise AssertionError("a socket to the host of the virtual machine")
a, b = socket.socketpair()
size = a.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
assert a.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == size
import subprocess, threading
threading.Thread(target=print).start()
assert subprocess.run(["true"]).returncode == 0
print("held")
"""
    request = f"nonce {len(code)} \n{code}"
    runner = command(sys.executable, seccomp.program(platform.machine()))
    done = subprocess.run(runner, input=request, capture_output=True, text=True, timeout=60)
    assert "held\nnonceok\0\0\0nonce" in done.stdout, done
