"""Another topic for a campaign that goes on: what was derived from its posts, derived anew (section 2.3).

Hits, values and links become what a crawl for the new topic would have stored for the same replies. Posts that are not
held any more count as nothing. The ledger says which posts a pick has read; where it does not (imports, older
programs), they are those of the account that were there by then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, delete, select

from socialcrawl.model import USEFUL
from socialcrawl.relevance import Hits, worth
from socialcrawl.store import answers
from socialcrawl.store.bulk import Lookup, among, inserting, setting
from socialcrawl.store.counted import counted
from socialcrawl.store.erasure.ledger import Came, came_of
from socialcrawl.store.linking import Linking, links_of
from socialcrawl.store.seen import stale
from socialcrawl.store.tables import campaign as table
from socialcrawl.store.tables import hit, link, mention, outcome, pick, post, request

CHUNK = 1_000  # picks at a time
HIT = ("campaign", "post", "occurrences")
PAGE = ("n", "part", "kind", "digest", "arrived_at", "post_ids", "nodes", "answer")


def retopic(connection: Connection, campaign: int, hits: Hits) -> None:
    """Derive hits, values, links and kept answers of a campaign anew, for the topic that `hits` counts.

    Called in a transaction, while the campaign does not run. Its cost is linear in the posts.
    """
    anew = _Anew(connection, campaign, hits)
    anew.known()
    last = -1
    while picks := anew.picks(last):
        anew.derive(picks)
        last = picks[-1].n


@dataclass(slots=True)
class _Sum:
    """What a pick has read: occurrences in all of its posts, and in those that mention each node.

    `ordered` says that the nodes are in order of first mention.
    """

    linking: Linking
    hits: int = 0
    targets: dict[int, int] = field(default_factory=dict)
    ordered: bool = True
    first: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        ids: Sequence[str],
        pairs: Sequence[tuple[int, int]],
        counts: Mapping[str, int],
        follows: Sequence[int] = (),
        part: int = 0,
    ) -> None:
        again = stale(self.first, ids, part)
        here = [0 if place in again else counts.get(key, 0) for place, key in enumerate(ids)]
        self.hits += sum(here)
        for _, node, many in self.linking.counts(ids, pairs, here):
            self.targets[node] = self.targets.get(node, 0) + many
        for node in follows if self.linking.links.follows else ():
            self.targets[node] = self.targets.get(node, 0) + self.linking.links.follows

    def of(self, nodes: Sequence[int]) -> list[int]:
        """The occurrences for each of `nodes`, as they stand in links.

        A held answer may call an account by another number than the page that it was made of: order tells which.
        """
        if self.ordered and len(nodes) == len(self.targets) and any(node not in self.targets for node in nodes):
            return list(self.targets.values())
        return [self.targets.get(node, 0) for node in nodes]


class _Anew:
    """A campaign whose topic is another one now."""

    def __init__(self, connection: Connection, campaign: int, hits: Hits) -> None:
        self.connection, self.campaign, self.hits = connection, campaign, hits
        mine = connection.execute(select(table.c.settings, table.c.platform).where(table.c.id == campaign)).one()
        self.linking = Linking(connection, links_of(mine.settings), mine.platform, hits)
        self._counted: dict[str, int] = {}  # the posts that matched the old topic; the others are not remembered
        texts = select(post.c.id, *counted(connection, mine.platform))
        self._texts = Lookup(connection, texts.where(among(connection, post.c.id)))
        told = (request.c.id, request.c.digest, request.c.kind, request.c.arrived_at, request.c.post_ids)
        self._asked = Lookup(connection, select(*told, request.c.nodes).where(among(connection, request.c.digest)))
        theirs = select(post.c.author, post.c.id, post.c.fetched_at)
        self._theirs = Lookup(connection, theirs.where(among(connection, post.c.author)))
        named = select(mention.c.post, mention.c.node)
        self._named = Lookup(connection, named.where(among(connection, mention.c.post)))
        self._hit = inserting(connection, hit, HIT, "ignore")
        self._value = setting(connection, outcome, ("value", "occurrences"), ("campaign", "n"))
        self._alpha = setting(connection, link, ("alpha",), ("campaign", "n", "position"))
        self._answer = setting(connection, request, ("answer",), ("id",))

    def known(self) -> None:
        """Count the posts that matched the old topic anew."""
        mine = hit.c.campaign == self.campaign
        keys = list(self.connection.execute(select(hit.c.post).where(mine)).scalars())
        for begin in range(0, len(keys), CHUNK):
            some = keys[begin : begin + CHUNK]
            self._counted |= dict.fromkeys(some, 0) | self._count(some)
        self.connection.execute(delete(hit).where(mine))
        self._write(self._counted)

    def picks(self, last: int) -> Sequence[Any]:
        """Some of the picks after number `last`; those of an open batch have no outcome yet."""
        both = (outcome.c.campaign == pick.c.campaign) & (outcome.c.n == pick.c.n)
        columns = select(pick.c.n, pick.c.node, pick.c.act, outcome.c.at, outcome.c.missing, outcome.c.posts)
        after = columns.outerjoin(outcome, both).where(pick.c.campaign == self.campaign, pick.c.n > last)
        return self.connection.execute(after.order_by(pick.c.n).limit(CHUNK)).all()

    def derive(self, picks: Sequence[Any]) -> None:
        """Write everything that some picks found, anew."""
        pages = self._pages(picks[0].n, picks[-1].n)
        counts = self._of(key for _, came in pages if came is not None for key in came.ids)
        sums, unknown = self._read(pages, counts)
        valued = [row for row in picks if row.at is not None and row.missing is None and row.act != "search"]
        by_author = [row for row in valued if row.n in unknown or (row.posts and row.n not in sums)]
        sums |= self._by_author(by_author)
        found = [(row.n, sums.get(row.n, _Sum(self.linking))) for row in valued]
        self._value.run([(worth(read.hits), read.hits, self.campaign, n) for n, read in found])
        self._relink(dict(found))
        first: dict[int, dict[str, int]] = {}
        told = [(_answer(row, came, counts, self.linking, first.setdefault(row.n, {})), row) for row, came in pages]
        self._answer.run([(answer, row.id) for answer, row in told if row.answer is not None])

    def _pages(self, first: int, last: int) -> list[tuple[Any, Came | None]]:
        """The answers with posts that served picks `first` to `last`, and what the ledger knows of each."""
        mine = (request.c.campaign == self.campaign) & request.c.n.between(first, last)
        told = request.c.posts > 0
        if self.linking.links.follows:
            told |= request.c.nodes.is_not(None)  # of pages without posts, those that tell whom an account follows
        some = select(request.c.id, *(request.c[name] for name in PAGE)).where(mine, request.c.kind.in_(USEFUL), told)
        rows = self.connection.execute(some.order_by(request.c.n, request.c.part, request.c.id)).all()
        held = [row for row in rows if row.kind == "held"]
        origins: dict[str, list[Any]] = {}
        for one in self._asked.rows(list({row.digest for row in held if row.digest is not None})):
            origins.setdefault(one.digest, []).append(one)
        made_of = {row.id: _origin(row, origins.get(row.digest, ())) for row in held}
        return [(row, made_of[row.id] if row.kind == "held" else came_of(row)) for row in rows]

    def _read(
        self, pages: Sequence[tuple[Any, Came | None]], counts: Mapping[str, int]
    ) -> tuple[dict[int, _Sum], set[int]]:
        """The sums of each pick, and the picks of which the ledger does not know all posts."""
        # A page that was asked for twice, as the first answer was forgotten, counts once: as it came last.
        latest = {(row.n, row.part): came for row, came in pages}
        sums: dict[int, _Sum] = {}
        for (n, part), came in latest.items():
            if came is not None:
                sums.setdefault(n, _Sum(self.linking)).add(came.ids, came.pairs, counts, came.follows, part)
        return sums, {n for (n, _), came in latest.items() if came is None}

    def _by_author(self, rows: Sequence[Any]) -> dict[int, _Sum]:
        """What picks have read, of which the ledger does not say: the accounts' posts that were there by then."""
        posts: dict[int, list[tuple[str, str]]] = {}
        for author, key, came_at in self._theirs.rows([row.node for row in rows]):
            posts.setdefault(author, []).append((key, came_at))
        ids = {row.n: [key for key, came_at in posts.get(row.node, ()) if came_at <= row.at] for row in rows}
        everything = [key for some in ids.values() for key in some]
        counts, named = self._of(everything), self._mentioned(everything)
        sums = {n: _Sum(self.linking, ordered=False) for n in ids}
        for n, some in ids.items():
            sums[n].add(some, [(place, node) for place, key in enumerate(some) for node in named.get(key, ())], counts)
        return sums

    def _mentioned(self, ids: Sequence[str]) -> dict[str, list[int]]:
        named: dict[str, list[int]] = {}
        for key, node in self._named.rows(ids):
            named.setdefault(key, []).append(node)
        return named

    def _relink(self, sums: Mapping[int, _Sum]) -> None:
        """The weights of the links of picks."""
        if not sums:
            return
        mine = (link.c.campaign == self.campaign) & link.c.n.between(min(sums), max(sums))
        columns = select(link.c.n, link.c.position, link.c.node, link.c.alpha).where(mine)
        links: dict[int, list[Any]] = {}
        for row in self.connection.execute(columns.order_by(link.c.n, link.c.position)):
            if row.n in sums:
                links.setdefault(row.n, []).append(row)
        self._alpha.run([
            (alpha, self.campaign, n, row.position)
            for n, rows in links.items()
            for row, many in zip(rows, sums[n].of([row.node for row in rows]), strict=True)
            if (alpha := worth(many)) != row.alpha
        ])  # fmt: skip

    def _of(self, ids: Iterable[str]) -> dict[str, int]:
        """The occurrences in posts, by id; those not counted before are counted and written."""
        wanted = dict.fromkeys(ids)
        fresh = [key for key in wanted if key not in self._counted]
        found = self._count(fresh)
        self._write(found)
        return {key: self._counted[key] for key in wanted if key in self._counted} | found

    def _count(self, ids: Sequence[str]) -> dict[str, int]:
        return {key: self.hits(*told) for key, *told in self._texts.rows(ids)}

    def _write(self, counts: Mapping[str, int]) -> None:
        self._hit.run([(self.campaign, key, many) for key, many in counts.items() if many])


def _origin(row: Any, known: Iterable[Any]) -> Came | None:
    """The page that a held answer was made of, as `held.Held` chose it: the newest that the platform had given."""
    before = [one for one in known if one.kind in ("ok", "missing") and one.id < row.id]
    newest = max(before, key=lambda one: (one.arrived_at, one.id), default=None)
    return None if newest is None else came_of(newest)


def _answer(
    row: Any, came: Came | None, counts: Mapping[str, int], linking: Linking, first: dict[str, int]
) -> str | None:
    """The answer that an open batch goes on from, counted anew; None: it has to be asked for, or made, again."""
    if came is None or row.answer is None:
        return None
    old, read = answers.unpacked(row.answer), _Sum(linking, first=first)
    read.add(came.ids, came.pairs, counts, part=row.part)  # whom it follows, the reading adds itself
    return answers.packed(replace(old, hits=read.hits, target_hits=read.of([*old.targets])))
