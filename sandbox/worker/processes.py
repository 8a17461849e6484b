"""The processes of a sandbox and the memory they use together, read from /proc.

For sandboxes that no control group bounds. The check is made from outside at intervals, so a program can exceed the
bound until the next one.
"""

import contextlib
import os
from pathlib import Path

from haluagent.errors import SandboxError

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def tree(process: int) -> list[int]:
    """Return a process and all its descendants that still exist.

    Raise `SandboxError` if the kernel does not list them.
    """
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        raise SandboxError("this kernel does not list the children of a process (CONFIG_PROC_CHILDREN): use Docker")
    found = [process]
    for parent in found:  # grows while it is read
        with contextlib.suppress(OSError):  # a process, or a thread of it, may end at any moment
            for thread in os.listdir(f"/proc/{parent}/task"):
                with contextlib.suppress(OSError):
                    found += map(int, Path(f"/proc/{parent}/task/{thread}/children").read_text().split())
    return found


def memory_above(limit: int, processes: list[int]) -> bool:
    """Return whether processes, all of one network namespace, use more than `limit` bytes of memory together.

    Shared memory counts once; a socket counts with the full size of its buffer.
    """
    sockets = _socket_memory(processes[-1]) if processes else 0
    if sockets + sum(_addressed(process) for process in processes) <= limit:  # quick to read, and never too low
        return False
    shared: dict[str, int] = {}
    for process in processes:
        for name, size in _shared(process).items():
            shared[name] = max(size, shared.get(name, 0))
    return sockets + sum(_private(process) for process in processes) + sum(shared.values()) > limit


def _socket_memory(process: int) -> int:
    """Return the bytes that the sockets in a network namespace may hold: the kernel keeps what was sent and not yet
    read."""
    with contextlib.suppress(OSError, IndexError):
        count = int(Path(f"/proc/{process}/net/sockstat").read_text().split()[2])
        return count * int(Path("/proc/sys/net/core/wmem_default").read_text())
    return 0


def _addressed(process: int) -> int:
    """Return the bytes of a process's address space."""
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[0]) * _PAGE
    return 0


def _private(process: int) -> int:
    """Return the bytes of a process's own memory; pages still shared after a fork are divided among their users."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss_Anon:"):
                return int(line.split()[1]) * 1024
    return 0


def _shared(process: int) -> dict[str, int]:
    """Return the bytes of each shared mapping, by device and inode: processes that no longer map it may have filled
    it."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            addresses, rights, _, device, inode, *_ = line.split(maxsplit=5)
            if rights.endswith("s"):
                start, end = (int(address, 16) for address in addresses.split("-"))
                name = f"{device} {inode}"
                found[name] = found.get(name, 0) + end - start
    return found
