"""Languages by their names in Chinese and English, as ISO 639-1 codes, and the language a text is written in."""

import re
import unicodedata
from collections import Counter

from haluagent.text.language import identifier
from haluagent.types import Language

# code: English name, then Chinese names; 语 may also be written 文 (德文) or 话 where that is said.
_NAMES = """
en English 英语 英文|zh Chinese 中文 汉语 汉字 华语 国语 普通话 简体中文 繁体中文 繁體中文 中国话|ja Japanese 日语 日文 日本语
ko Korean 韩语 韩文 朝鲜语 韩国语|de German 德语 德文|fr French 法语 法文|es Spanish 西班牙语 西班牙文 西语 西文
it Italian 意大利语 意大利文 意语|pt Portuguese 葡萄牙语 葡萄牙文 葡语 葡文|ru Russian 俄语 俄文|ar Arabic 阿拉伯语 阿拉伯文
nl Dutch 荷兰语 荷兰文|sv Swedish 瑞典语 瑞典文|da Danish 丹麦语 丹麦文|no Norwegian 挪威语 挪威文|fi Finnish 芬兰语 芬兰文
is Icelandic 冰岛语|pl Polish 波兰语 波兰文|cs Czech 捷克语 捷克文|sk Slovak 斯洛伐克语|sl Slovenian 斯洛文尼亚语
hr Croatian 克罗地亚语|sr Serbian 塞尔维亚语|bg Bulgarian 保加利亚语|ro Romanian 罗马尼亚语|hu Hungarian 匈牙利语 匈牙利文
uk Ukrainian 乌克兰语|el Greek 希腊语 希腊文|tr Turkish 土耳其语 土耳其文|he Hebrew 希伯来语 希伯来文|fa Persian 波斯语 波斯文
hi Hindi 印地语 印度语|bn Bengali 孟加拉语|ta Tamil 泰米尔语|te Telugu 泰卢固语|ur Urdu 乌尔都语|th Thai 泰语 泰文
vi Vietnamese 越南语 越南文 越语|id Indonesian 印尼语 印度尼西亚语|ms Malay 马来语 马来文|tl Tagalog 他加禄语 菲律宾语
km Khmer 高棉语|lo Lao 老挝语|my Burmese 缅甸语|mn Mongolian 蒙古语 蒙古文|ka Georgian 格鲁吉亚语|hy Armenian 亚美尼亚语
lt Lithuanian 立陶宛语|lv Latvian 拉脱维亚语|et Estonian 爱沙尼亚语|ca Catalan 加泰罗尼亚语|ga Irish 爱尔兰语|cy Welsh 威尔士语
sw Swahili 斯瓦希里语|la Latin 拉丁语 拉丁文|eo Esperanto 世界语|sq Albanian 阿尔巴尼亚语|eu Basque 巴斯克语
"""
_MORE = {"mandarin": "zh", "simplified chinese": "zh", "traditional chinese": "zh", "farsi": "fa", "filipino": "tl",
         "slovene": "sl", "brazilian portuguese": "pt", "castilian": "es", "日本話": "ja"}  # fmt: skip
# One character stands for a language only where the phrase says so: 中译英, 日译中.
SHORT_NAMES = {"中": "zh", "汉": "zh", "英": "en", "日": "ja", "韩": "ko", "德": "de", "法": "fr", "西": "es", "意": "it",
               "葡": "pt", "俄": "ru"}  # fmt: skip

_ENTRIES = [entry.split() for entry in re.split(r"[|\n]", _NAMES) if entry.strip()]
CODES = {name.lower(): code for code, *names in _ENTRIES for name in names} | _MORE
_SHOWN: dict[Language, dict[str, str]] = {
    "en": {code: english for code, english, *_ in _ENTRIES},
    "zh": {code: chinese for code, _, chinese, *_ in _ENTRIES},
}
ENGLISH_NAMES = "|".join(sorted((name for name in CODES if name.isascii()), key=len, reverse=True))
CHINESE_NAMES = "|".join(sorted((name for name in CODES if not name.isascii()), key=len, reverse=True))
"""Alternatives for a regular expression, longest first; the English ones are to be matched without regard to case."""

