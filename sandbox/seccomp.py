"""A seccomp filter (see seccomp(2)) that refuses system calls that no ordinary program needs and that escapes rely on.

It adds to namespaces and limits. A refused call returns an error, so that a program that only probes can go on. Calls
through another architecture's table (32-bit, x32) kill the program, because the numbers below do not apply to them.
"""

import errno
import struct

# linux/filter.h, linux/seccomp.h
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ERROR, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
# struct seccomp_data: number, architecture, instruction pointer, six arguments of 64 bits (little-endian).
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000

# The number of each call on x86_64 and on aarch64; None if the architecture does not have it.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_getfd": (438, 438),
    "move_pages": (279, 239), "migrate_pages": (256, 238),
    # mounts and roots
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467), "statmount": (457, 457),
    "listmount": (458, 458), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "swapon": (167, 224), "swapoff": (168, 225),
    "fanotify_init": (300, 262),
    # namespaces
    "unshare": (272, 97), "setns": (308, 268),
    # the kernel itself
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "create_module": (174, None),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "lookup_dcookie": (212, 18), "syslog": (103, 116), "acct": (163, 89),
    "reboot": (169, 142), "modify_ldt": (154, None), "iopl": (172, None), "ioperm": (173, None),
    "uselib": (134, None), "nfsservctl": (180, 42), "_sysctl": (156, None), "vhangup": (153, 58),
    "remap_file_pages": (216, 234), "mbind": (237, 235), "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    # clocks and names
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "sethostname": (170, 161), "setdomainname": (171, 162),
    # keys, which no namespace isolates
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # memory that no limit per process counts
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "semget": (64, 190),
    "msgget": (68, 186),
}  # fmt: skip
_CLONE, _CLONE3, _SETSOCKOPT = (56, 220), (435, 435), (54, 208)
_SOCKET, _IOCTL, _PERSONALITY = (41, 198), (16, 29), (135, 92)

# CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux/sched.h)
_NEW_NAMESPACES = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
# AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6. AF_VSOCK, for one, leads out of a virtual machine from any network namespace.
_SOCKET_FAMILIES = (0, 1, 2, 10)
# SOL_SOCKET; SO_SNDBUF, SO_RCVBUF. The kernel may give less than was asked for, so the filter reports success and
# changes nothing.
_SOCKET_LEVEL, _BUFFER_SIZES = 1, (7, 8)
# TIOCSTI, TIOCLINUX: typing into a terminal
_TERMINAL_INPUT = (0x5412, 0x541C)
# The usual one, and the query for the current one.
_PERSONALITIES = (0, 0xFFFFFFFF)


def machine_supported(machine: str) -> bool:
    """Return whether there is a filter for an architecture, as `platform.machine()` names it."""
    return machine in _ARCHITECTURES


def program(machine: str) -> bytes:
    """Return the filter for an architecture, as an array of `struct sock_filter`.

    Raise `ValueError` if there is none.
    """
    which = list(_ARCHITECTURES).index(machine)
    code = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, _ARCHITECTURES[machine]), (_RETURN, 0, 0, _KILL)]
    code.append((_LOAD, 0, 0, _NUMBER))
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for number in (numbers[which] for numbers in _REFUSED.values()):
        if number is not None:
            code += _call(number, [_refuse(errno.EPERM)])
    # A filter cannot see the flags of clone3, which are in memory: so the C library is made to fall back to clone.
    code += _call(_CLONE3[which], [_refuse(errno.ENOSYS)])
    code += _call(_CLONE[which], [_argument(0), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), _refuse(errno.EPERM)])
    code += _call(_SOCKET[which], [_argument(0), *_unless(_SOCKET_FAMILIES, errno.EAFNOSUPPORT)])
    code += _call(_PERSONALITY[which], [_argument(0), *_unless(_PERSONALITIES, errno.EPERM)])
    refused = [step for value in _TERMINAL_INPUT for step in ((_EQUAL, 0, 1, value), _refuse(errno.EPERM))]
    code += _call(_IOCTL[which], [_argument(1), *refused])
    sized = [step for value in _BUFFER_SIZES for step in ((_EQUAL, 0, 1, value), _refuse(0))]
    code += _call(_SETSOCKOPT[which], [_argument(1), (_EQUAL, 0, 1 + len(sized), _SOCKET_LEVEL), _argument(2), *sized])
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *step) for step in code)


_Step = tuple[int, int, int, int]


def _call(number: int, steps: list[_Step]) -> list[_Step]:
    """Return the steps, applied to this call only; if they refuse nothing, the call is allowed."""
    if steps[-1][0] == _RETURN and len(steps) == 1:
        return [(_EQUAL, 0, 1, number), *steps]
    steps = [*steps, (_RETURN, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(steps), number), *steps]


def _argument(index: int) -> _Step:
    """Load the lower half of an argument: flags, families and requests are 32-bit numbers to the kernel."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _unless(values: tuple[int, ...], error: int) -> list[_Step]:
    """Jump over a refusal if the loaded value is one of these."""
    count = len(values)
    return [*((_EQUAL, count - i, 0, value) for i, value in enumerate(values)), _refuse(error)]


def _refuse(error: int) -> _Step:
    return (_RETURN, 0, 0, _ERROR | error)
