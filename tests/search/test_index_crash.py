"""The local index when processes are killed, meet each other, or run out of disk."""

import asyncio
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import until

from haluagent.errors import ConfigError
from haluagent.protocols import SearchResult
from haluagent.search.index import store
from haluagent.search.index.local import LocalIndex

FILES = 600
ADD = """
import sys
from haluagent.errors import ConfigError
from haluagent.search.index.local import LocalIndex
try:
    LocalIndex(sys.argv[1]).add(sys.argv[2:], report=lambda change: print(change.kind, change.path.name, flush=True))
except ConfigError as error:
    sys.exit(str(error))
"""


def start(index: Path, *paths: Path, prepare: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ADD, str(index), *map(str, paths)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=prepare)


def word(folder: str, number: int) -> str:
    """A word that only one file has."""
    return folder + "q" + "".join("bcdfghjkmp"[int(digit)] for digit in str(number))


def write(folder: Path, version: str, count: int = FILES) -> None:
    """Files of some passages, the first and the last of which name the file and the version."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        mark = f"{word(folder.name, number)} {version}"
        middle = " ".join(f"word{number * place % 5003}" for place in range(400))
        (folder / f"{folder.name}{number}.txt").write_text(f"Begins {mark}. {middle}. Ends {mark}.")


def find(index: Path, query: str) -> list[SearchResult]:
    return asyncio.run(LocalIndex(index).search(query, 3))


def check(index: Path) -> None:
    """SQLite's and FTS5's own checks, and that every file has all its passages."""
    with sqlite3.connect(index) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        counts = connection.execute(
            "SELECT file.passages, count(passage.id) FROM file LEFT JOIN document ON document.file = file.id"
            " LEFT JOIN passage ON passage.document = document.id GROUP BY file.id"
        )
        assert all(said == held > 0 for said, held in counts)


def versions(index: Path) -> dict[str, set[str]]:
    """The versions that the passages of each file are of."""
    found: dict[str, set[str]] = {}
    with sqlite3.connect(index) as connection:
        query = "SELECT title, text FROM document JOIN passage ON document = document.id"
        for title, text in connection.execute(query):
            found.setdefault(title, set()).update(
                word.strip(".") for word in text.split() if word.startswith("version")
            )
    return found


def test_killed_at_any_time_it_keeps_what_was_reported(tmp_path: Path) -> None:
    index, folder = tmp_path / "index.db", tmp_path / "many"
    reported: dict[str, str] = {}
    for version, stops in (("version1", [0, 1, 60, 10_000]), ("version2", [40, 10_000])):
        write(folder, version, 200)
        for stop in stops:
            child = start(index, folder)
            assert child.stdout is not None
            if not stop:  # before anything was reported, while the index is being made
                until(index.exists)
            for _ in range(stop):
                kind, name = (child.stdout.readline() or "end -").split()
                if kind == "end":
                    break
                reported[name.removesuffix(".txt")] = version
            child.send_signal(signal.SIGKILL)
            # What it still said before it died counts too, apart from a line that it did not finish.
            for line in child.stdout.read().split("\n")[:-1]:
                reported[line.split()[1].removesuffix(".txt")] = version
            child.wait()
            if not reported:
                continue
            for name in random.Random(stop).sample(sorted(reported), min(5, len(reported))):
                # The first to open the index after the kill.
                found = find(index, f"begins {word('many', int(name.removeprefix('many')))}")
                assert found[0].title == name
            check(index)
            held = versions(index)
            for name, expected in reported.items():  # another version may be there and not have been reported yet
                assert held[name] == {expected} or (expected, held[name]) == ("version1", {"version2"})
        assert len(held) == 200 and set(map(tuple, held.values())) == {(version,)}


def test_killed_within_a_large_file_it_has_nothing_of_it(tmp_path: Path) -> None:
    index, rows = tmp_path / "index.db", tmp_path / "rows.jsonl"
    (tmp_path / "first.txt").write_text("The tiger is an animal.")
    LocalIndex(index).add([tmp_path / "first.txt"])
    rows.write_text(
        "".join(f'{{"text": "row {n} of a large file with number{n % 997} and more"}}\n' for n in range(20_000))
    )
    child = start(index, rows)
    journal = index.with_name("index.db-wal")
    until(lambda: child.poll() is not None or (journal.exists() and journal.stat().st_size))
    assert child.poll() is None
    child.send_signal(signal.SIGKILL)
    assert child.communicate()[0] == ""
    assert [result.title for result in find(index, "tiger row")] == ["first"]
    check(index)
    assert start(index, rows).communicate(timeout=120)[0] == "added rows.jsonl\n"
    assert LocalIndex(index).stats().documents == 20_001


def test_processes_wait_for_each_other(tmp_path: Path) -> None:
    """Also where each finds no index and makes one, and where they add the same files."""
    index = tmp_path / "index.db"
    for name in ("one", "two"):
        write(tmp_path / name, "version1", 40)
    children = [
        start(index, tmp_path / names[0], tmp_path / names[1]) for names in (("one", "two"), ("two", "one")) * 2
    ]
    seen = 0
    while any(child.poll() is None for child in children):  # reading goes on meanwhile
        if index.exists() and index.stat().st_size:
            try:
                results = find(index, word("one", 7))
            except ConfigError as error:
                assert seen == 0 and "is no index" in str(error)  # not made yet
                continue
            assert [result.title for result in results] in ([], ["one7"] * 2)  # the file as a whole, or not at all
            seen += len(results)
    for child in children:
        assert child.communicate(timeout=60)[1] == "" and child.returncode == 0
    check(index)
    assert len(versions(index)) == 80 == LocalIndex(index).stats().files


def test_it_says_so_when_another_process_writes_for_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, path = tmp_path / "index.db", tmp_path / "a.txt"
    path.write_text("The tiger is an animal.")
    LocalIndex(index).add([path])
    monkeypatch.setattr(store, "PATIENCE", 0.0)
    monkeypatch.setattr(store, "_BUSY_STEP", 0.0)
    with sqlite3.connect(index, isolation_level=None) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConfigError, match="another process has been writing to the index"):
            LocalIndex(index).add([path])
        assert find(index, "tiger")
        connection.execute("ROLLBACK")
    LocalIndex(index).add([path])


def test_a_write_that_fails_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    """The system refuses to let a file grow, as it does on a full disk."""
    index = tmp_path / "index.db"
    write(tmp_path / "many", "version1")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))

    out, error = start(index, tmp_path / "many", prepare=limit).communicate(timeout=60)
    assert len(error.splitlines()) == 1 and f"the index {index} cannot be used: disk I/O error" in error
    check(index)
    assert 0 < len(out.splitlines()) == len(versions(index)) < FILES
    assert start(index, tmp_path / "many").communicate(timeout=60)[1] == ""
    assert len(versions(index)) == FILES


@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True).returncode != 0,
    reason="needs the right to mount a small disk",
)
def test_a_full_disk_and_a_read_only_one(tmp_path: Path) -> None:
    write(tmp_path / "many", "version1")
    write(tmp_path / "one", "version1", 1)
    write(tmp_path / "two", "version1", 1)
    disk = tmp_path / "disk"
    disk.mkdir()
    index = disk / "index.db"
    code = (
        "import asyncio, sys; from haluagent.search.index.local import LocalIndex; "
        'print([result.title for result in asyncio.run(LocalIndex(sys.argv[1]).search("begins oneqb", 1))])'
    )
    script = f"""
    mount -t tmpfs -o size=2m none {disk}
    {sys.executable} -c "$ADD" {index} {tmp_path / "one"}
    {sys.executable} -c "$ADD" {index} {tmp_path / "many"} > /dev/null
    {sys.executable} -c '{code}' {index}
    mount -o remount,ro {disk}
    {sys.executable} -c '{code}' {index}
    {sys.executable} -c "$ADD" {index} {tmp_path / "two"}
    """
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=os.environ | {"ADD": ADD}
    )
    assert done.stdout.splitlines() == ["added one0.txt", "['one0']", "['one0']"]
    full, read_only = done.stderr.splitlines()
    assert f"the disk of the index {index} is full: free some space and add again" in full
    assert f"the index {index} cannot be opened or written (" in read_only
