"""The training items of all sources: the published files of some sets (`--data`), and a file of the user's own
(`--items`)."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from haluagent.corpora import claims, packaged, passages
from haluagent.corpora.pairs import SEED as CALIBRATION_SEED
from haluagent.corpora.pairs import digest
from haluagent.corpora.passages import Passage
from haluagent.errors import ConfigError
from haluagent.text.language import GAP
from haluagent.text.segment import split
from haluagent.train.trajectories import arithmetic, conditions, knowledge
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.records import Alteration, parse
from haluagent.types import Label, Language

_Read = TypeVar("_Read")
SEED = 5
# Groups (passages, problems, …) of each source at --scale 1; about 2,500 trajectories.
SIZES = {
    "halueval_qa_generated": 48,
    "cmrc2018_dev": 46,
    "ape210k_valid": 22,
    "ape210k_formulas": 1000,
    "gsm8k_train": 10,
    "gsm8k_formulas": 300,
    "gsm8k_model_solutions": 10,
    "consistency": 4,
    "lengths": 6,
    "dates": 8,
    "translations": 36,
    "roles": 16,
    "humaneval": 40,
}
_TRANSLATE: dict[Language, str] = {"en": "Translate this into English: {}", "zh": "请把这句话翻译成中文：{}"}


def read_items(path: Path) -> list[Lesson]:
    """Return the items of a file in the documented format. Raises ConfigError if it has none, or naming a line that is
    malformed, has labels that do not fit its response, or repeats an id."""
    lessons: dict[str, Lesson] = {}
    for place, row in _lines(path, "give a file of labelled items (docs/trajectories.md)"):
        lesson = parse(Lesson, row, place)
        if problem := _problem(lesson) or (
            f"the id {lesson.id} stood in an earlier line" if lesson.id in lessons else ""
        ):
            raise ConfigError(f"{place}: {problem}")
        lessons[lesson.id] = lesson
    if not lessons:
        raise ConfigError(f"{path} is empty: give a file of labelled items (docs/trajectories.md)")
    return list(lessons.values())


def _problem(lesson: Lesson) -> str:
    """Describe why no trajectory of an item could ever be right; empty if one could."""
    if not lesson.question.strip() or not lesson.response.strip():
        return "the question and the response must not be empty"
    labels, count = lesson.gold_labels, len(split(lesson.response))
    if labels and len(labels) != count:
        return f"the response has {count} sentences, and gold_labels {len(labels)} labels: give one for each, or none"
    if "contradicted" in labels and lesson.gold is not True:
        return "one of gold_labels is contradicted, so gold must be true"
    if "unverified" in labels and lesson.gold is False:
        return "one of gold_labels is unverified, so gold must be null, or true"
    return ""


def make(
    directory: Path, scale: float = 1.0, without: Sequence[str] = (), only: Sequence[str] = (), seed: int = SEED
) -> list[Lesson]:
    """Return the items made from the published files in a directory; the same for the same files, scale and seed.

    `without` leaves sources out; `only` leaves out all others. Passages are taken from the end of an order of which
    calibration uses the beginning, so that calibration never sees training data. Raises ConfigError if a file is
    missing or cannot be read, or if a source is unknown.
    """
    if unknown := {*without, *only} - set(SIZES):
        raise ConfigError(f"no source is called {', '.join(sorted(unknown))}; known are {', '.join(SIZES)}")
    made: list[Lesson] = []
    for name, size in SIZES.items():
        if name not in without and (not only or name in only):
            chance = random.Random(f"{seed}:{name}")
            made += _SOURCES[name](directory, max(1, round(size * scale)), chance)
    return list({lesson.id: lesson for lesson in made}.values())


def _passages(directory: Path, language: Language) -> list[Passage]:
    known = [one for one in passages.load(directory, language) if not one.problem]
    return sorted(known, key=lambda one: digest(f"{CALIBRATION_SEED}:{one.name}"), reverse=True)


def _about_facts(language: Language) -> Callable[[Path, int, random.Random], list[Lesson]]:
    def make_them(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
        made: list[Lesson] = []
        count = 0
        for passage in _passages(directory, language):
            found = list(knowledge.lessons(passage, chance))
            made += found
            count += bool(found)
            if count == size:
                break
        return made

    return make_them


def _about_problems(
    file: str, read: Callable[[dict[str, Any], int], arithmetic.WordProblem | None], formulas: bool
) -> Callable[[Path, int, random.Random], list[Lesson]]:
    def make_them(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
        problems = [problem for problem in _rows(directory / file, read) if problem]
        problems.sort(key=lambda one: digest(f"{CALIBRATION_SEED}:{one.name}"), reverse=True)
        if formulas:  # skip those whose answers are in the training data as well
            used = SIZES[file.removesuffix(".jsonl")] * 3
            return [arithmetic.formula_only(problem, chance) for problem in problems[used : used + size]]
        return [lesson for problem in problems[:size] for lesson in arithmetic.lessons(problem, chance)]

    return make_them


def _solutions(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
    def read(row: dict[str, Any], number: int) -> list[Lesson]:
        gold = {"question": row["question"], "answer": row["ground_truth"].replace("\nA: ", "\n#### ")}
        return list(arithmetic.solutions(row, number, arithmetic.gsm8k(gold, number)))

    made: list[Lesson] = []
    for lessons in _rows(directory / "gsm8k_model_solutions.jsonl", read):
        made += lessons
        if len(made) >= 2 * size:
            break
    return made


def _consistency(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
    made: list[Lesson] = []
    for language in passages.LANGUAGES:
        found = (_continued(passage, chance) for passage in reversed(_passages(directory, language)[: size * 20]))
        made += [lesson for two in found for lesson in two][: 2 * size]
    return made


def _continued(passage: Passage, chance: random.Random) -> Iterator[Lesson]:
    """Yield the beginning of a passage with a last sentence that is consistent with it, and with one that is not."""
    made = claims.consistency(passage, chance)
    if made is None or not made.before or len(split(made.before)) > 3:
        return
    for wrong, last in ((False, made.right), (True, made.wrong)):
        response = f"{made.before}{GAP[passage.language]}{last}"
        count = len(split(response))
        last_label: Label = "contradicted" if wrong else "unverified"
        labels: list[Label] = ["unverified"] * (count - 1)
        yield Lesson(
            id=f"{passage.name}:consistency:{'wrong' if wrong else 'right'}", group=passage.name, source="consistency",
            kind="consistency", language=passage.language, question=made.question, response=response,
            gold=True if wrong else None, gold_labels=(*labels, last_label),
            change=Alteration(kind=made.kind, before=made.right, after=made.wrong) if wrong else None,
        )  # fmt: skip


def _lengths(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
    found = [one for language in passages.LANGUAGES for one in _passages(directory, language)[:size]]
    return [lesson for passage in found for lesson in conditions.lengths(passage, chance)]


def _dates(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
    return [
        lesson
        for number in range(size)
        for language in passages.LANGUAGES
        for lesson in conditions.dates(number, language, chance)
    ]


def _code(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
    read = islice(
        _rows(directory / "humaneval_problems.jsonl", lambda row, _: list(conditions.code(row, chance))), size
    )
    return [lesson for lessons in read for lesson in lessons]


def _roles(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
    """Return items from short texts written for this purpose, with two names or numbers and a question on each."""
    known = passages.roles("haluagent.train.trajectories")
    made: list[Lesson] = []
    for language in passages.LANGUAGES:
        for passage in [one for one in known if one.language == language][:size]:
            made += knowledge.roles(passage, chance)
    return made


def _translations(directory: Path, size: int, chance: random.Random) -> list[Lesson]:
    """Return sentences written for this purpose, each with two right translations and one that says something else."""
    made: list[Lesson] = []
    for number, row in enumerate(packaged.rows("haluagent.train.trajectories", "translations.jsonl")):
        language = row["to"]
        if language not in passages.LANGUAGES or len(made) >= 2 * size:
            continue
        for wrong in (False, True):
            change = Alteration(kind="translation", before=row["right"], after=row["wrong"]) if wrong else None
            made.append(Lesson(
                id=f"translations:{number}:{'wrong' if wrong else 'right'}", group=f"translations:{number}", source="translations",
                kind="translation", language=language, question=_TRANSLATE[language].format(row["text"]),
                response=row["wrong"] if wrong else row["right"], gold=wrong, change=change, independent=row["other"],
            ))  # fmt: skip
    return made


def _rows(path: Path, read: Callable[[dict[str, Any], int], _Read]) -> Iterator[_Read]:
    """Yield the result of `read` for each row and its number, counted from 1. Raises ConfigError naming a line that it
    cannot read."""
    for number, (place, row) in enumerate(
        _lines(path, "say with --data where the published files of the sets are"), start=1
    ):
        try:
            yield read(row, number)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ConfigError(f"{place} is not as published: {type(error).__name__}: {error}") from error


def _lines(path: Path, advice: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON objects of a file, each with its place. Raises ConfigError if the file does not exist or a line is
    not a JSON object."""
    if not path.is_file():
        raise ConfigError(f"{path} does not exist: {advice}")
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{place} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise ConfigError(f"{place} is not a JSON object")
        yield place, row


_SOURCES: dict[str, Callable[[Path, int, random.Random], list[Lesson]]] = {
    "halueval_qa_generated": _about_facts("en"),
    "cmrc2018_dev": _about_facts("zh"),
    "ape210k_valid": _about_problems("ape210k_valid.jsonl", arithmetic.ape210k, formulas=False),
    "ape210k_formulas": _about_problems("ape210k_valid.jsonl", arithmetic.ape210k, formulas=True),
    "gsm8k_train": _about_problems("gsm8k_train.jsonl", arithmetic.gsm8k, formulas=False),
    "gsm8k_formulas": _about_problems("gsm8k_train.jsonl", arithmetic.gsm8k, formulas=True),
    "gsm8k_model_solutions": _solutions,
    "consistency": _consistency,
    "lengths": _lengths,
    "dates": _dates,
    "translations": _translations,
    "roles": _roles,
    "humaneval": _code,
}
