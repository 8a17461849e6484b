"""The translation inside a response, and sentences that state one."""

import pytest

from haluagent.tools.translate.claim import translation_claim
from haluagent.tools.translate.given import given_translation

# response, the text to translate ("x" where it plays no part), the target, what is given
GIVEN = [
    ("Please bring the bill.", "계산서", "en", "Please bring the bill."),
    ("“Please bring the bill.”", "계산서", "en", "Please bring the bill."),
    ("The translation is: Please bring the bill.", "x", "en", "Please bring the bill."),
    ('The English translation of the sentence is:\n\n"Please bring the bill."', "x", "en", "Please bring the bill."),
    ("Here is the translation:\n**Please bring the bill.**", "x", "en", "Please bring the bill."),
    ("Sure! Here is the translation: Please bring the bill.", "x", "en", "Please bring the bill."),
    ("译文：请结账。", "x", "zh", "请结账。"),
    ("翻译成中文是：“请结账。”", "x", "zh", "请结账。"),
    ("这句话翻译成中文的意思是：请结账。", "x", "zh", "请结账。"),
    ("“谢谢”用法语说是“Merci”。", "谢谢", "fr", "Merci"),
    ("谢谢用法语说是 Merci beaucoup。", "谢谢", "fr", "Merci beaucoup"),
    ('In French, you say "merci".', "thank you", "fr", "merci"),
    ('In French, "thank you" is "merci".', "thank you", "fr", "merci"),
    ("In French, you say merci.", "thank you", "fr", "merci"),
    ("The Italian word for bread is pane.", "bread", "it", "pane"),
    ('"Gracias" means "thank you" in English.', "gracias", "en", "thank you"),
    ("他说：“我来了。”", "x", "zh", "他说：“我来了。”"),
    ('He said, "I\'m coming."', "x", "en", 'He said, "I\'m coming."'),
    ("我的姐姐每天早上在公园跑步。\n\n注：这是直译。", "x", "zh", "我的姐姐每天早上在公园跑步。"),
    ("我的猫喜欢睡觉。", "x", "zh", "我的猫喜欢睡觉。"),
    ("He translated the book.", "x", "en", "He translated the book."),
    ("I learn French.", "x", "en", "I learn French."),
    ("我每天学习英语。", "x", "zh", "我每天学习英语。"),
    ("The Japanese embassy is closed.", "x", "en", "The Japanese embassy is closed."),
    ("德语句子“Der Zug fährt ab.”翻译成中文是“火车出发。”", "Der Zug fährt ab.", "zh", "火车出发。"),
    ("“Bonjour”的意思是“你好”。", "bonjour", "zh", "你好"),
    ("“Bonjour”的意思是你好。", "bonjour", "zh", "你好"),
    ("Translation: I have a dog\nNote: informal", "x", "en", "I have a dog"),
    ("Der Satz lautet so.", "x", "de", "Der Satz lautet so."),
    ("这家餐厅有三样东西：汤、面和茶。", "x", "zh", "这家餐厅有三样东西：汤、面和茶。"),
    ("English: I have a dog.", "x", "en", "I have a dog."),
    ("He wrote in French: I am here.", "x", "en", "He wrote in French: I am here."),
]  # fmt: skip
CLAIMED = [
    ('"Gracias" means "thank you" in Spanish.', ("Gracias", "es", "thank you", "en")),
    ("“Bonjour”的意思是“你好”。", ("Bonjour", None, "你好", "zh")),
    ("法语“Bonjour”的意思是“你好”。", ("Bonjour", "fr", "你好", "zh")),
    ('The Spanish word "gracias" means "thank you".', ("gracias", "es", "thank you", "en")),
    ('The French word for "bread" is "pain".', ("pain", "fr", "bread", "en")),
    ('In French, "thank you" is "merci".', ("merci", "fr", "thank you", "en")),
    ('"Danke" is German for "thank you".', ("Danke", "de", "thank you", "en")),
    ('"Thank you" in Italian is "grazie".', ("grazie", "it", "Thank you", "en")),
    ('"Thank you" translates to "gracias" in Spanish.', ("gracias", "es", "Thank you", "en")),
    ("“谢谢”用法语说是“Merci”。", ("Merci", "fr", "谢谢", "zh")),
    ("“苹果”的英语是“apple”。", ("apple", "en", "苹果", "zh")),
    ("“ありがとう”意为“谢谢”。", ("ありがとう", "ja", "谢谢", "zh")),
    ("“你好” means “hello”.", ("你好", "zh", "hello", "en")),
    ('The word "Karaoke" means "empty orchestra" in Japanese.', ("Karaoke", "ja", "empty orchestra", "en")),
]  # fmt: skip
NOT_CLAIMED = [
    '"Bank" means "a financial institution".',
    "“内卷”的意思是“过度竞争”。",
    'He said "yes" and she said "no".',
    'She called it "art" and he called it "junk" in French.',
    "“道”的意思是“路”。",
]  # fmt: skip


@pytest.mark.parametrize(("response", "text", "target", "given"), GIVEN)
def test_the_translation_in_a_response(response: str, text: str, target: str, given: str) -> None:
    start, end = given_translation(response, text, target)
    assert response[start:end] == given


@pytest.mark.parametrize(("sentence", "claimed"), CLAIMED)
def test_a_sentence_states_a_translation(sentence: str, claimed: tuple[str, str | None, str, str]) -> None:
    claim = translation_claim(sentence)
    assert claim is not None
    assert (claim.text, claim.source, claim.given, claim.target) == claimed
    assert sentence[slice(*claim.span)] == claim.given


@pytest.mark.parametrize("sentence", NOT_CLAIMED)
def test_a_sentence_states_none(sentence: str) -> None:
    assert translation_claim(sentence) is None
