"""Choose the language of a detection, and refuse the languages that are not supported."""

import re
import threading
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, get_args

from haluagent.errors import ConfigError
from haluagent.types import Language

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

GAP: dict[Language, str] = {"en": " ", "zh": ""}  # between two sentences

# Han ideographs: the unified block, extension A, compatibility ideographs, and the supplementary planes.
HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")

# The first word of a character's Unicode name is its script.
FOREIGN_SCRIPTS = {
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "CYRILLIC": "text in Cyrillic script",
    "ARABIC": "text in Arabic script",
    "HEBREW": "Hebrew",
    "GREEK": "Greek",
    "THAI": "Thai",
    "DEVANAGARI": "text in Devanagari script",
    "BENGALI": "Bengali",
    "TAMIL": "Tamil",
    "TELUGU": "Telugu",
    "GEORGIAN": "Georgian",
    "ARMENIAN": "Armenian",
    "KHMER": "Khmer",
    "LAO": "Lao",
    "MYANMAR": "Burmese",
}
LATIN_LANGUAGES = {
    "en": "English",
    "fr": "French",
    "de": "German",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "sv": "Swedish",
    "da": "Danish",
    "fi": "Finnish",
    "pl": "Polish",
    "cs": "Czech",
    "ro": "Romanian",
    "hu": "Hungarian",
    "tr": "Turkish",
    "vi": "Vietnamese",
    "id": "Indonesian",
}
# Words that English alone has: with one of them the statistical identifier need not even be loaded.
ENGLISH_WORDS = re.compile(
    r"\b(the|what|who|whose|how|which|where|when|why|and|does|were|with|from|about|tell|give|write|explain|describe|"
    r"translate)\b",
    re.I,
)

SAMPLE = 4000  # characters looked at: a language shows early, and a long text costs no more than a short one
MIN_FOREIGN_LETTERS = 4  # "α + β" is a formula, not Greek
MIN_LATIN_LETTERS = 40
MIN_CONFIDENCE = 0.95
WRITTEN_HAN = 0.3  # the share of Han among the letters of a text in Chinese
MIXED, MOSTLY_HAN = 0.15, 0.5  # shares of Han among words; in between, the response decides

_NOT_PROSE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|“[^”]*”|\"[^\"\n]*\"|「[^」]*」|『[^』]*』", re.S)
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")


def han_ratio(text: str) -> float:
    """Return the share of Han characters among the letters of `text`, in [0, 1]; 0.0 where it has no letters."""
    letters = sum(map(str.isalpha, text))
    return len(HAN.findall(text)) / letters if letters else 0.0


def written_in(text: str) -> Language:
    """Return the nearer of the two languages, of any text: Chinese where three in ten letters are Han. Never raises."""
    return "zh" if han_ratio(text) > WRITTEN_HAN else "en"


def detect(question: str, response: str) -> Language:
    """Return the language to hold the detection in, "en" or "zh".

    It is the language the question is asked in: what the question quotes or hands over for translation does
    not count. The response decides where the question leaves it open, or is blank. A text without letters is
    English. Raises ConfigError where the response is blank, or where both are clearly in a language other than
    these two.
    """
    _refuse_blank(response)
    answer = response[:SAMPLE]
    prose = own_prose(question[:SAMPLE] if question.strip() else answer)
    foreign = _foreign_script(prose)
    long_enough = sum(map(str.isalpha, prose)) >= MIN_FOREIGN_LETTERS
    if foreign and long_enough and foreign == _foreign_script(answer):
        raise _not_supported(foreign)
    share = _han_share(prose)
    if share is None or MIXED <= share < MOSTLY_HAN:
        answer_share = _han_share(answer)
        if answer_share is not None:
            share = answer_share
    if share is not None and share >= MIXED:
        return "zh"
    foreign = _foreign_latin(prose, answer)
    if foreign:
        raise _not_supported(foreign)
    return "en"


def choose(wanted: str, question: str, response: str) -> Language:
    """Return `wanted`, or what `detect` finds where it is "auto". Raises ConfigError as `detect` does, or for another
    name."""
    if wanted == "auto":
        return detect(question, response)
    _refuse_blank(response)
    if wanted not in get_args(Language):
        raise ConfigError(f"language {wanted!r} is not known: use auto, en or zh")
    return "zh" if wanted == "zh" else "en"


def _refuse_blank(response: str) -> None:
    if not response.strip():
        raise ConfigError("the response is empty: there is nothing to check without it")


def own_prose(question: str) -> str:
    """Return what the asker wrote in their own words: without quotations, code and addresses, and without the material
    after an instruction and its colon, as in "Translate into English: ..."."""
    prose = _NOT_PROSE.sub(" ", question)
    if not any(map(str.isalpha, prose)):
        return question
    instruction = re.split(r"[:：\n]", prose.strip(), maxsplit=1)[0]
    # One word before a colon ("Question:", "问题：") is a label, not an instruction.
    words = len(_LATIN_WORD.findall(instruction)) + len(HAN.findall(instruction)) // 2
    return instruction if words >= 3 else prose


def _han_share(text: str) -> float | None:
    """Return the share of Han characters among words, where a character counts as one and a Latin word as one. None
    without either."""
    han, latin = len(HAN.findall(text)), len(_LATIN_WORD.findall(text))
    return han / (han + latin) if han + latin else None


def _foreign_script(text: str) -> str | None:
    """Return the language or script that most letters are written in, if it is neither Latin nor Han."""
    counts: dict[str, int] = {}
    letters = [character for character in text if not character.isascii() and character.isalpha()]
    for character in letters:
        script = unicodedata.name(character, "").split(" ")[0]
        if script in FOREIGN_SCRIPTS:
            language = FOREIGN_SCRIPTS[script]
            counts[language] = counts.get(language, 0) + 1
    if not counts:
        return None
    language, count = max(counts.items(), key=lambda item: item[1])
    if language == "Japanese" and count >= 0.25 * len(HAN.findall(text)):
        count += len(HAN.findall(text))  # beside kana, Han characters are kanji
    return language if count > 0.5 * sum(map(str.isalpha, text)) else None


def _foreign_latin(prose: str, answer: str) -> str | None:
    """Return the name of a language other than English that the question and the response are both surely written
    in."""
    if ENGLISH_WORDS.search(prose):
        return None
    asked, answered = (" ".join(_LATIN_WORD.findall(text)) for text in (prose, answer))
    if not asked or len(asked) + len(answered) < MIN_LATIN_LETTERS:
        return None
    classify = identifier().classify
    language, confidence = classify(f"{asked} {answered}")
    # Each alone must agree: an English question may ask for an answer in another language, or hold foreign names.
    if language == "en" or confidence < MIN_CONFIDENCE or classify(asked)[0] != language:
        return None
    if len(answered) >= MIN_LATIN_LETTERS and classify(answered)[0] != language:
        return None
    return LATIN_LANGUAGES[language]


_loading = threading.Lock()


def identifier(codes: tuple[str, ...] = tuple(LATIN_LANGUAGES)) -> "LanguageIdentifier":
    """Return an identifier that tells these languages apart, as far as it knows them; it is loaded at the first call,
    once, however many threads wait for it."""
    with _loading:
        return _load(codes)


@lru_cache(maxsize=4)
def _load(codes: tuple[str, ...]) -> "LanguageIdentifier":
    # Imported here: numpy and the model take a fifth of a second or more, and most texts are decided without them.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages([code for code in codes if code in found.nb_classes])
    return found


def _not_supported(language: str) -> ConfigError:
    return ConfigError(f"{language} is not supported: write Chinese or English, or say --lang zh or --lang en")
