"""`haluagent bench runs`: the gate on labelled runs of agents, the package's or your own."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from haluagent.checks.runs import RunSource
from haluagent.cli import options
from haluagent.cli.options import AgentOptions


@options.takes_model
def runs(
    out: Annotated[
        Path | None, typer.Option(metavar="RUN", help="The file of the results, JSON Lines; continued if it exists.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A .jsonl file of labelled runs (docs/runs.md) instead of the packaged ones.")
    ] = None,
    source: Annotated[RunSource, typer.Option("--from", help="The form of the runs in --data.")] = "haluagent",
    calls_only: Annotated[
        bool, typer.Option("--calls-only", help="Check only the tool calls. Needs no model, and no --out.")
    ] = False,
    no_probes: Annotated[bool, typer.Option("--no-probes", help="Skip stage 3: ask no question again.")] = False,
    seed: Annotated[int, typer.Option(help="With --data: which runs are in which half.")] = 0,
    false_alarms: Annotated[
        float, typer.Option(min=0, max=1, help="With --data: the share of right runs that may be held back.")
    ] = 0.1,
    false_blocks: Annotated[
        float, typer.Option(min=0, max=1, help="With --data: the share of right runs that may be blocked.")
    ] = 0.02,
    *,
    wanted: AgentOptions,
) -> None:
    """Check labelled agent runs with the gate, and with a plain prompt on the same model.

    With --data the thresholds are chosen on one half of the runs and measured on the other. The same command resumes
    where it stopped.
    """
    from haluagent.bench import agent_runs, run_calls, run_thresholds
    from haluagent.bench.labelled_runs import load, written
    from haluagent.errors import ConfigError

    if data is None and source != "haluagent":
        raise ConfigError("--from is the form of the runs in --data: name the file")
    given = written() if data is None else load(data, source)
    if calls_only:
        typer.echo(run_calls.table(given))
        return
    if out is None:
        raise ConfigError(
            "name the file of the results with --out RUN.jsonl, or check only the calls with --calls-only"
        )
    with closing(options.make_agent(wanted)) as agent:
        rows = agent_runs.measure(
            agent, out, given, probes=not no_probes, progress=lambda line: typer.echo(line, err=True)
        )
    if data is None:
        typer.echo(agent_runs.table(rows))
    else:
        typer.echo(run_thresholds.table(rows, seed=seed, false_alarms=false_alarms, false_blocks=false_blocks))
