"""Signing in: pairs of JSON web tokens that expire, are renewed, and are verified at every use."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from secrets import token_bytes, token_hex
from typing import Any

import orjson

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.bluesky.identifiers import BlueskyNames, make_did
from socialcrawl.mock.bluesky.parameters import AUTH_MISSING, RefusalError
from socialcrawl.mock.bluesky.view_json import BlueskyViews
from socialcrawl.mock.names import DELETED, SUSPENDED
from socialcrawl.mock.service import MockRequest, MockResponse
from socialcrawl.mock.world_changes import WorldChanges

ACCESS, REFRESH = "com.atproto.appPass", "com.atproto.refresh"
ACCESS_SECONDS, REFRESH_SECONDS = 7_200, 60 * 86_400
GRACE = 7_200.0  # seconds for which a refresh token that was used goes on working

_HEADS = {ACCESS: "at+jwt", REFRESH: "refresh+jwt"}
_NOBODY = RefusalError("AuthenticationRequired", "Invalid identifier or password", 401)
_EXPIRED = RefusalError("ExpiredToken", "Token has expired")


class Sessions:
    """The sessions of a mock, and the endpoints com.atproto.server.createSession, refreshSession and getSession.

    Args:
        names: the accounts.
        changes: what became of them.
        passwords: the password of every handle that may sign in, its own handles or others; None lets in every
            account of the world, and any handle from elsewhere, with any password.
        secret: what signs the tokens; None draws it.
        access_seconds, refresh_seconds: for how long the tokens hold.
    """

    def __init__(
        self,
        names: BlueskyNames,
        changes: WorldChanges,
        *,
        passwords: Mapping[str, str] | None = None,
        secret: bytes | None = None,
        access_seconds: int = ACCESS_SECONDS,
        refresh_seconds: int = REFRESH_SECONDS,
    ) -> None:
        self._names, self._changes = names, changes
        self._passwords = None if passwords is None else {fold_name(name): word for name, word in passwords.items()}
        self._secret = token_bytes(32) if secret is None else secret
        self._seconds = {ACCESS: access_seconds, REFRESH: refresh_seconds}
        self._spent: dict[str, float] = {}
        self._strangers: dict[str, str] = {}
        self._claims = lru_cache(1_024)(self._verify)

    def find_holder(self, asked: MockRequest, scope: str = ACCESS) -> str | None:
        """Return the DID of the account whose token came with a request; None where no token came.

        Raises:
            RefusalError: a token that is none, of another kind, expired or used up.
        """
        claims = self._read_token(asked, scope)
        return None if claims is None else str(claims["sub"])

    def create(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """POST com.atproto.server.createSession, with identifier and password as JSON."""
        name, password = read_credentials(asked.body)
        if not name or not password:
            raise RefusalError("InvalidRequest", 'Error: Input must have the properties "identifier" and "password"')
        row = self._names.row(name)
        handle = name if row is None else self._names.handle(row)
        if self._passwords is not None and not _is_equal(self._passwords.get(handle, ""), password):
            raise _NOBODY
        fate = None if row is None else self._changes.find_fate(row)
        if fate == DELETED or (row is None and ("." not in name or name.startswith("did:"))):
            raise _NOBODY
        if fate == SUSPENDED:
            raise RefusalError("AccountTakedown", "Account has been taken down", 401)
        did = make_did(f"stranger {name}") if row is None else self._names.did(row)
        if row is None:
            self._strangers[did] = name
        return self._pair(did, asked.now)

    def refresh(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """POST com.atproto.server.refreshSession, with the refresh token as bearer: a new pair."""
        claims = self._read_token(asked, REFRESH)
        if claims is None:
            raise AUTH_MISSING
        self._spent.setdefault(str(claims["jti"]), asked.now)
        return self._pair(str(claims["sub"]), asked.now)

    def get(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET com.atproto.server.getSession: who is signed in."""
        did = self.find_holder(asked)
        if did is None:
            raise AUTH_MISSING
        return MockResponse(200, orjson.dumps(self._account(did)))

    def _pair(self, did: str, now: float) -> MockResponse:
        # No didDoc: a client would go to the server that it names.
        tokens = {"accessJwt": self._token(did, ACCESS, now), "refreshJwt": self._token(did, REFRESH, now)}
        return MockResponse(200, orjson.dumps({**self._account(did), **tokens}))

    def _account(self, did: str) -> dict[str, Any]:
        row = self._names.row(did)
        handle = self._names.handle(row) if row is not None else self._strangers.get(did, "handle.invalid")
        return {"active": True, "did": did, "handle": handle}

    def _token(self, did: str, scope: str, now: float) -> str:
        claims = {
            "aud": f"did:web:{self._names.domain}",
            "exp": int(now) + self._seconds[scope],
            "iat": int(now),
            "jti": token_hex(16),
            "scope": scope,
            "sub": did,
        }
        parts = (orjson.dumps({"alg": "HS256", "typ": _HEADS[scope]}), orjson.dumps(claims))
        signed = b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in parts)
        return (signed + b"." + self._signature(signed)).decode()

    def _signature(self, signed: bytes) -> bytes:
        return urlsafe_b64encode(hmac.new(self._secret, signed, sha256).digest()).rstrip(b"=")

    def _read_token(self, asked: MockRequest, scope: str) -> dict[str, Any] | None:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        if not token:
            return None
        claims = self._claims(token.strip()) if scheme.lower() == "bearer" else None
        if claims is None:
            raise RefusalError("InvalidToken", "Token could not be verified")
        if claims["scope"] != scope:
            raise RefusalError("InvalidToken", "Bad token scope")
        if asked.now >= claims["exp"]:
            raise _EXPIRED
        if asked.now - self._spent.get(str(claims["jti"]), asked.now) > GRACE:
            raise RefusalError("ExpiredToken", "Token has been revoked")
        return claims

    def _verify(self, token: str) -> dict[str, Any] | None:
        """Return what a token says that this mock signed; None for any other."""
        signed, _, signature = token.encode("utf-8", "replace").rpartition(b".")
        if not signed or not hmac.compare_digest(self._signature(signed), signature):
            return None
        payload = signed.partition(b".")[2]
        claims: dict[str, Any] = orjson.loads(urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
        return claims


def read_credentials(body: bytes) -> tuple[str, str]:
    """Return the identifier (folded, without a leading @) and the password of a sign-in; empty where there is none."""
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        return "", ""
    if not isinstance(given, dict):
        return "", ""
    name, password = given.get("identifier"), given.get("password")
    return (
        fold_name(name).removeprefix("@") if isinstance(name, str) else "",
        password if isinstance(password, str) else "",
    )


def _is_equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
