"""Critical claims: those with numbers, dates, citations, names or commitments, found by rule in both languages.

Agent Hallucination Detection Spec, stage 3. The rules err on the side of too many: a critical claim costs a probe, but
one that is overlooked may go out unchecked.
"""

import re
from dataclasses import dataclass
from typing import Literal

from haluagent.checks.runs.calls.entities import Leaf, entities
from haluagent.text.clocks import find_clocks
from haluagent.text.dates import find_days
from haluagent.text.numbers import find_numbers
from haluagent.types import Span

READ = 4000  # characters of a claim that are looked at

Kind = Literal["citation", "date", "number", "name"]

_CITED = re.compile(r"《[^《》]{2,}》|\[\d{1,3}\]|【\d{1,3}】")
_QUOTED = re.compile(r"“([^“”]{4,})”|\"([^\"]{4,})\"|「([^「」]{4,})」")
_NAME = re.compile(
    r"(?<![.!?:#*\-\"“]\s)(?<!^)\b(?:[A-Z][\w&'’-]*[a-z][\w&'’-]*|[A-Z]{2,}\b)(?:\s+(?:of|de|the|and)?\s*[A-Z][\w&'’-]+)*"
    r"|(?:^|(?<=[.!?:]\s))[A-Z][a-z][\w'’-]*(?:\s+[A-Z][\w&'’-]+)+",
    re.M,
)
_NO_NAME = re.compile(r"(?:I|I'(?:ll|ve|m|d)|OK|PM|AM|ID|URL|Please|Yes|No)$")
_HAN_NAME = re.compile(
    r"[\u4e00-\u9fff]{2,8}(?:公司|集团|大学|学院|医院|机场|酒店|宾馆|银行|航空|餐厅|车站|先生|女士|教授|医生|经理|老师)"
    r"|[\u4e00-\u9fff]{1,4}(?:省|市|区|县|路|街|站)(?![场面长民域别分])"
)
_COMMITMENT = re.compile(
    r"\b(?:i|we)(?:'ll|’ll|\s+will|\s+shall|'m\s+going\s+to|\s+am\s+going\s+to|'ve|’ve|\s+have)\b"
    r"|\b(?:i|we)\s+(?:just\s+|also\s+|already\s+)?(?:booked|sent|emailed|cancel+ed|created|updated|deleted|scheduled|ordered|paid|refunded"
    r"|transferred|submitted|filed|moved|removed|added|set|changed|reserved|opened|closed|restarted|deployed|notified|blocked)\b"
    r"|\b(?:has|have)\s+been\s+\w+(?:ed|en|t|id|de)\b|\bis\s+now\s+\w+ed\b"
    r"|(?:已经?|我[会将]|将会?|会)\s*(?:为|给|帮|替|向|把|将)(?:您|你|他|她|客户|用户)|(?:已经?)(?:成功)?"
    r"(?:预订|预定|预约|发送|取消|创建|更新|删除|安排|下单|支付|退款|转账|提交|修改|变更|通知|关闭|开通|重启|部署|添加|设置|冻结|改签|登记)",
    re.I,
)


@dataclass(frozen=True)
class Specific:
    """A part of a claim that would be wrong if made up: `claim[span[0]:span[1]] == text`."""

    kind: Kind
    text: str
    span: Span


def specifics(claim: str) -> list[Specific]:
    """Return the specific parts of a claim, in order, none inside another; of a very long claim, those of its
    beginning."""
    claim = claim[:READ]
    found: list[Specific] = []

    def add(kind: Kind, span: Span) -> None:
        text = claim[slice(*span)].rstrip(".,;:!?)）")
        span = (span[0], span[0] + len(text))
        if text.strip() and not any(one.span[0] < span[1] and span[0] < one.span[1] for one in found):
            found.append(Specific(kind, text, span))

    days = [day.span for day in find_days(claim)] + [clock.span for clock in find_clocks(claim)]
    for entity in entities(Leaf(claim, "", "")):
        at = claim.find(entity.text)
        span = (at, at + len(entity.text))
        if at >= 0 and entity.kind not in ("date", "time", "number") and not any(a <= at < b for a, b in days):
            add("citation", span)
    for span in days:
        add("date", span)
    for pattern in (_CITED, _QUOTED):
        for match in pattern.finditer(claim):
            add("citation", match.span())
    for number in find_numbers(claim):
        add("number", number.span)
    for pattern in (_NAME, _HAN_NAME):
        for match in pattern.finditer(claim):
            if not _NO_NAME.match(match[0]):
                add("name", match.span())
    return sorted(found, key=lambda one: one.span)


def is_commitment(claim: str) -> bool:
    """Return whether a claim says that something was done or will be done for the user."""
    return _COMMITMENT.search(claim[:READ]) is not None


def is_critical(claim: str) -> bool:
    """Return whether a claim has a number, a date, a citation, a name or a commitment."""
    return is_commitment(claim) or bool(specifics(claim))
