"""What a crash left behind is told from what is in use."""

import os
import subprocess
import sys

import pytest

from haluagent.sandbox import owner


def test_this_process_is_not_gone() -> None:
    assert owner.is_gone(owner.this_process()) is False


def test_a_process_that_ended_is_gone() -> None:
    code = "from haluagent.sandbox import owner; print(owner.this_process())"
    name = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert owner.is_gone(name) is True


def test_another_process_with_the_same_number_is_not_it() -> None:
    machine, pid, start = owner.this_process().rsplit("/", 2)
    assert owner.is_gone(f"{machine}/{pid}/{int(start) - 1}") is True


@pytest.mark.parametrize(
    "name",
    ["", "other-machine/1/5", "nonsense", f"x:1/{os.getpid()}/1"],
    ids=["empty", "elsewhere", "nonsense", "unreadable"],
)
def test_what_cannot_be_seen_is_not_judged(name: str) -> None:
    assert owner.is_gone(name) is None
