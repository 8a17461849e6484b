"""Check where the arguments of a call come from. A model that makes up a number, an address or a quotation would check
something that nobody said (tool usage hallucination in Relign, Xu et al. 2024)."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from haluagent.arithmetic.known import USUAL_CONSTANTS, foreign_numbers
from haluagent.errors import FormatError, ToolError
from haluagent.prompts import render
from haluagent.protocols import ToolContext
from haluagent.text.dates import find_dates
from haluagent.text.normalize import unspaced
from haluagent.tooling.tool import Tool
from haluagent.types import ToolCall

_URL = re.compile(r"https?://[^\s<>\"'“”，。；（）]+", re.IGNORECASE)
_QUOTED = re.compile(r"“([^“”]{2,})”|\"([^\"]{2,})\"|「([^「」]{2,})」|『([^『』]{2,})』|《([^《》]{2,})》")
_IDENTIFIER = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # an e-mail address
    r"|(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]*(?:[-_.:/][A-Za-z0-9]+)*[-_]?\d[A-Za-z0-9]*(?:[-_.:/][A-Za-z0-9]+)*"  # CVE-2024-1, RFC1149
    r"|(?<![A-Za-z0-9])\d+[A-Za-z]+\d[A-Za-z0-9]*"  # 4f2a9
    r"|(?<![A-Za-z0-9])[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+",  # user_id
)


def check_provenance(item: Tool, call: ToolCall, context: ToolContext, observations: Sequence[str]) -> None:
    """Raise FormatError, with what it is, where an argument has a URL, a date, a number, an identifier or a quoted
    passage that is in neither the question, the response, the reference nor an earlier observation.

    Common constants (12, 60, 100, …) may stand in a formula.
    """
    texts = [context.question, context.response, context.reference or "", *observations]
    texts += [evidence.text for entry in context.memory for evidence in entry.evidence]
    for name in written_freely(item, call):
        for foreign in _foreign(call.arguments[name], texts):
            raise FormatError(render("reason", context.language, kind="foreign", detail=foreign))


def written_freely(item: Tool, call: ToolCall) -> list[str]:
    """Return the arguments of a call that the model writes itself, rather than pointing or choosing. What a system tool is
    told is for the user to read, and is none of them."""
    return [] if item.system else [name for name in call.arguments if item.types.get(name) in (str, int, float)]


def _foreign(value: Any, texts: Sequence[str]) -> Iterator[str]:
    """Yield the parts of an argument that none of the texts has."""
    argument = unicodedata.normalize("NFKC", str(value))
    known = unspaced("\n".join(texts))
    for pattern in (_URL, _QUOTED, _IDENTIFIER):
        for match in pattern.finditer(argument):
            part = next(filter(None, match.groups()), match[0]).rstrip(".,;:!?)")
            if unspaced(part) not in known:
                yield part
        argument = argument if pattern is _QUOTED else pattern.sub(" ", argument)
    rest = _without_known_dates(argument, texts)
    constants = USUAL_CONSTANTS if _is_formula(argument) else ()
    for number in foreign_numbers(rest, texts, constants):
        yield number.text.strip()


def _is_formula(text: str) -> bool:
    return re.search(r"[-+*/×÷^=]", text) is not None and re.search(r"[A-Za-z]{4}|[\u4e00-\u9fff]{2}", text) is None


def _without_known_dates(argument: str, texts: Sequence[str]) -> str:
    """Return the argument without the dates that the texts have too, however they are written there."""
    try:
        dates = find_dates(argument)
        known = {date.value for text in texts for date in find_dates(text)} if dates else set()
    except ToolError:  # a date that can be read in two ways: its numbers count
        return argument
    for date in reversed(dates):
        if date.value in known:
            argument = argument[: date.span[0]] + " " + argument[date.span[1] :]
    return argument
