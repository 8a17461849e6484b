"""The marks and the words of the report, in both languages."""

from typing import get_args

from haluagent.text.messages import templates
from haluagent.types import Label, Language

# The marks differ in shape, so that a report without colour says as much.
MARKS: dict[Label, str] = {"contradicted": "✗", "supported": "✓", "unverified": "?", "no_claim": "·"}
STYLES: dict[Label, str] = {
    "contradicted": "bold red",
    "supported": "green",
    "unverified": "yellow",
    "no_claim": "dim",
}

# The messages of the report, for the terminal and the page.
LABELS: dict[Language, dict[str, str]] = {one: templates("report.label", one) for one in get_args(Language)}
STOPS: dict[Language, dict[str, str]] = {one: templates("report.stop", one) for one in get_args(Language)}
WORDS: dict[Language, dict[str, str]] = {one: templates("report.words", one) for one in get_args(Language)}
# One claim, several claims.
CLAIMS: dict[Language, tuple[str, ...]] = {
    one: tuple(templates("report.claims", one).values()) for one in get_args(Language)
}
