"""A run on disk as JSON Lines: the first line describes the run, each other line is one method's result for one
item."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from haluagent.bench.datasets.items import Item
from haluagent.detection.state import Part
from haluagent.errors import ConfigError
from haluagent.types import Detection, Label, Language, Record, Usage

FORMAT = 1
VERDICTS: dict[Label | None, bool] = {"contradicted": True, "supported": False}  # a label of no other kind is a verdict


class RunInfo(Record):
    """The settings of a run. A run can only be continued with the same settings, as its rows would not be comparable
    otherwise.

    `model` is the name that the endpoint serves, `steps` the maximum number of turns per sentence, `search` the search
    provider for sets without passages of their own, `queries` how often a sentence is searched for, and
    `samples` the further answers that its claims are compared with.
    """

    format: int = FORMAT
    version: str
    model: str
    strategy: str = "branches"
    autonomy: str = "guided"
    steps: int = 4
    reflection: bool = True
    ablate: tuple[Part, ...] = ()
    search: str = "none"
    queries: int = 1
    samples: int = 0
    base_rate: float | None = None


class ClaimRow(Record):
    """The result for one claim: its gold label, the label it was given, and the probability in [0, 1] that it is
    wrong."""

    wrong: bool | None
    label: Label
    score: float


class Row(Record):
    """The result of `method` for one item. `wrong` is the gold label, `verdict` is True for a hallucination and None if
    there is no verdict, `score` is the probability of a hallucination in [0, 1]. `length` is the number of characters
    of the response, `seconds` the wall-clock time. Items of one `group` share their reference.

    If the method failed, there is an `error` and no verdict. `detection` is the full report if the agent made one.
    """

    dataset: str
    id: str
    method: str
    language: Language
    wrong: bool
    verdict: bool | None = None
    score: float = Field(default=0.5, ge=0, le=1)
    length: int
    group: str | None = None
    claims: tuple[ClaimRow, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None
    detection: Detection | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.dataset, self.id, self.method


def blank(item: Item, dataset: str, method: str) -> Row:
    """Return the row of an item before it is judged."""
    return Row(
        dataset=dataset, id=item.id, method=method, language=item.language, wrong=item.wrong, length=len(item.response),
        group=item.group,
    )  # fmt: skip


def read(path: Path) -> tuple[RunInfo, list[Row]]:
    """Return the settings and the rows of a run, the last row of each key, in file order. A `.gz` is decompressed. A
    last line that was cut off by an interruption is ignored. Raises ConfigError naming the file and the line that
    cannot be read."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(
            f"{path} cannot be read ({error}): give the file that `haluagent bench run --out` wrote"
        ) from error
    lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
    about: RunInfo | None = None
    rows: dict[tuple[str, str, str], Row] = {}
    for number, line in enumerate(lines, start=1):
        try:
            entry: Any = json.loads(line)
            if number == 1:
                about = RunInfo.model_validate(entry)
            else:
                row = Row.model_validate(entry)
                rows[row.key] = row
        except (ValueError, ValidationError) as error:
            what = " ".join(str(error).split())[:300]
            raise ConfigError(f"{path}, line {number} is not of a run of `haluagent bench`: {what}") from error
    if about is None:
        raise ConfigError(f"{path} is empty: give the file that `haluagent bench run --out` wrote")
    return about, list(rows.values())
