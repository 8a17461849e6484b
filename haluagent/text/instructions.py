"""Whether a length in a question is asked of the answer: the sentence around it is an instruction to write or answer.

A small grammar in each language. What it does not know is no instruction: better none than one that nobody gave.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from haluagent.types import Language

# One character for one, so that places stay: full-width forms, dashes, the typographic apostrophe.
_PLAIN = {0xFF01 + i: 0x21 + i for i in range(94)} | {ord("–"): "-", ord("—"): "-", ord("’"): "'", 0x3000: " "}
_QUOTED = re.compile(
    r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|「[^」\n]{0,300}」|『[^』\n]{0,300}』|《[^》\n]{0,300}》"
    r"|(?<!\w)[‘'][^'\n]{1,100}'(?!\w)"
)
_END_OF_SENTENCE = re.compile(r"[。!?;\n]|(?<!\bmax)(?<!\bmin)(?<!\bapprox)\.(?=\s|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Request:
    """A length with what stands around it in its sentence, and the sentence before.

    `bounded`: words beside the number say how it is meant. `spelt`: in Han numerals without 个.
    """

    before: str
    left: str
    right: str
    bounded: bool
    unit: str
    number: int
    spelt: bool


def prepared(question: str) -> str:
    """Return the question, as long as it is, with plain signs and without what it quotes."""
    return _QUOTED.sub(lambda match: "_" * len(match[0]), question.translate(_PLAIN))


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences with their places."""
    start = 0
    for match in _END_OF_SENTENCE.finditer(text):
        yield start, text[start : match.start()]
        start = match.end()
    yield start, text[start:]


def asks(request: Request, language: Language) -> bool:
    """Return whether the answer as a whole is asked to have that length."""
    return _asks_chinese(request) if language == "zh" else _asks_english(request)


def goes_on(rest: str, language: Language) -> bool:
    """Return whether what follows a length asks for something more, which then is not part of that length."""
    return (_MORE_HAN if language == "zh" else _MORE).search(rest) is not None


# --- English ----------------------------------------------------------------------------------------------------------


