"""An encyclopaedia made for tests: articles with a question to each and neighbours that share its words and do not answer it,
in `tests/data/encyclopaedia` (title, text and question, or title and text), and any number of others with such words."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from places import ROOT

from haluagent.text.chinese import _forms


class Article(NamedTuple):
    title: str
    text: str


class Question(NamedTuple):
    text: str
    title: str  # of the article with the answer


_SYLLABLES = "ban cor dal el fen gar hol ing jor kel lin mar nor os pel quin rad sol tam ul ven wes yor zan".split()
_HAN = "安白北长城春大德东丰福古广国海河红湖华黄江金开兰乐临龙龍鲁马南宁平青清泉仁荣山石水顺松泰天通万武西新兴阳永玉云"


def questions(language: str) -> list[Question]:
    """The questions of a language, `eng` or `zho`."""
    return [Question(fields[2], fields[0]) for fields in _written(language) if len(fields) == 3]


def articles(language: str, count: int) -> Iterator[Article]:
    """Yield the written articles and `count` others."""
    for title, text, *_ in _written(language):
        yield Article(title, text)
    dice = random.Random(5)
    seen: set[str] = set()
    while len(seen) < count:
        article = _town(dice) if language == "eng" else _chinese_town(dice)
        if article.title not in seen:
            seen.add(article.title)
            yield article


def write_zim(path: Path, language: str, written: Iterator[Article] | list[Article]) -> Path:
    """Write a ZIM file with a full-text index, and return its path."""
    from libzim.writer import Creator, Hint, Item, StringProvider

    class Page(Item):
        def __init__(self, article: Article) -> None:
            super().__init__()
            self.article = article

        def get_path(self) -> str:
            return self.article.title.replace(" ", "_")

        def get_title(self) -> str:
            return self.article.title

        def get_mimetype(self) -> str:
            return "text/html"

        def get_contentprovider(self) -> StringProvider:
            body = "".join(f"<p>{part}</p>" for part in self.article.text.split("\n"))
            return StringProvider(
                f"<html><head><title>{self.article.title}</title></head><body><h1>{self.article.title}</h1>{body}</body></html>"
            )

        def get_hints(self) -> dict[Hint, int]:
            return {Hint.FRONT_ARTICLE: True}

    with Creator(path).config_indexing(True, language) as creator:
        for article in written:
            creator.add_item(Page(article))
        for name, value in {"Title": "Made", "Language": language, "License": "CC0-1.0", "Name": "made"}.items():
            creator.add_metadata(name, value)
    return path


def traditional(text: str) -> str:
    """The text in the most usual Traditional characters."""
    return "".join(_forms().get(character, character)[0] for character in text)


def _written(language: str) -> list[list[str]]:
    text = (ROOT / "tests" / "data" / "encyclopaedia" / f"{language}.txt").read_text(encoding="utf-8")
    return [line.split("|") for line in text.splitlines()]


def _town(dice: random.Random) -> Article:
    names = ["".join(dice.choices(_SYLLABLES, k=dice.randint(2, 4))).capitalize() for _ in range(5)]
    name, river, person, capital, mountain = names
    year, population, metres = dice.randint(1100, 1990), dice.randint(2, 900), dice.randint(200, 4000)
    return Article(
        name,
        f"{name} is a city on the river {river}, which flows through it to the lake. It was founded in {year}, and"
        f" its population is {population},000. The capital of the province is {capital}.\n"
        f"The highest mountain near the city is {mountain}, at {metres} metres. A bridge over the river opened in"
        f" {year + 90}; construction began five years before. The novel that {person} wrote about the city is read in"
        f" schools.\nThe physician {person} was born in the city in {year + 20} and discovered a spring, which was made"
        " into a bath. The treaty of the city divided its lands. Industrial works make glass and process wool.",
    )


def _chinese_town(dice: random.Random) -> Article:
    name, river, person, capital, mountain = ("".join(dice.choices(_HAN, k=dice.randint(2, 3))) for _ in range(5))
    name += dice.choice("市县镇州")
    year, population, metres = dice.randint(1100, 1990), dice.randint(2, 900), dice.randint(200, 4000)
    text = (
        f"{name}位于{river}江的北岸，是一座城市，面积{population}平方公里，人口{population}万。省的首府是{capital}。"
        f"最高的山峰是{mountain}山，海拔{metres}米，是当地的最高峰。\n"
        f"{year}年，{person}主持修建了水利工程；江上的大桥于{min(year + 90, 2020)}年通车。流经城市的江注入最大的湖。"
        f"作家{person}的小说写城里家族的兴衰，作者出生于{name}。\n"
        f"医生{person}在{year + 20}年发现了温泉，提取了药物，发明了一种印刷方法。城市离首都很近，是太阳最多的地方之一。"
    )
    return Article(name, text if dice.random() < 0.5 else traditional(text))
