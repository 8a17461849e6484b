"""The protocol of a worker: it writes `{"ready": true}`, then reads an item per line from stdin and writes an answer
per line to stdout.

Workers are started by path under the Python of their peer's environment, where haluagent is not installed. They import
this module first: from then on, anything printed goes to stderr.
"""

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # libraries, and the C code below them, may print at any time

Item = dict[str, str]  # question, response, reference ("" if there is none)


def serve(detect: Callable[[Item], dict[str, Any]]) -> None:
    """Answer items until stdin ends. `detect` returns the verdict (True for a hallucination), its score in [0, 1] and
    short details; an exception it raises becomes the item's error."""
    answer: dict[str, Any] = {"ready": True}
    while True:
        ANSWERS.write(json.dumps(answer) + "\n")
        ANSWERS.flush()
        if not (line := sys.stdin.readline()):
            return
        try:
            answer = detect(json.loads(line)) | {"error": None}
        except Exception as error:
            answer = {"verdict": None, "score": 0.5, "error": said(error), "details": ""}


def said(error: BaseException) -> str:
    """Describe an exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def model() -> str:
    """Return the name of the model at the endpoint: the worker's only argument."""
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} MODEL, with OPENAI_BASE_URL and OPENAI_API_KEY set")
    return sys.argv[1]


def package(name: str) -> None:
    """Make a package's modules importable without running its `__init__`, which would load what is not installed."""
    found = importlib.util.find_spec(name)
    assert found is not None and found.submodule_search_locations is not None, f"{name} is not installed"
    module = ModuleType(name)
    module.__path__ = list(found.submodule_search_locations)
    sys.modules[name] = module
