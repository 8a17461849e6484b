"""What the code interpreter says, in both languages."""

from haluagent.tools.code_interpreter.verdict import Cause
from haluagent.types import Language

TEXTS: dict[str, dict[Language, str]] = {
    "no code": {"en": "the response has no Python code", "zh": "回答中没有 Python 代码"},
    "other language": {
        "en": "the code is {language}; only Python is run",
        "zh": "代码是 {language}；只能运行 Python",
    },
    "too much": {
        "en": "a response with more than {count} pieces of code is not run",
        "zh": "回答中的代码超过 {count} 段，不予运行",
    },
    "too many versions": {
        "en": "a response with more than {count} versions of the same code is not run",
        "zh": "同一代码的写法超过 {count} 种，不予运行",
    },
    "excerpt": {
        "en": "the code is an excerpt and cannot be run by itself",
        "zh": "代码只是片段，不能单独运行",
    },
    "passed": {"en": "the code ran, and {tests} passed", "zh": "代码已运行，{tests}均通过"},
    "untested": {
        "en": "the code runs, but nothing tests what it returns",
        "zh": "代码可以运行，但没有测试能检验它的结果",
    },
    "syntax": {"en": "the code cannot be run: {detail}{line}", "zh": "代码无法运行：{detail}{line}"},
    "error": {"en": "the code fails: {detail}{line}", "zh": "代码运行出错：{detail}{line}"},
    "test": {
        "en": "a test in the response fails: {detail}{line}",
        "zh": "回答中的一项测试没有通过：{detail}{line}",
    },
    "given example": {
        "en": "an example of the question fails: `{example}`; {detail}",
        "zh": "题目中的例子没有通过：`{example}`；{detail}",
    },
    "own example": {
        "en": "what the response says of its code is wrong: `{example}`; {detail}",
        "zh": "回答对代码的说明有误：`{example}`；{detail}",
    },
    "given test": {"en": "a test of the question fails: {detail}{line}", "zh": "题目中的测试没有通过：{detail}{line}"},
    "sample": {
        "en": "with the question's input `{input}` it prints `{real}`, and should print `{stated}`",
        "zh": "输入题目中的 `{input}` 时输出 `{real}`，应为 `{stated}`",
    },
    "stated": {
        "en": "the response says that the code prints `{stated}`, but it prints `{real}`",
        "zh": "回答说代码输出 `{stated}`，实际输出 `{real}`",
    },
    "own test is wrong": {
        "en": "; the code does what the question's example says, so it is the response's test that is wrong",
        "zh": "；代码符合题目中的例子，有误的是回答自己的测试",
    },
    "also passed": {"en": "; {tests} passed", "zh": "；{tests}通过"},
    "renamed": {"en": " (the question calls {own} {asked})", "zh": "（题目中 {own} 叫 {asked}）"},
    "version": {"en": "version {number} of {count}: {text}", "zh": "第 {number} 种写法（共 {count} 种）：{text}"},
    "line": {"en": ", at `{line}`", "zh": "，位于 `{line}`"},
    "and": {"en": " and ", "zh": "、"},
}
# Numbers of tests, as in "7 tests of the response and 2 examples of the question".
COUNTS: dict[str, dict[Language, tuple[str, str]]] = {
    "own": {
        "en": ("1 assertion of the response", "{count} assertions of the response"),
        "zh": ("回答自带的 1 项断言", "回答自带的 {count} 项断言"),
    },
    "given": {
        "en": ("1 example of the question", "{count} examples of the question"),
        "zh": ("题目中的 1 个例子", "题目中的 {count} 个例子"),
    },
    "stated": {
        "en": ("1 output that the response states", "{count} outputs that the response states"),
        "zh": ("回答写出的 1 处输出", "回答写出的 {count} 处输出"),
    },
}
# Why a program that did not end well says nothing of the code, or little.
REASONS: dict[Cause, dict[Language, str]] = {
    "timeout": {
        "en": "it did not end within the limit of {seconds:g} s",
        "zh": "它没有在 {seconds:g} 秒的时限内结束",
    },
    "memory": {"en": "it used more memory than the sandbox allows", "zh": "它用的内存超过了沙箱的上限"},
    "output": {"en": "it wrote more than the sandbox allows", "zh": "它的输出超过了沙箱的上限"},
    "missing": {"en": "it needs {detail}, which the sandbox does not have", "zh": "它需要 {detail}，沙箱中没有"},
    "input": {
        "en": "it reads input, which the sandbox does not have ({detail})",
        "zh": "它要读取输入，沙箱中没有（{detail}）",
    },
    "files": {
        "en": "it uses files, which the sandbox does not have ({detail})",
        "zh": "它要使用文件，沙箱中没有（{detail}）",
    },
    "network": {
        "en": "it uses the network, which the sandbox does not have ({detail})",
        "zh": "它要使用网络，沙箱中没有（{detail}）",
    },
    "arguments": {
        "en": "it needs command-line arguments, which the sandbox does not have ({detail})",
        "zh": "它需要命令行参数，沙箱中没有（{detail}）",
    },
    "system": {
        "en": "it needs something of the system that the sandbox does not have ({detail})",
        "zh": "它需要沙箱没有提供的系统功能（{detail}）",
    },
    "killed": {
        "en": "it ended itself before its last line, and what follows there did not run",
        "zh": "它在最后一行之前就自行结束，其后的内容没有运行",
    },
    "unknown_name": {
        "en": "it uses {detail}, which neither the response nor the question defines",
        "zh": "它用到 {detail}，回答和题目都没有定义",
    },
    "other_python": {
        "en": "it is for another version of Python than the sandbox has ({detail})",
        "zh": "它适用的 Python 版本与沙箱中的不同（{detail}）",
    },
}
# What the prelude in the sandbox says of an example that was not met (`prelude.py`).
DETAILS_ZH = {
    "it returned ": "实际返回 ",
    "it printed ": "实际输出 ",
    "it raised nothing and returned ": "没有抛出异常，返回 ",
}
