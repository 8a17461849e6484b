"""`haluagent bench threshold`: the threshold that costs least on labelled results."""

from pathlib import Path
from typing import Annotated, Any

import typer


def threshold(
    results: Annotated[
        Path, typer.Argument(metavar="RUN", help="JSON lines with a `score` and a label: of batch, check or bench run.")
    ],
    label: Annotated[
        str, typer.Option(metavar="FIELD", help="Says whether a response is wrong: true or false.")
    ] = "wrong",
    miss: Annotated[float, typer.Option(min=0, help="What a wrong response without an alarm costs.")] = 1.0,
    alarm: Annotated[float, typer.Option(min=0, help="What an alarm on a right response costs.")] = 1.0,
    base_rate: Annotated[
        float | None, typer.Option(help="The share of wrong responses where it is used; by default that of RUN.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Which method's rows, if `bench run` wrote those of several.")
    ] = None,
) -> None:
    """Find the threshold of the score at which misses and false alarms together cost least."""
    from haluagent.batch.journal import read_lines
    from haluagent.bench.scoring import threshold as scoring
    from haluagent.errors import ConfigError

    if not results.is_file():
        raise ConfigError(f"{results} is no file: give the JSON lines of labelled results")
    if base_rate is not None and not 0 < base_rate < 1:
        raise ConfigError("--base-rate is a share between 0 and 1, such as 0.1")
    if not miss + alarm > 0:
        raise ConfigError("one of --miss and --alarm must be above 0")
    last = {_key(row, number): row for number, row in enumerate(read_lines(results))}
    methods = sorted({str(row["method"]) for row in last.values() if row.get("method")})
    if method is None and len(methods) > 1:
        raise ConfigError(f"the run has several methods: name one with --method ({', '.join(methods)})")
    rows = [row for row in last.values() if method is None or row.get("method") == method]
    found = scoring.scored(rows, label)
    rate = base_rate if base_rate is not None else sum(one.wrong for one in found) / len(found)
    typer.echo(scoring.report(found, scoring.Costs(miss=miss, alarm=alarm, base_rate=rate)))
    if left := len(rows) - len(found):
        typer.echo(f"{left} rows without a score are left out", err=True)


def _key(row: dict[str, Any], number: int) -> str:
    """Return what tells an item apart in a run, in which a later row of the same item replaces an earlier one."""
    if "line" in row:
        return f"line {row['line']}"
    if "dataset" in row:
        return repr((row["dataset"], row.get("id"), row.get("method")))
    return str(number)
