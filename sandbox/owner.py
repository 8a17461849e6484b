"""The owner of a container or control group, which tells what a crash left behind from what is in use."""

import contextlib
import os
import platform
import re
from functools import cache
from pathlib import Path

_OWNER = re.compile(r"(?P<machine>[\w.:-]+)/(?P<pid>\d+)/(?P<start>\d*)")


def this_process() -> str:
    """Return a unique name of this process: machine (since its last boot), process id, start time."""
    return f"{_machine()}/{os.getpid()}/{_start_time(os.getpid())}"


def is_gone(owner: str) -> bool | None:
    """Return whether the process of that name has ended; None if this process cannot see it, or `owner` is no such
    name."""
    match = _OWNER.fullmatch(owner)
    if match is None or match["machine"] != _machine():
        return None
    pid = int(match["pid"])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # the process belongs to another user
        pass
    return _start_time(pid) != match["start"]


@cache
def _machine() -> str:
    """Return the boot id and the process namespace, outside of which process ids mean nothing."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return re.sub(r"[^\w.-]", "-", platform.node()) or "unknown"


def _start_time(pid: int) -> str:
    """Return a process's start time in clock ticks since boot, or an empty string if the system does not say."""
    with contextlib.suppress(OSError):
        # The second field is the program's name in parentheses, which may contain anything.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""
