"""The authors of a capture, brought to another campaign of its database, with what is held of their posts.

Each author whom the campaign has not read becomes a pick of act `captured` with its outcome: the relevance of the posts
of the author that the database has by then, counted by the campaign's own topic (Gouriten et al., section 2.3). This is
partial evidence, as a capture has matching posts only. So the pick brings no links, and the author is still to be read.
It is brought again when twice as many posts are held.

The mark of an outcome says up to which pick the capture was looked through. Looking through a part of it again brings
nothing new, so that nothing else has to be remembered.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, func, select

from socialcrawl.engine.model import Act, Node, Outcome, format_time, parse_time
from socialcrawl.graph.relevance import Hits, compute_worth
from socialcrawl.storage.database.bulk import Lookup, make_insert, match_keys, select_by_keys
from socialcrawl.storage.database.connection import read_unlocked
from socialcrawl.storage.database.trouble import convert_errors
from socialcrawl.storage.reread import PickReadings
from socialcrawl.storage.schema.tables import outcome, pick, post, request
from socialcrawl.storage.versions import find_next_pick
from socialcrawl.storage.writes import PICK, CampaignWriter

TOGETHER = 8  # picks of the capture that are looked through together
SOME = 500  # authors whose posts are counted together
READ = (
    Act.SEED,
    Act.EXPAND,
    Act.MATCH,
    Act.RECRAWL,
    Act.IMPORT,
)  # acts after which posts that are held say nothing more
MORE = 2  # times as many posts as were known have to be held, so that an author is brought again


class _Author(NamedTuple):
    """An author as `PickReadings.sum_by_author` takes it: a number, the account, and until when its posts count."""

    n: int
    node: int
    at: str


class CapturedAuthors:
    """What brings the authors of a capture to a campaign.

    Args:
        connection: the database.
        campaign: campaign.id of the campaign that gets them.
        platform: the platform of both.
        capture: name and campaign.id of the capture.
        hits: counts the occurrences of the campaign's topic in a post.
    """

    def __init__(
        self, connection: Connection, campaign: int, platform: str, capture: tuple[str, int], hits: Hits
    ) -> None:
        self.connection, self.campaign, self.hits = connection, campaign, hits
        self.name, self.capture = capture
        self._seen: int | None = None  # the last pick of the capture that was looked at; None: nobody knows yet
        self._write = CampaignWriter(connection, campaign, platform)
        self._picks = make_insert(connection, pick, PICK)
        written = select(post.c.id, post.c.author, post.c.fetched_at)
        self._authors = Lookup(connection, written.where(match_keys(connection, post.c.id)))

    def forget(self) -> None:
        """Look again, next time, up to where the capture was looked through: what was written may be undone."""
        self._seen = None

    def has_news(self) -> bool:
        """Return whether the capture has finished picks that were not looked at."""
        with convert_errors(self.connection), read_unlocked(self.connection):
            if self._seen is None:
                self._seen = self._find_seen()
            return self._find_last() > self._seen

    def bring(self, now: float) -> int | None:
        """Write the authors of the next finished picks of the capture; called in a transaction.

        Returns:
            The number of the first pick that was written, with which a batch begins; None: there is nobody new.
        """
        seen = self._find_seen() if self._seen is None else self._seen
        last, first = self._find_last(), None
        while seen < last and first is None:
            begin, seen = seen + 1, min(seen + TOGETHER, last)
            first = self._bring_span(begin, seen, format_time(now))
        self._seen = seen
        return first

    def _find_seen(self) -> int:
        """Return up to which pick the capture was looked through, by what was written; -1: it was not."""
        both = (pick.c.campaign == outcome.c.campaign) & (pick.c.n == outcome.c.n)
        mine = (pick.c.campaign == self.campaign) & (pick.c.act == Act.CAPTURED)
        marked = mine & outcome.c.mark.startswith(f"{self.name}:", autoescape=True)
        latest = select(outcome.c.mark).join_from(pick, outcome, both).where(marked).order_by(pick.c.n.desc()).limit(1)
        mark = self.connection.execute(latest).scalar()
        return -1 if mark is None else int(mark.rpartition(":")[2])

    def _find_last(self) -> int:
        last = select(func.coalesce(func.max(outcome.c.n), -1)).where(outcome.c.campaign == self.capture)
        return int(self.connection.execute(last).scalar_one())

    def _bring_span(self, begin: int, end: int, now: str) -> int | None:
        """Write the authors of the posts that picks `begin` to `end` of the capture have read; see `bring`."""
        authors, latest = self._list_authors(self._list_posts(begin, end))
        fresh = self._select_fresh(authors)
        first = find_next_pick(self.connection, self.campaign)
        at, following = max(now, latest), first
        for some in (fresh[place : place + SOME] for place in range(0, len(fresh), SOME)):
            found = [
                Outcome(
                    following + place,
                    Node(node),
                    parse_time(at),
                    compute_worth(hits),
                    posts=posts,
                    occurrences=hits,
                    mark=f"{self.name}:{end}",
                )
                for place, (node, posts, hits) in enumerate(self._count(some, at))
            ]
            rows = [(self.campaign, one.n, first, one.node, str(Act.CAPTURED), 0.0, None, None) for one in found]
            self._picks.run(rows)
            self._write.write_outcomes(found)
            following += len(found)
        return None if following == first else first

    def _select_fresh(self, authors: Sequence[int]) -> list[int]:
        """Return those of some authors whom the campaign has not read, and of whom it does not know enough already."""
        both = (pick.c.campaign == outcome.c.campaign) & (pick.c.n == outcome.c.n)
        picked = select(pick.c.node, pick.c.act, outcome.c.posts).join_from(pick, outcome, both, isouter=True)
        mine = picked.where(pick.c.campaign == self.campaign, pick.c.act.in_((*READ, Act.CAPTURED)))
        read: set[int] = set()
        known: dict[int, int] = {}
        for node, act, posts in select_by_keys(self.connection, mine, pick.c.node, authors):
            if act == Act.CAPTURED:
                known[node] = max(known.get(node, 0), posts)
            else:
                read.add(node)
        counted = select(post.c.author, func.count()).group_by(post.c.author)
        held = dict(map(tuple, select_by_keys(self.connection, counted, post.c.author, list(known))))
        more = {node for node, posts in known.items() if held.get(node, 0) >= max(1, MORE * posts)}
        return [node for node in authors if node not in read and (node not in known or node in more)]

    def _list_posts(self, begin: int, end: int) -> list[str]:
        """Return the ids of the posts that picks of the capture have read, each once, pick by pick."""
        mine = (request.c.campaign == self.capture) & request.c.n.between(begin, end) & request.c.post_ids.is_not(None)
        rows = self.connection.execute(
            select(request.c.post_ids).where(mine).order_by(request.c.n, request.c.part, request.c.id)
        ).scalars()
        return list(dict.fromkeys(key for ids in rows for key in orjson.loads(ids)))

    def _list_authors(self, ids: Sequence[str]) -> tuple[list[int], str]:
        """Return who wrote posts, in their order, and when the last of these was fetched; "" without any."""
        rows = {key: (author, fetched_at) for key, author, fetched_at in self._authors.fetch_rows(ids)}
        there = [rows[key] for key in ids if key in rows]
        return list(dict.fromkeys(author for author, _ in there)), max((came_at for _, came_at in there), default="")

    def _count(self, authors: Sequence[int], at: str) -> Iterator[tuple[int, int, int]]:
        """Yield authors with the posts that are held of them and their occurrences; write which posts match.

        Args:
            authors: their accounts.
            at: until when posts count, ISO 8601.
        """
        counts: dict[str, int] = {}

        def count(ids: Sequence[str]) -> Mapping[str, int]:
            counts.update(reread.count_hits(ids))
            return counts

        reread = PickReadings(self.connection, self.campaign, self.hits)
        sums = reread.sum_by_author([_Author(place, node, at) for place, node in enumerate(authors)], count)
        self._write.write_hits(counts.items())
        for place, node in enumerate(authors):
            yield node, sums[place].posts, sums[place].hits
