"""One recogniser of texts that give no answer, at the three scopes that its callers have."""

import pytest

from haluagent.text.refusals import refuses

WHO, WHEN = "Who built it?", "出生日期是哪天？"


@pytest.mark.parametrize(
    ("text", "question", "scopes"),
    [
        ("I don't know.", "", "short answer sentence"),
        ("I’m not sure who built it", WHO, "short answer sentence"),
        ("We are unable to determine who built it", WHO, "short answer sentence"),
        ("我不知道", "", "short answer sentence"),
        ("Sorry, it is unclear.", "", "short answer"),
        ("The document does not say who built it.", WHO, "short answer"),
        ("It is not explicitly mentioned.", WHO, "short answer"),
        ("文中没有提到。", "", "short answer"),
        ("出生日期不详。", WHEN, "answer"),
        ("资料没有说明具体时间", WHEN, "short"),
        ("I don't know, but it was Carrick.", WHO, "short"),
        ("我没办法告诉你", "", "sentence"),
        ("The document does not mention it.", "Does the document mention it?", "short"),
        ("No idea was good.", "", ""),
        ("Notting Hill", "", ""),
        ("不提供早餐", "", ""),
        ("不明飞行物", "", ""),
        ("不知疲倦的工作使他成功", "", ""),
        ("没有提升", "", ""),
        ("科学家不知道原因。", "", ""),
    ],
)
def test_what_gives_no_answer(text: str, question: str, scopes: str) -> None:
    found = [scope for scope in ("short", "answer") if refuses(text, scope, question)]
    found += ["sentence"] if refuses(text.rstrip(".。"), "sentence") else []
    assert " ".join(found) == scopes
