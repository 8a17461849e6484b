"""Control groups of both versions, on a tree of plain files like the kernel's."""

import os
import subprocess
from pathlib import Path

import pytest

from haluagent.sandbox import owner
from haluagent.sandbox.bubblewrap import cgroups
from haluagent.sandbox.limits import MIB, SandboxLimits
from haluagent.sandbox.worker import processes

LIMITS = SandboxLimits(memory=100 * MIB, disk=4 * MIB, processes=7, cpus=2)
TOTAL = str(140 * MIB)


def make_group(directory: Path, **files: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text)
    return directory


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    for controller in ("memory", "pids", "cpu"):
        make_group(tmp_path / controller / "user")
    return tmp_path


OWN_1 = "9:name=systemd:/\n8:pids:/user\n4:memory:/user\n1:cpu,cpuacct:/user\n0::/\n"


def test_version_1_has_a_directory_for_each_controller(version_1: Path) -> None:
    group = cgroups.create(LIMITS, version_1, OWN_1)
    assert group is not None
    (memory,) = (version_1 / "memory/user").iterdir()
    (pids,) = (version_1 / "pids/user").iterdir()
    (cpu,) = (version_1 / "cpu/user").iterdir()
    assert memory.name == pids.name == cpu.name
    assert (
        (memory / "memory.limit_in_bytes").read_text() == (memory / "memory.memsw.limit_in_bytes").read_text() == TOTAL
    )
    assert (pids / "pids.max").read_text() == "7"
    assert (cpu / "cpu.cfs_quota_us").read_text() == "200000"
    group.add([os.getpid()])
    assert (pids / "cgroup.procs").read_text() == str(os.getpid())


def test_version_1_without_a_controller_makes_none(version_1: Path) -> None:
    (version_1 / "pids/user").rmdir()
    assert cgroups.create(LIMITS, version_1, OWN_1) is None
    assert not list((version_1 / "memory/user").iterdir())


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    controllers = "cpu memory pids\n"
    make_group(tmp_path, cgroup__controllers=controllers, cgroup__subtree_control=controllers, cgroup__procs="")
    make_group(tmp_path / "user.slice", cgroup__subtree_control=controllers, cgroup__procs="")
    make_group(tmp_path / "user.slice/app", cgroup__subtree_control="", cgroup__procs="1")
    return tmp_path


def test_version_2_makes_it_beside_the_group_of_this_process(version_2: Path) -> None:
    assert cgroups.create(LIMITS, version_2, "0::/user.slice/app\n") is not None
    (made,) = [path for path in (version_2 / "user.slice").iterdir() if path.name.startswith("haluagent")]
    assert (made / "memory.max").read_text() == TOTAL
    assert (made / "memory.swap.max").read_text() == "0"
    assert (made / "pids.max").read_text() == "7"
    assert (made / "cpu.max").read_text() == "200000 100000"


def test_version_2_without_delegated_controllers_makes_none(version_2: Path) -> None:
    for place in (version_2, version_2 / "user.slice"):
        (place / "cgroup.subtree_control").write_text("cpu\n")
    assert cgroups.create(LIMITS, version_2, "0::/user.slice/app\n") is None


@pytest.mark.parametrize(
    ("name", "text", "killed"),
    [
        ("memory.events", "low 0\noom 3\noom_kill 2\n", True),
        ("memory.events", "low 0\noom 3\noom_kill 0\n", False),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", True),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", False),
    ],
)
def test_out_of_memory(tmp_path: Path, name: str, text: str, killed: bool) -> None:
    (tmp_path / name).write_text(text)
    assert cgroups.Group([tmp_path]).out_of_memory() is killed


def test_groups_of_ended_processes_are_removed(version_1: Path) -> None:
    machine, pid, start = owner.this_process().rsplit("/", 2)
    memory = version_1 / "memory/user"
    gone = memory / f"haluagent-sandbox@{machine}@{pid}@{int(start) - 1}@0"
    mine = memory / f"haluagent-sandbox@{machine}@{pid}@{start}@0"
    other = memory / "something@else"
    for path in (gone, mine, other):
        path.mkdir()
    cgroups.remove_orphans(version_1, OWN_1)
    assert sorted(memory.iterdir()) == sorted([mine, other])


def test_the_memory_of_processes() -> None:
    assert processes.tree(os.getpid())[0] == os.getpid()
    assert processes.memory_above(0, [os.getpid()])
    assert not processes.memory_above(2**45, [os.getpid()])
    assert not processes.memory_above(0, [])


def test_processes_may_end_while_they_are_listed() -> None:
    churn = subprocess.Popen(["sh", "-c", "while :; do /bin/true & /bin/true & wait; done"])
    try:
        for _ in range(200):
            assert processes.tree(os.getpid())[0] == os.getpid()
    finally:
        churn.kill()
        churn.wait()
