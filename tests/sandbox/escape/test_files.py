"""No program reads or writes anything of the host, of the sandbox's own driver, or of another run."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOT_THERE = "ENOENT EACCES EPERM ENOTDIR ENODATA ENXIO ELOOP"
READ_ONLY = "EROFS EACCES EPERM ENOENT ENOTDIR ETXTBSY ENXIO EIO"

READ = """
def read(path):
    with open(path, "rb") as file:
        data = file.read(100)
    if not data:
        raise OSError(errno.ENODATA, "empty")  # how a masked file reads
    return data
"""


@pytest.mark.core
def test_planted_files_are_not_there(refuse: Callable[..., None], secret: Any) -> None:
    """Directly, through every process's root, and by tricks with the path."""
    code = """
import glob
for path in PATHS:
    tricks = [path, "/" + path, "/tmp/" + "../" * 40 + path, "/proc/self/root" + path, "/proc/self/cwd/" + "../" * 40 + path,
              "/proc/thread-self/root/.." + path, "/dev/fd/../../../../.." + path, "//proc/1/root" + path]
    tricks += [root + path for root in glob.glob("/proc/*/root")]
    for i, trick in enumerate(tricks):
        attempt(path + f"#{i}", lambda: read(trick))
    link = f"/tmp/hx-link-{len(os.listdir('/tmp'))}"
    os.symlink(path, link)
    attempt(path + "#link", lambda: read(link))
    attempt(path + "#hardlink", lambda: os.link(path, link + "-hard"))
"""
    refuse(READ + code, NOT_THERE, PATHS=secret.paths)


@pytest.mark.core
def test_the_environment_is_not_the_hosts(arena: Callable[..., Any], secret: Any) -> None:
    assert secret.text in os.environ.values()
    attack = arena("""
import glob, re
seen = dict(os.environ)
text = repr(seen).encode()
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + glob.glob("/proc/*/task/*/environ"):
    try:
        text += open(path, "rb").read()
    except OSError:
        pass
print("searched", len(text))
if re.search(rb"hx-secret-[0-9a-f]{32}", text):
    print("ESCAPED", "secret")
print("names", *sorted(set(seen) - {"HX_LEFT"}))
""")  # fmt: skip
    searched, names = attack.execution.stdout.splitlines()
    assert int(searched.split()[1]) > 20
    assert len(names.split()) < 15
    for name in ("PIP", "SSL", "AWS", "GITHUB", "TOKEN", "KEY", "SECRET", "XDG", "SSH", "DOCKER"):
        assert name not in names


def test_processes_of_the_host_are_not_in_sight(arena: Callable[..., Any]) -> None:
    attack = arena(
        """
import glob
pids = [pid for pid in os.listdir("/proc") if pid.isdigit()]
for pid in pids:
    for name in ("cmdline", "comm"):
        try:
            text = open(f"/proc/{pid}/{name}").read()
        except OSError:
            continue
        if "pytest" in text or "sleep" in text or "dockerd" in text:
            print("ESCAPED", pid, text)
print("pids", len(pids))
print("init", open("/proc/1/comm").read())
attempt("host", lambda: open(f"/proc/{HOST}/cmdline").read() if HOST > 4000 else open("/proc/99999999/comm"))
""",
        HOST=os.getpid(),
    )
    lines = dict(line.split(maxsplit=1) for line in attack.execution.stdout.splitlines() if line)
    assert 1 <= int(lines["pids"]) <= 6
    assert lines["init"].strip() != Path("/proc/1/comm").read_text().strip()
    assert attack.refused == {"host": "ENOENT"}