# The scripts a language is written in, by the first word of a character's Unicode name; Latin where nothing is said.
_SCRIPTS = {
    "zh": "CJK", "ja": "HIRAGANA KATAKANA CJK", "ko": "HANGUL", "ru": "CYRILLIC", "uk": "CYRILLIC", "bg": "CYRILLIC",
    "sr": "CYRILLIC LATIN", "mn": "CYRILLIC MONGOLIAN", "el": "GREEK", "ar": "ARABIC", "fa": "ARABIC", "ur": "ARABIC",
    "he": "HEBREW", "hi": "DEVANAGARI", "bn": "BENGALI", "ta": "TAMIL", "te": "TELUGU", "th": "THAI", "km": "KHMER",
    "lo": "LAO", "my": "MYANMAR", "ka": "GEORGIAN", "hy": "ARMENIAN",
}  # fmt: skip
_ALONE = {"HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "GREEK": "el", "HEBREW": "he", "THAI": "th", "KHMER": "km",
          "LAO": "lo", "MYANMAR": "my", "BENGALI": "bn", "TAMIL": "ta", "TELUGU": "te", "GEORGIAN": "ka",
          "ARMENIAN": "hy"}  # fmt: skip
# Languages that a statistical identifier takes for one another.
_ALIKE = ({"no", "nb", "nn", "da", "sv"}, {"es", "pt", "ca", "gl", "it", "an", "oc"}, {"cs", "sk"}, {"id", "ms", "jv"},
          {"hr", "sr", "bs", "sl"}, {"nl", "af", "de", "lb"})  # fmt: skip

LIKELY, SURE = 0.9, 0.99  # the identifier's probability, to name a language, and to speak against a translation
SOME, ENOUGH = 12, 40  # letters, below which it is not asked for the one and the other


def code_of(name: str) -> str | None:
    """Return the ISO 639-1 code of a language named in Chinese or English; None for a name that is not known."""
    return CODES.get(re.sub(r"\s+", " ", name.strip().lower()))


def name_of(code: str, language: Language) -> str:
    """Return the name of a language in Chinese or English; its code where that is not known here."""
    return _SHOWN[language].get(code, code)


_WEIGHTS = {"CJK": 3, "HIRAGANA": 2, "KATAKANA": 2, "HANGUL": 2}  # letters of an alphabet that one of these stands for


def scripts(text: str) -> Counter[str]:
    """Return how much of each script a text has: LATIN, CJK (Han), HIRAGANA, HANGUL, CYRILLIC, …, in letters of an
    alphabet."""
    found: Counter[str] = Counter()
    for letter in filter(str.isalpha, text):
        script = unicodedata.name(letter, "?").split()[0]
        found[script] += _WEIGHTS.get(script, 1)
    return found


def share_written(text: str, code: str) -> float:
    """Return the share in [0, 1] of a text that is in the scripts of a language; 1 for a text without letters.

    A text with kana is not Chinese, and one of some length without them is not Japanese.
    """
    found = scripts(text)
    total = found.total()
    if not total:
        return 1.0
    if code == "zh" and found["HIRAGANA"] + found["KATAKANA"] > 0.1 * total:
        return 0.0
    if code == "ja" and total > ENOUGH and not found["HIRAGANA"] + found["KATAKANA"]:
        return 0.0
    return sum(found[script] for script in _SCRIPTS.get(code, "LATIN").split()) / total


def guess(text: str, sure: float = LIKELY, enough: int = SOME) -> str | None:
    """Return the language a text is written in, with a probability of at least `sure`; None where its script has many
    and it has fewer letters than `enough`."""
    found = scripts(text)
    total = found.total()
    if not total:
        return None
    if found["HIRAGANA"] + found["KATAKANA"] > 0.1 * total:
        return "ja"
    script, count = found.most_common(1)[0]
    if count < 0.5 * total:
        return None
    if script == "CJK":
        return "zh"
    if script in _ALONE:
        return _ALONE[script]
    if total < enough:
        return None
    language, probability = identifier(tuple(code for code, *_ in _ENTRIES)).classify(text)
    return language if probability >= sure else None


def differs(text: str, code: str) -> str | None:
    """Return another language that a text is surely written in, where it should be in `code` ("" where it is not known
    which); None where it may be right.

    Only its script is believed, or a text of some length in a language that is not taken for `code`.
    """
    written = guess(text, SURE, ENOUGH)
    if share_written(text, code) < 0.3:
        return written or ""
    if written is None or written == code or any({written, code} <= group for group in _ALIKE):
        return None
    return written if _SCRIPTS.get(written) == _SCRIPTS.get(code) else None
