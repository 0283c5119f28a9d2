"""How far a campaign is: counts and a small curve, cheap enough to be read again and again while it runs, in SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import orjson
from sqlalchemy import Connection, TextClause, bindparam, text

from socialcrawl.engine.model import STEPS, Act
from socialcrawl.storage.queries.latest_windows import FindRule, LatestWindows, read_latest_windows, read_spending
from socialcrawl.storage.queries.open_requests import RefusedToken, RequestsInFlight, count_in_flight, list_refused
from socialcrawl.storage.queries.row_values import join_transaction

BUCKETS = 48  # points of the small curve
CAMPAIGNS = text("""
select c.id, c.name, coalesce((select v.settings from version v where v.campaign = c.id
  order by v.number desc limit 1), c.settings) as settings from campaign c order by c.id
""")
ON_TOPIC = text("select count(*) from hit where campaign = :campaign")
PICKS = text("""
select p.act, count(*) from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where o.campaign = :campaign group by 1
""")
CURVE = """
select place * :buckets / :total as bucket, sum(found) from (
  select row_number() over (order by o.n) - 1 as place, coalesce({found}, 0) as found
  from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
  where o.campaign = :campaign and p.act in :acts) as steps
group by 1 order by 1
"""
VALUE, POSTS = "o.value", "o.posts"
WITHOUT_VALUE = (Act.SLICE, Act.LIVE, Act.HYDRATE)
"""Acts whose outcomes are worth nothing by themselves: the posts that they brought count."""


@dataclass(frozen=True, slots=True)
class ProgressFigures:
    """How far a campaign is.

    Attributes:
        settings: those in force.
        steps: finished decisions after the seeds.
        requests: requests sent.
        mills: their price by the price table, in mills of a cent; what is not settled counts at its highest.
        posts_on_topic: posts that match its topic.
        curve: what was found up to each of at most BUCKETS places of its steps: relevance, or posts of a capture.
        of_posts: whether the curve counts posts.
        began: when its first request was sent, ISO 8601; None: none was.
        last: when its latest request was sent, likewise.
        windows: its latest windows; None: there are none, or no rule is known.
        posts: posts read, as its budget counts them.
        in_flight: what waits for an answer, if somebody runs it.
        refused: tokens that got no answer since they were refused.
        picks: finished decisions, by their act.
    """

    settings: dict[str, Any]
    steps: int
    requests: int
    mills: int
    posts_on_topic: int
    curve: tuple[float, ...]
    of_posts: bool
    began: str | None
    last: str | None
    windows: LatestWindows | None
    posts: int
    in_flight: RequestsInFlight
    refused: Sequence[RefusedToken]
    picks: Mapping[str, int]


def read_progress_figures(connection: Connection, find_rule: FindRule) -> dict[str, ProgressFigures]:
    """Return how far each campaign of a database is, by its name, the oldest first.

    Args:
        connection: to the database.
        find_rule: returns the rule of the rate limit of an endpoint, by the settings of a campaign.
    """
    with join_transaction(connection):
        known = connection.execute(CAMPAIGNS).all()
        return {row.name: _read_one(connection, row, find_rule) for row in known}


def _read_one(connection: Connection, row: Any, find_rule: FindRule) -> ProgressFigures:
    number, settings = row.id, orjson.loads(row.settings)
    spent = read_spending(connection, number)
    last = max((one.last for one in spent), default=None)
    on_topic = connection.execute(ON_TOPIC, {"campaign": number}).scalar_one()
    valued = [act for act in STEPS if act not in WITHOUT_VALUE]
    picks = {row[0]: int(row[1]) for row in connection.execute(PICKS, {"campaign": number})}
    of_posts = not any(picks.get(act) for act in valued)
    acts = WITHOUT_VALUE if of_posts else tuple(valued)
    steps = sum(picks.get(act, 0) for act in acts)
    curve = _read_curve(connection, number, acts, steps, POSTS if of_posts else VALUE) if steps else ()
    return ProgressFigures(
        settings,
        steps,
        sum(one.requests for one in spent),
        sum(one.mills for one in spent),
        int(on_topic),
        curve,
        of_posts and bool(steps),
        min((one.began for one in spent), default=None),
        last,
        read_latest_windows(connection, number, spent, partial(find_rule, settings)),
        sum(one.posts for one in spent),
        count_in_flight(connection, number, settings.get("source") or {}, last),
        list_refused(connection, number) if any(one.refused for one in spent) else (),
        picks,
    )


@cache
def _make_curve_query(found: str) -> TextClause:
    return text(CURVE.format(found=found)).bindparams(bindparam("acts", expanding=True))


def _read_curve(connection: Connection, campaign: int, acts: Any, total: int, found: str) -> tuple[float, ...]:
    query = _make_curve_query(found)
    given = {"campaign": campaign, "acts": list(acts), "total": total, "buckets": min(BUCKETS, total)}
    curve, so_far = [0.0], 0.0
    for _, value in connection.execute(query, given):
        so_far += float(value)
        curve.append(so_far)
    return tuple(curve)
