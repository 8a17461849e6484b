"""What stands around a provider: the cache on disk and the budget."""

import asyncio
import logging
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from haluagent.errors import QuotaExhausted, SearchError
from haluagent.protocols import SearchProvider, SearchResult
from haluagent.search.cache import FILE, Cache, cache_key
from haluagent.search.service import DAY, SHORT, SearchService
from haluagent.types import Language

HIT = SearchResult(title="题目", url="https://example.org/?a=\x00", snippet="摘要", text="text", offset=3)


class Provider:
    """Finds what it is told to, and counts how often it is asked."""

    name = "scripted"
    endpoint = "here"
    gives_text = False

    def __init__(self, *found: SearchResult, error: Exception | None = None) -> None:
        self.found = list(found)
        self.error = error
        self.asked: list[tuple[str, int, str]] = []

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        self.asked.append((query, count, language))
        if self.error:
            raise self.error
        return self.found


class Clock:
    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


def ask(service: SearchProvider, query: str = "q", count: int = 5, language: Language = "en") -> list[SearchResult]:
    return asyncio.run(service.search(query, count, language))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(tmp_path: Path, clock: Clock) -> Cache:
    return Cache(tmp_path / "deep" / FILE, now=clock)


def test_the_same_query_is_sent_once(cache: Cache) -> None:
    provider = Provider(HIT)
    service = SearchService(provider, cache=cache)
    assert isinstance(service, SearchProvider)
    assert ask(service) == ask(service, " q\n") == [HIT]
    assert ask(SearchService(provider, cache=Cache(cache.path, now=cache._now))) == [HIT]  # and by another process
    assert provider.asked == [("q", 5, "en")]


def test_another_request_is_another_one(cache: Cache) -> None:
    provider = Provider(HIT)
    service = SearchService(provider, cache=cache)
    ask(service), ask(service, "p"), ask(service, count=3), ask(service, language="zh")
    provider.endpoint = "there"
    ask(service)
    provider.name = "other"
    ask(SearchService(provider, cache=cache))
    assert len(provider.asked) == 6


def test_answers_expire(cache: Cache, clock: Clock) -> None:
    provider = Provider(HIT)
    service = SearchService(provider, cache=cache, keep=2 * DAY)
    ask(service)
    clock.now += 2 * DAY - 1
    ask(service)
    assert len(provider.asked) == 1
    clock.now += 1
    ask(service)
    assert len(provider.asked) == 2


def test_expired_answers_leave_the_file(cache: Cache, clock: Clock) -> None:
    cache.put("a", [HIT], 10)
    clock.now += 11
    cache.put("b", [], 10)
    with sqlite3.connect(cache.path) as database:
        assert database.execute("SELECT key FROM answers").fetchall() == [("b",)]


@pytest.mark.parametrize("text", [None, "text"])
def test_an_answer_that_may_get_better_is_kept_shortly(text: str | None, cache: Cache, clock: Clock) -> None:
    provider = Provider(*([HIT.model_copy(update={"text": None})] if text else []))
    provider.gives_text = True
    service = SearchService(provider, cache=cache)
    ask(service)
    clock.now += SHORT - 1
    ask(service)
    assert len(provider.asked) == 1
    clock.now += 2
    ask(service)
    assert len(provider.asked) == 2


def test_errors_are_not_kept(cache: Cache) -> None:
    provider = Provider(HIT, error=SearchError("down"))
    service = SearchService(provider, cache=cache)
    with pytest.raises(SearchError, match="down"):
        ask(service)
    provider.error = None
    assert ask(service) == [HIT]


