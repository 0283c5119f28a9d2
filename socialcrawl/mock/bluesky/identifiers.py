"""What Bluesky calls the accounts and posts of a world: handles, DIDs, record keys, at:// addresses and CIDs.

All are stable. A DID comes from the account's name in the file, so a rename leaves it; a record key is the post's id
written in 13 characters that sort as the id does; a CID is made of its address, as nobody sees the CBOR that it should
be the hash of. Hashes are written with 16 of the 32 letters: Python's own base 32 takes as long as the rest of a page.
"""

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

POST = "app.bsky.feed.post"
REPOST = "app.bsky.feed.repost"

_SORTED = "234567abcdefghijklmnopqrstuvwxyz"
_PAIRS = [one + other for one in _SORTED for other in _SORTED]
_VALUE = {letter: value for value, letter in enumerate(_SORTED)}
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_KEY = re.compile(r"[2-7a-j][2-7a-z]{12}")
_NOT_IN_LABEL = re.compile(r"[^a-z0-9-]+")
# Base 32 of version 1, dag-cbor, sha2-256 of 32 bytes; the first and the last letter of the hash have bits to spare.
_CID_HEAD, CID_END = "bafyreia", "a"
_SHIFTS = np.arange(60, -1, -5, dtype=np.uint64)
_CODES = np.array([ord(letter) for letter in _SORTED], np.uint32)


def make_record_key(number: int) -> str:
    """Return the 13 characters of a number below 2**64, in the order of numbers."""
    high, low = number >> 30, number & 0x3FFFFFFF
    return (
        f"{_SORTED[high >> 30]}{_PAIRS[high >> 20 & 1023]}{_PAIRS[high >> 10 & 1023]}{_PAIRS[high & 1023]}"
        f"{_PAIRS[low >> 20]}{_PAIRS[low >> 10 & 1023]}{_PAIRS[low & 1023]}"
    )


def make_record_keys(numbers: NDArray[Any]) -> list[str]:
    """Return the keys of many numbers: int64[n] or uint64[n]."""
    letters = _CODES[(numbers.astype(np.uint64)[:, None] >> _SHIFTS) & np.uint64(31)]
    keys: list[str] = letters.view("U13").ravel().tolist()
    return keys


def parse_record_key(key: str) -> int | None:
    """Return the number written as these 13 characters; None where they are no record key."""
    if not _KEY.fullmatch(key):
        return None
    number = 0
    for letter in key:
        number = number << 5 | _VALUE[letter]
    return number


def make_did(name: str) -> str:
    """Return the DID of the account with this folded name: 96 bits of hash."""
    return "did:plc:" + blake2b(name.encode(), digest_size=12).hexdigest().translate(_LETTERS)


def make_cid(did: str, kind: str, key: str) -> str:
    """Return the CID of a record with a key of 13 characters; 59 characters, of the form that Bluesky's have."""
    return f"{make_cid_head(did, kind)}{key}{CID_END}"


@lru_cache(20_000)
def make_cid_head(did: str, kind: str) -> str:
    """Return what the CIDs of an account's records of one kind begin with; their key and `CID_END` follow."""
    return _CID_HEAD + blake2b(f"{did}/{kind}".encode(), digest_size=19).hexdigest()[:37].translate(_LETTERS)


class BlueskyNames:
    """The names of a world's accounts (by row; `dids` are all DIDs) and posts (by position).

    A handle is the username as a label, `_` written as `-`, under one domain; a username that could not be read back
    from its label (`_` at an end) gets a short hash besides.

    Args:
        world: the accounts and posts.
        changes: what became of them.
        domain: the part of every handle behind its first dot.
    """

    def __init__(self, world: World, changes: WorldChanges, domain: str) -> None:
        self._world, self._changes, self.domain = world, changes, domain
        self.dids: Sequence[str] = [make_did(key) for key in world.accounts.keys]
        self._rows = {did: row for row, did in enumerate(self.dids)}
        self._labels = _make_labels(world.accounts.usernames)
        self._by_label = {label: row for row, label in enumerate(self._labels)}
        self._renamed: dict[str, int] = {}
        self._version = changes.version

    @cached_property
    def by_key(self) -> dict[str, int]:
        """The row of every folded name of the file."""
        return {key: row for row, key in enumerate(self._world.accounts.keys)}

    def did(self, row: int) -> str:
        """Return the DID of an account."""
        return self.dids[row]

    def handle(self, row: int) -> str:
        """Return the handle that an account has now."""
        username = self._changes.username(row)
        if username == self._world.accounts.usernames[row]:
            return f"{self._labels[row]}.{self.domain}"
        label = _make_plain_label(username)
        if label is None or self._by_label.get(label, row) != row:
            label = _make_hashed_label(username, 0)
        return f"{label}.{self.domain}"

    def row(self, actor: str) -> int | None:
        """Return the row of the account with this DID, or with this handle now, in any spelling.

        None where nobody has it.
        """
        if actor.startswith("did:"):
            return self._rows.get(actor)
        handle = fold_name(actor)
        label, _, domain = handle.partition(".")
        row = self._by_label.get(label)
        if row is not None and domain == self.domain and self.handle(row) == handle:
            return row
        return self._new_handles().get(handle)

    def uri(self, row: int, number: int, kind: str = POST) -> str:
        """Return the address of an account's record with this number (a post's id)."""
        return f"at://{self.dids[row]}/{kind}/{make_record_key(number)}"

    def _new_handles(self) -> dict[str, int]:
        if self._version != self._changes.version:
            self._version = self._changes.version
            usernames, now = self._world.accounts.usernames, self._changes.username
            moved = [row for row, username in enumerate(usernames) if now(row) != username]
            self._renamed = {self.handle(row): row for row in moved}
        return self._renamed


def _make_labels(usernames: Sequence[str]) -> list[str]:
    """Return one label per username, all different; a made one yields to the real ones."""
    labels = [_make_plain_label(username) for username in usernames]
    taken = {label for label in labels if label is not None}
    for row in sorted((row for row, label in enumerate(labels) if label is None), key=usernames.__getitem__):
        attempt = 0
        while (label := _make_hashed_label(usernames[row], attempt)) in taken:
            attempt += 1
        taken.add(label)
        labels[row] = label
    return [label for label in labels if label is not None]


def _make_plain_label(username: str) -> str | None:
    """Return the label from which the username can be read back; None where there is none."""
    label = fold_name(username).replace("_", "-")
    if label.startswith("-") or label.endswith("-") or "-" in username or _NOT_IN_LABEL.search(label):
        return None
    return label


def _make_hashed_label(username: str, attempt: int) -> str:
    ending = make_did(f"{attempt} {fold_name(username)}")[-6:]
    kept = _NOT_IN_LABEL.sub("", fold_name(username).replace("_", "-")).strip("-")[:40]
    return f"{kept or 'x'}-{ending}"
