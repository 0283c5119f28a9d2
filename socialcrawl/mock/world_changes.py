"""What has become of a world since it was built: accounts renamed, suspended, protected or deleted, posts deleted.

Cursors grow old, too.

The world itself never changes. Every service of the mock gets its own `WorldChanges` (`changes=`) and asks it instead
of the world for whatever a scenario may change: fates, usernames, which posts are to be seen, which cursors still hold.
Which posts exist yet is the same for all of them, see `moment`. Rows are those of `World.accounts`, positions those of
the world's posts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import MockError
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.change_log import ACCOUNT, DELETION, EDIT, NAME, ChangeLog
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.names import HERE, LEGAL
from socialcrawl.mock.world import World


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a cursor holds: `seconds` by the server's clock, `requests` to its platform; None is without end."""

    seconds: float | None = None
    requests: int | None = None


class WorldChanges:
    """The world as one platform shows it now.

    Attributes:
        version: grows with every change; belongs into the key of all that a service keeps made of names and fates.
        moment: which posts exist.
        log: all that happened besides posts that appear, for streams.
        deleted: how many posts were deleted.
    """

    def __init__(self, world: World, moment: DatasetClock | None = None) -> None:
        self._world = world
        self.moment = DatasetClock(world) if moment is None else moment
        self.version = 0
        self._fates = world.accounts.fates
        self._visible: NDArray[np.bool_] | None = None
        self._names: dict[int, str] = {}
        self._taken: dict[str, int] = {}
        self._given_up: set[str] = set()
        self._now, self._requests = 0.0, 0
        self._lifetime: Lifetime | None = None
        self._since = (0.0, 0)
        self._issued: dict[str, tuple[float, int]] = {}
        self.log, self.deleted = ChangeLog(), 0
        self._is_deleted: NDArray[np.bool_] | None = None
        self._edits: dict[int, tuple[str, float]] = {}
        self._awaited: tuple[NDArray[np.float64], NDArray[np.int64]] = (np.zeros(0), np.zeros(0, np.int64))

    @property
    def stamp(self) -> tuple[int, int]:
        """How many posts appeared and were deleted; belongs into the key of all that is kept made of posts."""
        return self.moment.there, self.deleted

    def select_existing(self, posts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the posts at these positions (ascending) that exist."""
        posts = self.moment.select_existing(posts)
        return posts if self._is_deleted is None else posts[~self._is_deleted[posts]]

    def place(self, post: int) -> int:
        """Return the same position where the post there exists, else -1, as for no post."""
        place = self.moment.place(post)
        return -1 if place < 0 or self.is_deleted(place) else place

    def is_deleted(self, post: int) -> bool:
        """Return whether the post at this position was deleted."""
        return self._is_deleted is not None and bool(self._is_deleted[post])

    def find_text(self, post: int) -> str:
        """Return the text that the post at this position has now, where the platform lets authors edit theirs."""
        return self._edits[post][0] if post in self._edits else self._world.texts[post]

    def find_edited(self, post: int) -> float | None:
        """Return the second of the file at which a post was last edited; None: never."""
        return self._edits[post][1] if post in self._edits else None

    def find_fate(self, row: int) -> int:
        """Return what the account in this row is now: HERE, SUSPENDED, PROTECTED or DELETED (see `names`)."""
        return int(self._fates[row])

    @property
    def visible(self) -> NDArray[np.bool_]:
        """bool[n]: whether the author of each post is HERE now; not to be written to."""
        if self._visible is None:
            same = self._fates is self._world.accounts.fates
            self._visible = self._world.visible if same else (self._fates == HERE)[self._world.author]
        return self._visible

    def username(self, row: int) -> str:
        """Return the legal username that the account has now; texts name it as they were written."""
        return self._names.get(row) or self._world.accounts.usernames[row]

    def row(self, username: str) -> int | None:
        """Return the row of the account that has this username now, in any spelling; None where nobody has."""
        key = fold_name(username)
        if key in self._taken:
            return self._taken[key]
        return None if key in self._given_up else self._world.accounts.by_username.get(key)

    def issue(self, cursor: str) -> str:
        """Return the same cursor, noted as handed out now; every cursor of an answer passes here."""
        if self._lifetime is not None:
            self._issued[cursor] = (self._now, self._requests)
        return cursor

    def has_expired(self, cursor: str) -> bool:
        """Return whether a cursor that came back is too old; it is then refused as the platform does."""
        if self._lifetime is None:
            return False
        when, requests = self._issued.get(cursor, self._since)
        seconds, most = self._lifetime.seconds, self._lifetime.requests
        old = seconds is not None and self._now - when > seconds
        return old or (most is not None and self._requests - requests > most)

    # What follows is for the application and its scenario.

    @property
    def aging(self) -> bool:
        """Whether cursors grow old."""
        return self._lifetime is not None

    def tick(self, now: float) -> None:
        """Count a request that came at the server's second `now`."""
        self._now = now
        self._requests += 1

    def become(self, row: int, fate: int) -> None:
        """Give an account this fate from now on."""
        self._fates = self._fates.copy()
        self._fates[row] = fate
        self._visible = None
        self.version += 1
        self.log.add(ACCOUNT, row, self.moment.there, self.second, fate)

    def rename(self, row: int, username: str) -> None:
        """Give an account this username from now on; its old one is unused.

        Raises:
            MockError: no username, or another account's.
        """
        if not LEGAL.fullmatch(username):
            raise MockError(f"No account can be named {username!r}; give 1 to 15 letters, digits or underscores.")
        holder = self.row(username)
        if holder not in (None, row):
            raise MockError(f"The name {username} belongs to another account; give one that nobody has.")
        old = fold_name(self.username(row))
        self._taken.pop(old, None)
        self._given_up.add(old)
        self._names[row] = username
        self._taken[fold_name(username)] = row
        self.version += 1
        self.log.add(NAME, row, self.moment.there, self.second)

    def edit(self, post: int, text: str) -> None:
        """Give the post at this position another text from now on; searches and hashtags go on finding its first."""
        self._edits[post] = (text, self.second)
        self.version += 1
        self.log.add(EDIT, post, self.moment.there, self.second)

    @property
    def second(self) -> float:
        """The second of the file at which the platform stands; behind its end where all posts are there."""
        return float(self._world.end) if self.moment.second is None else self.moment.second

    def delete(self, posts: NDArray[np.int64], seconds: float = 0.0) -> None:
        """Delete posts (their positions) and their reposts, each `seconds` (of the file's time) after it appeared.

        Those whose time has come, and all where all posts are there from the start, are deleted now.
        """
        if self._is_deleted is None:
            self._is_deleted = np.zeros(len(self._world.ids), np.bool_)
        appeared, due = self.moment.appeared, np.full(len(self._world.ids), np.inf)
        due[self._awaited[1]] = self._awaited[0]
        due[posts] = np.minimum(due[posts], np.maximum(appeared[posts] + seconds, self.second))
        originals = self._world.references.retweeted_post
        repeats = np.flatnonzero(originals >= 0)
        due[repeats] = np.minimum(due[repeats], np.maximum(due[originals[repeats]], appeared[repeats]))
        due[self._is_deleted] = np.inf
        awaited = np.flatnonzero(np.isfinite(due))
        awaited = awaited[np.argsort(due[awaited], kind="stable")]
        self._awaited = due[awaited], awaited
        self.pass_time()

    def pass_time(self) -> None:
        """Delete the posts whose time has come."""
        times, posts = self._awaited
        if not len(times):
            return
        assert self._is_deleted is not None
        moment = self.moment
        n = len(times) if moment.second is None else int(np.searchsorted(times, moment.second, side="right"))
        for second, post in zip(times[:n].tolist(), posts[:n].tolist(), strict=True):
            there = moment.there if moment.second is None else min(moment.count_until(second), moment.there)
            self.log.add(DELETION, post, there, self.second if moment.second is None else second)
        self._is_deleted[posts[:n]] = True
        self.deleted += n
        self._awaited = times[n:], posts[n:]

    def expire(self, lifetime: Lifetime | None) -> None:
        """Let cursors expire after a while from now on; for those handed out before, it begins now."""
        self._lifetime, self._since = lifetime, (self._now, self._requests)
        self._issued.clear()
