"""Account names and ids: every name of a file gets a username that X would allow, and a stable id.

All of it depends on the name alone (and, in the rare case of a collision, on the other names), never on the order
of the file, so that a mock started again tells the same story.
"""

import re
from collections.abc import Collection
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name

LEGAL = re.compile(r"[A-Za-z0-9_]{1,15}")
HERE, SUSPENDED, PROTECTED, DELETED = range(4)

Chosen = float | Collection[str]
"""A share of the accounts (0..1), or folded names as the file has them."""

_NOT_LEGAL = re.compile(r"[^A-Za-z0-9_]+")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LARGEST = 2**63 - 1


def make_legal_names(names: Collection[str]) -> dict[str, str]:
    """Return the username of every name: itself where X allows it, else a readable prefix and a short hash.

    Args:
        names: folded names, all different.

    Returns:
        One username per name; all different without case, each `[A-Za-z0-9_]{1,15}`.
    """
    usernames = {name: name for name in names if LEGAL.fullmatch(name)}
    taken = {fold_name(name) for name in usernames}
    for name in sorted(set(names) - usernames.keys()):
        attempt = 0
        while (username := _make_name(name, attempt)) in taken:
            attempt += 1
        taken.add(username)
        usernames[name] = username
    return usernames


def _make_name(name: str, attempt: int) -> str:
    number = int.from_bytes(blake2b(f"{attempt} {name}".encode(), digest_size=8).digest())
    suffix = "".join(_DIGITS[number // 36**place % 36] for place in range(6))
    return f"{fold_name(_NOT_LEGAL.sub('', name))[:8] or 'x'}_{suffix}"


def hash_names(names: Collection[str]) -> NDArray[np.uint64]:
    """Return the hashes of names: uint64[n, 2], the first for the id and the second for the fate."""
    joined = b"".join(blake2b(name.encode(), digest_size=16).digest() for name in names)
    return np.frombuffer(joined, dtype=">u8").reshape(-1, 2).astype(np.uint64)


def make_user_ids(names: list[str], hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the ids of accounts: int64[n], positive, at most 19 digits, all different.

    Args:
        names: folded names, all different.
        hashes: uint64[n], one per name; two that agree are told apart in the order of their names.
    """
    ids: NDArray[np.int64] = (hashes >> np.uint64(1)).astype(np.int64)
    if len(np.unique(ids)) == len(ids) and (ids > 0).all():
        return ids
    taken: set[int] = set()
    for row in sorted(range(len(names)), key=names.__getitem__):
        number = int(ids[row])
        while number in taken or not number:
            number = number % _LARGEST + 1
        taken.add(number)
        ids[row] = number
    return ids


def draw_fates(hashes: NDArray[np.uint64], missing: float) -> NDArray[np.int8]:
    """Return what became of accounts: int8[n] of HERE, SUSPENDED, PROTECTED, DELETED.

    Args:
        hashes: uint64[n]; the larger part draws whether an account is missing, the last bits how.
        missing: the expected share of missing accounts, 0..1; an account missing at a share is missing at any larger.
    """
    share = (hashes >> np.uint64(11)).astype(np.float64) / 2.0**53
    how = (hashes % np.uint64(3)).astype(np.int8) + np.int8(SUSPENDED)
    return np.where(share < missing, how, np.int8(HERE)).astype(np.int8)


def is_chosen(key: str, which: Chosen, what: bytes) -> bool:
    """Return whether the account of a folded name is among the chosen; `what` keeps one choice apart from another."""
    if not isinstance(which, float | int):
        return key in which
    drawn = int.from_bytes(blake2b(key.encode(), key=what, digest_size=7).digest())
    return drawn < which * 2**56
