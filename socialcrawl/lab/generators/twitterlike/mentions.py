"""Who mentions whom: people who stand near, people of the same topic, and the famous.

A draw is a place in a pool in which everyone stands as often as is due. Each person's links come in random order.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.generators.twitterlike.people import Floats, Ints, NodeProfiles, compute_worths, split_rows

Keys = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_BACK = np.uint64(pow(int(_ODD), -1, 2**64))  # undoes a multiplication by the other

_NEAR = 0.6  # the share of mentions that go to people who stand near
_KINDRED = 0.3  # the share that goes to people of the same topic, for those who use the word
_NEAR_STUBS, _FAR_STUBS, _KINDRED_STUBS = 4.0, 2.0, 8.0  # mean appearances in a pool
_MOST_NEAR = 100.0  # appearances among the near, or a hub would be all there is near it
_MOST_FAR = 0.01  # share of the far
_CHUNK = 200_000  # links drawn in one go: they stay in the processor's cache
_PATIENCE = 4  # rounds of drawing as due; what is missing then is drawn evenly


@dataclass(frozen=True, slots=True)
class Pools:
    """Three pools in one array: the near (in the ring's order), the far, the kindred.

    Attributes:
        who: the people, each as often as is due.
        near, far: how many places the first two pools have; the rest is the third.
        home: where each person begins in the first pool, shape (users,).
        talks: whether a person uses the word, shape (users,).
    """

    who: NDArray[np.int32]
    near: int
    far: int
    home: Ints
    talks: NDArray[np.bool_]


def make_pools(people: NodeProfiles, count: Ints, rng: np.random.Generator) -> Pools:
    """Return the pools of a graph, given how often each person uses the word."""
    ring, users = people.ring, len(people.ring)
    near = _draw_appearances(np.minimum(people.fame, _MOST_NEAR)[ring], _NEAR_STUBS, rng)
    far = _draw_appearances(np.minimum(people.fame, _MOST_FAR * people.fame.sum()), _FAR_STUBS, rng)
    talkers = np.flatnonzero(count).astype(ring.dtype)
    due = np.sqrt(people.fame[talkers]) * compute_worths(count[talkers]) ** 2
    kindred = np.maximum(_draw_appearances(due, _KINDRED_STUBS, rng), 1)
    home = np.empty(users, np.int64)
    home[ring] = np.cumsum(near) - near
    everyone = np.arange(users, dtype=ring.dtype)
    who = np.concatenate([np.repeat(ring, near), np.repeat(everyone, far), np.repeat(talkers, kindred)])
    return Pools(who, int(near.sum()), int(far.sum()), home, count > 0)


def _draw_appearances(weight: Floats, mean: float, rng: np.random.Generator) -> Ints:
    """Return whole numbers that are `weight` scaled to that mean, rounded up or down by chance."""
    scaled = weight * (mean / weight.mean())
    scaled += rng.random(len(weight))
    return np.asarray(scaled, np.int64)


def draw_mentions(indptr: Ints, pool: Pools, seed: list[int]) -> NDArray[np.int32]:
    """Return the targets of all links, shape (links,), row by row: no self-link, none twice, in random order.

    Row u has `indptr[u + 1] - indptr[u]` of them, which has to be below the number of users.
    """
    degree = np.diff(indptr)
    targets = np.empty(int(indptr[-1]), pool.who.dtype)
    for low, high in split_rows(indptr, _CHUNK):
        rows = _MaskedLinks(pool, low, degree[low:high], np.random.default_rng([*seed, low]))
        targets[indptr[low] : indptr[high]] = rows.targets()
    return targets


class _MaskedLinks:
    """The links of some rows: keys are the row, then the target in disguise.

    The disguise is one-to-one and differs from row to row, so that one sort finds what is twice and shuffles, too.
    """

    def __init__(self, pool: Pools, low: int, degree: Ints, rng: np.random.Generator) -> None:
        self._pool, self._low, self._degree, self._rng = pool, low, degree, rng
        self._users = len(pool.home)
        self._bits = (self._users - 1).bit_length()
        self._mask = np.uint64((1 << self._bits) - 1)
        self._shift, self._half = np.uint64(self._bits), np.uint64((self._bits + 1) // 2)
        self._salt = rng.integers(0, 1 << self._bits, len(degree), dtype=np.uint64)

    def targets(self) -> NDArray[np.int64]:
        """Return the targets, row by row."""
        degree, rows = self._degree, np.arange(len(self._degree))
        keys = self._draw_keys(np.repeat(rows, degree + degree // 8))
        have = self._count_by_row(keys)
        done: list[Keys] = []
        attempt = 1
        while (have < degree).any():
            short = have < degree
            of_short = np.repeat(short, have)
            done.append(keys[~of_short])
            more = np.where(short, degree - have + degree // 4 + 1, 0)
            keys = self._draw_keys(np.repeat(rows, more), keys[of_short], evenly=attempt >= _PATIENCE)
            have = np.where(short, self._count_by_row(keys), 0)
            degree = np.where(short, degree, 0)
            attempt += 1
        keys = np.sort(np.concatenate([*done, keys])) if done else keys
        have = self._count_by_row(keys)
        rank = np.arange(len(keys)) - np.repeat(np.cumsum(have) - have, have)
        return self._decode_targets(keys[rank < np.repeat(self._degree, have)])

    def _count_by_row(self, keys: Keys) -> Ints:
        return np.bincount((keys >> self._shift).view(np.int64), minlength=len(self._degree))

    def _draw_keys(self, row: Ints, known: Keys | None = None, *, evenly: bool = False) -> Keys:
        """Return sorted keys of one draw for each entry of `row`, and the `known` ones: none is twice."""
        to = self._rng.integers(0, self._users, len(row)) if evenly else self._pool.who[self._choose_places(row)]
        keys = self._encode_targets(row, to)[to != row + self._low]
        keys = np.sort(keys if known is None else np.concatenate([keys, known]))
        return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys

    def _choose_places(self, row: Ints) -> Ints:
        """Return a place in the pools for each entry of `row`."""
        pool = self._pool
        talks = pool.talks[self._low : self._low + len(self._degree)]
        near = np.where(talks, _NEAR * (1 - _KINDRED), _NEAR)[row]
        kindred = np.where(talks, _KINDRED, 0.0)[row]
        chance = self._rng.random(len(row))
        far = pool.near + ((chance - near - kindred) * (pool.far / (1 - near - kindred))).astype(np.int64)
        like = pool.near + pool.far
        like_place = like + (self._rng.random(len(row)) * (len(pool.who) - like)).astype(np.int64)
        nearby = self._choose_nearby_places(row, chance / near)
        return np.where(chance < near, nearby, np.where(chance < near + kindred, like_place, far))

    def _choose_nearby_places(self, row: Ints, chance: Floats) -> Ints:
        """Return a place near the row's own: farther by a factor is as likely at any distance, both sides alike."""
        low = np.minimum(self._degree + 2.0, self._pool.near / 2)[row]
        side = 2.0 * np.minimum(chance, 1.0) - 1.0
        away = np.copysign(low * (self._pool.near / 2 / low) ** np.abs(side), side)
        home = self._pool.home[self._low : self._low + len(self._degree)][row]
        return np.asarray((home + away.astype(np.int64)) % self._pool.near)

    def _encode_targets(self, row: Ints, to: Ints | NDArray[np.int32]) -> Keys:
        mixed = to.astype(np.uint64) ^ self._salt[row]
        mixed = mixed * _ODD & self._mask
        mixed ^= mixed >> self._half
        return (mixed * _ODD & self._mask) | (row.astype(np.uint64) << self._shift)

    def _decode_targets(self, keys: Keys) -> NDArray[np.int64]:
        mixed: Keys = (keys & self._mask) * _BACK & self._mask
        mixed ^= mixed >> self._half
        mixed = mixed * _BACK & self._mask
        mixed ^= self._salt[(keys >> self._shift).view(np.int64)]
        return mixed.astype(np.int64)
