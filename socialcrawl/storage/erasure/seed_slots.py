"""The seeds of a campaign when some were forgotten: their slots stay, their names do not.

A campaign's identity holds its seeds by name. Where one was forgotten, or left out of the campaign file after it was
asked, the number of its node stands instead, or None if there was none: the history goes on naming it. A campaign file
may still name the forgotten, or not.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, select, update

from socialcrawl.storage.erasure.dry_run import carry_out
from socialcrawl.storage.erasure.targets import ErasureTargets
from socialcrawl.storage.schema.tables import campaign, version

NAMING = {"seeds": ("usernames",), "accounts": ("exclude", "include")}  # settings that name accounts
SeedSlot = str | int | None
"""A seed: its name; or, once it was forgotten, the number of its node, None if it never had one."""


def remove_names(
    identity: dict[str, Any], barred: Collection[str], node: Callable[[str], int | None]
) -> dict[str, Any]:
    """Return settings or an identity without the names in `barred` (lower case), in seeds and in excluded accounts.

    Args:
        identity: with `seeds.usernames`, `accounts.exclude`, `accounts.include`; without names it comes back as it is.
        barred: the names forgotten.
        node: the node that a name stood for, None where none is known.
    """
    for section, lists in NAMING.items():
        values = identity.get(section)
        for key in lists if isinstance(values, dict) else ():
            names = identity[section].get(key) or []
            if any(_is_barred(name, barred) for name in names):
                slots = [node(_normalize_name(name)) if _is_barred(name, barred) else name for name in names]
                left = slots if section == "seeds" else keep_allowed(names, barred)
                identity = identity | {section: {**identity[section], key: left}}
    return identity


def keep_allowed(names: Sequence[SeedSlot], barred: Collection[str]) -> list[SeedSlot]:
    """Return the names that were not forgotten, in their order."""
    return [name for name in names if not _is_barred(name, barred)]


def list_names(identity: dict[str, Any]) -> list[str]:
    """Return all names of settings or an identity, in lower case."""
    sections = ((identity.get(section), lists) for section, lists in NAMING.items())
    lists = (part.get(key) or [] for part, keys in sections if isinstance(part, dict) for key in keys)
    return [_normalize_name(name) for names in lists for name in names if isinstance(name, str)]


def has_same_seeds(held: Sequence[SeedSlot], given: Sequence[SeedSlot], barred: Collection[str]) -> bool:
    """Return whether a campaign has the seeds it had, in whatever order: the forgotten count neither here nor there."""
    return _map_names(held, barred).keys() == _map_names(given, barred).keys()


def reassign_slots(
    held: Sequence[SeedSlot], given: Sequence[str], barred: Collection[str], last: int, node: Callable[[str], int]
) -> list[SeedSlot]:
    """Return the seed slots of a campaign whose file names other seeds now: those that were taken keep their places.

    New names come after them. A name that is left out leaves its node in its slot, as the history goes on naming it.

    Args:
        held: the slots so far.
        given: the names of the file.
        barred: the names forgotten.
        last: of `held`, the place of the last one that was ever picked; -1 where none was. Whoever is left out after it
            leaves no slot.
        node: whose slot a name is.
    """
    names, had = _map_names(given, barred), _map_names(held, barred)
    left: list[SeedSlot] = []
    for place, slot in enumerate(held):
        if not isinstance(slot, str) or _normalize_name(slot) in names:
            left.append(slot)
        elif place <= last and not _is_barred(slot, barred):
            left.append(node(slot))
    return [*left, *(name for plain, name in names.items() if plain not in had)]


def read_seeds(
    connection: Connection, number: int, usernames: Sequence[str], barred: Collection[str]
) -> list[str | int]:
    """Return the seeds of a campaign in their order: names, and nodes where a seed has no name any more.

    Called in a transaction.

    Args:
        connection: the database.
        number: campaign.id.
        usernames: the seeds as the campaign file names them, forgotten ones included or not.
        barred: those of them that were forgotten, in lower case.
    """
    identity = connection.execute(select(campaign.c.identity).where(campaign.c.id == number)).scalar_one()
    held = (orjson.loads(identity).get("seeds") or {}).get("usernames") or []
    names, had = _map_names(usernames, barred), _map_names(held, barred)
    left = [slot for slot in held if slot is not None and (isinstance(slot, int) or _normalize_name(slot) in names)]
    return [*left, *(name for name in usernames if not _is_barred(name, barred) and _normalize_name(name) not in had)]


def clear_seeds(connection: Connection, gone: ErasureTargets) -> set[int]:
    """Return the campaigns whose seeds were forgotten; their settings and identities name them no more."""
    found = set()
    for row in connection.execute(select(campaign).where(campaign.c.platform == gone.platform)).all():
        values = {}
        for name in ("settings", "identity"):
            old = orjson.loads(getattr(row, name))
            if (new := remove_names(old, gone.names, gone.owners.get)) is not old:
                values[name] = orjson.dumps(new).decode()
        if values:
            carry_out(connection, update(campaign).where(campaign.c.id == row.id).values(values))
            found.add(int(row.id))
        _clear_versions(connection, int(row.id), gone)
    return found


def _clear_versions(connection: Connection, number: int, gone: ErasureTargets) -> None:
    for one in connection.execute(select(version).where(version.c.campaign == number)).all():
        values = orjson.loads(one.settings)
        if (new := remove_names(values, gone.names, gone.owners.get)) is not values:
            mine = (version.c.campaign == number) & (version.c.number == one.number)
            carry_out(connection, update(version).where(mine).values(settings=orjson.dumps(new).decode()))


def _map_names(slots: Sequence[SeedSlot], barred: Collection[str]) -> dict[str, str]:
    """Return the names of slots that were not forgotten, by their plain form."""
    found: dict[str, str] = {}
    for slot in slots:
        if isinstance(slot, str) and not _is_barred(slot, barred):
            found.setdefault(_normalize_name(slot), slot)
    return found


def _is_barred(name: SeedSlot, barred: Collection[str]) -> bool:
    return isinstance(name, str) and _normalize_name(name) in barred


def _normalize_name(name: Any) -> str:
    return str(name).strip().removeprefix("@").lower()
