"""Accounts get their numbers here: who is whom by platform id, by username, or newly seen.

Called inside the transaction that stores the page, so that a number is never given twice, even with several writers.
A platform id is for ever; usernames change hands. An account that is known by name only (a seed that was typed, a
mention without id) is taken over by the first id that comes with that name. A name refers to the account with an id
that was seen with it last; the database says which, the memory only repeats it.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, func, literal_column, select

from socialcrawl.engine.model import AccountRow, Node, SameAs, Who
from socialcrawl.platforms.facts import list_platform_facts
from socialcrawl.storage.database.bulk import Lookup, make_insert, make_update, match_keys
from socialcrawl.storage.schema.tables import account

REMEMBERED = 500_000  # accounts kept in memory; beyond, the memory starts anew
NEW = ("node", "platform", "platform_id", "username", "handle", "first_seen_at")
PROFILE = (
    "platform_id", "username", "name", "description", "created_at", "followers", "following", "posts", "listed",
    "protected", "verified", "url", "handle", "profile_at",
)  # fmt: skip


def parse_account(name: str) -> Who:
    """Return the account that a person names: by its username, or by an id that says itself that it is one.

    The address of a page is its name too.
    """
    for facts in list_platform_facts():
        if name.startswith(facts.id_starts):
            return Who(name, name if facts.pages else None)
    return Who(None, name)


class Nodes:
    """The numbers of the accounts of one platform, looked up in bulk and remembered."""

    def __init__(self, connection: Connection, platform: str) -> None:
        self.connection, self.platform = connection, platform
        self._by_id: dict[str | None, int] = {}
        self._by_handle: dict[str, int] = {}
        self._nameless: set[int] = set()
        self._looked_at = 200  # accounts at which a server's statistics are renewed
        self._insert = make_insert(connection, account, NEW)
        self._profile = make_update(connection, account, PROFILE, "node")
        self._claim = make_update(connection, account, ("platform_id",), "node")
        self._name = make_update(connection, account, ("username", "handle"), "node")
        ours = account.c.platform == literal_column(f"'{platform}'")
        by_id = select(account.c.platform_id, account.c.node, account.c.handle).where(
            ours, match_keys(connection, account.c.platform_id)
        )
        by_name = select(account.c.handle, account.c.node, account.c.platform_id).where(
            ours, match_keys(connection, account.c.handle)
        )
        self._ids = Lookup(connection, by_id)
        # Of several accounts that have a name: one with an id, the one seen with it last, the first one. It comes last.
        rank = (account.c.platform_id.is_not(None), account.c.profile_at.nulls_first(), account.c.node.desc())
        self._names = Lookup(connection, by_name.order_by(*rank))
        self._highest = str(select(func.max(account.c.node)).compile(dialect=connection.dialect))

    def forget(self) -> None:
        """Empty the memory, after a transaction that failed."""
        self._by_id.clear()
        self._by_handle.clear()
        self._nameless.clear()

    def number(self, everyone: Iterable[Who], now: str) -> dict[Who, int]:
        """Return the number of each account; unknown ones are stored with the next numbers, first seen at `now`."""
        if len(self._by_id) + len(self._by_handle) > REMEMBERED:
            self.forget()
        whos = list(dict.fromkeys(everyone))
        strange = [who for who in whos if self._by_id.get(who.id, -1) < 0]  # most of a page is known by id
        # Those with an id first: names may refer to them.
        self._recall_ids([who for who in strange if who.id is not None])
        self._admit([who for who in strange if who.id is not None], now)
        if self._nameless:
            self._store_names(whos)
        named = [who for who in strange if who.id is None]
        self._recall_names(named)
        self._admit(named, now)
        return {who: self._get_number(who) for who in whos}

    def store_profiles(self, rows: Sequence[AccountRow], now: str) -> dict[int, SameAs]:
        """Store profiles; return the nodes that turned out to be another one."""
        numbers = self.number([Who(row.id, row.username) for row in rows], now)
        for _, _, before in self._ids.fetch_rows([row.id for row in rows]):
            self._by_handle.pop(before, None)
        by_handle: dict[str, int] = {}
        changed = []
        for row in rows:
            node, handle = numbers[Who(row.id, row.username)], row.username.lower()
            changed.append((*row, handle, now, node))
            by_handle[handle] = node
            self._by_handle.pop(handle, None)
            self._nameless.discard(node)
        claims = self.find_claims(by_handle)
        self._profile.run(changed)
        return claims

    def find_claims(self, by_handle: Mapping[str, int]) -> dict[int, SameAs]:
        """Return the nodes known only by a name that another has, with that one; `by_handle` says whose a name is."""
        claims = [(handle, claim) for handle, claim, key in self._names.fetch_rows(list(by_handle)) if key is None]
        return {claim: SameAs(Node(by_handle[handle])) for handle, claim in claims if claim != by_handle[handle]}

    def find_known(self, ids: Sequence[str]) -> list[int]:
        """Return the numbers of those accounts of some platform ids that are known."""
        return [node for _, node, _ in self._ids.fetch_rows(ids)]

    def find_by_name(self, handles: Sequence[str]) -> dict[str, int]:
        """Return the first account of each name, in lower case, that was stored by this name and has no id still."""
        found = sorted((node, handle) for handle, node, key in self._names.fetch_rows(handles) if key is None)
        return {handle: node for node, handle in reversed(found)}

    def find_enlisted(self, names: Sequence[str], now: str) -> dict[str, Node]:
        """Return the nodes of accounts that a person names, by these names; see `SqlStore.enlist`."""
        whos = {name: parse_account(name) for name in names}
        numbers = self.number(whos.values(), now)
        claims = self.find_by_name([name.lower() for name in names])
        return {name: Node(claims.get(name.lower(), numbers[who])) for name, who in whos.items()}

    def _get_number(self, who: Who) -> int:
        return self._by_id[who.id] if who.id is not None else self._by_handle[_normalize_handle(who)]

    def _recall_ids(self, whos: Sequence[Who]) -> None:
        """Look up ids that are not remembered; what is still unknown may be known by name only."""
        unknown = [who for who in whos if who.id not in self._by_id]
        if not unknown:
            return
        for key, node, handle in self._ids.fetch_rows([who.id for who in unknown]):
            self._by_id[key] = node
            if handle is None:
                self._nameless.add(node)
        named = [who for who in unknown if who.username and who.id not in self._by_id]
        holders = {
            handle: (node, key)
            for handle, node, key in self._names.fetch_rows([_normalize_handle(who) for who in named])
        }
        free = {handle: node for handle, (node, key) in holders.items() if key is None}
        for who in named:
            if who.id not in self._by_id and (handle := _normalize_handle(who)) in free:
                self._by_id[who.id] = free.pop(handle)
                self._claim.run([(who.id, self._by_id[who.id])])

    def _recall_names(self, whos: Sequence[Who]) -> None:
        for handle, node, _ in self._names.fetch_rows(
            [h for who in whos if (h := _normalize_handle(who)) not in self._by_handle]
        ):
            self._by_handle[handle] = node

    def _admit(self, whos: Sequence[Who], now: str) -> None:
        """Store the accounts that are still unknown."""
        fresh: list[tuple[int, str, str | None, str | None, str | None, str]] = []
        following = -1
        for who in whos:
            handle = _normalize_handle(who) or None
            if (who.id in self._by_id) if who.id is not None else (handle in self._by_handle):
                continue
            following = self._find_next() if following < 0 else following + 1
            fresh.append((following, self.platform, who.id, who.username, handle, now))
            if who.id is not None:
                self._by_id[who.id] = following
                if handle is None:
                    self._nameless.add(following)
                else:
                    self._by_handle.pop(handle, None)
            elif handle is not None:
                self._by_handle[handle] = following
        self._insert.run(fresh)
        if following >= self._looked_at:
            self._look(following)

    def _look(self, highest: int) -> None:
        """Let a server see how full the table is: else it looks once a minute, and plans for an empty one till then."""
        self._looked_at = 4 * highest
        if self.connection.dialect.name == "postgresql":
            self.connection.exec_driver_sql("analyze account")

    def _store_names(self, whos: Sequence[Who]) -> None:
        """Give accounts that were known by id only the name that now came with it."""
        for who in whos:
            if who.username and who.id is not None and (node := self._by_id[who.id]) in self._nameless:
                self._name.run([(who.username, _normalize_handle(who), node)])
                self._nameless.discard(node)
                self._by_handle.pop(_normalize_handle(who), None)

    def _find_next(self) -> int:
        highest = self.connection.exec_driver_sql(self._highest).scalar()
        return 0 if highest is None else int(highest) + 1


def _normalize_handle(who: Who) -> str:
    return (who.username or "").lower()
