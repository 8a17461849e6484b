"""Reading an uploaded file. It parses untrusted input, so `uploads` runs it in a process with limits."""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

from haluagent.batch.columns import plain
from haluagent.batch.tables import ENDINGS, ItemFile
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
            return _table(path) if request["kind"] == "table" else _document(path)
        except (Unreadable, ConfigError) as error:
            return {"problem": str(error).replace(str(path), "it")}


def _document(path: Path) -> dict[str, Any]:
    if kind_of(path) in ENCYCLOPAEDIAS:
        return {"problem": "it is no document of text, Markdown, HTML, PDF or Word"}
    parts = list(read_parts(path))
    text = "\n\n".join(part.text for part in parts if not isinstance(part, LeftOut))
    left_out = [f"{part.part}: {part.problem}" for part in parts if isinstance(part, LeftOut)]
    return {"text": text, "left_out": left_out} if text.strip() else {"problem": "it is empty"}


def _table(path: Path) -> dict[str, Any]:
    if ENDINGS.get(path.suffix) not in ("csv", "jsonl"):
        return {"problem": "it is no table: give CSV or JSON Lines"}
    file = ItemFile(path, {}, ENDINGS[path.suffix])
    rows = [_row(number, values, problem) for number, values, problem in file.records()]
    if not rows:
        return {"problem": "it has no rows"}
    return {"columns": list(dict.fromkeys(name for row in rows for name in row["values"])), "rows": rows}


def _row(number: int, values: dict[str, Any], problem: str | None) -> dict[str, Any]:
    problem = problem or (None if values else "it is no JSON object")
    return {"number": number, "values": {_text(name): _text(values[name]) for name in values}, "problem": problem}


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(plain(value), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # bytes that are not UTF-8 stand in it as surrogates
