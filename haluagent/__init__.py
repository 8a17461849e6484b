"""HaluAgent: an autonomous agent that finds hallucinations in what a language model wrote.

    >>> from haluagent import HaluAgent
    >>> report = HaluAgent().detect("How many days from 2024-01-01 to 2024-06-05?", "150 days.")
    >>> report.hallucination
    True

Importing the package loads no engine, prints nothing and writes nothing.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"


class _Beside:
    """Finds the packages that stand beside this one in a checkout, for whoever starts Python there with the wheel installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        parent, _, room = name.rpartition(".")
        if parent != __name__ or room not in ("prompts", "sandbox", "tools"):
            return None
        return PathFinder.find_spec(name, [str(Path(__file__).parents[1])])


if not (Path(__file__).parent / "prompts").is_dir():
    sys.meta_path.append(_Beside)

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent
    from haluagent.detection.limits import Limits
    from haluagent.errors import (
        ConfigError,
        FormatError,
        HaluAgentError,
        ModelError,
        SandboxError,
        SearchError,
        ToolError,
    )
    from haluagent.protocols import (
        Execution,
        Message,
        Model,
        Sandbox,
        SearchProvider,
        SearchResult,
        ToolContext,
        Translator,
    )
    from haluagent.tooling.definition import tool
    from haluagent.tooling.registry import Registry
    from haluagent.tooling.tool import Demo, Tool
    from haluagent.types import Detection, Evidence, MemoryEntry, Sentence, Step, ToolCall, ToolResult, Usage

_HOMES = {
    "agent": ("HaluAgent", "Limits"),
    "errors": (
        "ConfigError",
        "FormatError",
        "HaluAgentError",
        "ModelError",
        "SandboxError",
        "SearchError",
        "ToolError",
    ),
    "protocols": (
        "Execution",
        "Message",
        "Model",
        "Sandbox",
        "SearchProvider",
        "SearchResult",
        "ToolContext",
        "Translator",
    ),
    "tooling.definition": ("tool",),
    "tooling.registry": ("Registry",),
    "tooling.tool": ("Demo", "Tool"),
    "types": ("Detection", "Evidence", "MemoryEntry", "Sentence", "Step", "ToolCall", "ToolResult", "Usage"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ConfigError", "Demo", "Detection", "Evidence", "Execution", "FormatError", "HaluAgent", "HaluAgentError", "Limits",
    "MemoryEntry", "Message", "Model", "ModelError", "Registry", "Sandbox", "SandboxError", "SearchError",
    "SearchProvider", "SearchResult", "Sentence", "Step", "Tool", "ToolCall", "ToolContext", "ToolError", "ToolResult",
    "Translator", "Usage", "tool",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used, so that `import haluagent` stays light."""
    if name in _HOME_OF:
        return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
