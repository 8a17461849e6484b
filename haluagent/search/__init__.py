"""Search: an index of the user's own documents, and services on the network.

`resolve()` is the entry point: it reads the flags, the environment and the config file, and returns a `SearchProvider`.
"""

from haluagent.search.resolution import resolve

__all__ = ["resolve"]
