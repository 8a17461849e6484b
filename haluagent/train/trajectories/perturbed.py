"""Right answers and those that a model changed, as items for building trajectories."""

from haluagent.corpora.semantic import PerturbedPair
from haluagent.train.trajectories.records import Alteration, TrajectoryItem


def items_of(pair: PerturbedPair) -> tuple[TrajectoryItem, TrajectoryItem]:
    """Return the right and the changed answer of a pair, each as a response beside its passage."""
    gold = pair.gold
    right = TrajectoryItem(
        id=f"{gold.id}:right", group=gold.group, source=gold.source, kind="knowledge", language=gold.language,
        question=gold.question, response=gold.answer, reference=gold.passage, gold=False,
    )  # fmt: skip
    change = Alteration(kind="semantic", before=gold.answer, after=pair.changed)
    changed = {"id": f"{gold.id}:wrong", "response": pair.changed, "gold": True, "change": change}
    return right, right.model_copy(update=changed)
