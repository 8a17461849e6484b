"""The processes of the host, as they are seen from outside a sandbox."""

import contextlib
import os
from pathlib import Path


def marked(mark: str) -> set[int]:
    """Return the processes whose name or command line has the mark; this one is not among them."""
    found = set()
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{pid}/comm").read_text() or mark in Path(f"/proc/{pid}/cmdline").read_text():
                    found.add(int(pid))
    return found


def naming(mark: str) -> str:
    """Return a line of a program that gives its process a name, of at most 15 characters."""
    return f"import ctypes; ctypes.CDLL(None).prctl(15, {mark!r}.encode(), 0, 0, 0)  # PR_SET_NAME\n"
