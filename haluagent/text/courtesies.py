"""Sentences that serve the talk with the user and claim nothing: courtesies, offers, and questions back.

A courtesy has no word but those of courtesies, and a question back speaks to the user and names nothing. Whatever says more
may hide a claim ("Feel free to take aspirin with warfarin, which is safe").
"""

import re

MARKS = "\"“”'‘’「」『』()（）*_` \t\r\n"
ENDS = ".!。！…~"

_WORDS = frozenset(
    """
    a about absolutely afraid again all also always am and answer answered answers any anything apologies apologize are as ask
    assist assistance at be by can certainly clarification clarify clear confusion contact context could course day delighted
    describe detail details do document documents don't else enjoy everything explain feel first follow for free further give
    glad good great happy have hello help helped helpful helps hear here hesitate hi hope how i i'd i'll i'm if in inconvenience
    information is it just kindly know let like little looking love may me mind more much my need no not of offer ok okay on
    once or other out please pleased pleasure problem provide question questions reach share send so sorry specific specify
    sure tell text thank thanks that that's the then there these things this to today topic touch unclear understand unfortunately us
    very want was we welcome what which will with would write you you'd you're your
    """.split()
)
_COURTEOUS = re.compile(
    r"\b(?:hi|hello|thanks?|welcome|sorry|apologi[sz]e|apologies|hope|question|free|hesitate|let me know|help|happy|glad|delighted|pleased|"
    r"pleasure|please|no problem)\b"  # and not "of course" or "sure", which may be an answer
)
_REFUSED = re.compile(r"\bno\b(?! problem)|\bnot\b(?! hesitate)")
_WORDS_HAN = re.compile(
    r"(?:您好|你好|不客气|不用谢|谢谢|多谢|感谢|抱歉|对不起|不好意思|遗憾|希望|以上|上述|信息|内容|回答|解答|解释|对|有所|有用|帮助|帮忙|帮到|帮|"
    r"协助|效劳|如果|如有|若有|如|若|还|有|任何|其他|别的|更多|进一步|疑问|问题|需要|需求|想|了解|请|随时|告诉|告知|联系|提问|咨询|提出|提供|"
    r"补充|说明|描述|具体|详细|细节|文本|原文|主题|资料|文件|下列|以下|欢迎|好的?|当然|可以|没问题|很|非常|十分|实在|乐意|高兴|愿意|荣幸|能|"
    r"够|会|将|为|给|的|我们?|[您你]们?|这个?|那么?|一下|一些|再|先|吧|哦|呢|啊|地|来|继续|和|与|或|到|，|,|、|！|!|\s)+"
)
_COURTEOUS_HAN = re.compile(
    r"您好|你好|谢|抱歉|对不起|不好意思|希望|帮|效劳|告诉|告知|联系|提问|咨询|提供|补充|没问题|乐意|高兴|荣幸|欢迎|不客气"
)
_ASKED_BACK = re.compile(r"\b(?:you|your|should|shall)\b|[您你]|需要|想要|应该|请问|要不要")
_TELLS = re.compile(
    r"(?<!^)[A-Z]|\d|n't\b|\b(?:that|because|since|as|who|whose|is|was|were|did|had|has|(?:do|did|if) you know|knew|remind|believe|"
    r"thought|not|no)\b|[,，;；].*[,，;；]|[是了]|难道|知道|听说|因为|既然|由于|何必|为什么不|怎么可能"
)


def courtesy(text: str) -> bool:
    """Return whether a sentence is nothing but a courtesy, an offer or a question back to the user."""
    core = text.replace("’", "'").strip(MARKS)
    if asks(core):
        core = re.sub(r"\bI\b", "i", core.rstrip("?？" + MARKS))
        return bool(_ASKED_BACK.search(core.lower())) and not _TELLS.search(core)
    core = core.rstrip(ENDS + MARKS).casefold()
    if re.search(r"[\u3400-\u9fff]", core):
        return bool(_COURTEOUS_HAN.search(core) and _WORDS_HAN.fullmatch(core))
    if not _COURTEOUS.search(core) or _REFUSED.search(core):
        return False
    return set(re.findall(r"[^\s,;!:.-]+", core)) <= _WORDS


def asks(text: str) -> bool:
    """Return whether a sentence ends as a question does."""
    return text.rstrip(MARKS).endswith(("?", "？"))
