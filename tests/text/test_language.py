"""The language of a detection is the one the question is asked in."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haluagent.errors import ConfigError
from haluagent.text.language import choose, detect, han_ratio


@pytest.mark.parametrize(
    ("question", "response", "expected"),
    [
        ("What is the capital of France?", "Paris.", "en"),
        ("法国的首都是哪里？", "巴黎。", "zh"),
        ("法国的首都是哪里？", "Paris", "zh"),
        ("将以下意大利语翻译成英文: Parli inglese?", "Do you speak English?", "zh"),
        ("Translate the following Spanish into Chinese: ¡Hola!", "你好！", "en"),
        ("Translate into English: 今天天气很好，我们去公园玩吧。", "The weather is good today.", "en"),
        ("请翻译成中文：The weather is good today and we all go to the park.", "今天天气很好", "zh"),
        ("Translate this into Russian please: hello", "Привет", "en"),
        ("翻译成日语：你好吗", "お元気ですか", "zh"),
        ("Question: 法国的首都是哪里?", "巴黎", "zh"),
        ('What does "你好" mean?', "hello", "en"),
        ("Who wrote 红楼梦 and when?", "Cao Xueqin wrote it.", "en"),
        ("什么是 large language model？", "一种模型", "zh"),
        ("1+1=?", "69", "en"),
        ("1+1=?", "答案是2", "zh"),
        ("69", "69", "en"),
        ("α + β = ?", "γ", "en"),
        ("🎉", "🎉", "en"),
        ("Name three footballers", "Gianluigi Donnarumma, Paolo Maldini, Francesco Totti, Alessandro Del Piero", "en"),
        ("Tell me about Gabriel García Márquez", "Gabriel García Márquez fue un escritor colombiano.", "en"),
        ("Translate to French: I am happy to see you", "Je suis heureux de vous voir aujourd'hui, mon ami.", "en"),
    ],
)
def test_the_question_decides(question: str, response: str, expected: str) -> None:
    assert detect(question, response) == expected


@pytest.mark.parametrize(
    ("question", "response", "named"),
    [
        ("日本の首都はどこですか？", "東京です。", "Japanese"),
        ("대한민국의 수도는 어디입니까?", "서울입니다", "Korean"),
        ("Какая столица России?", "Москва", "Cyrillic"),
        ("Quelle est la capitale de la France ?", "La capitale de la France est Paris.", "French"),
        ("Wie heißt die Hauptstadt von Deutschland?", "Die Hauptstadt von Deutschland ist Berlin.", "German"),
        ("¿Cuál es la capital de España?", "La capital de España es Madrid, una ciudad grande.", "Spanish"),
    ],
)
def test_other_languages_are_refused(question: str, response: str, named: str) -> None:
    with pytest.raises(ConfigError, match=f"{named}.*not supported.*--lang zh or --lang en"):
        detect(question, response)


@pytest.mark.parametrize("question", ["a", ""])
def test_a_blank_response_is_refused(question: str) -> None:
    with pytest.raises(ConfigError, match="the response is empty"):
        detect(question, " \n\u3000")


@pytest.mark.parametrize(
    ("response", "language"),
    [("The tower is old.", "en"), ("这座塔很古老。", "zh"), ("42", "en"), ("塔 (tower) 很古老。", "zh")],
)
def test_without_a_question_the_response_decides(response: str, language: str) -> None:
    assert detect("", response) == detect(" \n", response) == choose("auto", "", response) == language


def test_without_a_question_other_languages_are_refused_too() -> None:
    with pytest.raises(ConfigError, match="Japanese is not supported"):
        detect("", "これは猫です。")


def test_han_ratio() -> None:
    assert han_ratio("") == han_ratio("123 !?") == 0.0
    assert han_ratio("你好，123") == 1.0
    assert han_ratio("ab你好") == 0.5
    assert han_ratio("𠮷") == 1.0


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_text_has_an_answer(question: str, response: str) -> None:
    try:
        assert detect(question, response) in ("zh", "en")
    except ConfigError as error:
        assert "\n" not in str(error)


def test_numpy_is_not_loaded_for_plain_english() -> None:
    code = (
        "import sys; from haluagent.text.language import detect; "
        "detect('What is the capital of the country of France?', 'The capital of the country is Paris.'); "
        "detect('法国的首都是哪里？', '巴黎'); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
