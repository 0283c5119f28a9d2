"""A place in what happens on a platform: posts that appear, and the changes between them."""

from collections.abc import Sequence

from socialcrawl.mock.change_log import Change
from socialcrawl.mock.world_changes import WorldChanges


class EventReader:
    """Reads what happens from a place on, in order, without missing anything.

    Args:
        changes: posts and changes of one platform.
        place: the position of the next post; None: what happens from now on.
        number: the number of the next change.
    """

    def __init__(self, changes: WorldChanges, place: int | None = None, number: int = 0) -> None:
        self._changes = changes
        self._place = changes.moment.there if place is None else place
        self._number = changes.log.end if place is None else number

    def read(self, most: int) -> Sequence[int | Change]:
        """Return what comes next, at most `most`: positions of posts, and changes; empty where nothing has happened.

        A moment that was set back lets its posts come again.
        """
        log, there = self._changes.log, self._changes.moment.there
        self._place, self._number = min(self._place, there), max(self._number, log.begin)
        found: list[int | Change] = []
        for change in log.read(self._number, most):
            self._read_posts(found, min(change.place, there), most)
            if self._place < change.place or len(found) == most:
                return found
            found.append(change)
            self._number += 1
        self._read_posts(found, there, most)
        return found

    def _read_posts(self, found: list[int | Change], end: int, most: int) -> None:
        """Add the posts to before the position `end`, as long as there is room."""
        stop = min(end, self._place + most - len(found))
        if stop > self._place:
            found.extend(range(self._place, stop))
            self._place = stop
