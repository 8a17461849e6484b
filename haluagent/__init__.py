"""HaluAgent: an autonomous agent that finds hallucinations in what a language model wrote.

    >>> from haluagent import HaluAgent
    >>> report = HaluAgent().detect("How many days from 2024-01-01 to 2024-06-05?", "150 days.")
    >>> report.hallucination
    True

Importing the package loads no engine, prints nothing and writes nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

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
