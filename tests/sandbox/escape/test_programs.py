"""Source and output of every shape are told apart, and never break the driver."""

from collections.abc import Callable
from typing import Any

import pytest

Arena = Callable[..., Any]

BROKEN = {
    "a null": "print(1)\0print(2)",
    "a null in a string": "x = '\0'",
    "a lone surrogate": "x = '\ud800'",
    "a lone surrogate as a name": "\udfff = 1",
    "brackets": "(" * 10_000 + ")" * 10_000,
    "lists": "x = " + "[" * 5000 + "]" * 5000,
    "indentation": "\n".join(" " * i + "if 1:" for i in range(200)) + "\n" + " " * 200 + "pass",
    "a return": "return 1",
    "tabs and spaces": "if 1:\n\tx = 1\n        y = 2",
    "a digit string": "x = " + "9" * 100_000,
    "an unended string": "x = '''" + "x" * 100_000,
    "an f-string": "f'{" * 200 + "1" + "}'" * 200,
    "an await": "await x",
    "not Python": "int main() { return 0; }",
    "smart quotes": "print(“hello”)",
    "a full-width bracket": "print（1）",
    "an invisible space": "x =\u200b1",
    "a bidi control": "x = 1\u202e + 1",
    "an escape": "\x1b[2Jx = 1",
    "a bad star": "*a, *b = 1",
}


@pytest.mark.parametrize("code", BROKEN.values(), ids=BROKEN)
def test_what_is_no_python_is_a_syntax_error(arena: Arena, code: str) -> None:
    attack = arena(code, seconds=5.0, prelude=False)
    assert attack.execution.outcome == "syntax_error"
    assert attack.execution.error
    assert len(attack.execution.error) + len(attack.execution.traceback) < 20_000
    assert attack.execution.stdout == ""


CRUSHING = {
    "a sum of 1 MB": "x = " + "1+" * 500_000 + "1",
    "signs": "x = " + "-" * 100_000 + "1",
    "not": "x = " + "not " * 100_000 + "1",
    "attributes": "x = a" + ".b" * 200_000,
    "calls": "x = a" + "()" * 100_000,
    "comparisons in brackets": "x = " + "(1 if " * 95 + "1" + " else 0)" * 95 + "+1" * 300_000,
    "powers": "x = " + "**".join(["2"] * 100_000),
    "elif": "if 0: pass\n" + "elif 0: pass\n" * 20_000,
    "lambdas": "x = " + "lambda: " * 20_000 + "1",
}  # fmt: skip


@pytest.mark.parametrize("code", CRUSHING.values(), ids=CRUSHING)
def test_what_crushes_the_compiler_is_contained(arena: Arena, code: str) -> None:
    attack = arena(code + "\nassert False, 'it ran'", seconds=5.0, prelude=False)
    assert attack.execution.outcome in {"syntax_error", "exception", "memory", "killed", "timeout"}


def test_a_constant_that_the_compiler_would_fold(arena: Arena) -> None:
    attack = arena("x = 'a' * 10**10\ny = 2**2**40", seconds=3.0, prelude=False)
    assert attack.execution.outcome in {"memory", "timeout"}


SOUND = {
    "nothing": ("", ""),
    "a comment": ("# nothing", ""),
    "one line of 1 MB": (f"print(len('{'x' * 10**6}'))", "1000000\n"),
    "a byte order mark": ("\ufeffprint(1)", "1\n"),
    "carriage returns": ("x = 1\r\nif x:\r\n    print(x)\r\n", "1\n"),
    "a declared encoding": ("# -*- coding: utf-7 -*-\nprint('+AGE-')", "+AGE-\n"),
    "a later version's annotations": ("from __future__ import annotations\ndef f(x: y): return 1\nprint(f(0))", "1\n"),
    "names of other scripts": ("变量 = 'ａ'\nｐｒｉｎｔ(变量)", "ａ\n"),
    "bidi in a string": ("print(len('\u202e\u2066abc'))", "5\n"),
    "its own main": ("if __name__ == '__main__': print(__file__ is not None)", "True\n"),
    "a warning": ("import warnings; warnings.warn('w'); print('\\d' if 1 is 1 else 0)", "\\d\n"),
    "a form feed": ("x = 1\n\x0c\nprint(x)", "1\n"),
    "200 kB of lines": ("x = 1\n" * 40_000 + "print(x)", "1\n"),
    "a child that fails": ("import os\nif os.fork() == 0: raise ValueError\nos.wait()\nprint('parent')", "parent\n"),
}


