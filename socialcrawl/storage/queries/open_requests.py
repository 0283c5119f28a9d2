"""What the ledger says of requests without an answer yet, and of tokens that were refused, in SQL."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from socialcrawl.engine.model import format_time, parse_time

TIMEOUT, DEADLINE = 30.0, 4.0  # seconds for an answer where no settings say it; times that for the whole of it
IN_FLIGHT = """
select count(*), coalesce(sum(most), 0) from request
where campaign = :campaign and sent_at >= :since and arrived_at is null and kind is null
"""
REFUSED = """
select credential, endpoint, status, max(sent_at) from request
where campaign = :campaign and kind = 'refused' group by 1, 2, 3 order by 4 desc, 1, 2
"""
ANSWERED = """
select 1 from request where campaign = :campaign and sent_at > :at and credential = :credential
and kind in ('ok', 'missing') and (endpoint = :endpoint or :everywhere) limit 1
"""


class RequestsInFlight(NamedTuple):
    """Requests that wait for an answer, and the mills that they may cost at most, if somebody runs their campaign."""

    requests: int = 0
    mills: int = 0


class RefusedToken(NamedTuple):
    """A token that a platform refused last, at `at` (ISO 8601): everywhere with status 401, else on this endpoint."""

    credential: str
    endpoint: str
    status: int
    at: str


def count_in_flight(
    connection: Connection, campaign: int, source: Mapping[str, Any], last: str | None
) -> RequestsInFlight:
    """Return what was sent so late that its answer may still come; called in a transaction.

    What a process left behind that was killed counts no more, once others have sent something after its deadline.

    Args:
        connection: to the database.
        campaign: campaign.id.
        source: the section of its settings.
        last: when its latest request was sent, ISO 8601; None: none was.
    """
    if last is None:
        return RequestsInFlight()
    deadline = source.get("deadline") or DEADLINE * (source.get("timeout") or TIMEOUT)
    since = format_time(max(0.0, parse_time(last) - deadline))
    row = connection.execute(text(IN_FLIGHT), {"campaign": campaign, "since": since}).one()
    return RequestsInFlight(int(row[0]), int(row[1]))


def list_refused(connection: Connection, campaign: int) -> list[RefusedToken]:
    """Return the tokens that got no answer since they were refused, the latest first; called in a transaction."""
    found: dict[str, RefusedToken] = {}
    for row in connection.execute(text(REFUSED), {"campaign": campaign}).all():
        one = RefusedToken(row[0], row[1], int(row[2] or 0), row[3])
        given = {**one._asdict(), "campaign": campaign, "everywhere": one.status == 401}
        del given["status"]
        if one.credential not in found and connection.execute(text(ANSWERED), given).first() is None:
            found[one.credential] = one
    return list(found.values())
