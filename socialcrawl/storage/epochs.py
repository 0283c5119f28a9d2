"""The epochs of a campaign: spans in which its topic and its history did not change."""

from collections.abc import Iterable

from sqlalchemy import Connection, delete, func, insert, select

from socialcrawl.storage.schema.tables import epoch, pick, standing

TOPIC = "topic"  # what an epoch says of itself that began with another topic
ANEW = {TOPIC, "crawl"}  # changes after which earlier scores and values mean something else


def find_next_pick(connection: Connection, campaign: int) -> int:
    """Return the n of a campaign's next pick; called in a transaction."""
    last = select(func.coalesce(func.max(pick.c.n), -1)).where(pick.c.campaign == campaign)
    return int(connection.execute(last).scalar_one()) + 1


def begin_epochs(connection: Connection, campaigns: Iterable[int], why: str, now: str) -> int:
    """Return the number of epochs begun: one for each campaign whose history changed, at its next pick.

    What it knows of accounts (table standing) goes; its next run writes it anew.

    Args:
        connection: the database, in a transaction.
        campaigns: campaign.id of each.
        why: what changed, joined by commas: topic, seeds, crawl, track, accounts, forget, retain.
        now: the instant, ISO 8601.
    """
    number = 0
    for campaign in sorted(campaigns):
        last = select(func.coalesce(func.max(epoch.c.number), -1)).where(epoch.c.campaign == campaign)
        values = {
            "campaign": campaign,
            "number": int(connection.execute(last).scalar_one()) + 1,
            "first": find_next_pick(connection, campaign),
            "began_at": now,
            "why": why,
        }
        connection.execute(insert(epoch).values(values))
        connection.execute(delete(standing).where(standing.c.campaign == campaign))
        number += 1
    return number


def find_topic_starts(connection: Connection, campaign: int) -> list[int]:
    """Return the first pick.n under each new topic of a campaign, in order; none where it has had one topic only.

    Values and links of all picks are those of the last topic; features of picks before it are those of older ones.
    Called in a transaction.
    """
    query = select(epoch.c.first, epoch.c.why).where(epoch.c.campaign == campaign).order_by(epoch.c.number)
    return [int(first) for first, why in connection.execute(query) if TOPIC in why.split(",")]


def find_comparable_start(connection: Connection, campaign: int) -> int:
    """Return the first pick.n of today's topic and way to crawl; called in a transaction."""
    query = select(epoch.c.first, epoch.c.why).where(epoch.c.campaign == campaign)
    return max((int(first) for first, why in connection.execute(query) if ANEW & set(why.split(","))), default=0)
