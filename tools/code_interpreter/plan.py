"""Plan the runs of one version of the code in a response, with the tests that there are for it."""

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from haluagent.text.code_blocks import CodeBlock
from haluagent.text.code_classifier import parse
from haluagent.tools.code_interpreter.changes import Change
from haluagent.tools.code_interpreter.examples import CallExample, called, calls, is_led
from haluagent.tools.code_interpreter.output import VARIES, StatedOutput, stated_outputs
from haluagent.tools.code_interpreter.parts import CodeLine, CodePart, Function, is_stub
from haluagent.tools.code_interpreter.program import Program, tested, whole
from haluagent.tools.code_interpreter.samples import InputSample, as_example, given_values, samples
from haluagent.tools.code_interpreter.sessions import sessions
from haluagent.tools.code_interpreter.tests import counted, is_test_function, takes, tests_alone, uncalled

_READS_INPUT = re.compile(r"\binput\(|\bsys\.stdin\b")
_READS_OTHERWISE = re.compile(r"\bopen\(0|/dev/stdin|\bos\.read\(|\bfileinput\b")  # cannot be given anything


_MENDING = re.compile(
    r"\b(?:fix|correct|debug|repair|rewrite|wrong|bugs?|buggy|my)\b|我的|修|改正|改错|调试|重写|错误", re.I
)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass
class Tests:
    """Lines that test a program, after `parts` that they need beside it. `examples[i]` is what line i is from, if it is
    from an example."""

    parts: list[CodePart] = field(default_factory=list)
    lines: list[CodeLine] = field(default_factory=list)
    examples: list[CallExample | None] = field(default_factory=list)

    def add(self, line: str, example: CallExample | None = None, in_response: bool = False) -> None:
        for text in line.split("\n"):
            self.lines.append(CodeLine(text, example.span if in_response and example else None))
            self.examples.append(example)

    def program(self, parts: Sequence[CodePart], change: Change | None = None) -> Program:
        return tested([*parts, *self.parts], self.lines, change)

    def deciding(self) -> "Tests":
        """Return the tests without the examples that can only speak for the code."""
        kept = [index for index, one in enumerate(self.examples) if one is None or one.decides]
        return Tests(self.parts, [self.lines[index] for index in kept], [self.examples[index] for index in kept])

    def example(self, program: Program, number: int | None) -> CallExample | None:
        """Return the example that a line of `program` is from. Behind the tests there is one more line."""
        index = (number or 0) - len(program.lines) + len(self.lines)
        return self.examples[index] if 0 <= index < len(self.examples) else None


@dataclass(frozen=True)
class Plan:
    """One version of the code, `parts`, and its tests. `asserts` are those that the code runs by itself, `own` the tests
    of the response that it does not, `given` those of the question, `samples` the question's inputs for a program that
    reads. `renamed` is the name of a function in the question and in the response, and `asked` are the words of the
    question that may be names."""

    parts: list[CodePart]
    stated: list[StatedOutput]
    asserts: int
    own: Tests
    given: Tests
    samples: list[InputSample]
    renamed: tuple[str, str] | None
    asked: frozenset[str]

    @property
    def has_tests(self) -> bool:
        return bool(self.own.lines or self.given.lines or self.samples or self.asserts or self.stated)

    def program(self, without: Sequence[ast.stmt] = (), change: Change | None = None) -> Program:
        """Return the code as it stands, with marks around each output that the response states."""
        statements = [one.statement for one in self.stated if one.statement is not None]
        return whole(
            self.parts,
            statements,
            [one.part for one in self.stated if one.statement is None],
            without=without,
            change=change,
        )

    def place(self, stated: StatedOutput) -> int:
        """Return the number of the marks around an output that is stated."""
        return sorted(self.stated, key=lambda one: one.statement is None).index(stated) + 1

    def with_input(self, sample: InputSample) -> Program:
        return whole(self.parts, stdin=sample.input + "\n")


