"""A campaign as its database has it, compared before and after a change of its file."""

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, select

from socialcrawl.storage.retopic import TopicTotals, measure_topic
from socialcrawl.storage.schema.tables import campaign
from socialcrawl.storage.versions import Version, find_topic_starts, iterate_leaves, read_versions

SEEDS = "seeds.usernames"  # the setting whose names also come from files


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting of the campaign file that differs from those of the last run.

    Attributes:
        setting: its dotted key.
        before, now: its values; equal where a file that it names has other content.
    """

    setting: str
    before: Any
    now: Any


@dataclass(frozen=True, slots=True)
class ChangeState:
    """What a change of a campaign file may change.

    Attributes:
        version: its latest settings.
        names: its seeds that are named.
        topics: how many topics it has had after the first.
        totals: what matches its topic.
    """

    version: Version
    names: list[str]
    topics: int
    totals: TopicTotals


def read_state(connection: Connection, name: str) -> ChangeState | None:
    """Return the state of a campaign; None: it has not begun."""
    with connection.begin():
        row = connection.execute(select(campaign).where(campaign.c.name == name)).one_or_none()
        if row is None:
            return None
        known = read_versions(connection, row.id)
        slots = (orjson.loads(row.identity).get("seeds") or {}).get("usernames") or []
        return ChangeState(
            known[-1] if known else Version(0, row.created_at, 0, orjson.loads(row.settings), []),
            [slot for slot in slots if isinstance(slot, str)],
            len(find_topic_starts(connection, row.id)),
            measure_topic(connection, row.id),
        )


def list_changes(before: ChangeState, after: ChangeState) -> list[SettingChange]:
    """Return the settings that the latest version changed; none where no version was added."""
    if after.version.number == before.version.number:
        return []
    old, new = (dict(iterate_leaves(one.version.settings)) for one in (before, after))
    old[SEEDS], new[SEEDS] = before.names, after.names
    return [SettingChange(key, old.get(key), new.get(key)) for key in after.version.changed]
