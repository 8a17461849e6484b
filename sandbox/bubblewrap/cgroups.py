"""Control groups, which limit the memory, processes and processor time of a whole sandbox if they can be set up."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterable
from pathlib import Path

from haluagent.sandbox import owner
from haluagent.sandbox.limits import SandboxLimits

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "haluagent-sandbox@"
# A group needs these; a kernel may lack the others (swap, processor time).
_REQUIRED = {"memory.max", "memory.limit_in_bytes", "pids.max"}
_REMOVE_SECONDS = 2.0
_counter = itertools.count()


class Group:
    """The control group of one sandbox; with version 1, one directory per controller."""

    def __init__(self, directories: list[Path]) -> None:
        self._directories = directories

    def add(self, processes: Iterable[int]) -> None:
        """Move processes into the group. Raise `OSError` if that is not allowed."""
        for directory in self._directories:
            for process in processes:
                (directory / "cgroup.procs").write_text(str(process))

    def out_of_memory(self) -> bool:
        """Return whether the kernel has killed one of the group's processes for lack of memory."""
        for directory in self._directories:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    counts = dict(line.split() for line in (directory / name).read_text().splitlines())
                    if int(counts.get("oom_kill", 0)):
                        return True
        return False

    def remove(self) -> None:
        """Remove the group once its processes have ended, which they do soon after they are killed."""
        deadline = time.monotonic() + _REMOVE_SECONDS
        for directory in self._directories:
            while directory.exists() and time.monotonic() < deadline:
                with contextlib.suppress(OSError):
                    directory.rmdir()
                    break
                time.sleep(0.005)


def create(limits: SandboxLimits, root: Path = _ROOT, own: str | None = None) -> Group | None:
    """Create a group with these limits; return None if this process may not make one that limits memory and processes.

    `own` is the text of /proc/self/cgroup; by default it is read.
    """
    name = f"{_PREFIX}{owner.this_process().replace('/', '@')}@{next(_counter)}"
    made: list[Path] = []
    try:
        for place, settings in _places(limits, root, own).items():
            group = place / name
            group.mkdir()
            made.append(group)
            for file, value in settings.items():
                _write(group / file, value)
    except OSError:
        Group(made).remove()
        return None
    return Group(made) if made else None


def remove_orphans(root: Path = _ROOT, own: str | None = None) -> None:
    """Remove the groups of processes that have ended."""
    for place in _places(SandboxLimits(), root, own):
        for group in place.glob(f"{_PREFIX}*"):
            if owner.is_gone(group.name.removeprefix(_PREFIX).rpartition("@")[0].replace("@", "/")):
                Group([group]).remove()


def _places(limits: SandboxLimits, root: Path, own: str | None) -> dict[Path, dict[str, str]]:
    """Return the directories in which groups can be made, each with the files to write and their contents.

    Empty if memory and processes cannot be limited.
    """
    memory, cpu = str(limits.total_memory), str(100_000 * limits.cpus)
    processes = {"pids.max": str(limits.processes)}
    lines = (Path("/proc/self/cgroup").read_text() if own is None else own).splitlines()
    triples = (line.split(":", 2) for line in lines)
    groups = {name: path.strip("/") for _, names, path in triples for name in names.split(",")}
    if (root / "cgroup.controllers").exists():
        place = _delegated(root, root / groups.get("", ""))
        settings = {"memory.max": memory, "memory.swap.max": "0", "cpu.max": f"{cpu} 100000"} | processes
        return {place: settings} if place else {}
    version_1 = {
        "memory": {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
        "pids": processes,
        "cpu": {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": cpu},
    }
    places = {root / name / groups.get(name, ""): settings for name, settings in version_1.items()}
    places = {place: settings for place, settings in places.items() if os.access(place, os.W_OK)}
    return places if len(places) == len(version_1) else {}


def _delegated(root: Path, own: Path) -> Path | None:
    """Return the nearest group above this process whose children have controllers and which this user may change
    (version 2).

    Only groups without processes of their own may have such children.
    """
    for place in (own, *own.parents):
        try:
            controllers = (place / "cgroup.subtree_control").read_text().split()
        except OSError:
            return None
        own_to_change = all(os.access(path, os.W_OK) for path in (place, place / "cgroup.procs"))
        if {"memory", "pids"} <= {*controllers} and own_to_change:
            return place
        if place == root:
            return None
    return None


def _write(file: Path, value: str) -> None:
    try:
        file.write_text(value)
    except OSError:
        if file.name in _REQUIRED:
            raise
