"""What accounts are called across instances, and which server is asked about them. Pure.

An account is called "name@domain", in lower case, the domain in the letters of the network (xn--...). An instance names
its own accounts without a domain: whose answer it is has to be known to name them in full.
"""

import re
from collections.abc import Sequence
from ipaddress import ip_address

from socialcrawl.text.domains import encode_domain

LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
LEGAL = re.compile(rf"\w(?:[\w.-]{{0,198}}\w)?@{LABEL}(?:\.{LABEL}){{0,126}}(?::\d{{1,5}})?")
MAX_HOST = 253  # characters of a domain
LOCAL = ("alt", "arpa", "home", "internal", "invalid", "lan", "local", "localdomain", "localhost", "onion", "test")


def complete_name(acct: str, answering: str) -> str:
    """Return an account's name in full, of what an instance calls it.

    Args:
        acct: "name", "name@domain", perhaps with an @ before it, in any case.
        answering: the domain of the instance that says so, which a name without a domain belongs to.
    """
    name, _, host = acct.strip().removeprefix("@").partition("@")
    return f"{name.lower()}@{normalize_domain(host or answering)}"


def normalize_domain(text: str) -> str:
    """Return a domain in lower case and in the letters of the network; as it is where that cannot be."""
    low = text.strip().lower()
    if low.isascii() or len(low) > MAX_HOST:
        return low
    try:
        return encode_domain(low)
    except UnicodeError:
        return low


def is_legal(name: str) -> bool:
    """Return whether an account may be called so."""
    return LEGAL.fullmatch(name) is not None


def find_instance(name: str) -> str:
    """Return the domain of an account that is named in full."""
    return name.rpartition("@")[2]


def is_public(host: str) -> bool:
    """Return whether a host may be asked because somebody's post names it: a name of the public network.

    Whoever writes posts could otherwise send the crawler to machines that only its own network can reach.
    """
    last = host.rpartition(".")[2]
    if last == host or ":" in host or last in LOCAL:
        return False
    try:
        ip_address(host)
    except ValueError:
        return not last.isdecimal()
    return False


def compile_pattern(instances: Sequence[str]) -> re.Pattern[str]:
    """Return what matches the domains that `instances` name: names or patterns with `*`, in any case.

    "*" is all of them.
    """
    named = [normalize_domain(name) for name in instances]
    return re.compile("|".join(".*".join(map(re.escape, name.split("*"))) for name in named) or r"(?!)")
