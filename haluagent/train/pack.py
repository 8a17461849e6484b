"""Pack several sequences into one row, storing common prefixes once.

The calls of a branch, and the branches of a response, begin with the same tokens. A row is a tree of tokens: each token
attends to its ancestors only and takes its depth as its position, so that the model computes exactly what it computes
for each sequence alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from haluagent.train.examples import TrainingExample

if TYPE_CHECKING:
    import torch

ROOT = -1


@dataclass
class PackedRow:
    """A tree of tokens. `parents[i]` is the index of the token before token `i`, or ROOT.

    For the loss, the model should predict `targets[k]` at index `sources[k]`, with `weights[k]`. An index can have
    several targets.
    """

    ids: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    _children: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    def new_tokens(self, ids: Iterable[int]) -> int:
        """Return the number of tokens that a sequence would add to this row."""
        place, new = ROOT, 0
        for token in ids:
            found = None if new else self._children.get((place, token))
            if found is None:
                new += 1
            else:
                place = found
        return new

    def add(self, example: TrainingExample) -> None:
        """Add an example to the tree. Its last token is only a target and is not stored. Its first token cannot be
        learned."""
        place = ROOT
        prompt = len(example.ids) - example.learned
        for index, token in enumerate(example.ids):
            if index >= prompt:
                self.sources.append(place)
                self.targets.append(token)
                self.weights.append(example.weight)
            if index < len(example.ids) - 1:
                place = self._child(place, token)

    def add_apart(self, example: TrainingExample) -> list[int]:
        """Add an example to the tree, with its reply and the token before it as a consecutive run of new tokens. Return
        the indices of the reply; the token that precedes each of them stands right before it in the row."""
        prompt = len(example.ids) - example.learned
        place = ROOT
        for token in example.ids[: prompt - 1]:
            place = self._child(place, token)
        for token in example.ids[prompt - 1 :]:
            place = self._new(place, token)
        return list(range(place - example.learned + 1, place + 1))

    def _child(self, parent: int, token: int) -> int:
        found = self._children.get((parent, token))
        return self._new(parent, token) if found is None else found

    def _new(self, parent: int, token: int) -> int:
        place = len(self.ids)
        self._children.setdefault((parent, token), place)
        self.ids.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1 if parent != ROOT else 0)
        return place


def pack(examples: Iterable[TrainingExample], max_tokens: int) -> list[PackedRow]:
    """Return rows of at most `max_tokens` tokens, filled in order, because neighbours share the most."""
    rows: list[PackedRow] = []
    for example in examples:
        if not rows or len(rows[-1]) + rows[-1].new_tokens(example.ids[:-1]) > max_tokens:
            rows.append(PackedRow())
        rows[-1].add(example)
    return rows


def attention_mask(parents: list[int], size: int | None = None) -> "torch.Tensor":
    """Return which tokens each token attends to: itself and its ancestors. Boolean, (1, size, size), True for attended;
    a row shorter than `size` is padded with tokens that attend to themselves."""
    import torch

    size = size or len(parents)
    mask = torch.zeros(size, size, dtype=torch.bool)
    for index in range(size):
        if index < len(parents) and parents[index] != ROOT:
            mask[index] = mask[parents[index]]
        mask[index, index] = True
    return mask[None]
