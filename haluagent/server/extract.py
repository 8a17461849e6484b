"""Reading an uploaded file. It parses untrusted input, so `uploads` runs it in a process with limits."""

import json
from pathlib import Path
from typing import Any

from haluagent.batch.columns import plain
from haluagent.batch.tables import ENDINGS, ItemFile
from haluagent.errors import ConfigError
from haluagent.search.documents.document import LeftOut
from haluagent.search.documents.encoding import Unreadable
from haluagent.search.documents.reading import ENCYCLOPAEDIAS, kind_of
from haluagent.search.documents.reading import read as read_parts

ROWS = 50_000
CHARACTERS = 20_000_000  # of the values of a table, each with the name of its column


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Return what is in the file at `path`, which is read as `kind` says; or `problem`, why it cannot be read."""
    path = Path(request["path"])
    try:
        return _table(path) if request["kind"] == "table" else _document(path)
    except (Unreadable, ConfigError) as error:
        problem = str(error)
    except MemoryError:  # a limit, which the parent explains
        raise
    except Exception as error:  # a parser may fail in any way at a file made to break it
        problem = f"{type(error).__name__}: {error}"[:300]
    return {"problem": " ".join(_text(problem).replace(str(path), "it").split())}


def _document(path: Path) -> dict[str, Any]:
    if kind_of(path) in ENCYCLOPAEDIAS:
        return {"problem": "it is no document of text, Markdown, HTML, PDF or Word"}
    parts = list(read_parts(path))
    text = "\n\n".join(part.text for part in parts if not isinstance(part, LeftOut))
    left_out = [f"{part.part}: {part.problem}" for part in parts if isinstance(part, LeftOut)]
    return {"text": text, "left_out": left_out} if text.strip() else {"problem": "it is empty"}


def _table(path: Path) -> dict[str, Any]:
    if path.suffix == ".xls":
        return {"problem": "it is in the old format .xls: save it as .xlsx"}
    if ENDINGS.get(path.suffix) not in ("csv", "xlsx", "jsonl"):
        return {"problem": "it is no table: give CSV, Excel or JSON Lines"}
    rows: list[dict[str, Any]] = []
    characters = 0
    for number, values, problem in ItemFile(path, {}, ENDINGS[path.suffix]).records():
        rows.append(row := _row(number, values, problem))
        characters += sum(len(name) + len(value) for name, value in row["values"].items())
        if len(rows) > ROWS:
            return {"problem": f"it has more than {ROWS} rows: split it"}
        if characters > CHARACTERS:
            return {"problem": f"it has more than {CHARACTERS} characters, the names in every row counted: split it"}
    if not rows:
        return {"problem": "it has no rows"}
    return {"columns": list(dict.fromkeys(name for row in rows for name in row["values"])), "rows": rows}


def _row(number: int, values: dict[str, Any], problem: str | None) -> dict[str, Any]:
    problem = problem or (None if values else "it is no JSON object")
    return {"number": number, "values": {_text(name): _text(values[name]) for name in values}, "problem": problem}


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(plain(value), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # bytes that are not UTF-8 stand in it as surrogates
