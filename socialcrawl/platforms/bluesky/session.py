"""Signing in to Bluesky with an app password: sessions that are kept, renewed, and shared by whoever asks.

Sign-ins are few (300 a day, 30 in five minutes); so a session's tokens are kept in a file that only its owner may read,
and the next process goes on with them. Nowhere else are they written, and no log shows them.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from socialcrawl.engine.model import Limit, Reply, ReplyKind
from socialcrawl.platforms.bluesky import classify, session_file
from socialcrawl.platforms.bluesky.session_file import SessionTokens
from socialcrawl.platforms.headers import parse_date
from socialcrawl.platforms.http_client import HttpAnswer, HttpClient
from socialcrawl.platforms.json_reader import decode_json
from socialcrawl.system.bounds import SMALL
from socialcrawl.system.secret import conceal, redact

ENTRYWAY = "https://bsky.social"
APPVIEWS = ("public.api.bsky.app", "api.bsky.app")
SIGN_IN, RENEW = "/xrpc/com.atproto.server.createSession", "/xrpc/com.atproto.server.refreshSession"
PAUSE = 2.0  # seconds in which those who stand in line do not try again what just failed
UNTOLD, LONGEST = 60.0, 86_400.0  # seconds: a limit on sign-ins that does not say until when, and any


@dataclass(frozen=True, slots=True)
class AccessToken:
    """The right to ask: an access token, and the server that takes it."""

    token: str = field(repr=False)
    base: str


class Session:
    """The session of one account, for all threads of a process.

    Args:
        base: where it signs in: `find_sign_in_server`.
        identifier: a handle, DID or e-mail address; spellings of one share its session.
        password: an app password.
        folder: where tokens are kept, for this user only; made if it is not there.
        now: the clock.
        timeout: seconds to wait for each part of an answer.
        deadline: seconds for a whole answer; None: four times the timeout.
        contact: address at which the operator of the crawl can be reached.

    Raises:
        StoreError: the folder cannot be used.
    """

    def __init__(
        self,
        base: str,
        identifier: str,
        password: str,
        folder: Path,
        *,
        now: Callable[[], float],
        timeout: float = 30.0,
        deadline: float | None = None,
        contact: str = "",
    ) -> None:
        conceal(password)
        self.base, self.now = base.rstrip("/"), now
        self._who, self._password = _normalize_identifier(identifier), password
        self._http = HttpClient(base, now, timeout, contact, deadline)
        self._file = session_file.find_file(folder, self.base, self._who, password)
        self._lock = threading.Lock()
        self._tokens: SessionTokens | None = None
        self._refused = ""  # an access token that the server took no more
        self._rests: tuple[float, Reply] | None = None

    def get_token(self) -> AccessToken | Reply:
        """Return the access token, after signing in or renewing where that is due; a Reply says why there is none."""
        with self._lock:
            tokens = self._tokens
            if tokens is None or not self._is_usable(tokens):
                rests = self._rests
                if rests is not None and self.now() < rests[0]:
                    return replace(rests[1], at=self.now())
                got = self._renew()
                if isinstance(got, Reply):
                    return got
                self._tokens = tokens = got
            return AccessToken(tokens.access, tokens.base)

    def refuse(self, token: str) -> None:
        """Note that the server took an access token no more: the next request renews it."""
        with self._lock:
            self._refused = token

    def close(self) -> None:
        """Let go of connections; the session goes on in its file."""
        self._http.close()

    def _is_usable(self, tokens: SessionTokens) -> bool:
        return tokens.access != self._refused and tokens.is_fresh(self.now())

    def _renew(self) -> SessionTokens | Reply:
        """Return what another process has got meanwhile, else what refreshing gives, else what signing in gives."""
        with session_file.lock_session(self._file.with_suffix(".lock")):
            former = session_file.read(self._file, self.base)
            if former is not None and self._is_usable(former):
                return former
            got = None if former is None else self._refresh(former)
            if got is None:
                content = orjson.dumps({"identifier": self._who, "password": self._password})
                headers = {"Content-Type": "application/json"}
                came = self._http.fetch("POST", self.base + SIGN_IN, headers=headers, content=content, max_bytes=SMALL)
                got = self._judge(came, self.base)
            if isinstance(got, SessionTokens):
                self._rests = None
                with suppress(OSError):  # a session that cannot be kept costs the next process one more sign-in
                    session_file.write(self._file, got)
            return got

    def _refresh(self, former: SessionTokens) -> SessionTokens | Reply | None:
        """Return new tokens for the old; None if the session has ended for good."""
        headers = {"Authorization": f"Bearer {former.refresh}"}
        came = self._http.fetch(
            "POST", former.base + RENEW, headers=headers, content=b"", max_bytes=SMALL, public=former.base != self.base
        )
        if isinstance(came, HttpAnswer) and came.status in (400, 401, 403) and _is_of_bluesky(came):
            return None
        got = self._judge(came, former.base)
        if isinstance(got, Reply) and former.access != self._refused and former.is_fresh(self.now(), 0.0):
            return former  # it still lasts for a while
        return got

    def _judge(self, came: HttpAnswer | Reply, base: str) -> SessionTokens | Reply:
        if isinstance(came, Reply):
            invalid = came.kind == ReplyKind.INVALID  # otherwise broken: the request itself was not sent
            kind = ReplyKind.INVALID if invalid else ReplyKind.BROKEN
            return self._keep_reply(replace(came, kind=kind, why=f"signing in: {came.why}"), PAUSE)
        body = decode_json(came.body)
        if 200 <= came.status < 300 and (tokens := session_file.parse_tokens(body, base, came.at)) is not None:
            return tokens
        if came.status == 429:
            return self._explain_limit(came)
        bare = Reply(ReplyKind.BROKEN, came.at, status=came.status, date=parse_date(came.headers))
        if came.status in (400, 401, 403, 404) and _is_of_bluesky(came):
            why = _explain(came.status, *classify.parse_error(body))
            return self._keep_reply(replace(bare, kind=ReplyKind.REFUSED, status=401, why=redact(why)), inf)
        why = f"signing in: the server is in trouble (HTTP {came.status}): is it Bluesky, and not a proxy in between?"
        return self._keep_reply(replace(bare, why=why), PAUSE)

    def _explain_limit(self, came: HttpAnswer) -> Reply:
        """Return the reply to a sign-in too many. Its limit counts sign-ins, not requests: it only says until when."""
        known, date = classify.parse_limits(came.headers), parse_date(came.headers)
        clock = came.at if date is None else date
        kind, _ = classify.classify(429, None, known, clock, signed=False)
        rest = max([limit.resets - clock + 1.0 for limit in known if kind != ReplyKind.BACKOFF], default=UNTOLD)
        limits = [Limit(0, 0, limit.resets) for limit in known] if kind == ReplyKind.WINDOW else []
        why = "signing in: too many sign-ins of this account (429): what else signs in with it?"
        reply = Reply(kind, came.at, status=429, date=clock, limits=limits, why=why)
        return self._keep_reply(reply, min(rest, LONGEST))

    def _keep_reply(self, reply: Reply, seconds: float) -> Reply:
        """Return the reply itself, which other callers within this number of seconds get too."""
        self._rests = (self.now() + seconds, reply)
        return reply


def find_sign_in_server(base: str) -> str:
    """Return where an account signs in whose requests go to `base`: there, except at AppViews, where nobody can."""
    return ENTRYWAY if urlsplit(base).hostname in APPVIEWS else base


def _normalize_identifier(identifier: str) -> str:
    """Return the one spelling of an identifier; the ends of some DIDs are in upper and lower case."""
    bare = identifier.strip().removeprefix("@")
    return bare if bare.startswith("did:") else bare.lower()


def _is_of_bluesky(came: HttpAnswer) -> bool:
    """Return whether an answer names an error, as a server of Bluesky does; a proxy in between does not."""
    return bool(classify.parse_error(decode_json(came.body))[0])


def _explain(status: int, error: str, message: str) -> str:
    detail = ": ".join(part for part in (error, message) if part) or f"HTTP {status}"
    if error == "AuthFactorTokenRequired":
        return "signing in: the account wants a code besides its password: use an app password, which needs none"
    if error in classify.MISSING:
        return f"signing in: the account itself is not active ({detail}): use another"
    return (
        f"signing in: the account or its password was not accepted ({detail}): check the handle and the app password "
        "(Settings > App passwords)"
    )
