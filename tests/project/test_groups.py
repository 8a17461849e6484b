"""Which groups of tests CI adds, and that the table of the groups fits the checkout."""

import subprocess
import tomllib
from pathlib import Path

import pytest
from groups import COMMITS, GROUPS, MINUTES, changed, choose, rest, touched
from places import ROOT


def test_every_group_is_a_mark_and_its_sources_are_there() -> None:
    marks = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]["markers"]
    assert {mark.partition(":")[0] for mark in marks} == {"core", "unit", *GROUPS}
    for group in GROUPS.values():
        for source in group.sources:
            folder, _, start = source.rpartition("/")
            assert any(path.name.startswith(start) for path in (ROOT / folder).iterdir()), source


def test_a_source_or_a_test_with_its_mark_touches_a_group(tmp_path: Path) -> None:
    assert touched(["haluagent/train/sft.py", "README.md"]) == ["train"]
    assert touched(["sandbox/limits.py"]) == ["docker", "bubblewrap"]
    assert touched(["haluagent/report/lines.py", "tests/that/is_gone.py"]) == []
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("pytestmark = pytest.mark." + "ray\n")
    assert touched(["tests/test_one.py", "tests/test_two.py"], tmp_path) == ["ray"]


IN_TURN = [name for name, group in GROUPS.items() if not group.by_name]


def test_one_group_that_was_not_touched_has_its_turn() -> None:
    assert {choose([], turn)[0] for turn in range(len(IN_TURN))} == set(IN_TURN)
    assert all(len(choose([], turn)) == 1 for turn in range(len(IN_TURN)))
    for turn in range(len(IN_TURN)):
        first, other = choose(["ray"], turn)
        assert first == "ray" != other


@pytest.mark.parametrize("among", [["docker", "bubblewrap", "engine"], [*IN_TURN]])
def test_touched_groups_are_chosen_as_far_as_the_minutes_go(among: list[str]) -> None:
    ever: set[str] = set()
    for turn in range(len(IN_TURN)):
        chosen = choose(among, turn)
        ours = [name for name in chosen if name in among]
        assert ours and len(chosen) - len(ours) == (len(among) < len(IN_TURN))
        assert sum(GROUPS[name].minutes for name in ours) <= MINUTES or len(ours) == 1
        ever |= {*ours}
    assert ever == set(among)


def test_what_is_left_out_is_named() -> None:
    line = rest(["ray", "engine"], ["docker", "ray"])
    assert "docker (touched), bubblewrap," in line and "ray" not in line and "\n" not in line
    assert rest([*GROUPS], []) == "Every group was run."


def git(folder: Path, *arguments: str) -> None:
    named = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]
    subprocess.run(["git", *named, *arguments], cwd=folder, check=True, capture_output=True)


def test_what_the_last_commits_changed(tmp_path: Path) -> None:
    """In a checkout with its history, in one of a single commit, and in one of fewer than a landing has."""
    source, shallow = tmp_path / "source", tmp_path / "shallow"
    source.mkdir()
    git(source, "init", "--quiet")
    for number in range(COMMITS + 3):
        (source / f"{number}.txt").write_text("text")
        git(source, "add", "-A")
        git(source, "commit", "--quiet", "-m", "one more")
    assert set(changed(source)) == {f"{number}.txt" for number in range(3, COMMITS + 3)}
    for depth, known in ((1, range(COMMITS + 3)), (3, range(COMMITS + 1, COMMITS + 3))):
        git(tmp_path, "clone", "--quiet", "--depth", str(depth), f"file://{source}", f"{shallow}{depth}")
        assert set(changed(Path(f"{shallow}{depth}"))) == {f"{number}.txt" for number in known}
