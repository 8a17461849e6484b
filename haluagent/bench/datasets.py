"""Labelled sets as files of JSON lines, read into one form. Gold answers stay out of what the agent is shown."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..types import Record


class Claim(Record):
    """A sentence of the response with its own gold label: True where it is a hallucination."""

    text: str
    wrong: bool | None


class Item(Record):
    """One text to check. `wrong` is the gold label of the whole response: True where it holds a hallucination."""

    id: str
    question: str
    response: str
    reference: str | None = None
    wrong: bool
    claims: tuple[Claim, ...] = ()


def _judged(row: dict[str, Any], number: int) -> Item:
    identifier = row.get("id", row.get("question_id", number))
    return Item(id=f"{number}:{identifier}", question=row["question"], response=str(row["answer"]), wrong=row["judge"] == 1)


def _date(row: dict[str, Any], number: int) -> Item | None:
    return _judged(row, number) if "共有多少天" in row["question"] else None


def _translation(row: dict[str, Any], number: int) -> Item | None:
    return _judged(row, number) if "翻译" in row["question"] else None


def _with_knowledge(row: dict[str, Any], number: int) -> Item:
    return _judged(row, number).model_copy(update={"reference": row["knowledge"]})


def _math_claims(row: dict[str, Any], number: int) -> Item | None:
    """FacTool's claims, one a line, as in the HaluAgent paper: "we consider each claim as a sentence"."""
    claims = [
        Claim(
            text=f"{claim['claim']['math_calculation']} = {claim['claim']['calculated_answer']}".replace("\n", " "),
            wrong=not claim["label"] if isinstance(claim["label"], bool) else None,
        )
        for claim in row["claims"]
    ]
    if not claims:
        return None
    wrong = any(claim.wrong for claim in claims)
    response = "\n".join(claim.text for claim in claims)
    return Item(id=str(number), question=row["prompt"], response=response, wrong=wrong, claims=tuple(claims))


READERS: dict[str, tuple[str, Callable[[dict[str, Any], int], Item | None]]] = {
    "ape210k": ("ape210k.jsonl", _judged),
    "wordcnt": ("wordcnt.jsonl", _judged),
    "date": ("translation_date.jsonl", _date),
    "translation": ("translation_date.jsonl", _translation),
    "humaneval": ("humaneval.jsonl", _judged),
    "webqa": ("webqa.jsonl", _judged),
    "halueval_qa": ("halueval_qa.jsonl", _with_knowledge),
    "factool_math": ("factool_math.jsonl", _math_claims),
}


def _lines(path: Path) -> list[str]:
    """The lines of a file, cut at line feeds only: U+2028 and the like may stand inside JSON strings."""
    try:
        return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error}") from error


def load(name: str, directory: Path) -> Iterator[Item]:
    """The items of a set. Raises ConfigError naming the set, the file, or the line that cannot be read."""
    if name not in READERS:
        raise ConfigError(f"there is no dataset {name!r}; known are {', '.join(READERS)}")
    file, read = READERS[name]
    path = directory / file
    if not path.is_file():
        raise ConfigError(f"{path} does not exist: say with --data where the files of the sets are")
    for number, line in enumerate(_lines(path), start=1):
        try:
            item = read(json.loads(line), number)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path}, line {number}: {type(error).__name__}: {error}") from error
        if item is not None:
            yield item
