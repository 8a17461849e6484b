"""The labels that people give on the page: JSON Lines, one for each response, with spans as RAGTruth has them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from pydantic import ValidationError

from haluagent.bench.report.spans import SpannedResponse, WrongSpan
from haluagent.checks.claims import file
from haluagent.errors import ConfigError
from haluagent.types import Language, Record

# Those of RAGTruth (Niu et al. 2024), without its distinction of evident and subtle ones; and where a person cannot tell.
Kind = Literal["Evident Conflict", "Evident Baseless Info", "Not Sure"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NOT_SURE: Kind = "Not Sure"


class MarkedSpan(Record):
    """A span of a response, half-open in characters, and what is wrong with it."""

    start: int
    end: int
    text: str
    label_type: Kind


class MarkedResponse(Record):
    """A response with the spans that a person marked, none if it has nothing wrong."""

    id: str
    annotator: str
    language: Language
    question: str
    reference: tuple[str, ...]
    response: str
    labels: tuple[MarkedSpan, ...]

    @property
    def wrong(self) -> tuple[MarkedSpan, ...]:
        """Return the spans that the person is sure of."""
        return tuple(one for one in self.labels if one.label_type != NOT_SURE)


def read(path: Path) -> list[MarkedResponse]:
    """Return the labels of a file that the page gave. Raise a `ConfigError` that names the first item that is not one, that is
    there twice, or whose spans are not those of its response."""
    found: dict[str, MarkedResponse] = {}
    for number, fields in enumerate(file.objects(path), start=1):
        try:
            one = MarkedResponse.model_validate(fields)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise ConfigError(
                f"{path}, item {number}: {where}: {first['msg']}; give a file that a page of `haluagent claims label` saved"
            ) from None
        for span in one.labels:
            if not 0 <= span.start < span.end or one.response[span.start : span.end] != span.text:
                raise ConfigError(f"{path}, item {number}: the response has no {span.text[:40]!r} at {span.start}")
        if one.id in found:
            raise ConfigError(f"{path}, item {number}: {one.id!r} is there twice: give one file for each person")
        found[one.id] = one
    if not found:
        raise ConfigError(f"{path} holds no labels")
    return list(found.values())


def spanned(labels: Sequence[MarkedResponse]) -> list[SpannedResponse]:
    """Return the responses with the spans that are surely wrong, to be written in the format of a corpus."""
    return [
        SpannedResponse(
            name=one.id,
            question=one.question,
            reference="\n\n".join(one.reference),
            response=one.response,
            language=one.language,
            spans=tuple(WrongSpan(span.start, span.end, span.label_type, "") for span in one.wrong),
        )
        for one in labels
    ]
