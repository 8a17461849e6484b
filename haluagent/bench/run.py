"""Run methods on the items of some sets, and append each result to a file, so that the run can be continued."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

from pydantic import Field

from haluagent import __version__
from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal
from haluagent.batch.pool import Bounds, Job, work
from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.loading import find, load, passages
from haluagent.bench.methods.registry import METHODS, NEEDS_REFERENCE, Method
from haluagent.bench.rows import Row, RunInfo, blank, read
from haluagent.errors import ConfigError
from haluagent.search.index.local import LocalIndex
from haluagent.types import Record

DEFAULT: dict[str, Method] = {name: METHODS[name] for name in ("haluagent", "prompt")}


class DatasetPart(Record):
    """A set and the number of items to take from it: the first `limit` ones of its file, or all."""

    dataset: str
    limit: int | None = Field(default=None, ge=1)


def parse_parts(text: str, limit: int | None = None) -> list[DatasetPart]:
    """Parse a list such as `wordcnt,halueval2:12`. `limit` applies to sets without a number of their own. Raises
    ConfigError if the text is malformed or names an unknown set."""
    parts = []
    for written in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, number = written.partition(":")
        find(name)
        if colon and not (number.isascii() and number.isdigit() and int(number) > 0):
            raise ConfigError(f"{written!r}: write a set as NAME, or NAME:N for its first N items")
        parts.append(DatasetPart(dataset=name, limit=int(number) if colon else limit))
    if not parts or len({part.dataset for part in parts}) < len(parts):
        raise ConfigError(f"--datasets {text!r}: name one set or more, each once; `haluagent bench list` shows them")
    return parts


class State:
    """The progress of a run: `total` rows are wanted, `rows` are done."""

    def __init__(self, total: int, rows: list[Row]) -> None:
        self.total = total
        self.rows: list[Row] = []
        self.failed = 0
        self._tokens = self._own = self._right = 0
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Count a row."""
        self.rows.append(row)
        self._tokens += row.usage.evaluated_tokens + row.usage.generated_tokens
        self.failed += row.error is not None
        if row.method == "haluagent":
            self._own += 1
            self._right += row.verdict == row.wrong

    def remark(self) -> str:
        """Return the tokens used so far and the accuracy of the agent, for a progress line."""
        accuracy = f", accuracy {self._right / self._own:.1%}" if self._own else ""
        return f"{self._tokens:,} tokens{accuracy}" + (f", {self.failed} failed" if self.failed else "")


def run(
    parts: Sequence[DatasetPart],
    data: Path | None,
    agents: list[HaluAgent],
    out: Path,
    *,
    methods: Mapping[str, Method] = DEFAULT,
    during: AbstractAsyncContextManager[object] | None = None,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[State], None] = lambda state: None,
) -> str | None:
    """Judge the items of some sets, set by set and method by method. `data` is the directory with the files of the sets
    (None: fetch them). See `judge` for the rest. Raises ConfigError also if a set cannot be read."""
    items = [(part.dataset, item) for part in parts for item in load(part.dataset, data)[: part.limit]]
    wanted = [
        (part.dataset, item, method)
        for part in parts
        for method in methods
        for name, item in items
        if name == part.dataset and (item.reference or method.partition(":")[0] not in NEEDS_REFERENCE)
    ]
    return judge(
        wanted, agents, out, methods=methods, searches=lambda: indexes([part.dataset for part in parts], data, out),
        during=during, in_flight=in_flight, bounds=bounds, again=again, progress=progress,
    )  # fmt: skip


def judge(
    wanted: Sequence[tuple[str, Item, str]],
    agents: list[HaluAgent],
    out: Path,
    *,
    methods: Mapping[str, Method],
    searches: Callable[[], Mapping[str, LocalIndex]] = dict,
    during: AbstractAsyncContextManager[object] | None = None,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[State], None] = lambda state: None,
) -> str | None:
    """Judge what is wanted, each a set, an item and the name of a method, if it is not yet in `out`, and append each row
    as it comes. `searches` gives the index of a set with passages of its own. With `again`, rows with an error are
    judged again; the last row of an item counts. `during` is entered while there is work.

    Returns None if the run is complete, otherwise the reason why it ended. Raises ConfigError if `out` belongs to a run
    with another model or other settings, ModelError if no endpoint answers any more.
    """
    with Journal(out) as journal:
        rows = begin(journal, out, agents[0], {(name, item.id): item.wrong for name, item, _ in wanted})
        done = {row.key for row in rows if not (again and row.error)}
        keys = {(name, item.id, method) for name, item, method in wanted}
        state = State(len(keys), [row for row in rows if row.key in keys & done])
        progress(state)

        def keep(row: Row) -> None:
            journal.append(row.model_dump_json())
            state.add(row)
            progress(state)

        found = searches()
        jobs = [
            _job(name, item, method, methods[method], found.get(name))
            for name, item, method in wanted
            if (name, item.id, method) not in done
        ]

        async def go() -> str | None:
            async with during or nullcontext():
                return await work(jobs, agents, keep, in_flight=in_flight, bounds=bounds, prepare=bool(jobs))

        return asyncio.run(go())


def begin(journal: Journal, out: Path, agent: HaluAgent, gold: Mapping[tuple[str, str], bool]) -> list[Row]:
    """Return the rows that are already there; a new file gets its first line. `gold` maps items to their labels. Raises
    ConfigError if the file belongs to a run with another model, other settings or other labels."""
    search = getattr(agent.services.search, "name", "none")
    about = RunInfo(
        version=__version__, model=agent.model.name, strategy=agent.strategy, autonomy=agent.autonomy,
        steps=agent.limits.steps, reflection=agent.reflect, ablate=tuple(sorted(agent.ablate)), search=search,
        queries=agent.limits.queries, samples=agent.samples, base_rate=agent.base_rate,
    )  # fmt: skip
    if not out.stat().st_size:
        journal.append(about.model_dump_json())
        return []
    before, rows = read(out)
    for name, value in about.model_dump(exclude={"version"}).items():
        if (earlier := getattr(before, name)) != value:
            raise ConfigError(f"{out} is a run with {name} {earlier}, not {value}: name another file")
    for row in rows:
        if gold.get(row.key[:2], row.wrong) != row.wrong:
            raise ConfigError(f"{out} has another label for {row.dataset} {row.id} than --data: name another file")
    return rows


def indexes(names: Sequence[str], data: Path | None, out: Path) -> dict[str, LocalIndex]:
    """Build a search index, beside `out`, for each set that comes with its own passages."""
    made = {}
    for name in names:
        if (file := passages(name, out.parent, data)) is not None:
            made[name] = LocalIndex(out.with_name(f"{out.name}.{name}.db"))
            made[name].add([file])
    return made


def _job(name: str, item: Item, label: str, method: Method, search: LocalIndex | None) -> Job[Row]:
    async def judge(agent: HaluAgent) -> Row:
        return await method(agent.searching(search) if search else agent, item, name)

    return Job(judge, lambda error: blank(item, name, label).model_copy(update={"error": error}))
