"""The cost of a method on a set: model calls, tokens, seconds and tool calls."""

from collections import Counter
from collections.abc import Iterator, Sequence

from haluagent.bench.rows import Row
from haluagent.detection.verdict import WAYS_OUT
from haluagent.types import Detection, Record, Step, Usage

# Tokens per second of the embedded engine on two cores. They convert tokens to seconds that do not depend on the speed
# or load of the machine, so that runs and methods can be compared.
PROMPT_SPEED, GENERATION_SPEED = 64, 12

SYSTEM_TOOLS = ("split_text", *WAYS_OUT)  # these check nothing


class Cost(Record):
    """Totals over `items`. `evaluated` counts the prompt tokens that were not taken from a cache, `seconds` is the
    summed wall-clock time of the items, `normalised` the seconds at 64 evaluated and 12 generated tokens per second.
    `tools` maps each tool to its number of calls; `failed` counts the items that ended in an error."""

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
        """Return the total `name` divided by the number of items; 0 if there are none."""
        return float(getattr(self, name)) / self.items if self.items else 0.0


def normalised_seconds(usage: Usage) -> float:
    """Return the seconds that the tokens take at 64 evaluated and 12 generated tokens per second."""
    return usage.evaluated_tokens / PROMPT_SPEED + usage.generated_tokens / GENERATION_SPEED


def cost(rows: Sequence[Row]) -> Cost:
    """Return the total cost of the rows."""
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
    """Yield the steps of a detection that called a tool which checks something."""
    for step in detection.steps if detection else ():
        if step.call is not None and step.call.name not in SYSTEM_TOOLS:
            yield step
