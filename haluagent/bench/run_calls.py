"""What stage 1 alone finds in labelled runs, without a model."""

from collections.abc import Sequence

from haluagent.bench.labelled_runs import LabelledRun
from haluagent.bench.run_thresholds import share
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.gate import REJECTED


def table(runs: Sequence[LabelledRun]) -> str:
    """Return, in Markdown, the runs with a rejected call and those with a remark, by label and kind of fault, with 95 %
    intervals; then the name of every right run with a rejected call."""
    found = {one.id: {call.status for call in validate_calls(one.run)} for one in runs}
    rejected = {name for name, status in found.items() if status & set(REJECTED)}
    remarked = {name for name, status in found.items() if status - {"valid"}} - rejected
    right, wrong = ([one for one in runs if one.wrong is value] for value in (False, True))
    groups = [
        ("wrong runs", wrong),
        ("wrong runs, structural", [one for one in wrong if one.structural]),
        ("right runs", right),
    ]
    groups += [
        (f"wrong: {kind}", [one for one in wrong if one.kind == kind])
        for kind in sorted({one.kind for one in wrong} - {""})
    ]
    lines = ["| | a call rejected | only a remark |", "|---|---|---|"]
    for name, group in groups:
        if group:
            cells = (share(one.id in names for one in group) for names in (rejected, remarked))
            lines.append(f"| {name} | {' | '.join(cells)} |")
    if alarms := [one.id for one in right if one.id in rejected]:
        lines += ["", f"right runs with a rejected call: {', '.join(alarms)}"]
    return "\n".join(lines)
