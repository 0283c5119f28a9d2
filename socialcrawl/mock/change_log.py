"""What happened on a platform besides posts that appear, in order: accounts and posts that change.

A change stands between posts: `place` posts existed when it took place. So each has a number that is the same over
every connection and at every time, and a stream can be resumed from any of them.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

ACCOUNT, NAME, DELETION, EDIT = "account", "name", "deletion", "edit"
_MOST = 1_000_000  # changes that are kept, about 150 MB


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Attributes:
        kind: ACCOUNT (its fate changed), NAME (it was renamed), DELETION or EDIT (of a post).
        subject: the row of the account, or the position of the post.
        place: how many posts existed.
        rank: the changes at the same place before it.
        second: when it took place, Unix seconds of the file.
        fate: what the account became, see `names`.
    """

    kind: str
    subject: int
    place: int
    rank: int
    second: float
    fate: int = 0


class ChangeLog:
    """The changes of one platform, oldest first; of more than a million the oldest are forgotten.

    They are numbered from 0; `begin` is the first that is kept and `end` the next to come.
    """

    def __init__(self) -> None:
        self._kept: list[Change] = []
        self.begin = 0

    @property
    def end(self) -> int:
        """The number of the next change."""
        return self.begin + len(self._kept)

    def add(self, kind: str, subject: int, place: int, second: float, fate: int = 0) -> None:
        """Add a change; it stands behind all others, so neither its place nor its second is before theirs."""
        last = self._kept[-1] if self._kept else None
        rank = 0
        if last is not None:
            place, second = max(place, last.place), max(second, last.second)
            rank = last.rank + 1 if place == last.place else 0
        self._kept.append(Change(kind, subject, place, rank, second, fate))
        if len(self._kept) > _MOST:
            gone = _MOST // 10
            del self._kept[:gone]
            self.begin += gone

    def read(self, number: int, most: int) -> Sequence[Change]:
        """Return the changes from this number on, at most `most`; without those that are forgotten."""
        start = max(number - self.begin, 0)
        return self._kept[start : start + most]

    def find(self, place: int, rank: int = 0) -> int:
        """Return the number of the first change that does not stand before this place and rank."""
        return self.begin + bisect_left(self._kept, (place, rank), key=lambda one: (one.place, one.rank))

    def find_second(self, second: float) -> int:
        """Return the number of the first change at this second (Unix, of the file) or later."""
        return self.begin + bisect_left(self._kept, second, key=lambda one: one.second)
