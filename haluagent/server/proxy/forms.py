"""What the proxy has to know of an API: where its texts are, and how an answer is replaced."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from haluagent.server.proxy.sources import Speaker
from haluagent.server.proxy.sse import SentEvent, encode

Data = dict[str, Any]


@dataclass(frozen=True)
class Piece:
    """An event of a stream, or its part about one answer.

    `choice` names the answer, and is None where the event is about none. `text` is what the event adds to it; `whole`, if
    set, the answer as the event repeats it. `ends` is True where nothing will be added any more. `raw` is the event as it
    came, and empty where it has to be written anew.
    """

    event: SentEvent
    data: Data
    choice: str | None = None
    text: str = ""
    ends: bool = False
    raw: bytes = b""
    whole: str | None = None

    def changed(self, data: Data, text: str = "") -> "Piece":
        """Return the piece with other data, to be written anew."""
        return replace(self, data=data, text=text, raw=b"")

    def encoded(self) -> bytes:
        return self.raw or encode(self.data, self.event.name)


class AnswerForm(Protocol):
    """An API whose answers are checked."""

    api: str

    def messages(self, request: Data) -> Iterator[tuple[Speaker, str]]:
        """Yield the messages of a request with who speaks."""

    def again(self, request: Data, answer: str, feedback: str) -> Data:
        """Return a request with an answer and what was wrong with it at the end of the conversation."""

    def texts(self, answer: Data) -> dict[str, str]:
        """Return the texts of a complete answer, by choice. Raises ValueError for data that is no answer."""

    def replaced(self, answer: Data, sent: Mapping[str, str]) -> Data:
        """Return a complete answer with other texts for some of its choices."""

    def pieces(self, event: SentEvent) -> Iterator[Piece]:
        """Yield the parts of an event of a stream."""

    def split(self, piece: Piece, at: int) -> tuple[Piece, Piece]:
        """Cut a piece in two: the first `at` characters of its text, and the rest."""

    def refused(self, piece: Piece, refusal: str) -> Iterator[Piece]:
        """Yield what stands for a piece of a choice that is blocked; a blank `refusal` was given before."""

    def closing(self, piece: Piece, sent: Mapping[str, str]) -> Piece:
        """Return a piece in which the whole texts of blocked choices, where it repeats them, are what was sent."""

    def numbered(self, piece: Piece, shift: int) -> Piece:
        """Return a piece with a number higher by `shift`, where the API numbers the events of a stream."""

    def report_event(self, last: Data, shift: int, report: Data) -> bytes:
        """Return the event with the report, which follows an event that came with the data `last`."""


class Texts:
    """The answers of a stream, as far as they have come."""

    def __init__(self) -> None:
        self.of: defaultdict[str, str] = defaultdict(str)
        self.ended: set[str] = set()

    def add(self, piece: Piece) -> tuple[int, int]:
        """Add what a piece adds, and return its span; of one that repeats its answer, that is what was not there before."""
        if piece.choice is None:
            return 0, 0
        before = self.of[piece.choice]
        self.of[piece.choice] += piece.text if piece.whole is None else piece.whole.removeprefix(before)
        if piece.ends:
            self.ended.add(piece.choice)
        return len(before), len(self.of[piece.choice])

    def said(self) -> dict[str, str]:
        """Return the answers that are not blank, by choice."""
        return {choice: text for choice, text in self.of.items() if text.strip()}


def objects(value: Any) -> list[Data]:
    """Return the objects of what should be a list of them."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
