"""Dumps of a wiki: what is read of them, and what becomes of one that is interrupted, cut or no dump."""

import asyncio
import bz2
import gzip
import json
import random
import signal
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from waiting import steps, until

from haluagent.search.documents.document import Document, LeftOut
from haluagent.search.documents.reading import read
from haluagent.search.documents.wikitext import plain
from haluagent.search.index import steps as steps_module
from haluagent.search.index.local import LocalIndex
from haluagent.search.index.update import FileChange

ADD = "import sys; from haluagent.search.index.local import LocalIndex; LocalIndex(sys.argv[1]).add(sys.argv[2:])"
PAGE = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">
<siteinfo><base>https://zh.wikipedia.org/wiki/Wikipedia:%E9%A6%96%E9%A1%B5</base></siteinfo>
<page><title>臺北市</title><ns>0</ns><revision><text>'''臺北市'''是[[中華民國|中華民國]]的首都。&lt;ref&gt;x&lt;/ref&gt;</text></revision></page>
<page><title>Talk:x</title><ns>1</ns><revision><text>no article</text></revision></page>
<page><title>台北</title><ns>0</ns><redirect title="臺北市" /><revision><text>#REDIRECT</text></revision></page>
</mediawiki>"""


def cirrus(path: Path, count: int) -> Path:
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        for number in range(count):
            row = {
                "title": f"Article {number}",
                "namespace": 0,
                "wiki": "zhwiki",
                "text": f"It is number{number}. " * 20,
            }
            file.write(json.dumps({"index": {"_id": str(number)}}) + "\n" + json.dumps(row) + "\n")
    return path


def added(index: LocalIndex, *paths: Path) -> list[FileChange]:
    changes: list[FileChange] = []
    index.add(paths, report=changes.append)
    return changes


def test_the_articles_of_both_kinds(tmp_path: Path) -> None:
    pages, documents = tmp_path / "zhwiki-pages-articles.xml.bz2", tmp_path / "zhwiki_content-00000.json.bz2"
    pages.write_bytes(
        bz2.compress(PAGE[:300].encode()) + bz2.compress(PAGE[300:].encode())
    )  # streams one after the other
    rows = ['{"index": {}}', json.dumps({"title": "a b", "text": "Some text.", "wiki": "enwiki"}), "[1]", "{", ""]
    rows += [json.dumps({"title": "Talk:a", "text": "no article", "namespace": 1})]
    documents.write_bytes(bz2.compress("\n".join(rows).encode()))
    url = "https://zh.wikipedia.org/wiki/%E8%87%BA%E5%8C%97%E5%B8%82"
    assert list(read(pages)) == [Document("臺北市", "臺北市是中華民國的首都。", url)]
    found = list(read(documents))
    assert found[0] == Document("a b", "Some text.", "https://en.wikipedia.org/wiki/a_b")
    assert [part.part for part in found[1:] if isinstance(part, LeftOut)] == ["line 3", "line 4"]


@pytest.mark.parametrize("stops", [1, 3])
def test_killed_within_a_dump_it_loses_and_doubles_nothing(tmp_path: Path, stops: int) -> None:
    dump, index = cirrus(tmp_path / "a.json.gz", 20_000), LocalIndex(tmp_path / "index.db")

    def held() -> int:
        return index.stats().documents if index.path.exists() and index.path.stat().st_size else 0

    before = 0
    for _ in range(stops):
        child = subprocess.Popen([sys.executable, "-c", ADD, str(index.path), str(dump)])
        until(partial(_ended_or_more, child, index.path, before))
        assert child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert before < held() < 20_000
        before = held()
    assert not index.encyclopaedias()[0].complete
    [*_, change] = added(index, dump)
    assert change.kind == "added" and index.encyclopaedias()[0].complete
    with sqlite3.connect(index.path) as connection:
        titles = [title for (title,) in connection.execute("SELECT title FROM document ORDER BY id")]
    assert titles == [f"Article {number}" for number in range(20_000)]
    assert [r.title for r in asyncio.run(index.search("number19999", 1))] == ["Article 19999"]
    assert added(index, dump) == []


def _ended_or_more(child: "subprocess.Popen[bytes]", path: Path, before: int) -> bool:
    if child.poll() is not None:
        return True
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return bool(connection.execute("SELECT count(*) FROM document").fetchone()[0] > before)
    except sqlite3.Error:  # not made yet
        return False


def test_of_a_cut_dump_what_was_read_stays_and_the_whole_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps_module, "STEP", 1000)
    dump, index = cirrus(tmp_path / "a.json.gz", 2000), LocalIndex(tmp_path / "index.db")
    whole = dump.read_bytes()
    dump.write_bytes(whole[: len(whole) // 2])
    for _ in range(2):  # again, and no more than before
        [change] = added(index, dump)
        assert change.kind == "failed" and "cut off" in change.problem
        assert 0 < index.stats().documents < 2000
    dump.write_bytes(whole)
    added(index, dump)
    assert index.stats().documents == 2000


@pytest.mark.parametrize("name", ["a.json.gz", "a.json.bz2", "a.xml.bz2"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no dump",
        gzip.compress(b"hello\n", mtime=0),
        bz2.compress(b"<a><b></a>"),
        random.Random(7).randbytes(2000),
    ],
)
def test_what_is_no_dump_is_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    changes = added(LocalIndex(tmp_path / "index.db"), tmp_path / name)
    assert [change.kind for change in changes] == ["failed"] and "\n" not in changes[0].problem


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("{{Infobox|a={{b|c}}}}'''Bold''' and ''it''.<ref name=\"a\">x [[y]]</ref><ref name=b />", "Bold and it."),
        ("[[File:a.jpg|thumb|a [[b]]]][[a|shown]] [[plain]] [https://x.y words] <!-- no {{ -->", "shown plain words"),
        ("== 歷史 ==\n* one\n*# two\n{| class=x\n| a || b\n|}\nend", "歷史\n\none\ntwo\n\nend"),
        (
            "高{{convert|8848|m|ft}}，-{zh-hans:计算机;zh-hant:電腦}-（{{lang-en|Taipei}}）{{unknown|x}}",
            "高8848 m，计算机（Taipei）",
        ),
        ("left open {{a [[b|c <ref>d", "left open a b|c d"),
        ("a }} b ]] c</ref> d &lt;b&gt; &nbsp;e", "a  b  c d <b>  e"),
        ("", ""),
    ],
)
def test_wikitext_is_reduced_to_its_text(wikitext: str, expected: str) -> None:
    assert plain(wikitext) == expected


@pytest.mark.parametrize(
    "mark", ["<ref>", "{{", "[[", "[[a}}", "{|", "-{", "<!--", "<ref ", "[http://x ", "= ", "[[ ", "{{lang|"]
)
def test_wikitext_takes_linear_time_whatever_is_left_open(mark: str) -> None:
    short, long = (steps(partial(plain, "=" + mark * count + "x")) for count in (500, 4000))
    assert long < 12 * short
    closing = {"<ref>": "</ref>", "{{": "}}", "[[": "]]", "{{lang|": "}}"}.get(mark, "")
    short, long = (steps(partial(plain, mark * count + closing * count)) for count in (500, 4000))
    assert long < 12 * short
