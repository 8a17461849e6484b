"""Histories that overlap: what a model was sent before each of its turns, put together once."""

from collections import Counter
from collections.abc import Hashable


class Merge:
    """Says which parts of a history are new. A request holds the whole conversation so far, or only what came since the last
    one (where the provider keeps the conversation): what is there as often as it was said is not said again."""

    def __init__(self) -> None:
        self._known: Counter[Hashable] = Counter()

    def said(self, key: Hashable) -> None:
        """A part that is new for certain: the model has just written it."""
        self._known[key] += 1

    def new(self, keys: list[Hashable]) -> list[bool]:
        """For each part of a request whether it is new; those are known from now on."""
        here: Counter[Hashable] = Counter()
        found = []
        for key in keys:
            here[key] += 1
            found.append(here[key] > self._known[key])
            self._known[key] = max(self._known[key], here[key])
        return found