@pytest.mark.parametrize("broken", [b"this is no database" * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_broken_file_is_put_aside(broken: bytes, cache: Cache, caplog: pytest.LogCaptureFixture) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(broken)
    cache.path.with_name(FILE + "-journal").write_bytes(b"old")
    provider = Provider(HIT)
    service = SearchService(provider, cache=cache)
    assert ask(service) == ask(service) == ask(service) == [HIT]
    assert len(provider.asked) <= 2  # the file is new by then
    assert cache.path.with_name(FILE + ".broken").read_bytes() == broken
    assert not cache.path.with_name(FILE + "-journal").exists()
    assert [record.levelno for record in caplog.records if record.name.startswith("haluagent")] == [logging.WARNING]


def test_a_damaged_table_is_put_aside(cache: Cache) -> None:
    for number in range(400):
        cache.put(str(number), [HIT], 1000)
    data = bytearray(cache.path.read_bytes())
    data[4096:] = b"\x99" * (len(data) - 4096)
    cache.path.write_bytes(data)
    assert cache.get("5") is None
    cache.put("5", [HIT], 1000)
    assert cache.get("5") == [HIT]


def test_a_damaged_answer_is_no_answer(cache: Cache) -> None:
    cache.put("a", [HIT], 10)
    with sqlite3.connect(cache.path) as database:
        database.execute("UPDATE answers SET results = '[{]'")
    assert cache.get("a") is None


def test_a_cache_that_cannot_be_written_costs_only_queries(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    provider = Provider(HIT)
    service = SearchService(provider, cache=Cache(tmp_path / "file" / FILE))
    assert ask(service) == ask(service) == [HIT]
    assert len(provider.asked) == 2 and len([r for r in caplog.records if r.name.startswith("haluagent")]) == 1


def test_a_cache_that_another_process_holds_is_not_waited_for_long(tmp_path: Path) -> None:
    cache = Cache(tmp_path / FILE, patience=0.05)
    cache.put("a", [HIT], 1000)
    with sqlite3.connect(cache.path) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert cache.get("a") is None
    assert cache.get("a") == [HIT] and not cache.path.with_name(FILE + ".broken").exists()


def test_nobody_else_can_read_it(cache: Cache) -> None:
    cache.put("a", [HIT], 10)
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    assert HIT.title.encode() in cache.path.read_bytes()
    assert b"secret query" not in cache_key("p", "e", "secret query", 5, "en", False).encode()


def test_several_processes_share_the_file(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from haluagent.search.cache import Cache; from haluagent.protocols import SearchResult\n"
        "cache = Cache(pathlib.Path(sys.argv[1]), patience=20.0); hit = SearchResult(title='t', url='u', snippet='s')\n"
        "for number in range(20): cache.put(f'{sys.argv[2]}{number}', [hit], 1000)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / FILE)]
    workers = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    cache = Cache(tmp_path / FILE)
    assert all(cache.get(f"{name}{number}") for name in "abc" for number in range(20))


def test_the_budget_counts_what_is_sent(cache: Cache) -> None:
    provider = Provider(HIT)
    service = SearchService(provider, cache=cache, max_queries=2)
    ask(service, "a"), ask(service, "a"), ask(service, "b")
    with pytest.raises(QuotaExhausted, match="budget of 2 search queries is used up"):
        ask(service, "c")
    with pytest.raises(QuotaExhausted, match="2 次搜索查询的预算已用完"):
        ask(service, "c", language="zh")
    assert ask(service, "a") == [HIT]  # what is known is free
    assert service.sent == len(provider.asked) == 2


def test_the_budget_holds_over_threads() -> None:
    provider = Provider(HIT)
    service = SearchService(provider, max_queries=5)
    refused: list[QuotaExhausted] = []

    async def many(name: int) -> None:
        answers = await asyncio.gather(*(service.search(f"{name} {i}") for i in range(5)), return_exceptions=True)
        refused.extend(answer for answer in answers if isinstance(answer, QuotaExhausted))

    threads = [threading.Thread(target=asyncio.run, args=(many(name),)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(provider.asked), len(refused)) == (5, 15)


@pytest.mark.parametrize("query", ["", " \n\t"])
def test_an_empty_query_is_not_sent(query: str) -> None:
    provider = Provider(HIT)
    with pytest.raises(SearchError, match="empty"):
        ask(SearchService(provider), query)
    assert provider.asked == []


def test_never_more_than_asked_for() -> None:
    assert len(ask(SearchService(Provider(*[HIT] * 9)), count=2)) == 2


def test_passages_are_added_before_the_answer_is_kept(cache: Cache) -> None:
    async def read(results: list[SearchResult], query: str) -> list[SearchResult]:
        return [result.model_copy(update={"text": f"about {query}"}) for result in results]

    provider = Provider(HIT.model_copy(update={"text": None}))
    service = SearchService(provider, cache=cache, read_pages=read)
    assert ask(service)[0].text == ask(service)[0].text == "about q"
    assert len(provider.asked) == 1
    ask(SearchService(provider, cache=cache))  # without pages it is another answer
    assert len(provider.asked) == 2
