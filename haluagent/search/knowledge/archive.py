"""Reading and searching a ZIM file with libzim, in a process of its own.

`answer` is what a `LimitedWorker` calls: libzim writes to the standard output and can end its process where a file is
damaged. The full text of a ZIM finds only articles that have all words of a query, and gives no scores. So each term is
asked for by itself, and an article scores 1 / (1 + matches) for each term that it was found by, in its text or in its
title. The articles with the best scores are cut into passages.
"""

import heapq
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from libzim.reader import Archive, Item
from libzim.search import Query, Searcher
from libzim.suggestion import SuggestionSearcher

from haluagent.search.documents.encoding import Unreadable
from haluagent.search.documents.html import read_html
from haluagent.search.documents.passages import split
from haluagent.search.index.rank import LONGEST_QUERY, Hit, best, candidates, inverse_frequencies, telling
from haluagent.search.index.terms import terms, written_terms
from haluagent.text.chinese import spellings

ARTICLES = 20  # that are read for a query
MOST_TERMS = 24  # of a query that are asked for; of a longer one, those that come first
PATHS = 60  # that are taken of each answer
LARGEST = 2_000_000  # bytes of an article's HTML; the lists that are longer say little
READ_AT_ONCE = 1_000_000  # bytes of HTML in one answer
KEPT = 2000  # passages that are kept with their terms, some 30 KB each
HTML_AT_ONCE = 4_000_000  # bytes that are read for a query; what is left then has lower scores
PHRASE = 8  # Chinese characters, or words, of a title that is looked up as it stands in the query

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’.-][^\W_]+)*")


class ZimFile:
    """An open ZIM file. libzim's own errors (RuntimeError) come from every method."""

    def __init__(self, path: str) -> None:
        self.archive = Archive(Path(path))
        self._full_text = Searcher(self.archive) if self.archive.has_fulltext_index else None
        self._titles = SuggestionSearcher(self.archive)
        self._passages: dict[str, list[Hit]] = {}  # of articles, those read last at the end

    def about(self) -> dict[str, Any]:
        """Return its title, language, number of articles and licence, and whether its full text can be searched."""
        keys = set(self.archive.metadata_keys)
        told = {
            name: self.archive.get_metadata(name).decode("utf-8", "replace") if name in keys else ""
            for name in ("Title", "Language", "License")
        }
        return {
            "title": told["Title"],
            "language": told["Language"],
            "licence": told["License"],
            "articles": self.archive.article_count,
            "full_text": self._full_text is not None,
        }

    def find(self, query: str, count: int, url: str) -> dict[str, Any]:
        """Return the best passages for a query, the frequency of each of its terms and the number of articles."""
        words = written_terms(query[:LONGEST_QUERY])
        scores: dict[str, float] = {}
        frequencies: dict[str, int] = {}
        for term in telling(query)[:MOST_TERMS]:
            found, matches = self._matching(spellings(words[term]))
            titled, named = self._titled(spellings(words[term]))
            if matches:
                frequencies[term] = matches
            for paths, often in ((found, matches), (titled, named)):
                for path in paths:
                    scores[path] = scores.get(path, 0.0) + 1 / (1 + often)
        for path in self._named(query):
            scores[path] = scores.get(path, 0.0) + 1
        articles = self._articles(heapq.nlargest(ARTICLES, scores, key=scores.__getitem__))
        total = self.archive.article_count
        hits = (
            hit._replace(document=number, url=f"{url}#{hit.url}")
            for number, article in enumerate(articles)
            for hit in article
        )
        shown = best(hits, inverse_frequencies(frequencies, total), candidates(count))
        return {"hits": [hit[:-1] for hit in shown], "frequencies": frequencies, "total": total}

    def read(self, start: int) -> dict[str, Any]:
        """Return articles from the entry of that number on, as many as `READ_AT_ONCE` allows, and the number of the next
        entry; None after the last."""
        articles: list[tuple[str, str, str]] = []
        size = 0
        for number in range(start, self.archive.all_entry_count):
            if size >= READ_AT_ONCE:
                return {"articles": articles, "next": number}
            entry = self.archive._get_entry_by_id(number)
            if entry.is_redirect:
                continue
            item = entry.get_item()
            if _is_article(item):
                size += item.size
                title, text = _text(item)
                articles.append((item.path, title, text))
        return {"articles": articles, "next": None}

    def _matching(self, written: list[str]) -> tuple[set[str], int]:
        """Return the articles with a term in one of its spellings, the best of them, and the number of all."""
        if self._full_text is None:
            return set(), 0
        return _collect(self._full_text.search(Query().set_query(one)) for one in written)

    def _titled(self, written: list[str]) -> tuple[set[str], int]:
        found, matches = _collect(self._titles.suggest(one) for one in written)
        return {self._target(path) for path in found}, matches

    def _named(self, query: str) -> set[str]:
        """Return the articles whose whole title, or that of a page that leads to them, stands in the query."""
        return {
            self._target(self.archive.get_entry_by_title(name).path)
            for phrase in _phrases(query[:LONGEST_QUERY])
            for name in spellings(phrase)
            if self.archive.has_entry_by_title(name)
        }

    def _target(self, path: str) -> str:
        entry = self.archive.get_entry_by_path(path)
        return entry.get_item().path if entry.is_redirect else path

    def _articles(self, paths: list[str]) -> list[list[Hit]]:
        """Return the passages of articles, the best of which come first; of all, if they are not too long together."""
        room = HTML_AT_ONCE
        found = []
        for path in paths:
            hits = self._passages.pop(path, None)
            if hits is None:
                item = self.archive.get_entry_by_path(path).get_item()
                if not _is_article(item) or item.size > room:
                    continue
                room -= item.size
                hits = _passages_of(item)
            self._passages[path] = hits
            found.append(hits)
        kept = sum(map(len, self._passages.values()))
        while kept > KEPT:
            kept -= len(self._passages.pop(next(iter(self._passages))))
        return found


