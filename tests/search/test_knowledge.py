"""Packs: ZIM files made by libzim itself, attached and searched, and what is said where that fails."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("libzim")

from encyclopaedia import Article, articles, questions, write_zim

from haluagent.cli import main as cli
from haluagent.errors import ConfigError, SearchError
from haluagent.judging.found import worth_reading
from haluagent.protocols import SearchProvider, ToolContext
from haluagent.search import resolve
from haluagent.search.index.local import LocalIndex
from haluagent.search.index.place import packs_path
from haluagent.search.knowledge import packs, zim
from haluagent.search.knowledge.zim import ZimPack

TAIPEI = Article("臺北", "臺北市是中華民國的首都，位於臺灣北部。")
HAIR = Article("头发", "头发是长在头上的毛发，主要成分是角蛋白。")
PARIS = Article("Paris", "Paris is the capital of France. It lies on the Seine.")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(packs, "LARGEST_COPIED", -1)  # so that files of any size are attached
    monkeypatch.setenv("HALUAGENT_INDEX", str(tmp_path / "index.db"))
    return tmp_path / "index.db"


@pytest.fixture
def chinese(tmp_path: Path) -> Path:
    return write_zim(tmp_path / "zh.zim", "zho", [TAIPEI, HAIR, *articles("zho", 50)])


def titles(provider: SearchProvider | None, query: str) -> list[str]:
    assert provider is not None
    return [result.title for result in asyncio.run(provider.search(query))]


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run(["knowledge", *arguments])
    out, error = capfd.readouterr()
    return code, out, error


@pytest.mark.parametrize("language", ["eng", "zho"])
def test_the_right_article_among_others(tmp_path: Path, language: str, capfd: pytest.CaptureFixture[str]) -> None:
    pack = ZimPack(write_zim(tmp_path / "a.zim", language, articles(language, 200)))
    capfd.readouterr()
    assert isinstance(pack, SearchProvider)
    found = [question.title in titles(pack, question.text) for question in questions(language)]
    assert sum(found) >= len(found) - 1
    assert capfd.readouterr() == ("", "")  # libzim's own words stay in its process


def test_simplified_finds_traditional_and_back(chinese: Path) -> None:
    pack = ZimPack(chinese)
    assert titles(pack, "台北在哪里？")[0] == titles(pack, "臺北在哪裡？")[0] == titles(pack, "台湾北部")[0] == "臺北"
    assert titles(pack, "頭髮的主要成分")[0] == titles(pack, "头发的主要成分")[0] == "头发"
    [first, *_] = asyncio.run(pack.search("台北"))
    assert first.url == f"{chinese.as_uri()}#臺北" and first.text is not None and "首都" in first.text
    assert titles(pack, "") == titles(pack, "?!") == [] and titles(pack, '"x AND (* NOT') == []


def test_attached_packs_and_the_index_are_searched_together(
    index: Path, chinese: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    english = write_zim(tmp_path / "en.zim", "eng", [PARIS, *articles("eng", 50)])
    assert run(capfd, "add", str(chinese), str(english))[0] == 0
    assert not index.exists()
    assert titles(resolve(), "capital of France")[0] == "Paris" and titles(resolve(), "台北")[0] == "臺北"
    (tmp_path / "own.txt").write_text("The capital of France was moved to Bordeaux in 1940. France had fallen.")
    LocalIndex(index).add([tmp_path / "own.txt"])
    assert set(titles(resolve(), "capital of France")[:2]) == {"Paris", "own"}
    assert titles(resolve(), "France in 1940 Bordeaux")[0] == "own"
    code, out, _ = run(capfd, "list", "--json")
    assert [(row["name"], row["state"]) for row in json.loads(out)] == [("zh", "attached"), ("en", "attached")]
    assert run(capfd, "remove", "zh", str(english))[0] == 0
    assert not packs_path(index).exists() and isinstance(resolve(), LocalIndex)
    code, _, error = run(capfd, "remove", "zh")
    assert code == 2 and "there is no zh" in error


def test_a_missing_pack_is_said_and_the_others_are_searched(
    index: Path, chinese: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    gone = write_zim(tmp_path / "gone.zim", "eng", [PARIS])
    run(capfd, "add", str(gone), str(chinese))
    gone.unlink()
    provider = resolve()
    with caplog.at_level(logging.WARNING):
        assert titles(provider, "台北")[0] == titles(provider, "臺北")[0] == "臺北"
    assert [record.message for record in caplog.records] == [
        f"{gone} cannot be read: No such file or directory; the rest was searched"
    ]
    with pytest.raises(SearchError, match=r"gone\.zim cannot be read"):  # there may be something in it
        titles(provider, "capital of France")
    code, out, _ = run(capfd, "list")
    assert code == 0 and out.startswith(f"gone: NOT SEARCHED ({gone} cannot be read") and "zh: attached" in out
    packs_path(index).write_text("{")
    with pytest.raises(SearchError, match="the list of packs .* cannot be read"):
        titles(provider, "台北")
    assert run(capfd, "list")[0] == 2


def test_a_pack_that_another_takes_the_place_of_is_opened_anew(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "a.zim", "eng", [PARIS])
    assert titles(ZimPack(path), "capital of France") == ["Paris"]
    other = write_zim(tmp_path / "b.zim", "eng", [Article("Lyon", "Lyon is a city of France, not its capital.")])
    other.replace(path)
    assert titles(ZimPack(path), "capital of France") == ["Lyon"]


@pytest.mark.parametrize("damage", ["empty", "foreign", "cut", "zeros"])
def test_a_broken_file_is_one_line(index: Path, chinese: Path, damage: str, capfd: pytest.CaptureFixture[str]) -> None:
    data = chinese.read_bytes()
    half = len(data) // 2
    chinese.write_bytes(
        {"empty": b"", "foreign": b"PK" * 5000, "cut": data[:half], "zeros": data[:half] + bytes(half)}[damage]
    )
    code, out, error = run(capfd, "add", str(chinese))
    assert code == 2 and len(error.splitlines()) == 1 and f"{chinese} cannot be read: no ZIM file" in error
    with pytest.raises(SearchError):
        titles(ZimPack(chinese), "台北")


def test_a_file_that_ends_its_reader_is_one_line(chinese: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As libzim does where a file is damaged in certain places; another pack is searched all the same."""
    ended = zim.LimitedWorker("os:abort")
    with monkeypatch.context() as patch:
        patch.setattr(zim, "_worker", ended)
        with pytest.raises(SearchError, match="damaged, or too slow"):
            titles(ZimPack(chinese), "台北")
    assert titles(ZimPack(chinese), "台北")[0] == "臺北"


def test_a_small_file_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HALUAGENT_INDEX", str(tmp_path / "index.db"))
    path = write_zim(tmp_path / "small.zim", "zho", [TAIPEI, HAIR])
    code, out, _ = run(capfd, "add", str(path))
    assert code == 0 and f"added {path}, passages: 2" in out
    path.unlink()
    assert titles(resolve(), "台北")[0] == "臺北"
    assert run(capfd, "list")[1].startswith("small: copied into the index, 2 passages")
    assert run(capfd, "remove", "small")[1] == f"removed {path}\n"
    assert titles(resolve(), "台北") == []


def test_without_the_extra_one_line_names_it(chinese: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zim, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r'pip install "haluagent\[knowledge\]"'):
        titles(ZimPack(chinese), "台北")


def test_web_search_reads_a_passage_in_the_other_characters(
    chinese: Path, make_context: Callable[..., ToolContext]
) -> None:
    context = make_context("台北位于哪里？", "台北位于台湾北部。", language="zh")
    results = asyncio.run(ZimPack(chinese).search("台北位于哪里？"))
    assert worth_reading(context, context.sentences[0], results)[0].title == "臺北"
