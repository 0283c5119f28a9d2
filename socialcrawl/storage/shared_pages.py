"""What a pick has of pages that other picks were sent: its part of a search, and what was read of its account before.

A search for the posts of many accounts is one request. Each of its picks then asks for its own part; and a pick that
reads a further page asks for the posts that are known. Both are answered here, and stored as pages of the pick that
asks: whatever adds up the pages of a pick need not know that other requests brought them.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, func, select

from socialcrawl.engine.mark_order import is_between
from socialcrawl.engine.model import Node, Reply, ReplyKind, Request, RequestPart
from socialcrawl.graph.recount import Recount
from socialcrawl.graph.relevance import Hits
from socialcrawl.storage.answer_packing import StoredPage
from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.queries.topic_posts import Matches
from socialcrawl.storage.reread import PickReadings
from socialcrawl.storage.schema.tables import outcome, pick, post
from socialcrawl.storage.writes import CampaignWriter

SharedPosts = tuple[Sequence[StoredPage], Mapping[str, int]]
"""Pages, and who wrote their posts, by id."""
READ = -1  # the part that had the posts which a pick has read before: no request has that number


class SharedPages:
    """The pages that picks of one campaign share. Called inside a transaction.

    Args:
        connection: the database.
        writes: those of the campaign.
        hits: the occurrences of the topic in a post.
    """

    def __init__(self, connection: Connection, writes: CampaignWriter, hits: Hits) -> None:
        self._connection, self._write, self._hits = connection, writes, hits
        self._matches = Matches(connection, writes.campaign)
        self._readings: PickReadings | None = None
        written = select(post.c.id, post.c.author).where(match_keys(connection, post.c.id))
        self._authors = Lookup(connection, written)
        self._last: tuple[int, SharedPosts] = READ, ([], {})  # what was read last of a search, and its number
        self._before: tuple[int, Sequence[str]] = READ, ()  # the last pick that was answered, and its posts

    def answer(self, asked: Request, now: float) -> tuple[Reply, Sequence[str]]:
        """Return the posts of the account of a pick, and their ids; the request is stored as answered.

        Posts that the pick has read already are stored again, as of any page, and do not count again.

        Args:
            asked: the request of the pick: `of` is the number of the pick that was sent pages which several share, and
                `searched` that of a search. Without them the pages are those of the latest pick that read the account.
                With `after`, only posts that are newer than this mark, and not than the mark `until`, are the pick's.
            now: Unix seconds.
        """
        if self._readings is None:
            self._readings = PickReadings(self._connection, self._write.campaign, self._hits)
        n = asked.key[0]
        mine = (pick.c.campaign == self._write.campaign) & (pick.c.n == n)
        node = Node(self._connection.execute(select(pick.c.node).where(mine)).scalar_one())
        number = asked.params.get("of") or asked.params.get("searched")
        of = self._find_latest(node, n) if number is None else int(number)
        if of is None:
            own = StoredPage([], [], [], {})
        elif number is None:
            own = _select_posts(*self._read_pages(of, shared=False), node)
        else:
            if self._last[0] != of:
                self._last = of, self._read_pages(of, shared="of" in asked.params)
            own = _select_posts(*self._last[1], node)
        if (after := asked.params.get("after")) is not None:
            own = own.select({key for key in own.ids if is_between(key, after, asked.params["until"])})
        count = Recount()
        if "searched" in asked.params:
            count.first.update(dict.fromkeys(self._list_read(n), READ))
        self._readings.linking.add(count, own, self._matches.find_counts(own.ids), asked.key[1])
        reply = Reply(ReplyKind.HELD, now, count.make_answer(), limits=[])
        self._write.write_held(asked, reply, own)
        self._before = n, own.ids
        return reply, own.ids

    def _read_pages(self, n: int, *, shared: bool) -> SharedPosts:
        """Return the pages that a pick was sent, those that several share or its own, and who wrote their posts."""
        assert self._readings is not None
        latest = {
            row.part: page
            for row, page in self._readings.read_pages(n, n)
            if (row.part >= RequestPart.MATCHED if shared else not RequestPart.is_authors(row.part))
        }
        pages = [page for _, page in sorted(latest.items()) if page is not None]
        return pages, dict(self._authors.fetch_rows(list({key for page in pages for key in page.ids})))

    def _list_read(self, n: int) -> Sequence[str]:
        """Return the posts that a pick has read of its account before."""
        if self._before[0] == n:
            return self._before[1]
        return [key for page in self._read_pages(n, shared=False)[0] for key in page.ids]

    def _find_latest(self, node: Node, n: int) -> int | None:
        """Return the number of the latest pick before `n` that read an account."""
        mine = (outcome.c.campaign == self._write.campaign) & (outcome.c.node == node)
        query = select(func.max(outcome.c.n)).where(mine, outcome.c.n < n, outcome.c.missing.is_(None))
        found: int | None = self._connection.execute(query.where(outcome.c.posts > 0)).scalar_one()
        return found


def _select_posts(pages: Sequence[StoredPage], author: Mapping[str, int], node: Node) -> StoredPage:
    """Return one page with the posts of pages that an account wrote, each once; `author` says who wrote them."""
    ids: list[str] = []
    pairs: list[tuple[int, int]] = []
    for page in pages:
        known = {*ids}
        own = page.select({key for key in page.ids if author.get(key) == node and key not in known})
        pairs += [(len(ids) + place, other) for place, other in own.pairs]
        ids += own.ids
    return StoredPage(ids, pairs, [], {})
