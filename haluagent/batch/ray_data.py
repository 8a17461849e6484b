"""Check the rows of a Ray Data dataset with workers all over a cluster (extra `ray`)."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from haluagent.agent import HaluAgent
from haluagent.batch.files import BatchItem, BatchRow, check
from haluagent.batch.pool import Job, work
from haluagent.errors import ConfigError, ModelError
from haluagent.models import resolve
from haluagent.models.discovery import discover

if TYPE_CHECKING:
    import pyarrow
    from ray.data import Dataset

FIELDS = ("question", "response", "reference")
ADDED = ("hallucination", "score", "error", "detection")
ROUNDS = 8  # the last items of a batch leave slots empty: with eight rounds, about a sixteenth of them


def detect(
    dataset: "Dataset",
    endpoints: Sequence[str],
    *,
    model: str | None = None,
    api_key: str | None = None,
    workers: int = 2,
    in_flight: int = 8,
    batch_size: int | None = None,
    columns: Mapping[str, str] | None = None,
    cpus: float = 0,
    **agent_options: Any,
) -> "Dataset":
    """Return the dataset with four more columns: `hallucination` (bool or null), `score` (float or null), `error`
    (string or null) and `detection` (the whole `Detection` as JSON, or null). All other columns are kept. As usual in
    Ray Data, execution is lazy.

    `endpoints` are base URLs of OpenAI-compatible servers that every worker can reach; all serve the same model. A
    worker is a process that checks `in_flight` rows at a time at each endpoint, so an endpoint gets up to `workers`
    times as many. `batch_size` is the number of rows that a worker receives at once; the default is eight for each row
    that it checks at a time. `columns` maps question, response or reference to the column names of the dataset, as in
    `{"response": "answer"}`; question and reference may be absent or null. `cpus` is the number of cores that each worker
    reserves: none by default, since a worker mostly waits, and workers that reserve all cores leave none for reading
    the rows. `api_key` defaults to `HALUAGENT_API_KEY` of this process. `agent_options` are those of `HaluAgent`; they
    are sent to the workers, so your own tools must be picklable.

    Rows keep their order within a batch; Ray keeps the order of batches if its `preserve_order` is set. A row that
    cannot be checked gets an `error`. An endpoint that no longer answers is dropped and tried again before the next
    batch. If none answers, the job fails with a Ray error that quotes the ModelError. Raises ConfigError if Ray is not
    installed, an option is invalid, or a column is missing or would be overwritten. If Ray learns the columns only when
    it runs, its own error quotes the ConfigError.
    """
    if not endpoints:
        raise ConfigError("no endpoint is given: name the base URLs of the servers, as http://host:8000/v1")
    if workers < 1 or in_flight < 1 or (batch_size is not None and batch_size < 1):
        raise ConfigError("workers, in_flight and batch_size have to be at least 1")
    if unknown := sorted(set(columns or {}) - set(FIELDS)):
        raise ConfigError(f"columns: {', '.join(unknown)} is none of {', '.join(FIELDS)}")
    try:
        from ray.data import ActorPoolStrategy
    except ImportError:
        raise ConfigError('Ray Data is not installed: pip install "haluagent[ray]"') from None

    schema = dataset.schema(fetch_if_missing=False)
    if schema is not None:
        _wanted(schema.names, columns or {})
    key = api_key or os.environ.get("HALUAGENT_API_KEY")
    batch_size = batch_size or ROUNDS * in_flight * len(endpoints)
    # A block goes to one worker as a whole: one batch per block spreads the work, and a lost worker costs one batch.
    return dataset.repartition(target_num_rows_per_block=batch_size).map_batches(
        RayWorker,
        fn_constructor_kwargs={
            "endpoints": tuple(endpoints),
            "model": model,
            "api_key": SecretStr(key) if key else None,  # Ray keeps constructor arguments in its metadata
            "in_flight": in_flight,
            "columns": dict(columns or {}),
            "agent_options": agent_options,
        },
        batch_format="pyarrow",
        batch_size=batch_size,
        # One batch runs and one waits: with more, batches would queue at one worker while another is idle.
        compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
        num_cpus=cpus,
    )


class RayWorker:
    """The worker that Ray Data runs in its own process: one agent per endpoint, reused from batch to batch."""

    def __init__(
        self,
        endpoints: Sequence[str],
        model: str | None,
        api_key: SecretStr | None,
        in_flight: int,
        columns: Mapping[str, str],
        agent_options: Mapping[str, Any],
    ) -> None:
        self._endpoints = endpoints
        self._model = model
        self._api_key = api_key.get_secret_value() if api_key else None
        self._in_flight = in_flight
        self._columns = columns
        # The sentences of an item are checked one after another, so that their shared prefix is in the endpoint's cache.
        self._options = {"concurrency": 1, **agent_options}
        self._agents: dict[str, HaluAgent] = {}

    def __call__(self, table: "pyarrow.Table") -> "pyarrow.Table":
        """Return the table with the added columns. Raises ModelError if no endpoint answers, ConfigError for a column
        that is missing or already there."""
        jobs = [_job(number, row) for number, row in enumerate(_texts(table, self._columns))]
        done: dict[int, BatchRow] = {}
        try:
            asyncio.run(
                work(jobs, self._present(), lambda row: done.update({row.line: row}), in_flight=self._in_flight)
            )
        except ModelError as error:
            raise ModelError(f"none of the endpoints answers: {', '.join(self._endpoints)}") from error
        return _with_results(table, [done[number] for number in range(len(jobs))])

    def _present(self) -> list[HaluAgent]:
        """Return the agents of the endpoints that answer now: a lost one may be back, and another may be gone."""
        with ThreadPoolExecutor(len(self._endpoints)) as pool:
            there = list(pool.map(self._answers, self._endpoints))
        agents = [self._agents[url] for url, answers in zip(self._endpoints, there, strict=True) if answers]
        if not agents:
            raise ModelError("no endpoint answered")
        if len(names := {agent.model.name for agent in agents}) > 1:
            listed = ", ".join(sorted(names))
            raise ConfigError(f"the endpoints serve different models ({listed}): name one with model=")
        return agents

    def _answers(self, url: str) -> bool:
        """Return True if this endpoint has an agent and answers, creating the agent if necessary."""
        try:
            if url in self._agents:
                discover(url, self._api_key)
            else:
                found = resolve(self._model, base_url=url, api_key=self._api_key, concurrency=self._in_flight)
                self._agents[url] = HaluAgent(found, **self._options)
        except ModelError:
            return False
        return True


def _texts(table: "pyarrow.Table", columns: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the texts to check in each row."""
    wanted = _wanted(table.column_names, columns)
    texts: list[dict[str, Any]] = table.select(list(wanted.values())).rename_columns(list(wanted)).to_pylist()
    return texts


