"""Model clients: one client for any OpenAI-compatible endpoint, and an embedded engine behind the same interface.

`resolve()` is the entry point: it reads the flags, the environment and the config file, and returns a `Model`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haluagent.models.client import OpenAIModel
    from haluagent.models.engines.embedded import EmbeddedModel
    from haluagent.models.resolution import resolve
    from haluagent.models.weights.catalogue import pull

_HOME_OF = {
    "OpenAIModel": "client",
    "resolve": "resolution",
    "EmbeddedModel": "engines.embedded",
    "pull": "weights.catalogue",
}

__all__ = ["EmbeddedModel", "OpenAIModel", "pull", "resolve"]


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that `import haluagent` stays fast."""
    if name in _HOME_OF:
        return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
