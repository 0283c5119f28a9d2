"""The seeds of a campaign when some were forgotten: their seats stay, their names do not.

A campaign's identity holds its seeds by name. Where one was forgotten, the number of its node stands instead, or None
if there was none: the history goes on naming it, and the campaign file may still name it or not.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, select, update

from socialcrawl.store.erasure.found import Gone
from socialcrawl.store.tables import campaign

Seat = str | int | None
"""A seed: its name; or, once it was forgotten, the number of its node, None if it never had one."""


def unnamed(identity: dict[str, Any], barred: Collection[str], node: Callable[[str], int | None]) -> dict[str, Any]:
    """Settings or an identity whose seeds are without the names in `barred` (lower case); `node` says whose they were.

    Args:
        identity: with `seeds.usernames`; without, it comes back as it is.
        barred: the names forgotten.
        node: the node that a name stood for, None where none is known.
    """
    seeds = identity.get("seeds")
    names = seeds.get("usernames") if isinstance(seeds, dict) else None
    if not names or not any(_is(name, barred) for name in names):
        return identity
    seats = [node(_plain(name)) if _is(name, barred) else name for name in names]
    return identity | {"seeds": {**identity["seeds"], "usernames": seats}}


def same(held: Sequence[Seat], given: Sequence[Seat], barred: Collection[str]) -> bool:
    """Whether a campaign has the same seeds as it had: the forgotten count neither here nor there."""
    left = [name for name in given if isinstance(name, str) and not _is(name, barred)]
    return [name for name in held if isinstance(name, str) and not _is(name, barred)] == left


def seated(connection: Connection, number: int, usernames: Sequence[str], barred: Collection[str]) -> list[str | int]:
    """The seeds of a campaign in their order: names, and nodes where a seed was forgotten; called in a transaction.

    Args:
        connection: the database.
        number: campaign.id.
        usernames: the seeds as the campaign file names them, forgotten ones included or not.
        barred: those of them that were forgotten, in lower case.
    """
    told = connection.execute(select(campaign.c.identity).where(campaign.c.id == number)).scalar_one()
    held = (orjson.loads(told).get("seeds") or {}).get("usernames") or []
    if all(isinstance(seat, str) for seat in held):
        return [name for name in usernames if not _is(name, barred)]
    return [seat for seat in held if seat is not None and not _is(seat, barred)]


def cleared(connection: Connection, gone: Gone) -> set[int]:
    """The campaigns whose seeds were forgotten; their settings and identities name them no more."""
    found = set()
    for row in connection.execute(select(campaign).where(campaign.c.platform == gone.platform)).all():
        values = {}
        for name in ("settings", "identity"):
            told = orjson.loads(getattr(row, name))
            if (new := unnamed(told, gone.names, gone.owners.get)) is not told:
                values[name] = orjson.dumps(new).decode()
        if values:
            connection.execute(update(campaign).where(campaign.c.id == row.id).values(values))
            found.add(int(row.id))
    return found


def _is(name: Seat, barred: Collection[str]) -> bool:
    return isinstance(name, str) and _plain(name) in barred


def _plain(name: Any) -> str:
    return str(name).strip().removeprefix("@").lower()
