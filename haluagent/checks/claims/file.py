"""RefChecker's files: a JSON list of items, each with a response, to which the findings are added; or the same as JSON
lines, CSV, Excel or Parquet, where lists are written as JSON.

An item has `response`, and may have `question`, `reference` (a text or a list of passages) and `claims` or `triplets`.
A claim is a text or [head, relation, tail], as RefChecker's command line writes them, or an object with `content`, as
its classes do. All other fields are passed through. These are added:

- `claims`, and `triplets` if all of them are triplets (RefChecker 0.2 reads the first, 0.1 the second)
- `ys`, a label for each claim, and `Y`, that of the response: with the aggregator `soft` the share of each label
- `reference`, if it was retrieved
- `haluagent`: places, citations, probabilities and cost
- `error`, in place of `ys` and `Y`, if the item could not be checked.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from haluagent.batch.columns import FieldNames, as_item, check_columns
from haluagent.batch.results import OutputFile, replace, write_rows
from haluagent.batch.tables import ENDINGS, FileFormat, ItemFile
from haluagent.checks.claims.extract import Extraction
from haluagent.checks.claims.metrics import mean_rates
from haluagent.checks.claims.records import RELATIONS, CheckedClaim, Claim, ClaimReport
from haluagent.errors import ConfigError
from haluagent.types import Record

Content = str | tuple[str, str, str]
_FOUND = ("ys", "Y", "error", "haluagent")
FIELDS = {name: FieldNames((name,), name == "response") for name in ("response", "question", "reference", "claims")}


class ClaimItem(Record):
    """An item of a file. `number` counts from 1; `fields` holds the item as read, and `columns` which of them were chosen for
    response, question, reference or claims; `claims` is None if it has none."""

    number: int
    fields: dict[str, Any]
    columns: dict[str, str] = {}
    response: str
    question: str = ""
    reference: str | tuple[str, ...] | None = None
    claims: tuple[Content, ...] | None = None


def read(path: Path, format: FileFormat | None = None, columns: Mapping[str, str] | None = None) -> list[ClaimItem]:
    """Read the items of a file: a JSON list, one object per line, CSV, Excel or Parquet. `format` is that of a file whose ending
    names none; `columns` are the ones chosen for fields.

    Raise a `ConfigError` that names an invalid item, or says which columns there are.
    """
    columns = dict(columns or {})
    found = ENDINGS.get(path.suffix.lower(), format)
    if found in (None, "jsonl"):
        rows = objects(path)
        if columns:
            names = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row)
            check_columns(str(path), names, FIELDS, columns, whole=False)
        return [parse(fields, number, columns) for number, fields in enumerate(rows, start=1)]
    file = ItemFile(path, FIELDS, found, columns)
    file.check()
    items = []
    for number, fields, problem in file.records():
        if problem is not None:
            raise ConfigError(f"item {number}: {problem}")
        items.append(parse(fields, number, columns, table=True))
    return items


def rows(path: Path) -> list[Any]:
    """Read the items of a file of results as they stand there, unchecked; in a table, lists and objects are JSON, and empty cells
    are left out. Raise `ConfigError` if it cannot be read."""
    found = ENDINGS.get(path.suffix.lower())
    if found in (None, "jsonl"):
        return objects(path)
    file = ItemFile(path, {}, found, {})
    file.check()
    return [
        {name: _listed(cell) for name, cell in fields.items() if cell not in (None, "")}
        for _, fields, _ in file.records()
    ]


def objects(path: Path) -> list[Any]:
    """Read the JSON values of a file, unchecked. Raise `ConfigError` if it cannot be read or is not JSON."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: convert it first, for example with iconv") from error
    return _objects(text, path)


def _objects(text: str, path: Path) -> list[Any]:
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    except (ValueError, RecursionError) as error:
        if not text.lstrip().startswith("{"):
            raise ConfigError(f"{path} is not JSON ({error}): give a list of items, or one item a line") from None
    objects = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            objects += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"{path}, line {number} is not JSON ({error}): give a list of items, or one item a line"
            ) from None
    return objects


def parse(given: Any, number: int, columns: dict[str, str] | None = None, *, table: bool = False) -> ClaimItem:
    """Parse an item; in a `table`, lists are JSON. Raise a `ConfigError` with one line that says what is wrong with it."""
    if not isinstance(given, dict):
        raise ConfigError(f"item {number} is not an object: an item is {{response, question?, reference?, claims?}}")
    fields = as_item(given, FIELDS, columns) if columns else given
    if table:
        fields = fields | {
            name: _listed(fields[name]) for name in ("reference", "claims", "triplets") if name in fields
        }
    if "response" not in fields:
        raise ConfigError(f"item {number} has no `response`: that is the text whose claims are checked")
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ConfigError(f"item {number} holds half a character (a lone surrogate), which cannot be written") from None
    for name in ("response", "question"):
        if not isinstance(fields.get(name) or "", str):
            raise ConfigError(f"item {number}: `{name}` is not a text")
    if fields["response"] is None:
        raise ConfigError(f"item {number}: `response` is not a text")
    reference = fields.get("reference")
    if isinstance(reference, list) and all(isinstance(passage, str) for passage in reference):
        reference = tuple(reference)
    if not isinstance(reference, str | tuple | None):
        raise ConfigError(f"item {number}: `reference` is neither a text nor a list of texts")
    return ClaimItem(
        number=number,
        fields=given,
        columns=columns or {},
        response=fields["response"],
        question=fields.get("question") or "",
        reference=reference,
        claims=_claims(fields, number),
    )


