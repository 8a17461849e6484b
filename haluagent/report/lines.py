"""A detection as a person reads it: `plain()` for files and pipes, `styled()` for a terminal (rich).

Both are made from the same `Line`s. A line consists of parts, each with a style and a text. The texts are never parsed
as markup and are cleaned when the line is made, so nothing in a response can recolour or rewrite the screen.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from haluagent.report.words import CLAIMS, LABELS, MARKS, STOPS, STYLES, WORDS
from haluagent.types import CheckedPart, Detection, Evidence, Language, MemoryEntry, Revision, Usage

if TYPE_CHECKING:
    from rich.text import Text

QUOTE_CHARACTERS = 300
# Sequences that colour the text, move the cursor or set the window's title.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # commands to the terminal, up to their end
    r"|\x1b[ -/]*.?"  # any other escape
)
# Characters that change the reading direction can make a line look like another one.
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return `text` on one line, without escape sequences, control characters and changes of reading direction."""
    text = _DIRECTION.sub("", _ESCAPES.sub("", text)).encode("utf-8", "replace").decode("utf-8")
    # White space comes last: line ends and tabs are control characters too, but must leave a space.
    text = "".join(character for character in text if character.isspace() or unicodedata.category(character) != "Cc")
    return re.sub(r"\s+", " ", text)


class Line:
    """One line of output: an indent in columns, and parts `(style, text)` in reading order."""

    def __init__(self, *parts: tuple[str, str], indent: int = 0) -> None:
        self.indent = indent
        self.parts = [(style, clean(text)) for style, text in parts]

    def __str__(self) -> str:
        return " " * self.indent + "".join(text for _, text in self.parts).rstrip()

    def styled(self) -> "Text":
        """Return the parts as rich text, without the indent, which the caller also applies to wrapped lines."""
        from rich.text import Text

        return Text.assemble(*((text, style) for style, text in self.parts))


def plain(detection: Detection) -> str:
    """Return the whole report as plain text."""
    return "\n".join(map(str, report_lines(detection)))


def report_lines(detection: Detection) -> Iterator[Line]:
    """Yield the whole report: the verdict, each sentence with its evidence, the warnings, and the cost."""
    yield verdict_line(detection)
    for entry in detection.sentences:
        yield from entry_lines(entry, detection.language)
    yield from warning_lines(detection)
    yield _cost_line(detection)


def verdict_line(detection: Detection) -> Line:
    """Return the line with the verdict, the score, and the number of claims behind it."""
    words, claims = WORDS[detection.language], CLAIMS[detection.language]
    outcomes = [entry.outcome for entry in detection.sentences if entry.label != "no_claim"]
    counts = {
        "n": len(outcomes),
        "claims": claims[0] if len(outcomes) == 1 else claims[1],
        "contradicted": outcomes.count("contradicted"),
        "unsaid": outcomes.count("not_in_reference"),
        "unverified": outcomes.count("unverified"),
        "supported": outcomes.count("supported"),
    }
    open_ones = [name for name in ("unsaid", "unverified") if counts[name]]
    if detection.hallucination:
        name, style, first = "found", "bold red", words["found"]
    elif detection.hallucination is False:
        name, style, first = "not_found", "bold green", words["not_found"]
    else:
        name, style = "unknown", "bold yellow"
        first = words[open_ones.pop(0)] if open_ones else words["nothing"]
    rest = "".join(text.format(**counts) for text in (first, *(words[f"also_{name}"] for name in open_ones)))
    return Line((style, words[f"{name}_title"]), ("", words["score"].format(score=detection.score)), ("", rest))


