"""Sentences of a text from outside that speak to the model which reads it, as a prompt injection does.

They are blanked out before the text is judged: evidence states facts, it gives no orders. What is left keeps its
offsets. This is a second fence; the first is that a text cannot leave the tags it stands between (`prompts.fence`).
"""

import re
import unicodedata
from itertools import pairwise

from haluagent.types import Span

_PIECE = re.compile(r"[^。！？!?\n.]*(?:[。！？!?\n]+|\.(?=\s|$)|\.|$)")
_READER = r"(?:assistant|model|AI|LLM|agent|verifier|fact[- ]?checker|evaluator|grader)s?"
_RULES = r"(?:instruction|prompt|rule|guideline|direction|command|context|message|task|text|content|tool|check)s?"
_VERDICT = (
    r"(?:supported|contradicted|unverified|no_claim|no[ _]hallucination|hallucination|true|false|correct|right|accurate|"
    r"yes|no|pass|(?-i:[AB])|[01])"
)
_ENGLISH = [
    rf"\b(?:ignore|disregard|forget|override|bypass|skip|drop|discard)\b[^.]{{0,60}}\b{_RULES}\b",
    r"\b(?:ignore|disregard|forget)\b[^.]{0,30}\b(?:above|previous|prior|before|earlier|everything|question|response|reference|evidence|source)\b",
    rf"\b(?:dear|attention|note (?:to|for)|message (?:to|for)|hey|hello|to the|to all|any)[:,]?(?:\s+[\w-]+){{0,2}}\s+{_READER}\b",
    rf"\b{_READER}\b[^.]{{0,40}}\b(?:must|should|shall|has to|have to|are required|is required|are instructed|please|will now)\b",
    rf"\b(?:label|verdict|output|answer|score|result|decision|judge?ment)\b\s*(?:=|:|：|is|must be|should be|to)\s*[\"'“]?{_VERDICT}\b",
    r"\b(?:right|correct|expected|only|true)\s+(?:answer|option|choice|letter|label|verdict)\b[^.]{0,60}\b(?:is|are|:|=)\s*[\"'“]?\w",
    r"\b(?:always|only|never|must|simply|just)\s+(?:answer|reply|respond|output|say|choose|select|pick|return)\b",
    rf"\b(?:answer|reply|respond|output|print|return|say|write|choose|select|pick|mark|label|report|call|rate|set)\b"
    rf"[^.]{{0,40}}\b(?:only|just|always|as|with|option|label)\b[^.]{{0,20}}[\"'“]?(?![01]\b){_VERDICT}\b",
    rf"\b(?:answer|reply|respond|choose|select|pick|output)\s+(?:with\s+)?(?:option\s+)?[\"'“]?{_VERDICT}[\"'”]?\s*[.!]?\s*$",
    r"\byou (?:are|will|must|should|shall|have to|need to|can|may)\b[^.]{0,60}\b(?:now|confirm|accept|agree|approve|answer|"
    r"reply|respond|output|mark|label|treat|consider|judge|verify|trust|obey|follow|stop|say)\b",
    r"\b(?:new|updated?|real|actual|hidden|secret|special|developer|admin(?:istrator)?|system)\s+"
    r"(?:instruction|prompt|rule|task|message|override|mode|note|notice)s?\b",
    r"\b(?:is|are) (?:the|this) (?:response|answer|statement|claim)s? (?:right|correct|true|supported|wrong|false)\b",
    r"\b(?:the|this|that|every|any|all) (?:response|answer|statement|claim|sentence)s?\b[^.]{0,30}\b(?:is|are|was|has been|have been|"
    r"should be|must be)\b[^.]{0,30}\b(?:correct|right|true|verified|approved|supported|accurate|wrong|false)\b",
    r"^\s*(?:system|assistant|developer|THOUGHT|ACTION|OBSERVATION)\s*[:：]",
    r"\b(?:get_answer|match|web_search|calculator)\s*\(",
    r"<\|?\s*/?\s*(?:im_start|im_end|system|assistant|endoftext|start_header_id|eot_id)|\[/?INST\]|<</?SYS>>|[\"']role[\"']\s*:",
    r"^\W*(?:(?:yes|no|true|false|(?-i:[AB])|是|否|对|不对|不|支持|矛盾)(?:[\W_]+|$)){3,}$",  # nothing but verdicts
    r"^\W*(?:(?:不?对|是|否|错|不|真|假)\s*){3,}",
]
_RULES_ZH = r"(?:指令|指示|提示词?|规则|要求|命令|内容|任务|上下文|设定|检查|核查|工具)"
_VERDICT_ZH = r"(?:支持|正确|对|没有幻觉|无幻觉|真|假|错误|矛盾|通过|A|B|0|1|supported|contradicted|no_claim)"
_CHINESE = [
    rf"(?:忽略|无视|忘记|忘掉|不要理会|不用理会|不必理会|放弃|跳过|绕过|覆盖|取消)[^。]{{0,24}}{_RULES_ZH}",
    r"(?:忽略|无视|忘记|忘掉)[^。]{0,12}(?:以上|上面|之前|前面|此前|一切|所有|问题|回复)",
    r"(?:模型|助手|人工智能|AI|智能体|核查员|核查者|审核员|评审|检测器)[^。]{0,20}(?:请|必须|应该|应当|务必|一律|立即)",
    r"(?:请|必须|务必|一律|直接|只需|只要|只能|应当|应该)[^。]{0,16}(?:回答|回复|输出|选择|标记|标注|判定|判断|认定|视为|写|返回|选)"
    rf"[^。]{{0,16}}{_VERDICT_ZH}",
    rf"(?:标签|结论|判定|答案|选项|输出|结果|label)\s*(?:=|:|：|是|为|设为|改为|应为|必须是)\s*[“\"']?{_VERDICT_ZH}",
    r"(?:回复|回答|说法)(?:是)?(?:对|错|正确|真)(?:的)?吗",
    r"(?:永远|总是|一直|只|始终)(?:回答|回复|输出|选择|选|写|返回)",
    r"(?:忘掉|忘记|忽略|无视|不要看|别看)[^。]{0,6}(?:参考资料|资料|依据|证据|原文)",
    r"(?:大家|所有人|看到|读到|每个人)[^。]{0,20}(?:回复|回答|说法)[^。]{0,8}(?:对|错|正确|不对|真|假)",
    r"你(?:现在|必须|应该|应当|只能|要|需要|将|的任务)[^。]{0,30}(?:回答|回复|输出|标记|判定|判断|确认|同意|认定|视为|扮演|是|相信|服从)",
    r"(?:新的?|更新|真正|隐藏|秘密|特殊|系统|开发者|管理员)的?(?:指令|指示|提示|规则|命令|消息|模式|通知)",
    r"(?:该|这个|此|上述|本|所有|任何)(?:回复|回答|答案|说法|陈述|句子)[^。]{0,10}(?:是|都|均|已)[^。]{0,10}(?:正确|对的|真实|核实|通过|错误)",
    r"^\s*(?:系统|助手|用户|思考|行为|观察)\s*[:：]",
]
SCRAP = 4  # letters and digits
_SPACED = re.compile(r"(?<!\S)\S(?!\S)")
_ORDERS = re.compile("|".join(_ENGLISH + _CHINESE), re.IGNORECASE | re.MULTILINE)


