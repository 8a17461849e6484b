"""The local index: what is found, how it follows the files, and what a user is told when it cannot be used."""

import asyncio
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.errors import ConfigError
from haluagent.protocols import SearchProvider, SearchResult
from haluagent.search.documents.document import Document
from haluagent.search.documents.reading import read
from haluagent.search.index.local import LocalIndex
from haluagent.search.index.place import default_path, exists
from haluagent.search.index.update import FileChange

CURIE = "# Marie Curie\n\nMarie Curie was born in Warsaw in 1867. She won the Nobel Prize in physics in 1903.\n"
BEIJING = "北京是中华人民共和国的首都。2008年8月8日，北京举办了奥林匹克运动会。"
SHANGHAI = "上海是中国最大的城市，位于长江的入海口。2010年，上海举办了世界博览会。"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    (folder / "zh").mkdir(parents=True)
    (folder / "curie.md").write_text(CURIE)
    (folder / "zh" / "北京.txt").write_bytes(BEIJING.encode("gb18030"))
    (folder / "zh" / "上海.txt").write_text(SHANGHAI)
    settle(folder)
    return folder


@pytest.fixture
def index(tmp_path: Path) -> LocalIndex:
    return LocalIndex(tmp_path / "index.db")


def settle(folder: Path) -> None:
    """Files that were written long ago, so that their times can be relied on."""
    for path in folder.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))


def find(index: LocalIndex, query: str, count: int = 5) -> list[SearchResult]:
    return asyncio.run(index.search(query, count))


def titles(index: LocalIndex, query: str, count: int = 5) -> list[str]:
    return [result.title for result in find(index, query, count)]


def added(index: LocalIndex, *paths: Path, field: str | None = None) -> list[FileChange]:
    changes: list[FileChange] = []
    index.add(paths, field=field, report=changes.append)
    return changes


def test_it_is_a_search_provider(index: LocalIndex) -> None:
    assert isinstance(index, SearchProvider) and index.name == "local"


def test_a_result_is_a_passage_with_its_place(index: LocalIndex, folder: Path) -> None:
    summary = index.add([folder])
    assert (summary.added, summary.passages, summary.failed) == (3, 3, 0)
    [result, *_] = find(index, "When did Marie Curie win the Nobel Prize?")
    assert result == SearchResult(
        title="Marie Curie",
        url=(folder / "curie.md").as_uri(),
        snippet="She won the Nobel Prize in physics in 1903.",
        text=CURIE.strip(),
        offset=0,
    )
    assert titles(index, "奥林匹克运动会是在哪里举办的？")[0] == "北京"
    assert find(index, "博览会")[0].url.endswith("/zh/%E4%B8%8A%E6%B5%B7.txt")


def test_offsets_lead_into_the_text_of_the_document(index: LocalIndex, tmp_path: Path) -> None:
    path = tmp_path / "long.md"
    path.write_text("# Towers\r\n\r\n" + "".join(f"第{n}座塔高{n}米。 Tower {n} is {n} m high.\n" for n in range(500)))
    index.add([path])
    [document] = read(path)
    assert isinstance(document, Document)
    for number in (3, 250, 499):
        found = find(index, f"第{number}座塔 tower {number}", 3)
        for result in found:
            assert result.text and document.text[result.offset : result.offset + len(result.text)] == result.text
        assert f"第{number}座塔" in (found[0].text or "") and f"Tower {number} " in found[0].snippet


