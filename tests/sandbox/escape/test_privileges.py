"""No program gets more rights than it was given, and none is signalled, traced or mounted over."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REFUSED = "EPERM EACCES ENOSYS"
DIES = {"killed", "exception", "timeout"}

SIGNALS = {
    "the parent": "os.kill(os.getppid(), {signal})",
    "the first process": "os.kill(1, {signal})",
    "every process": "os.kill(-1, {signal})",
    "its group": "os.killpg(0, {signal})",
    "itself": "os.kill(os.getpid(), {signal})",
    "every number": "[os.kill(pid, {signal}) for pid in range(2, 400) if os.path.exists(f'/proc/{{pid}}')]",
}


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGSTOP", "SIGTERM", "SIGSEGV"])
@pytest.mark.parametrize("target", SIGNALS)
def test_signals_stay_inside_and_save_no_program(arena: Callable[..., Any], target: str, signal: str) -> None:
    """Whatever they hit in there, a program that was to fail is not said to be right."""
    attack = arena(
        "import signal\nprint('sent', flush=True)\n"
        + SIGNALS[target].format(signal=f"signal.{signal}")
        + "\ntime.sleep(0.2)\nassert False, 'unharmed'",
        seconds=1.0,
    )
    assert attack.execution.outcome in DIES


@pytest.mark.core
def test_no_process_is_traced(refuse: Callable[..., None]) -> None:
    refuse(
        """
libc = ctypes.CDLL(None, use_errno=True)
def call(function, *arguments):
    value = function(*arguments)
    if value == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return value
buffer = ctypes.create_string_buffer(64)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)
for name, pid in (("parent", os.getppid() or 1), ("init", 1)):
    attempt(f"attach-{name}", lambda: call(libc.ptrace, 16, pid, 0, 0))
    attempt(f"seize-{name}", lambda: call(libc.ptrace, 0x4206, pid, 0, 0))
    attempt(f"read-{name}", lambda: syscall(310, 270, pid, vector, 1, vector, 1, 0))
    attempt(f"write-{name}", lambda: syscall(311, 271, pid, vector, 1, vector, 1, 0))
    attempt(f"descriptors-{name}", lambda: syscall(438, 438, syscall(434, 434, pid, 0), 0, 0))
""",
        REFUSED,
    )


@pytest.mark.core
def test_nothing_is_mounted_and_no_root_changed(refuse: Callable[..., None]) -> None:
    refuse(
        """
os.makedirs("/tmp/hx-mount/old", exist_ok=True)
SOURCE, TARGET = b"/tmp/hx-mount", b"/tmp/hx-mount/old"
attempt("tmpfs", lambda: syscall(165, 40, b"none", TARGET, b"tmpfs", 0, None))
attempt("proc", lambda: syscall(165, 40, b"proc", TARGET, b"proc", 0, None))
attempt("cgroup", lambda: syscall(165, 40, b"cgroup", TARGET, b"cgroup", 0, b"memory"))
attempt("bind", lambda: syscall(165, 40, b"/", TARGET, None, 0x1000, None))
attempt("remount", lambda: syscall(165, 40, None, b"/", None, 0x20 | 0x1000, None))
attempt("umount", lambda: syscall(166, 39, b"/proc", 2))
attempt("chroot", lambda: os.chroot("/tmp"))
attempt("pivot", lambda: syscall(155, 41, SOURCE, TARGET))
attempt("fsopen", lambda: syscall(430, 430, b"tmpfs", 0))
attempt("open_tree", lambda: syscall(428, 428, -100, b"/", 1))
attempt("move_mount", lambda: syscall(429, 429, -100, b"/proc", -100, TARGET, 0))
attempt("mount_setattr", lambda: syscall(442, 442, -100, b"/", 0, ctypes.create_string_buffer(32), 32))
attempt("swap", lambda: syscall(167, 224, b"/tmp/hx-left", 0))
""",
        REFUSED,
    )


@pytest.mark.core
def test_no_namespace_is_made_or_entered(refuse: Callable[..., None]) -> None:
    refuse(
        """
import glob, signal
FLAGS = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000,
         "cgroup": 0x02000000, "time": 0x80, "user+mount+pid+net": 0x10000000 | 0x20000 | 0x20000000 | 0x40000000}
