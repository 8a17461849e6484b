"""A run: every item of some sets through the agent, one JSON line each, resumable after any interruption."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..agent import HaluAgent
from ..errors import ConfigError
from ..types import Detection
from .datasets import Item, load


def run(
    agent: HaluAgent,
    datasets: Iterable[str],
    data: Path,
    out: Path,
    limit: int | None = None,
    progress: Callable[[str], None] = print,
) -> None:
    """Detect on the items that `out` does not hold yet and append them. Raises ConfigError for a set or file."""
    plan = [(name, item) for name in datasets for item in list(load(name, data))[:limit]]
    done = {(row["dataset"], row["id"]) for row in read(out)} if out.exists() else set()
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        for position, (name, item) in enumerate(plan, start=1):
            if (name, item.id) in done:
                continue
            row = _row(name, item, agent)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            progress(f"{position}/{len(plan)} {name} {item.id} gold={item.wrong} verdict={row['verdict']}")


def _row(name: str, item: Item, agent: HaluAgent) -> dict[str, Any]:
    row: dict[str, Any] = {"dataset": name, "id": item.id, "wrong": item.wrong, "verdict": None, "score": 0.5}
    try:
        detection = agent.detect(item.question, item.response, item.reference)
    except ConfigError as error:
        return row | {"error": str(error)}
    claims = [{"wrong": claim.wrong, "label": label_of(detection, item, i)} for i, claim in enumerate(item.claims)]
    return row | {
        "verdict": detection.hallucination,
        "score": detection.score,
        "claims": claims,
        "detection": detection.model_dump(mode="json"),
    }


def label_of(detection: Detection, item: Item, number: int) -> str:
    """The label of one claim: that of the sentences standing where the claim stands in the response."""
    start = sum(len(claim.text) + 1 for claim in item.claims[:number])
    end = start + len(item.claims[number].text)
    labels = {
        entry.label
        for entry in detection.sentences
        if entry.sentence.index > 0 and entry.sentence.span[0] < end and entry.sentence.span[1] > start
    }
    for label in ("contradicted", "unverified", "supported"):
        if label in labels:
            return label
    return "unverified"


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a run. A last line that was cut off by an interruption is dropped, and its item is run again."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        path.write_bytes(whole)
    return [json.loads(line) for line in whole.split(b"\n") if line]
