"""Every word that is sent to a model: Jinja2 templates, one file per prompt and language, and `render`."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_TAG = re.compile(r"<(?=/?\s*(?:question|response|reference|text|sentence|observation)\b|\|)", re.IGNORECASE)


def fence(text: str) -> str:
    """Text from outside, made unable to close the tags it is put between or to imitate a chat template's marks."""
    return _TAG.sub("<\u200b", str(text))


@cache
def environment() -> Environment:
    """The one template environment: a variable that is missing is an error."""
    environment = Environment(
        loader=PackageLoader("haluagent.prompts", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters["fence"] = fence
    return environment


def render(name: str, language: str, **variables: Any) -> str:
    """The prompt `name` in `language`. Raises jinja2.UndefinedError where a variable is missing."""
    return environment().get_template(f"{name}.{language}.jinja2").render(**variables).strip()
