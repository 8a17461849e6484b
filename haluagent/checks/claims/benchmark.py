"""RefChecker's benchmark (Hu et al. 2024): the answers of seven models to 300 questions in three settings, with human labels.

The labels come from its repository (`benchmark/human_annotations_v1`, CC BY 4.0), in a file for each setting and model:
`nq_MODEL_answers.json` and so on, each a list of {id, response, claude2_response_kg: [{triplet, human_label}]}. The
questions and references are not in it; `haluagent.checks.claims.sources` reads them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haluagent.checks.claims import sources
from haluagent.checks.claims.file import objects
from haluagent.checks.claims.records import RELATIONS, Relation
from haluagent.checks.claims.sources import SETTINGS, Source
from haluagent.errors import ConfigError
from haluagent.types import Record

ENDING = "_answers.json"
CLAIMS = "_response_kg"  # after the name of the model that extracted the claims
LABEL = "human_label"


class Benchmark(Record):
    """The benchmark as items of a claims file, with `id`, `setting`, `model`, `question`, `response`, `reference`, `claims`
    and, for these, `human_claims` and `human_labels`. `remarks` are lines about what was left out."""

    items: tuple[dict[str, Any], ...]
    remarks: tuple[str, ...] = ()


def load(annotations: Sequence[Path], references: Sequence[Path]) -> Benchmark:
    """Return the annotated answers with their questions and references.

    `annotations` and `references` are files, or directories that are searched for them. Answers of a setting without
    references are left out, and so are triplets without a label. Raise `ConfigError` that names a file which is not of
    the published form, or an answer whose question is missing.
    """
    rows = [(path, *_setting(path), _rows(path)) for path in _files(annotations)]
    wanted: dict[str, set[str]] = {}
    for _, setting, _, answers in rows:
        wanted.setdefault(setting, set()).update(answer["id"] for answer in answers)
    found = sources.read(references, wanted)
    items, unlabelled, blank = [], 0, 0
    for path, setting, model, answers in rows:
        for answer in answers if setting in found else ():
            if not answer["response"].strip():
                blank += 1
                continue
            claims, labels, dropped = _labelled(answer, path)
            unlabelled += dropped
            source = _source(found[setting], answer["id"], path, setting)
            items.append(_item(answer, setting, model, source, claims, labels))
    missing = [setting for setting in dict.fromkeys(setting for _, setting, _, _ in rows) if setting not in found]
    remarks = [f"{setting} is left out: no file of references has {SETTINGS[setting]}" for setting in missing]
    if unlabelled:
        remarks.append(f"{unlabelled} triplets without a label are left out")
    if blank:
        remarks.append(f"{blank} empty responses are left out")
    if not items:
        raise ConfigError("; ".join(remarks) or "the annotations hold no answer")
    return Benchmark(items=tuple(items), remarks=tuple(remarks))


def _files(given: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in given:
        files = sorted(path.rglob(f"*{ENDING}")) if path.is_dir() else [path]
        if not files:
            raise ConfigError(f"{path} holds no file *{ENDING}: give RefChecker's benchmark/human_annotations_v1")
        found += files
    return found


def _setting(path: Path) -> tuple[str, str]:
    """Return the setting and the model that a file's name tells."""
    source, _, model = path.name.removesuffix(ENDING).partition("_")
    setting = next((setting for setting, name in SETTINGS.items() if name == source), None)
    if setting is None or not model or not path.name.endswith(ENDING):
        raise ConfigError(f"{path} is no file of annotations: they are named {{nq,msmarco,dolly}}_MODEL{ENDING}")
    return setting, model


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, row in enumerate(objects(path), start=1):
        if not isinstance(row, dict) or "id" not in row or not isinstance(row.get("response"), str):
            raise ConfigError(f"{path}, item {number} has no `id` or no `response`: fetch the published file again")
        rows.append(row | {"id": str(row["id"])})
    return rows


def _labelled(answer: Mapping[str, Any], path: Path) -> tuple[list[list[str]], list[Relation], int]:
    """Return the claims of an answer with their human labels, and how many have none."""
    given: list[dict[str, Any]] = next(
        (value for name, value in answer.items() if name.endswith(CLAIMS) and _has_labels(value)), []
    )
    claims, labels = [], []
    for one in given:
        triplet = one.get("triplet")
        if not (isinstance(triplet, list) and len(triplet) == 3 and all(isinstance(part, str) for part in triplet)):
            raise ConfigError(f"{path}, answer {answer['id']}: a triplet is [head, relation, tail], not {triplet!r}")
        label = next((known for known in RELATIONS if known == one.get(LABEL)), None)
        if label is not None and any(part.strip() for part in triplet):
            claims.append(triplet)
            labels.append(label)
    return claims, labels, len(given) - len(claims)


def _has_labels(value: Any) -> bool:
    return (
        isinstance(value, list) and all(isinstance(one, dict) for one in value) and any(LABEL in one for one in value)
    )


def _source(known: Mapping[str, Source], id: str, path: Path, setting: str) -> Source:
    if id not in known:
        raise ConfigError(f"{path}, answer {id}: its question is not in the references given for {setting}")
    return known[id]


def _item(
    answer: Mapping[str, Any],
    setting: str,
    model: str,
    source: Source,
    claims: list[list[str]],
    labels: list[Relation],
) -> dict[str, Any]:
    return {
        "id": answer["id"], "setting": setting, "model": model, "question": source.question,
        "response": answer["response"], "reference": list(source.passages), "claims": claims,
        "human_claims": claims, "human_labels": labels,
    }  # fmt: skip
