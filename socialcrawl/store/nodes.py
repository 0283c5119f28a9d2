"""Accounts get their numbers here: who is whom by platform id, by username, or newly seen.

Called inside the transaction that stores the page, so that a number is never given twice, whoever else writes.
A platform id is for ever; usernames change hands. An account that is known by name only (a seed that was typed, a
mention without id) is taken over by the first id that comes with that name.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, func, literal_column, select

from socialcrawl.model import AccountRow, Who
from socialcrawl.store.bulk import Bulk, Lookup, among, inserting, updating
from socialcrawl.store.tables import account

REMEMBERED = 500_000  # accounts kept in memory; beyond, the memory starts anew
NEW = ("node", "platform", "platform_id", "username", "handle", "first_seen_at")
PROFILE = (
    "platform_id", "username", "name", "description", "created_at", "followers", "following", "posts", "listed",
    "protected", "verified", "url", "handle", "profile_at",
)  # fmt: skip


class Nodes:
    """The numbers of the accounts of one platform, looked up in bulk and remembered."""

    def __init__(self, connection: Connection, platform: str) -> None:
        self.connection, self.platform = connection, platform
        self._by_id: dict[str | None, int] = {}
        self._by_handle: dict[str, int] = {}
        self._nameless: set[int] = set()
        self._insert = Bulk(connection, inserting(account, NEW), NEW)
        self._profile = Bulk(connection, updating(account, PROFILE, "node"), (*PROFILE, "the_key"))
        self._adopt = Bulk(connection, updating(account, ("platform_id",), "node"), ("platform_id", "the_key"))
        names = ("username", "handle")
        self._name = Bulk(connection, updating(account, names, "node"), (*names, "the_key"))
        ours = account.c.platform == literal_column(f"'{platform}'")
        by_id = select(account.c.platform_id, account.c.node, account.c.handle).where(
            ours, among(account.c.platform_id)
        )
        by_name = select(account.c.handle, account.c.node).where(ours, among(account.c.handle))
        self._ids = Lookup(connection, by_id)
        # Of several accounts that once had a name, the one seen with it last has it.
        self._names = Lookup(connection, by_name.order_by(account.c.profile_at, account.c.node))
        self._unclaimed = Lookup(connection, by_name.where(account.c.platform_id.is_(None)))
        self._highest = str(select(func.max(account.c.node)).compile(dialect=connection.dialect))

    def forget(self) -> None:
        """Empty the memory, after a transaction that failed."""
        self._by_id.clear()
        self._by_handle.clear()
        self._nameless.clear()

    def number(self, everyone: Iterable[Who], now: str) -> dict[Who, int]:
        """The number of each account; unknown ones are stored with the next numbers, first seen at `now`."""
        if len(self._by_id) + len(self._by_handle) > REMEMBERED:
            self.forget()
        whos = list(dict.fromkeys(everyone))
        strange = [who for who in whos if self._by_id.get(who.id, -1) < 0]  # most of a page is known by id
        self._recall_ids([who for who in strange if who.id is not None])
        self._recall_names([who for who in strange if who.id is None])
        self._admit(strange, now)
        if self._nameless:
            self._christen(whos)
        return {who: self._of(who) for who in whos}

    def profiles(self, rows: Sequence[AccountRow], now: str) -> dict[int, str]:
        """Store profiles; the accounts that turn out to be another one, as {node: "same-as:<node>"}."""
        numbers = self.number([Who(row.id, row.username) for row in rows], now)
        by_handle: dict[str, int] = {}
        changed = []
        for row in rows:
            node, handle = numbers[Who(row.id, row.username)], row.username.lower()
            changed.append((*row, handle, now, node))
            by_handle[handle] = node
            self._by_handle[handle] = node
            self._nameless.discard(node)
        claims = self._unclaimed.rows(list(by_handle))
        self._profile.run(changed)
        return {claim: f"same-as:{by_handle[handle]}" for handle, claim in claims if claim != by_handle[handle]}

    def _of(self, who: Who) -> int:
        return self._by_id[who.id] if who.id is not None else self._by_handle[_handle(who)]

    def _recall_ids(self, whos: Sequence[Who]) -> None:
        """Look up ids that are not remembered; what is still unknown may be known by name only."""
        unknown = [who for who in whos if who.id not in self._by_id]
        if not unknown:
            return
        for key, node, handle in self._ids.rows([who.id for who in unknown]):
            self._by_id[key] = node
            if handle is None:
                self._nameless.add(node)
            else:
                self._by_handle.setdefault(handle, node)
        named = {who.username.lower(): who for who in unknown if who.username and who.id not in self._by_id}
        for handle, node in self._unclaimed.rows(list(named)):
            self._adopt.run([(named[handle].id, node)])
            self._by_id[str(named[handle].id)] = self._by_handle[handle] = node

    def _recall_names(self, whos: Sequence[Who]) -> None:
        for handle, node in self._names.rows([h for who in whos if (h := _handle(who)) not in self._by_handle]):
            self._by_handle[handle] = node

    def _admit(self, whos: Sequence[Who], now: str) -> None:
        """Store the accounts that are still unknown; those with an id first, which names may then refer to."""
        fresh: list[tuple[int, str, str | None, str | None, str | None, str]] = []
        following = -1
        for who in sorted(whos, key=lambda who: who.id is None):
            handle = _handle(who) or None
            if (who.id in self._by_id) if who.id is not None else (handle in self._by_handle):
                continue
            following = self._next() if following < 0 else following + 1
            fresh.append((following, self.platform, who.id, who.username, handle, now))
            self._remember(following, who.id, handle)
            if handle is None:
                self._nameless.add(following)
        self._insert.run(fresh)

    def _christen(self, whos: Sequence[Who]) -> None:
        """Give accounts that were known by id only the name that now came with it."""
        for who in whos:
            if who.username and who.id is not None and (node := self._by_id[who.id]) in self._nameless:
                self._name.run([(who.username, _handle(who), node)])
                self._nameless.discard(node)
                self._by_handle[_handle(who)] = node

    def _remember(self, node: int, key: str | None, handle: str | None) -> None:
        if key is not None:
            self._by_id[key] = node
        if handle is not None:
            self._by_handle[handle] = node

    def _next(self) -> int:
        highest = self.connection.exec_driver_sql(self._highest).scalar()
        return 0 if highest is None else int(highest) + 1


def _handle(who: Who) -> str:
    return (who.username or "").lower()
