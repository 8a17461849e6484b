"""The wording of the report in both languages. The tables have the same keys in each language."""

from haluagent.types import Label, Language, Stop

# The marks differ in shape, so that a report without colour says as much.
MARKS: dict[Label, str] = {"contradicted": "✗", "supported": "✓", "unverified": "?", "no_claim": "·"}
STYLES: dict[Label, str] = {
    "contradicted": "bold red",
    "supported": "green",
    "unverified": "yellow",
    "no_claim": "dim",
}

LABELS: dict[Language, dict[Label, str]] = {
    "en": {
        "contradicted": "contradicted",
        "supported": "supported",
        "unverified": "not verified",
        "no_claim": "nothing to check",
    },
    "zh": {
        "contradicted": "与依据矛盾",
        "supported": "有依据支持",
        "unverified": "未能核实",
        "no_claim": "无可核实内容",
    },
}

# One claim, several claims.
CLAIMS: dict[Language, tuple[str, str]] = {"en": ("claim", "claims"), "zh": ("陈述", "陈述")}

STOPS: dict[Language, dict[Stop, str]] = {
    "en": {
        "answer": "finished",
        "step_limit": "stopped early: the limit of steps was reached",
        "format_errors": "stopped early: too many of the model's turns could not be read",
        "budget": "stopped early: the budget of tokens or seconds was spent",
        "error": "stopped early, before everything was checked",
    },
    "zh": {
        "answer": "已完成",
        "step_limit": "提前结束：达到步数上限",
        "format_errors": "提前结束：模型的输出多次无法解析",
        "budget": "提前结束：token 数或时间预算已用完",
        "error": "提前结束：尚未核实全部内容",
    },
}

WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "score": " (score {score:.2f}): ",
        "colon": ": ",
        "found_title": "HALLUCINATION FOUND",
        "found": "{contradicted} of {n} {claims} contradicted",
        "also_unverified": ", {unverified} not verified",
        "not_found_title": "NO HALLUCINATION FOUND",
        "not_found": "{supported} of {n} {claims} supported",
        "unknown_title": "NOT VERIFIED",
        "unknown": "{unverified} of {n} {claims} could not be checked, so they may be right or wrong",
        "nothing_title": "NOT VERIFIED",
        "nothing": "no claim was found that could be checked",
        "whole": "(the response as a whole)",
        "read_as": "read as: {text}",
        "evidence": "evidence ({source}): {text}",
        "span": ", characters {start}-{end}",
        "via": ", found by {tool}",
        "more": "… ({n} more characters)",
        "reason": "reason: {text}",
        "no_reason": "none was recorded",
        "opinion": "the model's own belief, not a check: true with probability {probability:.2f}",
        "closed_book": "closed book, from the model's own belief, not a check: true with probability {probability:.2f}",
        "closed_book_note": "closed book: labels marked so rest on what the model believes; nothing was looked up",
        "revised": "before reflection: {label}",
        "because": " ({text})",
        "covered_response": "only {percent} % of the response was looked at",
        "covered_reference": "only {percent} % of the reference was looked at",
        "rejected": "a call of {tool} was rejected before it ran: {reason}",
        "error": "error: {text}",
        "usage": "{calls} model call{s}, {evaluated} tokens evaluated, {cached} cached, {generated} generated, "
        "{seconds:.1f} s",
        "no_tool": "none",
        "cost": "tools: {tools} · {usage}",
        "interrupted": "stopped by the user",
        "not_reached": "stopped before it was checked",
        "checked": "{done} of {n} sentences checked",
        "model_starting": "loading the model…",
        "starting": "reading the response",
        "found_sentence": "found: ",
    },
    "zh": {
        "score": "（得分 {score:.2f}）：",
        "colon": "：",
        "found_title": "发现幻觉",
        "found": "{n} 条{claims}中有 {contradicted} 条与依据矛盾",
        "also_unverified": "，另有 {unverified} 条未能核实",
        "not_found_title": "未发现幻觉",
        "not_found": "{n} 条{claims}中有 {supported} 条得到支持",
        "unknown_title": "未能核实",
        "unknown": "{n} 条{claims}中有 {unverified} 条未能核实，其对错未知",
        "nothing_title": "未能核实",
        "nothing": "没有找到可以核实的陈述",
        "whole": "（整个回答）",
        "read_as": "补全为：{text}",
        "evidence": "依据（{source}）：{text}",
        "span": "，第 {start}-{end} 字符",
        "via": "，由 {tool} 找到",
        "more": "……（另有 {n} 个字符）",
        "reason": "原因：{text}",
        "no_reason": "没有记录",
        "opinion": "模型自己的看法（并非核查）：为真的概率 {probability:.2f}",
        "closed_book": "闭卷，仅为模型自己的看法（并非核查）：为真的概率 {probability:.2f}",
        "closed_book_note": "闭卷：带此标注的标签只依据模型自己的看法，没有查证任何资料",
        "revised": "反思之前：{label}",
        "because": "（{text}）",
        "covered_response": "只检查了回答的 {percent} %",
        "covered_reference": "只检查了参考资料的 {percent} %",
        "rejected": "{tool} 的一次调用在执行前被拒绝：{reason}",
        "error": "错误：{text}",
        "usage": "调用模型 {calls} 次，token：计算 {evaluated}、缓存 {cached}、生成 {generated}，用时 {seconds:.1f} 秒",
        "no_tool": "无",
        "cost": "工具：{tools} · {usage}",
        "interrupted": "已被用户中止",
        "not_reached": "在核实之前已中止",
        "checked": "已核实 {done}/{n} 句",
        "model_starting": "正在加载模型……",
        "starting": "正在阅读回答",
        "found_sentence": "句子：",
    },
}
