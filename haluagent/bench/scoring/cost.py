"""What a method costs on a set: model calls, tokens, seconds, and tool calls."""

from collections import Counter
from collections.abc import Iterator, Sequence

from haluagent.bench.rows import Row
from haluagent.detection.verdict import WAYS_OUT
from haluagent.types import Detection, Record, Step, Usage

# Tokens a second of the embedded engine on two cores. They turn tokens into seconds that do not depend on how busy or
# how fast the machine of a run was, so that runs and methods can be compared.
PROMPT_SPEED, GENERATION_SPEED = 64, 12

SYSTEM_TOOLS = ("split_text", *WAYS_OUT)  # they check nothing


class Cost(Record):
    """Totals over `items`. `evaluated` are the prompt tokens that were not taken from a cache, `seconds` the wall-clock
    time of the items added up, `normalised` seconds those of the tokens at 64 evaluated and 12 generated a second.
    `tools` has the number of calls of each tool, `failed` the items that ended in an error."""

    items: int
    calls: int
    evaluated: int
    cached: int
    generated: int
    seconds: float
    normalised: float
    failed: int
    tools: dict[str, int] = {}

    def per_item(self, name: str) -> float:
        """The total `name` divided by the items; 0 where there are none."""
        return float(getattr(self, name)) / self.items if self.items else 0.0


def normalised_seconds(usage: Usage) -> float:
    return usage.evaluated_tokens / PROMPT_SPEED + usage.generated_tokens / GENERATION_SPEED


def cost(rows: Sequence[Row]) -> Cost:
    """The totals of some rows."""
    total = sum((row.usage for row in rows), Usage())
    calls = Counter(step.call.name for row in rows for step in checks(row.detection) if step.call)
    return Cost(
        items=len(rows),
        calls=total.calls,
        evaluated=total.evaluated_tokens,
        cached=total.cached_tokens,
        generated=total.generated_tokens,
        seconds=sum(row.seconds for row in rows),
        normalised=normalised_seconds(total),
        failed=sum(row.error is not None for row in rows),
        tools=dict(calls.most_common()),
    )


def checks(detection: Detection | None) -> Iterator[Step]:
    """The steps of a detection that called a tool which checks something."""
    for step in detection.steps if detection else ():
        if step.call is not None and step.call.name not in SYSTEM_TOOLS:
            yield step
