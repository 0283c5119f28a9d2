"""What a campaign found after its seeds, decision by decision, and what it had spent by then."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from socialcrawl.engine.model import MILLS_PER_DOLLAR, Act, ReplyKind, find_search
from socialcrawl.storage.queries.row_values import join_transaction

DECIDED = """
select p.n, p.act, p.node, coalesce(p.since, ''), coalesce(o.value, 0), coalesce(o.occurrences, 0), coalesce(o.posts, 0)
from pick p join outcome o on o.campaign = p.campaign and o.n = p.n
where p.campaign = :campaign and o.missing is null
  and (p.act in ('seed', 'expand', 'match', 'page') or (p.act = 'search' and p.since is not null)) order by p.n
"""
COSTS = """
select n, coalesce(cost, most), new_posts, post_ids, substr(coalesce(arrived_at, sent_at), 1, 10), posts, kind
from request where campaign = :campaign and endpoint not like '%?%' and n >= 0 order by id
"""


class PaidDecisions(NamedTuple):
    """The answered decisions of a campaign after its seeds, in order, as columns of equal length.

    Attributes:
        act: of each.
        account: int64, account.node; of a search the node of its query.
        search: int64, the number of the search; for what is read from it, too; -1: none.
        spent: float64, dollars spent up to each, as if it was alone: posts that it had from other campaigns have their
            price. Counts of posts, which are no part of it, are left out.
        gain: float64, the relevance that each added; 0 for seeds.
        occurrences: int64, how often the topic occurs in the posts that each added.
        posts: int64, those that a search returned.
        before: dollars spent before the first of them.
    """

    act: list[str]
    account: NDArray[np.int64]
    search: NDArray[np.int64]
    spent: NDArray[np.float64]
    gain: NDArray[np.float64]
    occurrences: NDArray[np.int64]
    posts: NDArray[np.int64]
    before: float

    def cut(self, dollars: float) -> "PaidDecisions":
        """Return those that were answered when no more than `dollars` were spent."""
        count = int(np.searchsorted(self.spent, dollars, "right"))
        shorter = {name: column[:count] for name, column in self._asdict().items() if name != "before"}
        return self._replace(**shorter)


def read_paid_decisions(connection: Connection, campaign: int, post_price: int) -> PaidDecisions:
    """Return what a campaign that collects found after its seeds.

    Args:
        connection: the database.
        campaign: campaign.id.
        post_price: of a post, in mills.
    """
    with join_transaction(connection):
        rows = connection.execute(text(DECIDED), {"campaign": campaign}).all()
        paid, costs = _add_costs(connection.execute(text(COSTS), {"campaign": campaign}), post_price)
    seeds = {node for _, act, node, *_ in rows if act == Act.SEED}
    known: dict[int, tuple[float, int]] = {}  # relevance and occurrences of accounts that were read
    columns: list[tuple[Any, ...]] = []  # as in PaidDecisions, and n before them
    for n, act, node, since, value, occurrences, posts in rows:
        if act == Act.SEED:
            continue
        if act == Act.SEARCH:
            columns.append((n, act, node, n, 0.0, 0, posts))
            continue
        old = known.get(node, (0.0, 0))
        known[node] = value, occurrences
        search = find_search(since)
        gain = 0.0 if node in seeds else value - old[0]
        columns.append((n, act, node, -1 if search is None else search, gain, max(0, occurrences - old[1]), 0))
    numbers, acts, *others = zip(*columns, strict=True) if columns else ((),) * 7
    account, search_numbers, gains, added, posts_returned = others
    sums = np.concatenate([[0.0], np.cumsum(costs)])
    return PaidDecisions(
        list(acts),
        np.array(account, np.int64),
        np.array(search_numbers, np.int64),
        sums[np.searchsorted(paid, np.array(numbers, np.int64), "right")],
        np.array(gains, np.float64),
        np.array(added, np.int64),
        np.array(posts_returned, np.int64),
        float(sums[np.searchsorted(paid, numbers[0])] if numbers else sums[-1]),
    )


def _add_costs(rows: Iterable[Any], post_price: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the numbers of the picks that were paid for, int64, and the dollars for each, float64, in their order."""
    costs: dict[int, float] = {}
    known: dict[str, set[str]] = {}  # the posts of a campaign, by UTC day: each is billed once
    for n, cost, billed, post_ids, day, posts, kind in rows:
        extra = 0
        if billed is not None and post_ids:
            ids = set(orjson.loads(post_ids))
            before = known.setdefault(day, set())
            extra = len(ids - before) - billed
            before |= ids
        elif kind == ReplyKind.HELD:  # the answer that another campaign was given
            extra = posts or 0
        costs[n] = costs.get(n, 0.0) + (cost + max(0, extra) * post_price) / MILLS_PER_DOLLAR
    numbers = sorted(costs)
    return np.array(numbers, np.int64), np.array([costs[n] for n in numbers], np.float64)