def _english(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_WRITE = (
    r"(?:write|compose|draft|give|provide|produce|create|generate|craft|prepare|i (?:need|want|would like)|i'd like)"
    r"(?:\s+(?:me|us|down))?"
)
_TELL = (
    r"(?:describe|explain|summari[sz]e|sum\s+up|answer|reply|respond|introduce|discuss|tell|outline|define|compare|"
    r"contrast|review|analy[sz]e|express|paraphrase|rewrite|rephrase|condense|elaborate|comment|present|state|report|"
    r"retell|recount|narrate|argue|justify|characteri[sz]e|evaluate|assess|reflect|talk|be\s+(?:brief|concise))"
)
_ADVICE = r"(?:keep|limit|shorten|reduce|trim|cut|expand|condense|make)"
_OPENING = (
    r"(?:(?:[-*•(]|\d{1,2}[.)]|and|then|now|also|but|so|please|kindly|briefly|just|simply|(?:can|could|would|will) you|"
    r"i (?:want|need|would like) you to|i'd like you to|your task is to|help me|you (?:should|must|need to|have to))\s*,?\s*)"
    r"{0,4}"
)
_START = (
    rf"^\s*(?:(?![^,:]*\b(?:says?|said|asks?|asked|told|tells?|wrote)\b)[^,:]{{0,200}},\s*|"
    rf"(?:[a-z]+\s+)?(?:task|question|instructions?|prompt|assignment|topic|exercise):\s*)?{_OPENING}"
)
_TEXT = (
    r"(?:answer|response|reply|summary|explanation|essay|text|story|description|message|e-?mail|letter|paragraph|post|"
    r"tweet|article|poem|report|review|speech|bio(?:graphy)?|introduction|conclusion|overview|abstract|account|analysis|"
    r"comment|note|piece|passage|statement|definition|caption|slogan|headline|title|blurb|synopsis|critique|argument|"
    r"proposal|reflection|sketch|tale|fable|narrative|obituary|press release|sentence|output)"
)
_KIND = r"(?:(?!(?:of|and|or|an?|the|with|for|to|in|on|about|from|by|each|that)\b)[a-z'-]+,?\s+){0,3}"
_IN = rf"(?:in|within|using|under)(?:\s+(?:an?|one|a single)\s+{_KIND}{_TEXT}\s+(?:of|with|under))?"
_ABOUT_IT = (
    r"(?:please|about|on|regarding|concerning|describing|explaining|summari[sz]ing|discussing|introducing|why|how|what|"
    r"who|when|where|whether|(?:for|to)\s+(?!the\b|each\b|every\b|your\b)|long\b|in (?:length|total|all|english|chinese)|"
    r"total|of text)\b"
)
_FOLLOWS = _english(rf"\s*(?:$|[,:)\]]|{_ABOUT_IT})")
_ON = _english(rf"\s*(?:about|on|regarding|concerning|describing|explaining|summari[sz]ing)\b|\s+to\s+{_TELL}\b")
_ENDS = _english(r"\s*(?:long|in length|in total|total)?\s*(?:,?\s*please)?[\s)\]:*]*$")
_SHARED_OUT = _english(r"\b(?:each|every|per|apiece|respectively|both)\b")
_SUPPOSED = _english(r"\b(?:if|unless)\b|\bor \d")
_OTHER_OWNER = _english(  # of several, of something that is said or told, of code
    r"\b(?:these|those|\d+|two|three|four|five|six|seven|eight|nine|ten|several|some|many|all|following)\s+"
    r"(?:[a-z-]+\s+)?[a-z-]*[^\Ws]s\b|\bquestions\b|\b(?:say|says|said|tell|tells|told|speak|spoke|wrote|written|writing|write|typed?)\b|"
    rf"\b(?:of|about|on)\s+an?\s+{_KIND}(?:{_TEXT}|book|novel|song)\b|"
    r"\b(?:function|program|script|regex|code|password|string|query|list|table|file|class|method)\b"
)
_WITH_CHARACTERS = _english(r"\b(?:with|use|using)\s*$")
_IN_CHARACTERS = _english(r"\b(?:in|within)\s*$")
_QUESTION = r"(?:what|who|whom|whose|when|where|why|how|which|is|are|was|were|do|does|did|can|could|should)\b"

_NOTHING = _english(rf"^\s*{_OPENING}$")
_IN_FRONT = _english(rf"^\s*{_OPENING}{_IN}\s*$")
_THEN_TASK = _english(rf"\s*[,:]?\s*{_OPENING}(?:{_WRITE}|{_TELL}|{_QUESTION})")
_MANNER = _english(rf"{_START}(?:{_WRITE}|{_TELL})\b(?P<middle>[^:]*?)\s*\b{_IN}\s*$")
_MANNER_WITH = _english(rf"{_START}(?:{_WRITE}|{_TELL})\b(?P<middle>[^:]*?)\s*\bwith\s*$")
_ANSWERED = _english(rf"{_START}(?:answer|reply|respond)\s+(?:me\s+|the question\s+)?with\s*$")
_ASKED = _english(rf"^\s*{_OPENING}{_QUESTION}(?P<middle>[^:]*?)(?:,\s*)?\b{_IN}\s*$")
_OBJECT = _english(rf"{_START}(?:{_WRITE}|use)\s*$")
_ADDED = _english(
    rf"^\s*{_OPENING}(?:{_WRITE}|{_TELL}|{_ADVICE}|{_QUESTION})\b(?P<middle>.*)[,(:-]\s*(?:but |and |with |in |using |use )?$"
)
_ADDED_TEXT = _english(rf"^\s*{_OPENING}{_WRITE}\s+an?\s+{_KIND}{_TEXT}\b[^,]*[,(]\s*$")
_OF_TEXT = _english(
    rf"{_START}{_WRITE}\s+(?:an?|one|your)\s+{_KIND}{_TEXT}\s*(?:of|with|in|that (?:is|has)|which (?:is|has)|containing)?\s*$"
)
_MADE_OF = _english(
    rf"{_START}(?:{_WRITE}\s+(?:(?:an?|your)\s+)?|(?:{_WRITE}|{_TELL})\b(?P<middle>[^:]*?)\s*\b(?:in|as|into|with)\s+(?:an?\s+)?)"
    rf"{_KIND}$"
)
_KIND_FOLLOWS = _english(rf"\s*{_KIND}{_TEXT}\b(?P<rest>.*)$")
_RESIZED = _english(
    rf"{_START}(?:shorten|reduce|trim|cut|expand|condense)\s+(?:it|(?:your|the|my|this)\s+(?:[\w'-]+\s+){{1,6}}?)(?:down\s+)?to\s*$"
)
_KEPT_SHORT = _english(
    rf"{_START}(?:keep|make|limit)\s+(?:it|this|(?:your|the)\s+(?:answer|response|reply|essay|summary|text|story))\s*(?:short\s*)?"
    r"(?:to|at)?\s*$"
)
_OWN = rf"(?:(?:your|the)\s+(?:[a-z-]+\s+)?(?:answer|response|reply|output)s?|your\s+{_KIND}{_TEXT}|answers?|responses?|you)"
_MODAL = r"(?:should|must|has to|have to|needs? to|ought to|is to|are to|will|shall|(?:is|are) (?:required|expected|limited) to)"
_HAVE = r"(?:be|have|contain|use|write|consist of|comprise|run to|be limited to|be kept (?:to|under))"
_SUBJECT = _english(rf"{_START}{_OWN}\s*(?:{_MODAL}(?:\s+{_HAVE})?)?\s*$")
_HAS_MODAL = _english(rf"\b{_MODAL}\b")
_IT = _english(rf"^\s*(?:it|the\s+{_KIND}{_TEXT})\s+(?:{_MODAL}(?:\s+{_HAVE})?)?\s*$")
_SURE = _english(
    rf"{_START}(?:make sure|ensure|be sure)\s+(?:that\s+)?(?:it|you|{_OWN})\s*(?:is|are|has|have|uses?)?\s*$"
)
_LABEL = _english(r"^\s*[-*•(]?\s*(?:word |text |answer |required )?(?:length|count|limit)\s*(?:of|is|:)\s*$")
_TASK = _english(rf"^\s*{_OPENING}(?:{_WRITE}\s+(?:an?|the|your)\s+{_KIND}{_TEXT}|{_TELL})\b")

_MORE = _english(
    rf"\b(?:then|after that|afterwards|followed by|also|as well as)\b|\band (?:an?|the|your|some|\d+|{_WRITE}|{_TELL}|translate|list)\b|"
    rf"[.!?;\n]\s*{_OPENING}(?:{_WRITE}|{_TELL}|translate|list)\b"
)


def _asks_english(request: Request) -> bool:
    left, right = request.left, request.right
    if _SHARED_OUT.search(right) or _SHARED_OUT.search(left) or _SUPPOSED.search(left) or _SUPPOSED.search(right):
        return False
    in_a_story = request.unit == "characters" and (request.number < 20 or _WITH_CHARACTERS.search(left))
    if in_a_story and not _IN_CHARACTERS.search(left):
        return False
    ends, follows = bool(_ENDS.match(right)), bool(_FOLLOWS.match(right))
    if _NOTHING.match(left) or _LABEL.match(left):
        return ends and (request.bounded or bool(_LABEL.match(left)) or not request.left.strip())
    if _IN_FRONT.match(left):
        return ends or bool(_THEN_TASK.match(right))
    for pattern, fits in (
        (_MANNER, follows),
        (_MANNER_WITH, ends and request.bounded and request.unit == "words"),
        (_ANSWERED, follows),
        (_ASKED, ends and (request.bounded or left.rstrip().endswith(", in"))),
        (_OBJECT, (ends or bool(_ON.match(right))) and request.unit == "words"),
        (_ADDED, ends and request.bounded),
        (_ADDED_TEXT, ends),
        (_OF_TEXT, follows),
        (_RESIZED, ends),
        (_KEPT_SHORT, ends and request.bounded),
        (_SUBJECT, ends and (bool(_HAS_MODAL.search(left)) or request.bounded)),
        (_SURE, ends),
        (_IT, ends and bool(_TASK.match(request.before))),
    ):
        if fits and (match := pattern.match(left)):
            middle = match.groupdict().get("middle") or ""
            if not _OTHER_OWNER.search(middle):
                return True
    kind = _KIND_FOLLOWS.match(right)
    if kind and (made := _MADE_OF.match(left)):
        return bool(_FOLLOWS.match(kind["rest"]) or re.match(r"\s+of\b", kind["rest"])) and not _OTHER_OWNER.search(
            made["middle"] or ""
        )
    return False


# --- Chinese ----------------------------------------------------------------------------------------------------------

_POLITE = (
    r"(?:请你?|您|你|麻烦|帮我|帮忙|给我|为我|能否|可否|能不能|可不可以|可以|要求|现在|然后|并且|并|再|最后|尝试|试着|简要地?|简单地?|"
    r"我(?:想|要|希望|需要)(?:让|请)?你?|希望你?|务必|尽量|仅|只|直接|在回答中|(?:用|以)(?:中文|汉语|白话文?|自己的话|第.人称|一[句段]话)){0,6}"
)
_OPEN = rf"{_POLITE}(?:(?:(?:根据|结合|围绕|针对|就|从).{{1,30}}?|以.{{1,20}}?为(?:题|主题|标题)){_POLITE})?"
_SAY = (
    r"(?:描述|描写|介绍|概括|概述|总结|归纳|说明|解释|阐述|阐明|论述|回答|回复|作答|答复|答|谈谈|谈|评价|评论|点评|讨论|分析|叙述|讲述|"
    r"讲|说说|说|比较|形容|赞美|简述|简介|缩写|扩写|改写|续写|仿写|创作|编写|编|撰写|拟写|拟|起草|生成|给出|给|提供|表达|复述|推荐|定义|写)"
)
_PEN = r"(?:写|撰写|创作|拟写|拟|编写|编|起草|生成|给出|给|提供|来|做|作)"
_PIECE = (
    r"(?:作文|文章|短文|小文|散文|故事|小故事|诗歌?|现代诗|介绍|简介|评论|短评|书评|影评|好评|差评|读后感|观后感|感想|日记|信|书信|邮件|"
    r"演讲稿|发言稿|讲话稿|总结|摘要|概括|概述|说明|解释|描述|回答|答案|答复|段落|话|文字|文案|广告语|广告词|标语|标题|口号|新闻稿?|报告|"
    r"小说|童话|议论文|记叙文|说明文|应用文|论文|自我介绍|推荐语|祝福语?|寄语|笔记|报道|检讨书?|申请书?|微博|内容|句子|语言|篇幅|"
    r"描写|叙述|论述|评价|分析)"
)
_CLASS = r"(?:一?(?:篇|段|个|首|封|份|则|句|条|小段|短文|条短)(?:话)?)"
_TOPIC = r"(?:(?:关于|有关|以|描写|描述|介绍|赞美|题为|主题为|歌颂)[^每各分]{1,40}?的?)"
_STYLE = r"(?:[^,、每各]{0,8}的)?"
_OURS = r"(?:(?:你的|您的|本次|整体|总)?(?:回答|答案|答复|回复|字数|总字数|篇幅|长度|全文|输出|内容|文章|作文|文字|要求|字数要求|字数限制))"
_HAN_MODAL = r"(?:应该|应当|应|必须|须|需要|需|要求|要|请|务必|尽量|控制|限制|限定|限|保持|为|是|在|:|大约|写){0,4}"
_SHARED = re.compile(r"[每各均]|分别|依次|两[篇段个首句条]|[三四五六七八九十几多][篇段首句条]|\d\s*[篇段首句条]")
_HAN_TASK = re.compile(rf"\s*{_OPEN}(?:{_SAY}|翻译|列|举|把|将)|\s*请(?!问)")
_HAN_QUESTION = re.compile(r"什么|吗|如何|怎么|怎样|为何|谁|哪|是否|呢")

_NO_TASK = re.compile(r"请问|为什么|为何|如何|怎[么样]|可以?(?:$|超|多|少)|能否|能不能|可否|如果|要是")
_OF_ANOTHER = re.compile(rf"的{_PIECE}的")
_WITH = re.compile(rf"{_OPEN}(?:用|以|使用|在|通过)(?:一段|一句)?")
_WITH_END = re.compile(
    rf"(?:范围|篇幅)?(?:之?内)?(?:的?(?:篇幅|长度|字数|语言|文字|话|一段话|短文|回答|内容))?(?:之?内)?[,、]?(?:来|去|简要|简单|简洁地?|再)?"
    rf"(?:(?:{_SAY}|概括|写).*)?"
)
_SAID_WITH = re.compile(rf"{_OPEN}{_SAY}.{{0,60}}(?:用|在)")
_WRITTEN = re.compile(
    rf"{_OPEN}(?:{_PEN}|{_SAY}(?=$|一))(?:出|下|一下)?{_CLASS}?{_TOPIC}?{_PIECE}?(?:要求|要|在|字数){{0,2}}"
)
_WRITTEN_END = re.compile(
    rf"(?:之?内)?(?:的{_STYLE}{_TOPIC}?(?:小|短)?{_PIECE}|{_TOPIC}的{_PIECE})?(?:即可|就行|吧|来{_SAY}.*|{_TOPIC})?"
)
_CUT = re.compile(
    rf"{_OPEN}(?:(?:把|将).{{1,60}})?(?:压缩|缩写|扩写|概括|浓缩|精简|缩短|扩展|缩减|总结|归纳|改写)(?:为|成|到|至|在)(?:一段|一句)?"
)
_KEPT = re.compile(rf"{_OPEN}(?:(?:把|将)?{_OURS})?(?:都)?(?:控制|限制|限定|保持)(?:为|到|在)")
_STATED = re.compile(rf"{_OPEN}{_OURS}{{0,2}}{_HAN_MODAL}")
_HAN_END = re.compile(rf"(?:之间|之?内|范围内)?(?:的{_STYLE}{_PIECE})?(?:即可|就行|为宜|为佳|吧|哦)?")
_OF_OURS = re.compile(rf"{_OPEN}{_OURS}")
_CLAUSES = re.compile(r"[、()\[\]【】]|,(?![0-9]{3})|(?<![数求度幅制限]):")

_MORE_HAN = re.compile(
    rf"然后|接着|随后|之后|[,;。!?\n]\s*(?:再|另外|同时|最后)|并(?!且?不)|[。!?;\n]\s*{_OPEN}(?:{_SAY}|翻译|列)|以及"
)


def _asks_chinese(request: Request) -> bool:
    before, after = _CLAUSES.split(request.left), _CLAUSES.split(request.right)
    left, right = re.sub(r"\s", "", before[-1]), re.sub(r"\s", "", after[0])
    others = [clause.strip() for clause in (*before[:-1], *after[1:]) if clause.strip()]
    if _SHARED.search(left) or _SHARED.search(right) or _NO_TASK.search(left) or _OF_ANOTHER.match(right):
        return False
    spelt = request.spelt and request.number < 100 and not request.bounded
    if _WITH.fullmatch(left) and _WITH_END.fullmatch(right):
        return not (spelt and right and not _HAN_TASK.match(right))
    if spelt:
        return False
    if _SAID_WITH.fullmatch(left) and _HAN_END.fullmatch(right):
        return True
    if left and _WRITTEN.fullmatch(left) and _WRITTEN_END.fullmatch(right):
        return request.bounded or request.number >= 20 or bool(re.search(rf"{_CLASS}|{_PIECE}", left + right))
    if (_CUT.fullmatch(left) or _KEPT.fullmatch(left)) and _HAN_END.fullmatch(right):
        return True
    if not _STATED.fullmatch(left) or not _HAN_END.fullmatch(right):
        return False
    told = any(_HAN_TASK.match(clause) for clause in others)
    asked = any(_HAN_QUESTION.search(clause) for clause in others)
    if any(_SHARED.search(clause) for clause in others if _HAN_TASK.match(clause)):
        return False
    if not request.bounded and not _OF_OURS.match(left):
        return any(re.match(rf"{_OPEN}{_PEN}{_CLASS}", clause) for clause in others)
    return told or asked or all(_is_length(clause) for clause in others)


def _is_length(clause: str) -> bool:
    """Return whether a clause is no more than another length."""
    return re.search(r"[字词]", clause) is not None and len(clause) < 20
