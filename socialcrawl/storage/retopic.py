"""Another topic for a campaign that goes on: what was derived from its posts, derived anew (section 2.3).

Hits, values and links become what a crawl for the new topic would have stored for the same replies (`reread`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, delete, func, select

from socialcrawl.engine.model import SEARCHES, Act
from socialcrawl.graph.recount import Recount
from socialcrawl.graph.relevance import Hits, compute_worth
from socialcrawl.storage import answer_packing
from socialcrawl.storage.database.bulk import make_insert, make_keyed_update
from socialcrawl.storage.link_weights import LinkWeigher
from socialcrawl.storage.reread import CHUNK, PickReadings
from socialcrawl.storage.schema.tables import hit, link, outcome, pick, request

HIT = ("campaign", "post", "occurrences")


def recount_topic(connection: Connection, campaign: int, hits: Hits) -> None:
    """Derive hits, values, links and kept answers of a campaign anew, for the topic that `hits` counts.

    Called in a transaction, while the campaign does not run. Its cost is linear in the posts.
    """
    anew = _TopicRecount(connection, campaign, hits)
    anew.recount_known()
    for picks in anew.reread.read_picks():
        anew.derive(picks)


class TopicTotals(NamedTuple):
    """What a campaign's topic is in what it has stored.

    Attributes:
        posts: how many posts match.
        relevance: of each account that was read, by its node.
    """

    posts: int
    relevance: dict[int, float]


def measure_topic(connection: Connection, campaign: int) -> TopicTotals:
    """Return what matches the topic of a campaign; called in a transaction."""
    posts = select(func.count()).select_from(hit).where(hit.c.campaign == campaign)
    read = (
        select(pick.c.node, func.max(outcome.c.value))
        .join(outcome, and_(outcome.c.campaign == pick.c.campaign, outcome.c.n == pick.c.n))
        .where(pick.c.campaign == campaign, outcome.c.value.is_not(None), pick.c.act.not_in((*SEARCHES, Act.CAPTURED)))
        .group_by(pick.c.node)
    )
    return TopicTotals(
        int(connection.execute(posts).scalar_one()),
        {int(node): float(value) for node, value in connection.execute(read)},
    )


class _TopicRecount:
    """A campaign whose topic is another one now."""

    def __init__(self, connection: Connection, campaign: int, hits: Hits) -> None:
        self.connection, self.campaign = connection, campaign
        self.reread = PickReadings(connection, campaign, hits)
        self._counted: dict[str, int] = {}  # the posts that matched the old topic; the others are not remembered
        self._hit = make_insert(connection, hit, HIT, "ignore")
        self._value = make_keyed_update(connection, outcome, ("value", "occurrences"), ("campaign", "n"))
        self._alpha = make_keyed_update(connection, link, ("alpha",), ("campaign", "n", "position"))
        self._answer = make_keyed_update(connection, request, ("answer",), ("id",))

    def recount_known(self) -> None:
        """Count the posts that matched the old topic anew."""
        mine = hit.c.campaign == self.campaign
        keys = list(self.connection.execute(select(hit.c.post).where(mine)).scalars())
        for begin in range(0, len(keys), CHUNK):
            some = keys[begin : begin + CHUNK]
            self._counted |= dict.fromkeys(some, 0) | self.reread.count_hits(some)
        self.connection.execute(delete(hit).where(mine))
        self._write(self._counted)

    def derive(self, picks: Sequence[Any]) -> None:
        """Write everything that some picks found, anew."""
        pages = self.reread.read_pages(picks[0].n, picks[-1].n)
        counts = self._count_hits(key for _, page in pages if page is not None for key in page.ids)
        sums, unknown = self.reread.sum_pages(pages, counts)
        valued = [row for row in picks if row.at is not None and row.missing is None and row.act not in SEARCHES]
        by_author = [row for row in valued if row.n in unknown or (row.posts and row.n not in sums)]
        sums |= self.reread.sum_by_author(by_author, self._count_hits)
        found = [(row.n, sums.get(row.n, Recount())) for row in valued]
        self._value.run([(compute_worth(read.hits), read.hits, self.campaign, n) for n, read in found])
        self._relink(dict(found))
        first: dict[int, dict[str, int]] = {}
        answers = [
            (_recount_answer(row, page, counts, self.reread.linking, first.setdefault(row.n, {})), row)
            for row, page in pages
        ]
        self._answer.run([(answer, row.id) for answer, row in answers if row.answer is not None])

    def _relink(self, sums: Mapping[int, Recount]) -> None:
        """Write the weights of the links of picks."""
        if not sums:
            return
        links = self.reread.read_links(min(sums), max(sums))
        self._alpha.run([
            (alpha, self.campaign, n, row.position)
            for n, read in sums.items()
            for row, many in zip(links.get(n, ()), read.find_hits([row.node for row in links.get(n, ())]), strict=True)
            if (alpha := compute_worth(many)) != row.alpha
        ])  # fmt: skip

    def _count_hits(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the occurrences in posts, by id; those not counted before are counted and written."""
        wanted = dict.fromkeys(ids)
        fresh = [key for key in wanted if key not in self._counted]
        found = self.reread.count_hits(fresh)
        self._write(found)
        return {key: self._counted[key] for key in wanted if key in self._counted} | found

    def _write(self, counts: Mapping[str, int]) -> None:
        self._hit.run([(self.campaign, key, many) for key, many in counts.items() if many])


def _recount_answer(
    row: Any,
    page: answer_packing.StoredPage | None,
    counts: Mapping[str, int],
    linking: LinkWeigher,
    first: dict[str, int],
) -> str | None:
    """Return the answer that an open batch goes on from, counted anew; None: it has to be asked for, or made, again."""
    if page is None or row.answer is None:
        return None
    old, read = answer_packing.unpack_answer(row.answer), Recount(first=first)
    linking.add(read, page._replace(follows=()), counts, row.part)  # whom it follows, the reading adds itself
    return answer_packing.pack_answer(replace(old, hits=read.hits, target_hits=read.find_hits([*old.targets])))
