"""Accounts get their numbers here: who is whom by platform id, by username, or newly seen.

Called inside the transaction that stores the page, so that a number is never given twice, whoever else writes.
A platform id is for ever; usernames change hands. An account that is known by name only (a seed that was typed, a
mention without id) is taken over by the first id that comes with that name.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, func, select

from socialcrawl.model import AccountRow, Who
from socialcrawl.store.bulk import Bulk, inserting, updating
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
        self._by_id: dict[str, int] = {}
        self._by_handle: dict[str, int] = {}
        self._nameless: set[int] = set()
        self._insert = Bulk(connection, inserting(account, NEW), NEW)
        self._profile = Bulk(connection, updating(account, PROFILE, "node"), (*PROFILE, "the_key"))
        self._adopt = Bulk(connection, updating(account, ("platform_id",), "node"), ("platform_id", "the_key"))
        names = ("username", "handle")
        self._name = Bulk(connection, updating(account, names, "node"), (*names, "the_key"))

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
        self._recall_ids([who for who in whos if who.id is not None])
        self._recall_names([who for who in whos if who.id is None])
        self._admit(whos, now)
        return {who: self._of(who) for who in whos}

    def profiles(self, rows: Sequence[AccountRow], now: str) -> dict[int, str]:
        """Store profiles; the accounts that turn out to be another one, as {node: "same-as:<node>"}."""
        numbers = self.number([Who(row.id, row.username) for row in rows], now)
        same: dict[int, str] = {}
        changed = []
        for row in rows:
            node, handle = numbers[Who(row.id, row.username)], row.username.lower()
            changed.append((*row, handle, now, node))
            same |= dict.fromkeys(self._claims([handle], node), f"same-as:{node}")
            self._by_handle[handle] = node
            self._nameless.discard(node)
        self._profile.run(changed)
        return same

    def _of(self, who: Who) -> int:
        return self._by_id[who.id] if who.id is not None else self._by_handle[(who.username or "").lower()]

    def _recall_ids(self, whos: Sequence[Who]) -> None:
        """Look up ids that are not remembered; what is still unknown may be known by name only."""
        unknown = [who for who in whos if who.id not in self._by_id]
        if not unknown:
            return
        columns = select(account.c.platform_id, account.c.node, account.c.handle)
        by_id = columns.where(account.c.platform == self.platform, account.c.platform_id.in_([w.id for w in unknown]))
        for key, node, handle in self.connection.execute(by_id):
            self._by_id[key] = node
            if handle is None:
                self._nameless.add(node)
            else:
                self._by_handle.setdefault(handle, node)
        named = {who.username.lower(): who for who in unknown if who.username and who.id not in self._by_id}
        for handle, node in self._named_only(list(named)):
            self._adopt.run([(named[handle].id, node)])
            self._by_id[str(named[handle].id)] = self._by_handle[handle] = node

    def _recall_names(self, whos: Sequence[Who]) -> None:
        handles = [h for who in whos if (h := (who.username or "").lower()) not in self._by_handle]
        if not handles:
            return
        # Of several accounts that once had the name, the one seen with it last has it.
        latest = select(account.c.handle, account.c.node).where(
            account.c.platform == self.platform, account.c.handle.in_(handles)
        )
        for handle, node in self.connection.execute(latest.order_by(account.c.profile_at, account.c.node)):
            self._by_handle[handle] = node

    def _admit(self, whos: Sequence[Who], now: str) -> None:
        """Store the accounts that are new, and names of accounts that had none."""
        fresh: list[tuple[int, str, str | None, str | None, str | None, str]] = []
        following = -1
        for who in sorted(whos, key=lambda who: who.id is None):
            handle = who.username.lower() if who.username else None
            node = self._by_id.get(who.id) if who.id is not None else self._by_handle.get(handle or "")
            if node is None:
                following = self._next() if following < 0 else following + 1
                node = following
                fresh.append((node, self.platform, who.id, who.username, handle, now))
                if handle is None:
                    self._nameless.add(node)
            elif handle and node in self._nameless:
                self._name.run([(who.username, handle, node)])
                self._nameless.discard(node)
            else:
                continue
            self._remember(node, who.id, handle)
        self._insert.run(fresh)

    def _remember(self, node: int, key: str | None, handle: str | None) -> None:
        if key is not None:
            self._by_id[key] = node
        if handle is not None:
            self._by_handle[handle] = node

    def _next(self) -> int:
        highest = self.connection.execute(select(func.max(account.c.node))).scalar()
        return 0 if highest is None else int(highest) + 1

    def _named_only(self, handles: Sequence[str]) -> list[tuple[str, int]]:
        if not handles:
            return []
        found = select(account.c.handle, account.c.node).where(
            account.c.platform == self.platform, account.c.handle.in_(handles), account.c.platform_id.is_(None)
        )
        return [(handle, node) for handle, node in self.connection.execute(found)]

    def _claims(self, handles: Sequence[str], node: int) -> list[int]:
        return [other for _, other in self._named_only(handles) if other != node]
