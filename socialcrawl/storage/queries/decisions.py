"""What a campaign decided, batch by batch, with all that a replay compares. Called in a transaction."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from socialcrawl.engine.model import SAME_AS, SEARCHES, Act, Node, Outcome, Reason, parse_time
from socialcrawl.engine.protocols import Batch
from socialcrawl.storage.queries import row_values
from socialcrawl.storage.queries.history import FinishedBatches, find_gap
from socialcrawl.storage.schema.tables import outcome, pick, request, shadow

Scores = Mapping[str, float]


class StoredBatch(NamedTuple):
    """A batch as it was stored.

    Attributes:
        batch: its picks; `shadows` are not among what they tell.
        outcomes: what they found; none while the batch is open.
        sent_at: when the first request for it left (Unix seconds); None: it took none.
        shadows: by pick.n, the scores of the shadows.
    """

    batch: Batch
    outcomes: Sequence[Outcome]
    sent_at: float | None
    shadows: Mapping[int, Scores]


def read_decided(connection: Connection, campaign: int, names: Sequence[str], first: int = 0) -> Iterator[StoredBatch]:
    """Yield the batches of a campaign in order, the open one last; not what was imported while that was open.

    Args:
        connection: the database, in a transaction.
        campaign: campaign.id.
        names: of the features of its picks.
        first: the number of the pick from which on they are wanted.
    """
    last = -1
    for columns in FinishedBatches(connection, campaign, nullcontext, names).columns():
        last = int(columns.n[-1])
        if last < first:
            continue
        wanted = columns.between(first, last + 1)
        yield from _read_batches(connection, campaign, wanted.batches(), int(wanted.n[0]), last)
    left = select(pick).where(pick.c.campaign == campaign, pick.c.n > max(last, first - 1))
    if (gap := find_gap(connection, campaign)) is not None:
        left = left.where(pick.c.n <= gap[1])
    batch = tuple(row_values.parse_pick(row, names) for row in connection.execute(left.order_by(pick.c.n)))
    if batch:
        yield from _read_batches(connection, campaign, [(batch, ())], batch[0].n, batch[-1].n)


def _read_batches(
    connection: Connection,
    campaign: int,
    batches: Iterator[tuple[Batch, list[Outcome]]] | Sequence[tuple[Batch, Sequence[Outcome]]],
    first: int,
    last: int,
) -> Iterator[StoredBatch]:
    sent = select(request.c.n, func.min(request.c.sent_at)).where(
        request.c.campaign == campaign, request.c.n.between(first, last)
    )
    at = {n: parse_time(instant) for n, instant in connection.execute(sent.group_by(request.c.n))}
    thought = select(shadow.c.n, shadow.c.estimator, shadow.c.score).where(
        shadow.c.campaign == campaign, shadow.c.n.between(first, last)
    )
    shadows: dict[int, dict[str, float]] = {}
    for n, name, score in connection.execute(thought):
        shadows.setdefault(n, {})[name] = float(score)
    for batch, outcomes in batches:
        times = [at[one.n] for one in batch if one.n in at]
        yield StoredBatch(batch, outcomes, min(times, default=None), shadows)


def read_aliases(connection: Connection, campaign: int) -> dict[Node, Node]:
    """Return the accounts of a campaign that turned out to be another one, by what was found last."""
    same = select(outcome.c.node, outcome.c.missing).where(
        outcome.c.campaign == campaign, outcome.c.missing.startswith(SAME_AS)
    )
    rows = connection.execute(same.order_by(outcome.c.n))
    return {Node(node): Node(int(why.removeprefix(SAME_AS))) for node, why in rows}


def find_forgotten(connection: Connection, campaign: int) -> set[int]:
    """Return the numbers of the picks whose accounts were forgotten."""
    gone = select(outcome.c.n).where(outcome.c.campaign == campaign, outcome.c.missing == Reason.FORGOTTEN)
    return set(connection.execute(gone).scalars())


def find_first_picks(connection: Connection, campaign: int) -> dict[int, int]:
    """Return the first pick.n of each account and query that is asked before an estimator chooses."""
    line = pick.c.act.in_((*SEARCHES, Act.RESOLVE, Act.SEED, Act.WALK))
    rows = select(pick.c.node, func.min(pick.c.n)).where(pick.c.campaign == campaign, line).group_by(pick.c.node)
    return {int(node): int(n) for node, n in connection.execute(rows)}


def find_searches(connection: Connection, campaign: int) -> list[Node]:
    """Return the queries that a campaign has searched, in order."""
    mine = select(pick.c.node).where(pick.c.campaign == campaign, pick.c.act.in_(SEARCHES))
    found = connection.execute(mine.group_by(pick.c.node).order_by(func.min(pick.c.n))).scalars()
    return [Node(node) for node in found]
