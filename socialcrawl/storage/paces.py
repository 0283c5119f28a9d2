"""The refresh rate that was chosen for a campaign, and what it is chosen by: how long answers took."""

from sqlalchemy import Connection, select, update

from socialcrawl.engine.model import USEFUL, ReplyKind, parse_time
from socialcrawl.storage.database.trouble import convert_errors
from socialcrawl.storage.schema.tables import campaign, request

LATEST = 200  # answers that are looked at


def read_refresh_rate(connection: Connection, number: int) -> int | None:
    """Return the refresh rate that was chosen for the campaign with that id; None: none was yet."""
    with convert_errors(connection), connection.begin():
        found = connection.execute(select(campaign.c.refresh_rate).where(campaign.c.id == number)).scalar_one()
    return None if found is None else int(found)


def keep_refresh_rate(connection: Connection, number: int, rate: int) -> None:
    """Remember the refresh rate that was chosen."""
    with convert_errors(connection), connection.begin():
        connection.execute(update(campaign).where(campaign.c.id == number).values(refresh_rate=rate))


def read_latencies(connection: Connection, number: int) -> list[float]:
    """Return the seconds that the latest answers to a campaign took, oldest first."""
    sent = select(request.c.sent_at, request.c.arrived_at).where(
        request.c.campaign == number, request.c.kind.in_([kind for kind in USEFUL if kind != ReplyKind.HELD])
    )
    with convert_errors(connection), connection.begin():
        rows = connection.execute(sent.order_by(request.c.id.desc()).limit(LATEST)).all()
    return [max(0.0, parse_time(arrived) - parse_time(left)) for left, arrived in reversed(rows)]
