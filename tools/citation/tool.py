"""`citation`: does what a sentence cites exist? Identifiers are checked on this machine, and looked up where that is set up."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from haluagent.arithmetic.stated import why_open
from haluagent.errors import SearchError, ToolError
from haluagent.protocols import Publication, ToolContext
from haluagent.text.messages import message
from haluagent.text.normalize import letters
from haluagent.text.places import covered
from haluagent.tooling.coverage import open_parts
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.tools.citation.comparison import compare
from haluagent.tools.citation.identifiers import Identifier, Kind, find_identifiers, is_filler, plainly
from haluagent.types import Evidence, Label, Sentence, Span, ToolResult

MALFORMED = 0.97  # that what breaks the rules of its identifier is wrong
ABSENT = 0.95  # that a DOI which no agency knows is wrong
FOUND = 0.95
ANSWERS = 0.8  # that a page that answers is what was cited
MOST = 5  # identifiers of a sentence that are looked up
AUTHORS = 3  # that are shown
LINE = 1000  # characters before a sentence that may belong to the same entry of a list of references
ARXIV_DOI = "10.48550/arXiv."  # https://info.arxiv.org/help/doi.html
NAMES: dict[Kind, str] = {
    "isbn": "ISBN", "issn": "ISSN", "doi": "DOI", "arxiv": "arXiv id", "pmid": "PMID", "url": "URL",
}  # fmt: skip

_MENTIONED = re.compile(
    r"ISBN|ISSN|书号|(?<![A-Za-z])doi(?![A-Za-z])|(?<!\d)10\.\d{4,9}/|arXiv|PMID|pubmed|https?://|et al\.|\(\w+, \d{4}\)",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    r"\b(?:invalid|fake|fictitious|fictional|placeholder|dummy|example|sample|format|looks? like|check ?sum|check digit|misprint\w*|"
    r"hypothetical|such as|for instance|enter(?:s|ed|ing)?|typ(?:es?|ed|ing)|replac\w*|until|reject\w*|returns? nothing)\b|\be\.\s?g\.|"
    r"示例|举例|例如|比如|占位|无效|虚构|格式|校验|印错|误印|样例|输入|填入|替换",
    re.IGNORECASE,
)
_CERTAIN = re.compile(r"[\w.()/:;-]+", re.ASCII)  # a DOI that ends where it seems to
_GOES_ON = re.compile(r"[.-]?[ \t]*\r?\n[ \t]*(?!\d{1,3}[.)、]?\s)(?:[a-z0-9]|[A-Z]\S*\d)")  # in the next line
_NOWHERE = re.compile(r"(?:^|\.)(?:example(?:\.(?:com|org|net))?|invalid|test|local|localhost)\Z")


def _mentions(context: ToolContext, sentence: Sentence) -> bool:
    return sentence.index > 0 and _MENTIONED.search(plainly(sentence.text)) is not None


def _can_decide(context: ToolContext, sentence: Sentence) -> bool:
    return _mentions(context, sentence) and any(
        _may_blame(context, sentence, one) if one.wrong else _can_be_found(context, one)
        for one in find_identifiers(sentence.text)
    )


def _can_be_found(context: ToolContext, one: Identifier) -> bool:
    """Return whether what is set up can tell that an identifier exists."""
    if one.kind == "url":
        return context.visitor is not None and one.sure and not _is_placeholder(one.value)
    return context.bibliography is not None and one.kind in ("doi", "arxiv")


def _is_placeholder(url: str) -> bool:
    """Return whether an address is one that documents use for no page in particular, or cannot be read."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return True
    return not host or _NOWHERE.search(host) is not None


@tool(
    description={
        "en": "checks whether what a sentence cites exists: ISBN, ISSN, DOI, arXiv, PMID, address",
        "zh": "核查句子引用的书刊、论文、网址是否存在：ISBN、ISSN、DOI、arXiv、PMID、网址",
    },
    demos=[
        Demo(
            language="en",
            question="Which book explains check digits?",
            response="It is explained in the book with ISBN 0-306-40615-3.",
            thought="S1 cites a book by its ISBN",
            call="citation(sentence=S1)",
            observation="there is no ISBN 0-306-40615-3: its check digit is wrong",
        ),
        Demo(
            language="zh",
            question="红楼梦的书号是多少？",
            response="人民文学出版社《红楼梦》的ISBN是978-7-02-000220-8。",
            thought="S1 给出了书号",
            call="citation(sentence=S1)",
            observation="不存在 978-7-02-000220-8 这个 ISBN：校验码不对",
        ),
    ],
    when=_can_decide,
    plausible=_mentions,
    obvious=lambda context, sentence: {"sentence": sentence.name},
    listed=lambda question, response: _MENTIONED.search(plainly(response)) is not None,
)
async def citation(context: ToolContext, sentence: Sentence) -> ToolResult:
    """Check that what `sentence` cites exists.

    An identifier that breaks its own rules, a DOI that no agency has given out, and one that belongs to another work than the
    sentence says, are contradicted. What is found supports the citation and nothing else of the sentence: all other parts stay open.
    A registry that fails, an address that does not answer, and what cannot be looked up decide nothing. What the question or the
    reference gives was not made up here, and is not called wrong. Raises ToolError where nothing is cited.
    """
    cited = find_identifiers(sentence.text)
    if not cited:
        raise ToolError(message("citation.none", context.language))
    findings = [await _look(context, sentence, one) for one in cited[:MOST]]
    return _decided(context, sentence, findings, len(cited) > MOST)


