"""Posts that a pick has read already: pages may overlap, as new posts move the old ones on, and a post counts once."""

from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, select

from socialcrawl.store.tables import request


def stale(first: dict[str, int], ids: Sequence[str], part: int) -> frozenset[int]:
    """The places of a page whose posts an earlier page of the pick had, or the page itself before; the rest is noted.

    Args:
        first: by the id of a post, the first page of the pick that had it.
        ids: the posts of the page.
        part: the number of the page. One that is asked for again, as its answer was lost, is no repetition of itself.
    """
    if not first:
        first.update(dict.fromkeys(ids, part))
        if len(first) == len(ids):
            return frozenset()  # as pages mostly are
        first.clear()
    here: set[str] = set()
    found = []
    for place, key in enumerate(ids):
        if first.setdefault(key, part) < part or key in here:
            found.append(place)
        here.add(key)
    return frozenset(found)


class Seen:
    """The posts that the picks of an open batch have read, from the ledger where a process did not see them come."""

    def __init__(self, connection: Connection, campaign: int) -> None:
        self.connection, self.campaign = connection, campaign
        self._first: dict[int, dict[str, int]] = {}

    def stale(self, n: int, part: int, ids: Sequence[str]) -> frozenset[int]:
        """The places of a page whose posts pick `n` has read already; see `stale`."""
        if part > 1 and n not in self._first:
            self._first[n] = self._known(n)
        return stale(self._first.setdefault(n, {}), ids, part)

    def forget(self) -> None:
        """Let go of all: a batch is finished, or what was noted was not kept."""
        self._first.clear()

    def _known(self, n: int) -> dict[str, int]:
        mine = (request.c.campaign == self.campaign) & (request.c.n == n) & request.c.post_ids.is_not(None)
        first: dict[str, int] = {}
        for part, ids in self.connection.execute(select(request.c.part, request.c.post_ids).where(mine)):
            for key in orjson.loads(ids):
                first[key] = min(part, first.get(key, part))
        return first
