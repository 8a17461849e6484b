"""`haluagent batch`: check a file of items."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli import options
from haluagent.cli.endpoints import WorkOptions, make_agents, make_processes, works
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.models.metrics import ModelMetrics

FAILED = 3
VERDICTS = {True: "contradicted", False: "supported", None: "unverified"}


@options.takes(without=["concurrency"])
@works()
def batch(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="JSON Lines, CSV, Excel or Parquet, each row {question?, response, reference?, id?}."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="OUT", help="Results as JSON Lines, CSV or Parquet; continued if it exists."
        ),
    ],
    question: options.QuestionColumn = None,
    response: options.ResponseColumn = None,
    reference: options.ReferenceColumn = None,
    file_format: options.FileFormat = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes that share the work, for a served model.")] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", min=0, max=65535, help="Serve Prometheus metrics on this port of 127.0.0.1."),
    ] = None,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Check every row of a file. The same command resumes where it stopped.

    A table (CSV, Parquet) is written when all rows are done; OUT.jsonl keeps them meanwhile, with all evidence.

    Exit code: 0 all lines are in OUT and were checked, 3 some of them failed or a budget ended the run, 2 invalid
    options or input, 130 stopped with Ctrl-C.
    """
    from haluagent.batch import files as batches
    from haluagent.cli.counting import counting

    metrics = serve_metrics(metrics_port)
    columns = options.chosen(question=question, response=response, reference=reference)
    total = sum(1 for _ in batches.item_file(batches.BatchItem, source, file_format, columns).rows())
    journal = batches.output_file(out, file_format, source).journal
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    judge = make_processes(processes, wanted, agents, at_once).check if processes > 1 else batches.check_line
    before = batches.finished(journal) if journal.is_file() else []
    failed = 0 if work.retry_errors else sum(row.failed for row in before)
    done = sum(not (row.failed and work.retry_errors) for row in before)
    found = tokens = 0
    with counting() as show:

        def progress(row: "batches.BatchRow") -> None:
            nonlocal done, found, failed, tokens
            done += 1
            found += row.hallucination is True
            failed += row.error is not None
            if metrics:
                metrics.item("failed" if row.error is not None else VERDICTS[row.hallucination])
            tokens += row.usage.evaluated_tokens + row.usage.generated_tokens
            show(done, total, f"{tokens} tokens, {found} with a hallucination, {failed} failed")

        show(done, total, "")
        ended = batches.run(
            source, out, agents, judge, in_flight=at_once, bounds=work.bounds, again=work.retry_errors, progress=progress,
            columns=columns, format=file_format,
        )  # fmt: skip
    if ended:
        typer.echo(
            f"stopped at {ended}: {done} of {total} lines are in {journal}; the same command goes on from there",
            err=True,
        )
    if failed:
        typer.echo(f"{failed} lines failed: see `error` in {journal}; --retry-errors checks them again", err=True)
    raise typer.Exit(FAILED if ended or failed else 0)


def serve_metrics(port: int | None) -> "ModelMetrics | None":
    """Serve the metrics of this process on a port of this machine, and say where; None without a port. Raises ConfigError."""
    if port is None:
        return None
    from haluagent.models.metrics import ModelMetrics

    metrics = ModelMetrics()
    typer.echo(f"metrics at http://127.0.0.1:{metrics.serve(port)}/metrics", err=True)
    return metrics
