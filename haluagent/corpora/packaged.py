"""Read the JSON Lines files that ship with the package."""

import json
from importlib.resources import files
from typing import Any


def rows(package: str, name: str) -> list[dict[str, Any]]:
    """Return the objects in a file of a package, in order."""
    return [json.loads(line) for line in files(package).joinpath(name).read_text(encoding="utf-8").splitlines()]
