"""The epochs of a campaign, and its settings each time they changed.

An epoch is a span in which the topic and the history did not change. A version says which settings were in force when
a pick was decided.
"""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, delete, func, insert, inspect, select

from socialcrawl.storage.database.connection import read_unlocked
from socialcrawl.storage.schema.tables import campaign as campaigns
from socialcrawl.storage.schema.tables import epoch, pick, standing, version

RUNNING = "forget,running"  # why an epoch began whose campaign ran on with what it knew
TOPIC = "topic"  # what an epoch says of itself that began with another topic
FOLLOWED = "follow"  # what an epoch says of itself, beside "crawl", that began as the best shadow took over
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
        why: what changed, joined by commas: topic, seeds, crawl, track, accounts, forget, retain, running, follow.
        now: the instant, ISO 8601.
    """
    number = 0
    for campaign in sorted(campaigns):
        if why == RUNNING and find_last_reason(connection, campaign) == RUNNING:
            continue  # it has gone on since with what it knew then
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


def find_last_reason(connection: Connection, campaign: int) -> str:
    """Return why a campaign's last epoch began; called in a transaction."""
    query = select(epoch.c.why).where(epoch.c.campaign == campaign).order_by(epoch.c.number.desc()).limit(1)
    return str(connection.execute(query).scalar() or "")


def end_running_epoch(connection: Connection, campaign: int, now: str) -> None:
    """Begin an epoch for a campaign that is opened after something was erased while it ran; in a transaction."""
    if find_last_reason(connection, campaign) == RUNNING:
        begin_epochs(connection, [campaign], RUNNING.partition(",")[0], now)


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


def list_followed(connection: Connection, campaign: int) -> list[tuple[int, str]]:
    """Return the first pick.n and the beginning of each epoch in which a shadow took over; called in a transaction."""
    query = select(epoch.c.first, epoch.c.began_at, epoch.c.why).where(epoch.c.campaign == campaign)
    rows = connection.execute(query.order_by(epoch.c.number))
    return [(int(first), str(at)) for first, at, why in rows if FOLLOWED in why.split(",")]


PLACES = ("database", "topic.model", "seeds.file", "source.policy")
"""Paths begin where a program was started: their ends count."""
NAMES = "seeds.usernames"


class Version(NamedTuple):
    """The settings in force from pick.n `first` on: the number of the version, since when, and the keys that changed.

    Keys are dotted, as `topic.keywords`, and sorted.
    """

    number: int
    at: str
    first: int
    settings: dict[str, Any]
    changed: list[str]


def read_versions(connection: Connection, campaign: int) -> list[Version]:
    """Return all versions of a campaign, the oldest first; called in a transaction."""
    rows = connection.execute(select(version).where(version.c.campaign == campaign).order_by(version.c.number))
    return [
        Version(row.number, row.at, row.first, orjson.loads(row.settings), orjson.loads(row.changed)) for row in rows
    ]


def find_estimator(connection: Connection, campaign: int, crawl: Mapping[str, Any]) -> dict[str, Any]:
    """Return the estimator and the shadows of a campaign, whose file has the section `crawl`; in a transaction.

    They are those of the file, unless the campaign has followed a shadow since the file last named another estimator.
    """
    named = {"estimator": crawl["estimator"], "shadows": crawl["shadows"]}
    followed = list_followed(connection, campaign)
    if not followed:
        return named
    known = read_versions(connection, campaign)
    given = current = ""  # the estimator that the file named last; the one that steers
    for one in known:
        estimator = one.settings["crawl"]["estimator"]
        if estimator != current and (one.first, one.at) not in followed:
            given = estimator
        current = estimator
    if crawl["estimator"] != given or current not in crawl["shadows"]:
        return named
    held = known[-1].settings["crawl"]["shadows"]
    if {*held} == {given, *crawl["shadows"]} - {current}:
        return {"estimator": current, "shadows": held}
    return {"estimator": current, "shadows": replace_name(crawl["shadows"], current, given)}