def clone(flags):
    pid = syscall(56, 220, flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return pid
class Arguments(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in "flags pidfd child parent exit stack size tls tid tids cgroup".split()]
def clone3(flags):
    arguments = Arguments(flags=flags, exit=signal.SIGCHLD)
    pid = syscall(435, 435, ctypes.byref(arguments), ctypes.sizeof(arguments))
    if pid == 0:
        os._exit(0)
    return pid
for name, flag in FLAGS.items():
    attempt("unshare-" + name, lambda: syscall(272, 97, flag))
    if name != "time":
        attempt("clone-" + name, lambda: clone(flag))
    attempt("clone3-" + name, lambda: clone3(flag))
def enter(path):
    return syscall(308, 268, os.open(path, os.O_RDONLY), 0)
for path in glob.glob("/proc/1/ns/*") + glob.glob("/proc/self/ns/*"):
    attempt("setns-" + path, lambda: enter(path))
attempt("setns-pidfd", lambda: syscall(308, 268, syscall(434, 434, os.getpid(), 0), 0x20000))
""",
        REFUSED + " EINVAL EUSERS ENOSPC",
    )


def test_the_user_is_nobody(arena: Callable[..., Any]) -> None:
    """Inside, outside, and for good: no capability, none to be had, system calls filtered."""
    attack = arena("""
for line in open("/proc/self/status"):
    print(*line.replace(":", " ").split())
for name, call in (("setuid", lambda: os.setuid(0)), ("setgid", lambda: os.setgid(0)), ("setgroups", lambda: os.setgroups([0])),
                   ("setresuid", lambda: os.setresuid(0, 0, 0)), ("setreuid", lambda: os.setreuid(0, 0)),
                   ("chown", lambda: os.chown("/tmp/hx-left", 0, 0))):
    attempt(name, call)
time.sleep(0.3)
""")
    status = {words[0]: words[1:] for words in map(str.split, attack.execution.stdout.splitlines()) if len(words) > 1}
    assert "0" not in status["Uid"] + status["Gid"]
    assert not set(status.get("Groups", ())) & {"0"}
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name][0], 16) == 0, name
    assert status["NoNewPrivs"] == ["1"]
    assert status["Seccomp"] == ["2"]
    assert len(attack.refused) == 6
    assert attack.uids, "the host saw no process of the program"
    assert 0 not in attack.uids or os.getuid() != 0, "on the host it is root"


def test_no_file_gives_rights(refuse: Callable[..., None]) -> None:
    """Files with the set-uid bit, of their own or of the system, and device nodes."""
    refuse(
        """
import stat
def nodes(kind, major, minor):
    os.mknod(f"/tmp/hx-{kind}-{major}-{minor}", kind | 0o666, os.makedev(major, minor))
attempt("block", lambda: nodes(stat.S_IFBLK, 8, 0))
attempt("memory", lambda: nodes(stat.S_IFCHR, 1, 1))
attempt("kmsg", lambda: nodes(stat.S_IFCHR, 1, 11))
attempt("xattr", lambda: os.setxattr("/tmp/hx-left", "security.capability", bytes.fromhex("0100000200002000") + bytes(12)))
attempt("trusted", lambda: os.setxattr("/tmp/hx-left", "trusted.overlay.opaque", b"y"))
attempt("root", lambda: (os.seteuid(0), open("/etc/hx-root", "w")))
""",
        REFUSED + " EOPNOTSUPP EINVAL",
    )


def test_settings_of_the_kernel_stay(refuse: Callable[..., None]) -> None:
    before = [Path(f"/proc/sys/{name}").read_text() for name in ("kernel/core_pattern", "vm/overcommit_memory")]
    refuse(
        """
FILES = ["/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
         "/proc/sys/vm/drop_caches", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/pid_max", "/proc/sys/fs/binfmt_misc/register",
         "/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces", "/proc/irq/0/smp_affinity", "/proc/mtrr",
         "/proc/acpi/wakeup", "/proc/scsi/scsi", "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/ksm/run",
         "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/cgroup.procs",
         "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/memory/cgroup.procs", "/proc/self/uid_map", "/proc/self/setgroups"]
def write(path, text):
    with open(path, "r+") as file:
        file.write(text)
        file.flush()
for path in FILES:
    attempt(path, lambda: write(path, "1"))
attempt("oom", lambda: write("/proc/self/oom_score_adj", "-1000"))
for top in ("/proc/sys", "/sys/fs/cgroup", "/sys/kernel", "/sys/module"):
    for directory, _, names in os.walk(top):
        for name in names:
            path = os.path.join(directory, name)
            if os.access(path, os.W_OK):
                attempt(path, lambda: write(path, open(path).read()))
""",
        REFUSED + " EROFS ENOENT EINVAL EIO ENOTDIR",
        seconds=10.0,
    )
    assert before == [Path(f"/proc/sys/{name}").read_text() for name in ("kernel/core_pattern", "vm/overcommit_memory")]


CALLS = """
buffer = ctypes.create_string_buffer(256)
address = ctypes.addressof(buffer)
event = ctypes.create_string_buffer(128)
event[0], event[4] = 1, 128  # PERF_TYPE_SOFTWARE
maps = (ctypes.c_uint32 * 18)(2, 4, 4, 1)  # an array map
class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("inode", ctypes.c_uint64)]
handle = Handle(8, 1, 2)
CALLS = {
    "keyctl": (250, 219, 0, -3, 1),
    "add_key": (248, 217, b"user", b"hx", b"x", 1, -3),
    "request_key": (249, 218, b"user", b"hx", None, -3),
    "bpf": (321, 280, 0, maps, 72),
    "perf_event_open": (298, 241, event, 0, -1, -1, 0),
    "userfaultfd": (323, 282, 0x80001),
    "io_uring_setup": (425, 425, 4, ctypes.create_string_buffer(120)),
    "open_by_handle_at": (304, 265, os.open("/", os.O_RDONLY), ctypes.byref(handle), 0),
    "init_module": (175, 105, b"x", 1, b""),
    "finit_module": (313, 273, os.open("/tmp/hx-left", os.O_RDONLY), b"", 0),
    "delete_module": (176, 106, b"hx", 0),
    "kexec_load": (246, 104, 0, 0, None, 0),
    "kexec_file_load": (320, 294, -1, -1, 0, None, 0),
    "reboot": (169, 142, 0xFEE1DEAD, 672274793, 0, None),
    "acct": (163, 89, b"/tmp/hx-left"),
    "sethostname": (170, 161, b"hx", 2),
    "setdomainname": (171, 162, b"hx", 2),
    "syslog": (103, 116, 3, buffer, 256),
    "quotactl": (179, 60, 0x800002, None, 0, buffer),
    "fanotify_init": (300, 262, 0, 0),
    "vhangup": (153, 58),
}
X86_CALLS = {"iopl": (172, 0, 3), "ioperm": (173, 0, 0x80, 1, 1)}
"""


@pytest.mark.core
def test_calls_that_reach_into_the_kernel(refuse: Callable[..., None]) -> None:
    refuse(
        CALLS
        + """
