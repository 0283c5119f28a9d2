"""Who may read and change what: the token, sessions, CSRF tokens, back-off after wrong tokens.

A session is a value that only the holder of the token can make: nothing is stored for it before it is ended. The CSRF
token of a session is made of it in the same way, so a page of another host cannot know it.
"""

import hmac
import os
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from socialcrawl import StoreError
from socialcrawl.system.locks import lock_file
from socialcrawl.system.state_folder import REMEDY

TOKEN_BYTES = 32
TOKEN_FILE = "ui-token"  # noqa: S105  (the name of a file)
COOKIE = "socialcrawl_session"
ENDED_FILE = "ui-ended-sessions"
LASTING = 30 * 86_400.0  # seconds of a session
FREE = 3  # wrong tokens that cost no wait
LONGEST_WAIT = 300.0  # seconds
LONGEST_PATH = 8_000  # characters, of a page to go back to
CLIENTS = 1_000  # addresses whose wrong tokens are counted
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def read_token(folder: Path) -> str:
    """Return the token of this user's pages; make it if need be, readable by this user only.

    Args:
        folder: the state folder.

    Raises:
        StoreError: the file cannot be used.
    """
    path = folder / TOKEN_FILE
    try:
        with lock_file(path) as file:
            known = bytes(file.read(4 * TOKEN_BYTES) or b"").decode("ascii", "replace").strip()
            if len(known) < 2 * TOKEN_BYTES:
                known = secrets.token_hex(TOKEN_BYTES)
                file.seek(0)
                file.write(known.encode())
                file.truncate()
                os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(f"The file {path} cannot be used ({error.strerror}): {REMEDY}.") from error
    return known


@dataclass(frozen=True, slots=True)
class PageVisitor:
    """Who sent a request.

    Attributes:
        known: whether the request proves that its sender has the token.
        csrf: what a form of this session has to send back; "" where a request needs none, or its sender is not known.
        by_header: whether the token came in the header Authorization, which no other page can make a browser send.
    """

    known: bool = False
    csrf: str = ""
    by_header: bool = False


class EndedSessions:
    """Sessions that were ended before their time, for all processes that serve pages with the same token.

    Args:
        path: the file that keeps them, by their random names; it is made with the first one. None: memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._ended: frozenset[str] = frozenset()

    def add(self, session: str, now: float) -> None:
        """End a session; those that are too old in any case are forgotten.

        Raises:
            StoreError: the file cannot be written.
        """
        self._ended |= {session}
        if self._path is None:
            return
        try:
            with lock_file(self._path) as file:
                known = (file.readall() or b"").decode("ascii", "replace").split()
                kept = [one for one in known if is_fresh(one, now)]
                file.seek(0)
                file.write("".join(f"{one}\n" for one in dict.fromkeys([*kept, session])).encode())
                file.truncate()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"The file {self._path} cannot be used ({error.strerror}): {REMEDY}.") from error

    def __contains__(self, session: str) -> bool:
        with suppress(OSError):  # no session was ended
            if self._path is not None and (seen := _stamp(self._path)) != self._seen:
                self._ended |= {*self._path.read_text("ascii", "replace").split()}
                self._seen = seen
        return session in self._ended


class LoginSessions:
    """Makes and checks sessions.

    Args:
        token: the token of the pages.
        now: the clock, Unix seconds.
        ended: those that were ended.
    """

    def __init__(self, token: str, now: Callable[[], float], ended: EndedSessions) -> None:
        self._token, self._now, self._ended = token, now, ended

    def is_token(self, given: str) -> bool:
        """Return whether a text is the token; takes as long for any text."""
        return hmac.compare_digest(_hash(given), _hash(self._token))

    def begin(self) -> str:
        """Return the value of a cookie that proves that its holder knew the token."""
        plain = f"{secrets.token_hex(16)}.{int(self._now())}"
        return f"{plain}.{self._sign('session', plain)}"

    def recognize(self, cookie: str) -> PageVisitor:
        """Return who has a cookie: known, unless somebody else made it or it is too old."""
        plain, _, signature = cookie.rpartition(".")
        signed = hmac.compare_digest(_hash(signature), _hash(self._sign("session", plain)))
        if not signed or not is_fresh(plain, self._now()) or plain in self._ended:
            return PageVisitor()
        return PageVisitor(known=True, csrf=self._sign("csrf", cookie))

    def end(self, cookie: str) -> None:
        """End a session, wherever its cookie is.

        Raises:
            StoreError: it cannot be written down.
        """
        if self.recognize(cookie).known:
            self._ended.add(cookie.rpartition(".")[0], self._now())

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._token.encode(), f"{purpose}|{text}".encode(), sha256).hexdigest()


class LoginBackoff:
    """How long an address has to wait after wrong tokens: twice as long after each, from the fourth one on.

    Args:
        now: the clock, Unix seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failed: OrderedDict[str, tuple[int, float]] = OrderedDict()  # by address: how often, and until when

    def get_wait(self, client: str) -> float:
        """Return the seconds until an address may try again; 0: it may now."""
        _, until = self._failed.get(client, (0, 0.0))
        return max(0.0, until - self._now())

    def fail(self, client: str) -> None:
        """Count a wrong token."""
        count = self._failed.pop(client, (0, 0.0))[0] + 1
        wait = min(LONGEST_WAIT, 2.0 ** (count - FREE)) if count >= FREE else 0.0
        self._failed[client] = count, self._now() + wait
        while len(self._failed) > CLIENTS:
            self._failed.popitem(last=False)

    def succeed(self, client: str) -> None:
        """Forget the wrong tokens of an address."""
        self._failed.pop(client, None)


