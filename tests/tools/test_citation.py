"""Citations: what breaks its own rules, what a registry knows, and what stays open.

The sentences of `tests/data/citations` were written for this test: the label without and with a registry, and the sentence.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from deterministic import NoModel, label

from haluagent.errors import QuotaExhausted, SearchError, ToolError
from haluagent.protocols import Publication, ToolContext
from haluagent.text.segment import split
from haluagent.tooling.registry import Registry
from haluagent.tools.citation.comparison import compare
from haluagent.tools.citation.identifiers import find_identifiers
from haluagent.tools.citation.tool import citation
from haluagent.types import CheckedPart, Label, Language, ToolResult

FOLDER = Path(__file__).parents[1] / "data" / "citations"
SETS: list[tuple[Language, list[list[str]]]] = [
    (language, [line.split("\t") for line in (FOLDER / f"{language}.tsv").read_text("utf-8").splitlines()])
    for language in ("en", "zh")
]
ROWS = [pytest.param(language, *row, id=row[-1]) for language, rows in SETS for row in rows]

DEEP = "10.1038/nature14539"
KNOWN = {
    DEEP: Publication(
        title="Deep learning", authors=("LeCun", "Bengio", "Hinton"), years=(2015,), url="https://doi.org/x"
    ),
    "10.1109/5.771073": Publication(title="Toward unique identifiers", authors=("Paskin",), years=(1999,)),
    "10.1002/(SICI)1097-0258(19980815)17:15<1661::AID-SIM968>3.0.CO;2-2": Publication(
        title="Ordinal data", years=(1998,)
    ),
    "10.1016/S0140-6736(20)30183-5": Publication(
        title="Clinical features of patients", authors=("Huang",), years=(2020,)
    ),
    "10.48550/arXiv.1706.03762": Publication(),
    "10.5281/zenodo.1234567": Publication(),
    "10.3969/j.issn.1000-0001.2015.01.001": Publication(),
    "10.3969/j.issn.1000-0002.2016.02.002": Publication(
        title="城市轨道交通的客流预测方法", authors=("陈",), years=(2016,)
    ),
}


class Works:
    """Knows the works above, and may fail."""

    name = "scripted"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[str] = []

    async def work(self, doi: str, language: Language = "en") -> Publication | None:
        self.asked.append(doi)
        if self.error:
            raise self.error
        return KNOWN.get(doi)


class Pages:
    """Answers at every address but those that are gone or have moved."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def visit(self, url: str, language: Language = "en") -> str:
        self.asked.append(url)
        if "gone" in url:
            raise SearchError("the server answered 404")
        return "https://site.org/" if "moved" in url else url


def context(response: str, language: Language = "en", **more: Any) -> ToolContext:
    given = {"question": "", "sentences": split(response), "model": NoModel(), **more}
    return ToolContext(response=response, language=language, **given)


def check(response: str, language: Language = "en", **more: Any) -> ToolResult:
    about = context(response, language, **more)
    return asyncio.run(citation.run(about, about.sentences[-1]))


def verdict(response: str, language: Language, **more: Any) -> Label:
    """Return the label of a response in which only this tool decides, called where it says that it can."""
    about = context(response, language, **more)
    parts = []
    for sentence in about.sentences:
        if citation.when(about, sentence):
            found = asyncio.run(citation.run(about, sentence))
            if found.label:
                parts.append(CheckedPart(tool="citation", label=found.label, confidence=1, open=found.open))
    return label(parts)


def test_there_are_enough_sentences_and_none_twice() -> None:
    assert len(ROWS) >= 120 and all(len({row[-1] for row in rows}) == len(rows) for _, rows in SETS)


@pytest.mark.parametrize(("language", "alone", "looked_up", "sentence"), ROWS)
def test_a_sentence(language: Language, alone: str, looked_up: str, sentence: str) -> None:
    assert verdict(sentence, language) == alone
    assert verdict(sentence, language, bibliography=Works()) == looked_up


@pytest.mark.parametrize("demo", citation.demos, ids=lambda demo: demo.language)
def test_the_demos_are_what_the_tool_answers(demo: Any) -> None:
    result = check(demo.response, demo.language, question=demo.question)
    assert result.label == "contradicted" and result.observation == demo.observation


def test_the_evidence_is_the_disputed_place_and_where_to_read() -> None:
    response = "Both are known. It is in ISBN 0-306-40615-3."
    (evidence,) = check(response).evidence
    assert evidence.span and response[slice(*evidence.span)] == "0-306-40615-3"
    (evidence,) = check(f"See doi:{DEEP}.", bibliography=Works()).evidence
    assert evidence.url == "https://doi.org/x" and "LeCun, Bengio, Hinton; 2015" in evidence.text


