"""An index from before characters were folded: it goes on answering, and is renewed by whoever writes to it first."""

import asyncio
import sqlite3
import stat
from pathlib import Path

import pytest

from haluagent.search.index import store
from haluagent.search.index.local import LocalIndex
from haluagent.search.index.terms import terms


@pytest.fixture
def old(tmp_path: Path) -> LocalIndex:
    """An index of version 1: without `parts`, and with the characters as they are written."""
    (tmp_path / "a.txt").write_text("臺灣的最高峰是玉山，海拔3952公尺。")
    (tmp_path / "b.txt").write_text("法国的首都是巴黎。")
    index = LocalIndex(tmp_path / "index.db")
    index.add([tmp_path / "a.txt", tmp_path / "b.txt"])
    with sqlite3.connect(index.path) as connection:
        connection.execute("ALTER TABLE file DROP COLUMN parts")
        connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        rows = connection.execute("SELECT passage.id, title, text FROM passage JOIN document ON document.id = document")
        for passage, title, text in rows.fetchall():
            words = " ".join(dict.fromkeys(terms(title, folded=False) + terms(text, folded=False)))
            connection.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (passage, words))
        connection.execute("PRAGMA user_version = 1")
    return index


def titles(index: LocalIndex, query: str) -> list[str]:
    return [result.title for result in asyncio.run(index.search(query))]


def version(index: LocalIndex) -> int:
    with sqlite3.connect(index.path) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_an_index_from_before_answers_without_being_changed(old: LocalIndex) -> None:
    old.path.chmod(stat.S_IRUSR)
    assert titles(old, "臺灣最高峰") == ["a"] and titles(old, "法国首都") == ["b"]
    assert titles(old, "臺北") == []
    assert old.stats().files == 2 and version(old) == 1


def test_writing_renews_it_whatever_is_written(old: LocalIndex, tmp_path: Path) -> None:
    assert old.add([tmp_path / "b.txt"]).unchanged == 1
    assert version(old) == store.SCHEMA_VERSION
    assert titles(old, "台湾最高峰") == titles(old, "台灣最高峰") == ["a"]
    old.remove([tmp_path / "a.txt"])  # what it forgets are the terms that it has
    assert titles(old, "台湾最高峰") == [] and titles(old, "法國首都") == ["b"]
    with sqlite3.connect(old.path) as connection:
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")


def test_a_renewal_that_is_cut_short_changes_nothing(old: LocalIndex, tmp_path: Path) -> None:
    def broken(title: str, text: str) -> str:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "words_of", broken)
        with pytest.raises(KeyboardInterrupt):
            old.add([tmp_path / "a.txt"])
    assert version(old) == 1 and titles(old, "臺灣最高峰") == ["a"]
    old.add([tmp_path / "a.txt"])
    assert titles(old, "台湾最高峰") == ["a"]
