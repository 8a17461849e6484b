"""One recogniser of texts that give no answer, for everybody who has to know."""

import pytest

from haluagent.text.refusals import refusal, unsaid

WHO, WHEN = "Who built it?", "出生日期是哪天？"


@pytest.mark.parametrize(
    ("text", "question", "found"),
    [
        ("I don't know.", "", "unknown"),
        ("I’m not sure who built it", WHO, "unknown"),
        ("I do not know who built the tower.", "", "unknown"),
        ("We are unable to determine who built it", WHO, "unknown"),
        ("Sorry, I cannot help with that.", "", "unknown"),
        ("我不知道", "", "unknown"),
        ("抱歉，我无法确定他的出生日期。", "", "unknown"),
        ("我没办法告诉你", "", "unknown"),
        ("Sorry, it is unclear.", "", "unsaid"),
        ("The document does not say who built it.", WHO, "unsaid"),
        ("The document does not mention it.", "", "unsaid"),
        ("It is not explicitly mentioned.", WHO, "unsaid"),
        ("文中没有提到。", "", "unsaid"),
        ("资料没有说明具体时间", "", "unsaid"),
        ("资料没有说明具体时间", WHEN, None),
        ("出生日期不详。", WHEN, "unsaid"),
        ("I don't know, but it was Carrick.", WHO, None),
        ("I don't know; Carrick did.", WHO, None),
        ("The document does not say who built it, but Carrick did.", WHO, None),
        ("The document does not mention it.", "Does the document mention it?", None),
        ("我不知道，但他生于1950年。", WHEN, None),
        ("I don't know that Paris is in Germany.", "", None),
        ("No idea was good.", "", None),
        ("Notting Hill", "", None),
        ("不提供早餐", "", None),
        ("不明飞行物", "", None),
        ("不知疲倦的工作使他成功", "", None),
        ("没有提升", "", None),
        ("科学家不知道原因。", "", None),
    ],
)
def test_what_gives_no_answer(text: str, question: str, found: str | None) -> None:
    assert refusal(text, question) == found


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("The documents do not mention the CEO's salary.", "the CEO's salary"),
        ("The CEO's salary is not mentioned in the documents.", "The CEO's salary"),
        ("资料没有提到首席执行官的工资。", "首席执行官的工资"),
        ("The documents do not mention the CEO's salary, which is 5 million.", None),
        ("The documents do not mention it, but Paris is in Germany.", None),
        ("He did not mention his salary.", None),
        ("The documents mention the salary.", None),
        ("资料没有提到工资，但工资是五百万。", None),
    ],
)
def test_what_the_texts_are_said_not_to_mention(text: str, topic: str | None) -> None:
    assert unsaid(text) == topic


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("There is no evidence that tea cures colds.", ""),
        ("No data was lost in the move.", ""),
        ("The unknown sailor lies in Genoa.", ""),
        ("She was not mentioned in the letter.", ""),
        ("She had no idea how deep the lake was.", ""),
        ("I can't say enough good things about Genoa.", ""),
        ("她没有说话。", ""),
        ("她没有提出反对。", ""),
        ("数据没有丢失，没有信息外泄。", ""),
        ("The ring was not found.", "Was the ring found?"),
        ("There is no evidence of a breach.", "Is there evidence of a breach?"),
        ("旅馆没有提供午餐。", "旅馆提供午餐吗？"),
        ("她没有说。", "她说了吗？"),
    ],
)
def test_a_statement_about_the_world_is_no_refusal(text: str, question: str) -> None:
    assert refusal(text, question) is None


@pytest.mark.parametrize(
    "text",
    [
        "The document does not mention the fee and the pool is closed.",
        "The text does not mention that Nelson lost at Aboukir.",
        "资料没有提到费用是五元。",
    ],
)
def test_what_else_is_said_is_no_topic(text: str) -> None:
    assert unsaid(text) is None
