"""Worked answers to word problems: what stands before the calculation."""

import random
from fractions import Fraction

from haluagent.arithmetic.equations import find_equations
from haluagent.train.trajectories import arithmetic

PEAS = arithmetic.WordProblem(
    "ape210k_valid:1", "zh", "一袋豌豆重3.5千克，每千克8元，买4袋，要付多少元？", "3.5*8*4", Fraction(112)
)
PINS = "A box holds 1,200 pins. Ann buys 7 boxes, how many pins has she?"
BOXES = arithmetic.WordProblem("gsm8k_train:1", "en", PINS, "1200*7", Fraction(8400))


def test_an_introduction_says_what_the_question_gives_and_never_what_it_asks() -> None:
    for problem, given in (
        (PEAS, ("一袋豌豆重3.5千克", "每千克8元", "买4袋")),
        (BOXES, ("A box holds 1,200 pins", "Ann buys 7 boxes")),
    ):
        found = {arithmetic._introduced(problem, random.Random(number)) for number in range(300)}
        lines = {line for text in found for line in text.splitlines()}
        plans = lines & set(arithmetic.PLANS[problem.language])
        restated = {form.format(clause) for form in arithmetic._GIVEN[problem.language] for clause in given}
        assert "" in found and len(plans) == 2
        assert lines - plans == restated
        assert not any(find_equations(line) for line in lines)


def test_right_and_wrong_answers_are_introduced_alike() -> None:
    begun = 0
    for number in range(40):
        lessons = list(arithmetic.lessons(PEAS, random.Random(number)))
        for right, wrong in zip(lessons[::2], lessons[1::2], strict=True):
            before = [one.response.splitlines()[:-1] for one in (right, wrong)]
            introduced = [[line for line in lines if not find_equations(line)] for lines in before]
            assert introduced[0] == introduced[1]
            begun += bool(introduced[0])
            assert (right.gold, wrong.gold) == (False, True)
    assert begun > 20
