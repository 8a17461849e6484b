"""A judge's prompt from a file: the template prescribed by the publisher of a Lynx-like model."""

import re
from pathlib import Path

from haluagent.errors import ConfigError

_PLACE = re.compile(r"\{\{\s*(question|document|context|answer)\s*\}\}|\{(question|document|context|answer)\}")


class Template:
    """A text with `{question}`, `{document}` (or `{context}`) and `{answer}`, as for Python's `str.format`, or with the
    same names in `{{ … }}`, as for Jinja2.

    Nothing else in it is interpreted: all other brackets stay, except that beside places of the first kind doubled ones
    become single, as with `str.format`. Raise `ConfigError` if the file cannot be read, or lacks one of the places.
    """

    def __init__(self, path: Path) -> None:
        try:
            text = path.expanduser().read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            raise ConfigError(f"the prompt file {path} cannot be read as UTF-8 text: {error}") from error
        found = {match[1] or match[2] for match in _PLACE.finditer(text)}
        if not ({"question", "answer"} <= found and found & {"document", "context"}):
            raise ConfigError(
                f"the prompt file {path} must have the places {{question}}, {{document}} or {{context}}, and {{answer}}"
            )
        doubled = any(match[2] for match in _PLACE.finditer(text)) and text.count("{{") == text.count("}}")
        # Pieces at odd positions are the names of places.
        self._pieces = _PLACE.sub(lambda match: f"\0{match[1] or match[2]}\0", text.replace("\0", " ")).split("\0")
        if doubled:
            self._pieces[::2] = [piece.replace("{{", "{").replace("}}", "}") for piece in self._pieces[::2]]

    def fill(self, question: str, document: str, answer: str) -> str:
        """Return the text with the three values filled in; braces within them are not read as places."""
        values = {"question": question, "document": document, "context": document, "answer": answer}
        return "".join(values[piece] if number % 2 else piece for number, piece in enumerate(self._pieces))

    @property
    def fixed(self) -> str:
        """Return the text without its places."""
        return "".join(self._pieces[::2])
