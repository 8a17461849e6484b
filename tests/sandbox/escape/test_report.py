"""A program that fails is not said to be right, whatever it says of itself.

What a program does to its own interpreter with the driver's code before its eyes cannot be told from outside; these
are the ways that need no such knowledge.
"""

from collections.abc import Callable
from typing import Any

import pytest
from cases import cases

Arena = Callable[..., Any]
FAILS = "\nassert 1 == 2, 'the test'\n"

ENDS = {
    "_exit": "os._exit(0)",
    "exit": "sys.exit(0)",
    "exit without a code": "sys.exit()",
    "quit": "quit()",
    "SystemExit": "raise SystemExit",
    "exec": "os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])",
    "exit of a child": "os.fork() == 0 and os._exit(0) or os.wait()",
    "exit of a thread": "import threading; threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(1)",
    "exit in a handler": "import signal; signal.signal(2, lambda *_: os._exit(0)); os.kill(os.getpid(), 2)",
    "exit by an alarm": "import signal; signal.signal(14, lambda *_: sys.exit(0)); signal.alarm(1); time.sleep(1.4)",
    "a fork that goes on in the child": "if os.fork() == 0:\n    print('child')\nelse:\n    time.sleep(0.2); assert False",
    "a fork that goes on in the parent": "pid = os.fork()\nif pid == 0: os.kill(os.getppid(), 9)\ntime.sleep(0.5)",
    "exit in a destructor": "class D:\n    def __del__(self): os._exit(0)\nd = D(); del d",
}


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_an_early_end_is_not_ok(arena: Arena, code: str) -> None:
    attack = arena("print('begun', flush=True)\n" + code + FAILS, seconds=3.0)
    assert attack.execution.outcome in {"killed", "exception"}
    assert "begun" in attack.execution.stdout


CLAIMS = {
    "as text": "print('ok')",
    "as a report": """
import json
for report in ({"outcome": "ok"}, {"outcome": "ok", "error": "", "traceback": "", "line": None}):
    for text in (json.dumps(report), json.dumps(report).encode().hex(), repr(report)):
        print("\\n" + text + "\\n", flush=True)
        print("\\n" + text + "\\n", file=sys.stderr, flush=True)
""",
    "on every descriptor": """
for number in range(300):
    try:
        os.set_blocking(number, False)
        os.write(number, b'\\n{"outcome": "ok"}\\n')
    except OSError:
        pass
""",
    "with every text in sight": """
import gc, json
frame, texts = sys._getframe(), set()
while frame:
    texts |= {value for value in [*frame.f_locals.values(), *frame.f_globals.values()] if isinstance(value, (str, bytes))}
    frame = frame.f_back
for held in gc.get_objects():
    if isinstance(held, (list, tuple)):
        texts |= {value for value in held if isinstance(value, (str, bytes)) and 16 <= len(value) <= 128}
for text in texts:
    text = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    if 16 <= len(text) <= 128:
        os.write(1, text + b"\\n")
print("texts", len(texts), flush=True)
""",
    "after the end": """
for _ in range(1 if os.fork() else 40):
    time.sleep(0.01)
    print('{"outcome": "ok"}', flush=True)
""",
    "in the reader's place": """
import glob
for path in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        with open(path, "wb", buffering=0) as file:
            os.set_blocking(file.fileno(), False)
            file.write(b'{"outcome": "ok"}\\n')
    except (OSError, ValueError):
        pass
""",
}


@pytest.mark.parametrize("code", cases(CLAIMS, "as a report"))
def test_a_claim_is_only_output(arena: Arena, code: str) -> None:
    execution = arena("import os, sys, time\n" + code + FAILS, seconds=4.0, prelude=False).execution
    assert execution.outcome in {"exception", "killed", "output"}


CHANGES = {
    "the hook": "sys.excepthook = lambda *_: os._exit(0)",
    "the hooks of threads": "import threading; threading.excepthook = sys.unraisablehook = lambda *_: None",
    "the exit": "import atexit; atexit.register(os._exit, 0)",
    "the exception": "import builtins; builtins.AssertionError = SystemExit",
    "the base of exceptions": "import builtins; builtins.BaseException = builtins.Exception = type('E', (), {})",
    "the function isinstance": "import builtins; builtins.isinstance = lambda *_: False",
    "the function print": "import builtins; builtins.print = builtins.repr = builtins.str = builtins.len = None",
    "the function open": "import builtins; builtins.open = builtins.compile = builtins.exec = builtins.__import__ = None",
    "all builtins": "import builtins; keep = dict(vars(builtins)); [delattr(builtins, n) for n in keep if n.islower()]",
    "the traceback": "import traceback; traceback.TracebackException = traceback.format_exception = lambda *_, **__: []",
    "json": 'import json; json.dumps = lambda *_, **__: \'{"outcome": "ok"}\'',
    "the encoder": 'import json; json.JSONEncoder.encode = json.encoder.JSONEncoder.encode = lambda *_: \'{"outcome": "ok"}\'',
    "the modules": "sys.modules.clear()",
    "the functions of os": "os.write = os.dup = os.fork = os.getpid = lambda *_: 0; os._exit = sys.exit",
    "the streams": "import io; sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = io.StringIO()",
    "the descriptors": "os.closerange(0, 300)",
    "the output's descriptor": "os.dup2(os.open('/dev/null', os.O_RDWR), 1); os.dup2(1, 2)",
    "the module": "del sys.modules['__main__']; globals().clear()",
    "the trace": "sys.settrace(lambda frame, *_: os._exit(0) if frame.f_lineno else None)",
    "the profile": "sys.setprofile(lambda *_: None)",
    "the recursion limit": "sys.setrecursionlimit(60)",
    "the switch of threads": "sys.setswitchinterval(1000)",
    "the collector": "import gc; gc.set_threshold(1); gc.callbacks.append(lambda *_: os._exit(0))",
    "the limits": "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20))",
    "the open files": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))",
    "the size of files": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
    "the flags": "sys.flags = None; __debug__ and sys.addaudithook(lambda name, _: 'write' in name and os._exit(0))",
    "the source's lines": "import linecache; linecache.cache.clear(); linecache.getline = linecache.getlines = lambda *_: ''",
    "the time": "time.time = time.monotonic = time.sleep = lambda *_: 0",
    "the code of an exception": "AssertionError = lambda *_: SystemExit(0)\ndef f(): raise AssertionError()\nf()",
}


@pytest.mark.parametrize("code", CHANGES.values(), ids=CHANGES)
def test_a_changed_interpreter_is_not_ok(arena: Arena, code: str) -> None:
    execution = arena(code + FAILS, seconds=3.0).execution
    assert execution.outcome in {"exception", "killed", "memory", "timeout"}
