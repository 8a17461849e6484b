"""Search: an index of the user's own documents, and services that are asked over the network.

`resolve()` is the way in. It reads the flags, the environment and the config file, and gives back a `SearchProvider`.
"""

from haluagent.search.resolution import resolve

__all__ = ["resolve"]
