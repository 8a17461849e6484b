"""Texts that give no answer, in both languages: their writer does not know, or the source does not say."""

import re
from typing import Literal

from haluagent.text.words import words

Refusal = Literal["unknown", "unsaid"]

_DENIED = r"(?:do(?:es)? not|did not|don't|doesn't|didn't|cannot|can not|can't|could not|couldn't)"
_SAYS = r"(?:say|mention|state|tell|specify|provide|contain|include|give|answer|indicate|describe|disclose)"
_UNABLE = rf"(?: {_DENIED}|(?: am| are|'m|'re) (?:unable|not able) to)"
_SORRY = r"(?:(?:(?:i'm|i am|we're|we are) )?(?:very |so )?(?:sorry|afraid)|unfortunately)?,? ?(?:but )?"
_SORRY_HAN = r"(?:很|非常|实在)?(?:抱歉|对不起|不好意思|遗憾)?[，,]?\s?"


def _of_writer(verbs: str, han_verbs: str) -> str:
    """Return the pattern for a writer who does not know, or is not able to do what the verbs say."""
    return (
        rf"\b(?:i|we)(?: (?:really|honestly|just|currently|also|simply))?{_UNABLE} (?:{verbs})\b"
        r"|\b(?:i'm|i am|we're|we are) not (?:sure|certain)\b|(?:\bi (?:\w+ )?have )?\bno idea\b(?= (?:about|wh|how|if)|\W*$)"
        r"|(?:我们?|本人)?(?:真的|确实|实在|也|暂时|目前|现在|并|还){0,4}"
        r"(?:不知道|不太?清楚|不确定|不了解|答不上来|没有足够的?信息|"
        rf"(?:无法|不能|没法|没办法)(?:{han_verbs}))"
    )


_KNOW = "know|answer|tell|determine|find|provide|have (?:enough|any|access)|help (?:with|you)"
_WRITER = re.compile(
    rf"(?:{_SORRY}|{_SORRY_HAN})"
    rf"(?:{_of_writer(_KNOW, '回答|确定|判断|得知|获知|提供|告诉')})"
    r"(?! that \w)"
)
_SOURCE = re.compile(
    r"(?:\b(?:it is|it's|that is|that's) )?\b(?:unknown|unclear|not known)\b|\b(?:it is|it's) not clear(?= (?:wh|how|if))|^not clear\b"
    r"|\b(?:there is )?(?:not enough|insufficient|no) (?:relevant )?(?:information|evidence|answer|context|data)\b"
    r"|(?:没有|没|无|缺乏|缺少)(?:足够的?|相关的?)*(?:信息|资料|内容|答案|依据)|(?:没有|没|无)相关的?(?:记载|描述|说明|记录)"
    r"|未知|(?:不详|未详|不明确?|未明确?)(?![\u4e00-\u9fff])|不知(?![^\W何谁])"
    rf"|\b{_DENIED} {_SAYS}\b(?: (?:that|this|it|the answer|information)\b)?"
    r"|(?:\b(?:it is|it's|this is|is|was|are) )?\b(?:not (?:be )?(?:explicitly |specifically |clearly )?"
    r"(?:said|mentioned|stated|specified|provided|given|found|answered|included)|un(?:mentioned|stated|specified))\b|\bno mention\b"
    r"|(?:并?没有?|并?未|未曾)(?:明确|具体)?(?:提到|提及|提过|说明|说到|写到|写明|指出|提供|给出|涉及|[说提](?![谎服高升]))"
    r"(?:过|相关的?(?:信息|内容))?"
)
_FILLER = re.compile(
    r"\b(?:sorry|afraid|unfortunately|apologize|document|documents|text|passage|article|context|reference|source|sources|"
    r"answer|question|information|provided|given|based|according|here|enough|however|know|available|it|that|this)\b"
    r"|抱歉|对不起|很遗憾|不好意思|根据|基于|所给|给出的|提供的|这个问题|该问题|文[中章档本]|原文|资料|参考|上下文|材料|答案|"
    r"信息|内容|问题|这[篇段份一]|里面?|[中里对此这我]"
)
_LEAD = re.compile(rf"(?:{_FILLER.pattern}|\b(?:the|in|by|from|to|on|of|but|is|was|are)\b|是|[\W_])*")
_ASKS_OF_THE_TEXT = re.compile(rf"\b(?:{_SAYS}(?:s|d|ed)?|said|told|given)\b|提到|提及|说明|说到|指出|涉及")
_YES_OR_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may)\b|[吗嗎]\W*$", re.IGNORECASE
)
_OTHERS = re.compile(r"\b(?:he|she|they)\b|[他她]")  # who is said not to know or to say something
# What is not known, up to where something else may be said.
_OBJECT = re.compile(r"(?:(?!\b(?:but|however|though|although)\b|但|不过|然而)[^,，;；:：.。!！?？\d])*")


def refusal(text: str, question: str = "") -> Refusal | None:
    """Return whether `text` says no more than that its writer does not know ("unknown"), or that it is not known or not said
    ("unsaid", which can be checked in the source); None where it says something else.

    Of an answer to a question, only the question's words may stand beside it; without a question, what is not known may
    be named (`文中没有说明具体时间`), and of what is not said only where the source is named too. Anything else may be a
    claim (`I don't know, but it was Carrick`). Where the question asks what the source mentions, or for yes or no, "it is
    not" is an answer.
    """
    text = text.lower().replace("’", "'").strip()
    kinds: list[tuple[Refusal, re.Pattern[str]]] = [("unknown", _WRITER), ("unsaid", _SOURCE)]
    for kind, pattern in kinds:
        of_texts = _TEXTS.search(text) is not None
        if kind == "unsaid" and (
            _ASKS_OF_THE_TEXT.search(question.lower()) or (_YES_OR_NO.search(question) and not of_texts)
        ):
            continue
        found = pattern.search(text)
        if found is None or _OTHERS.search(text[: found.start()]):
            continue
        named = None if question.strip() or (kind == "unsaid" and not of_texts) else _OBJECT.match(text, found.end())
        before, behind = text[: found.start()], text[named.end() if named else found.end() :]
        behind = _SOURCE.sub(" ", _WRITER.sub(" ", behind))
        asked = words(question)
        if (_LEAD.fullmatch(before) or words(_FILLER.sub(" ", before)) <= asked) and words(
            _FILLER.sub(" ", behind)
        ) <= asked:
            return kind
    return None


_STATES = re.compile(
    r"\b(?:and|or|that|which|who|is|are|was|were|be|has|have|had|will|can)\b|[是而且并和]", re.IGNORECASE
)
_TEXTS = re.compile(
    r"\b(?:documents?|texts?|passages?|articles?|context|references?|sources?)\b|资料|文[中章档本]|原文|材料|上下文"
)


def unsaid(text: str) -> str | None:
    """Return what a sentence says the texts do not mention (`The documents do not mention the CEO's salary`); None where it
    says something else, or more."""
    plain = text.lower().replace("’", "'")
    found = _SOURCE.search(plain)
    if found is None or len(plain) != len(text) or not _TEXTS.search(plain):
        return None
    named = _OBJECT.match(plain, found.end())
    end = named.end() if named else found.end()
    if words(plain[end:]):
        return None
    before, behind = text[: found.start()], text[found.end() : end]
    topic = behind if _LEAD.fullmatch(before.lower()) else before if _LEAD.fullmatch(behind.lower()) else ""
    if found[0].endswith(" that") and topic.strip(" .。"):
        return None  # that something is so
    return None if _STATES.search(topic) else topic.strip(" .。") or None