def make_plan(
    parts: list[CodePart],
    rivals: Sequence[CodePart],
    given: Sequence[CodePart],
    question: str,
    response: str,
    blocks: Sequence[CodeBlock],
) -> Plan:
    """Find everything that tests a program, without running it. `rivals` are the parts of the response of which there
    are several versions, `given` is the code of the question."""
    code = _Code.of(parts)
    examples, renamed = _given_examples(question, code, given)
    aliases = [*code.aliases, *([f"{renamed[0]} = {renamed[1]}"] if renamed else [])]
    apart_from = {(example.source, example.wanted) for example in examples}
    prose = _told(response, blocks, parts)
    steps, told = _read(response, prose, code.names, code.known, apart_from)
    told = _agreeing([one for one in told if _is_about(one, parts, rivals) and _fits(one, code.functions)])
    steps = [one for one in steps if _is_about(one, parts, rivals) and _fits(one, code.functions)]
    told = [replace(one, decides=one.alone and not is_led(prose, one.span[0])) for one in told]
    own = [replace(one, decides=one.decides and not code.varies) for one in [*steps, *told]]
    test_parts = [tests for part in given if (tests := tests_alone(part))]
    program = [*parts, *test_parts]
    return Plan(
        parts=parts,
        stated=stated_outputs(response, blocks, parts),
        asserts=sum(1 for part in parts for _ in counted(part, parts)),
        own=_tests(aliases, [], [call for part in parts for call in uncalled(part, parts, question)], own, True),
        given=_tests(
            aliases, test_parts, [call for part in test_parts for call in uncalled(part, program, question)], examples
        ),
        samples=samples(question) if code.reads and not _READS_OTHERWISE.search(code.text) else [],
        renamed=renamed,
        asked=frozenset(_WORD.findall(question)),
    )


@dataclass(frozen=True)
class _Code:
    """The parts of a program, for reading examples: the functions of the response and the methods of its `class
    Solution`, which `aliases` let be called by their names, the `names` of both and of its classes, and all that is
    `known` to an expression beside them."""

    text: str
    functions: dict[str, Function]
    methods: dict[str, Function]
    names: list[str]
    known: set[str]
    aliases: list[str]

    @classmethod
    def of(cls, parts: Sequence[CodePart]) -> "_Code":
        answered = [part for part in parts if part.block]
        every = [item for part in answered for item in part.functions.items()]
        functions = {name: node for name, node in every if name != "main" and not is_test_function(name)}
        methods, aliases = _methods_of_solution(answered)
        names = [*functions, *methods, *(name for part in answered for name in part.classes)]
        known = {name for part in parts for name in part.public}
        return cls("\n".join(part.code for part in parts), functions, methods, names, known, aliases)

    @property
    def reads(self) -> bool:
        return bool(_READS_INPUT.search(self.text))

    @property
    def varies(self) -> bool:
        return bool(VARIES.search(self.text))


def _given_examples(
    question: str, code: _Code, given: Sequence[CodePart]
) -> tuple[list[CallExample], tuple[str, str] | None]:
    """Return the examples of the question, and the name of the function there and here, where it has another one."""
    renamed = None
    steps, told = _read(question, question, code.names, code.known)
    if not steps and not told and (renamed := _renamed(question, code.functions | code.methods, code.known)):
        steps, told = _read(question, question, [renamed[0]], code.known)
    there = {name for part in given for name, node in part.functions.items() if not is_stub(node)}
    # Where there is code to mend, an example may tell what it does now.
    mending = bool(_MENDING.search(question) or there & {*code.names, *(renamed or ())})
    uncertain = code.varies or bool(re.search(r"[?？]", question))
    examples = [*steps, *_wanted(_agreeing(told), mending, uncertain)]
    if not code.reads:
        pairs = [*samples(question), *given_values(question)]
        found = _from_samples(pairs, code.functions, code.methods, question)
        examples += [replace(one, decides=not mending) for one in found]
    return examples, renamed


def _wanted(examples: Sequence[CallExample], mending: bool, uncertain: bool) -> list[CallExample]:
    """Return the examples in the prose of a question that say what it wants."""
    return [
        replace(one, decides=not mending and (one.stress == "should" or (one.alone and not uncertain)))
        for one in examples
        if one.stress or (one.alone and not mending)
    ]


def _agreeing(examples: Sequence[CallExample]) -> list[CallExample]:
    """Leave out calls of which different things are said: then and now, here and there."""
    said = [(one.source, one.wanted) for one in examples]
    return [one for one in examples if all(source != one.source or wanted == one.wanted for source, wanted in said)]


