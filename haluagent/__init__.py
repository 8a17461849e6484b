"""HaluAgent: an autonomous agent that finds hallucinations in what a language model wrote.

    >>> from haluagent import HaluAgent
    >>> report = HaluAgent().detect("How many days from 2024-01-01 to 2024-06-05?", "150 days.")
    >>> report.hallucination
    True

Importing the package loads no engine, prints nothing and writes nothing.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# In a checkout the rooms `tools`, `prompts` and `sandbox` stand beside this folder, not in it; Python started there
# finds this folder before the installed package.
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if all(os.path.isfile(os.path.join(_CHECKOUT, *path)) for path in (("pyproject.toml",), ("tools", "match.py"))):
    __path__.append(_CHECKOUT)

if TYPE_CHECKING:
    from .agent import HaluAgent, Limits
    from .errors import ConfigError, FormatError, HaluAgentError, ModelError, SandboxError, SearchError, ToolError
    from .protocols import Execution, Message, Model, Sandbox, SearchProvider, SearchResult, ToolContext, Translator
    from .registry import Demo, Registry, Tool, tool
    from .types import Detection, Evidence, MemoryEntry, Sentence, Step, ToolCall, ToolResult, Usage

_HOMES = {
    "agent": ("HaluAgent", "Limits"),
    "errors": (
        "ConfigError", "FormatError", "HaluAgentError", "ModelError", "SandboxError", "SearchError", "ToolError",
    ),
    "protocols": (
        "Execution", "Message", "Model", "Sandbox", "SearchProvider", "SearchResult", "ToolContext", "Translator",
    ),
    "registry": ("Demo", "Registry", "Tool", "tool"),
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
