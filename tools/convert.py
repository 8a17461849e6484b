"""Units: what a quantity is in another unit."""

import asyncio

from haluagent.arithmetic.conversions import facts, find_quantities, in_unit_of, is_same, quantity_named
from haluagent.errors import FormatError, ToolError
from haluagent.judging.comparison import given_about
from haluagent.protocols import ToolContext
from haluagent.text.messages import message
from haluagent.tooling.coverage import open_parts
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo, no_sentence
from haluagent.types import Evidence, Sentence, ToolResult

CONFIDENCE = 0.75  # as of a formula: which quantities are compared is the model's reading
MOST = 4  # lines of facts


@tool(
    description={
        "en": "Convert units. convert(sentence=S1) converts what the question and the reference give to the units of S1; "
        "convert(sentence=S1, value=…, to=…) converts a value with its unit, and claimed=… is what S1 says that it is.",
        "zh": "换算单位。convert(sentence=S1) 把题目和参考资料中的量换算成 S1 的单位；"
        "convert(sentence=S1, value=…, to=…) 换算一个带单位的量，claimed=… 是 S1 所说的结果。",
    },
    demos=[
        Demo(
            language="en",
            question="How hot was it?",
            response="It was 100 °F in the shade, which is what people there call 42 °C.",
            thought="it gives one temperature in two units",
            call='convert(sentence=S1, value="100 °F", claimed="42 °C")',
            observation="100 °F = 37.78 °C, not 42 °C",
        ),
        Demo(
            language="zh",
            question="这袋米有多重？",
            response="这袋米重10斤，换成公斤的话有5公斤。",
            thought="同一个重量用了两种单位",
            call='convert(sentence=S1, value="10斤", claimed="5公斤")',
            observation="10斤 = 5公斤，与所写的 5公斤 一致",
        ),
    ],
    when=no_sentence,  # a conversion that a sentence states plainly is the calculator's
    adds=lambda context, sentence: bool(_facts(context, sentence)),
    plausible=lambda context, sentence: sentence.index > 0 and bool(find_quantities(sentence.text)),
)
async def convert(
    context: ToolContext,
    sentence: Sentence,
    value: str | None = None,
    to: str | None = None,
    claimed: str | None = None,
) -> ToolResult:
    """Convert `value`, a number with its unit, to the unit `to` or that of `claimed`, and compare it with `claimed`.

    Without `value`, convert what the question and the reference give to the units of the sentence. All of this are facts for
    `match` to read. Where the sentence has both quantities and they are the same, that part of it is supported (0.75); where they
    are not, or may be two differences of temperature, nothing is decided, since the model chose which to compare.
    Raises FormatError for a unit that is not known or can be read in several ways (`ton`, `cup`, `m`), and for units of two
    dimensions; ToolError where there is nothing to convert.
    """
    lines = [] if value else await asyncio.to_thread(_facts, context, sentence)
    if lines:
        return ToolResult(observation="; ".join(lines), facts=tuple(lines))
    if not value or not (to or claimed):
        raise ToolError(message("convert.nothing", context.language))
    return await asyncio.to_thread(_converted, context, sentence, value.strip(), (to or "").strip(), claimed)


def _facts(context: ToolContext, sentence: Sentence) -> list[str]:
    if sentence.index == 0 or not find_quantities(sentence.claim):
        return []
    return facts(sentence.claim, given_about(context, sentence))[:MOST]


def _converted(context: ToolContext, sentence: Sentence, value: str, to: str, claimed: str | None) -> ToolResult:
    try:
        one = quantity_named(value)
        other = quantity_named(claimed.strip() if claimed else f"1.00 {to}")
        computed, same = in_unit_of(one, other)
    except ValueError as error:
        raise FormatError(str(error)) from error
    if not claimed:
        text = message("convert.value", context.language, value=value, computed=computed)
        return ToolResult(observation=text, facts=(text,))
    key = {True: "same", False: "other", None: "undecided"}[same]
    text = message(f"convert.{key}", context.language, value=value, computed=computed, claimed=claimed.strip())
    spans = [place.span for place in find_quantities(sentence.text) if is_same(place, one) or is_same(place, other)]
    if same is None:
        return ToolResult(observation=text)
    if not same or len(spans) != 2:
        return ToolResult(observation=text, facts=(text,))
    start = sentence.span[0]
    evidence = Evidence(source="convert", text=text, span=(start + spans[0][0], start + spans[1][1]))
    left = open_parts(sentence, spans, context.question)
    return ToolResult(
        observation=text, label="supported", confidence=CONFIDENCE, evidence=(evidence,), open=left, facts=(text,)
    )
