"""Posts that a pick has read already: pages may overlap, as new posts move the old ones on, and a post counts once."""

from collections.abc import Iterable, Sequence

import orjson
from sqlalchemy import Connection, select

from socialcrawl.graph.recount import find_repeats
from socialcrawl.storage.schema.tables import request


class SeenPosts:
    """The posts that the picks of an open batch have read, from the ledger where a process did not see them come."""

    def __init__(self, connection: Connection, campaign: int) -> None:
        self.connection, self.campaign = connection, campaign
        self._first: dict[int, dict[str, int]] = {}
        self._resumed: set[int] = set()

    def resume(self, numbers: Iterable[int]) -> None:
        """Note the picks, by number, of which an earlier process had read pages: any page may be requested again."""
        self._resumed.update(numbers)

    def find_repeats(self, n: int, part: int, ids: Sequence[str]) -> frozenset[int]:
        """Return the places of a page whose posts pick `n` has read already; see `recount.find_repeats`."""
        if n not in self._first and (part > 1 or n in self._resumed):
            self._first[n] = self._read_known(n)
        return find_repeats(self._first.setdefault(n, {}), ids, part)

    def forget(self) -> None:
        """Forget the posts of all picks: a batch is finished, or what was noted was not kept."""
        self._first.clear()

    def _read_known(self, n: int) -> dict[str, int]:
        mine = (request.c.campaign == self.campaign) & (request.c.n == n) & request.c.post_ids.is_not(None)
        first: dict[str, int] = {}
        for part, ids in self.connection.execute(select(request.c.part, request.c.post_ids).where(mine)):
            for key in orjson.loads(ids):
                first[key] = min(part, first.get(key, part))
        return first
