"""Labelled agent runs: those that ship with the package, and those of a file with one JSON object a line."""

from pathlib import Path
from typing import Any

from haluagent.bench.datasets.rows import NamedRow, bad, rows
from haluagent.checks.runs.forms.reading import convert, parse
from haluagent.checks.runs.records import AgentRun
from haluagent.corpora import packaged
from haluagent.errors import ConfigError
from haluagent.types import Record

OURS = "haluagent"


class LabelledRun(Record):
    """A run with its label. `kind` and `what` describe the fault, if there is one; it is `structural` if stage 1 can
    find it without a model. Runs of one `group`, such as two versions of a run, stay together when runs are split."""

    id: str
    wrong: bool
    kind: str = ""
    what: str = ""
    structural: bool = False
    group: str = ""
    run: AgentRun


class _Line(NamedRow):
    """A line of a file of labelled runs."""

    wrong: bool
    kind: str = ""
    what: str = ""
    structural: bool = False
    group: str = ""
    run: dict[str, Any] | list[Any]


def written() -> list[LabelledRun]:
    """Return the labelled runs that ship with the package."""
    given = packaged.rows("haluagent.bench", "agent_runs.jsonl")
    return [LabelledRun.model_validate(fields | {"run": parse(fields["run"], fields["id"])}) for fields in given]


def load(path: Path, source: str = OURS) -> list[LabelledRun]:
    """Return the runs of a .jsonl file, in our form or in that of another library (one of `reading.SOURCES`).

    Raise `ConfigError` naming the line that cannot be read, an id that stands twice, or what is missing: there must be
    right runs and wrong ones.
    """
    if path.suffix != ".jsonl":
        raise ConfigError(f"{path} is no .jsonl file: give one labelled run a line (docs/runs.md)")
    if not path.is_file():
        raise ConfigError(f"there is no file {path}: name one with labelled runs (docs/runs.md)")
    found: dict[str, LabelledRun] = {}
    for number, line in rows(path.parent, path.stem, _Line):
        name = str(line.name)
        if name in found:
            raise bad(path.parent, path.stem, number, f"field 'id' is {name!r}, as in a line before")
        place = f"{path}, line {number}: run"
        given = {"run_id": name, **line.run} if source == OURS and isinstance(line.run, dict) else line.run
        run = parse(given, place) if source == OURS else convert(given, source, place)
        fields = line.model_dump(exclude={"name", "run"})
        found[name] = LabelledRun(id=name, run=run, **fields)
    if len({one.wrong for one in found.values()}) < 2:
        raise ConfigError(
            f"{path} has only {'wrong' if next(iter(found.values())).wrong else 'right'} runs: add others"
        )
    return list(found.values())
