"""How many requests a campaign sent in each of its latest windows, counted in the ledger, in SQL."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median_low
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from socialcrawl.engine.model import format_time, parse_time
from socialcrawl.storage.answer_packing import parse_headers

WINDOWS = 24  # that are counted
BEFORE = 2  # windows before them, in which the first one is looked for
ENDPOINTS = text("""
select endpoint, count(*) filter (where coalesce(kind, '') <> 'held'), coalesce(sum(coalesce(cost, most)), 0),
  min(sent_at), max(sent_at), coalesce(sum(case when arrived_at is null or kind = 'lost' then items else posts end), 0),
  count(*) filter (where kind = 'refused')
from request where campaign = :campaign group by endpoint
""")
SECONDS = text("""
select substr(sent_at, 1, 19), endpoint, count(*) from request
where campaign = :campaign and sent_at >= :since and coalesce(kind, '') <> 'held' group by 1, 2 order by 1
""")
HEADERS = text("""
select endpoint, headers from request
where campaign = :campaign and sent_at >= :since and headers is not null order by sent_at desc limit :rows
""")
ANSWERS = 300  # the latest, in which limits of the server are looked for
ROUNDING = 2.0  # seconds by which the length of a window in headers may be wrong


class WindowRule(NamedTuple):
    """At most `k` requests per `d` seconds with one token; `shares`: whether an endpoint is counted with these."""

    k: int
    d: float
    is_aligned: bool
    shares: Callable[[str], bool]


class LatestWindows(NamedTuple):
    """The latest windows of the endpoint that a campaign requested most, and of those that are counted with it.

    Attributes:
        endpoint: its path.
        k: requests that a window allows with one token: as the server said last, where it says so.
        d: seconds of a window, likewise.
        begins: when each began, Unix seconds.
        requests: how many were sent in each, with all tokens.
    """

    endpoint: str
    k: int
    d: float
    begins: Sequence[float]
    requests: Sequence[int]


class Spending(NamedTuple):
    """What a campaign requested of an endpoint: how often, for how many mills, and from when to when.

    `posts` were read, or may have been; `refused` requests were answered by a refusal of their token.
    """

    endpoint: str
    requests: int
    mills: int
    began: str
    last: str
    posts: int
    refused: int


FindRule = Callable[[Mapping[str, Any], str], WindowRule | None]


def read_spending(connection: Connection, campaign: int) -> list[Spending]:
    """Return what a campaign requested of each endpoint; called in a transaction."""
    rows = connection.execute(ENDPOINTS, {"campaign": campaign})
    return [Spending(row[0], int(row[1]), int(row[2]), row[3], row[4], int(row[5]), int(row[6])) for row in rows]


def read_latest_windows(
    connection: Connection, campaign: int, spent: Sequence[Spending], find_rule: Callable[[str], WindowRule | None]
) -> LatestWindows | None:
    """Return the latest windows of a campaign; None where nothing was sent, or no rule is known.

    Called in a transaction.

    Args:
        connection: to the database.
        campaign: campaign.id.
        spent: what `read_spending` returns.
        find_rule: returns the rule of an endpoint.
    """
    most = max(spent, key=lambda one: (one.requests, one.endpoint), default=None)
    rule = None if most is None or not most.requests else find_rule(most.endpoint)
    if most is None or rule is None:
        return None
    last = max(parse_time(one.last) for one in spent if rule.shares(one.endpoint))
    rule = _learn_rule(connection, campaign, rule, last)
    since = format_time(max(0.0, last - (WINDOWS + BEFORE) * rule.d))
    rows = connection.execute(SECONDS, {"campaign": campaign, "since": since})
    sent = [(parse_time(f"{second}Z"), count) for second, endpoint, count in rows if rule.shares(endpoint)]
    windows = [*_split(_skip_broken(sent, rule), rule)][-WINDOWS:]
    begins, requests = ([one[end] for one in windows] for end in (0, 1))
    return LatestWindows(most.endpoint, rule.k, rule.d, begins, [int(count) for count in requests])


def _learn_rule(connection: Connection, campaign: int, rule: WindowRule, last: float) -> WindowRule:
    """Return a rule with the limit and the length that the server's latest answers tell, where these are smaller."""
    asked = {"campaign": campaign, "since": format_time(max(0.0, last - BEFORE * rule.d)), "rows": ANSWERS}
    answers = (parse_headers(row[1]) for row in connection.execute(HEADERS, asked) if rule.shares(row[0]))
    told = [
        (date, min(own, key=lambda limit: limit.left))
        for date, limits in answers
        if (own := [limit for limit in limits if not limit.daily and limit.most > 0])
    ]
    if not told:
        return rule
    # The first request of a window is answered with all of its length to come.
    whole = [limit.resets - date for date, limit in told if date is not None and limit.left == limit.most - 1]
    length = median_low(whole) if whole and not rule.is_aligned else rule.d
    is_shorter = 0 < length < rule.d - ROUNDING
    return rule._replace(k=min(rule.k, int(told[0][1].most)), d=float(length) if is_shorter else rule.d)


def _skip_broken(sent: Sequence[tuple[float, int]], rule: WindowRule) -> Sequence[tuple[float, int]]:
    """Return the requests from the begin of a window on: the longest pause at the front comes before it."""
    front = [place for place in range(1, len(sent)) if sent[place][0] - sent[0][0] <= BEFORE * rule.d]
    if rule.is_aligned or not front or sent[-1][0] - sent[0][0] <= WINDOWS * rule.d:
        return sent
    pauses = [later[0] - earlier[0] for earlier, later in pairwise(sent[: len(front) + 1])]
    return sent[1 + max(range(len(pauses)), key=pauses.__getitem__) :]


def _split(sent: Iterable[tuple[float, int]], rule: WindowRule) -> Iterable[tuple[float, int]]:
    """Yield when each window began, and how many requests it has: its first one opens it, or the clock does."""
    begin, count = -float("inf"), 0
    for at, many in sent:
        if at - begin >= rule.d:
            if count:
                yield begin, count
            begin, count = (at // rule.d * rule.d if rule.is_aligned else at), 0
        count += many
    if count:
        yield begin, count