def test_the_kernels_and_the_users_files_are_shut(refuse: Callable[..., None]) -> None:
    refuse(
        READ
        + """
for path in ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/root/.bash_history", "/root/.ssh/id_rsa", "/root/.profile",
             "/root/.bashrc", "/proc/kcore", "/proc/kmsg", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/keys",
             "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/kvm", "/dev/fuse",
             "/dev/net/tun", "/dev/loop-control", "/dev/mapper/control", "/sys/kernel/debug", "/sys/kernel/notes-hx",
             "/sys/firmware/acpi/tables/DSDT", "/var/lib/docker", "/var/log/dpkg-host", "/boot/vmlinuz"):
    attempt(path, lambda: os.listdir(path) if os.path.isdir(path) and os.listdir(path) else read(path))
for path in ("/root", "/home", "/mnt", "/media", "/srv", "/opt", "/run/user", "/work", "/var/lib/docker"):
    if os.path.isdir(path) and os.access(path, os.R_OK) and [name for name in os.listdir(path) if name != "hx-left"]:
        print("ESCAPED", path, os.listdir(path))
""",
        NOT_THERE + " EISDIR",
    )


def test_devices_are_harmless(arena: Callable[..., Any]) -> None:
    attack = arena("""
import stat
harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
found = []
for directory, _, names in os.walk("/dev"):
    for name in names:
        mode = os.lstat(os.path.join(directory, name)).st_mode
        if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) and name not in harmless and directory != "/dev/pts":
            print("ESCAPED", directory, name)
        found.append(name)
print("found", *found)
""")
    assert "null" in attack.execution.stdout.split()


@pytest.mark.core
def test_nothing_can_be_written_but_scratch(refuse: Callable[..., None], arena: Any) -> None:
    refuse(
        """
import sysconfig
PLACES = ["/", "/etc", "/usr", "/usr/lib", "/usr/bin", "/usr/local", "/usr/local/bin", "/bin", "/lib", "/opt", "/srv", "/mnt",
          "/root", "/home", "/var", "/var/lib", "/boot", "/proc", "/sys", "/sys/fs/cgroup", "/proc/1", "/proc/sys/kernel",
          sys.prefix, sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), os.path.dirname(os.__file__)]
for i, place in enumerate(PLACES):
    attempt(f"{i}{place}", lambda: open(place + "/hx-written", "w"))
    attempt(f"{i}{place}#mkdir", lambda: os.mkdir(place + "/hx-directory"))
for i, file in enumerate(["/etc/passwd", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.preload", os.__file__]):
    attempt(f"file{i}", lambda: open(file, "ab"))
""",
        READ_ONLY + " EEXIST",
    )
    for place in ("/", "/etc", "/usr", "/usr/lib", "/root", "/home", "/var", "/opt"):
        assert not any(os.path.lexists(f"{place}/{name}") for name in ("hx-written", "hx-directory"))


def test_mounts_are_of_the_system_and_only_memory_can_be_written(arena: Callable[..., Any]) -> None:
    attack = arena(
        """
SYSTEM = {"/", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", sys.base_prefix,
          "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}
memory = set()
for line in open("/proc/self/mounts"):
    device, place, kind, options, *_ = line.split()
    if kind in ("tmpfs", "mqueue", "devpts"):
        memory.add(os.stat(place).st_dev)
    elif kind in ("proc", "devtmpfs"):
        continue
    elif "ro" not in options.split(",") or not place.startswith("/sys") and place not in SYSTEM:
        print("ESCAPED", line)
    print("mount", place, kind)
for directory, _, _ in os.walk("/"):
    if directory.startswith("/proc"):
        continue
    if os.access(directory, os.W_OK):
        print("writable", directory)
        if os.stat(directory).st_dev not in memory:
            print("ESCAPED", directory)
print("end")
""",
        seconds=20.0,
    )
    assert attack.execution.stdout.count("mount ") >= 3
    assert "writable /tmp\n" in attack.execution.stdout
    assert attack.execution.stdout.endswith("end\n")