def test_rows_are_documents(index: LocalIndex, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"text": "about tigers"}, {"text": "about lions", "title": "Lions", "url": "https://example.org/lions"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    index.add([path])
    assert [(r.title, r.url) for r in find(index, "tigers")] == [("rows.jsonl, line 1", path.as_uri() + "#L1")]
    assert [(r.title, r.url) for r in find(index, "lion")] == [("Lions", "https://example.org/lions")]


def test_titles_count(index: LocalIndex, tmp_path: Path) -> None:
    rows = [{"title": "Saturn", "text": "It has rings."}, {"title": "Mars", "text": "It is red, unlike Saturn."}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    index.add([tmp_path / "a.jsonl"])
    assert titles(index, "Saturn") == ["Saturn", "Mars"]


def test_a_word_counts_less_in_a_longer_passage(index: LocalIndex, tmp_path: Path) -> None:
    long = "The river Elbe flows by. " + "Many a house and garden stands beside old roads there. " * 12
    rows = [{"title": "long", "text": long}, {"title": "short", "text": "The river Elbe is wide."}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    index.add([tmp_path / "rows.jsonl"])
    assert titles(index, "the river Elbe") == ["short", "long"]


def test_nothing_matches_nothing(index: LocalIndex, folder: Path) -> None:
    index.add([folder])
    for query in ("zebra", "", "?!", "the zebra of which", "量子是什么", "\0", "马"):
        assert find(index, query) == []
    assert find(index, "Curie", 0) == []


def test_function_words_alone_decide_only_where_there_is_nothing_else(index: LocalIndex, tmp_path: Path) -> None:
    for name, text in {"a": "The Who are a band.", "b": "A tiger is an animal.", "c": "有机物的目的"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    index.add([tmp_path])
    assert titles(index, "who are the tigers") == ["b"]
    assert titles(index, "the who")[0] == "a"
    assert titles(index, "有机") == ["c"]


def test_a_single_character_is_found_wherever_it_stands(index: LocalIndex, folder: Path) -> None:
    index.add([folder])
    assert (
        sorted(titles(index, "海")) == ["上海"] and titles(index, "首") == ["北京"] and titles(index, "口") == ["上海"]
    )
    assert sorted(titles(index, "城 会")) == ["上海", "北京"]


def test_copies_are_shown_once_but_not_those_with_other_figures(index: LocalIndex, tmp_path: Path) -> None:
    boilerplate = "The annual report of the company says that sales of the tower rose strongly over the whole year"
    rows = [{"text": f"{boilerplate} 2019."}] * 3 + [{"text": f"{boilerplate} 2020."}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    paragraph = f"{boilerplate}, as was to be expected by all. " * 7
    (tmp_path / "b.txt").write_text("\n\n".join([paragraph + "One.", paragraph + "Two.", paragraph + "2021."]))
    index.add([tmp_path])
    endings = [(result.text or "")[-5:] for result in find(index, "annual report sales tower", 10)]
    assert len(endings) == 4 and {"2019.", "2020.", "2021."} < set(endings)


SYNTAX = [
    '"',
    "'",
    "*",
    "(",
    ")",
    "-",
    ":",
    "^",
    "+",
    "{",
    "}",
    " AND ",
    " OR ",
    " NOT ",
    " NEAR(",
    "terms:",
    "\0",
    ";--",
    "Curie",
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> LocalIndex:
    folder = tmp_path_factory.mktemp("filled")
    (folder / "a.md").write_text(CURIE + BEIJING)
    index = LocalIndex(folder / "index.db")
    index.add([folder])
    return index


@given(st.lists(st.sampled_from(SYNTAX) | st.text(max_size=5), max_size=30).map("".join))
def test_a_query_is_words_and_never_syntax(filled: LocalIndex, query: str) -> None:
    find(filled, query)
    if '"' in query:
        assert titles(filled, f"Curie {query}") == ["Marie Curie"]


def test_a_long_query_is_no_trouble(filled: LocalIndex) -> None:
    assert titles(filled, "Curie " + "".join(f"word{n} 第{n} " for n in range(100_000))) == ["Marie Curie"]
    assert titles(filled, "北京" * 100_000) == ["Marie Curie"]


def test_what_is_not_new_is_left_alone(index: LocalIndex, folder: Path) -> None:
    added(index, folder)
    assert added(index, folder) == []
    (folder / "curie.md").touch()
    assert added(index, folder, folder / "curie.md") == []
    (folder / "curie.md").write_text("Pierre Curie was born in Paris.")
    assert added(index, folder) == [FileChange("replaced", folder / "curie.md", 1)]
    assert titles(index, "Warsaw") == [] and titles(index, "Pierre") == ["curie"]


def test_a_change_within_the_same_moment_is_seen(index: LocalIndex, folder: Path) -> None:
    """A file can be written twice without showing another size or time."""
    path = folder / "new.txt"
    path.write_text("tiger")
    times = path.stat().st_mtime_ns, path.stat().st_mtime_ns
    added(index, folder)
    path.write_text("zebra")
    os.utime(path, ns=times)
    assert added(index, folder) == [FileChange("replaced", path, 1)]


def test_what_is_gone_is_removed_with_its_folder(index: LocalIndex, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "documents.txt"  # begins with the folder's name
    other.write_text("tiger")
    added(index, folder, other)
    (folder / "curie.md").unlink()
    other.unlink()
    assert added(index, folder) == [FileChange("removed", folder / "curie.md")]
    assert titles(index, "Curie") == [] and titles(index, "tiger") == ["documents"]
    with pytest.raises(ConfigError, match="does not exist: `haluagent index remove`"):
        index.add([other])


def test_what_can_no_longer_be_read_is_forgotten(index: LocalIndex, folder: Path) -> None:
    added(index, folder)
    path = folder / "curie.md"
    path.write_bytes(b"\0\1\2")
    first, second = added(index, folder)
    assert first[:2] == ("failed", path) and "no text in UTF-8" in first.problem
    assert second == FileChange("removed", path)
    assert titles(index, "Curie") == []


def test_a_folder_is_searched_for_what_can_be_read(index: LocalIndex, folder: Path) -> None:
    for name in (".hidden.txt", "program.exe", "NOTES.TXT"):
        (folder / name).write_text(f"tiger in {name}")
    (folder / ".git").mkdir()
    (folder / ".git" / "a.txt").write_text("tiger")
    os.mkfifo(folder / "pipe.txt")
    (folder / "loop").symlink_to(folder)
    summary = index.add([folder])
    assert (summary.added, summary.skipped, summary.failed) == (4, 4, 0)
    assert titles(index, "tiger") == ["NOTES"]
    changes = added(index, folder / "program.exe", folder / "pipe.txt")
    assert [change[:2] for change in changes] == [("failed", folder / "pipe.txt"), ("added", folder / "program.exe")]


def test_a_link_in_a_folder_brings_in_nothing_from_outside(index: LocalIndex, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    for secret in (outside / "secret.txt", outside / "deep" / "secret.txt", tmp_path / f"{folder.name}x.txt"):
        secret.write_text("a secret tiger")
    (folder / "own.txt").write_text("an own tiger")
    (folder / "near.txt").symlink_to(folder / "own.txt")
    (folder / "relative.txt").symlink_to("own.txt")
    for number, target in enumerate(
        (outside / "secret.txt", Path("..") / "outside" / "secret.txt", tmp_path / f"{folder.name}x.txt")
    ):
        (folder / f"far{number}.txt").symlink_to(target)
    (folder / "chain.txt").symlink_to(folder / "far0.txt")
    (folder / "circle.txt").symlink_to(folder / "circle.txt")
    (folder / "below").symlink_to(outside / "deep")
    summary = index.add([folder])
    assert summary.skipped == 5
    assert {title for title in titles(index, "tiger")} <= {"own", "near", "relative"} and titles(index, "secret") == []
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert index.add([link]).added > 0  # the folder itself may be named by a link
    assert titles(index, "secret") == []
    index.add([folder / "far0.txt"])  # a file that is named is the user's choice
    assert titles(index, "secret") == ["far0"]


def test_broken_files_do_not_stop_the_others(index: LocalIndex, folder: Path) -> None:
    (folder / "a.pdf").write_text("no PDF")
    (folder / "b.jsonl").write_text("\n".join(['{"text": "good"}', *["bad"] * 7]))
    settle(folder)
    changes = added(index, folder)
    assert [change.kind for change in changes].count("left_out") == 6
    assert {change.path.name for change in changes if change.kind == "added"} == {
        "b.jsonl",
        "curie.md",
        "北京.txt",
        "上海.txt",
    }
    assert sum(change.number for change in changes if change.kind == "left_out") == 7 == index.stats().left_out
    [failed, left_out] = added(index, folder)
    assert failed.path.name == "a.pdf" and left_out == FileChange(
        "left_out", folder / "b.jsonl", 7, "7 parts had been left out when it was added"
    )


def test_rows_that_turn_out_to_be_none_leave_nothing(index: LocalIndex, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "tiger"}')
    added(index, path)
    path.write_text('{"answer": "lion"}\n' * 2)
    changes = added(index, path)
    assert [change.kind for change in changes] == ["removed", "failed"]
    assert titles(index, "tiger") == [] and index.stats().files == 0
    assert added(index, path, field="answer") == [FileChange("added", path, 2)]
    assert titles(index, "lions", 1) == ["rows.jsonl, line 1"]


def test_paths_are_taken_out(index: LocalIndex, folder: Path) -> None:
    added(index, folder)
    (folder / "curie.md").unlink()
    removed: list[FileChange] = []
    assert index.remove([folder / "curie.md", folder / "zh"], report=removed.append) == 3
    assert {change.path for change in removed} == {folder / "curie.md", *(folder / "zh").iterdir()}
    assert index.stats().passages == 0 and find(index, "Curie 北京 上海") == []
    with pytest.raises(ConfigError, match="nothing of .* is in the index"):
        index.remove([folder])


def test_nothing_is_left_behind(index: LocalIndex, folder: Path) -> None:
    """Terms too: FTS5 forgets only what it is told of."""
    for round_ in range(3):
        (folder / "curie.md").write_text(CURIE + f"Round {round_}.")
        added(index, folder)
    index.remove([folder])
    with sqlite3.connect(index.path) as connection:
        for table in ("file", "document", "passage", "vocabulary"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_any_file_name_will_do(index: LocalIndex, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20#?\n"
    folder.mkdir()
    path = Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.txt"))
    path.write_text("tiger")
    assert added(index, folder) == [FileChange("added", path, 1)]
    [result] = find(index, "tiger")
    assert result.url.endswith("/a%20b%2520%23%3F%0A/%FF%FE.txt") and result.model_dump_json()
    path.unlink()
    assert added(index, folder) == [FileChange("removed", path)]


def test_stats(index: LocalIndex, folder: Path) -> None:
    (folder / "r.jsonl").write_text('"one"\n"two"\nthree')
    index.add([folder])
    stats = index.stats()
    assert (stats.files, stats.documents, stats.passages, stats.left_out) == (4, 5, 5, 1)
    assert stats.path == index.path and stats.bytes == index.path.stat().st_size


def test_only_its_owner_can_read_it(index: LocalIndex, folder: Path) -> None:
    index.add([folder])
    assert stat.S_IMODE(index.path.stat().st_mode) == 0o600


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HALUAGENT_INDEX", str(tmp_path / "mine.db"))
    assert default_path() == LocalIndex().path == tmp_path / "mine.db"
    monkeypatch.setenv("HALUAGENT_INDEX", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "haluagent" / "index.db"
    assert not exists(default_path())


def test_naming_it_loads_no_database() -> None:
    code = "import sys; from haluagent.search.index.local import LocalIndex; LocalIndex('x'); print('sqlite3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def message(index: LocalIndex, path: Path | None = None) -> str:
    """What the user is told, in one line; the same for reading and writing where both fail."""
    with pytest.raises(ConfigError) as caught:
        if path is None:
            find(index, "Curie")
        else:
            index.add([path])
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_no_index_yet(index: LocalIndex, folder: Path) -> None:
    for action in (index.stats, lambda: index.remove([folder]), lambda: find(index, "x")):
        with pytest.raises(ConfigError, match="there is no index .*: make one with `haluagent index add PATH`"):
            action()
    index.path.touch()  # as a process leaves it that was killed at once
    assert "there is no index" in message(index)
    index.add([folder])
    assert titles(index, "Curie") == ["Marie Curie"]


@pytest.mark.parametrize("content", [b"some text\n" * 1000, b"SQLite format 3\0" + b"x" * 5000])
def test_a_file_that_is_no_index(index: LocalIndex, folder: Path, content: bytes) -> None:
    index.path.write_bytes(content)
    assert "is no index of HaluAgent" in message(index) and "is no index of HaluAgent" in message(index, folder)
    assert index.path.read_bytes() == content


def test_the_database_of_another_program_is_not_touched(index: LocalIndex, folder: Path) -> None:
    with sqlite3.connect(index.path) as connection:
        connection.execute("CREATE TABLE file (url TEXT)")
    before = index.path.read_bytes()
    assert "is no index of HaluAgent" in message(index) and "is no index of HaluAgent" in message(index, folder)
    assert index.path.read_bytes() == before


@pytest.mark.parametrize(("version", "problem"), [(99, "made by a newer HaluAgent: upgrade"), (0, "made by an older")])
def test_another_version(index: LocalIndex, folder: Path, version: int, problem: str) -> None:
    index.add([folder])
    with sqlite3.connect(index.path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    assert problem in message(index) and problem in message(index, folder)


def test_a_damaged_index(index: LocalIndex, folder: Path) -> None:
    (folder / "more.txt").write_text("".join(f"{BEIJING} {n}\n" for n in range(500)))
    index.add([folder])
    size = index.path.stat().st_size
    with index.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    assert "is damaged: delete it and add the documents again" in message(index)


def test_a_place_that_cannot_be_written(folder: Path) -> None:
    """Not even by root."""
    assert "cannot be opened or written" in message(LocalIndex("/proc/index.db"), folder)
    assert "cannot be opened or written" in message(LocalIndex(folder / "curie.md" / "index.db"), folder)
    assert "cannot be opened or written" in message(LocalIndex(folder), folder)
