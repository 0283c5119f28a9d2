"""What is this machine alone, where no request leaves it and nothing costs money; and what everybody can reach."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

_EMBEDDING = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))  # an IPv4 address is in the last 32 bits
# What not every Python knows to be of local use, or of none (IANA's registries of special-purpose addresses).
_LOCAL = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv6Network("64:ff9b:1::/48"),
    IPv6Network("3fff::/20"),
    IPv6Network("5f00::/16"),
    IPv6Network("fec0::/10"),
)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether everybody means the same machine by an address; one of IPv6 may stand for one of IPv4."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if any(address in network for network in _EMBEDDING):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and not any(address in network for network in _LOCAL)


@lru_cache(1_024)
def is_loopback(url: str) -> bool:
    """Return whether the server at `url` is on this machine."""
    return is_loopback_host(urlsplit(url).hostname or "")


def is_loopback_host(host: str) -> bool:
    """Return whether a host, by name or by address, is this machine and cannot be reached from others."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
