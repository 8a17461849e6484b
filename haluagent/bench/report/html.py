r"""A report as a single self-contained HTML page: no server, no network, no other file.

Data never becomes markup: the template escapes it, the rows are JSON in which `<` is written as `\u003c`, and the script
turns them into text nodes. A content security policy allows that one script and no request.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined


def render(
    template: str,
    rows: Sequence[Mapping[str, Any]],
    filters: Mapping[str, Callable[..., str]] | None = None,
    **values: Any,
) -> str:
    """Return the page made from a template of this package, with the rows that its script shows."""
    script = _part("report.js")
    environment = Environment(
        loader=FunctionLoader(_part), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= filters or {}
    return environment.get_template(template).render(
        **values,
        style=_part("report.css"),
        script=script,
        policy=policy(script),
        data=embedded(rows),
    )


def policy(script: str) -> str:
    """Return the content security policy of a page with that one script and no request."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def embedded(value: Any) -> str:
    """Return JSON that is safe inside a script element: without `<`, nothing in it can close the element or open
    another."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _part(name: str) -> str:
    return (files("haluagent.bench.report") / name).read_text(encoding="utf-8")