def orders(text: str) -> list[Span]:
    """Return the spans of the pieces of `text`, up to their end marks, that give the reader orders, ascending."""
    pieces = [piece for piece in _PIECE.finditer(text) if piece[0]]
    found = [bool(_ORDERS.search(piece[0]) or _ORDERS.search(_unhidden(piece[0]))) for piece in pieces]
    scraps = [sum(map(str.isalnum, piece[0])) < SCRAP for piece in pieces]
    for here, there in [*pairwise(range(len(pieces))), *pairwise(reversed(range(len(pieces))))]:
        found[there] |= found[here] and scraps[there]  # "P.S.", a bracket: what is left of an order
    return [piece.span() for piece, is_order in zip(pieces, found, strict=True) if is_order]


def _unhidden(piece: str) -> str:
    """Return the piece without invisible characters, and with words that were s p a c e d out put together."""
    visible = "".join(character for character in piece if unicodedata.category(character) != "Cf")
    if len(_SPACED.findall(visible)) * 3 < len(visible.split()) * 2:
        return visible
    return re.sub(r"(?<=\S)\s(?=\S)", "", visible)


def without_orders(text: str) -> str:
    """Return the text with those pieces as white space; every other character keeps its place."""
    for start, end in orders(text):
        text = text[:start] + " " * (end - start) + text[end:]
    return text
