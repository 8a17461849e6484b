"""Sentences that serve the talk with the user and claim nothing: courtesies, offers, and questions back. The rules are
small: what might hide a claim is none of them ("Did you know that …?", "…, right?")."""

import re

MARKS = "\"“”'‘’「」『』()（）*_` \t\r\n"
ENDS = ".!。！…~"

_COURTESY = re.compile(
    r"""
    hi|hello|thanks|thank\ you(?:\ very\ much|\ for\ asking)?|you're\ welcome|(?:i'm\ )?(?:very\ |so\ )?sorry|(?:my\ )?apologies
    |(?:that's\ a\ |what\ a\ )?(?:good|great)\ question
    |i\ hope\ (?:this|that|it)\ (?:helps|was\ helpful|answers)[^,;:\d]*
    |(?:if\ you\ (?:have|need|want|would\ like)\b[^,;:\d]{1,40},\ )?(?:please\ )?(?:(?:feel\ free|don't\ hesitate)\ to
      \ (?:ask|contact|reach\ out|get\ in\ touch|let\ me\ know)|let\ me\ know|just\ ask)
      (?:\ (?:me|us|again|anytime|any\ time|any\ questions|(?:if|how|what|whether)\ (?:you|i|there)\b[^,;:\d]{0,40})){0,2}
    |(?:(?:sure|certainly|of\ course|absolutely|okay|ok)[,!]?\ )?(?:i'd|i\ would|i'll|i\ will|i'm|i\ am)
      \ (?:be\ )?(?:more\ than\ |very\ |always\ )?(?:happy|glad|delighted|pleased)
      \ to\ (?:help|assist|write|do)\b(?!.*\b(?:that|who|which)\ \w)[^,;:\d]*
    |i\ can\ (?:certainly\ |definitely\ )?(?:help|assist)(?:\ you)?(?:\ with\ (?:that|this|it))?
    |please\ (?:provide|share|specify|tell\ me|give\ me|send|describe|clarify)\b(?!.*\b(?:that|who)\ \w)[^,;:\d]*
    |你好|您好|谢谢|感谢|多谢|不客气|(?:很|非常)?抱歉|对不起|不好意思
    |希望(?:这|以上|上述|能|对你|对您)[^；：\d]{0,20}(?:帮助|帮到|有用)[^，；：\d]{0,6}
    |(?:如|若)[^，；：\d]{1,16}[，,]?(?:请|欢迎)?(?:随时)?(?:告诉我|联系我?|提问|咨询|问我|提出)|(?:欢迎|请)随时[^；：\d]{0,20}
    |(?:(?:好的?|当然|没问题)[，,！!]?)?我?(?:很|非常|十分)?(?:乐意|高兴|愿意|荣幸)(?:能)?(?:为[您你]|帮助?[您你忙]|协助|效劳)[^，；：\d]{0,12}
    |请(?:您|你)?(?:先)?(?:告诉我|告知|提供|说明|描述|补充)[^，；：\d]{0,30}
    """,
    re.VERBOSE,
)
_QUESTION = re.compile(
    r"(?:so |and |but |(?:sure|certainly|of course|okay)[,!] )?(?:what|which|who|whom|whose|when|where|how|why|would|could|can|do|does"
    r"|shall|should|may|is|are|will|have|any)\b(?! you know)(?!.*\b(?:that|since|because|although|not|who)\b ?\w)(?!.*n't\b)[^,;:\d]*"
    r"|(?:请问|[您你]|需要|想要|要不要|是否)[^；：\d]*|[^，；：\d]*(?:什么|哪|怎么?样?|多少|几)[^，；：\d]*"
)
_TELLS = re.compile(r"难道|知道|对吗|是吗|是吧|不是|因为|既然|由于|何必|为什么不|怎么可能|[，,](?=.*[，,])")


def courtesy(text: str) -> bool:
    """Return whether a sentence is nothing but a courtesy, an offer or a question back to the user."""
    core = text.casefold().replace("’", "'").strip(MARKS)
    if asks(core):
        core = core.rstrip("?？" + MARKS)
        return bool(_QUESTION.fullmatch(core)) and not _TELLS.search(core)
    return bool(_COURTESY.fullmatch(core.rstrip(ENDS + MARKS)))


def asks(text: str) -> bool:
    """Return whether a sentence ends as a question does."""
    return text.rstrip(MARKS).endswith(("?", "？"))
