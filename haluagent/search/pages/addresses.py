"""The IP addresses that a page may be fetched from: those on the public internet."""

import ipaddress

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are the IPv4 address


def is_public(address: IPAddress) -> bool:
    """Return whether an address belongs neither to this machine nor its network, and is not reserved for something
    else.

    An IPv6 address that embeds an IPv4 one (mapped, 6to4, NAT64) is as public as that one; Teredo never is. The
    registries behind this are IANA's special-purpose address registries for IPv4 and IPv6.
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved
