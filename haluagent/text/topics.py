"""What a sentence is about, apart from what is said in any calculation."""

import re

from haluagent.text.words import words

_OF_CALCULATION = re.compile(
    r"第[一二三四五]|[从到至自以这那该]|一共|总共|共计|合计|答案|结果|还剩|剩下|[共答个]|所以|因此|因为|那么|首先|然后|最后|根据|题目|题意|已知|可知|可得|可以|得到|得出|假设|代入|上式|整理|化简|"
    r"方程|等式|算式|列式|公式|数据|计算|数量|单价|价格|等于|[设令列则即得有由将把求解乘除加减倍]|"
    r"\b(?:add|amount|answer|both|calculate|call|denote|divid|equal|equation|find|first|formula|get|give|given|hence|know|let|"
    r"multipl|need|next|now|number|per|price|product|represent|result|set|side|simplify|solv|step|substitut|subtract|sum|thus|"
    r"therefore|time|total|unknown|us|use|using|value|variable)(?:s|d|e|es|ed|y|ied|ying|ing)?\b",
    re.IGNORECASE,
)


def topics(text: str) -> set[str]:
    """Return the topic words of a text: singular, without numbers, unknowns and the words of calculation."""
    found = words(_OF_CALCULATION.sub(" ", text))
    return {word.removesuffix("s") for word in found if not re.fullmatch(r"[a-z]|.*\d.*", word)}
