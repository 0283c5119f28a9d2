"""Tombstones: who and what was forgotten, as hashes, so that it is not collected again.

A source leaves the forgotten alone: they are picks whose outcome is known, and nobody asks the platform.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from hashlib import blake2b

from sqlalchemy import Connection, select

from socialcrawl.engine.model import Act, Node, Outcome, Reason, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation, Source
from socialcrawl.storage.database.bulk import make_insert, make_update, select_by_keys
from socialcrawl.storage.erasure.dry_run import write_rows
from socialcrawl.storage.schema.tables import tombstone

COLUMNS = ("digest", "kind", "why", "at")
SHORT = "short"  # the kind of the short form of a name; it goes only where a post mentions whom it stands for
AGED = "retain"  # why a tombstone was put where a post only became too old


def make_digest(platform: str, kind: str, key: str) -> str:
    """Return the hash of what was forgotten: 32 hexadecimal digits in which nothing can be read.

    Args:
        platform: x, ...
        kind: user (by the platform's id), name (of a user, without regard to case), short (form of a name) or post.
        key: the id or the name.
    """
    exact = key.lower() if kind == "name" else key
    return blake2b(f"{platform}\n{kind}\n{exact}".encode(), digest_size=16).hexdigest()


def has_tombstones(connection: Connection) -> bool:
    """Return whether anything was ever forgotten here."""
    return connection.execute(select(tombstone.c.digest).limit(1)).first() is not None


def find_forgotten(connection: Connection, platform: str, kind: str, keys: Iterable[str]) -> set[str]:
    """Return those of the keys that were forgotten, as they were given; two short statements whatever their number.

    Args:
        connection: the database, in a transaction.
        platform: that of the keys.
        kind: user | name | post.
        keys: ids or names.
    """
    return set(read_reasons(connection, platform, kind, keys))


def read_reasons(connection: Connection, platform: str, kind: str, keys: Iterable[str]) -> dict[str, str]:
    """Return why those of the keys that were forgotten were; see `find_forgotten`."""
    by_key = {key: make_digest(platform, kind, key) for key in keys}
    if not by_key or not has_tombstones(connection):
        return {}
    query = select(tombstone.c.digest, tombstone.c.why)
    rows = select_by_keys(connection, query, tombstone.c.digest, list(dict.fromkeys(by_key.values())))
    why = {row.digest: row.why for row in rows}
    return {key: why[hashed] for key, hashed in by_key.items() if hashed in why}


def put_tombstones(connection: Connection, rows: Sequence[tuple[str, str, str, str]]) -> int:
    """Keep all of (digest, kind, why, at) for ever; return how many of them are new, or say more than before.

    One that is there stays as it was. But what only became too old and now is to be forgotten is forgotten from now on.
    Each digest comes once.
    """
    query = select(tombstone.c.digest, tombstone.c.why)
    known = {
        row.digest: row.why for row in select_by_keys(connection, query, tombstone.c.digest, [row[0] for row in rows])
    }
    raised = [row for row in rows if row[2] != AGED == known.get(row[0])]
    fresh = [row for row in rows if row[0] not in known]
    write_rows(
        make_update(connection, tombstone, ("why", "at"), "digest"), [(why, at, key) for key, _, why, at in raised]
    )
    write_rows(make_insert(connection, tombstone, COLUMNS, "ignore"), fresh)
    return len(raised) + len(fresh)


NOBODY = Who(None, None)  # what a store says of an account of which nothing is left


class SkipForgottenSource:
    """A source behind which the forgotten are not asked: their outcome is `missing`, at once and for nothing.

    Args:
        source: the platform, which is given the other picks.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def width(self, act: Act) -> int:
        """See `protocols.Source.width`."""
        return self.source.width(act)

    def mark(self, at: float) -> str:
        """See `protocols.Source.mark`."""
        return self.source.mark(at)

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """See `protocols.Source.start_conversations`."""
        gone = tuple(pick for pick in batch if accounts.get(pick.node) == NOBODY)
        if not gone:
            return self.source.start_conversations(batch, accounts)
        left = tuple(pick for pick in batch if accounts.get(pick.node) != NOBODY)
        return [_skip_forgotten(gone), *(self.source.start_conversations(left, accounts) if left else ())]


def _skip_forgotten(gone: Batch) -> Generator[Request, Reply, Mapping[int, Outcome]]:
    yield from ()
    return {pick.n: Outcome(pick.n, pick.node, 0.0, missing=Reason.FORGOTTEN) for pick in gone}
