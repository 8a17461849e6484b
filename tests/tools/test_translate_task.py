"""Questions that ask for a translation, with the exact text and the languages."""

import pytest

from haluagent.tools.translate.languages import code_of, guess, name_of
from haluagent.tools.translate.task import translation_task

ASKED = [
    ("将以下韩语翻译成中文：저는 매일 아침 공원에서 달리기를 합니다.", "저는 매일 아침 공원에서 달리기를 합니다.", "ko", "zh"),
    ("将以下韩语句子翻译成中文: 안녕하세요", "안녕하세요", "ko", "zh"),
    ("请将下面的德文翻译为英文：\nIch habe Hunger.", "Ich habe Hunger.", "de", "en"),
    ("把“今天天气很好”翻译成英语。", "今天天气很好", "zh", "en"),
    ('请把"Good morning"翻译成日文', "Good morning", None, "ja"),
    ("“谢谢”用法语怎么说？", "谢谢", "zh", "fr"),
    ("谢谢用法语怎么说？", "谢谢", "zh", "fr"),
    ("用西班牙语怎么说“我爱你”？", "我爱你", "zh", "es"),
    ("用西班牙语怎么说我爱你？", "我爱你", "zh", "es"),
    ("如何用俄语说“再见”？", "再见", "zh", "ru"),
    ("翻译：The cat sat on the mat and looked at me.", "The cat sat on the mat and looked at me.", "en", None),
    ("翻译成英文：他昨天没有来上课。", "他昨天没有来上课。", "zh", "en"),
    ("中译英：我喜欢读书。", "我喜欢读书。", "zh", "en"),
    ("请进行汉译英：我喜欢读书。", "我喜欢读书。", "zh", "en"),
    ("英译中：I like reading.", "I like reading.", "en", "zh"),
    ("我们明天上午十点开会。\n请把上面这句话翻译成德语。", "我们明天上午十点开会。", "zh", "de"),
    ("城里的房租越来越贵。翻译成英语", "城里的房租越来越贵。", "zh", "en"),
    ("把今天天气很好翻译成法语", "今天天气很好", "zh", "fr"),
    ("法语“bonjour”是什么意思？", "bonjour", "fr", "zh"),
    ("“gracias”在西班牙语中是什么意思？", "gracias", "es", "zh"),
    ("“ありがとう”是什么意思？", "ありがとう", "ja", "zh"),
    ("“ありがとう”的中文意思是什么？", "ありがとう", "ja", "zh"),
    ("“苹果”的英语是什么？", "苹果", "zh", "en"),
    ("苹果的英语怎么说？", "苹果", "zh", "en"),
    ("这句话从法语翻译成英语是什么：“Je ne sais pas.”", "Je ne sais pas.", "fr", "en"),
    ("请把下面这段话从法语翻译成中文：Je ne sais pas.", "Je ne sais pas.", "fr", "zh"),
    ("将这句意大利语翻译成繁体中文：“Buongiorno a tutti.”", "Buongiorno a tutti.", "it", "zh"),
    ("你能帮我把这句日语翻译成中文吗？「明日は雨が降ります。」", "明日は雨が降ります。", "ja", "zh"),
    ("下面这段话用英语怎么说：我没时间。", "我没时间。", "zh", "en"),
    ("请翻译以下句子为葡萄牙语：妈妈正在做饭。", "妈妈正在做饭。", "zh", "pt"),
    ("请翻译以下内容：\nМой дедушка родился в маленькой деревне.", "Мой дедушка родился в маленькой деревне.", "ru", None),
    ("Translate the following Korean sentence into English: 보고서를 제출해야 합니다.", "보고서를 제출해야 합니다.", "ko", "en"),
    ("Translate the following sentence from German to English: Der Eintritt ist frei.", "Der Eintritt ist frei.", "de", "en"),
    ("Please translate this text into French:\n\nI have never been to Canada.", "I have never been to Canada.", "en", "fr"),
    ("Translate to Spanish: The soup is too salty.", "The soup is too salty.", "en", "es"),
    ('Translate "Where is the station?" into Italian.', "Where is the station?", "en", "it"),
    ("Translate 'good night' from English to German.", "good night", "en", "de"),
    ("Translate good morning to Spanish.", "good morning", None, "es"),
    ('Can you translate "It\'s raining" into Japanese?', "It's raining", None, "ja"),
    ('How do you say "thank you" in French?', "thank you", "en", "fr"),
    ("How do you say good night in German?", "good night", "en", "de"),
    ("How would I say “where is the bathroom” in Portuguese?", "where is the bathroom", "en", "pt"),
    ('What does "gracias" mean in English?', "gracias", None, "en"),
    ('What does the Spanish word "gracias" mean?', "gracias", "es", "en"),
    ("What does “danke” mean in German?", "danke", "de", "en"),
    ('What is the Italian for "bread"?', "bread", "en", "it"),
    ("What is the French word for bread?", "bread", "en", "fr"),
    ('What\'s "cheese" in Dutch?', "cheese", "en", "nl"),
    ('What is the translation of "Guten Morgen" in English?', "Guten Morgen", None, "en"),
    ('What is the English translation of the Russian phrase "До свидания"?', "До свидания", "ru", "en"),
    ("English to French: The keys are under the red chair.", "The keys are under the red chair.", "en", "fr"),
    ("The meeting was cancelled.\nTranslate the above into Chinese.", "The meeting was cancelled.", "en", "zh"),
    ("I lost my passport at the airport. Translate this to Japanese, please.", "I lost my passport at the airport.", "en", "ja"),
    ("Provide an English translation of the following Korean text: 안녕하세요", "안녕하세요", "ko", "en"),
    ("Translate: Les clés sont sous la chaise rouge.", "Les clés sont sous la chaise rouge.", "fr", None),
    ("将以下日语翻译成中文：\n彼は「行かない」と言った。", "彼は「行かない」と言った。", "ja", "zh"),
    ('What does "안녕" mean?', "안녕", "ko", "en"),
    ("请翻译：“Je ne sais pas ce que je dois faire demain.”", "Je ne sais pas ce que je dois faire demain.", "fr", None),
    ("翻译一下：오늘 날씨가 좋아요", "오늘 날씨가 좋아요", "ko", None),
    ("翻译“오늘 날씨가 좋아요”", "오늘 날씨가 좋아요", "ko", None),
    ("Translate this: 오늘 날씨가 좋아요", "오늘 날씨가 좋아요", "ko", None),
    ("请用德语说“我饿了”。", "我饿了", "zh", "de"),
    ("请将以下英文翻译成中文，只输出译文：He bought a new bicycle.", "He bought a new bicycle.", "en", "zh"),
    ("将以下文本从英语翻译成法语：\nHe bought a new bicycle.\n\n要求：语言通顺。", "He bought a new bicycle.", "en", "fr"),
    ("“Hello”翻译成韩语是什么？", "Hello", None, "ko"),
    ("“好久不见”的日语翻译是什么？", "好久不见", "zh", "ja"),
    ('Please translate the sentence "Het regent" from Dutch into Chinese', "Het regent", "nl", "zh"),
]  # fmt: skip
NOT_ASKED = [
    "谁把《圣经》翻译成了德语？",
    "Who translated the Bible into German?",
    "When was the Bible translated into English?",
    "GDP是什么意思？",
    "“GDP”是什么意思？",
    'What does "serendipity" mean?',
    "Why is it hard to translate poetry into English?",
    "德国的首都是哪里？",
    "How do you say no to a friend?",
    "What is the capital of the French Republic?",
    "请用英语介绍一下自己。",
    "《百年孤独》什么时候翻译成中文的？",
    "What languages are spoken in Swiss schools?",
    '"Faust"由谁翻译成英语？',
    "Translate the following text into English.",
    "请把下面这句话翻译成英语。",
    "把冰箱门打开用法语怎么写作文的区别是什么",
    "鲁迅翻译了哪些作品？",
    'Which "Faust" translation into English is the best?',
    "What does “irony” mean in English literature?",
    "请写一段关于翻译行业的介绍：要求200字",
    "写一篇关于英语翻译的文章：300字",
    "“信达雅”是翻译的三个标准吗？",
    "Translate this Python code to Java: print(1)",
    "Write about translation: its history and future.",
    'Explain the meaning of "freedom".',
    "“英语”是世界上使用最广泛的语言吗？",
    "用中文回答：法国的首都是哪里？",
    "Answer in French: what is the capital of Spain?",
]  # fmt: skip


