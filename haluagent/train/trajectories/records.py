"""The format of trajectories: JSON Lines, one detection by a teacher per line (docs/trajectories.md)."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from haluagent.batch.journal import iterate
from haluagent.errors import ConfigError
from haluagent.models.weights.store import install
from haluagent.protocols import Role
from haluagent.types import Label, Language, Record, Stop

VERSION: Literal[1] = 1

Kind = Literal["knowledge", "math", "code", "length", "date", "translation", "consistency"]
_AnyRecord = TypeVar("_AnyRecord", bound=Record)
KINDS: tuple[Kind, ...] = ("knowledge", "math", "code", "length", "date", "translation", "consistency")


class RecordedMessage(Record):
    """One message of a conversation."""

    role: Role
    content: str


class ModelCall(Record):
    """One request to the model: the messages sent, and the teacher's reply.

    `prompt` names the template ("agent" for a turn of a branch); `sentence` is the index of the sentence that an
    agent's turn is about. `choices` are the options of a scored choice, one of which is the reply. The loss is on
    `reply` alone: earlier turns and observations are in `messages` and masked, so that the calls of a branch add up to
    equation 1 of Cheng et al. (2024). If `learn` is False, the reply is not a training example.
    """

    prompt: str
    sentence: int | None = None
    messages: tuple[RecordedMessage, ...]
    reply: str
    choices: tuple[str, ...] = ()
    learn: bool = True


class Alteration(Record):
    """The change that made a right answer wrong: the kind of perturbation, and the changed part before and after."""

    kind: str
    before: str
    after: str


class TrajectoryItem(Record):
    """A response with a gold label. `gold` is True for a hallucination and None if nothing given decides it;
    `gold_labels` are those of its sentences, if known. Items of the same `group` share texts: never put them on both
    sides of a split."""

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
    change: Alteration | None = None


class Trajectory(TrajectoryItem):
    """A teacher's detection of an item. `hinted` says that the teacher saw the gold label. `invalid_calls` counts tool
    calls that were rejected or failed, `format_errors` turns that could not be read."""

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
    calls: tuple[ModelCall, ...]


def read(path: Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a file. Raises ConfigError naming a line that is not one or that a newer version
    wrote."""
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
    """Validate a record from JSON. Raises ConfigError with the place and the first invalid field."""
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ConfigError(f"{place}: {'.'.join(map(str, first['loc'])) or 'the row'}: {first['msg']}") from None


def line(record: Record) -> str:
    """Return a record as one line of JSON."""
    return json.dumps(record.model_dump(mode="json"), ensure_ascii=False)


def write(path: Path, records: Iterable[Record]) -> int:
    """Replace a file with the records and return the number of lines. Raises ConfigError if it cannot be written."""
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


def branches(calls: Sequence[ModelCall]) -> list[list[ModelCall]]:
    """Group the agent's turns of a trajectory by sentence, in order."""
    found: dict[int | None, list[ModelCall]] = {}
    for call in calls:
        if call.prompt == "agent":
            found.setdefault(call.sentence, []).append(call)
    return list(found.values())