def test_what_stands_beside_a_citation_stays_open() -> None:
    response = f"The capital of France is Berlin (LeCun et al., 2015, doi:{DEEP})."
    result = check(response, bibliography=Works())
    assert result.label == "supported" and result.open
    assert response[slice(*result.open[0])] == "The capital of France is Berlin"


def test_a_citation_is_no_answer_to_a_question() -> None:
    assert verdict(f"See doi:{DEEP}.", "en", bibliography=Works()) == "supported"
    asked = "What is the capital of France?"
    assert verdict(f"See doi:{DEEP}.", "en", question=asked, bibliography=Works()) == "unverified"


@pytest.mark.parametrize("given", ["question", "reference"])
def test_what_was_given_is_not_called_wrong(given: str) -> None:
    response = "It has the ISBN 0-306-40615-3."
    assert verdict(response, "en") == "contradicted"
    assert verdict(response, "en", **{given: "Who wrote 0306406153?"}) == "unverified"
    absent = "It is doi:10.1038/nature99999."
    assert verdict(absent, "en", bibliography=Works(), **{given: absent}) == "unverified"


@pytest.mark.parametrize(
    "text",
    [
        "doi:{}—the first",
        "doi:{}–a",
        "见 doi:{}——首次测量。",
        "doi:{}[1].",
        "[doi:{}][1]",
        "doi:{}'s abstract",
        '<a href="https://doi.org/{0}">https://doi.org/{0}</a>',
        "<ref>doi:{}</ref>",
        "doi:{}<br>Next",
        "doi:{}¹",
        "doi:{}†",
        "doi:{}•",
        "doi:{}→",
        "doi:{}…",
        "doi:{}\u200b",
        "doi:{}(2013)",
        "doi:{}.In it",
        "doi:{}--the first",
        "doi:{}?utm_source=a",
    ],
)
def test_what_is_written_right_behind_a_doi_is_none_of_it(text: str) -> None:
    assert check(text.format(DEEP), bibliography=Works()).label == "supported"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("See https://doi.org/10.1016/S0140-6736%2820%2930183-5.", "supported"),
        ("See https://doi.org/10.1002/(SICI)1097-0258(19980815)17:15%3C1661::AID-SIM968%3E3.0.CO%3B2-2", "supported"),
        ("See doi:10.1016/j.cell.\n2013.01.001", None),
        ("See doi:10.1016/j.cell.2013-\n01.001", None),
        ("See doi:10.1038/nature99999—the first", None),
        ("See doi:10.1038/nature99999.\nIt is the first.", "contradicted"),
        ("1. See doi:10.1038/nature99999\n2. See the other.", "contradicted"),
    ],
)
def test_only_a_doi_that_is_read_to_its_end_is_absent(text: str, want: Label | None) -> None:
    about = context(text, bibliography=Works())
    found = [asyncio.run(citation.run(about, one)) for one in about.sentences if find_identifiers(one.text)]
    assert [one.label for one in found] == [want]


@pytest.mark.parametrize(
    "text",
    [
        "It is ISBN 978-0-306-40615-\n7.",
        "It is ISBN 978-0-306-40615- 7.",
        "It is ISBN 978-0-306-40615-**7**.",
        "It is ISBN 978-0-306-40615-…",
        "It is ISBN 978030640615.",
        "It begins as ISBN 978-0-306-406.",
        "It has the ISBN 1234567890.",
        "It has the ISBN 978-0-000-00000-0.",
        "It has the ISBN 978-1-111-11111-X.",
        "It has the ISSN 1234-5678.",
        "It has the PMID 1234567890.",
        "It is arXiv:1234.56789.",
        "Its ISSN 1975-2025 volumes are online.",
        "Enter an ISBN such as 978-0-306-40615-8 there.",
        "Replace ISBN 978-0-306-40615-8 by yours.",
        "A search for ISBN 978-0-306-40615-8 returns nothing.",
        "The form rejected ISBN 978-0-306-40615-8.",
        "Numbers (e.g. ISBN 978-0-306-40615-8) go there.",
        "在表单中输入ISBN 978-0-306-40615-8。",
    ],
)
def test_what_is_cut_off_or_only_shows_a_form_is_not_called_malformed(text: str) -> None:
    about = context(text)
    assert all(
        asyncio.run(citation.run(about, one)).label is None for one in about.sentences if find_identifiers(one.text)
    )