def replace_name(names: Iterable[str], before: str, after: str) -> list[str]:
    """Return names, one of them replaced."""
    return [after if name == before else name for name in names]


def read_latest_settings(connection: Connection, name: str) -> dict[str, Any] | None:
    """Return the settings with which a campaign was run last, by its name; None: it is not in the database."""
    known = select(version.c.settings).join(campaigns, campaigns.c.id == version.c.campaign)
    with read_unlocked(connection):
        found = connection.execute(known.where(campaigns.c.name == name).order_by(version.c.number.desc())).scalar()
    return None if found is None else orjson.loads(found)


def has_versions(connection: Connection) -> bool:
    """Return whether a database keeps versions of settings: older ones do not."""
    return inspect(connection).has_table(version.name)


def find_version(known: Iterable[Version], n: int) -> Version:
    """Return the version under which pick `n` was, or would be, decided; `known` are all, the oldest first."""
    return [one for number, one in enumerate(known) if one.first <= n or not number][-1]


def store_changes(
    connection: Connection, campaign: int, settings: dict[str, Any], now: str, also: Iterable[str] = ()
) -> list[str]:
    """Return the keys of the settings that changed since the last version; where any did, a new one is stored.

    Args:
        connection: the database, in a transaction.
        campaign: campaign.id.
        settings: all of them, without secrets.
        now: the instant, ISO 8601.
        also: keys that changed without a trace in the settings, as the names in a file of seeds did.
    """
    known = read_versions(connection, campaign)
    if not known:
        query = select(campaigns.c.settings, campaigns.c.created_at).where(campaigns.c.id == campaign)
        held, began = connection.execute(query).one()
        known = [Version(0, began, 0, orjson.loads(held), [])]
        _store_version(connection, campaign, known[0])
    changed = sorted({*compare_settings(known[-1].settings, settings), *also})
    if changed:
        first = find_next_pick(connection, campaign)
        _store_version(connection, campaign, Version(known[-1].number + 1, now, first, settings, changed))
    return changed


def store_first(connection: Connection, campaign: int, settings: dict[str, Any], now: str) -> None:
    """Store the settings with which a campaign begins, in a transaction."""
    _store_version(connection, campaign, Version(0, now, 0, settings, []))


def compare_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys whose settings differ, sorted; a key that is not there is one without a value."""
    old, new = dict(iterate_leaves(before)), dict(iterate_leaves(after))
    return sorted(
        key for key in {*old, *new} if _normalize_value(key, old.get(key)) != _normalize_value(key, new.get(key))
    )


def compare_file(stored: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys in which the settings of a campaign file differ from those that a run stored, sorted.

    A file may leave out the checksum of its model; a run stores it.
    """
    changed = compare_settings(stored, given)
    if not (given.get("topic") or {}).get("model_checksum"):
        changed = [key for key in changed if key != "topic.model_checksum"]
    return changed


def is_empty(value: object) -> bool:
    """Return whether a setting says nothing: None, no text, nothing in a list or table."""
    return value is None or value in ("", [], {})


def _store_version(connection: Connection, campaign: int, one: Version) -> None:
    texts = {"settings": orjson.dumps(one.settings).decode(), "changed": orjson.dumps(one.changed).decode()}
    connection.execute(insert(version).values(one._asdict() | texts | {"campaign": campaign}))


def iterate_leaves(table: Mapping[str, Any], above: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the dotted key and the value of each setting; `above` is what stands before the keys."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from iterate_leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _normalize_value(key: str, value: Any) -> Any:
    """Return a value as it is compared: a forgotten seed has no name any more, but the file may still name it."""
    if key in PLACES and isinstance(value, str):
        return PurePosixPath(value.replace("\\", "/")).name
    if key == NAMES and isinstance(value, list):
        value = [name for name in value if isinstance(name, str)]
    return None if is_empty(value) else value
