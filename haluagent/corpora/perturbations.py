"""Make statements from questions and answers, and perturb them: replace a number, a name or an answer with another
one."""

import random
import re
from collections.abc import Iterable

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?![\w,]|\.\d)|(?<![\d.])\d+(?:\.\d+)?(?=[\u3400-\u9fff])")
_YEAR = range(1000, 2100)

_FUNCTION = r"(?:of|the|de|van|von)"
_NAME = re.compile(rf"\b[A-Z][\w'’-]*(?:(?: {_FUNCTION}){{0,2}} [A-Z][\w'’-]*)*")
_NO_NAMES = frozenset(
    """
    A An The In On At It He She They His Her Their Its This That These There As After Before Since During For From
    January February March April May June July August September October November December
    """.split()
)

_WHICH_IS = re.compile(r"(?:What|Who|Which) (is|was|are|were) (the .+?)\s*\?", re.IGNORECASE)
_WHO_DID = re.compile(r"Who (?!(?:is|was|are|were|did|does|do|has|had|have|else|would)\b)([a-z]\w+ .+?)\s*\?")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_TAIL = re.compile(
    r",? (?:which|who|that|where|when|while|published|based|located|starring|known|released|written|directed|produced|"
    r"featuring|founded|created|formed|developed|and|but|as)\b.*"
)
_VERB = re.compile(r"\b(?:is|was|are|were|has|had|\w+ed)\b")

_ASKS_ZH: dict[str, re.Pattern[str]] = {
    "who": re.compile(r"[谁誰]|哪位\w{0,2}?(?=[^\w]|$)|什[么麼]人"),
    "when": re.compile(r"什[么麼][时時][候间間]|何[时時]|[哪何]一?年|哪一?天"),
    "where": re.compile(
        r"哪[里裡儿兒]|什[么麼]地[方区區]|何[处處]|哪[个個](?:国家|國家|城市|地区|地區|地方|省份?|县|縣|市)"
    ),
    "count": re.compile(
        r"(?:多少|几|幾)(?:[名个個位人座所家部张張只隻种種年天岁歲米层層次场場届屆元美人斤里站条條平方千万萬亿億分公厘毫克吨噸]{1,3})"
    ),
    "which": re.compile(
        r"哪一?[个個家部所座种種支](?:机构|機構|公司|大学|大學|学校|學校|球队|球隊|电影|電影|影片|作品|部门|部門|组织|組織|专辑|專輯|朝代|时期|時期|行业|行業)"
    ),
    "what": re.compile(r"什[么麼](?=[？?]|$)"),
}
_NOT_ASKED = re.compile(r"[为為]什[么麼]|[为為]何|怎[么麼]|怎[样樣]|如何|是否|什[么麼][样樣]|哪些|哪[几幾]")
_LONGEST_ZH, _LONGEST_EN = 16, 6  # the maximum characters and words of an answer within a sentence


def statement(question: str, answer: str, language: str) -> str | None:
    """Return the answer as a sentence in the words of its question; None if the form of the question does not allow it.
    The words around the answer do not depend on it."""
    return _statement_zh(question, answer) if language == "zh" else _statement_en(question, answer)


def _statement_en(question: str, answer: str) -> str | None:
    answer = answer.strip().rstrip(".")
    if len(answer.split()) > _LONGEST_EN:
        return None
    if found := _WHICH_IS.fullmatch(question.strip()):
        verb, subject = found.groups()
        return f"{subject[0].upper()}{subject[1:]} {verb} {answer}."
    if found := _WHO_DID.fullmatch(question.strip()):
        return f"{answer[0].upper()}{answer[1:]} {found.group(1)}."
    return None


def asks(question: str) -> str | None:
    """Return what a Chinese question asks for (who, when, where, count, which, what); None if that is unclear."""
    if _NOT_ASKED.search(question):
        return None
    found = [(kind, match) for kind, pattern in _ASKS_ZH.items() for match in pattern.finditer(question)]
    return found[0][0] if len(found) == 1 else None


def _statement_zh(question: str, answer: str) -> str | None:
    kind, answer = asks(question), answer.strip().rstrip("。")
    if kind is None or len(answer) > _LONGEST_ZH or re.search(r"[，；。]", answer):
        return None
    found = _ASKS_ZH[kind].search(question)
    assert found is not None
    before, after = question[: found.start()], question[found.end() :].rstrip("？? ")
    if before.endswith("第"):
        before = before.removesuffix("第") if answer.startswith("第") else before
    if kind == "count" and answer[-1:].isdigit():
        answer += re.sub(r"^(?:多少|几)", "", found.group())
    return f"{before}{answer}{after}。"


def shortened(sentence: str) -> str | None:
    """Return an English sentence without its asides and its last clause: entailed by the original, but not word for
    word. None if the rest is not a sentence or is identical."""
    plain = _ASIDE.sub("", sentence).strip()
    short = _TAIL.sub("", plain, count=1).rstrip(" .,;:")
    if plain[:1].islower() or len(short.split()) < 6 or not _VERB.search(short) or f"{short}." == sentence:
        return None
    return f"{short}."


def names(text: str) -> list[str]:
    """Return the distinct names in an English text, in order."""
    found = []
    for name in _NAME.findall(text):
        words = name.split()
        while words and (words[0] in _NO_NAMES or words[0].islower()):
            words = words[1:]
        if len(" ".join(words)) > 2:
            found.append(" ".join(words))
    return list(dict.fromkeys(found))


def another_name(name: str, text: str, chance: random.Random) -> str | None:
    """Return a name from the text that shares no word with `name`, preferably with as many words; None if there is
    none."""
    own = set(re.findall(r"\w{2,}", name.lower()))
    others = [other for other in names(text) if not own & set(re.findall(r"\w{2,}", other.lower()))]
    alike = [other for other in others if len(other.split()) == len(name.split())]
    return chance.choice(alike or others) if others else None


def replace_name(sentence: str, text: str, chance: random.Random) -> str | None:
    """Return the sentence with one of its names replaced by another name from the text; None if that is impossible."""
    own = names(sentence)
    for name in chance.sample(own, len(own)):
        others = "\n".join(other for other in names(text) if other not in sentence)
        other = another_name(name, others, chance)
        if other:
            return sentence.replace(name, other, 1)
    return None


def replace_number(sentence: str, text: str, chance: random.Random) -> str | None:
    """Return the sentence with one of its numbers replaced, either by a number of the same length from the text or by a
    nearby number that is not in the text. None if the sentence has no number."""
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return None
    place = chance.choice(found)
    known = set(_NUMBER.findall(text))
    others = sorted(other for other in known if other not in sentence and len(other) == len(place.group()))
    new = chance.choice(others) if others and chance.random() < 0.5 else _near(place.group(), known, chance)
    return sentence[: place.start()] + new + sentence[place.end() :]


def _near(number: str, known: Iterable[str], chance: random.Random) -> str:
    plain = number.replace(",", "")
    if "." in plain:
        whole, _, decimals = plain.partition(".")
        return f"{int(whole) + chance.randint(1, 3)}.{decimals}"
    value, taken = int(plain), {other.replace(",", "") for other in known}
    step = chance.randint(2, 9) if value in _YEAR else max(1, round(value * chance.choice([0.1, 0.3, 0.5, 1.0])))
    while str(value + step) in taken:
        step += 1
    new = value + step
    return f"{new:,}" if "," in number else str(new)
