"""Finding code in texts: fences of every kind, and Python that stands in a text by itself."""

import pytest

from haluagent.text.code_blocks import MAX_TEXT, CodeBlock, find
from haluagent.text.code_classifier import parse

ADD = "def add(a, b):\n    return a + b"


def only(text: str) -> CodeBlock:
    (block,) = find(text)
    return block


FENCED = {
    "backticks": (f"Here:\n```python\n{ADD}\n```\nDone.", "python"),
    "tildes": (f"~~~py\n{ADD}\n~~~", "python"),
    "capital tag": (f"```Python\n{ADD}\n```", "python"),
    "version in the tag": (f"```python3.11\n{ADD}\n```", "python"),
    "tag with a version beside it": (f"```Python 3\n{ADD}\n```", "python"),
    "tag with attributes": (f'```py title="add.py"\n{ADD}\n```', "python"),
    "tag with a file name": (f"```python:add.py\n{ADD}\n```", "python"),
    "tag in braces": (f"```{{.python}}\n{ADD}\n```", "python"),
    "no tag": (f"```\n{ADD}\n```", "python"),
    "tag text": (f"```text\n{ADD}\n```", "python"),
    "wrong tag": (f"```javascript\n{ADD}\n```", "python"),
    "wrong tag, zh": (f"代码如下：\n```vbnet\n{ADD}\n```\n以上。", "python"),
    "not closed": (f"Answer:\n```python\n{ADD}", "python"),
    "closed by more marks": (f"```python\n{ADD}\n`````", "python"),
    "longer fence": (f"````python\n{ADD}\n````", "python"),
    "in a list": ("1. Add:\n   ```python\n   def add(a, b):\n       return a + b\n   ```\n2. Next", "python"),
    "on the line of a list marker": ("- ```python\n  def add(a, b):\n      return a + b\n  ```", "python"),
    "in a quotation": ("> ```python\n> def add(a, b):\n>     return a + b\n> ```", "python"),
    "indented by a tab": ("\t```python\n\tdef add(a, b):\n\t    return a + b\n\t```", "python"),
    "behind text, zh": (f"代码如下：```python\n{ADD}\n```", "python"),
    "closed behind the code": (f"```python\n{ADD}```", "python"),
    "windows line breaks": ("```python\r\ndef add(a, b):\r\n    return a + b\r\n```\r\n", "python"),
    "in a fence for the whole answer": (f"```markdown\nAnswer\n```python\n{ADD}\n```\n", "python"),
    "with a mistake, no tag": ("```\ndef add(a, b)\n    return a + b\nadd(1, 2):\n```", "python"),
    "script without a tag": ("```\nfor i in range(3):\n    print(i)\n```", "python"),
    "transcript": ("```python\n>>> add(1, 2)\n3\n```", "pycon"),
    "transcript without a tag": ("```\n>>> add(1, 2)\n3\n```", "pycon"),
    "diff": ("```diff\n-x = 1\n+x = 2\n```", "diff"),
    "diff in a Python fence": ("```python\n def add(a, b):\n-    return a - b\n+    return a + b\n```", "diff"),
    "shell session": ("```\n$ python add.py\n3\n```", "console"),
    "shell commands": ("```bash\npip install numpy\n```", "console"),
    "installation in a Python fence": ("```python\npip install numpy\n```", "console"),
    "output": ("```output\n55\n```", "output"),
    "numbers": ("```\n1 2 3\n```", ""),
    "a value": ("```\n[1, 2, 3]\n```", ""),
    "a shown object": ("```\nPoint(x=1, y=2)\n```", ""),
    "assigned values as output": ("```\nx = 5\n```", ""),
    "javascript": ("```javascript\nfunction add(a, b) { return a + b; }\n```", "javascript"),
    "javascript without a tag": ("```\nconst add = (a, b) => {\n  return a + b;\n};\n```", "javascript"),
    "java": ("```java\npublic class A {\n}\n```", "java"),
    "c without a tag": ("```\n#include <stdio.h>\nint main(void) { return 0; }\n```", "c"),
    "sql": ("```sql\nSELECT a FROM b\n```", "sql"),
    "sql without a tag": ("```\nSELECT a FROM b;\n```", "sql"),
    "json": ('```json\n{"a": 1}\n```', "json"),
    "a traceback in a Python fence": (
        "```python\nTraceback (most recent call last):\n  ...\nKeyError: 1\n```",
        "output",
    ),
    "a tree of files in a Python fence": ("```python\napp/\n├── main.py\n└── util.py\n```", ""),
    "a call of JavaScript without a tag": ("```\nconsole.log(1);\n```", "javascript"),
    "pseudo-code": ("```\nfor each x in list:\n    if x is new then add x\n```", ""),
}


@pytest.mark.parametrize("name", FENCED)
def test_fenced_blocks(name: str) -> None:
    text, language = FENCED[name]
    block = only(text)
    assert block.language == language and block.fenced
    if block.python and "mistake" not in name and "script" not in name:
        assert block.code == ADD
    assert text[slice(*block.span)].startswith(("```", "~~~"))


