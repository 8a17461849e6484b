"""Passages with questions and answers, read from the published files of some sets."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from haluagent.corpora import packaged
from haluagent.errors import ConfigError
from haluagent.text.words import words
from haluagent.types import Language, Record

LANGUAGES: tuple[Language, ...] = ("en", "zh")
LONGEST: dict[Language, int] = {"en": 800, "zh": 400}  # characters: two or three hundred tokens
_GLUED = re.compile(r"(?<=[a-z0-9)\"])\.(?=[A-Z\"])")  # HaluEval's paragraphs are joined without a space


class Asked(Record):
    """A question with its right answer, and with a wrong one if the set provides it."""

    question: str
    right: str
    wrong: str = ""


class Passage(Record):
    """A text and the questions it answers. For a word problem, the text is the question itself and `asked` is empty."""

    name: str
    language: Language
    text: str
    asked: tuple[Asked, ...] = ()

    @property
    def problem(self) -> bool:
        return not self.asked


def load(directory: Path, language: Language) -> list[Passage]:
    """Return the passages of a language that are short enough, in file order. Raises ConfigError naming the file, or
    the line in it, that cannot be read."""
    passages = []
    for file, read in _READERS[language].items():
        names: dict[str, str] = {}
        asked: dict[str, list[Asked]] = {}
        for number, (text, one) in enumerate(_rows(directory / file, read), start=1):
            names.setdefault(text, f"{Path(file).stem}:{number}")
            asked.setdefault(text, []).extend([one] if one else [])
        passages += [
            Passage(name=name, language=language, text=text, asked=tuple(asked[text]))
            for text, name in names.items()
            if len(text) <= LONGEST[language]
        ]
    return passages


def roles(package: str) -> list[Passage]:
    """Return the short texts in a package's `roles.jsonl`, each with two questions: the answer to one is wrong for the
    other."""
    found = []
    for number, row in enumerate(packaged.rows(package, "roles.jsonl")):
        (first, right), (second, other) = row["asked"]
        asked = (Asked(question=first, right=right, wrong=other), Asked(question=second, right=other, wrong=right))
        found.append(Passage(name=f"roles:{number}", language=row["language"], text=row["text"], asked=asked))
    return found


class Search:
    """A minimal search index: it finds the passage that shares the most words with a query, weighting rare words
    higher."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._known = [(passage, words(passage.text)) for passage in passages if not passage.problem]
        frequency = Counter(word for _, found in self._known for word in found)
        self._weight = {word: math.log(1 + len(self._known) / count) for word, count in frequency.items()}

    def best(self, query: str, without: Sequence[str]) -> Passage | None:
        """Return the best passage that contains none of the texts `without`; None if none shares a word with the
        query."""
        wanted = words(query)
        scored = ((sum(self._weight[word] for word in wanted & found), passage) for passage, found in self._known)
        fitting = ((score, passage) for score, passage in scored if not any(text in passage.text for text in without))
        score, passage = max(fitting, key=lambda item: item[0], default=(0.0, None))
        return passage if score > 0 else None


_Reader = Callable[[dict[str, Any]], tuple[str, Asked | None]]


def _rows(path: Path, read: _Reader) -> Iterator[tuple[str, Asked | None]]:
    if not path.is_file():
        raise ConfigError(f"{path} does not exist: say with --data where the published files of the sets are")
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        try:
            if line.strip():
                yield read(json.loads(line))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path}, line {number}: {type(error).__name__}: {error}") from error


def _cmrc(row: dict[str, Any]) -> tuple[str, Asked]:
    return row["context"], Asked(question=row["question"], right=row["answers"][0])


def _halueval(row: dict[str, Any]) -> tuple[str, Asked]:
    asked = Asked(question=row["question"].strip(), right=row["right_answer"], wrong=row["hallucinated_answer"])
    return _GLUED.sub(". ", row["knowledge"]).strip(), asked


_READERS: dict[Language, dict[str, _Reader]] = {
    "en": {"halueval_qa_generated.jsonl": _halueval, "gsm8k_train.jsonl": lambda row: (row["question"], None)},
    "zh": {"cmrc2018_dev.jsonl": _cmrc, "ape210k_valid.jsonl": lambda row: (row["original_text"], None)},
}
