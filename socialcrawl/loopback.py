"""What is this machine alone: where no request leaves it, and nothing costs money."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether the server at `url` is on this machine."""
    return is_loopback_host(urlsplit(url).hostname or "")


def is_loopback_host(host: str) -> bool:
    """Whether a host, by name or by address, is this machine and cannot be reached from others."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
