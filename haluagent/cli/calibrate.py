"""`haluagent calibrate`: the curves and thresholds of a model."""

from pathlib import Path
from typing import Annotated

import typer

from haluagent.cli import options
from haluagent.cli.options import AgentOptions


@options.takes(*options.MODEL)
def calibrate(
    claims: Annotated[
        list[Path] | None,
        typer.Option(
            help="A .jsonl file of labelled claims beside texts, or a directory of such files; several times."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The directory with the published files of the sets.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file of judgements, one JSON line per pair; continued if it exists.")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the calibration there; HALUAGENT_CALIBRATION=FILE uses it."),
    ] = None,
    limit: Annotated[int, typer.Option(help="At most N pairs of --data for each use and language.")] = 48,
    answers: Annotated[
        int | None, typer.Option(min=1, help="Judge answers to this many word problems instead, for the calculator.")
    ] = None,
    fit_only: Annotated[
        Path | None, typer.Option(help="Ask the model nothing: refit the judgements in this file.")
    ] = None,
    *,
    wanted: AgentOptions,
) -> None:
    """Judge labelled claims with a model, and fit the curves that turn its judgements into probabilities, or with
    --answers that of the calculator. What cannot be fitted keeps its value. 50 claims of your own are enough to begin
    with."""
    from haluagent.batch.journal import read_lines
    from haluagent.corpora import pairs, result_pairs, tool_pairs
    from haluagent.errors import ConfigError
    from haluagent.models.calibration import calibration_of
    from haluagent.train.calibration import calibrate as judging
    from haluagent.train.calibration import curve_report, own_claims

    if answers is not None:
        return _answers(data, out, answers, wanted)
    file = fit_only or out
    present = None
    if file is None or (fit_only is None and data is None and not claims):
        raise ConfigError("give --claims or --data, and --out; or --fit-only with the file of an earlier run")
    if fit_only is None:
        every = own_claims.pairs(claims or ())
        chosen = options.make_model(wanted)
        present = calibration_of(chosen)
        if data is not None:
            made = pairs.make(data, limit)
            every += [
                *made,
                *pairs.short(),
                *pairs.reasoned(made, limit // 2),
                *result_pairs.make(),
                *tool_pairs.make(),
            ]
        judging.run(chosen, every, file, progress=lambda line: typer.echo(line, err=True))
    if not file.is_file():
        raise ConfigError(f"{file} does not exist: give the file that `haluagent calibrate --out` wrote")
    rows = read_lines(file)
    before = present or judging.calibration_of_rows(rows, wanted.chosen_adapter)
    typer.echo(curve_report.report(rows, before))
    if write is not None:
        curve_report.write(rows, before, write)
        typer.echo(f"\nwritten: {write}")


def _answers(data: Path | None, out: Path | None, limit: int, wanted: AgentOptions) -> None:
    from haluagent.errors import ConfigError
    from haluagent.models.calibration import calibration_of
    from haluagent.train.calibration import answers

    if data is None or out is None:
        raise ConfigError("give --data, the directory of the published sets, and --out, the file of judgements")
    chosen = options.make_model(wanted)
    rows = answers.run(chosen, answers.make(data, limit), out, progress=lambda line: typer.echo(line, err=True))
    typer.echo(answers.report(rows, calibration_of(chosen).problem))
