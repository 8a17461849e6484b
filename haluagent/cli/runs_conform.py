"""`haluagent runs conform`: which clauses of the spec a report on a run keeps."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haluagent.checks.runs import RunSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from haluagent.checks.runs.conformance import Clause
    from haluagent.report.lines import Line


def conform(
    file: Annotated[str, typer.Argument(metavar="RUN.json", help="The recorded run; - is standard input.")],
    report: Annotated[str, typer.Argument(metavar="REPORT.json", help="The report on it, by any implementation.")],
    source: Annotated[RunSource, typer.Option("--from", help="The format of the run.")] = "haluagent",
    task: Annotated[
        Literal["factual", "high_stakes", "creative"] | None, typer.Option(help="Overrides the run's own task.")
    ] = None,
    emit: Annotated[
        float | None, typer.Option(min=0, max=1, help="The emit threshold that the report was made with.")
    ] = None,
    revise: Annotated[float | None, typer.Option(min=0, max=1, help="Its revise threshold.")] = None,
    block: Annotated[float | None, typer.Option(min=0, max=1, help="Its block threshold.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the clauses as one JSON list.")] = False,
) -> None:
    """Say clause by clause whether a report keeps the Agent Hallucination Detection Spec. Needs no model.

    Exit code: 0 every MUST holds or does not apply, 1 one fails, 2 invalid options or input.
    """
    import json

    from haluagent.checks.runs.conformance import conform as clauses
    from haluagent.checks.runs.forms import reading
    from haluagent.checks.runs.settings import GateSettings
    from haluagent.cli.terminal import show_or_dump
    from haluagent.cli.texts import STANDARD_INPUT, read_text
    from haluagent.errors import ConfigError

    run = reading.read_text(read_text(file), "standard input" if file == STANDARD_INPUT else file, source)
    run = run.model_copy(update={"task": task or run.task})
    try:
        data = json.loads(read_text(report))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{report} is not JSON: {str(error) or 'nested too deep'}") from None
    wanted = {
        name: value for name, value in (("emit", emit), ("revise", revise), ("block", block)) if value is not None
    }
    settings = GateSettings.model_validate(GateSettings.for_task(run.task).model_dump() | wanted)
    found = clauses(run, data, settings)
    show_or_dump([one.model_dump(mode="json") for one in found] if as_json else _lines(found))
    raise typer.Exit(int(any(one.outcome == "fail" and one.level == "MUST" for one in found)))


def _lines(clauses: "Sequence[Clause]") -> "Iterator[Line]":
    from haluagent.report.lines import Line

    styles = {"pass": "green", "fail": "bold red", "not applicable": "dim"}
    for one in clauses:
        yield Line((styles[one.outcome], f"{one.outcome:14} {one.name:18}"), ("", f" {one.level:6} {one.text}"))
        for problem in one.problems:
            yield Line(("", problem), indent=15)
    counts = Counter(one.outcome for one in clauses)
    yield Line(("", f"{counts['pass']} pass, {counts['fail']} fail, {counts['not applicable']} do not apply"))
