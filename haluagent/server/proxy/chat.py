"""Chat completions. https://platform.openai.com/docs/api-reference/chat"""

from collections.abc import Iterator, Mapping
from typing import Any

from haluagent.server.proxy.forms import Data, Piece, objects
from haluagent.server.proxy.sources import SPEAKERS, Speaker, text_of
from haluagent.server.proxy.sse import SentEvent, encode

ENDED = "stop"  # also of a refusal: to `content_filter` the official client answers with an exception


class ChatForm:
    """Chat completions (an `AnswerForm`). A choice is named by its index."""

    api = "chat"

    def messages(self, request: Data) -> Iterator[tuple[Speaker, str]]:
        for message in objects(request.get("messages")):
            if speaker := SPEAKERS.get(message.get("role")):
                yield speaker, text_of(message.get("content"))

    def again(self, request: Data, answer: str, feedback: str) -> Data:
        turns = [{"role": "assistant", "content": answer}, {"role": "user", "content": feedback}]
        return request | {"messages": [*objects(request.get("messages")), *turns]}

    def texts(self, answer: Data) -> dict[str, str]:
        if not isinstance(answer.get("choices"), list):
            raise ValueError("there are no choices")
        choices = enumerate(objects(answer["choices"]))
        texts = {_name(choice, place): text_of(_part(choice, "message").get("content")) for place, choice in choices}
        return {name: text for name, text in texts.items() if text.strip()}

    def replaced(self, answer: Data, sent: Mapping[str, str]) -> Data:
        choices = []
        for place, choice in enumerate(objects(answer["choices"])):
            if (name := _name(choice, place)) in sent:
                message = {"role": "assistant", "content": sent[name]}
                choice = _bare(choice) | {"message": message, "finish_reason": ENDED}
            choices.append(choice)
        return answer | {"choices": choices}

    def pieces(self, event: SentEvent) -> Iterator[Piece]:
        data = event.data
        choices = objects(data.get("choices"))
        if not choices:
            yield Piece(event, data, raw=event.raw)
        for number, choice in enumerate(choices, 1):
            text = text_of(_delta(choice).get("content"))
            ends = choice.get("finish_reason") is not None
            own = data | {"choices": [choice]}
            if number < len(choices):
                own.pop("usage", None)
            raw = event.raw if len(choices) == 1 else b""
            yield Piece(event, own, _name(choice), text, ends, raw)

    def split(self, piece: Piece, at: int) -> tuple[Piece, Piece]:
        front, rest = piece.text[:at], piece.text[at:]
        choice = piece.data["choices"][0]
        delta = _delta(choice)
        begun = _bare(choice) | {"delta": delta | {"content": front}, "finish_reason": None}
        left = _bare(choice) | {"delta": {"content": rest}}
        return (
            piece.changed(_without_usage(piece.data) | {"choices": [begun]}, front),
            piece.changed(piece.data | {"choices": [left]}, rest),
        )

    def refused(self, piece: Piece, refusal: str) -> Iterator[Piece]:
        choice = _bare(piece.data["choices"][0])
        if refusal:
            told = choice | {"delta": {"content": refusal}, "finish_reason": None}
            yield piece.changed(_without_usage(piece.data) | {"choices": [told]})
        if piece.ends:
            yield piece.changed(piece.data | {"choices": [choice | {"delta": {}, "finish_reason": ENDED}]})

    def closing(self, piece: Piece, sent: Mapping[str, str]) -> Piece:
        return piece

    def report_event(self, last: Data, shift: int, report: Data) -> bytes:
        kept = {name: last[name] for name in ("id", "created", "model") if name in last}
        chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": None}]}
        return encode(kept | chunk | {"haluagent": report})

    def numbered(self, piece: Piece, shift: int) -> Piece:
        return piece


def _name(choice: Data, place: int = 0) -> str:
    return str(choice.get("index", place))


def _delta(choice: Data) -> Data:
    return _part(choice, "delta") or _part(choice, "message")  # some servers have messages in their streams


def _part(choice: Data, name: str) -> Data:
    part: Any = choice.get(name)
    return part if isinstance(part, dict) else {}


def _bare(choice: Data) -> Data:
    """Return a choice without what repeats its text, or follows it token for token."""
    return {name: value for name, value in choice.items() if name in ("index", "finish_reason")}


def _without_usage(data: Data) -> Data:
    return {name: value for name, value in data.items() if name != "usage"}
