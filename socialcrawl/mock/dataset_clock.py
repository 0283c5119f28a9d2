"""The moment at which a mock stands in its file of posts: what was posted later does not exist yet.

Without one all posts are there from the start. With one the posts come as time passes, `speed` seconds of the file in a
second, so that who comes again finds something new. Accounts are there from the start.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from math import isfinite
from time import time as wall
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import MockError, SettingsError
from socialcrawl.mock.world import World
from socialcrawl.text.wording import parse_instant

FORM = '{"moment": "2026-11-20T12:00:00Z", "speed": 3600}'  # of both, each may be left out
_KEYS = frozenset({"moment", "speed"})
_LAST = 253_402_300_799.0  # the end of the year 9999, behind which nobody can write a moment


class DatasetClock:
    """How far a world has come, the same for all platforms that show it.

    Posts exist in the order of their ids: where that is not the order of time (an export can be so), a post is there as
    soon as itself and all before it were posted.

    Args:
        world: the posts.
        second: the Unix second of the file at which it begins; None: all posts are there, and stay.
        speed: how many seconds of the file pass in one of `time`.
        time: a clock, in seconds.

    Attributes:
        there: how many posts exist, which are those at the positions below.
        second: the Unix second of the file; None: all posts are there.
        speed: as given, or set since.
        replies, retweets: int64[n], how often each post was answered and repeated by posts that exist; not to be
            written to.
    """

    def __init__(
        self, world: World, second: float | None = None, speed: float = 0.0, time: Callable[[], float] = wall
    ) -> None:
        self._world, self._time = world, time
        self.second: float | None = None
        self.speed = 0.0
        self._from, self._since = 0.0, 0.0
        self.clear()
        if second is not None:
            self.set(second, speed)

    def clear(self) -> None:
        """Show all posts from now on."""
        self.second, self.speed = None, 0.0
        self.there = len(self._world.ids)
        self.replies, self.retweets = self._world.references.replies, self._world.references.retweets

    def set(self, second: float | None, speed: float | None = None) -> None:
        """Move the world to another second of its file, from where it goes on; None leaves a value as it is.

        Raises:
            MockError: no second or speed that can be, or a speed where all posts are there.
        """
        second = self.second if second is None else second
        if second is None:
            raise MockError('All posts are there: say at which "moment" the file begins, or no speed.')
        speed = self.speed if speed is None else speed
        check_moment(second, speed)
        if self.second is None:
            self.replies, self.retweets = self.replies.copy(), self.retweets.copy()
        self._from, self._since, self.speed = second, self._time(), speed
        self._stand(second)

    def pass_time(self) -> None:
        """Move the world to the time of the clock."""
        if self.speed:
            self._stand(self._from + (self._time() - self._since) * self.speed)

    def select_existing(self, posts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the posts at these positions (ascending) that exist."""
        if self.second is None:
            return posts
        return posts[: np.searchsorted(posts, self.there)]

    def place(self, post: int) -> int:
        """Return the same position where the post there exists, else -1, as for no post."""
        return post if post < self.there else -1

    def report(self) -> dict[str, Any]:
        """Return the moment as ISO 8601 (None: all posts are there), the speed, and how many of all posts exist."""
        shown = None if self.second is None else _parse_second(self.second)
        return {"moment": shown, "speed": self.speed, "posts": self.there, "of": len(self._world.ids)}

    def count_until(self, second: float) -> int:
        """Return how many posts are there at a second of the file."""
        return int(np.searchsorted(self.appeared, second, side="right"))

    @cached_property
    def appeared(self) -> NDArray[np.int64]:
        """The second of the file from which each post is there, int64[n], ascending."""
        return np.maximum.accumulate(self._world.created_at)

    def _stand(self, second: float) -> None:
        self.second = second
        there = self.count_until(second)
        if there == self.there:
            return
        # Only what came, or is no longer there, changes the counts: a request does not wait for a whole file.
        changed, more = slice(min(there, self.there), max(there, self.there)), 1 if there > self.there else -1
        references = self._world.references
        for counts, targets in ((self.replies, references.replied_post), (self.retweets, references.retweeted_post)):
            some = targets[changed]
            np.add.at(counts, some[some >= 0], more)
        self.there = there


def check_moment(second: float, speed: float) -> None:
    """Check that a mock can show a moment and its speed.

    Raises:
        MockError: they cannot be.
    """
    if not 0 <= second <= _LAST:
        raise MockError(f"The moment is the Unix second {second}; give one from 1970 on, such as 2026-11-20T12:00:00Z.")
    if not (speed >= 0 and isfinite(speed)):
        raise MockError(f"The speed is {speed} seconds of the file in a second; give 0 or more.")


def read_moment(tables: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the second and the speed in {"moment": ISO 8601 or a Unix second, "speed": a number}.

    None where there is none.

    Raises:
        MockError: there is neither, or something else.
    """
    if not tables or set(tables) - _KEYS:
        raise MockError(f"That is not a moment; give {FORM}, or one of both.")
    second, speed = tables.get("moment"), tables.get("speed")
    if isinstance(second, str):
        try:
            second = parse_instant(second)
        except SettingsError as error:
            raise MockError(f"The moment cannot be read: {error}") from error
    for number in (second, speed):
        if isinstance(number, bool) or not isinstance(number, int | float | None):
            raise MockError(f"{number!r} is not a moment or speed; give {FORM}, or one of both.")
    return second, speed


def _parse_second(second: float) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
