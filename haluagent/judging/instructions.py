"""Recognise texts from outside that speak to the model which reads them, as a prompt injection does.

Such a text is read like any other, within its fence (`prompts.fence`), and its evidence is marked for the person who
reads the report. The rule is small and decides nothing: it knows the plainest forms only, and most rephrased ones pass.
"""

import re
import unicodedata
from functools import lru_cache

_READER = r"(?:assistant|AI|LLM|language model|fact[- ]?checker|verifier|evaluator|grader)s?"
_SETTING = r"(?:instruction|prompt|rule|guideline|context|text|content|reference|evidence|question|response|source)s?"
_REPLY = r"(?:answer|reply|respond|output|say|choose|select|pick)"
_LETTER = r"[\"'“]?(?-i:[AB])(?![\w'’/-])(?! \w)"
_PATTERNS = [
    rf"(?<!not )(?<!n't )\b(?:ignore|disregard|forget|override)\s+(?:\w+\s+){{0,2}}?(?:your|all|any|previous|prior|above|earlier)"
    rf"\s+(?:\w+\s+){{0,2}}{_SETTING}\b",
    r"(?<!not )(?<!n't )\b(?:ignore|disregard|forget) the (?:reference|evidence|text above|instructions)\b",
    rf"\b(?:dear|attention|note (?:to|for)|message (?:to|for)|if you are)[:,]? (?:\w+ ){{0,2}}?{_READER}\b",
    rf"\b{_READER}\b[^.\n]{{0,40}}\b(?:must|should|please|have to) (?:always |only )?{_REPLY}\b",
    r"\bauthori[sz]e you to\b|\bis the response (?:right|correct|wrong)\b|\bthe response is (?:right|correct|wrong)\b",
    rf"\b{_REPLY}(?:\s+(?:with|only|option|the letter)){{0,3}}\s+{_LETTER}",
    rf"\b(?:{_REPLY}|mark|label|report)\b[^.\n]{{0,30}}(?:\bas |[:=] ?)[\"'“]?(?:supported|contradicted|unverified)",
    rf"\bthe (?:right|correct) (?:answer|option)\b[^.\n]{{0,40}} is {_LETTER}",
    r"\bget_answer\(|[\"']role[\"']\s*:\s*[\"'](?:system|assistant)",
    r"(?:忽略|无视|忘记|忘掉)[^。\n]{0,6}(?:你的?|所有|一切|以上|上面|之前|前面|参考)[^。\n]{0,8}(?:指令|指示|提示|内容|资料|规则|要求|问题|回复)",
    r"(?:致|亲爱的)(?:核查员|助手|模型|人工智能|AI)|如果你是(?:一个)?(?:大?语言模型|大模型|人工智能|AI)",
    r"(?:语言模型|人工智能|核查员|AI)[^。\n]{0,8}(?:必须|应当|只能|请)[^。\n]{0,12}(?:回答|回复|输出|选择)",
    r"(?:请|必须|直接|只能|永远|一律)[^。\n]{0,10}(?:回答|回复|输出|选|判定|标记)[^。\n]{0,6}?(?:[AB](?!\w)|为支持|为矛盾|为正确|为错误|label)",
    r"授权你|正确(?:答案|选项)是\s?[AB](?!\w)|回复是?(?:对|错|正确|错误)的?吗|回复是(?:对|错|正确|错误)的",
]
_ORDER = re.compile("|".join(_PATTERNS), re.IGNORECASE)
# Marks that no ordinary text has. The fence breaks many more, such as those that a program may have too.
_CONVERSATION = re.compile(
    r"[<‹＜][|｜]\w[^<>|｜\n]{0,40}[|｜][>›＞]|\[/?INST\]|\[/?SYSTEM_PROMPT\]|<</?SYS>>|<(?:start|end)_of_turn>|\[gMASK\]|"
    r"<[/ ]{0,4}(?:think|tool_call|tool_response)[ ]{0,4}>|<[ ]{0,4}/[ ]{0,4}(?:reference|observation|statement)\b|^OBSERVATION\s?:",
    re.MULTILINE,
)
_SPACED = re.compile(r"(?<!\S)\S(?!\S)")


@lru_cache(maxsize=64)  # every sentence of a response is compared with the same reference
def speaks_to_reader(text: str) -> bool:
    """Return whether a text gives orders to the model that reads it, or imitates the marks of a conversation."""
    if _CONVERSATION.search(text) or _ORDER.search(text):
        return True
    # A line that hides nothing was searched with the rest.
    return any(_ORDER.search(shown) for line in text.splitlines() if (shown := _unhidden(line)) != line)


def _unhidden(line: str) -> str:
    """Return the line without invisible characters, and with words that were s p a c e d out put together."""
    visible = line
    if not line.isascii():
        visible = "".join(character for character in line if unicodedata.category(character) != "Cf")
    if len(_SPACED.findall(visible)) * 3 < len(visible.split()) * 2:
        return visible
    return re.sub(r"(?<=\S)\s(?=\S)", "", visible)
