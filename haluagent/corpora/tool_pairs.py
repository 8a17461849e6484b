"""Labelled pairs about tool calls, written to fit the wordings `relevance` and `authentic` of a calibration.

They ask whether a tool is relevant to a request, and whether values that are not in a text word for word still come
from it.
"""

from collections.abc import Iterator

from haluagent.checks.reliability.judge import mention_of, request_for
from haluagent.checks.runs.records import ToolSpec
from haluagent.corpora.pairs import LabelledPair
from haluagent.types import Language

_TOOLS = {
    "recipes": "Kitchen API: recipes that use given ingredients",
    "ferries": "Harbour: departures of ferries between two ports",
    "lyrics": "Songs | Lyrics: the words of a song",
    "exchange": "Money: converts an amount between currencies",
    "loans": "Library: the books that a member has on loan",
    "plants": "Garden: how to water and prune a plant",
    "issues": "Code host: open issues of a repository",
    "tides": "Sea API: times of high and low water at a place",
    "dentists": "Clinics: dentists near a place, with free appointments",
    "marathon": "Sports | Runs: results of a marathon",
}
_REQUESTS: dict[Language, dict[str, str]] = {
    "en": {
        "recipes": "I have leeks and two eggs left. What could I cook tonight?",
        "ferries": "When does the first boat leave Rostock for Trelleborg tomorrow?",
        "lyrics": "How do the words of 'Blue Lantern' by the Harbor Kids go? I want to sing it at a wedding.",
        "exchange": "What are 250 Danish crowns in euros?",
        "loans": "Which books do I still have to bring back?",
        "plants": "My ficus drops its leaves. How often should it get water?",
        "issues": "Are there bugs reported for oss-lab/tinycache that nobody has closed?",
        "tides": "When can we walk out to the island near Husum on Sunday without getting wet feet?",
        "dentists": "I have toothache and I'm in Aarhus. Who could see me today?",
        "marathon": "How did my sister Ida Holm do in last year's run in Bergen?",
    },
    "zh": {
        "recipes": "冰箱里只剩韭葱和两个鸡蛋，今晚能做什么菜？",
        "ferries": "明天从罗斯托克去特雷勒堡的第一班船几点开？",
        "lyrics": "《蓝灯笼》这首歌怎么唱？我想在婚礼上唱。",
        "exchange": "250丹麦克朗合多少欧元？",
        "loans": "我还有哪些书没还给图书馆？",
        "plants": "我的榕树掉叶子，多久浇一次水？",
        "issues": "oss-lab/tinycache 这个项目还有哪些没解决的问题？",
        "tides": "周日什么时候可以不湿脚走到胡苏姆附近的小岛？",
        "dentists": "我牙疼，人在奥胡斯，今天谁能给我看？",
        "marathon": "我姐姐去年在卑尔根跑得怎么样？",
    },
}
# A text, values that follow from it, and values of the same kind that do not.
_VALUES: dict[Language, tuple[tuple[str, dict[str, str], dict[str, str]], ...]] = {
    "en": (
        (
            "I have leeks and two eggs left. What could I cook?",
            {"ingredients": "leek, egg"},
            {"ingredients": "chicken, rice"},
        ),
        (
            "What are 250 Danish crowns in euros?",
            {"source": "DKK", "target": "EUR"},
            {"source": "USD", "target": "GBP"},
        ),
        ("When is low tide in Husum on 3 May 2026?", {"date": "2026-05-03"}, {"date": "2025-11-17"}),
        (
            "My ficus drops its leaves, how often should it get water?",
            {"plant": "Ficus benjamina"},
            {"plant": "Monstera deliciosa"},
        ),
        ("Which books do I still have to bring back?", {"query": "borrowed books"}, {"member_id": "10024"}),
        (
            "Are there open bugs in my project?",
            {"state": "open", "type": "bug"},
            {"owner": "octocat", "repository": "hello-world"},
        ),
        ("Find me a dentist in the capital of Norway.", {"city": "Oslo"}, {"city": "Bergen"}),
        (
            "Show me the first twenty runners of the women's race.",
            {"limit": "20", "gender": "female"},
            {"limit": "500", "runner": "Ida"},
        ),
        (
            "How does that song about a lantern go, the one I like?",
            {"keyword": "lanterns"},
            {"title": "Fireflies", "artist": "Owl City"},
        ),
        (
            "Which ferries leave Rostock after lunch?",
            {"from_time": "13:00"},
            {"ship": "MS Helene", "booking": "RK-2210"},
        ),
    ),
    "zh": (
        ("冰箱里只剩韭葱和两个鸡蛋，能做什么菜？", {"ingredients": "韭葱,蛋"}, {"ingredients": "鸡肉,米饭"}),
        ("250丹麦克朗合多少欧元？", {"source": "DKK", "target": "EUR"}, {"source": "USD", "target": "GBP"}),
        ("胡苏姆2026年5月3日什么时候退潮？", {"date": "2026-05-03"}, {"date": "2025-11-17"}),
        ("我的榕树掉叶子，多久浇一次水？", {"plant": "Ficus"}, {"plant": "龟背竹"}),
        ("我还有哪些书没还？", {"query": "借阅的书"}, {"member_id": "10024"}),
        (
            "我的项目里还有没解决的缺陷吗？",
            {"state": "open", "type": "bug"},
            {"owner": "octocat", "repository": "hello-world"},
        ),
        ("在挪威首都帮我找个牙医。", {"city": "奥斯陆"}, {"city": "卑尔根"}),
        ("列出女子组的前二十名。", {"limit": "20", "gender": "female"}, {"limit": "500", "runner": "林若溪"}),
        ("那首讲灯笼的歌怎么唱？", {"keyword": "灯笼歌"}, {"title": "萤火虫", "artist": "周子衿"}),
        ("午饭后从罗斯托克开的船有哪些？", {"from_time": "13:00"}, {"ship": "海伦号", "booking": "RK-2210"}),
    ),
}


def make() -> list[LabelledPair]:
    """Return all pairs, half of them wrong, with those of one text adjacent."""
    return [pair for language in _REQUESTS for pair in (*_relevance(language), *_authentic(language))]


def _relevance(language: Language) -> Iterator[LabelledPair]:
    names = list(_TOOLS)
    for number, (name, request) in enumerate(_REQUESTS[language].items()):
        for wrong, other in ((False, name), (True, names[(number + 3) % len(names)])):
            tool = ToolSpec(name=other, description=_TOOLS[other])
            yield _pair("relevance", language, number, request, request_for(tool, language), wrong)


def _authentic(language: Language) -> Iterator[LabelledPair]:
    for number, (text, *both) in enumerate(_VALUES[language]):
        for wrong, values in zip((False, True), both, strict=True):
            yield _pair("authentic", language, number, text, mention_of(values, language), wrong)


def _pair(use: str, language: Language, number: int, text: str, claim: str, wrong: bool) -> LabelledPair:
    group = f"{use}:{language}:{number}"
    return LabelledPair.model_validate(
        {"id": f"{group}:{'wrong' if wrong else 'right'}", "group": group, "language": language, "use": use, "kind": use,
         "question": "", "claim": claim, "wrong": wrong, "half": number % 2, "reference": text}
    )  # fmt: skip
