"""The local index with many passages, Chinese and English mixed."""

import asyncio
import json
import os
import random
import sqlite3
from pathlib import Path

import pytest

from haluagent.search.index import query as query_module
from haluagent.search.index import store
from haluagent.search.index.local import LocalIndex

PASSAGES = int(os.environ.get("HALUAGENT_TEST_PASSAGES", "5000"))  # 100000 takes half a minute
QUERIES = 100


def vocabulary(dice: random.Random) -> tuple[list[str], list[str]]:
    """English words and Chinese words of two characters, none of them real, which does not matter to an index."""
    letters, han = "abcdefghijklmnoprstuvwy", [chr(0x4E00 + n) for n in range(3000)]
    english = ["".join(dice.choices(letters, k=dice.randint(2, 9))) for _ in range(20_000)]
    return english, ["".join(dice.choices(han, k=2)) for _ in range(20_000)]


def sentences(dice: random.Random, words: list[str], length: int, between: str, end: str) -> list[str]:
    """Words as frequent as in language: the nth at a rate of 1 / n (G. K. Zipf, 1935)."""
    rates = [1 / (n + 3) for n in range(len(words))]
    drawn = dice.choices(words, rates, k=length * 20_000)
    return [between.join(drawn[at : at + length]) + end for at in range(0, len(drawn), length)]


def write(path: Path, dice: random.Random) -> list[tuple[int, str]]:
    """A row for each passage; and queries, each half of a sentence of one row, with the row."""
    english, chinese = vocabulary(dice)
    pools = [sentences(dice, english, 12, " ", ". "), sentences(dice, chinese, 10, "", "。")]
    asked: list[tuple[int, str]] = []
    with path.open("w") as file:
        for row in range(1, PASSAGES + 1):
            pool = pools[row % 2]
            chosen = dice.choices(pool, k=3)
            file.write(json.dumps({"text": "".join(chosen)}, ensure_ascii=False) + "\n")
            if row % (PASSAGES // QUERIES + 1) == 0:
                asked.append((row, "".join(sentence[: len(sentence) // 2] for sentence in chosen[:2])))
    return asked


async def measure(index: LocalIndex, asked: list[tuple[int, str]], work: list[int]) -> tuple[list[int], int]:
    """What SQLite did for each query, ascending; and how often the row that it was made from was found."""
    spent, found = [], 0
    for row, query in asked:
        work.clear()
        results = await index.search(query)
        spent.append(len(work))
        found += any(result.url.endswith(f"#L{row}") for result in results)
    return sorted(spent), found


def test_a_query_looks_at_few_of_many_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = write(tmp_path / "rows.jsonl", random.Random(7))
    index, work = LocalIndex(tmp_path / "index.db"), list[int]()
    index.add([tmp_path / "rows.jsonl"])
    assert index.stats().passages == PASSAGES
    opened = store._reader

    def counted(path: Path) -> sqlite3.Connection:
        connection = opened(path)
        connection.set_progress_handler(lambda: work.append(1), 100)  # every hundred instructions of its machine
        return connection

    monkeypatch.setattr(store, "_reader", counted)
    monkeypatch.setattr(query_module, "POSTINGS", PASSAGES // 5)
    spent, found = asyncio.run(measure(index, asked, work))
    assert 100 * spent[len(spent) * 95 // 100] < 8 * PASSAGES // 5  # three times that, where every posting is read
    assert found >= 0.95 * len(asked)
