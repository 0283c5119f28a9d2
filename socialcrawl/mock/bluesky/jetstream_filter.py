"""What a subscriber of Jetstream wants to receive, in the words of both of its endpoints.

Limits and sentences as in github.com/bluesky-social/jetstream, internal/subscribe/filter.go and filterv2.go.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from socialcrawl.mock.bluesky.jetstream_events import ACCOUNT, COMMIT, IDENTITY, SYNC, JetstreamEvent

KINDS = (COMMIT, IDENTITY, ACCOUNT, SYNC)
MOST_COLLECTIONS, MOST_DIDS = 100, 10_000
MOST_BYTES = 10_000_000  # of a frame of a client
_LARGEST = 2**32 - 1
_UNREAD = 100  # a list this many times as long as allowed is refused before its values are checked
_DID = re.compile(r"did:[a-z]+:[A-Za-z0-9._:%-]*[A-Za-z0-9._-]")
_NSID = re.compile(
    r"[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+\.[a-zA-Z][a-zA-Z0-9]{0,62}"
)


class OptionsError(Exception):
    """Options that cannot be; the sentence is Jetstream's."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"subscribe: invalid options: {sentence}")


@dataclass(frozen=True, slots=True)
class JetstreamFilter:
    """What is wanted: empty means all.

    Attributes:
        collections, prefixes: names of collections, and beginnings of such with their last dot.
        dids: accounts.
        kinds: kinds of events.
        most_bytes: of a message; 0: any.
    """

    collections: Collection[str] = ()
    prefixes: tuple[str, ...] = ()
    dids: Collection[str] = ()
    kinds: Collection[str] = ()
    most_bytes: int = 0

    def wants(self, event: JetstreamEvent) -> bool:
        """Return whether an event is wanted; collections are asked of commits only."""
        if (self.dids and event.did not in self.dids) or (self.kinds and event.kind not in self.kinds):
            return False
        if event.kind == COMMIT and (self.collections or self.prefixes):
            name = event.collection
            if name not in self.collections and not (self.prefixes and name.startswith(self.prefixes)):
                return False
        return not self.most_bytes or len(event.text.encode()) <= self.most_bytes


Query = Sequence[tuple[str, str]]


def read_v1(query: Query) -> JetstreamFilter:
    """Return what the parameters of /subscribe want.

    Raises:
        OptionsError: they cannot be.
    """
    return _make_v1(_list(query, "wantedCollections"), _list(query, "wantedDids"), _read_size(query))


def read_update(payload: Any) -> JetstreamFilter:
    """Return what the payload of a frame `options_update` wants, in place of all before.

    Raises:
        TypeError: it is no such payload.
        OptionsError: it cannot be.
    """
    if not isinstance(payload, dict):
        raise TypeError
    collections, dids = payload.get("wantedCollections") or [], payload.get("wantedDids") or []
    size = payload.get("maxMessageSizeBytes") or 0
    for values in (collections, dids):
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise TypeError
    if not isinstance(size, int):
        raise TypeError
    return _make_v1(collections, dids, max(size, 0))


def read_hello(text: str) -> JetstreamFilter | None:
    """Return what a frame of a client wants; None for a frame of another type, which is ignored.

    Raises:
        ValueError, TypeError: it is none.
        OptionsError: what it wants cannot be.
    """
    envelope = orjson.loads(text)
    if not isinstance(envelope, dict):
        raise TypeError
    return read_update(envelope.get("payload")) if envelope.get("type") == "options_update" else None


def read_v2(query: Query) -> JetstreamFilter:
    """Return what the parameters of subscribeEvents want.

    Raises:
        OptionsError: they cannot be.
    """
    for name, instead in (("wantedDids", "dids"), ("wantedCollections", "collections")):
        if any(key == name for key, _ in query):
            raise OptionsError(f"{name} is the legacy /subscribe parameter; use {instead}")
    if any(key == "requireHello" for key, _ in query):
        raise OptionsError("requireHello is not supported on this endpoint; it is server-push only")
    limits = (("kinds", len(KINDS)), ("dids", MOST_DIDS), ("collections", MOST_COLLECTIONS))
    for name, most in limits:
        if (n := len(_list(query, name))) > most:
            raise OptionsError(f"too many {name} values: {n} > {most}")
    kinds = _list(query, "kinds")
    for kind in kinds:
        if kind not in KINDS:
            raise OptionsError(f'unknown kind "{kind}" (valid: {", ".join(KINDS)})')
    collections = _list(query, "collections")
    for name in collections:
        if name.endswith(".*") and not _NSID.fullmatch(f"{name[:-1]}x"):
            raise OptionsError(f"invalid collection wildcard: {name}")
    if collections and kinds and COMMIT not in kinds:
        raise OptionsError("collections filter can never apply: kinds excludes commit")
    exact, prefixes = _split_collections(collections)
    return JetstreamFilter(
        exact, prefixes, _check_dids(_list(query, "dids")), frozenset(kinds), _read_exact_size(query)
    )


def _make_v1(collections: list[str], dids: list[str], size: int) -> JetstreamFilter:
    for what, values, most in (("collections", collections, MOST_COLLECTIONS), ("DIDs", dids, MOST_DIDS)):
        if len(values) > most * _UNREAD:
            raise OptionsError(f"too many wanted {what}: {len(values)}")
    exact, prefixes = _split_collections(collections)
    return JetstreamFilter(exact, prefixes, _check_dids(dids), (), size)


def _split_collections(values: list[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    prefixes = tuple(dict.fromkeys(value[:-1] for value in values if value.endswith(".*")))
    exact = frozenset(value for value in values if not value.endswith(".*"))
    for name in sorted(exact):
        if not _NSID.fullmatch(name):
            raise OptionsError(f"invalid collection: {name}")
    if len(exact) + len(prefixes) > MOST_COLLECTIONS:
        raise OptionsError(f"too many wanted collections: > {MOST_COLLECTIONS}")
    return exact, prefixes


def _check_dids(values: list[str]) -> frozenset[str]:
    dids = frozenset(values)
    for did in values:
        if not _DID.fullmatch(did):
            raise OptionsError(f"invalid DID: {did}")
    if len(dids) > MOST_DIDS:
        raise OptionsError(f"too many wanted DIDs: {len(dids)} > {MOST_DIDS}")
    return dids


def _list(query: Query, name: str) -> list[str]:
    return [value for key, value in query if key == name]


def _read_size(query: Query) -> int:
    """Return the largest message of v1; whatever is no such number means any."""
    value = next(iter(_list(query, "maxMessageSizeBytes")), "")
    return int(value) if re.fullmatch(r"[0-9]{1,10}", value) and int(value) <= _LARGEST else 0


def _read_exact_size(query: Query) -> int:
    values = _list(query, "maxMessageSizeBytes")
    if not values:
        return 0
    if len(values) != 1 or not values[0]:
        raise OptionsError("maxMessageSizeBytes must be one unsigned 32-bit integer")
    if not re.fullmatch(r"[0-9]{1,10}", values[0]) or int(values[0]) > _LARGEST:
        raise OptionsError(f'invalid maxMessageSizeBytes "{values[0]}"')
    return int(values[0])
