"""Requests with their price, and matching posts, over time, in SQL."""

from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, text

from socialcrawl.engine.model import format_time, parse_time

ENDS = "select min(sent_at), max(sent_at) from request where campaign = :campaign"
SPENT = """
select substr(sent_at, 1, :length) as part, count(*) filter (where coalesce(kind, '') <> 'held'),
  coalesce(sum(coalesce(cost, most)), 0)
from request where campaign = :campaign group by 1 order by 1
"""
HOURS = """
select substr(p.created_at, 1, 13), count(*) from hit h join post p on p.id = h.post
where h.campaign = :campaign and (:captured = 1 or p.author in (
    select o.node from outcome o join pick k on k.campaign = o.campaign and k.n = o.n
    where o.campaign = :campaign and o.missing is null and o.node >= 0
      and k.act in ('seed', 'expand', 'match', 'page', 'recrawl', 'walk', 'import')))
group by 1 order by 1
"""
HOUR, DAY = 3_600, 86_400
PARTS = ((1, 19, "Z"), (60, 16, ":00Z"), (HOUR, 13, ":00:00Z"), (DAY, 10, "T00:00:00Z"))
"""Seconds of a bar, the length of the begin of an instant that names it, and what is missing to an instant."""


class SpentBar(NamedTuple):
    """The requests sent from `begin` (ISO 8601) on, for the length of a bar, and their price in mills."""

    begin: str
    requests: int
    mills: int


def read_spent(connection: Connection, campaign: int, most: int) -> tuple[int, list[SpentBar]]:
    """Return the seconds of a bar, and the requests in at most `most` bars; called in a transaction."""
    first, last = connection.execute(text(ENDS), {"campaign": campaign}).one()
    if first is None:
        return 0, []
    wide = parse_time(last) - parse_time(first)
    unit, length, rest = next((one for one in PARTS if wide < most * one[0] - one[0]), PARTS[-1])
    rows = connection.execute(text(SPENT), {"campaign": campaign, "length": length}).all()
    known = [(round(parse_time(part + rest)), int(requests), int(mills)) for part, requests, mills in rows]
    begin = known[0][0]
    step = unit * -(-((known[-1][0] - begin) // unit + 1) // most)
    bars = [[0, 0] for _ in range((known[-1][0] - begin) // step + 1)]
    for at, requests, mills in known:
        bar = bars[(at - begin) // step]
        bar[0] += requests
        bar[1] += mills
    return step, [SpentBar(format_time(begin + place * step), *bar) for place, bar in enumerate(bars)]


def read_hours(connection: Connection, campaign: int, *, captured: bool) -> list[tuple[str, int]]:
    """Return the matching posts of each hour from the first to the last (ISO 8601); called in a transaction.

    They are those of accounts that were read; of a capture, all.
    """
    rows = connection.execute(text(HOURS), {"campaign": campaign, "captured": int(captured)})
    known = {at: posts for hour, posts in rows if (at := _parse_hour(hour)) is not None}
    return [(format_time(at), known.get(at, 0)) for at in range(min(known), max(known) + HOUR, HOUR)] if known else []


def _parse_hour(given: str | None) -> int | None:
    try:
        return round(datetime.fromisoformat(f"{given}:00").replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
