"""Finding what an answer claims was done or found with a tool although no such call was made.

By rules, in both languages.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from haluagent.checks.runs.calls.claimed_words import ANYTHING, COMMON, DEEDS, READS, THINGS, Deed
from haluagent.checks.runs.records import AgentRun, ToolCallValidation, ToolSpec, ToolUse
from haluagent.text.segment import split
from haluagent.text.words import words

# Things that the model makes itself.
_OWN_WORK = re.compile(
    r"\s*(?:\d|(?:\S+\s+){0,4}?(?P<en>summar(?:y|ies)|lists?|table|draft|outline|plan|wording|sentences?|paragraphs?|text|code|function|examples?|"
    r"numbers?|bullets?|section|version|answer|response|title|headings?|explanation|overview|comparison|steps?|poem|story|translation|up)\b)"
    r"|.{0,8}?(?P<zh>摘要|总结|列表|表格|草稿|大纲|措辞|句子|段落|文本|代码|示例|例子|标题|对比|步骤|故事|翻译|建议|回答)", re.I
)  # fmt: skip

_ASIDE = r"(?:\s+(?:just|already|now|also|successfully|then))*"
_I_HAVE = (
    rf"\b(?:I|we)(?:\s+have|['’]ve){_ASIDE}\s+(?:%s)\b"
    rf"|^(?:(?:done|ok|okay|great|sure|yes)\W+)?(?:I|we){_ASIDE}\s+(?:%s)\b"
)
_HAS_BEEN = rf"\b(?:has|have)\s+(?:now |just |already |also )?been{_ASIDE}\s+(?:%s)\b"
_WO_YI = (
    r"(?:我|我们)(?:刚刚?|刚才)?(?:已经?|(?:已经?)?(?:帮|为|给|替)[您你]|成功)[^，。；,;不未没]{0,14}?(?:%s)"
    r"|(?:已经?|成功)(?:为|帮|给|替)[您你][^，。；,;不未没]{0,12}?(?:%s)"
)
_YI = r"(?:已经?|已成功)(?:成功)?(?:%s)"
_NOT_SAID = re.compile(
    r"[?？]\s*$|吗|如果|一旦|待我|之后我|等我|若|根据您|您提到|您说|\byou (?:said|mentioned|told)\b"
    r"|\b(?:once|after|when|if|until|unless|before|would|could|should|will)\s+(?:I|we|it|the|this|that|your)\b",
    re.I,
)
_QUOTED = re.compile(r"“[^“”]*”|\"[^\"\n]*\"|「[^「」]*」|『[^『』]*』|```.*?(?:```|\Z)|^\s*>.*$", re.S | re.M)
_DRAFT = re.compile(
    r"\b(?:draft|template|sample|suggested (?:reply|e-?mail|message))\b[^.\n]{0,200}:|(?:草稿|范文|模板|示例|样例)[^。\n]{0,200}[:：]",
    re.I,
)
_SOURCE = (
    r"(?:\b(?:the|my|your|our)\s+)?[\w\s'’-]{0,40}?"
    r"\b(?:API|tool|search results?|search|database|query|lookup|look-up|endpoint|plugin)\b"
)
_FOUND = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b(?:according to|based on|per|as (?:reported|returned|shown) by|results? (?:from|of))\s+{_SOURCE}",
        rf"{_SOURCE}\s+(?:returned|returns|shows?|showed|reports?|reported|indicates?|says|said|confirm(?:s|ed)?)\b",
        r"\bI(?:\s+have|['’]ve)?(?:\s+just|\s+also)?\s+"
        r"(?:checked|queried|searched|looked up|looked at|called|used|ran|consulted)\s+[\w\s'’-]{2,60}",
        r"(?:根据|依据|按照|从)[^，。；,;]{0,14}?(?:查询|搜索|检索|接口|工具|数据库|系统返回)(?:的?(?:返回)?结果|的?返回|到的|显示|数据)?",
        r"[^，。；,;]{0,10}?(?:查询结果|搜索结果|检索结果|接口返回|工具返回)(?:显示|表明|为|是|如下)?",
        r"(?:我|我们)(?:已经?|刚刚?|帮您|为您)*(?:查询|查|搜索|检索|调用)了(?:一下)?[^，。；,;]{1,16}",
    )
)
# What the user handed over needs no tool to look at.
_HANDED_OVER = re.compile(
    r"\b(?:above|attached|provided|given|this|message|text|reasoning|math|calculation)\b|提供|上面|上述|文中|原文", re.I
)
_ERROR = re.compile(
    r"[\s{\"'\[]*(?:error|exception|traceback|failed)\b(?![\"']?\s*[:=]\s*(?:null|none|false|\"\"|0))", re.I
)
_YOURS = re.compile(r"\byour?\b|您|你", re.I)
_SAYS_A_TOOL = (
    r"(?:\b(?:used|called|ran|queried|invoked|via|through|using|from|according to)\s+(?:the\s+)?[`'\"]?{0}\b"
    r"|\b{0}[`'\"]?(?:\s+tool)?\s+(?:returned|returns|shows?|showed|reports?|says)"
    r"|(?:通过|调用了?|使用了?|根据)\s*[`'\"]?{0}(?![A-Za-z0-9_]))"
)


def claimed_calls(run: AgentRun) -> Iterator[ToolCallValidation]:
    """Yield a `never_called` for each sentence of the answer that claims a tool's deed or result without a fitting
    call.

    Only calls that ran and did not fail count. In case of doubt, a call fits.
    """
    text = _DRAFT.split(_QUOTED.sub(lambda match: " " * len(match[0]), run.answer), maxsplit=1)[0]
    if not text.strip():
        return
    calls = [call for call in _executed(run) if not (call.failed or _ERROR.match(call.result or ""))]
    specs = {tool.name: tool for tool in run.tools}
    said: set[str] = set()
    for sentence in split(text):
        for tool, what in _claimed(sentence.text.strip(" -*#>•"), run, calls, specs):
            if what not in said:
                said.add(what)
                yield ToolCallValidation(
                    tool=tool,
                    args={},
                    status="never_called",
                    errors=(f"the answer says {what!r}, but no call did that",),
                )


def _executed(run: AgentRun) -> Iterator[ToolUse]:
    return (call for turn in run.turns for call in turn.calls if not call.stopped)


def _claimed(
    sentence: str, run: AgentRun, calls: Sequence[ToolUse], specs: dict[str, ToolSpec]
) -> Iterator[tuple[str, str]]:
    """Yield the name of the tool that would have done it ("" for none), and the words that claim it."""
    for spec in run.tools:
        named = re.escape(spec.name)
        if (
            spec.name in sentence
            and re.search(r"[_A-Z]", spec.name)
            and (match := re.search(_SAYS_A_TOOL.replace("{0}", named), sentence))
        ):
            if spec.name not in {call.tool for call in calls}:
                yield spec.name, match[0]
            return
    if _NOT_SAID.search(sentence):
        return
    called = [specs.get(name) or ToolSpec(name=name) for name in dict.fromkeys(call.tool for call in calls)]
    for deed in DEEDS:
        mine = _search(_I_HAVE, deed.english, sentence) or _search(_WO_YI, deed.chinese, sentence)
        done = mine or _search(_HAS_BEEN, deed.english, sentence) or _search(_YI, deed.chinese, sentence)
        if done is None or _is_own_work(sentence[done.end() :], run.tools) or any(_does(tool, deed) for tool in called):
            continue
        could = next((tool.name for tool in run.tools if _does(tool, deed, by_name=True)), "")
        if mine or (could and not _reported(deed, run)):
            yield could, done[0]
            return
    yield from _looked_up(sentence, run, called)


def _looked_up(sentence: str, run: AgentRun, called: Sequence[ToolSpec]) -> Iterator[tuple[str, str]]:
    for pattern in _FOUND:
        match = pattern.search(sentence)
        if match is None or _HANDED_OVER.search(match[0]):
            continue
        thing = _things(match[0]) - COMMON
        if any(_does_anything(tool) or thing & _vocabulary(tool) for tool in called):
            return
        meant = next((tool.name for tool in run.tools if thing & _names(tool.name)), "")
        if meant or not (called or _YOURS.search(match[0])):
            yield meant, match[0].strip()
            return


def _search(pattern: str, verbs: str, sentence: str) -> re.Match[str] | None:
    return re.search(pattern.replace("%s", verbs), sentence, re.I)


def _does(tool: ToolSpec, deed: Deed, *, by_name: bool = False) -> bool:
    """Return whether a tool may do this. `by_name` ignores its description and the tools for anything."""
    if (first := re.match(r"[a-z]+", tool.name)) and first[0] in READS:
        return False
    own = _names(tool.name) if by_name else _vocabulary(tool)
    return bool(own & deed.tools) or (not by_name and _does_anything(tool))


def _is_own_work(rest: str, tools: Sequence[ToolSpec]) -> bool:
    """Return whether the thing made is a text of a kind that no tool produces."""
    match = _OWN_WORK.match(rest)
    return match is not None and not any(_things(match[0]) & _names(tool.name) for tool in tools)


def _does_anything(tool: ToolSpec) -> bool:
    return bool(_names(tool.name) & ANYTHING)


def _reported(deed: Deed, run: AgentRun) -> bool:
    """Return whether a result or the user mentions it; then the answer only passes on that it has been done."""
    heard = [call.result or "" for call in _executed(run)]
    heard += [turn.text for turn in run.turns if turn.role == "user"] + [run.system]
    stems = [verb[:5] for verb in deed.english.split("|")] + deed.chinese.split("|")
    return any(stem in text.casefold() for text in heard for stem in stems)


@lru_cache(maxsize=4096)  # called again for each sentence
def _names(name: str) -> frozenset[str]:
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").replace(".", " ")
    return words(parts)


def _vocabulary(tool: ToolSpec) -> frozenset[str]:
    return _names(tool.name) | _things(tool.description)


@lru_cache(maxsize=4096)
def _things(text: str) -> frozenset[str]:
    """Return the words of a text, and the English ones for the things it names in Chinese."""
    found = set(words(text))
    for thing, english in THINGS.items():
        if thing in text:
            found.update(english.split())
    return frozenset(found)
