"""Reading an uploaded file. It parses untrusted input, so `uploads` runs it in a process with limits."""

import base64
import tempfile
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError
from haluagent.search.documents.document import LeftOut
from haluagent.search.documents.encoding import Unreadable
from haluagent.search.documents.reading import ENCYCLOPAEDIAS, kind_of
from haluagent.search.documents.reading import read as read_parts


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Return what is in a file, given as `data` in base64 with its `name`; or `problem`, why it cannot be read."""
    with tempfile.TemporaryDirectory(prefix="haluagent-") as folder:
        # The name of a file may be anything; only its ending counts here.
        path = Path(folder, "file" + Path(request["name"]).suffix.lower()[:10])
        path.write_bytes(base64.b64decode(request["data"]))
        try:
            return _document(path)
        except (Unreadable, ConfigError) as error:
            return {"problem": str(error)}


def _document(path: Path) -> dict[str, Any]:
    if kind_of(path) in ENCYCLOPAEDIAS:
        return {"problem": "it is no document of text, Markdown, HTML, PDF or Word"}
    parts = list(read_parts(path))
    text = "\n\n".join(part.text for part in parts if not isinstance(part, LeftOut))
    left_out = [f"{part.part}: {part.problem}" for part in parts if isinstance(part, LeftOut)]
    return {"text": text, "left_out": left_out} if text.strip() else {"problem": "it is empty"}
