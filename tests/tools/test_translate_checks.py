"""Faults of a translation that need no judgement."""

import pytest

from haluagent.tools.translate.checks import fault

# text, its translation, the language it should be in, the fault
CASES = [
    ("Ich habe 3 Äpfel.", "I have 3 apples.", "en", None),
    ("Ich habe 3 Äpfel.", "I have three apples.", "en", None),
    ("Ich habe 3 Äpfel.", "I have 5 apples.", "en", "numbers"),
    ("Um 15 Uhr treffen wir uns.", "We meet at 3 p.m.", "en", None),
    ("Le 3 mai", "5月3日", "zh", None),
    ("Le 3 mai", "5月4日", "zh", "numbers"),
    ("Es kostet 1.000 Euro.", "It costs 1,000 euros.", "en", None),
    ("1,5 Liter", "1.5 litres", "en", None),
    ("1,5 Millionen Menschen", "150万人", "zh", None),
    ("Ich habe 3 Äpfel.", "我有三个苹果。", "zh", None),
    ("Ich habe 20 Äpfel und 2 Birnen.", "我有20个苹果和两个梨。", "zh", None),
    ("저는 매일 아침 공원에서 달리기를 합니다.", "저는 매일 아침 공원에서 달리기를 합니다.", "zh", "copy"),
    ("OK", "OK", "zh", None),
    ("Paris", "Paris", "de", None),
    ("저는 매일 아침 공원에서 달리기를 합니다.", "I run in the park.", "zh", "language"),
    ("저는 공원에서", "我跑步跑步跑步跑步跑步跑步跑步跑步跑步", "zh", "repeated"),
    ("Hello", "...", "zh", "empty"),
    ("I like tea.", "私はお茶が好きです。", "zh", "language"),
    ("I like tea.", "J'aime beaucoup le thé vert et le café noir du matin.", "de", "language"),
    ("I like tea.", "Me gusta mucho el té verde y el café negro de la mañana.", "pt", None),
    ("Haha", "哈哈哈哈哈哈哈哈", "zh", None),
    ("1.000.000 Leute", "1000000 people", "en", None),
    ("Ja, gut", "yes, yes, yes, yes, yes, yes, yes, good", "en", "repeated"),
    ("I like tea", "iPhone 15 很好", "zh", None),
    ("in 2020", "im Jahr 2021", "de", "numbers"),
    ("We open at 9:30.", "我们九点半开门。", "zh", None),
    ("We open at 9:30.", "我们10:30开门。", "zh", "numbers"),
    ("Flight 815 leaves at 18:45", "815航班6:45起飞", "zh", None),
    ("Vergleiche Alpha, Gamma und Omega.", "比较 Alpha、Gamma 和 Omega。", "zh", None),
    ("Vergleiche Alpha und Omega.", "Compare Alpha and Omega.", "zh", "language"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "given", "target", "kind"), CASES)
def test_faults(text: str, given: str, target: str, kind: str | None) -> None:
    found = fault(text, given, target)
    assert (found.kind if found else None) == kind


def test_what_a_fault_shows() -> None:
    numbers = fault("Der Bus 12 fährt um 9:30.", "Bus 12 leaves at 10:30.", "en")
    assert numbers is not None
    assert (numbers.found, numbers.expected) == ("10", "9")
    language = fault("I like tea.", "私はお茶が好きです。", "zh")
    assert language is not None
    assert (language.found, language.expected) == ("ja", "zh")
