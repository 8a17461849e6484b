"""The model's door: one client for any OpenAI-compatible endpoint, and an engine of our own behind the same door.

`resolve()` is the way in. It reads the flags, the environment and the config file, and gives back a `Model`.
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
    """Loaded when first used: none of these may slow down `import haluagent`."""
    if name in _HOME_OF:
        return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
