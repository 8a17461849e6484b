"""The questions and references of RefChecker's benchmark, from the files that a user downloads.

These are what RefChecker's `benchmark/data/download_data.sh` makes (`nq.json`, `msmarco.json` and `dolly.json`, each a list of
{id, question, context}), or the data sets themselves: the JSON Lines of Natural Questions (dev), MS MARCO 2.1 (dev, one JSON
object of columns, or rows) and databricks-dolly-15k. All of them may be compressed (`.gz`).
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from haluagent.errors import ConfigError

# The setting of each data set. The reference of a zero-context question is hidden from the model that answers it.
SETTINGS = {"zero_context": "nq", "noisy_context": "msmarco", "accurate_context": "dolly"}
ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


class Source(NamedTuple):
    question: str
    passages: tuple[str, ...]


def read(paths: Sequence[Path], wanted: Mapping[str, set[str]]) -> dict[str, dict[str, Source]]:
    """Return, for each setting that a file covers, its wanted questions by id.

    `paths` are files, or directories that are searched for them; files of another form are passed over. Raise
    `ConfigError` for a file that cannot be read or a row that is not as published.
    """
    found: dict[str, dict[str, Source]] = {}
    for path in _files(paths):
        setting = None
        for number, row in enumerate(_rows(path)):
            setting = setting or _setting_of(row, path)
            if setting is None:
                break
            try:
                id, source = _READERS[_form(row)](row, number)
            except (KeyError, TypeError, IndexError, AttributeError) as error:
                raise ConfigError(f"{path}, row {number + 1} is not as published ({error!r}): fetch it again") from None
            known = found.setdefault(setting, {})
            if source is not None and id in wanted.get(setting, ()):
                known[id] = source
    return found


def _files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            # Annotations and lists of ids lie beside the references.
            found += sorted(
                one
                for one in path.rglob("*")
                if one.name.endswith(ENDINGS) and not one.name.endswith(("_answers.json", "_ids.json"))
            )
        else:
            found.append(path)
    return found


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file: a JSON list, one object a line, or columns."""
    try:
        with _opened(path) as file:
            first = file.readline()
            if first.lstrip().startswith("[") or first.strip() == "{":
                yield from _as_rows(json.loads(first + file.read()))
                return
            line = first
            while line:
                if line.strip():
                    yield from _as_rows(json.loads(line))
                line = file.readline()
    except (OSError, EOFError) as error:
        raise ConfigError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON ({' '.join(str(error).split())[:100]}): fetch it again") from None


def _opened(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _as_rows(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (row if isinstance(row, dict) else {} for row in value)
    elif isinstance(value, dict) and isinstance(value.get("query"), dict) and isinstance(value.get("passages"), dict):
        for key, query in value["query"].items():
            yield {"query_id": value["query_id"][key], "query": query, "passages": value["passages"][key]}
    else:
        yield value if isinstance(value, dict) else {}


def _form(row: Mapping[str, Any]) -> str | None:
    """Return which form a row has, None if it is none of those known."""
    fields = {
        "gathered": ("id", "question", "context"),
        "nq": ("example_id", "question_text", "document_tokens", "annotations"),
        "msmarco": ("query_id", "query", "passages"),
        "dolly": ("instruction", "context", "category"),
    }
    return next((form for form, names in fields.items() if all(name in row for name in names)), None)


def _setting_of(row: Mapping[str, Any], path: Path) -> str | None:
    """Return the setting of a file by its first row; of a gathered one by its name or folder."""
    form = _form(row)
    if form is None:
        return None
    for setting, name in SETTINGS.items():
        if form == name or (form == "gathered" and (path.name.startswith(name) or path.parent.name == setting)):
            return setting
    raise ConfigError(f"{path}: name it nq.json, msmarco.json or dolly.json, after the data set it was made from")


def _gathered(row: Mapping[str, Any], _: int) -> tuple[str, Source | None]:
    context = row["context"]
    return str(row["id"]), Source(row["question"], (context,) if isinstance(context, str) else tuple(context))


def _nq(row: Mapping[str, Any], _: int) -> tuple[str, Source | None]:
    """Read a question with its first long answer that has a short one too, without the page's markup."""
    tokens = row["document_tokens"]

    def text(place: Mapping[str, int]) -> str:
        inside = tokens[max(place["start_token"], 0) : max(place["end_token"], 0)]
        return " ".join(token["token"] for token in inside if not token["html_token"]).strip()

    for annotation in row["annotations"]:
        if any(text(short) for short in annotation["short_answers"]) and (long := text(annotation["long_answer"])):
            return str(row["example_id"]), Source(row["question_text"], (long,))
    return str(row["example_id"]), None


def _msmarco(row: Mapping[str, Any], _: int) -> tuple[str, Source | None]:
    passages = row["passages"]
    texts = passages["passage_text"] if isinstance(passages, dict) else [one["passage_text"] for one in passages]
    return str(row["query_id"]), Source(row["query"], tuple(texts))


def _dolly(row: Mapping[str, Any], number: int) -> tuple[str, Source | None]:
    """Read a row, whose id is its number in the file, from 0."""
    return str(number), Source(row["instruction"], (row["context"],))


_READERS: dict[str | None, Callable[[Mapping[str, Any], int], tuple[str, Source | None]]] = {
    "gathered": _gathered,
    "nq": _nq,
    "msmarco": _msmarco,
    "dolly": _dolly,
}