LONG = Publication(title="A survey of the methods for deep networks", authors=("Müller", "Mac Donald"), years=(2015,))
WHO = Publication(title="Guidelines", authors=("World Health Organization",), years=(2015,))
HAN = Publication(title="城市轨道交通的客流预测方法", authors=("陈",), years=(2016,))


@pytest.mark.parametrize(
    ("text", "work", "want"),
    [
        ("(Nature, 2019, ", LONG, []),
        ("(August 2019, ", LONG, []),
        ("(Retrieved 2023, ", LONG, []),
        ("(Food and Agriculture Organization, 2019, ", LONG, []),
        ("（人口研究，2019，", HAN, []),
        ("（发表于2019，", HAN, []),
        ("（李明等，2019，", HAN, ["author", "year"]),
        ("(Smith et al., 2019, ", LONG, ["author", "year"]),
        ("(Smith and Jones, 2015, ", LONG, ["author"]),
        ("(Müller, 2019, ", LONG, ["year"]),
        ("(Mueller et al., 2015, ", LONG, []),
        ("(MacDonald & Smith, 2015, ", LONG, []),
        ("(WHO et al., 2015, ", WHO, []),
        ("(Smith et al., 2015, ", WHO, []),
        ("the book “Lehrbuch der Physik” (", LONG, []),
        ("the paper “Networks that grow near water without teachers” (2015, ", LONG, ["title"]),
        ("the paper “Growing rice near rivers” (2015, ", LONG, []),
        ("the paper “Growing rice near rivers” (", LONG, ["title"]),
    ],
)
def test_what_may_be_another_name_of_the_same_is_not_called_another(
    text: str, work: Publication, want: list[str]
) -> None:
    found = compare(text + "doi:10.1/x)", "", (len(text) + 4, len(text) + 10), work)
    assert [one.field for one in found if one.same is False] == want


@pytest.mark.parametrize("error", [SearchError("no connection"), QuotaExhausted("used up")])
def test_a_failed_look_up_decides_nothing_and_says_why(error: Exception) -> None:
    result = check(f"See doi:{DEEP}.", bibliography=Works(error))
    assert result.label is None and result.evidence == () and str(error) in result.observation


def test_support_takes_all_citations_of_a_sentence() -> None:
    assert check(f"doi:{DEEP}, ISBN 0-306-40615-2", bibliography=Works()).label is None
    assert check(f"doi:{DEEP}, ISBN 0-306-40615-3", bibliography=Works()).label == "contradicted"
    works = Works()
    assert check("; ".join(f"doi:{DEEP}" for _ in range(9)), bibliography=works).label is None and len(works.asked) == 5


def test_a_page_that_answers_and_one_that_does_not() -> None:
    assert verdict("See https://site.org/page.", "en", visitor=Pages()) == "supported"
    for page in ("gone", "moved/page"):
        result = check(f"See https://site.org/{page}.", visitor=Pages())
        assert result.label is None and result.observation
    pages = Pages()
    for address in ("https://example.com/a", "http://localhost:8080/a", "https://site.org/页面", "http://[oops/a"):
        about = context(f"See {address}.", visitor=pages)
        assert not citation.when(about, about.sentences[0])
        assert check(f"See {address}.", visitor=pages).label is None
    assert pages.asked == []


def test_without_a_setting_nothing_is_asked_and_the_tool_says_what_to_set() -> None:
    assert "HALUAGENT_DOI_REGISTRY" in check(f"See doi:{DEEP}.").observation
    assert "HALUAGENT_CITED_PAGES" in check("See https://site.org/page.").observation
    with pytest.raises(ToolError, match="cites nothing"):
        check("This was shown before (Smith et al., 2021, Nature).")


def test_only_a_response_that_cites_has_the_tool_in_its_instructions() -> None:
    registry = Registry([citation])
    assert registry.listed("", "The sea is blue. It has 3 parts.") == []
    assert registry.listed("", "ＩＳＢＮ：978-7-02-000220-7") == [citation]


@pytest.mark.parametrize(
    "text", ["doi:10.1038/" + "(" * 20_000, "ISBN " + "1 " * 20_000, "https://" + "a." * 20_000, "arXiv:" * 9_000]
)
def test_a_hostile_text_is_read_in_bounds(text: str) -> None:
    assert all(len(one.value) <= 600 for one in find_identifiers(text))
