"""The programs that a response offers: its parts together, or one for each version where it defines a thing in several
ways."""

import ast
import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass

from haluagent.tools.code_interpreter.parts import CodePart, is_stub

_SHOWN_TO_FAIL = re.compile(
    r"会(?:报错|抛出|引发|出错)|报错的|错误(?:的|示例|写法|代码|用法|示范)|反例"
    r"|\b(?:will|would|does|to) (?:raise|fail|throw|cause)|\b(?:raises|throws|fails|failing|incorrect|wrong)\b",
    re.I,
)
_REPAIRED = re.compile(
    r"修|改正|更正|解决|避免|\b(?:fix\w*|correct(?:ed|ion|s)?|solution|avoid\w*|instead|repair\w*|handle\w*)\b", re.I
)
_SHOWN_AS_WRONG = re.compile(
    r"有问题|不正确|不要这样|原来的|原代码|你的代码|修改前"
    r"|\b(?:buggy|broken|bad|original|your code|before|avoid|don't)\b",
    re.I,
)


@dataclass(frozen=True)
class Versions:
    """`programs`, each as its parts in the order to run them; `rivals` are the parts that only some of them have."""

    programs: list[list[CodePart]]
    rivals: list[CodePart]


def versions(parts: Sequence[CodePart], response: str, question: str) -> Versions:
    """Return the programs that a response offers: one, or one for each definition of the same thing; none where it only
    shows wrong code. What it quotes from the question and replaces is left out."""
    replaced = {id(part) for group in _rivals(parts) for part in group[:-1]}
    shown = [part for part in parts if not _is_not_meant(part, response, question, id(part) in replaced)]
    groups = [group for group in _rivals(shown) if len(group) > 1]
    rivals = [part for group in groups for part in group]
    programs = []
    for index in range(max(map(len, groups), default=min(1, len(shown)))):
        chosen = [group[min(index, len(group) - 1)] for group in groups]
        out = [part for part in rivals if part not in chosen]
        out += [part for part in shown if not _defined(part) and _belongs_to(part, rivals) in out]
        kept = [part for part in shown if part not in out]
        missing = set().union(*(part.used for part in kept)) - set().union(*(part.bound for part in kept))
        # A version that builds on the one before it comes after it, and its definitions win.
        programs.append(_in_order([part for part in shown if part in kept or _defined(part) & missing]))
    return Versions(programs, rivals)


def _belongs_to(part: CodePart, rivals: Sequence[CodePart]) -> CodePart | None:
    """Return the version that a use follows, if another version follows the use. A use after all versions belongs to
    all."""
    before = [rival for rival in rivals if rival.block and part.block and rival.block < part.block]
    return before[-1] if before and len(before) < len(rivals) else None


def _rivals(parts: Sequence[CodePart]) -> list[list[CodePart]]:
    """Group the parts that define the same function or class in different ways. The same definition again is no rival:
    only its last place counts."""
    groups: list[list[CodePart]] = []
    for part in parts:
        names = _defined(part)
        same = [group for group in groups if any(names & _defined(other) for other in group)]
        merged = [other for group in same for other in group] + [part]
        groups = [group for group in groups if group not in same] + [merged]
    return [_without_restated(group) for group in groups]


def _without_restated(group: list[CodePart]) -> list[CodePart]:
    """Leave out parts whose every definition another part repeats, word for word or filled in."""

    def definitions(part: CodePart) -> dict[str, str]:
        return {name: ast.dump(node) for name, node in (part.functions | part.classes).items()}

    kept = []
    for index, part in enumerate(group):
        mine = definitions(part)
        stubs = {name for name, node in part.functions.items() if is_stub(node)}
        later = [definitions(other) for other in group[index + 1 :]]
        if not any(
            all(other.get(name) == text or (name in stubs and name in other) for name, text in mine.items())
            for other in later
        ):
            kept.append(part)
    return kept


def _is_not_meant(part: CodePart, response: str, question: str, replaced: bool) -> bool:
    before = response[: part.block[0]].rstrip().rpartition("\n")[2][-80:] if part.block else ""
    if _SHOWN_TO_FAIL.search(before) and not _REPAIRED.search(before):
        return True
    quoted = "".join(part.code.split()) in "".join(question.split())
    return replaced and (quoted or bool(_SHOWN_AS_WRONG.search(before)))


def _in_order(parts: Sequence[CodePart]) -> list[CodePart]:
    """Return the parts with each definition before the code that is run with it: a use is sometimes shown first."""
    ordered: list[CodePart] = []
    waiting = list(parts)
    known = set(dir(builtins))
    while waiting:
        part = waiting[0]
        unknown = part.at_once - part.bound - known
        for other in waiting[1:]:
            if unknown & _defined(other) and not other.at_once & (part.bound - known):
                part = other
                break
        waiting.remove(part)
        ordered.append(part)
        known |= part.bound
    return ordered


def _defined(part: CodePart) -> set[str]:
    return part.functions.keys() | part.classes.keys()