def _wanted(names: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each field of an item. Raises ConfigError if a column is missing or would be overwritten."""
    if clash := [name for name in ADDED if name in names]:
        raise ConfigError(f"there are columns named {', '.join(clash)} already: rename them with rename_columns first")
    wanted = {field: columns.get(field, field) for field in FIELDS}
    for field in ("question", "reference"):
        if field not in columns and field not in names:
            del wanted[field]
    if missing := [name for name in wanted.values() if name not in names]:
        listed = f"{', '.join(missing)}, only {', '.join(names)}"
        raise ConfigError(f"there is no column {listed}: say with columns= what they are called")
    return wanted


def _job(number: int, texts: dict[str, Any]) -> Job[BatchRow]:
    async def judge(agent: HaluAgent) -> BatchRow:
        optional = [field for field in ("question", "reference") if not isinstance(texts.get(field), str | None)]
        if wrong := [*optional, *(["response"] if not isinstance(texts["response"], str) else [])]:
            raise ConfigError(f"{', '.join(wrong)}: not a text")
        return await check(agent, BatchItem(**texts), number)

    return Job(judge, lambda error: BatchRow(line=number, error=error))


def _with_results(table: "pyarrow.Table", rows: list[BatchRow]) -> "pyarrow.Table":
    """Append the result columns. Their types are explicit, since they cannot be inferred from a batch without errors or
    verdicts."""
    import pyarrow

    detections = [row.detection and row.detection.model_dump_json() for row in rows]
    for name, kind, values in (
        ("hallucination", pyarrow.bool_(), [row.hallucination for row in rows]),
        ("score", pyarrow.float64(), [row.score for row in rows]),
        ("error", pyarrow.string(), [row.error for row in rows]),
        ("detection", pyarrow.string(), detections),
    ):
        table = table.append_column(name, pyarrow.array(values, kind))
    return table
