"""The page on which a person marks what is wrong in responses: one file that needs no network and sends nothing."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from haluagent.bench.report.html import embedded, policy
from haluagent.checks.claims.file import ClaimItem
from haluagent.checks.claims.inputs import given_passages
from haluagent.errors import ConfigError
from haluagent.text import language as languages


def label_page(items: Sequence[ClaimItem]) -> str:
    """Return the HTML page of items with a response and a reference. Raise a `ConfigError` that names an item without
    one of these, or with the id of another; or if there are no items."""
    shown = [_shown(item) for item in items]
    if not shown:
        raise ConfigError("there are no items to label")
    name, count = Counter(one["id"] for one in shown).most_common(1)[0]
    if count > 1:
        raise ConfigError(f"{count} items have the id {name!r}: labels could not be told apart")
    digest = hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]
    script = _part("label.js")
    environment = Environment(
        loader=FunctionLoader(_part), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("label.html.jinja2").render(
        style=_part("label.css"),
        script=script,
        policy=policy(script),
        data=embedded({"digest": digest, "items": shown}),
    )


def _shown(item: ClaimItem) -> dict[str, Any]:
    if item.reference is None:
        raise ConfigError(f"item {item.number} has no `reference`: spans are marked beside one")
    if not item.response.strip():
        raise ConfigError(f"item {item.number}: the response is empty")
    name = item.fields.get("id", item.number)
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise ConfigError(f"item {item.number}: an id is a text or a whole number")
    try:
        reference = given_passages(item.reference)
    except ConfigError as error:
        raise ConfigError(f"item {item.number}: {error}") from None
    return {
        "id": str(name),
        "language": languages.choose("auto", item.question, item.response),
        "question": item.question,
        "reference": list(reference),
        "response": item.response,
    }


@cache
def _part(name: str) -> str:
    return (files("haluagent.bench.labelling") / name).read_text(encoding="utf-8")
