"""Find what a response says that its code prints, and compare it with the real output."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from haluagent.text.code_blocks import CodeBlock
from haluagent.tools.code_interpreter.examples import literal_at
from haluagent.tools.code_interpreter.parts import CodePart
from haluagent.tools.code_interpreter.program import is_main_guard
from haluagent.types import Span

MAX_GAP = 200  # characters between code and what is said of its output

_CUE = re.compile(
    r"[ \t]*(?:(?:expected |the )?(?:outputs?|prints?|results?|returns?)(?: is| will be)?"
    r"|(?:预期|期望)?(?:输出|打印|结果|返回)(?:结果)?[为是]?)[ \t]*[:：]?[ \t]*|[ \t]*(?:=+>|-+>|[→⇒➞])[ \t]*",
    re.I,
)
_ANNOUNCED = re.compile(r"output|print|result|display|输出|打印|结果|显示", re.I)
_LABELLED = re.compile(
    r"(?:^|[\n。；.])[ \t>*#-]*(?:the )?(?:output|result|prints|(?:运行|程序|执行|打印|输出)?(?:输出|结果|打印))(?: is| will be|[为是])?"
    r"[ \t]*\**[:：]\**[ \t]*(?P<text>[^\n]+)",
    re.I,
)
_TOLD = re.compile(r"(?:\b(?:prints?|outputs?)|(?:输出|打印出?)(?:结果)?[为是]?)[ \t]*[:：]?[ \t]*`?", re.I)
_UNCERTAIN = re.compile(
    r"可能|类似|大致|大约|约为|例如|比如|如果|假设|输入|对于|"
    r"\b(?:might|may|similar|something like|approximately|about|if|when|for|input|e\.g)\b|≈",
    re.I,
)
VARIES = re.compile(
    r"\b(?:random|time|datetime|date|uuid|secrets|getpid|perf_counter|timeit|platform|version|threading|asyncio|multiprocessing|"
    r"getcwd|listdir|environ|id\(|hash\(|input\()"
)
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_GAP = re.compile(r"\.\.\.|…|<[^<>\n]+>")  # what is shown for something else


@dataclass(frozen=True)
class StatedOutput:
    """`text` is said to be the output of a statement, or of a whole part where `statement` is None. `decides` is whether
    another output shows that this is wrong; where it is False only an equal one says something."""

    text: str
    span: Span
    part: CodePart
    statement: ast.stmt | None
    decides: bool


def stated_outputs(response: str, blocks: Sequence[CodeBlock], program: Sequence[CodePart]) -> list[StatedOutput]:
    """Return what comments on `print` calls, the block after the code, or the sentence after it say of the output."""
    varies = any(VARIES.search(part.code) for part in program)
    found: list[StatedOutput] = []
    for part in program:
        if part.block is None or not part.used & {"print", "stdout"}:
            continue
        found += _in_comments(part, list(_prints(part)))
        after = _after(response, blocks, part)
        if after:
            found.append(after)
    return [StatedOutput(one.text, one.span, one.part, one.statement, one.decides and not varies) for one in found]


def _prints(part: CodePart) -> Iterator[ast.stmt]:
    """Yield the statements that print and run exactly once."""
    for node in part.tree.body:
        for statement in node.body if isinstance(node, ast.If) and is_main_guard(node) else [node]:
            called = (
                statement.value.func
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
                else None
            )
            if isinstance(called, ast.Name) and called.id == "print":
                yield statement


def _in_comments(part: CodePart, printing: Sequence[ast.stmt]) -> list[StatedOutput]:
    found: list[StatedOutput] = []
    bare: list[StatedOutput] = []  # values without a word that they are the output
    for statement in printing:
        number = statement.end_lineno or statement.lineno
        line = part.lines[number - 1]
        beside = line.text.encode()[statement.end_col_offset or 0 :].decode().strip()
        if not beside.startswith("#") and number < len(part.lines):
            line = part.lines[number]
        comment = beside if beside.startswith("#") else line.text.strip()
        cue = _CUE.match(comment.lstrip("# \t"))
        if not comment.startswith("#") or line.span is None or not (comment == beside or cue):
            continue
        text = comment.lstrip("# \t")[cue.end() if cue else 0 :]
        literal = literal_at(text, 0)
        stated = StatedOutput(
            text[: literal[1]] if literal else text, line.span, part, statement, not _UNCERTAIN.search(comment)
        )
        if stated.text:
            (found if cue else bare).append(stated)
    counted = len(bare) > 1 and [one.text for one in bare] == [str(number) for number in range(1, len(bare) + 1)]
    return found if counted else [*found, *bare]  # 1, 2, 3 beside the lines count the lines


def _after(response: str, blocks: Sequence[CodeBlock], part: CodePart) -> StatedOutput | None:
    assert part.block is not None
    end = part.block[1]
    following = next((block for block in blocks if block.span[0] >= end), None)
    gap = response[end : following.span[0] if following else None]
    if following and is_output(following, gap):
        return StatedOutput(following.code, following.span, part, None, True)
    gap = gap[: 2 * MAX_GAP]
    if labelled := _LABELLED.search(gap):
        start = end + labelled.start("text")
        text = labelled["text"].strip().strip("`*").strip()
        literal = literal_at(text.rstrip("。."), 0)
        decides = literal is not None and not _UNCERTAIN.search(labelled[0])
        return StatedOutput(text, (start, start + len(labelled["text"])), part, None, decides) if text else None
    for told in _TOLD.finditer(gap):
        line_start = gap.rfind("\n", 0, told.start()) + 1
        line = gap[line_start:].partition("\n")[0]
        of_call = re.search(r"\w\(", line[: told.start() - line_start])
        literal = literal_at(gap, told.end())
        if literal and not of_call and not _UNCERTAIN.search(line):
            return StatedOutput(gap[told.end() : literal[1]], (end + told.start(), end + literal[1]), part, None, True)
    return None


def is_output(block: CodeBlock, gap: str) -> bool:
    """Return whether a block that follows code shows what it prints."""
    if len(gap) > MAX_GAP or _UNCERTAIN.search(gap):
        return False
    announced = bool(_ANNOUNCED.search(gap))
    if block.language == "console":
        return announced and not re.match(r"\s*(?:[$>%#]|python|pip|\S+@\S+)", block.code)
    value = block.python and _is_literal(block.code)  # a list, in a block with the wrong tag
    return (
        block.language == "output"
        or (block.language == "" and not gap.strip())
        or (announced and (block.language == "" or value))
    )


def agrees(stated: StatedOutput, output: str) -> bool | None:
    """Return whether the real output is the stated one; None where that cannot be told."""
    if _ADDRESS.search(output):
        return None
    wanted, real = ([line.rstrip() for line in text.strip().split("\n")] for text in (stated.text, output))
    if len(wanted) == len(real) and all(map(_same, wanted, real)):
        return True
    if stated.statement is None and len(wanted) == 1 and any(_same(wanted[0], line) for line in real):
        return True
    if not stated.decides or _GAP.search(stated.text):
        return None
    if stated.statement is None and not output.strip():  # of a call that is not there
        return None
    if stated.statement is not None and not _is_literal(wanted[0]):
        # Words beside the value: `# 5 (the sum)`
        begins = stated.text.startswith(output.strip()) and not stated.text[len(output.strip()) :][:1].isalnum()
        return True if begins and output.strip() else None
    if "\n".join(wanted) in "\n".join(real):  # a part of the output
        return None
    return False


def _is_literal(text: str) -> bool:
    literal = literal_at(text, 0)
    return literal is not None and literal[1] == len(text)


def _same(wanted: str, real: str) -> bool:
    """Return whether two lines say the same: the same text, apart from quotes and a final stop; the same value; or the
    same number, rounded to the digits that are given."""
    wanted, real = wanted.strip(), real.strip()
    plain = wanted.strip("`").rstrip("。")
    if real in (wanted, plain, plain.rstrip("."), plain.strip("\"'“”")):
        return True
    try:
        one, other = ast.literal_eval(plain.rstrip(".")), ast.literal_eval(real)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    if isinstance(one, float) and isinstance(other, (int, float)):
        digits = len(plain.rstrip(".").partition(".")[2])
        return round(other, digits) == one if digits > 1 else one == other
    return type(one) is type(other) and bool(one == other)