@pytest.mark.parametrize(("code", "output"), SOUND.values(), ids=SOUND)
def test_odd_but_sound_programs_run(arena: Arena, code: str, output: str) -> None:
    execution = arena(code, seconds=5.0, prelude=False).execution
    assert (execution.outcome, execution.stdout) == ("ok", output)


OUTPUTS = {
    "bytes that are no text": ("os.write(1, b'a\\xff\\xfe\\x80b')", "a", "b"),
    "half a character": ("os.write(1, 'a中b'.encode()[:-2] + b'b')", "a", "b"),
    "nulls": ("print('a\\0\\0b')", "a", "b"),
    "escapes": ("print('a\\x1b]0;x\\x07\\x1b[2Jb')", "a", "b"),
    "text of every plane": ("print('a' + ''.join(map(chr, range(0x10000, 0x10FFFF, 997))) + 'b')", "a", "b"),
    "surrogates let through": ("os.write(1, 'a\\ud800b'.encode('utf-8', 'surrogatepass'))", "a", "b"),
    "another coding": ("sys.stdout.reconfigure(encoding='utf-16'); print('ab')", "", ""),
    "closed": ("os.write(1, b'ab'); sys.stdout.close(); sys.stderr.close()", "a", "b"),
    "replaced": ("os.write(1, b'ab'); sys.stdout = sys.stderr = None", "a", "b"),
    "not blocking": ("os.set_blocking(1, False); print('ab')", "a", "b"),
}


@pytest.mark.parametrize(("code", "first", "last"), OUTPUTS.values(), ids=OUTPUTS)
def test_output_of_any_shape_comes_back_as_text(arena: Arena, code: str, first: str, last: str) -> None:
    """That it can be written as JSON again is checked after every attack."""
    execution = arena("import os, sys\n" + code, prelude=False).execution
    assert execution.outcome == "ok"
    text = execution.stdout.rstrip("\n")
    assert text.startswith(first) and text.endswith(last)


NASTY = {
    "a text that raises": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "a text that exits": "class E(Exception):\n    def __str__(self): os._exit(0)\nraise E",
    "a text that takes forever": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "a text that recurs": "class E(Exception):\n    def __str__(self): return str(self)\nraise E",
    "a representation that raises": "class E(Exception):\n    def __repr__(self): raise E\nraise ExceptionGroup('x', [E()])",
    "a long text": "raise Exception('x' * 10**8)",
    "a surrogate": "raise Exception('\\ud800')",
    "lines": 'raise AssertionError(\'x\\nok\\n{"outcome": "ok"}\')',
    "a circle of causes": "a, b = Exception('a'), Exception('b')\na.__cause__, b.__cause__ = b, a\nraise a",
    "a long chain of causes": "e = None\nfor i in range(5000):\n    n = Exception(i)\n    n.__cause__ = e\n    e = n\nraise e",
    "groups in groups": "e = Exception()\nfor _ in range(900): e = ExceptionGroup('g', [e])\nraise e",
    "a large group": "raise ExceptionGroup('g', [Exception(i) for i in range(10**5)])",
    "a deep traceback": "def f(n): return f(n - 1) if n else 1 / 0\nf(900)",
    "many notes": "e = Exception()\nfor i in range(10**5): e.add_note('ok' * 100)\nraise e",
    "a name that is no text": "E = type('E', (Exception,), {'__module__': 5})\nraise E",
    "a name with lines": "raise type('E\\nok', (Exception,), {})",
    "an odd code": "raise SystemExit(object())",
    "an exit with a text": "sys.exit('all tests passed')",
    "no exception": "raise 5",
    "an interrupt": "raise KeyboardInterrupt",
    "an end of a generator": "raise GeneratorExit",
    "a group of exits": "raise BaseExceptionGroup('g', [SystemExit(0), SystemExit(0)])",
    "an odd syntax error": "raise SyntaxError('x', ('f', 'l', 5, object()))",
    "an odd import error": "raise ModuleNotFoundError(name='os\\n')",
}


@pytest.mark.parametrize("code", NASTY.values(), ids=NASTY)
def test_no_exception_breaks_the_report(arena: Arena, code: str) -> None:
    execution = arena(code, seconds=2.0).execution
    assert execution.outcome not in {"ok", "syntax_error"}
    assert len(execution.error) + len(execution.traceback) < 50_000
