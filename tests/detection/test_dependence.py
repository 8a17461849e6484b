"""Which earlier sentences a sentence rests on."""

import pytest

from haluagent.detection.dependence import dependences
from haluagent.text.segment import split


@pytest.mark.parametrize(
    ("response", "given", "expected"),
    [
        ("The hall has 12 rows. Each row has 20 seats. So it seats 240.", "", {3: (2,)}),
        ("The hall seats 240. It opened in 1961. With 240 seats it is the smallest.", "", {2: (1,), 3: (1,)}),
        ("The hall seats 240. With 240 seats it is the smallest.", "A hall of 240 seats.", {}),
        ("The sofa is red. Society changes.", "", {}),
        ("大厅有12排。每排20个座位。因此共有240个座位。", "", {3: (2,)}),
        ("大厅有240个座位。这座大厅建于1961年。", "", {2: (1,)}),
        ("So it seats 240.", "", {}),
    ],
)
def test_what_a_sentence_rests_on(response: str, given: str, expected: dict[int, tuple[int, ...]]) -> None:
    assert dependences(split(response), given) == expected
