"""What the gold teacher knows of an item beside its labels."""

from haluagent.train.trajectories.records import Item


class Lesson(Item):
    """An item that was made from a right answer, and what it was made from.

    `answer` is the right short answer and `formula` the calculation that gives it, `independent` a right translation.
    `passages` are texts that decide the item, for a search; `index` says that the item is to be looked up there, and has no
    reference. `focus` names the prompts that are taught; all of them where it is empty. Only a teacher that is shown the
    gold label reads any of this.
    """

    answer: str = ""
    formula: str = ""
    independent: str = ""
    passages: tuple[str, ...] = ()
    index: bool = False
    focus: tuple[str, ...] = ()
