"""Cutting a sentence into its clauses by rule: no model is asked, and each clause is verbatim.

It is cut at semicolons, commas and "and", "but", "while", if both sides state something by themselves: each has a
subject and a verb of its own in English, and a predicate in Chinese. A sentence with a condition ("if", 如果), a pair
("neither") or a speaker ("said", 认为) stays whole, because its parts alone would say something else.
"""

import re

from haluagent.text.language import HAN
from haluagent.types import Span

LONGEST = 1000  # characters: anything longer is code, or a table

_CONJUNCTION = r"(?:and|but|yet|while|whereas)\s+"
_CUT = re.compile(rf"\s*(?:[;；，]|,(?!\d)|(?<!\d),)\s*(?:{_CONJUNCTION})?|\s+{_CONJUNCTION}", re.I)
_TOGETHER = re.compile(r"“[^”]*”|\"[^\"]*\"|（[^）]*）|\([^()]*\)|《[^》]*》|「[^」]*」|『[^』]*』|【[^】]*】|`[^`]*`")
_WHOLE = re.compile(
    r"\b(?:if|unless|whether|either|neither|not only|according|sa(?:y|ys|id)|claim(?:s|ed)|belie(?:ve|ves|ved)|think(?:s)?|thought)\b"
    r"|如果|假如|若|只要|除非|无论|不管|不但|不仅|要么|既|认为|声称|表示|指出|据",
    re.I,
)
_RELATIVE = re.compile(r"(?:who|whom|whose|which|that|where|when|including|such)\b", re.I)
_VERBS = re.compile(
    r"""\w[^,;]*?\s(?:am|is|are|was|were|has|have|had|does|do|did|can|could|will|would|may|might|must|should|became|becomes|began
    |begins|built|came|comes|consists|contains|cost|costs|died|fell|felt|flows|found|gave|gets|got|goes|went|grew|held|holds|includes|kept
    |knew|led|leads|left|lies|lived|lives|lost|made|makes|means|met|paid|ran|runs|rose|sold|stands|stood|took|takes|told|won|wrote
    |n't|isn't|aren't|wasn't|weren't|hasn't|didn't|doesn't|don't|cannot|can't)\b""",
    re.VERBOSE | re.I,
)
# A pronoun or a name, and what looks like its verb. "Osk located in Brod" is no clause, "Osk moved to Brod" is.
_SUBJECT_VERB = re.compile(
    r"(?:(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Ww]e|I|[Yy]ou)|[A-Z]\w+)\s\w+(?:ed(?!\s(?:in|by|at|on)\b)|[^s\W]s)\b"
)
_PREDICATE = re.compile(
    r"[是有为在了过着被把将能会可叫称写获建生死任居占属含作]|位于|包括|成立|毕业|达到|超过|等于|发明|发现"
)
_ADVERBIAL = re.compile(r"(?:时|时候|后|以后|之后|前|以前|之前|中|期间|以来|上|里|内|下)$")


def clauses(text: str) -> tuple[Span, ...]:
    """Return the spans of a sentence's clauses, in order; there is at least one."""
    if len(text) > LONGEST or _WHOLE.search(text):
        return ((0, len(text)),)
    pieces = _pieces(text)
    found = [pieces[0]]
    for start, end in pieces[1:]:
        before = found[-1]
        if _says_something(text[slice(*before)]) and _says_something(text[start:end]):
            found.append((start, end))
        else:
            found[-1] = (before[0], end)
    return tuple(found)


def _pieces(text: str) -> list[Span]:
    together = [match.span() for match in _TOGETHER.finditer(text)]
    pieces, start = [], 0
    for cut in _CUT.finditer(text):
        inside = any(a < cut.start() < b for a, b in together)
        if not inside and start < cut.start() and cut.end() < len(text):
            pieces.append((start, cut.start()))
            start = cut.end()
    return [*pieces, (start, len(text))]


def _says_something(clause: str) -> bool:
    if HAN.search(clause):
        plain = clause.rstrip("。！!.")
        return len(HAN.findall(plain)) >= 4 and bool(_PREDICATE.search(plain)) and not _ADVERBIAL.search(plain)
    return not _RELATIVE.match(clause) and bool(_VERBS.match(clause) or _SUBJECT_VERB.match(clause))
