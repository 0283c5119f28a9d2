"""What the picks of a campaign have read, read again: from the ledger and the posts that are stored (section 2.3).

The ledger says which posts a pick has read; where it does not (imports, older programs), they are those of the account
that were there by then. Posts that are not held any more count as nothing. Nothing is written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from socialcrawl.engine.model import ANSWERED, USEFUL, ReplyKind, RequestPart
from socialcrawl.graph.recount import Recount
from socialcrawl.graph.relevance import Hits
from socialcrawl.storage.answer_packing import StoredPage, parse_page
from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.link_weights import LinkWeigher, read_link_settings, select_hit_columns
from socialcrawl.storage.schema.tables import campaign as table
from socialcrawl.storage.schema.tables import link, mention, outcome, pick, post, request

CHUNK = 1_000  # picks at a time
MANY = 20_000  # posts that some picks have read together, at most; one pick may have read more
PAGE = ("n", "part", "kind", "digest", "arrived_at", "posts", "post_ids", "nodes", "answer")
Count = Callable[[Sequence[str]], Mapping[str, int]]


class PickReadings:
    """The picks of one campaign, and what they have read. Called in a transaction.

    Args:
        connection: the database.
        campaign: campaign.id.
        hits: counts the occurrences of a topic in a post.
    """

    def __init__(self, connection: Connection, campaign: int, hits: Hits) -> None:
        self.connection, self.campaign, self.hits = connection, campaign, hits
        mine = connection.execute(select(table.c.settings, table.c.platform).where(table.c.id == campaign)).one()
        self.linking = LinkWeigher(connection, read_link_settings(mine.settings), mine.platform, hits)
        again = (post.c.metrics_at != post.c.fetched_at).label("again")
        texts = select(post.c.id, again, post.c.author, *select_hit_columns(connection, mine.platform))
        self._texts = Lookup(connection, texts.where(match_keys(connection, post.c.id)))
        columns = (request.c.id, request.c.digest, request.c.kind, request.c.arrived_at, request.c.post_ids)
        self._asked = Lookup(
            connection, select(*columns, request.c.nodes).where(match_keys(connection, request.c.digest))
        )
        theirs = select(post.c.author, post.c.id, post.c.fetched_at)
        self._theirs = Lookup(connection, theirs.where(match_keys(connection, post.c.author)))
        named = select(mention.c.post, mention.c.node)
        self._named = Lookup(connection, named.where(match_keys(connection, mention.c.post)))

    def read_picks(self) -> Iterator[Sequence[Any]]:
        """Yield some picks after the others, with their outcomes; those of an open batch have none yet."""
        both = (outcome.c.campaign == pick.c.campaign) & (outcome.c.n == pick.c.n)
        found = (outcome.c.at, outcome.c.missing, outcome.c.posts, outcome.c.value, outcome.c.occurrences)
        decided = (pick.c.n, pick.c.batch, pick.c.node, pick.c.act)
        query = select(*decided, *found, outcome.c.mark).outerjoin(outcome, both)
        last = -1
        while rows := self.connection.execute(
            query.where(pick.c.campaign == self.campaign, pick.c.n > last).order_by(pick.c.n).limit(CHUNK)
        ).all():
            yield from _split_picks(rows)
            last = rows[-1].n

    def read_pages(self, first: int, last: int, *, every: bool = False) -> list[tuple[Any, StoredPage | None]]:
        """Return the answers that served picks `first` to `last`, and what the ledger knows of each.

        Args:
            first: the number of a pick.
            last: the number of a later one.
            every: whether answers are wanted too that have neither posts nor tell whom an account follows.
        """
        mine = (request.c.campaign == self.campaign) & request.c.n.between(first, last)
        useful = request.c.posts > 0
        if every or self.linking.links.follows:
            useful |= request.c.nodes.is_not(None) | (request.c.kind == ReplyKind.HELD)  # pages without posts
        some = select(request.c.id, *(request.c[name] for name in PAGE)).where(mine, request.c.kind.in_(USEFUL), useful)
        rows = self.connection.execute(some.order_by(request.c.n, request.c.part, request.c.id)).all()
        # Exports tell of held answers too what they had.
        held = [row for row in rows if row.kind == ReplyKind.HELD and row.nodes is None]
        origins: dict[str, list[Any]] = {}
        for one in self._asked.fetch_rows(list({row.digest for row in held if row.digest is not None})):
            origins.setdefault(one.digest, []).append(one)
        made_of = {row.id: _find_origin(row, origins.get(row.digest, ())) for row in held}
        pages = [(row, made_of.get(row.id) or parse_page(row)) for row in rows]
        return [(row, page) for row, page in pages if page is not None or row.posts]

    def sum_pages(
        self, pages: Sequence[tuple[Any, StoredPage | None]], counts: Mapping[str, int]
    ) -> tuple[dict[int, Recount], set[int]]:
        """Return the sums of each pick, and the picks of which the ledger does not know all posts."""
        # A page that was asked for twice, as the first answer was forgotten, counts once: as it came last.
        # One that told of authors only counts not at all: some of them may have opted out.
        latest = {(row.n, row.part): page for row, page in pages if not RequestPart.is_authors(row.part)}
        sums: dict[int, Recount] = {}
        for (n, part), page in latest.items():
            if page is not None:
                self.linking.add(sums.setdefault(n, Recount()), page, counts, part)
        return sums, {n for (n, _), page in latest.items() if page is None}

    def sum_by_author(self, rows: Sequence[Any], count: Count) -> dict[int, Recount]:
        """Return what picks have read, of which the ledger does not say: the accounts' posts that were there by then.

        Args:
            rows: the picks.
            count: gives the occurrences in posts, by their ids.
        """
        posts: dict[int, list[tuple[str, str]]] = {}
        for author, key, came_at in self._theirs.fetch_rows([row.node for row in rows]):
            posts.setdefault(author, []).append((key, came_at))
        ids = {row.n: [key for key, came_at in posts.get(row.node, ()) if came_at <= row.at] for row in rows}
        everything = [key for some in ids.values() for key in some]
        counts, named = count(everything), self.read_mentions(everything)
        sums = {n: Recount(ordered=False) for n in ids}
        for n, some in ids.items():
            pairs = [(place, node) for place, key in enumerate(some) for node in named.get(key, ())]
            self.linking.add(sums[n], StoredPage(some, pairs, [], {}), counts)
        return sums

    def read_requests(self, rows: Sequence[Any]) -> dict[int, list[Any]]:
        """Return the requests for some picks and those of their batches before them, by pick.n, in order."""
        mine = (request.c.campaign == self.campaign) & request.c.n.between(rows[0].batch, rows[-1].n)
        query = select(request.c.n, request.c.endpoint, request.c.kind, request.c.arrived_at, request.c.posts)
        found: dict[int, list[Any]] = {}
        for row in self.connection.execute(query.where(mine).order_by(request.c.id)):
            found.setdefault(row.n, []).append(row)
        return found

    def read_links(self, first: int, last: int) -> dict[int, list[Any]]:
        """Return the stored links of picks `first` to `last`, by pick.n, in order: (n, position, node, alpha)."""
        mine = (link.c.campaign == self.campaign) & link.c.n.between(first, last)
        query = select(link.c.n, link.c.position, link.c.node, link.c.alpha).where(mine)
        found: dict[int, list[Any]] = {}
        for row in self.connection.execute(query.order_by(link.c.n, link.c.position)):
            found.setdefault(row.n, []).append(row)
        return found

    def read_texts(self, ids: Sequence[str]) -> Sequence[Any]:
        """Return the posts of those ids that are stored: (id, whether read again later, author, what `hits` takes)."""
        return self._texts.fetch_rows(ids)

    def count_hits(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the occurrences in those posts that are stored, by id."""
        return {key: self.hits(*fields) for key, _, _, *fields in self.read_texts(ids)}

    def read_mentions(self, ids: Sequence[str]) -> dict[str, list[int]]:
        """Return whom posts mention, by their ids, as table `mention` has it."""
        named: dict[str, list[int]] = {}
        for key, node in self._named.fetch_rows(ids):
            named.setdefault(key, []).append(node)
        return named

    def read_listing(self, key: str) -> Iterator[StoredPage]:
        """Yield the pages, of all campaigns, that list the post of an id."""
        query = select(request.c.post_ids, request.c.nodes).where(
            request.c.post_ids.contains(f'"{key}"', autoescape=True)
        )
        for row in self.connection.execute(query):
            if (page := parse_page(row)) is not None:
                yield page


def _split_picks(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield picks in parts that have read no more than MANY posts, or are one pick."""
    part: list[Any] = []
    posts = 0
    for row in rows:
        if part and posts + (row.posts or 0) > MANY:
            yield part
            part, posts = [], 0
        part.append(row)
        posts += row.posts or 0
    yield part


def _find_origin(row: Any, known: Iterable[Any]) -> StoredPage | None:
    """Return the page behind a reused answer, as `StoredAnswers` chose it: the newest that the platform had given."""
    before = [one for one in known if one.kind in ANSWERED and one.id < row.id]
    newest = max(before, key=lambda one: (one.arrived_at, one.id), default=None)
    return None if newest is None else parse_page(newest)