BARE = {
    "alone": (ADD, ADD),
    "between prose": (f"Here is the function:\n{ADD}\n\nIt adds two numbers.", ADD),
    "between prose, zh": (f"好的，函数如下：\n\n{ADD}\n\n这个函数返回两数之和。\n时间复杂度为 O(1)", ADD),
    "with imports": ("import math\nfrom typing import (\n    List,\n)\n\n\ndef area(r):\n    return math.pi * r ** 2", None),
    "with its use": (f"{ADD}\n\n\nprint(add(1, 2))\n\nThis prints 3", f"{ADD}\n\n\nprint(add(1, 2))"),
    "with assertions": (f"{ADD}\nassert add(1, 2) == 3\nassert add(0, 0) == 0", None),
    "with constants and a check": (f"{ADD}\n\nDATA = {{\n    'author': 'x'\n}}\n\n\ndef check(f):\n    assert f(1, 2) == 3", None),
    "class": ("class A:\n    x = 1\n\n    def f(self):\n        return self.x", None),
    "decorated": ("@cache\n@other(1)\ndef f(n):\n    return n", None),
    "async": ("async def f():\n    return 1", None),
    "on more lines than one": ("def f(\n    a,\n    b,\n):\n    return (\na + b\n    )", None),
    "docstring with prose in it": ('def f(x):\n    """Returns x.\n\nNot indented, and with text: so what?\n    """\n    return x', None),
    "mistake in the body": ("def f(x):\n    return x +\n\nThis fails.", "def f(x):\n    return x +"),
    "mistake in a bracket": ("def f(x):\n    return (x\n\nThat is all.", "def f(x):\n    return (x"),
    "comment first": (f"# adds\n{ADD}", f"# adds\n{ADD}"),
    "behind a label, zh": (f"答案：{ADD}", ADD),
    "indented as a whole": ("Code:\n\n    def f(x):\n        return x\n\nEnd", "def f(x):\n    return x"),
    "one line": ("def f(x): return x", "def f(x): return x"),
    "script": ("total = 0\nfor i in range(3):\n    total += i\nprint(total)", None),
    "conditions": ("def f(x):\n    if x:\n        return 1\n    else:\n        return 2\nif f(1):\n    f(2)\nelse:\n    f(3)", None),
    "deleting": ("x = [1]\ndel x[0]\nprint(x)", None),
}  # fmt: skip


@pytest.mark.parametrize("name", BARE)
def test_code_without_fences(name: str) -> None:
    text, code = BARE[name]
    block = only(text)
    assert block.python and not block.fenced
    assert block.code == (text if code is None else code)


PROSE = [
    "The function should return the sum of both.",
    "return to sender",
    "import duties are rising, and from today import is harder.",
    "import duties",
    "This is it.\nIt is done\nDone",
    "x = 5",
    "E = mc^2\nF = ma",
    "x = 5\ny = 3\nx + y = 8",
    "f(2) = 4",
    "add(1, 2)",
    "def add(a, b) is the signature",
    "class Foo is a class: it has methods",
    "for example:\n  we could go home",
    "if you like:\n    tea\n    coffee",
    "结果是 3，所以 x = 3。",
    "这是结果\n完成",
    "# Title\n\nText with (brackets) and `code`.",
    "while this works: it is slow",
    "",
    "```\n```",
    "Use ``` to open a fence",
    "S = 10(10+1)/2\nP = 2(12 + 6)\nd = sqrt(9 + 16)",
    "int i = 0;\nwhile(i <= limit){\n    System.out.println(i);\n    i += 2;\n}",
    "Here is the pseudo-code:\n\nfor i in range(n):\n    print(i)\n",
    "伪代码如下：\n\nwhile x > 0:\n    x = x - 1\n",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_no_code(text: str) -> None:
    assert not [block for block in find(text) if block.python]


def test_several_blocks_in_order() -> None:
    text = f"First\n```python\n{ADD}\n```\nthen\n\nclass A:\n    pass\n\nand\n~~~\n3\n~~~\n```python\nprint(1)\n```"
    found = find(text)
    assert [(block.language, block.fenced) for block in found] == [
        ("python", True), ("python", False), ("", True), ("python", True)
    ]  # fmt: skip
    assert [block.span for block in found] == sorted(block.span for block in found)


def test_a_block_that_was_not_closed_ends_where_the_next_opens() -> None:
    one, other = find("```python\nx = f(1)\n```python\ny = f(2)\n```\n")
    assert (one.code, other.code) == ("x = f(1)", "y = f(2)")


@pytest.mark.parametrize("text", [text for text, _ in (*FENCED.values(), *BARE.values())])
def test_lines_are_exact(text: str) -> None:
    for block in find(text):
        for line, (start, end) in zip(block.code.split("\n"), block.lines, strict=True):
            assert text[start:end] == line
            assert block.span[0] <= start <= end <= block.span[1]


HOSTILE = [
    "f(\n",
    "f('''\n",
    "x = (\n",
    "def f(\n",
    "# c\n",
    "@a\n",
    "```\n",
    "> ```py\n",
    "a",
    "a.",
    "- ",
    "import a, ",
    "答案：def f(\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_no_long_time(piece: str) -> None:
    text = (piece * MAX_TEXT)[:MAX_TEXT]
    find.__wrapped__(text)


TOO_MUCH = [
    "-" * 20_000 + "1",
    "a" + ".b" * 20_000,
    "(" * 200,
    "if 1:\n pass\n" + "elif 1:\n pass\n" * 4000,
    "x" * 60_000,
    "a\0b",
]


@pytest.mark.parametrize("code", TOO_MUCH)
def test_code_that_is_too_deep_or_too_long_is_refused(code: str) -> None:
    with pytest.raises((ValueError, SyntaxError)):
        parse(code)
    find(f"```python\n{code}\n```")  # and found all the same


def test_a_backslash_in_a_string_warns_nobody(recwarn: pytest.WarningsRecorder) -> None:
    parse("x = '\\d'")
    assert not recwarn.list


def test_a_block_that_was_not_read_to_its_end_is_left_out() -> None:
    head = f"```python\n{ADD}\n```\n"
    (block,) = find(head + "```python\n" + "x = f(1)\n" * MAX_TEXT)
    assert block.code == ADD
