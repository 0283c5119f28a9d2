"""Who lives where: a key `name@domain` lives on that domain, every other account on the instance called home."""

import re
from functools import cached_property, lru_cache
from hashlib import blake2b

from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.system.loopback import is_loopback_host

_NAME = re.compile(r"[a-z0-9_]{1,30}")
_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")


class Instances:
    """The instances of a world: which accounts live on each, and the ids that each gives to accounts.

    An id is the account's number in the world, flipped by a key of the instance: other digits on every instance, and
    no table of them. An account whose name no instance would allow has its `World` username; where two keys would be
    one `name@domain`, the later in alphabetical order gets underscores behind it.

    Args:
        world: the accounts.
        home: the domain of accounts that name none.
        changes: what has become of them; a renamed account is no longer found by its old name.

    Attributes:
        domains: the instance of every account.
        known: all instances there are.
    """

    def __init__(self, world: World, home: str, changes: WorldChanges) -> None:
        self.home = home.lower()
        self._accounts, self._changes = world.accounts, changes
        keys = self._accounts.keys
        self.domains = [self.home] * len(keys)
        self._names = [""] * len(keys)
        self._rows: dict[str, int] = {}
        for row in sorted(range(len(keys)), key=keys.__getitem__):
            self._settle(row)
        self.known = frozenset(self.domains) | {self.home}

    def _settle(self, row: int) -> None:
        name, _, domain = self._accounts.keys[row].rpartition("@")
        domain = domain if name and _DOMAIN.fullmatch(domain) else self.home
        if not _NAME.fullmatch(name):
            name = self._accounts.usernames[row].lower()
        while f"{name}@{domain}" in self._rows:
            name += "_"
        self._rows[f"{name}@{domain}"] = row
        self._names[row], self.domains[row] = name, domain

    @cached_property
    def by_key(self) -> dict[str, int]:
        """The row of every account by its folded key, as texts name it."""
        return {key: row for row, key in enumerate(self._accounts.keys)}

    @cached_property
    def alphabetical(self) -> list[tuple[str, int]]:
        """(`name@domain`, row) of every account, ascending; the names are those that the file gave."""
        return sorted(self._rows.items())

    def at(self, host: str) -> str | None:
        """Return the instance that answers at a host; this machine is home, and None is no instance."""
        host = host.lower()
        if host in self.known:
            return host
        return self.home if is_loopback_host(host) else None

    def name(self, row: int) -> str:
        """Return the username that an account has now, lower case, without its domain."""
        if self._changes.version and self._list_renamed(row):
            return self._changes.username(row).lower()
        return self._names[row]

    def first_name(self, row: int) -> str:
        """Return the username under which the account was made, which stays in its `uri` for ever."""
        return self._names[row]

    def url(self, row: int) -> str:
        """Return the address of an account's page."""
        return f"https://{self.domains[row]}/@{self.name(row)}"

    def uri(self, row: int) -> str:
        """Return the name of an account in the whole network, which stays when it is renamed."""
        return f"https://{self.domains[row]}/users/{self._names[row]}"

    def acct(self, row: int, domain: str) -> str:
        """Return the account as an instance names it: the name alone for one of its own."""
        name = self.name(row)
        return name if self.domains[row] == domain else f"{name}@{self.domains[row]}"

    def find(self, acct: str, domain: str) -> int | None:
        """Return the row of the account that an instance knows under `name` or `name@domain`.

        None where there is none.
        """
        name, _, elsewhere = acct.strip().removeprefix("@").lower().partition("@")
        place = elsewhere or domain
        if self._changes.version:
            row = self._changes.row(name)
            if row is not None and self._list_renamed(row) and self.domains[row] == place:
                return row
        row = self._rows.get(f"{name}@{place}")
        return None if row is None or (self._changes.version and self._list_renamed(row)) else row

    def _list_renamed(self, row: int) -> bool:
        return self._changes.username(row) != self._accounts.usernames[row]

    def account_id(self, row: int, domain: str) -> int:
        """Return the id that an instance gives to an account: at most 19 digits, other ones on every instance."""
        return int(self._accounts.ids[row]) ^ make_key(domain)

    def row(self, account_id: str, domain: str) -> int | None:
        """Return the row of the account that has this id on an instance; None where there is none."""
        if not (account_id.isascii() and account_id.isdecimal()):
            return None
        return self._accounts.by_id.get(int(account_id) ^ make_key(domain))


@lru_cache(maxsize=4096)
def make_key(domain: str) -> int:
    """Return the key of an instance: 63 bits that depend on its domain alone."""
    return int.from_bytes(blake2b(domain.encode(), key=b"socialcrawl mastodon", digest_size=8).digest()) >> 1
