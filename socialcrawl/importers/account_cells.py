"""Who is meant by a cell of a table, on each platform, and on which site that is. Pure."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from socialcrawl.engine.model import Who
from socialcrawl.errors import SettingsError
from socialcrawl.importers.post_columns import ROUNDED
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.platforms.registry import find_platform
from socialcrawl.storage.nodes import parse_account

READINGS = ("auto", "ids", "names")
"""How cells are read: numbers are ids and the rest are names (auto), or all are the one or the other."""
CLUE = " (under [seeds])"  # what a platform says of names in a campaign file


class CellAccounts:
    """The accounts that cells name on a platform.

    Args:
        name: of the platform.
        reading: auto: a number is an id where the platform has such ids, anything else a name; ids; names.
    """

    def __init__(self, name: str, reading: str = "auto") -> None:
        assert reading in READINGS, reading
        self.name, self.reading = name, reading
        self._platform = find_platform(name)

    def find_accounts(self, cells: Sequence[str], reading: str | None = None) -> list[Who | str]:
        """Return the account that each cell names; where it names none, why, for people."""
        reading = reading or self.reading
        plain = [cell.strip() for cell in cells]
        numbered = [self._parse_id(cell, reading) for cell in plain]
        names = [cell for cell, found in zip(plain, numbered, strict=True) if found is None]
        named = iter(self._find_names(names))
        return [next(named) if found is None else found for found in numbered]

    def is_legal(self, cell: str) -> bool:
        """Return whether a cell can name an account in any way."""
        return isinstance(self.find_accounts([cell], "auto")[0], Who)

    def find_site(self, who: Who) -> str:
        """Return the site of an account: the host of a page, the server of a name; "" where there is no such thing."""
        return find_site(self.name, who)

    def _parse_id(self, cell: str, reading: str) -> Who | str | None:
        """Return the account with an id that is no name, or why it is none; None: it is to be read as a name."""
        bare = cell.removeprefix("@")
        if not bare:
            return "it is empty"
        if not self._platform.facts.numeric_ids or reading == "names":
            return None
        if bare.isascii() and bare.isdigit() and bare == cell:
            return Who(bare, None)
        if ROUNDED.fullmatch(bare):
            return f"{bare!r:.60} is an id that was turned into a rounded number: keep ids as text"
        return f"{bare!r:.60} is not an id of {self._platform.title}, which is a number" if reading == "ids" else None

    def _find_names(self, names: Sequence[str]) -> list[Who | str]:
        try:
            return [self._make_account(name) for name in self._platform.parse_names(names)]
        except SettingsError:
            return [self._find_one(name) for name in names]

    def _find_one(self, name: str) -> Who | str:
        try:
            return self._make_account(*self._platform.parse_names([name]))
        except SettingsError as error:
            return str(error).replace(CLUE, "").removesuffix(".")

    def _make_account(self, name: str) -> Who:
        # An account of a federated platform has no other id that all servers know.
        return Who(name, name) if self._platform.facts.federated else parse_account(name)


def find_site(name: str, who: Who) -> str:
    """Return the site of an account of the platform `name`; see `CellAccounts.find_site`."""
    key, facts = who.username or who.id or "", find_platform_facts(name)
    if facts.pages:
        return urlsplit(key).hostname or ""
    return key.rpartition("@")[2].lower() if facts.federated and "@" in key else ""
