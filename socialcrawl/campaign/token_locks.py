"""One process at a time uses a token on a server: two would spend the same windows without knowing of each other.

The locks lie in the user's state folder, as campaigns with one token may lie anywhere. Their names are keyed hashes:
nothing of a token can be read from them, nor tried against them without the key beside them.
"""

import os
import threading
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.platforms.facts import list_platform_facts
from socialcrawl.system.locks import Lock, find_holder, lock_file
from socialcrawl.system.state_folder import REMEDY, make_state_folder

KEY_BYTES = 32
PORTS = {"http": 80, "https": 443}


class TokenLease:
    """The right to use a token on a server, held until `release` or the end of the process.

    Args:
        base: the address of the server; what follows host and port is of no account.
        token: a bearer token, or the four secrets of OAuth 1.0a; "" for who asks without one.
        name: that of the credential, for people.

    Raises:
        StoreError: another process uses it, or the state folder cannot be used.
    """

    def __init__(self, base: str, token: str | tuple[str, ...], name: str) -> None:
        host = _find_host(base)
        what = (
            f"uses the token of the credential {name!r} on"
            if token
            else "sends requests without a token, as this one does, to"
        )
        busy = (
            f"Another process {what} {host}, and uses up the same rate limits: wait for it, stop it, or let one daemon "
            "run both campaigns."
        )
        self._lock = Lock(_find_lock(base, token), busy, REMEDY)

    def release(self) -> None:
        """Let go; the lock's file goes too."""
        self._lock.release()


class TokenLeases:
    """The tokens that the campaigns of one process share: each is leased with its first user, let go with its last."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str | tuple[str, ...]], tuple[TokenLease, int]] = {}
        self._lock = threading.Lock()

    def take(self, base: str, token: str | tuple[str, ...], name: str) -> "SharedLease":
        """Return the right to use a token, see TokenLease.

        Raises:
            StoreError: another process uses it, or the state folder cannot be used.
        """
        key = _find_host(base), token
        with self._lock:
            lease, users = self._held.get(key) or (TokenLease(base, token, name), 0)
            self._held[key] = lease, users + 1
        return SharedLease(self, key)

    def let_go(self, key: tuple[str, str | tuple[str, ...]]) -> None:
        """Count one user of a token less."""
        with self._lock:
            lease, users = self._held.pop(key)
            if users > 1:
                self._held[key] = lease, users - 1
            else:
                lease.release()


class SharedLease:
    """The right of one campaign to use a token that others of this process may use too, until `release`."""

    def __init__(self, leases: TokenLeases, key: tuple[str, str | tuple[str, ...]]) -> None:
        self._leases: TokenLeases | None = leases
        self._key = key

    def release(self) -> None:
        """Let go; the process does so with its last user."""
        leases, self._leases = self._leases, None
        if leases is not None:
            leases.let_go(self._key)


def make_token_mark(base: str, token: str | tuple[str, ...]) -> str:
    """Return a short name for a token on a server, the same whatever its variable is called.

    Nothing can be read from it.

    Raises:
        StoreError: the state folder, which holds the key, cannot be used.
    """
    return _hash(_read_key(make_state_folder() / "key"), _find_host(base), token)[:16]


def is_token_free(base: str, token: str | tuple[str, ...]) -> bool:
    """Return whether no other process of this machine uses a token on a server.

    Raises:
        StoreError: the state folder cannot be used.
    """
    return find_holder(_find_lock(base, token)) in (None, os.getpid())


def check_distinct(tokens: Mapping[str, str | tuple[str, ...]]) -> None:
    """Check that no token has two names: each name would be given its own rate limits.

    Raises:
        SettingsError: one has.
    """
    first: dict[str | tuple[str, ...], str] = {}
    for name, token in tokens.items():
        if first.setdefault(token, name) != name:
            raise SettingsError(
                f"The credentials {first[token]!r} and {name!r} are the same token under two names: remove one of them."
            )


@cache
def _list_aliases() -> Mapping[str, str]:
    """Return the hosts that lead to another one, which counts for them; those of added platforms too."""
    own = {host: facts.hosts[0] for facts in list_platform_facts() for host in facts.hosts[1:]}
    return {"localhost": "127.0.0.1", "::1": "127.0.0.1", **own}


def _find_host(base: str) -> str:
    if not base:
        return "the web"
    parts = urlsplit(base)
    host = _list_aliases().get(parts.hostname or "", parts.hostname)
    return f"{host}:{parts.port or PORTS.get(parts.scheme, 0)}"


def _find_lock(base: str, token: str | tuple[str, ...]) -> Path:
    folder = make_state_folder()
    return folder / f"{_hash(_read_key(folder / 'key'), _find_host(base), token)}.lock"


def _hash(key: bytes, host: str, token: str | tuple[str, ...]) -> str:
    parts = (token,) if isinstance(token, str) else token
    return blake2b("\0".join((host, *parts)).encode(), key=key, digest_size=16).hexdigest()


def _read_key(path: Path) -> bytes:
    """Return the random key of this user. Only who holds the lock writes it, so that nobody reads half or another."""
    try:
        with lock_file(path) as file:
            key = file.read(KEY_BYTES) or b""
            if len(key) < KEY_BYTES:
                key = os.urandom(KEY_BYTES)
                file.seek(0)
                file.write(key)
                os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(f"The file {path} cannot be used ({error.strerror}): {REMEDY}.") from error
    return key
