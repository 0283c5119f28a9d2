"""The table of campaigns: one is begun, or gone on with when it is still the same."""

from typing import Any

import orjson
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import SettingsError
from socialcrawl.model import iso
from socialcrawl.store.address import of
from socialcrawl.store.erasure.seats import same as same_seeds
from socialcrawl.store.erasure.seats import unnamed
from socialcrawl.store.erasure.tombstones import barred
from socialcrawl.store.tables import campaign as table
from socialcrawl.store.tables import epoch
from socialcrawl.store.trouble import told

LONGEST = 100  # characters of a setting that an error shows


def campaign(connection: Connection, settings: dict[str, Any], identity: dict[str, Any], now: float) -> int:
    """The campaign.id of the campaign named in `settings`, which is begun if it is new.

    Args:
        connection: the database.
        settings: all settings, without secrets.
        identity: those that may not change while it goes on.
        now: Unix seconds.

    Raises:
        SettingsError: the campaign was begun with another identity; the message names what differs.
    """
    try:
        with connection.begin():
            held = connection.execute(select(table).where(table.c.name == settings["name"])).one_or_none()
            gone = _forgotten(connection, settings["source"]["platform"], identity)
            if held is not None:
                before = orjson.loads(held.identity)
                if same_seeds(_seeds(before), _seeds(identity), gone):
                    before = before | {"seeds": before.get("seeds", {}) | {"usernames": _seeds(identity)}}
                _same(settings["name"], before, identity)
                return int(held.id)
            settings, identity = (unnamed(told, gone, lambda _: None) for told in (settings, identity))
            values = {
                "name": settings["name"],
                "platform": settings["source"]["platform"],
                "seed": settings["seed"],
                "settings": orjson.dumps(settings).decode(),
                "identity": orjson.dumps(identity).decode(),
                "created_at": iso(now),
            }
            number = int(connection.execute(insert(table).values(values).returning(table.c.id)).scalar_one())
            connection.execute(insert(epoch).values(campaign=number, number=0, first=0, began_at=iso(now), why="begun"))
            return number
    except DBAPIError as error:
        raise told(error, of(connection)) from error


def _seeds(identity: dict[str, Any]) -> list[Any]:
    return list(identity.get("seeds", {}).get("usernames") or [])


def _forgotten(connection: Connection, platform: str, identity: dict[str, Any]) -> set[str]:
    """Those of the seeds, by name in lower case, that were forgotten: they are written nowhere again."""
    names = [str(name).strip().removeprefix("@").lower() for name in _seeds(identity)]
    return barred(connection, platform, "name", names)


def _same(name: str, held: dict[str, Any], given: dict[str, Any]) -> None:
    differ = "; ".join(_differ(held, given))
    if differ:
        raise SettingsError(
            f"The campaign {name!r} was begun in this database with other settings: {differ}. "
            "Put them back to go on with it, or choose another name or database for a new campaign."
        )


def _differ(held: dict[str, Any], given: dict[str, Any]) -> list[str]:
    found = []
    for key, value in given.items():
        before = held.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            found += [
                f"[{key}] {part} was {_brief(before.get(part))}" for part in value if value[part] != before.get(part)
            ]
        elif value != before:
            found.append(f"{key} was {_brief(before)}")
    return found


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
