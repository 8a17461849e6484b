"""The JSON lines that come with the package: items that were written for it."""

import json
from importlib.resources import files
from typing import Any


def rows(package: str, name: str) -> list[dict[str, Any]]:
    """The objects of a file of a package, in its order."""
    return [json.loads(line) for line in files(package).joinpath(name).read_text(encoding="utf-8").splitlines()]