def _listed(cell: Any) -> Any:
    """Return the list or object in a cell of a table, the text if it holds none, and None for an empty cell."""
    if isinstance(cell, str) and cell.lstrip().startswith(("[", "{")):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell or None


def _claims(fields: dict[str, Any], number: int) -> tuple[Content, ...] | None:
    given = [fields[name] for name in ("claims", "triplets") if fields.get(name) is not None]
    if not given:
        return None
    if not all(isinstance(value, list) for value in given):
        raise ConfigError(f"item {number}: `claims` is not a list")
    read = [
        tuple(_content(claim, f"item {number}, claim {at}") for at, claim in enumerate(value, 1)) for value in given
    ]
    if len(set(read)) > 1:
        raise ConfigError(f"item {number} has both `claims` and `triplets`, and they differ: leave one of them out")
    return read[0]


def _content(claim: Any, where: str) -> Content:
    if isinstance(claim, dict):
        claim = claim.get("content", claim.get("triplet"))
    if isinstance(claim, list):
        if len(claim) != 3:
            raise ConfigError(f"{where} has {len(claim)} parts: a triplet is [head, relation, tail]")
        if all(isinstance(part, str) for part in claim) and any(part.strip() for part in claim):
            head, relation, tail = claim
            return (head, relation, tail)
    elif isinstance(claim, str) and claim.strip():
        return claim
    raise ConfigError(f"{where} is neither a text nor [head, relation, tail]")


def with_claims(item: ClaimItem, extraction: Extraction) -> dict[str, Any]:
    """Return the item with the claims of its response."""
    own = {"claims": [_place(claim) for claim in extraction.claims], "error": extraction.error}
    return {
        **_without(item, *_FOUND, "claims", "triplets"),
        **_contents(extraction.claims),
        "haluagent": {**own, "usage": extraction.usage.model_dump()},
    }


def with_report(item: ClaimItem, report: ClaimReport) -> dict[str, Any]:
    """Return the item with its labels; if a claim has none, with an error and without `ys` and `Y`."""
    fields = _without(item, *_FOUND)
    if item.claims is None:  # they were extracted, so the item's own are from another run
        fields = _without(item, *_FOUND, "claims", "triplets")
        fields |= _contents([checked.claim for checked in report.claims])
    if item.reference is None:
        fields["reference"] = list(report.passages)
    failed = [checked for checked in report.claims if checked.label is None]
    if failed:
        fields["error"] = report.error or failed[0].error or "a claim could not be checked"
    else:
        fields |= {"ys": [checked.label for checked in report.claims], "Y": _aggregated(report)}
    own = report.model_dump(
        mode="json", include={"language", "format", "aggregator", "coverage", "usage", "seconds", "error"}
    )
    return {**fields, "haluagent": {"claims": [_found(checked) for checked in report.claims], **own}}


def with_error(item: ClaimItem, error: str) -> dict[str, Any]:
    """Return an item that could not be checked, with the error."""
    return {**_without(item, *_FOUND), "error": error}


def write(path: Path, items: Sequence[dict[str, Any]], format: FileFormat | None = None) -> None:
    """Write the items, whole or not at all: as JSON lines, CSV or Parquet by the file's ending (or `format`), else as a JSON
    list. Raise `ConfigError` if the file cannot be written."""
    found = ENDINGS.get(path.suffix.lower(), format)
    if found in ("csv", "parquet"):
        names = list(dict.fromkeys(name for item in items for name in item))
        write_rows(OutputFile(path, found), lambda: items, names)
        return
    text = json.dumps(items, ensure_ascii=False, indent=2) + "\n"
    if found == "jsonl":
        text = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
    replace(path, lambda unfinished: _write_text(unfinished, text))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def summary(items: Sequence[dict[str, Any]]) -> str:
    """Return one line about the items of an output (RefChecker's evaluation metric).

    It gives the share of each label, averaged over the responses, and that of responses that abstain.
    """
    done = [item for item in items if "error" not in item]
    labels = [item["ys"] for item in done if "ys" in item]
    if not labels:
        claims = sum(len(item["claims"]) for item in done)
        return (
            f"{len(items)} responses: {claims} claims; {sum(not item['claims'] for item in done)} responses make none"
        )
    return f"{len(items)} responses: {', '.join(f'{label} {share:.1%}' for label, share in mean_rates(labels).items())}"


def _without(item: ClaimItem, *names: str) -> dict[str, Any]:
    return {name: value for name, value in item.fields.items() if name not in names}


def _contents(claims: Iterable[Claim]) -> dict[str, Any]:
    contents = [claim.content if isinstance(claim.content, str) else list(claim.content) for claim in claims]
    triplets = bool(contents) and all(isinstance(content, list) for content in contents)
    return {"claims": contents, **({"triplets": contents} if triplets else {})}


def _place(claim: Claim) -> dict[str, Any]:
    return claim.model_dump(mode="json", include={"sentence", "span"})


def _found(checked: CheckedClaim) -> dict[str, Any]:
    return {**_place(checked.claim), **checked.model_dump(mode="json", exclude={"claim"})}


def _aggregated(report: ClaimReport) -> str | dict[str, float] | None:
    if report.aggregator != "soft":
        return report.verdict
    shares: dict[str, float] = {label: report.ratios.get(label, 0.0) for label in RELATIONS}
    return {**shares, "Abstain": 0.0 if report.claims else 1.0}
