"""A run on disk: JSON lines, the first of which says what was run, each other one what a method said of one item."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from haluagent.bench.datasets.items import Item
from haluagent.errors import ConfigError
from haluagent.types import Detection, Label, Language, Record, Usage

FORMAT = 1


class About(Record):
    """What was run. A run is continued with the same only: else its rows could not be compared.

    `model` is the name that the endpoint serves, `steps` the most turns a sentence, `search` what is searched for sets
    without passages of their own.
    """

    format: int = FORMAT
    version: str
    model: str
    strategy: str = "branches"
    steps: int = 4
    reflection: bool = True
    search: str = "none"


class ClaimRow(Record):
    """A claim's gold label, what was said of it, and the probability in [0, 1] that it is wrong."""

    wrong: bool | None
    label: Label
    score: float


class Row(Record):
    """What `method` said of an item. `wrong` is the gold label, `verdict` True for a hallucination and None where there is
    none, `score` the probability in [0, 1] of one. `length` counts the response's characters, `seconds` wall-clock time.

    A method that failed has an `error` and no verdict. `detection` is the whole report, where the agent made one.
    """

    dataset: str
    id: str
    method: str
    language: Language
    wrong: bool
    verdict: bool | None = None
    score: float = Field(default=0.5, ge=0, le=1)
    length: int
    claims: tuple[ClaimRow, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None
    detection: Detection | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.dataset, self.id, self.method


def blank(item: Item, dataset: str, method: str) -> Row:
    """The row of an item before anything is known."""
    return Row(
        dataset=dataset, id=item.id, method=method, language=item.language, wrong=item.wrong, length=len(item.response)
    )


def read(path: Path) -> tuple[About, list[Row]]:
    """A run: what it is and its rows, the last of each key, in the order of the file. A `.gz` is unpacked. A last line that
    was cut off by an interruption is left out. Raises ConfigError naming the file and the line that cannot be read."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(
            f"{path} cannot be read ({error}): give the file that `haluagent bench run --out` wrote"
        ) from error
    lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
    about: About | None = None
    rows: dict[tuple[str, str, str], Row] = {}
    for number, line in enumerate(lines, start=1):
        try:
            entry: Any = json.loads(line)
            if number == 1:
                about = About.model_validate(entry)
            else:
                row = Row.model_validate(entry)
                rows[row.key] = row
        except (ValueError, ValidationError) as error:
            what = " ".join(str(error).split())[:300]
            raise ConfigError(f"{path}, line {number} is not of a run of `haluagent bench`: {what}") from error
    if about is None:
        raise ConfigError(f"{path} is empty: give the file that `haluagent bench run --out` wrote")
    return about, list(rows.values())
