"""The items that the gold teacher works on, with what it knows beside the labels."""

from haluagent.train.trajectories.records import TrajectoryItem


class Lesson(TrajectoryItem):
    """An item made from a right answer, with what it was made from.

    `answer` is the right short answer, `formula` the calculation that gives it, and `independent` a right translation.
    `passages` are texts that decide the item in a search; with `index`, the item is to be looked up there and has no
    reference. `focus` names the prompts used for training; if it is empty, all of them are. Only a teacher that sees
    the gold label reads any of this.
    """

    answer: str = ""
    formula: str = ""
    independent: str = ""
    passages: tuple[str, ...] = ()
    index: bool = False
    focus: tuple[str, ...] = ()
