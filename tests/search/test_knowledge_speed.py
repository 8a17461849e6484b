"""Packs of thousands of articles: what is found among those that use the same words."""

import asyncio
import os
import time
from pathlib import Path

import pytest

pytest.importorskip("libzim")

from encyclopaedia import articles, questions, write_zim

from haluagent.search.knowledge import packs, zim
from haluagent.search.knowledge.zim import ZimPack

pytestmark = pytest.mark.slow
ARTICLES = int(os.environ.get("HALUAGENT_TEST_ARTICLES", "3000"))  # 50000 takes some minutes


@pytest.mark.parametrize("language", ["eng", "zho"])
def test_the_right_article_among_thousands(tmp_path: Path, language: str, capfd: pytest.CaptureFixture[str]) -> None:
    file = write_zim(tmp_path / f"{language}.zim", language, articles(language, ARTICLES))
    capfd.readouterr()  # what libzim says while it writes
    began = time.perf_counter()
    packs.attach(tmp_path / "index.db", file)
    attached, pack = time.perf_counter() - began, ZimPack(file)
    first = five = 0
    cold, warm = [], []
    for question in questions(language):
        spent = []
        for _ in range(6):
            began = time.perf_counter()
            found = [result.title for result in asyncio.run(pack.search(question.text))]
            spent.append(1000 * (time.perf_counter() - began))
        cold.append(spent[0])
        warm.append(min(spent[1:]))
        first, five = first + (question.title in found[:1]), five + (question.title in found)
    child = zim._worker._child
    assert child is not None
    [peak] = [
        line.split()[1]
        for line in Path(f"/proc/{child.pid}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    ]
    with capfd.disabled():
        print(
            f"\n{language}, {ARTICLES} articles, {file.stat().st_size / 1e6:.0f} MB: attached in {attached:.2f} s; first"
            f" {first}, among five {five} of {len(cold)}; a search {sorted(cold)[6]:.0f} ms, again {sorted(warm)[6]:.0f} ms"
            f" (medians; longest {max(warm):.0f}); {int(peak) // 1024} MB"
        )
    assert five >= len(cold) - 1 and first >= len(cold) // 2  # the neighbours have nearly all words of a question
    assert not capfd.readouterr().out  # libzim has its own
