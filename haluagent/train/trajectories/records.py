"""The format of trajectories: JSON lines, one detection of a teacher each (docs/trajectories.md)."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from haluagent.batch.journal import iterate
from haluagent.errors import ConfigError
from haluagent.protocols import Role
from haluagent.types import Label, Language, Record, Stop

VERSION: Literal[1] = 1

Kind = Literal["knowledge", "math", "code", "length", "date", "translation", "consistency"]
_AnyRecord = TypeVar("_AnyRecord", bound=Record)
KINDS: tuple[Kind, ...] = ("knowledge", "math", "code", "length", "date", "translation", "consistency")


class Said(Record):
    """One message of a conversation."""

    role: Role
    content: str


class Call(Record):
    """One request to the model: what was sent, and what the teacher said to it.

    `prompt` names the template ("agent" for a turn of a branch), `sentence` is the index that an agent's turn is about.
    `choices` are the answers of a scored choice, of which the reply is one. The loss is on `reply` alone: earlier turns and
    observations stand in `messages` and are masked, so that the calls of a branch add up to equation 1 of Cheng et al.
    (2024). Where `learn` is false the reply is no example for anyone.
    """

    prompt: str
    sentence: int | None = None
    messages: tuple[Said, ...]
    reply: str
    choices: tuple[str, ...] = ()
    learn: bool = True


class Change(Record):
    """What was changed to make a right answer wrong: the kind of perturbation, and the place before and after."""

    kind: str
    before: str
    after: str


class Item(Record):
    """A response with a gold label. `gold` is True for a hallucination and None where nothing that is given decides;
    `gold_labels` are those of its sentences where they are known. Items with one `group` share their texts: never put them
    on both sides of a split."""

    id: str
    group: str
    source: str
    kind: Kind
    language: Language
    question: str
    response: str
    reference: str | None = None
    gold: bool | None
    gold_labels: tuple[Label, ...] = ()
    change: Change | None = None


class Trajectory(Item):
    """A detection of an item by a teacher. `hinted`: the teacher was shown the gold label. `invalid_calls` are tool calls
    that were rejected or failed, `format_errors` turns that could not be read."""

    version: Literal[1] = VERSION
    teacher: str
    sample: int = Field(default=0, ge=0)
    hinted: bool = False
    verdict: bool | None
    labels: tuple[Label, ...] = ()
    stop: Stop = "answer"
    error: str | None = None
    invalid_calls: int = 0
    format_errors: int = 0
    calls: tuple[Call, ...]


def read(path: Path) -> Iterator[Trajectory]:
    """The trajectories of a file, one at a time. Raises ConfigError naming the line that is none, or that a newer version
    has written."""
    for number, row in enumerate(_rows(path), start=1):
        if row.get("version") != VERSION:
            raise ConfigError(
                f"{path}, line {number} has version {row.get('version')!r}; this HaluAgent reads {VERSION}"
            )
        yield parse(Trajectory, row, f"{path}, line {number}")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise ConfigError(f"{path} does not exist: name a file that `haluagent trajectories build` wrote")
    return iterate(path)


def parse(kind: type[_AnyRecord], row: Any, place: str) -> _AnyRecord:
    """A record from JSON. Raises ConfigError with the place and the first field that is not as it should be."""
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ConfigError(f"{place}: {'.'.join(map(str, first['loc'])) or 'the row'}: {first['msg']}") from None


def line(record: Record) -> str:
    return json.dumps(record.model_dump(mode="json"), ensure_ascii=False)


def write(path: Path, records: Iterable[Record]) -> int:
    """Write a file anew; returns the number of its lines. Raises ConfigError where it cannot be written."""
    from haluagent.models.weights.store import install

    unfinished = path.with_name(f".{path.name}.part")
    count = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w", encoding="utf-8") as file:
            for record in records:
                file.write(line(record) + "\n")
                count += 1
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}") from error
    install(unfinished, path)
    return count


def branches(calls: Sequence[Call]) -> list[list[Call]]:
    """The agent's turns of a trajectory, sentence by sentence, in order."""
    found: dict[int | None, list[Call]] = {}
    for call in calls:
        if call.prompt == "agent":
            found.setdefault(call.sentence, []).append(call)
    return list(found.values())
