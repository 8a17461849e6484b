"""`haluagent reliability agreement`: a judge of tool use beside labels given by hand."""

from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli import options
from haluagent.cli.judging import JudgeModel, JudgeUrl, make_judge, run_judged
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.checks.reliability.records import CallKind
    from haluagent.protocols import Model


@options.takes_model
def agreement(
    labels: Annotated[
        str, typer.Argument(metavar="LABELS.jsonl", help="Runs whose calls were labelled by hand; - is standard input.")
    ],
    rules: Annotated[bool, typer.Option("--rules", help="Use the rules alone. Needs no model.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    *,
    wanted: AgentOptions,
) -> None:
    """Compare what the rules and a judge say of calls with labels given by hand: accuracy, kappa, and by kind."""
    from haluagent.checks.reliability import agreement as agreeing
    from haluagent.checks.reliability.recorded import classified
    from haluagent.cli.texts import STANDARD_INPUT, read_text

    place = "standard input" if labels == STANDARD_INPUT else labels
    runs = list(agreeing.labelled_runs(read_text(labels), place))
    judging = make_judge(judge_url, judge_model, rules=rules)
    pairs: list[tuple[CallKind, CallKind]] = []

    async def read_all(model: "Model | None") -> None:
        for one in runs:
            pairs.extend(agreeing.compared(one, (await classified(one.run, model, judging)).calls))

    run_judged(read_all, wanted, judging, rules=rules)
    found = agreeing.agreement(pairs)
    typer.echo(found.model_dump_json() if as_json else agreeing.agreement_table(found))