def _tests(
    aliases: Sequence[str],
    parts: list[CodePart],
    lines: Sequence[str],
    examples: Sequence[CallExample],
    in_response: bool = False,
) -> Tests:
    tests = Tests(parts)
    if lines or any(example.kind != "run" for example in examples):
        for line in (*aliases, *lines):
            tests.add(line)
        for example in examples:
            tests.add(example.line, example, in_response)
    return tests


def _read(
    text: str, told: str, names: Sequence[str], known: Collection[str], apart_from: Collection[tuple[str, str]] = ()
) -> tuple[list[CallExample], list[CallExample]]:
    """Return the examples of a text: its transcripts, whose steps belong together, and those in the part of it that is
    `told`. What is said of expressions `apart_from` is left out."""
    steps = sessions(text, names, known)
    if all((step.source, step.wanted) in apart_from for step in steps if step.kind != "run"):
        steps = []
    seen = {*apart_from, *((step.source, step.wanted) for step in steps)}
    return steps, [one for one in calls(told, names, known) if (one.source, one.wanted) not in seen]


def _is_about(example: CallExample, parts: Sequence[CodePart], rivals: Sequence[CodePart]) -> bool:
    """Return whether an example in the response is about this version: it stands in it, or between it and the next
    version."""
    before = [part for part in rivals if part.block and part.block[0] <= example.span[0]]
    return not before or max(before, key=lambda part: part.block or (0, 0)) in parts


def _fits(example: CallExample, functions: dict[str, Function]) -> bool:
    """Return whether an example has the arguments of a call: `f()` in a sentence may only name the function."""
    tree = parse(example.source).body[0]
    call = tree.value if isinstance(tree, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in functions:
        return True
    return takes(functions[call.func.id], call)


def _told(response: str, blocks: Sequence[CodeBlock], parts: Sequence[CodePart]) -> str:
    """Return the response without its code, but with the docstrings in it; everything keeps its place."""
    kept = [" " if character != "\n" else "\n" for character in response]
    at = 0
    for start, end in [*(block.span for block in blocks), (len(response), len(response))]:
        kept[at:start] = response[at:start]
        at = end
    for part in parts:
        for node in ast.walk(part.tree):
            if isinstance(node, (Function, ast.ClassDef)) and ast.get_docstring(node, clean=False) is not None:
                for line in part.lines[node.body[0].lineno - 1 : node.body[0].end_lineno]:
                    if line.span:
                        kept[slice(*line.span)] = response[slice(*line.span)]
    return "".join(kept)


def _methods_of_solution(parts: Sequence[CodePart]) -> tuple[dict[str, Function], list[str]]:
    """Return the methods of `class Solution` that can be called from outside, and lines that let them be called by
    their names, each time on a new object."""
    methods: dict[str, Function] = {}
    for part in parts:
        for node in part.classes["Solution"].body if "Solution" in part.classes else []:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list:
                methods[node.name] = node
    lines = [f"{name} = lambda *values, **words: Solution().{name}(*values, **words)" for name in methods]
    return methods, lines


def _renamed(question: str, functions: dict[str, Function], known: Collection[str]) -> tuple[str, str] | None:
    """Return the name that the question's examples have for the one function of a response, where that has another name
    and takes what they give."""
    if len(functions) != 1:
        return None
    ((own, node),) = functions.items()
    bound = bool(node.args.args) and node.args.args[0].arg == "self"
    names: dict[str, bool] = {}
    for name, call in called(question):
        call.args = [*([ast.Constant(None)] * bound), *call.args]
        names[name] = names.get(name, True) and takes(node, call)
    fitting = [name for name, fits in names.items() if fits and name not in known]
    return (fitting[0], own) if len(names) == 1 and fitting and not is_stub(node) else None


def _from_samples(
    inputs: Sequence[InputSample], functions: dict[str, Function], methods: dict[str, Function], question: str
) -> list[CallExample]:
    """Return the question's inputs and outputs as examples of the one function they can be meant for."""
    candidates = functions | methods
    if len(candidates) > 1:
        candidates = {
            name: node for name, node in candidates.items() if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)
        }
    if len(candidates) != 1:
        return []
    ((name, node),) = candidates.items()
    found = [as_example(sample, name, node, bound=name in methods) for sample in inputs]
    return [example for example in found if example is not None]