def test_the_interpreter_cannot_be_replaced(refuse: Callable[..., None]) -> None:
    """Writing through /proc/PID/exe is how CVE-2019-5736 left a container."""
    refuse(
        """
import glob
for path in ["/proc/self/exe", os.path.realpath(sys.executable), *glob.glob("/proc/[0-9]*/exe")]:
    attempt(path, lambda: open(path, "r+b"))
    attempt(path + "#truncate", lambda: os.truncate(path, 0))
    attempt(path + "#chmod", lambda: os.chmod(path, 0o777))
""",
        READ_ONLY,
    )


def test_no_open_file_of_the_driver_is_inherited(arena: Callable[..., Any]) -> None:
    attack = arena("""
allowed = ("pipe:", "socket:", "anon_inode:", "/dev/null", "/proc/", "/dev/pts/")
for number in sorted(map(int, os.listdir("/proc/self/fd"))):
    try:
        link = os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        continue  # the directory that was listed
    print("open", number, link)
    if not link.startswith(allowed):
        print("ESCAPED", number, link)
""")
    assert "open 0" in attack.execution.stdout


def test_a_run_leaves_nothing_for_the_next(arena: Any) -> None:
    """Files, shared memory, message queues, environment, and modules that would shadow others."""
    arena("""
import site
for place in ("/tmp", "/dev/shm", "/var/tmp", ".", os.path.expanduser("~"), *sys.path, site.getusersitepackages()):
    for name in ("json.py", "random.py", "sitecustomize.py", "usercustomize.py", "hx-left"):
        try:
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, name), "w") as file:
                file.write("raise SystemExit('polluted')")
        except OSError:
            pass
libc = ctypes.CDLL(None, use_errno=True)
print("memory", libc.shmget(0x6878, 4096, 0o1666))
print("semaphore", libc.semget(0x6878, 1, 0o1666))
print("messages", libc.msgget(0x6878, 0o1666))
print("queue", libc.mq_open(b"/hx", os.O_CREAT | os.O_RDWR, 0o666, None))
import builtins
builtins.print = None
""")
    after = arena("""
libc = ctypes.CDLL(None, use_errno=True)
for name, number in (("memory", libc.shmget(0x6878, 4096, 0)), ("semaphore", libc.semget(0x6878, 1, 0)),
                     ("messages", libc.msgget(0x6878, 0)), ("queue", libc.mq_open(b"/hx", os.O_RDWR))):
    print("refused" if number == -1 else "ESCAPED", name, errno.errorcode[ctypes.get_errno()] if number == -1 else number)
""")
    assert set(after.refused) == {"memory", "semaphore", "messages", "queue"}


def test_runs_at_the_same_time_do_not_meet(arena: Any) -> None:
    sleeper = """
import ctypes, time
for place in ("/tmp", "/dev/shm", "/var/tmp", "."):
    try:
        open(place + "/hx-left", "w").write("hx")
    except OSError:
        pass
ctypes.CDLL(None).prctl(15, b"hx-sleeper", 0, 0, 0)  # PR_SET_NAME
time.sleep(1.5)
"""
    seeker = """
import os, time
met = []
for _ in range(10):
    time.sleep(0.1)
    met += [place for place in ("/tmp", "/dev/shm", "/var/tmp", ".") if os.path.exists(place + "/hx-left")]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            met += [pid] * ("hx-sleeper" in open(f"/proc/{pid}/comm").read())
        except OSError:
            pass
print("met", met)
"""
    first, second = arena.together(sleeper, seeker)
    assert first.outcome == "ok"
    assert (second.outcome, second.stdout) == ("ok", "met []\n")
    arena.check_next()


@pytest.mark.parametrize("flood", ["import os; os.abort()", "x = bytearray(2**40)", "while True: pass"])
def test_a_run_that_fails_does_not_disturb_one_beside_it(arena: Any, flood: str) -> None:
    good = "import time; time.sleep(0.5); print(sum(range(101)))"
    bad, *rest = arena.together(flood, good, good, seconds=2.5)
    assert bad.outcome != "ok"
    assert [(run.outcome, run.stdout) for run in rest] == [("ok", "5050\n")] * 2
