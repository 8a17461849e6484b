"""Answers that are decided without a model: those that claim nothing, and those that only admit not knowing."""

import re

from haluagent.text.normalize import letters
from haluagent.text.segment import split
from haluagent.text.words import words

NO_CLAIM = "the answer claims nothing that could be checked: neither PASS nor FAIL"

_ENDS = "\"'”’」』）)*_` "
_DENIED = r"(?:do(?:es)? not|did not|don['’]t|doesn['’]t|didn['’]t|cannot|can not|can['’]t|could not|couldn['’]t)"
_SAYS = r"(?:say|mention|state|tell|specify|provide|contain|include|give|answer|indicate|describe|disclose)"
_UNKNOWN = re.compile(
    rf"\bi {_DENIED} (?:know|answer|tell|say|determine|find)\b(?: (?:that|this|it|the answer))?|\bi(?: am|['’]m) not (?:sure|certain)\b"
    r"|\b(?:it is|it['’]s|that is|that['’]s)? ?(?:unknown|unclear|not known)\b|\bno idea\b"
    r"|\b(?:there is )?(?:not enough|insufficient|no) (?:relevant )?(?:information|evidence|answer)\b"
    r"|我?(?:也|并|真的|确实)?(?:不知道|不清楚|不确定|不了解|不知|无法(?:回答|确定|判断|得知|获知)|不能(?:回答|确定|判断)|没法回答|答不上来)"
    r"|(?:没有|无|缺乏|缺少)(?:足够的?|相关的?)*(?:信息|资料|内容|答案|依据)",
    re.IGNORECASE,
)
_UNSAID = re.compile(
    rf"\b{_DENIED} {_SAYS}\b(?: (?:that|this|it|the answer|information))?"
    rf"|\b(?:it is|it['’]s|this is|is|was|are)? ?not (?:be )?"
    r"(?:said|mentioned|stated|specified|provided|given|found|known|answered|included)\b"
    r"|(?:并?没有?|并?未|未曾)(?:明确|具体)?(?:提到|提及|说明|说到|写到|写明|指出|提供|给出|涉及|说)(?:过|相关的?(?:信息|内容))?",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:sorry|afraid|unfortunately|apologize|document|documents|text|passage|article|context|reference|source|sources|"
    r"answer|question|information|provided|given|based|according|here|enough|however|know|available|it|that|this)\b"
    r"|抱歉|对不起|很遗憾|不好意思|根据|基于|所给|给出的|提供的|这个问题|该问题|文[中章档本]|原文|资料|参考|上下文|材料|答案|信息|内容|问题|这[篇段份一]|里面?|[中里对此这我]",
    re.IGNORECASE,
)
_ASKS_OF_THE_TEXT = re.compile(
    rf"\b(?:{_SAYS}(?:s|d|ed)?|said|told|given)\b|提到|提及|说明|说到|指出|涉及", re.IGNORECASE
)


def claims_nothing(question: str, answer: str) -> bool:
    """Return whether an answer has no words, only asks something, or repeats the question without stating it."""
    sentences = split(answer)
    if all(sentence.text.rstrip(_ENDS).endswith(("?", "？")) for sentence in sentences):
        return True
    stated = answer.strip().rstrip(_ENDS).endswith((".", "。", "!", "！"))
    return not stated and letters(answer) == letters(question)


def abstains(question: str, answer: str) -> bool:
    """Return whether an answer only says that it does not know, or that the document does not say.

    Every other word must be one of the question. If the question asks what the document mentions, the answer that it
    mentions nothing is a claim.
    """
    rest, unknown = _UNKNOWN.subn(" ", answer)
    unsaid = 0
    if not _ASKS_OF_THE_TEXT.search(question):
        rest, unsaid = _UNSAID.subn(" ", rest)
    return bool(unknown or unsaid) and words(_FILLER.sub(" ", rest)) <= words(question)