if platform.machine() == "x86_64":
    CALLS |= X86_CALLS
for name, arguments in CALLS.items():
    attempt(name, lambda: syscall(*arguments))
attempt("clock", lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()))
""",
        REFUSED,
    )


def test_the_filter_holds_for_the_other_calling_convention(arena: Callable[..., Any]) -> None:
    """Numbers of the x32 interface name the same calls of the kernel, and a filter may forget them: it may kill, too."""
    attack = arena(
        CALLS
        + """
print("begun", flush=True)
for name in ("keyctl", "add_key", "bpf", "userfaultfd", "io_uring_setup", "sethostname", "delete_module"):
    x86, arm, *arguments = CALLS[name]
    attempt(name, lambda: syscall(x86 | 0x40000000, arm | 0x40000000, *arguments))
attempt("unshare", lambda: syscall(272 | 0x40000000, 97 | 0x40000000, 0x10000000))
attempt("mount", lambda: syscall(165 | 0x40000000, 40 | 0x40000000, b"none", b"/tmp", b"tmpfs", 0, None))
""",
    )
    assert attack.execution.stdout.startswith("begun")
    assert attack.execution.outcome == "killed" or len(attack.refused) == 9
    assert set(attack.refused.values()) <= set(REFUSED.split())


def test_no_terminal_is_typed_into(refuse: Callable[..., None]) -> None:
    refuse(
        """
import fcntl
attempt("terminal", lambda: open("/dev/tty", "r+b", buffering=0))
for number in range(10):
    attempt(f"type-{number}", lambda: fcntl.ioctl(number, 0x5412, b"x"))
    attempt(f"paste-{number}", lambda: fcntl.ioctl(number, 0x541C, b"\\x03"))
""",
        REFUSED + " ENXIO ENOTTY EBADF EIO EINVAL ENOENT",
    )


def test_no_priority_and_no_higher_limit(refuse: Callable[..., None]) -> None:
    refuse(
        """
import resource
attempt("realtime", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt("nice", lambda: os.nice(-5))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))
for name in ("AS", "NPROC", "NOFILE", "CORE", "FSIZE", "CPU", "MEMLOCK", "NICE", "RTPRIO", "MSGQUEUE"):
    kind = getattr(resource, "RLIMIT_" + name)
    soft, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        attempt("limit-" + name, lambda: resource.setrlimit(kind, (hard, hard + 1)))
        attempt("prlimit-" + name, lambda: resource.prlimit(0, kind, (hard, hard + 1)))
core = resource.getrlimit(resource.RLIMIT_CORE)
if core != (0, 0):
    print("ESCAPED", "core", core)
""",
        REFUSED + " ValueError",
    )
