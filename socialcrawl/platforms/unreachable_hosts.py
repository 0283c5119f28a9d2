"""Hosts that are not reached while our own network is up: nameless for good, or down for now. For the wires of probes.

Of old addresses many lead nowhere: of uk-2002 a quarter (LiveRank, paper 003, Table 1, "Host not found"). To wait until
each of them answers, as one waits for a server that one needs, would take for ever, and many in a row would look as if
our own network were down. So it is looked at: it is up while a host takes a connection that has answered before.
"""

import socket
from collections.abc import Callable
from dataclasses import replace
from socket import SOCK_STREAM, create_connection, gaierror, getaddrinfo
from urllib.request import getproxies

from socialcrawl.engine.model import FAILED, Page, Reply, ReplyKind

NAMELESS = {
    getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA") if hasattr(socket, name)
}  # not all have both
DOWN, NOWHERE = "!down", "!nowhere"  # cursors of replies to probes: the host is not reached; there is none of that name
RECENT = 60.0  # seconds for which an answer shows that the network is up
TIMEOUT = 5.0  # seconds to wait for a connection


class HostReachability:
    """What a wire knows of the network, and what it makes of probes that nobody answers.

    Systems without a network may say of every host that there is no such name. Where a proxy stands between, names and
    connections are the proxy's matter: nothing is known of them, and the reply stays as it is.

    Args:
        now: the clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: tuple[str, int, float] | None = None  # a host that answered, its port, and when

    def note_answer(self, host: str, port: int = 443) -> None:
        """Note a host that has answered."""
        self._seen = host, port, self._now()

    def explain_failure(self, reply: Reply, host: str, gone: Page) -> Reply:
        """Return the reply to a probe that failed.

        Of kind `missing`, so that nobody waits for the host: with the page `gone` and the cursor NOWHERE where there is
        none of that name, without rows and with the cursor DOWN where it is not reached. As it was where it may be our
        network.
        """
        if reply.kind not in FAILED or getproxies():
            return reply
        if _nameless(host) and (self._seen is None or self._is_network_up()):
            return replace(reply, kind=ReplyKind.MISSING, rows=gone, cursor=NOWHERE, why=f"there is no host {host}")
        return replace(reply, kind=ReplyKind.MISSING, cursor=DOWN) if self._is_network_up() else reply

    def _is_network_up(self) -> bool:
        """Return whether the network is: a host answered a moment ago, or takes a connection."""
        if self._seen is None:
            return False
        host, port, at = self._seen
        if 0 <= self._now() - at <= RECENT:
            return True
        try:
            create_connection((host, port), TIMEOUT).close()
        except (OSError, ValueError):
            return False
        self._seen = host, port, self._now()
        return True


def _nameless(host: str) -> bool:
    try:
        getaddrinfo(host, 443, type=SOCK_STREAM)
    except gaierror as error:
        return error.errno in NAMELESS
    except (OSError, ValueError):  # a name that cannot be one
        return False
    return False