_open: dict[str, tuple[tuple[int, int], ZimFile]] = {}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Call a method of the file at `path`: `about`, `find` or `read`, with its arguments; a `problem` in one line
    where the file cannot be read."""
    path, arguments = request["path"], request["arguments"]
    try:
        status = Path(path).stat()
        state = (status.st_size, status.st_mtime_ns)
        if path not in _open or _open[path][0] != state:
            _open[path] = (state, ZimFile(path))
        result: dict[str, Any] = getattr(_open[path][1], request["method"])(*arguments)
    except OSError as error:
        return {"problem": error.strerror or str(error)}
    except (RuntimeError, KeyError, IndexError, ValueError) as error:  # what libzim raises where a file is damaged
        return {"problem": f"no ZIM file, or a damaged one: {' '.join(str(error).split())}"}
    return result


def _collect(searches: Iterator[Any]) -> tuple[set[str], int]:
    found: set[str] = set()
    matches = 0
    for search in searches:
        if often := search.getEstimatedMatches():
            matches += often
            found.update(search.getResults(0, PATHS))
    return found, matches


def _phrases(query: str) -> Iterator[str]:
    """Yield the parts of a query that may be titles: of the neighbouring characters or words, up to `PHRASE`."""
    words = list(_WORD.finditer(query))
    for first, word in enumerate(words):
        for last in words[first : first + PHRASE]:
            phrase = query[word.start() : last.end()]
            if len(phrase) > 1:
                yield phrase
                if not phrase[0].isupper() and phrase[0].upper() != phrase[0]:
                    yield phrase[0].upper() + phrase[1:]


def _is_article(item: Item) -> bool:
    return bool(item.mimetype.startswith("text/html") and item.size <= LARGEST)


def _text(item: Item) -> tuple[str, str]:
    """Return an article's title and its text without it; both empty if the text cannot be read."""
    try:
        title, text = read_html(bytes(item.content), "utf-8")
    except Unreadable:
        return "", ""
    title = item.title or title
    return title, text.removeprefix(title).lstrip()


def _passages_of(item: Item) -> list[Hit]:
    title, text = _text(item)
    passages = [(start, text[start:end]) for start, end in split(text)]
    return [Hit(0, start, passage, item.path, title, Counter(terms(passage))) for start, passage in passages]
