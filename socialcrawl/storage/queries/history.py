"""What a campaign did, read back: as values one after the other, or in bulk as columns.

A million picks with ten million links are read at some microsecond a row: rows come from the driver's own cursor, as
plain tuples, and become arrays before the next ones are asked for.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, func, select

from socialcrawl.engine.model import Outcome, parse_time
from socialcrawl.engine.protocols import Batch, Columns
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.storage.queries.linked import LinkReader, open_cursor
from socialcrawl.storage.schema.tables import outcome, pick
from socialcrawl.storage.versions import find_topic_starts
from socialcrawl.system.garbage_collection import pause_garbage_collection

CHUNK = 32_768  # picks that are read together, with their links
LEAN = (pick.c.n, pick.c.batch, pick.c.node, pick.c.act, outcome.c.value, outcome.c.missing)
REST = (pick.c.score, outcome.c.at, outcome.c.posts, outcome.c.occurrences, pick.c.since, outcome.c.mark)


class FinishedBatches:
    """The finished batches of a campaign; see `protocols.Columnar`.

    It ends before a batch that is open, though others were imported meanwhile: they come after it. Features of picks
    before the last topic are left out: they were made of values that are no more.

    Args:
        connection: to the database.
        campaign: campaign.id.
        transaction: what every reading is done in.
        names: of the features of its picks.
        first: the number of the pick with which it begins.
        end: the number of the pick before which it ends, with which a batch begins; None: it is all of it.
    """

    def __init__(
        self,
        connection: Connection,
        campaign: int,
        transaction: Callable[[], AbstractContextManager[None]],
        names: Sequence[str] = COLUMNS,
        *,
        first: int = 0,
        end: int | None = None,
    ) -> None:
        self.connection, self.campaign, self.transaction, self.names = connection, campaign, transaction, names
        self.first, self.end = first, end

    def __iter__(self) -> Iterator[tuple[Batch, list[Outcome]]]:
        for columns in self.columns():
            yield from columns.batches()

    def columns(self, *, features: bool = True, rest: bool = True) -> Iterator[Columns]:
        """See `protocols.Columnar.columns`."""
        wanted = [*LEAN, *((pick.c.features,) if features else ()), *(REST if rest else ())]
        many, last = CHUNK, self.first - 1
        with self.transaction(), LinkReader(self.connection, self.campaign) as links:
            since = max(find_topic_starts(self.connection, self.campaign), default=0) if features else 0
            gap = find_gap(self.connection, self.campaign)
            ends = min((n for n in (self.end, gap and gap[0]) if n is not None), default=None)
            while rows := self._read_picks(wanted, last, many, ends):
                complete = rows if len(rows) < many else _drop_last_batch(rows)
                if not complete:
                    many *= 2  # a batch of more than a chunk
                    continue
                columns = _make_columns(complete, links, self.names if features else (), rest=rest, since=since)
                many, last = CHUNK, complete[-1][0]
                del rows, complete  # a chunk in memory is enough
                yield columns

    def _read_picks(
        self, wanted: Sequence[ColumnElement[Any]], last: int, many: int, ends: int | None
    ) -> list[tuple[Any, ...]]:
        both = (pick.c.campaign == outcome.c.campaign) & (pick.c.n == outcome.c.n)
        after = select(*wanted).join_from(outcome, pick, both)
        after = after.where(outcome.c.campaign == self.campaign, outcome.c.n > last)
        after = after if ends is None else after.where(outcome.c.n < ends)
        with (
            pause_garbage_collection(),
            open_cursor(self.connection, after.order_by(outcome.c.n).limit(many)) as cursor,
        ):
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def find_gap(connection: Connection, campaign: int) -> tuple[int, int] | None:
    """Return the first and the last number of the picks of an open batch after which others were imported.

    None where no batch is open, or it has the last picks. Called in a transaction.
    """
    mine, done = pick.c.campaign == campaign, outcome.c.campaign == campaign
    latest = select(func.coalesce(func.max(pick.c.n), -1)).where(mine).scalar_subquery()
    finished = select(func.coalesce(func.max(outcome.c.n), -1)).where(done).scalar_subquery()
    number = select(func.count()).select_from(outcome).where(done).scalar_subquery()
    last, last_done, outcomes = connection.execute(select(latest, finished, number)).one()
    if last + 1 - outcomes == last - last_done:
        return None
    both = (pick.c.campaign == outcome.c.campaign) & (pick.c.n == outcome.c.n)
    still = select(func.min(pick.c.n), func.max(pick.c.n)).join_from(pick, outcome, both, isouter=True)
    first_open, last_open = connection.execute(still.where(mine, outcome.c.n.is_(None), pick.c.n < last_done)).one()
    return None if first_open is None else (first_open, last_open)


def _make_columns(
    rows: list[tuple[Any, ...]], links: LinkReader, names: Sequence[str], *, rest: bool, since: int
) -> Columns:
    n, batch, node, act, value, missing, *more = zip(*rows, strict=True)
    sources, targets, alpha = links.read_range(n[0], n[-1])
    numbers = np.array(n, np.int64)
    score, at, posts, occurrences, begin, mark = more[-6:] if rest else (None,) * 6
    return Columns(
        numbers,
        np.array(batch, np.int64),
        np.array(node, np.int64),
        np.array(act),
        np.array(value, np.float64),
        np.array([why or "" for why in missing]),
        np.searchsorted(sources, np.append(numbers, n[-1] + 1)),
        targets,
        alpha,
        _parse_features([t if at >= since else None for at, t in zip(n, more[0], strict=True)], names)
        if names
        else None,
        np.array(score, np.float64) if score else None,
        np.array([parse_time(instant) for instant in at]) if at else None,
        np.array(posts, np.int64) if posts else None,
        np.array(occurrences, np.int64) if occurrences else None,
        np.array([text or "" for text in begin]) if begin else None,
        np.array([text or "" for text in mark]) if mark else None,
    )


def _drop_last_batch(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return all but the last batch, which may have more picks."""
    end = len(rows)
    while end and rows[end - 1][1] == rows[-1][1]:
        end -= 1
    return rows[:end]


def _parse_features(texts: Sequence[str | None], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the features as picked, from the JSON of table `pick`, a row a pick; NaN where there are none."""
    x = np.full((len(texts), len(names)), np.nan)
    places = np.array([i for i, text in enumerate(texts) if text], np.int64)
    with pause_garbage_collection():
        rows = orjson.loads("[" + ",".join(filter(None, texts)) + "]")
        lines = map(itemgetter(*names), rows)
        values = lines if len(names) == 1 else chain.from_iterable(lines)
        numbers = np.fromiter(values, np.float64, len(places) * len(names))
    numbers[np.isnan(numbers)] = np.inf  # JSON has no infinity, numpy reads null as NaN
    x[places] = numbers.reshape(len(places), len(names))
    return x
