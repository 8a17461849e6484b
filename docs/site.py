"""A hook of mkdocs (mkdocs.yml)."""

import re
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page without the words after a block's language, which tell the tests what the block needs."""
    return re.sub(r"^```(\w+) \w+$", r"```\1", markdown, flags=re.MULTILINE)
