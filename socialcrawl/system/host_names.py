"""Which names a web page of ours may be asked for by: whatever else a Host header says is refused.

Why: any web page that somebody has open may let its own name stand for 127.0.0.1 (DNS rebinding). The browser then
takes our pages for its own, and lets it read them; only the Host header tells, as it still has the page's name.

    pages = HostGuard(pages, AllowedHosts.of(["crawler.example.org", "*.lan.example.org"], listening="0.0.0.0"))

Own code, as Starlette's TrustedHostMiddleware knows no IP addresses but one by one, takes the first of several Host
headers, redirects to www, and says neither what was wrong nor what to do.
"""

import re
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from socialcrawl.errors import SettingsError
from socialcrawl.system.loopback import is_loopback_host
from socialcrawl.text.domains import encode_domain

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LONGEST = 253  # characters of a name
POLICY_VIOLATION = 1008  # why a websocket is closed, where the server cannot send a response
_WRITTEN = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?)(:[0-9]{0,5})?")


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The hosts that a server answers for.

    Attributes:
        names: names and addresses, in lower case.
        endings: what a name may end with, as ".example.org".
        literals: whether any IP address is allowed. None can come from DNS rebinding, which needs a name.
    """

    names: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    literals: bool = False

    @classmethod
    def of(cls, given: Iterable[str], listening: str) -> "AllowedHosts":
        """Return the hosts for a server: this machine by its loopback names, and those that are given.

        Where it listens beyond loopback, also any IP address and the machine's own names, which it looks up.

        Args:
            given: names, addresses, or patterns such as *.example.org, which means all names below example.org.
            listening: the address or name that the server listens on.

        Raises:
            SettingsError: one of them is none of these.
        """
        read = [_parse_given(one) for one in given]
        names = {one for one in read if not one.startswith("*.")}
        remote = not is_loopback_host(listening)
        if remote:
            names |= {
                plain
                for name in (listening, socket.gethostname(), socket.getfqdn())
                if (plain := _normalize_host(name))
            }
        return cls(frozenset(names), tuple(one[1:] for one in read if one.startswith("*.")), remote)

    def allow(self, host: str) -> bool:
        """Return whether a host, as `parse_host` gives it, is one of them."""
        if is_loopback_host(host) or host in self.names or host.endswith(self.endings):
            return True
        return self.literals and _is_literal(host)


def parse_host(header: str) -> str | None:
    """Return the host in a Host header: lower case, without port, brackets and final dot; None if it is malformed."""
    found = _WRITTEN.fullmatch(header.strip(" \t"))
    return _normalize_host(found["host"]) if found else None


class HostGuard:
    """An ASGI application that passes on what is asked of an allowed host, and refuses the rest.

    Args:
        app: the application.
        allowed: its hosts.
    """

    def __init__(self, app: App, allowed: AllowedHosts) -> None:
        self._app, self._allowed = app, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or one websocket."""
        refusal = None if scope["type"] == "lifespan" else self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await _refuse(scope, send, *refusal)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and text of the answer to a request that is refused."""
        hosts = [value for name, value in scope["headers"] if name.lower() == b"host"]
        if len(hosts) != 1:  # RFC 9112, 3.2
            count = "no Host header" if not hosts else f"{len(hosts)} Host headers"
            return 400, f"This request has {count}; send one that names this server."
        host = parse_host(hosts[0].decode("latin-1"))
        if host is None:
            return 400, "The Host header of this request is not a host; send the name or address of this server."
        if self._allowed.allow(host):
            return None
        return 421, (
            f"The host {host} is not allowed here. If it is a name of this server, start socialcrawl with "
            f"--allow-host {host}"
        )


async def _refuse(scope: Scope, send: Send, status: int, text: str) -> None:
    kind = "http"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": ""})
            return
        kind = "websocket.http"
    body = f"{text}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": f"{kind}.response.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.response.body", "body": body})


def _normalize_host(host: str) -> str | None:
    """Return a host in the form that is compared; None if it is none."""
    bare = host.lower().removeprefix("[").removesuffix("]").removesuffix(".")
    if ":" in bare or host.startswith("["):
        return str(ip_address(bare)) if _is_literal(bare) and ":" in bare else None
    return bare if 0 < len(bare) <= LONGEST else None


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _parse_given(given: str) -> str:
    """Return a host or pattern as a person writes it: in any case, also with a port or with letters beyond ASCII."""
    text = given.strip()
    below = "*." if text.startswith("*.") else ""
    try:
        name = text.removeprefix("*.")
        bare = f"[{name}]" if _is_literal(name) and ":" in name else encode_domain(name)
        host = parse_host(bare)
    except UnicodeError:
        host = None
    if host is None or (below and _is_literal(host)):
        raise SettingsError(f"--allow-host {given!r} is not a host. {_advise(text)}")
    return below + host


def _advise(text: str) -> str:
    """Return what to write instead of a text that is no host."""
    if "," in text or " " in text:
        return "To allow several hosts, repeat the option: --allow-host a.example.org --allow-host b.example.org"
    if "//" in text:
        return "Write the name alone, without http:// and without a path, such as crawler.example.org"
    if "/" in text:
        return "Ranges of addresses cannot be allowed. Give each address or name with its own --allow-host."
    if "*" in text:
        return "A * stands for all names below a domain, as in *.example.org; it cannot stand for every host."
    return "Write a name such as crawler.example.org, or *.example.org for all names below example.org."
