"""`haluagent check` on a file of answers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from haluagent.batch import files as batches
from haluagent.batch.tables import FileFormat
from haluagent.checks.faithfulness import batch, gate
from haluagent.checks.faithfulness.junit import junit as as_junit
from haluagent.checks.faithfulness.junit import summary
from haluagent.checks.faithfulness.template import Template
from haluagent.cli import endpoints
from haluagent.cli.counting import counting
from haluagent.cli.options import AgentOptions
from haluagent.errors import ConfigError

FAILED = 3
SHOWN = {"failed": "FAILED", "known": "failed before too", "undecided": "UNDECIDED", "error": "ERROR"}


@dataclass(frozen=True)
class CheckFile:
    """A file of answers, the file of their results, and the columns that were named."""

    source: Path
    out: Path
    format: FileFormat | None
    columns: Mapping[str, str]

    @property
    def journal(self) -> Path:
        """Return the file that has the results as JSON lines. Raise `ConfigError` if it cannot be written."""
        return batches.output_file(self.out, self.format, self.source).journal

    def run(self, how: dict[str, Any], wanted: AgentOptions, work: endpoints.WorkOptions) -> int:
        """Check the answers that are not checked yet, and return the exit code."""
        if how["prompt_file"] is not None:
            Template(how["prompt_file"])  # a mistake in it should fail once, not on every line
        total = sum(1 for _ in batches.item_file(batch.CheckItem, self.source, self.format, self.columns).rows())
        journal = self.journal
        agents, at_once = endpoints.make_agents(wanted, work.endpoint, work.in_flight)
        before = batches.finished(journal) if journal.is_file() else []
        failed = 0 if work.retry_errors else sum(row.failed for row in before)
        done = sum(not (row.failed and work.retry_errors) for row in before)
        wrong = open_ = 0
        with counting() as show:

            def progress(row: batch.CheckRow) -> None:
                nonlocal done, wrong, open_, failed
                done += 1
                wrong += row.SCORE == "FAIL"
                failed += row.error is not None
                open_ += row.SCORE is None and row.error is None
                show(done, total, f"{wrong} FAIL, {open_} undecided, {failed} failed")

            show(done, total, "")
            ended = batch.run(
                self.source, self.out, agents, how, in_flight=at_once, again=work.retry_errors, progress=progress,
                columns=self.columns, format=self.format,
            )  # fmt: skip
        if failed:
            typer.echo(f"{failed} lines failed: see `error` in {journal}; --retry-errors checks them again", err=True)
        return FAILED if ended or failed else 0

    def gate(
        self,
        how: dict[str, Any],
        wanted: AgentOptions,
        work: endpoints.WorkOptions,
        junit: Path | None,
        baseline: Path | None,
    ) -> int:
        """Check the answers, tell which fail, and return the exit code: 1 if any does, 3 if one has no verdict."""
        earlier = gate.read_rows(baseline) if baseline else []
        if junit is not None:
            _write(junit, None)  # before hours of work
        # What failed for want of an endpoint is tried again: a run in CI is continued by hand only.
        self.run(how, wanted, replace(work, retry_errors=True))
        rows = gate.read_rows(self.journal)
        tested = gate.compare(rows, earlier, threshold=how["threshold"], margin=how["margin"])
        if junit is not None:
            _write(junit, as_junit(tested, self.source.stem))
        outcomes = [one.outcome for one in tested]
        for one in tested:
            if one.outcome in SHOWN:
                typer.echo(f"{SHOWN[one.outcome]}  {' '.join(gate.name_of(one.row).split())}: {summary(one)}")
        typer.echo(f"{outcomes.count('passed')} of {len(outcomes)} answers passed, {outcomes.count('failed')} failed")
        if "failed" in outcomes:
            return 1
        return FAILED if {"undecided", "error"} & set(outcomes) or not outcomes else 0


def _write(path: Path, text: str | None) -> None:
    """Write a file; without a text, only try to open it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if text is None else "w", encoding="utf-8") as file:
            file.write(text or "")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from error
