"""The responses API. https://platform.openai.com/docs/api-reference/responses"""

from collections.abc import Iterator, Mapping
from typing import Any

from haluagent.server.proxy.forms import Data, Piece, objects
from haluagent.server.proxy.sources import SPEAKERS, Speaker, text_of
from haluagent.server.proxy.sse import SentEvent, encode

NUMBER, REPORT = "sequence_number", "haluagent.report"
DELTA, TEXT_DONE = "response.output_text.delta", "response.output_text.done"


class ResponsesForm:
    """Responses (an `AnswerForm`). A choice is a text, named by its output and content index: `0.0`."""

    api = "responses"

    def messages(self, request: Data) -> Iterator[tuple[Speaker, str]]:
        yield "system", text_of(request.get("instructions"))
        given = request.get("input")
        if isinstance(given, str):
            yield "user", given
        for item in objects(given):
            if speaker := SPEAKERS.get(item.get("role")):
                yield speaker, text_of(item.get("content"))
            elif text := _result(item):
                yield "tool", text

    def again(self, request: Data, answer: str, feedback: str) -> Data:
        given = request.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)
        turns = [{"role": "assistant", "content": answer}, {"role": "user", "content": feedback}]
        return request | {"input": [*items, *turns]}

    def texts(self, answer: Data) -> dict[str, str]:
        if not isinstance(answer.get("output"), list):
            raise ValueError("there is no output")
        texts = {name: text_of([part]) for name, part in _parts(answer)}
        return {name: text for name, text in texts.items() if text.strip()}

    def replaced(self, answer: Data, sent: Mapping[str, str]) -> Data:
        output = [_item(item, index, sent) for index, item in enumerate(answer["output"])]
        return answer | {"output": output}

    def pieces(self, event: SentEvent) -> Iterator[Piece]:
        data = event.data
        kind, choice, text = data.get("type"), f"{data.get('output_index')}.{data.get('content_index')}", ""
        if "content_index" not in data or not str(kind).startswith("response.output_text."):
            yield Piece(event, data, raw=event.raw)
            return
        if kind == DELTA and isinstance(data.get("delta"), str):
            text = data["delta"]
        whole = text_of(data.get("text")) if kind == TEXT_DONE else None
        yield Piece(event, data, choice, text, kind == TEXT_DONE, event.raw, whole)

    def split(self, piece: Piece, at: int) -> tuple[Piece, Piece]:
        bare = {name: value for name, value in piece.data.items() if name != "logprobs"}
        front, rest = ({"delta": text} for text in (piece.text[:at], piece.text[at:]))
        return piece.changed(bare | front, front["delta"]), piece.changed(bare | rest, rest["delta"])

    def refused(self, piece: Piece, refusal: str) -> Iterator[Piece]:
        if refusal:
            names = ("item_id", "output_index", "content_index", NUMBER)
            kept = {name: piece.data[name] for name in names if name in piece.data}
            event = SentEvent(b"", DELTA if piece.event.name else "")
            yield Piece(event, kept | {"type": DELTA, "delta": refusal, "logprobs": []})
        if piece.ends:
            yield piece

    def closing(self, piece: Piece, sent: Mapping[str, str]) -> Piece:
        data = piece.data
        if not sent:
            return piece
        output, name = data.get("output_index"), f"{data.get('output_index')}.{data.get('content_index')}"
        if name in sent and data.get("type") == TEXT_DONE:
            return piece.changed(data | {"text": sent[name], "logprobs": []})
        if name in sent and isinstance(data.get("part"), dict):
            return piece.changed(data | {"part": _part(data["part"], name, sent)})
        if isinstance(item := data.get("item"), dict) and any(one.startswith(f"{output}.") for one in sent):
            return piece.changed(data | {"item": _item(item, output, sent)})
        response = data.get("response")
        if isinstance(response, dict) and response.get("output"):
            return piece.changed(data | {"response": self.replaced(response, sent)})
        return piece

    def numbered(self, piece: Piece, shift: int) -> Piece:
        number = piece.data.get(NUMBER)
        return piece.changed(piece.data | {NUMBER: number + shift}) if shift and isinstance(number, int) else piece

    def report_event(self, last: Data, shift: int, report: Data) -> bytes:
        number = last.get(NUMBER)
        data = {"type": REPORT, NUMBER: (number if isinstance(number, int) else -1) + shift + 1}
        return encode(data | {"haluagent": report}, REPORT)


def _result(item: Data) -> str:
    """Return the text of a tool's result."""
    if str(item.get("type")).endswith("_call_output") or item.get("type") == "mcp_call":
        return text_of(item.get("output"))
    return text_of(item.get("results")) if item.get("type") == "file_search_call" else ""


def _parts(answer: Data) -> Iterator[tuple[str, Data]]:
    """Yield the texts of a response by name."""
    for index, item in enumerate(answer["output"]):
        content = item.get("content") if isinstance(item, dict) and item.get("type") == "message" else []
        for number, part in enumerate(content if isinstance(content, list) else []):
            if isinstance(part, dict) and part.get("type") == "output_text":
                yield f"{index}.{number}", part


def _item(item: Any, index: Any, sent: Mapping[str, str]) -> Any:
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(content, list) or not any(one.startswith(f"{index}.") for one in sent):
        return item
    return item | {"content": [_part(part, f"{index}.{number}", sent) for number, part in enumerate(content)]}


def _part(part: Any, name: str, sent: Mapping[str, str]) -> Any:
    if name not in sent:
        return part
    return {"type": "output_text", "text": sent[name], "annotations": [], "logprobs": []}
