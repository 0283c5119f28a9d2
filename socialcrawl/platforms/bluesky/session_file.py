"""The tokens of a session: read from an answer, kept in a file that only their owner may read. No log shows them."""

import base64
import binascii
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from math import inf
from pathlib import Path
from tempfile import mkstemp
from typing import Any, TypeGuard
from urllib.parse import urlsplit

import orjson

from socialcrawl.errors import StoreError
from socialcrawl.platforms.json_reader import decode_json
from socialcrawl.platforms.web.urls import is_private
from socialcrawl.system.locks import lock_file
from socialcrawl.system.loopback import is_loopback
from socialcrawl.system.secret import conceal

EARLY = 300.0  # seconds before its end at which an access token is renewed
KEY_BYTES = 32
REMEDY = "let XDG_STATE_HOME name a folder that can be written"


@dataclass(frozen=True, slots=True)
class SessionTokens:
    """A session's tokens, its server, and when the access token came and ends (Unix seconds, our clock)."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    base: str
    at: float
    ends: float

    def is_fresh(self, now: float, early: float = EARLY) -> bool:
        """Return whether the access token can be used for `early` seconds more, or the first half of its life."""
        return self.at - EARLY <= now < self.ends - min(early, (self.ends - self.at) / 2)


def parse_tokens(body: Any, base: str, at: float) -> SessionTokens | None:
    """Return the tokens of an answer, which no log shows from now on; None if it has none."""
    given = body if isinstance(body, dict) else {}
    access, refresh = given.get("accessJwt"), given.get("refreshJwt")
    if not (_is_token(access) and _is_token(refresh)):
        return None
    conceal(access)
    conceal(refresh)
    begins, ends = _read_claim(access, "iat"), _read_claim(access, "exp")
    if ends is None:
        ends = inf  # until it is refused
    elif begins is not None:
        ends = at + (ends - begins)  # whatever the server's clock says
    return SessionTokens(access, refresh, _find_server(given.get("didDoc"), base), at, ends)


def _is_token(text: Any) -> TypeGuard[str]:
    return isinstance(text, str) and text.isascii() and text.isprintable() and bool(text) and " " not in text


def _read_claim(token: str, name: str) -> float | None:
    """Return a number among the claims of a JWT; None where there is none."""
    try:
        middle = token.split(".")[1]
        value = decode_json(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))[name]
    except (IndexError, KeyError, TypeError, binascii.Error, ValueError):
        return None
    return float(value) if type(value) in (int, float) else None


def _find_server(document: Any, base: str) -> str:
    """Return the account's own server, from its DID document.

    `base` where that is this machine, or none may be used.
    """
    services = document.get("service") if isinstance(document, dict) else None
    for service in services if isinstance(services, list) and not is_loopback(base) else ():
        if isinstance(service, dict) and str(service.get("id", "")).endswith("#atproto_pds"):
            address = str(service.get("serviceEndpoint", ""))
            if _may_have_tokens(address):
                return address.rstrip("/")
    return base


def _may_have_tokens(url: str) -> bool:
    """Return whether tokens may go to a server that another server names: encrypted, and on the public network."""
    with suppress(ValueError):
        parts = urlsplit(url)
        bare = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
        named = parts.scheme == "https" and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        return bare and named and not is_private(url)
    return False


@contextmanager
def lock_session(lock: Path) -> Iterator[None]:
    """Keep other processes from signing in or renewing meanwhile; where the lock cannot be made, go on without."""
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(lock_file(lock))
        yield


def read(file: Path, base: str) -> SessionTokens | None:
    """Return the session that was kept; None if there is none, or its server is one that may not have tokens.

    `base` is where the account signs in, as the campaign names it: that one may.
    """
    try:
        kept = SessionTokens(**orjson.loads(file.read_bytes()))
        if not (_is_token(kept.access) and _is_token(kept.refresh) and isinstance(kept.base, str)):
            return None
        if kept.base != base and not _may_have_tokens(kept.base):
            return None
        conceal(kept.access)
        conceal(kept.refresh)
        return replace(kept, at=float(kept.at), ends=inf if kept.ends is None else float(kept.ends))
    except (OSError, TypeError, ValueError):
        return None


def write(file: Path, tokens: SessionTokens) -> None:
    """Keep tokens, whole or not at all, for this user only (mkstemp: mode 0600)."""
    made, name = mkstemp(dir=file.parent, prefix=".")
    try:
        with os.fdopen(made, "wb") as opened:
            opened.write(orjson.dumps(asdict(tokens)))  # an end that is not known, inf, becomes null
            opened.flush()
            os.fsync(opened.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def find_file(folder: Path, *parts: str) -> Path:
    """Return the file in `folder` for a session that `parts` name; nothing of them can be read from its name.

    Raises:
        StoreError: the folder cannot be used.
    """
    return folder / f"{blake2b(chr(0).join(parts).encode(), key=_read_key(folder), digest_size=16).hexdigest()}.json"


def _read_key(folder: Path) -> bytes:
    """Return the random key of a folder, made if it is not there; whoever comes first makes it for all."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / "key"
        if not file.exists():
            made, name = mkstemp(dir=folder, prefix=".")
            with os.fdopen(made, "wb") as opened:
                opened.write(os.urandom(KEY_BYTES))
                opened.flush()
                os.fsync(opened.fileno())
            with suppress(FileExistsError):
                os.link(name, file)
            Path(name).unlink()
        return file.read_bytes()[:KEY_BYTES]
    except OSError as error:
        raise StoreError(f"The folder {folder} for sessions cannot be used ({error.strerror}): {REMEDY}.") from error
