"""Merging overlapping histories: each turn's request repeats what came before it."""

from collections import Counter
from collections.abc import Hashable


class Merge:
    """A filter that tells which parts of a history are new.

    A request holds the whole conversation so far, or only what came since the last one (if the provider keeps the
    conversation). A part that occurs as often as it was said is not new.
    """

    def __init__(self) -> None:
        self._known: Counter[Hashable] = Counter()

    def said(self, key: Hashable) -> None:
        """Note a part that is certainly new, because the model has just written it."""
        self._known[key] += 1

    def new(self, keys: list[Hashable]) -> list[bool]:
        """Return for each part of a request whether it is new, and remember those."""
        here: Counter[Hashable] = Counter()
        found = []
        for key in keys:
            here[key] += 1
            found.append(here[key] > self._known[key])
            self._known[key] = max(self._known[key], here[key])
        return found
