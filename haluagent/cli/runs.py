"""`haluagent runs check`: check whether the answer of an agent's run may be released."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haluagent.checks.runs import RunSource
from haluagent.cli import options, runs_conform
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.checks.runs.records import AgentRun, HallucinationReport, ToolCallValidation
    from haluagent.checks.runs.settings import GateSettings
    from haluagent.report.lines import Line

FAILED = 3
PROBE_KEY = "HALUAGENT_PROBE_KEY"
REJECTED = ("invalid", "fabricated", "never_called")

app = typer.Typer(help="Check whole runs of agents: their tool calls and their answers.", no_args_is_help=True)

TaskOption = Literal["factual", "high_stakes", "creative"]


app.command()(runs_conform.conform)


@app.command()
@options.takes(*options.MODEL, "base_rate", "max_tokens", "max_seconds", "concurrency", sandbox="none", search="none")
def check(
    file: Annotated[str, typer.Argument(metavar="RUN.json", help="The recorded run; - is standard input.")],
    source: Annotated[
        RunSource, typer.Option("--from", help="The format of the run: ours, or that of another library.")
    ] = "haluagent",
    task: Annotated[
        TaskOption | None, typer.Option(help="What the answer is for; overrides the run's own task.")
    ] = None,
    emit: Annotated[
        float | None, typer.Option(min=0, max=1, help="The lowest overall score at which an answer may be released.")
    ] = None,
    revise: Annotated[
        float | None, typer.Option(min=0, max=1, help="Claims with a lower score must be revised.")
    ] = None,
    block: Annotated[
        float | None, typer.Option(min=0, max=1, help="Critical claims with a lower score block the answer.")
    ] = None,
    calls_only: Annotated[
        bool, typer.Option("--calls-only", help="Check only the tool calls. Needs no model.")
    ] = False,
    overall: Annotated[
        Literal["minimum", "mean"] | None,
        typer.Option(
            help="The overall score: the lowest of the claims, or their mean, in which critical ones count twice."
        ),
    ] = None,
    no_probes: Annotated[
        bool, typer.Option("--no-probes", help="Ask no question again about critical claims.")
    ] = False,
    probes: Annotated[
        int | None, typer.Option(min=1, max=20, help="How often a question about a critical claim is asked.")
    ] = None,
    probe_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The endpoint of the agent's own model, to ask it again, too.")
    ] = None,
    probe_model: Annotated[str | None, typer.Option(help="The model to ask there.")] = None,
    probe_key: Annotated[
        str | None, typer.Option(envvar=PROBE_KEY, help="Its key; the variable keeps it out of the process list.")
    ] = None,
    audit: Annotated[Path | None, typer.Option(metavar="FILE", help="Append the report to this log.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
    lang: options.Lang = "auto",
    *,
    wanted: AgentOptions,
) -> None:
    """Decide whether the answer of a run may be released: emit, revise or block, with every claim and call.

    Exit code: 0 emit, 1 revise or block, 3 it could not be checked, 2 invalid options or input. With --calls-only: 0 no
    call was rejected, 1 at least one was.
    """
    from haluagent.errors import ConfigError

    run = _read(file, source, task, lang)
    if no_probes and (probes or probe_url):
        raise ConfigError("--no-probes asks nothing again: leave it out, or --probes and --probe-url")
    if probe_url is None and probe_model is not None:
        raise ConfigError("--probe-model is the model at --probe-url: give that, too")
    settings = _settings(
        run, emit=emit, revise=revise, block=block, base_rate=wanted.base_rate, overall=overall, probes=probes
    )
    if calls_only:
        if audit is not None:
            raise ConfigError("--calls-only makes no report: leave --audit out")
        raise typer.Exit(_calls_only(run, as_json))
    # Without a key of its own this endpoint gets none, rather than the one of the model that checks.
    own = AgentOptions(model=probe_model, base_url=probe_url, api_key=probe_key or "none") if probe_url else None
    raise typer.Exit(_whole(run, settings, wanted, own, probes=not no_probes, audit=audit, as_json=as_json))


def _read(file: str, source: RunSource, task: TaskOption | None, lang: options.LanguageChoice) -> "AgentRun":
    from haluagent.checks.runs.forms import reading
    from haluagent.cli.texts import STANDARD_INPUT, read_text

    place = "standard input" if file == STANDARD_INPUT else file
    run = reading.read_text(read_text(file), place, source)
    changed = {"task": task or run.task, "language": run.language if lang == "auto" else lang}
    return run.model_copy(update=changed)


def _settings(run: "AgentRun", **wanted: float | str | None) -> "GateSettings":
    """Return the settings of the task with the changes from the command line. Raises ConfigError if they are
    inconsistent."""
    from haluagent.checks.runs.settings import GateSettings

    given = {name: value for name, value in wanted.items() if value is not None}
    return GateSettings.model_validate(GateSettings.for_task(run.task).model_dump() | given)


def _calls_only(run: "AgentRun", as_json: bool) -> int:
    from haluagent.checks.runs.calls.check import validate_calls
    from haluagent.cli.terminal import show_or_dump

    found = validate_calls(run)
    show_or_dump([item.model_dump(mode="json") for item in found] if as_json else call_lines(found))
    return int(any(item.status in REJECTED for item in found))


def _whole(
    run: "AgentRun",
    settings: "GateSettings",
    wanted: AgentOptions,
    own: AgentOptions | None,
    *,
    probes: bool,
    audit: Path | None,
    as_json: bool,
) -> int:
    from haluagent.checks.runs import gate
    from haluagent.checks.runs.audit import AuditLog
    from haluagent.cli.terminal import show_or_dump

    log = None if audit is None else AuditLog(audit)
    model, seconds = None if own is None else options.make_model(own), dict[str, float]()
    with closing(options.make_agent(wanted)) as agent:
        try:
            report = gate.check_run(agent, run, settings=settings, probes=probes, probe_model=model, seconds=seconds)
        except Exception as error:
            if log is not None:
                log.append(run.run_id, 1, "block", f"{type(error).__name__}: {error}", None, seconds)
            raise
        if log is not None:
            log.append(run.run_id, 1, report.action, None, report, seconds)
        show_or_dump(report.model_dump(mode="json") if as_json else report_lines(report))
    return 0 if report.action == "emit" else 1


def report_lines(report: "HallucinationReport") -> "Iterator[Line]":
    """Yield the report for a person: the action, the claims with their evidence, the probes that diverged, the
    calls."""
    from haluagent.checks.runs.answers.probe import diverges
    from haluagent.report.lines import Line

    style = {"emit": "bold green", "revise": "bold yellow", "block": "bold red"}[report.action]
    yield Line((style, report.action.upper()), ("", f" (score {report.overall_score:.2f})"))
    for claim in report.claims:
        style = {"grounded": "green", "weak": "yellow"}.get(claim.status, "red")
        critical = ", critical" if claim.critical else ""
        yield Line((style, f"{claim.status} {claim.score:.2f}{critical}: "), ("", claim.text), indent=2)
        for span in claim.evidence_spans:
            place = f"{span.tool}, call {span.call_id}, characters {span.span[0]}-{span.span[1]}: "
            yield Line(("dim", place), ("", span.text), indent=6)
    for probe in report.consistency_probes:
        if diverges(probe):
            yield Line(
                ("yellow", f"asked again for {probe.original!r}: "), ("", " | ".join(probe.probe_answers)), indent=2
            )
    yield from call_lines(report.tool_call_validations)


def call_lines(validations: "tuple[ToolCallValidation, ...]") -> "Iterator[Line]":
    """Yield one line for the valid calls, and for each call what there is to say of it."""
    from haluagent.report.lines import Line

    right = sum(item.status == "valid" for item in validations)
    yield Line(("dim", f"{right} of {sum(item.status != 'never_called' for item in validations)} calls valid"))
    for item in validations:
        if item.status != "valid" or item.errors:
            style = "red" if item.status in REJECTED else "yellow"
            stopped = ", stopped before it ran" if item.stopped else ""
            yield Line(
                (style, item.status.replace("_", " ") + stopped),
                ("", f": {item.tool or 'a tool that was not offered'}"),
                indent=2,
            )
            for error in item.errors:
                yield Line(("", error), indent=6)
