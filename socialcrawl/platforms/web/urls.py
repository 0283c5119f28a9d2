"""Addresses of pages in one form, so that a page has one name (RFC 3986, section 6.2). Pure.

Scheme and host in lower case (international names as ASCII), without user, password, default port and fragment; an
empty path is "/", `.` and `..` are resolved; of percent-signs only those that are needed, in upper case. The query is
kept as it is, parameters that only track visitors included: whether one of them changes the page cannot be known.
"""

import re
from collections.abc import Sequence
from ipaddress import ip_address
from socket import inet_aton
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from socialcrawl.system.loopback import is_public
from socialcrawl.text.domains import encode_domain

MAX_HOST = 253  # characters of a host name; to encode more takes time that grows with their square
LONGEST = 2_000  # characters of an address: longer ones are traps or data
PORTS = {"http": 80, "https": 443}
_PLACE = re.compile(r"[\s\x00-\x20]*+(?:[a-zA-Z][a-zA-Z0-9+.-]*+:)?+[/\\]{2}([^/?#\\]*+)")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_PATH = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+,;=:@/-]")
_QUERY = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]")
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*")


def normalize_url(url: str) -> str | None:
    """Return the address in its one form; None where it is no page of the web (other schemes, no host, too long).

    Normalising twice changes nothing.
    """
    if len(url) > LONGEST and len(url.partition("#")[0]) > LONGEST:
        return None
    try:
        parts = urlsplit(url.strip(" \t\r\n\f"))
        port = parts.port
    except ValueError:
        return None
    host = _encode_host(parts.hostname or "")
    if parts.scheme not in PORTS or host is None:
        return None
    place = host if port in (None, PORTS[parts.scheme]) else f"{host}:{port}"
    found = urlunsplit((parts.scheme, place, _normalize_path(parts.path), _escape(_QUERY, parts.query), ""))
    return found if len(found) <= LONGEST else None


def join_url(base: str, href: str) -> str | None:
    """Return where a link leads that stands on the page `base`, in the one form.

    None where it is no page of the web.
    """
    bare = href.strip(" \t\r\n\f").partition("#")[0]
    if len(bare) > LONGEST:
        return None
    try:
        return normalize_url(urljoin(base, bare) if bare else base)  # urljoin would drop an empty ";" of the base
    except ValueError:
        return None


def is_international(href: str) -> bool:
    """Return whether a link names a host in letters beyond ASCII, which take long to encode."""
    found = _PLACE.match(href)
    return found is not None and not found[1].isascii()


def find_server(url: str) -> str:
    """Return the host of an address in the one form, with its port where that is not the usual one."""
    return urlsplit(url).netloc


def make_robots_url(url: str) -> str:
    """Return the address of the robots.txt that speaks of a page, by the page's address in the one form."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/robots.txt"


def list_hosts(urls: Sequence[str]) -> list[str]:
    """Return the hosts of some addresses, without ports, each once: patterns that keep a crawl on these hosts."""
    hosts = [urlsplit(url).hostname for one in urls if (url := normalize_url(one))]
    return list(dict.fromkeys(host for host in hosts if host))


def is_allowed(url: str, patterns: Sequence[str]) -> bool:
    """Return whether the host of a normalized address matches `patterns`: names, `*` for any part, in any case."""
    host = urlsplit(url).hostname or ""
    made = "|".join(".*".join(map(re.escape, one.lower().strip().split("*"))) for one in patterns)
    return bool(patterns) and re.fullmatch(made, host) is not None


def is_private(url: str) -> bool:
    """Return whether an address names this machine or its neighbourhood: nobody on the web may send us there.

    By what is written, in any notation that the system takes for a number; names are looked up where they are connected
    to (`platforms.sockets`).
    """
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return not is_public(ip_address(host))
    except ValueError:
        pass
    if _NUMBER.fullmatch(host):
        try:
            return not is_public(ip_address(inet_aton(host)))
        except (OSError, ValueError):
            return True
    return "." not in host or host.endswith((".localhost", ".local", ".internal", ".home.arpa"))


def _encode_host(name: str) -> str | None:
    """Return a host in ASCII; None where there is none, or what is there cannot be one."""
    name = name.rstrip(".")
    if len(name) > MAX_HOST:
        return None
    try:
        if ":" in name:
            address = ip_address(name)
            mapped = getattr(address, "ipv4_mapped", None)
            return f"[{address}]" if mapped is None else str(mapped)
        ascii_name = encode_domain(name)
    except ValueError:  # UnicodeError is one
        return None
    return ascii_name if _NAME.fullmatch(ascii_name) and len(ascii_name) <= MAX_HOST else None


def _normalize_path(path: str) -> str:
    """Return a path without dots and with the percent-signs that it needs; at least "/"."""
    parts: list[str] = []
    pieces = _escape(_PATH, path).split("/")[1:]
    for piece in pieces:
        if piece == "..":
            del parts[-1:]
        elif piece != ".":
            parts.append(piece)
    if pieces and pieces[-1] in (".", ".."):
        parts.append("")
    return "/" + "/".join(parts)


def _escape(wanted: re.Pattern[str], text: str) -> str:
    def one(found: re.Match[str]) -> str:
        if found[1] is None:
            return quote(found[0], safe="", errors="replace")
        letter = chr(int(found[1], 16))
        return letter if _UNRESERVED.match(letter) else f"%{found[1].upper()}"

    return wanted.sub(one, text)
