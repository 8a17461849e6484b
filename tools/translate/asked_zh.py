"""Patterns of Chinese requests for a translation. They read a question whose quotations are hidden, see
`_translation_task`; `text` is what is to be translated, `head` the instruction, and □ stands where the text was."""

import re

from haluagent.tools.translate.languages import CHINESE_NAMES, SHORT_NAMES

NAME = f"(?:{CHINESE_NAMES})"
_SHORT = f"[{''.join(SHORT_NAMES)}]"
_KIND = "|".join((
    "文本 文字 句子 语句 段落 短语 短文 单词 词语 词汇 词组 成语 谚语 内容 文章 对话 段话 句话 诗句 歌词 邮件 问候语 词 话 诗 信 句"
).split())  # fmt: skip
_KIND = f"(?:{_KIND})"
_STYLE = r"(?:的|地道的?|标准的?|现代的?|通顺的?|流利的?|自然的?|简洁的?|\s)*"
_TRANSLATE = rf"(?:翻译|译成|译为|译作|译到|译出|{_SHORT}译{_SHORT})"
_INTO = r"(?:翻译|译)(?:一下|[^，。：:\n□]{0,12})?(?:成|为|到|作)"
_PLEASE = r"(?:请问|请你?|麻烦你?|帮我|帮忙|能否|能不能|可以|你能|你可以)*"
_HOW = r"(?:该|应该|可以)?(?:怎么|如何)"
_SAY = "(?:说|讲|表达|写|念|翻译)"
_END = r"[。！!？?吗]*$"

AFTER_COLON = (
    re.compile(rf"^(?P<head>[^：:\n]{{0,100}}?{_TRANSLATE}[^：:\n]{{0,40}}?)\s*(?:[：:]|\n)\s*(?P<text>.+)", re.S),
    re.compile(rf"^(?P<head>[^：:\n]{{0,60}}{NAME}[里中]?{_HOW}{_SAY})\s*[：:]\s*(?P<text>.+)", re.S),
)
BEFORE = (
    re.compile(
        rf"^(?P<text>.+?)(?:\s*\n\s*|(?<=[。！？.!?…])\s*)"
        rf"(?P<head>{_PLEASE}[^\n。：:]{{0,16}}{_INTO}{_STYLE}{NAME}[。.！!]*)$",
        re.S,
    ),
)
WITHOUT_QUOTATION = (
    re.compile(rf"^{_PLEASE}(?:把|将)(?P<text>[^，,：:\n]+?)(?:[从由]{NAME})?{_INTO}{_STYLE}{NAME}{_END}"),
    re.compile(rf"^(?P<text>[^，：:\n]+?)[，,]?(?:用{NAME}|在?{NAME}[里中]){_HOW}{_SAY}{_END}"),
    re.compile(rf"^{_PLEASE}用{NAME}{_HOW}{_SAY}(?P<text>[^？?：:\n]+){_END}"),
    re.compile(rf"^{_PLEASE}{_HOW}用{NAME}{_SAY}(?P<text>[^？?：:\n]+){_END}"),
    re.compile(
        rf"^{_PLEASE}(?P<text>[^，：:\n]+?)(?:这个词|这句话)?的{NAME}(?:翻译|单词|说法)?(?:是什么|怎么说|怎么写|是){_END}"
    ),
    re.compile(
        rf"^{_PLEASE}{NAME}(?:单词|词语|词|短语)?\s*(?P<text>[^\u4e00-\u9fff？?：:]+?)\s*[是有]?(?:什么意思|的?{NAME}意思)"
    ),
)
# Around a quotation, which alone asks for nothing.
ASKS = re.compile(
    rf"{_TRANSLATE}|{NAME}[里中]?{_HOW}{_SAY}|{_HOW}用{NAME}|用{NAME}(?:说|表达|来说)"
    rf"|\x00.的?{NAME}(?:是|怎么|说法|单词|词)|{NAME}的?(?:意思|含义|说法|释义)|[是有]?(?:什么|啥)意思"
)
# Not a wish for a translation, but a question about one.
ABOUT = re.compile(
    r"谁|何时|什么时候|什么时间|为什么|为何|哪[一年里个位本部国]|多少|第几|几[年个本次]|区别|历史|是否|译成了|译为了|写一|译者"
    rf"|关于{NAME}?翻译|翻译(?:行业|专业|家|者|员|软件|工具|理论|工作|史|公司|标准|原则)"
)
POINTS = re.compile(
    rf"(?:它|(?:上面|下面|以下|以上|下列|上述|该|这|那)的?[这那]?[一两几]?[句段个些]?{NAME}?的?{_KIND}?)"
)

TARGETS = (
    re.compile(rf"{_INTO}了?{_STYLE}(?P<name>{NAME})"),
    re.compile(rf"用(?P<name>{NAME})(?:{_HOW}|来)?(?:{_SAY}|回答)|{_HOW}用(?P<other>{NAME})"),
    re.compile(rf"(?P<name>{NAME})[里中]?{_HOW}{_SAY}"),
    re.compile(rf"□.?的?(?P<name>{NAME})(?:翻译|说法|表达|写法|单词|词)?(?:是|怎么)"),
    re.compile(rf"(?P<name>{NAME})的?(?:意思|翻译|译文|含义|说法|释义)"),
    re.compile(rf"{_SHORT}译(?P<short>{_SHORT})"),
)
SOURCES = (
    re.compile(rf"[从由](?P<name>{NAME})[中里]?(?:翻|译)|(?P<short>{_SHORT})译{_SHORT}"),
    re.compile(
        rf"(?:以下|下面|下列|下述|下边|[这此该])[句段个些篇首]?{_KIND}?用?的?(?:[这一][句段个])?的?(?P<name>{NAME})"
        r"(?!的?(?:意思|翻译|译文))"
    ),
    re.compile(rf"(?P<name>{NAME})的?{_KIND}?(?:[中里]的?)?\s*.?□|□.?在(?P<other>{NAME})[里中]"),
    re.compile(rf"(?P<name>{NAME})的?{_KIND}?{_INTO}|(?:把|将|翻译)(?:[一这][句段个])?(?P<other>{NAME})的?{_KIND}"),
)
# Where no language is named.
PLAINLY = re.compile(
    rf"^\s*{_PLEASE}(?:(?:把|将|对)?.?□.?(?:进行)?翻译(?:一下)?|(?:把|将|对)?{POINTS.pattern}?(?:进行)?翻译(?:一下)?{POINTS.pattern}?)"
    r"[。：:\s]*(?:.?□|$)"
)
ASKS_MEANING = re.compile("意思|含义")