def entry_lines(entry: MemoryEntry, language: Language) -> Iterator[Line]:
    """Yield a sentence with its mark, and everything that supports its label."""
    words, style = WORDS[language], STYLES[entry.label]
    sentence = entry.sentence
    text = words["whole"] if sentence.index == 0 else sentence.text
    head = f"{MARKS[entry.label]} [{sentence.index}] {LABELS[language][entry.outcome]}"
    yield Line((style, head + words["colon"]), ("", text), indent=2)
    details: list[tuple[str, str]] = []
    if sentence.standalone and sentence.standalone != sentence.text:
        details.append(("dim", words["read_as"].format(text=sentence.standalone)))
    details += [("", evidence_text(item, entry.tool, language)) for item in entry.evidence]
    for part in entry.parts if entry.label != "supported" else ():
        details += [("", evidence_text(item, part.tool, language)) for item in part.evidence]
        details += [("yellow", words["left_open"].format(text=text)) for text in open_texts(entry, part)]
    reason = entry.reason or (words["no_reason"] if entry.label == "unverified" else "")
    if reason and reason != "; ".join(item.text for item in entry.evidence):
        details.append(("", words["reason"].format(text=reason)))
    if entry.opinion is not None:
        name = "opinion" if entry.label == "unverified" else "closed_book"
        details.append(("yellow", words[name].format(probability=entry.opinion)))
    if entry.revised_from is not None:
        details.append(("dim", before_text(entry.revised_from, language)))
    for detail in details:
        yield Line(detail, indent=6)


def open_texts(entry: MemoryEntry, part: CheckedPart) -> list[str]:
    """Return the parts of a sentence that a tool left open."""
    start = entry.sentence.span[0]
    return [entry.sentence.text[a - start : b - start] for a, b in part.open]


def before_text(revision: Revision, language: Language) -> str:
    """Describe the label before reflection, with its reason if it had one."""
    words = WORDS[language]
    because = words["because"].format(text=revision.reason) if revision.reason else ""
    return words["revised"].format(label=LABELS[language][revision.label]) + because


def evidence_text(evidence: Evidence, tool: str | None, language: Language) -> str:
    """Return the source and the text of the evidence, with the tool that found it if that is not the source, and with a
    note where the text speaks to the model that reads it."""
    words = WORDS[language]
    source = evidence.source
    if evidence.span is not None:
        source += words["span"].format(start=evidence.span[0], end=evidence.span[1])
    if tool and tool != evidence.source:
        source += words["via"].format(tool=tool)
    url = f" <{evidence.url}>" if evidence.url else ""
    note = words["speaks_to_reader"] if evidence.speaks_to_reader else ""
    return words["evidence"].format(source=source, text=_quote(evidence.text, language) + url + note)


def _quote(text: str, language: Language) -> str:
    """Shorten a long quotation and say by how much; `--json` has all of it."""
    text = clean(text).strip()
    if len(text) <= QUOTE_CHARACTERS:
        return text
    return text[:QUOTE_CHARACTERS] + WORDS[language]["more"].format(n=len(text) - QUOTE_CHARACTERS)


def usage_text(usage: Usage, language: Language) -> str:
    """Describe the usage in words: model calls, tokens, and seconds."""
    return WORDS[language]["usage"].format(
        calls=usage.calls,
        s="" if usage.calls == 1 else "s",
        evaluated=usage.evaluated_tokens,
        cached=usage.cached_tokens,
        generated=usage.generated_tokens,
        seconds=usage.seconds,
    )


def warning_lines(detection: Detection) -> Iterator[Line]:
    """Yield what readers must know before they trust the labels."""
    words = WORDS[detection.language]
    for name, share in (("response", detection.coverage.response), ("reference", detection.coverage.reference)):
        if share is not None and share < 1:
            # Rounded down: 99.6 % must not be shown as all of it.
            yield Line(("yellow", words[f"covered_{name}"].format(percent=math.floor(share * 100))))
    for step in detection.steps:
        if step.rejected and step.call is not None:
            yield Line(("dim", words["rejected"].format(tool=step.call.name, reason=step.error)))
    if any(entry.opinion is not None and entry.label != "unverified" for entry in detection.sentences):
        yield Line(("yellow", words["closed_book_note"]))
    if detection.stop != "answer":
        yield Line(("yellow", STOPS[detection.language][detection.stop]))
    if detection.error:
        yield Line(("red", words["error"].format(text=detection.error)))


def _cost_line(detection: Detection) -> Line:
    words = WORDS[detection.language]
    tools = ", ".join(_tools_used(detection)) or words["no_tool"]
    return Line(("dim", words["cost"].format(tools=tools, usage=usage_text(detection.usage, detection.language))))


def _tools_used(detection: Detection) -> Iterable[str]:
    called = [step.call.name for step in detection.steps if step.call is not None]
    return dict.fromkeys(called or [entry.tool for entry in detection.sentences if entry.tool])