@pytest.mark.parametrize(("question", "text", "source", "target"), ASKED)
def test_a_translation_is_asked_for(question: str, text: str, source: str | None, target: str | None) -> None:
    task = translation_task(question)
    assert task is not None
    assert (task.text, task.source, task.target) == (text, source, target)
    assert question[slice(*task.span)] == text


@pytest.mark.parametrize("question", NOT_ASKED)
def test_no_translation_is_asked_for(question: str) -> None:
    assert translation_task(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "把" * 50_000,
        "translate translation 翻译 " * 4_000,
        "“a”" * 30_000,
        "how do you say " * 7_000,
        " " * 100_000 + "x",
        "将以下韩语翻译成中文：" + "저는 매일 아침. " * 10_000,
    ],
    ids=["ba", "translate", "quotes", "say", "spaces", "text"],
)
def test_a_long_question_takes_no_time(question: str) -> None:
    translation_task(question)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("德语", "de"), ("德文", "de"), ("日语", "ja"), ("日文", "ja"), ("繁体中文", "zh"), ("汉语", "zh"), ("英文", "en"),
        ("韩语", "ko"), ("葡萄牙语", "pt"), ("Traditional Chinese", "zh"), ("korean", "ko"), ("Brazilian Portuguese", "pt"),
    ],
)  # fmt: skip
def test_languages_by_name(name: str, code: str) -> None:
    assert code_of(name) == code


def test_names_of_languages() -> None:
    assert code_of("Klingon") is None
    assert (name_of("de", "en"), name_of("de", "zh"), name_of("xx", "zh")) == ("German", "德语", "xx")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("안녕하세요", "ko"), ("ありがとう", "ja"), ("我们明天开会。", "zh"), ("明日は雨です", "ja"), ("Hola", None), ("2 + 2", None),
        ("Les clés sont sous la chaise rouge de la cuisine.", "fr"),
    ],
)  # fmt: skip
def test_languages_are_guessed_only_where_it_is_sure(text: str, code: str | None) -> None:
    assert guess(text) == code
