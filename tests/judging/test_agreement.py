"""How far a sentence agrees with the answer that a text gives by itself."""

import pytest

from haluagent.judging.agreement import adds, agreement, answers_nothing, contained, counted, says


@pytest.mark.parametrize(
    ("own", "claim", "question", "f1"),
    [
        ("Paris", "It is Paris.", "", 1.0),
        ("Paris", "London", "", 0.0),
        ("red wine", "red and white", "", 0.5),
        ("the Elbe rises in Poland", "the Elbe rises in Saxony", "Where does the Elbe rise?", 1 / 2),  # "rises"
        ("the Elbe", "the Elbe", "What is the Elbe?", 1.0),  # nothing but words of the question
        (
            "Ann Ellis",
            "Ann Mary Ellis",
            "Who is older, Ann Ellis or Tom Vane?",
            1.0,
        ),  # as full a name as it has elsewhere
        ("Tom Vane", "Ann Mary Ellis", "Who is older, Ann Ellis or Tom Vane?", 0.0),
        ("", "Paris", "", None),
        ("Paris", "the", "", None),
        ("not mentioned", "Paris", "", None),
        ("Not stated in the reference.", "Paris", "", None),
        ("没有说", "巴黎", "", None),
        ("捷克", "易北河发源于捷克。", "易北河发源于哪里？", 1.0),
        ("波兰", "易北河发源于捷克。", "易北河发源于哪里？", 0.0),
        ("4年", "战争打了长达四年，从前206年到前202年。", "战争打了几年？", 1.0),
        ("1 million", "2 million", "", 0.0),
        ("5战3胜制", "1战3胜制", "", 0.0),
        ("three months", "The notice period is six months.", "How long is the notice period?", 0.0),
        (
            "three months",
            "The notice period is 3 months.",
            "How long is the notice period?",
            0.5,
        ),  # the words; the number is the same
        ("no", "no", "", None),  # no word that carries meaning
    ],
)
def test_agreement(own: str, claim: str, question: str, f1: float | None) -> None:
    assert agreement(own, claim, question) == f1


@pytest.mark.parametrize("text", ["", "unknown", "未提及", "It is not specified.", "没有提到。"])
def test_an_answer_that_is_none(text: str) -> None:
    assert answers_nothing(text)


@pytest.mark.parametrize("text", ["Notting Hill", "无锡", "未来", "Unstruttal", "不丹", "没药"])
def test_a_name_is_an_answer(text: str) -> None:
    assert not answers_nothing(text)


@pytest.mark.parametrize(
    ("claim", "own", "said"),
    [
        ("2004年的会议在松林市的白塔区举办。", "松林市白塔区", True),
        ("最大的瀑布是青云瀑布。", "青云大瀑布", True),
        ("国鸟是白头海雕。", "白尾海雕", False),  # another character in its place
        ("是红云瀑布", "青云瀑布", False),  # another beginning
        ("松林是一个市，那里有很多人，也有一座白塔", "松林白塔", False),  # too far apart
        ("The Great Mill Road", "Great Mill", True),
    ],
)
def test_the_same_with_more_or_fewer_words(claim: str, own: str, said: bool) -> None:
    assert says(claim, own) is said


def test_a_sentence_that_says_more_has_the_answer() -> None:
    longer = "Orland Vess, a painter from Tarn, opened it in the summer with a speech."
    assert contained("Vess the painter", longer, "Who opened it?") == 1.0
    assert agreement("Vess the painter", longer, "Who opened it?") == 0.5


TEXT = {"en": "Harlow Tower was built in 1834 by Mary Ellis.", "zh": "高塔由李明建造，王强出资。"}
ASKED = {"en": "Who built Harlow Tower?", "zh": "高塔是谁建造的？"}


@pytest.mark.parametrize(
    ("language", "claim", "more"),
    [
        ("en", "Mary Ellis", False),
        ("en", "Mary Ellis built Harlow Tower.", False),
        ("en", "According to the sources, the correct answer to this question is Mary Ellis.", False),
        ("en", "Mary Ellis built it, paid by her uncle.", True),
        ("en", "It was Mary Ellis's husband.", True),
        ("en", "Mary Ellis, in 1,834", False),
        ("en", "It was Mary Ellis's tower.", False),
        ("zh", "李明", False),
        ("zh", "高塔是李明建造的。", False),
        ("zh", "这个问题的正确答案应该是李明。", False),
        ("zh", "李明和他的岳父", True),
    ],
)
def test_what_a_claim_adds_to_an_answer_is_not_vouched_for_by_it(language: str, claim: str, more: bool) -> None:
    own = {"en": "Mary Ellis", "zh": "李明"}[language]
    assert adds(claim, f"{TEXT[language]} {ASKED[language]} {own}") is more
    agrees = agreement(own, claim, ASKED[language])
    assert agrees is not None and agrees > 0.4
    assert counted(agrees, own, claim, ASKED[language], TEXT[language]) == (0.4 if more else agrees)


def test_another_answer_speaks_against_a_claim_whatever_it_adds() -> None:
    assert counted(0.0, "Mary Ellis", "John Carrick and his uncle", ASKED["en"], TEXT["en"]) == 0.0
    assert counted(None, "", "John Carrick", ASKED["en"], TEXT["en"]) is None
