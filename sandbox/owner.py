"""Which process a container or a control group belongs to, so that what a crash left behind can be told from what is
in use."""

import contextlib
import os
import platform
import re
from functools import cache
from pathlib import Path

_OWNER = re.compile(r"(?P<machine>[\w.:-]+)/(?P<pid>\d+)/(?P<start>\d*)")


def this_process() -> str:
    """The name of this process, unlike that of any other: machine (since its last start), process id, start time."""
    return f"{_machine()}/{os.getpid()}/{_start_time(os.getpid())}"


def is_gone(owner: str) -> bool | None:
    """Whether the process of that name has ended; None where this process cannot see it, or `owner` names none."""
    match = _OWNER.fullmatch(owner)
    if match is None or match["machine"] != _machine():
        return None
    pid = int(match["pid"])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # there is one, of another user
        pass
    return _start_time(pid) != match["start"]


@cache
def _machine() -> str:
    """The boot and the process namespace: process ids mean nothing outside of them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return re.sub(r"[^\w.-]", "-", platform.node()) or "unknown"


def _start_time(pid: int) -> str:
    """In clock ticks since the machine started; empty where the system does not tell."""
    with contextlib.suppress(OSError):
        # The second field is the program's name in parentheses, which may hold anything.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""
