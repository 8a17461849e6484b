"""No program reaches anything outside: not the network, not the host's own services."""

import contextlib
import secrets
import select
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

UNREACHABLE = "ECONNREFUSED ENETUNREACH EADDRNOTAVAIL EAFNOSUPPORT EPERM EACCES"
NO_SUCH_SOCKET = "EPERM EACCES EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT ENOSYS"

# The addresses outside are of the ranges for documentation (RFC 5737, RFC 3849): nobody's.
ATTACKS = {
    "tcp over IPv4 to the host's loopback": """
import socket
attempt("tcp4", lambda: socket.create_connection(("127.0.0.1", TCP4), 1))
""",
    "tcp over IPv6 to the host's loopback": """
import socket
attempt("tcp6", lambda: socket.create_connection(("::1", TCP6), 1))
""",
    "udp to the host's loopback": """
import socket
def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(1)
        udp.connect(("127.0.0.1", UDP4))
        udp.send(b"x")
        return udp.recv(1)
attempt("udp4", send)
""",
    "abstract unix socket of the host": """
import socket
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + ABSTRACT))
""",
    "unix datagram to an abstract socket": """
import socket
attempt("datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\\0" + ABSTRACT_DATAGRAM))
""",
}


class Listeners:
    """Real sockets on the host that nobody may reach."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        name = f"hx-{secrets.token_hex(6)}"
        self.names: dict[str, object] = {"ABSTRACT": name, "ABSTRACT_DATAGRAM": name + "-datagram"}
        self.sockets: list[socket.socket] = []
        for key, family, kind, address in (
            ("TCP4", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("TCP6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            ("UDP4", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + name),
            ("", socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{name}-datagram"),
        ):
            listener = stack.enter_context(socket.socket(family, kind))
            listener.bind(address)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            if key:
                self.names[key] = listener.getsockname()[1]
            self.sockets.append(listener)

    def touched(self) -> int:
        """How many of them somebody has reached since they were opened."""
        return len(select.select(self.sockets, [], [], 0)[0])


@pytest.fixture
def listeners() -> Iterator[Listeners]:
    with contextlib.ExitStack() as stack:
        yield Listeners(stack)


@pytest.mark.parametrize("code", ATTACKS.values(), ids=ATTACKS)
def test_services_of_the_host_hear_nothing(refuse: Callable[..., None], listeners: Listeners, code: str) -> None:
    refuse(code, UNREACHABLE, **listeners.names)
    assert listeners.touched() == 0


def test_the_listeners_hear_who_can_reach_them(listeners: Listeners) -> None:
    """The same attacks without a sandbox: what the tests above watch for does happen."""
    port, ipv6, udp = listeners.names["TCP4"], listeners.names["TCP6"], listeners.names["UDP4"]
    name = f"\0{listeners.names['ABSTRACT']}"
    with contextlib.ExitStack() as stack:
        stack.enter_context(socket.create_connection(("127.0.0.1", port), 1))
        stack.enter_context(socket.create_connection(("::1", ipv6), 1))
        stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)).sendto(b"x", ("127.0.0.1", udp))
        stack.enter_context(socket.socket(socket.AF_UNIX)).connect(name)
        stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)).sendto(b"x", name + "-datagram")
        assert listeners.touched() == len(listeners.sockets)


def test_every_port_and_every_name_in_sight_is_the_programs_own(
    arena: Callable[..., object], listeners: Listeners
) -> None:
    attack = arena("""
for table in ("tcp", "tcp6", "udp", "udp6", "unix"):
    with open("/proc/net/" + table) as file:
        text = file.read()
    if ABSTRACT in text or any(f":{port:04X} " in text for port in (TCP4, TCP6, UDP4)):
        print("ESCAPED", table)
    print("refused", table, "UNSEEN")
for table in ("route", "ipv6_route"):
    with open("/proc/net/" + table) as file:
        for line in file:
            device = line.split()[0 if table == "route" else -1]
            if device not in ("Iface", "lo"):
                print("ESCAPED", table, line)
    print("refused", table, "UNSEEN")
""", **listeners.names)  # fmt: skip
    assert len(attack.refused) == 7


@pytest.mark.core
def test_the_network_outside_is_unreachable(refuse: Callable[..., None]) -> None:
    refuse(
        """
import socket
def udp(family, address):
    return lambda: socket.socket(family, socket.SOCK_DGRAM).sendto(b"x", address)
attempt("tcp4", lambda: socket.create_connection(("198.51.100.1", 80), 2))
attempt("tcp6", lambda: socket.create_connection(("2001:db8::1", 80), 2))
attempt("dns4", udp(socket.AF_INET, ("198.51.100.1", 53)))
attempt("dns6", udp(socket.AF_INET6, ("2001:db8::1", 53)))
attempt("multicast", udp(socket.AF_INET, ("224.0.0.1", 9)))
attempt("broadcast", udp(socket.AF_INET, ("255.255.255.255", 9)))
""",
        "ENETUNREACH EADDRNOTAVAIL EAFNOSUPPORT EPERM EACCES",
    )


def test_no_name_is_resolved(refuse: Callable[..., None]) -> None:
    """A resolver that answers says that this name does not exist (EAI_NONAME, -2); none at all is EAI_AGAIN, -3."""
    refuse(
        """
import socket
attempt("name", lambda: socket.getaddrinfo("haluagent.invalid", 80))
""",
        str(socket.EAI_AGAIN),
    )


def test_sockets_that_network_namespaces_do_not_hold(refuse: Callable[..., None]) -> None:
    """AF_VSOCK reaches a virtual machine's host from any namespace; the others are attack surface of the kernel."""
    refuse(
        """
import socket
FAMILIES = {"vsock": 40, "packet": 17, "alg": 38, "bluetooth": 31, "can": 29, "tipc": 30, "key": 15, "xdp": 44}
for name, family in FAMILIES.items():
    for kind in (1, 2, 3, 5):
        attempt(f"{name}-{kind}", lambda: socket.socket(family, kind))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("raw6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))
""",
        NO_SUCH_SOCKET,
    )


def test_interfaces_cannot_be_changed(refuse: Callable[..., None]) -> None:
    refuse(
        """
import fcntl, socket, struct
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
up = struct.pack("16sh14x", b"lo", 0)
address = struct.pack("16sHH4s8x", b"lo", socket.AF_INET, 0, b"\\x0a\\x09\\x08\\x07")
attempt("flags", lambda: fcntl.ioctl(udp, 0x8914, up))
attempt("address", lambda: fcntl.ioctl(udp, 0x8916, address))
""",
        "EPERM EACCES ENOSYS",
    )


@pytest.mark.core
def test_sockets_of_daemons_are_not_there(refuse: Callable[..., None], tmp_path: Path) -> None:
    path = str(tmp_path / "host.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        refuse(
            """
import socket
PATHS = ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
         "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/snapd.socket", HOST]
for path in PATHS:
    attempt(path, lambda: socket.socket(socket.AF_UNIX).connect(path))
    if os.path.lexists(path):
        print("ESCAPED", path)
for path in PATHS:
    attempt("/proc/1/root" + path, lambda: socket.socket(socket.AF_UNIX).connect("/proc/1/root" + path))
if any(name.startswith("DOCKER") for name in os.environ):
    print("ESCAPED", "environment")
""",
            "ENOENT EACCES EPERM",
            HOST=path,
        )
        assert select.select([listener], [], [], 0)[0] == []
