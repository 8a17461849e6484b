"""The runner inside a sandbox, started as `python3 -I -c <this file's text> READY [FILTER]`: one request, one program,
one report.

The host never imports this file but reads it as text, so an image and the host cannot differ. It needs the standard
library of Python 3.10 or newer, and imports little of it, because every run waits for that. FILTER, in hexadecimal, is
a seccomp filter for itself and its descendants. As the first process of a container it is its own init.

It writes READY to standard output. The request is a line, `NONCE LENGTH NAME=LIMIT...`, followed by the program, LENGTH
bytes of UTF-8. Standard output then carries the nonce, the program's output, the nonce, the report (outcome, error,
line, traceback, separated by null bytes), and the nonce; standard error carries the program's output and the nonce. So
nothing that a program prints can pass for a report by accident. A program that searches this process for the nonce can
forge a report, just as it could patch anything else in its own interpreter.
"""

import ctypes
import errno
import linecache
import os
import resource
import signal
import struct
import sys
import time
import traceback

FILENAME = "<code>"
ERROR_LENGTH = 1000
TRACEBACK_LENGTH = 8000
# How long threads that the program left behind may run on before its report, in seconds.
SETTLE_SECONDS = 0.5
# How far the hard limits lie above the soft ones. A program that runs out of memory has some left for its report; one
# that runs out of processor time (in seconds) dies by SIGXCPU, which says why, and not by SIGKILL.
SPARE = {resource.RLIMIT_AS: 32 * 2**20, resource.RLIMIT_CPU: 1}


def main(ready: str, system_calls: str = "") -> None:
    if system_calls:
        install_filter(bytes.fromhex(system_calls))
    heed_signals()
    if os.getpid() == 1:
        stay_behind()
    # Duplicates, because the program may close or redirect the originals.
    out, err = os.dup(1), os.dup(2)
    write(out, ready.encode())
    nonce, limits, code = read_request()
    code = code.removeprefix("\ufeff")  # as Python itself reads a file
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # so that input() meets the end of the file
    os.close(null)
    set_limits(limits)
    answer(code, nonce, out, err)


def install_filter(code: bytes) -> None:
    """Install a seccomp filter, an array of `struct sock_filter` (linux/prctl.h, linux/seccomp.h)."""
    set_no_new_privileges, set_seccomp, mode_filter = 38, 22, 2
    buffer = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: the number of instructions of 8 bytes each, and where they are
    description = struct.pack("HP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
    if libc.prctl(set_no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_seccomp, mode_filter, description, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls can be installed")


def heed_signals() -> None:
    """Restore signals that the host ignores, as a shell's background jobs ignore SIGINT and SIGQUIT: programs inherit
    that."""
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python ignores these two itself
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def stay_behind() -> None:
    """Continue in a child, because signals treat the first process differently; the parent waits and exits as the child
    does."""
    child = os.fork()
    if child == 0:
        return
    while True:
        process, status = os.wait()
        if process == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def read_request() -> tuple[bytes, dict[str, int], str]:
    data = b""
    size = 0
    while not size or len(data) < size:
        chunk = os.read(0, 65536)
        if not chunk:
            os._exit(0)  # the process that started this one is gone
        data += chunk
        if not size and b"\n" in data:
            header = data[: data.index(b"\n") + 1]
            nonce, length, *words = header.split()
            size = len(header) + int(length)
    pairs = (word.decode().split("=") for word in words)
    return nonce, {name: int(limit) for name, limit in pairs}, data[len(header) :].decode("utf-8", "surrogatepass")


def write(fd: int, data: bytes) -> None:
    os.set_blocking(fd, True)  # the program shares the open file, and may have changed this
    while data:
        data = data[os.write(fd, data) :]


def set_limits(limits: dict[str, int]) -> None:
    """Set resource limits; `limits` maps names of the resource module to soft limits."""
    for name, soft in limits.items():
        number = getattr(resource, name)
        hard = soft + SPARE.get(number, 0)
        allowed = resource.getrlimit(number)[1]
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(number, (soft, hard))


def answer(code: str, nonce: bytes, out: int, err: int) -> None:
    """Run the code, report, and end the process."""
    process = os.getpid()
    write(out, nonce)
    report = "\0".join(part.replace("\0", " ") for part in run(code))
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()  # type: ignore[union-attr]
        except Exception:  # the program closed it, or put something else in its place
            continue
    if os.getpid() == process:  # a child that the program forked gets here too
        write(err, nonce)
        write(out, nonce + report.encode("utf-8", "backslashreplace") + nonce)
    os._exit(0)


def run(code: str) -> tuple[str, str, str, str]:
    """Run the code and return the outcome (see `haluagent.protocols.Execution`), the error, the line, and the
    traceback."""
    show_source(code)
    try:
        program = compile(code, FILENAME, "exec", dont_inherit=True)
    except MemoryError:
        return "memory", "MemoryError", "", ""
    except (SyntaxError, ValueError, RecursionError) as error:  # a null byte or a lone surrogate is a ValueError
        return syntax_error(error, code)
    module = type(sys)("__main__")
    module.__file__ = FILENAME
    sys.modules["__main__"] = module
    sys.argv = [FILENAME]
    for name in ("cpu_count", "process_cpu_count"):  # a pool as large as the machine would exceed the process limit
        if hasattr(os, name):
            setattr(os, name, lambda: 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what precedes a timeout is seen
    try:
        exec(program, module.__dict__)  # noqa: S102  (the one place: nothing but a sandbox runs this file)
        settle()
        return "ok", "", "", ""
    except BaseException as error:
        sys.settrace(None)  # inline, because a function of our own would be traced
        sys.setprofile(None)
        sys.setrecursionlimit(10000)
        resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)  # for the report
        show_source(code)
        return describe(error, code)


def show_source(code: str) -> None:
    """Make the program's lines available to tracebacks and the inspect module."""
    linecache.cache[FILENAME] = (len(code), None, code.splitlines(keepends=True), FILENAME)


def settle() -> None:
    """Wait briefly for the threads that Python itself would wait for."""
    threading = sys.modules.get("threading")
    if threading is None:
        return
    deadline = time.monotonic() + SETTLE_SECONDS
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))