@dataclass(frozen=True)
class _Finding:
    """What is known of one identifier. `checked` are the places that it is about, `stated` is that of the disputed words."""

    text: str
    stated: Span
    label: Label | None = None
    confidence: float = 1.0
    checked: tuple[Span, ...] = ()
    url: str | None = None


def _may_blame(context: ToolContext, sentence: Sentence, one: Identifier) -> bool:
    """Return whether an identifier may be called wrong: the sentence cites it as one, and it was not given."""
    rest = covered(sentence.text, [other.span for other in find_identifiers(sentence.text)], " ")
    if (
        not one.sure
        or is_filler(one.value)
        or _NOT_MEANT.search(f"{rest} {context.question}")
        or why_open(rest, one.span, False)
    ):
        return False
    return letters(one.value) not in letters(f"{context.question}\n{context.reference or ''}")


async def _look(context: ToolContext, sentence: Sentence, one: Identifier) -> _Finding:
    """Return what is known of an identifier."""
    language, shown = context.language, sentence.text[slice(*one.place)]
    if one.wrong:
        text = message(f"citation.wrong.{one.wrong}", language, kind=NAMES[one.kind], value=shown)
        blamed = _may_blame(context, sentence, one)
        return _Finding(text, one.place, "contradicted" if blamed else None, MALFORMED)
    if not _can_be_found(context, one):
        return _Finding(message(f"citation.unknown.{one.kind}", language, value=shown), one.place)
    try:
        if one.kind == "url":
            return await _visited(context, one)
        return await _registered(context, sentence, one)
    except SearchError as error:
        return _Finding(message("citation.failed", language, value=shown, why=error), one.place)


async def _visited(context: ToolContext, one: Identifier) -> _Finding:
    """Ask for a page. That it answers supports the address; one that leads to the start page of its site may be gone."""
    assert context.visitor is not None
    there = await context.visitor.visit(one.value, context.language)
    moved = len(urlsplit(there).path) < 2 <= len(urlsplit(one.value).path)
    label: Label | None = None if moved else "supported"
    text = message("citation.moved" if moved else "citation.answers", context.language, url=one.value, there=there)
    return _Finding(text, one.place, label, ANSWERS, (one.span,), there)


async def _registered(context: ToolContext, sentence: Sentence, one: Identifier) -> _Finding:
    """Look up a DOI, or the DOI of an arXiv id, and compare what the sentence says of the work."""
    assert context.bibliography is not None
    language, shown = context.language, sentence.text[slice(*one.place)]
    prefix = ARXIV_DOI if one.kind == "arxiv" else ""
    work = None
    for value in (one.value, *one.others):
        work = work or await context.bibliography.work(prefix + value, language)
    if work is None:
        whole = _CERTAIN.fullmatch(shown) and not _GOES_ON.match(context.response, sentence.span[0] + one.place[1])
        blamed = one.kind == "doi" and whole and _may_blame(context, sentence, one)  # a new arXiv id gets its DOI later
        text = message("citation.absent", language, value=shown)
        return _Finding(text, one.place, "contradicted" if blamed else None, ABSENT)
    before = context.response[: sentence.span[0]][-LINE:].rpartition("\n")[
        2
    ]  # entries of a list may be cut into sentences
    stated = compare(sentence.text, before, one.place, work)
    if wrong := [item for item in stated if item.same is False]:
        text = message("citation.other", language, value=shown, work=_shown(work), text=wrong[0].text)
        blamed = _may_blame(context, sentence, one)
        return _Finding(text, wrong[0].span, "contradicted" if blamed else None, FOUND, url=work.url)
    checked = (one.span, *(item.span for item in stated if item.same and item.span[0] >= 0))
    text = message("citation.found", language, value=shown, work=_shown(work))
    return _Finding(text, one.place, "supported", FOUND, checked, work.url)


def _shown(work: Publication) -> str:
    """Return a work on one line, as far as the registry describes it."""
    authors = ", ".join(work.authors[:AUTHORS]) + (" et al." if len(work.authors) > AUTHORS else "")
    years = str(min(work.years)) if work.years else ""
    return "; ".join(filter(None, (f"“{work.title[:120]}”" if work.title else "", authors, years))) or work.url or "?"


def _decided(context: ToolContext, sentence: Sentence, findings: Sequence[_Finding], more: bool) -> ToolResult:
    """Return the label that the findings give. Support takes all of them, and leaves the rest of the sentence open."""
    wrong = [item for item in findings if item.label == "contradicted"]
    right = not more and all(item.label == "supported" for item in findings)
    told = wrong or findings
    label: Label | None = "contradicted" if wrong else "supported" if right else None
    offset = sentence.span[0]
    evidence = tuple(
        Evidence(
            source="citation", text=item.text, url=item.url, span=(item.stated[0] + offset, item.stated[1] + offset)
        )
        for item in told
        if item.label
    )
    checked = [span for item in findings for span in item.checked]
    return ToolResult(
        observation="; ".join(dict.fromkeys(item.text for item in told)),
        label=label,
        confidence=min((item.confidence for item in told if item.label), default=1.0) if label else 1.0,
        evidence=evidence,
        open=open_parts(sentence, checked, context.question) if right else (),
    )