@dataclass(frozen=True, slots=True)
class Access:
    """Who may do what.

    Attributes:
        sessions: makes and checks sessions.
        backoff: counts wrong tokens.
        closed: whether reading needs the token too, as other machines can connect.
    """

    sessions: LoginSessions
    backoff: LoginBackoff
    closed: bool = False

    def find_visitor(self, headers: Mapping[str, str], client: str) -> PageVisitor:
        """Return who sent a request; a wrong token in its header Authorization is counted."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if self.backoff.get_wait(client):
                return PageVisitor()
            if self.sessions.is_token(given.strip()):
                self.backoff.succeed(client)
                return PageVisitor(known=True, by_header=True)
            self.backoff.fail(client)
            return PageVisitor()
        return self.sessions.recognize(_read_cookie(headers.get("cookie", "")))

    def may_go_on_reading(self, visitor: PageVisitor, headers: Mapping[str, str]) -> bool:
        """Return whether a visitor may still read, whose request began a stream: its session may have ended since."""
        return (
            not self.closed or visitor.by_header or self.find_visitor({"cookie": headers.get("cookie", "")}, "").known
        )


def is_fresh(session: str, now: float) -> bool:
    """Return whether a session, which says when it began, has not lasted too long."""
    began = session.rpartition(".")[2]
    return began.isdecimal() and 0 <= now - int(began) + 60 < LASTING


def make_login_path(scope: Mapping[str, Any]) -> str:
    """Return the path of the form for the token, which leads back to the page of a request."""
    path = scope["raw_path"].decode("latin-1").removesuffix("/events") or "/"
    query = f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
    return f"/login?next={quote(path + query, safe='/')}" if scope["method"] == "GET" and path != "/login" else "/login"


def choose_next(path: str) -> str:
    """Return where to go after logging in: a path of these pages as it is, and the overview instead of anything else.

    Browsers take two slashes, or a slash and a backslash, for the beginning of another host, and leave out tabs and
    ends of lines.
    """
    return path if re.fullmatch(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*", path) and len(path) <= LONGEST_PATH else "/"


def may_change(visitor: PageVisitor, csrf: str) -> bool:
    """Return whether a request may change something: its sender has the token, and no other page made it send it."""
    if not visitor.known:
        return False
    return visitor.by_header or hmac.compare_digest(_hash(csrf), _hash(visitor.csrf))


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Return whether a request that a browser sent comes from our own pages; True where nothing says.

    As our pages tell no referrer, browsers send their forms with the origin "null": Sec-Fetch-Site says more, but only
    over TLS and on this machine. A form of another page lacks the CSRF token in any case.
    """
    if (site := headers.get("sec-fetch-site")) is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin", "null")
    return origin == "null" or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _hash(text: str) -> bytes:
    """Return a text in a form that takes equally long to compare, however long it is."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _read_cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value