def syntax_error(error: Exception, code: str) -> tuple[str, str, str, str]:
    number = getattr(error, "lineno", None)
    if isinstance(error, SyntaxError) and error.text is None and number:
        error.text = "".join(code.splitlines(keepends=True)[number - 1 : number])
    lines = traceback.format_exception_only(type(error), error)
    text = clip("".join(lines), TRACEBACK_LENGTH)
    return "syntax_error", clip(lines[-1].strip(), ERROR_LENGTH), str(number or ""), text


def describe(error: BaseException, code: str) -> tuple[str, str, str, str]:
    """Return the report of an exception that ended the program."""
    described = traceback.TracebackException(type(error), error, error.__traceback__)
    keep_own_frames(described, set())
    frames = described.stack
    headline = next(iter(described.format_exception_only()), "").strip().partition("\n")[0]
    outcome, missing = "exception", missing_package(error)
    if missing is not None:
        outcome, headline = "missing_package", missing
    elif isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        outcome = "memory"
    elif isinstance(error, SystemExit):
        place = frames[0].lineno if len(frames) == 1 else None
        outcome = exit_outcome(error, place is not None and place >= last_line(code))
    if outcome == "ok":
        return "ok", "", "", ""
    line = str(frames[-1].lineno) if frames else ""
    return outcome, clip(headline, ERROR_LENGTH), line, clip("".join(described.format()), TRACEBACK_LENGTH)


def keep_own_frames(described: traceback.TracebackException | None, seen: set[int]) -> None:
    """Remove all frames but the program's own from an exception and from those it came from or contains."""
    if described is None or id(described) in seen:
        return
    seen.add(id(described))
    own = [frame for frame in described.stack if frame.filename == FILENAME]
    described.stack = traceback.StackSummary.from_list(own)
    for other in (described.__cause__, described.__context__, *(getattr(described, "exceptions", None) or ())):
        keep_own_frames(other, seen)


def missing_package(error: BaseException | None) -> str | None:
    """Return the name of a missing package, if that is why the program failed: the failed import itself, or one that
    the program was handling when it gave up.

    A missing submodule of a package that exists is the program's own fault, and so is an exception that it made up.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, ModuleNotFoundError) and error.name and "." not in error.name:
            return error.name
        if isinstance(error, ImportError) and "attempted relative import" in str(error):
            return str(error)
        error = error.__cause__ or error.__context__
    return None


def exit_outcome(error: SystemExit, at_the_end: bool) -> str:
    """Return the outcome of an exit: a program that exits in its last statement skips nothing. unittest.main() exits
    this way to say that tests failed."""
    if not at_the_end:
        return "killed"
    if not error.code:
        return "ok"
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module = place.tb_frame.f_globals.get("__name__") if place is not None else None
    return "exception" if module == "unittest.main" else "killed"


def last_line(code: str) -> float:
    """Return the line of the statement that ends the program, if that is a plain one on lines of its own; otherwise
    infinity."""
    import ast  # seldom needed

    body = ast.parse(code).body
    while isinstance(body[-1], ast.If) and not body[-1].orelse:  # if __name__ == "__main__"
        body = body[-1].body
    last = body[-1]
    alone = len(body) < 2 or (body[-2].end_lineno or 0) < last.lineno
    return last.lineno if alone and isinstance(last, (ast.Expr, ast.Raise)) else float("inf")


def clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length // 2] + "\n[...]\n" + text[-length // 2 :]


if __name__ == "__main__":
    main(*sys.argv[1:])
