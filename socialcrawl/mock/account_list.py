"""What the platforms of a mock call the accounts of its posts, for those who choose whom to begin with."""

from collections.abc import Callable, Mapping
from functools import cached_property

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.gated_service import MockPlatform
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.world import World

MANY = 100
Naming = Callable[[int], Mapping[str, str]]  # of a row of accounts: what it is called, by the name of the platform


class AccountNames:
    """The names of accounts: `name` as the file writes it, and under each platform's name what it is called there now.

    An account of Bluesky has its DID besides, under `did`.

    Args:
        world: the accounts; None where there are pages only.
        settings: those that the platforms were made with.
        platforms: those that are served, by name.
    """

    def __init__(self, world: World | None, settings: MockSettings, platforms: Mapping[str, MockPlatform]) -> None:
        self._world, self._settings, self._platforms = world, settings, platforms

    def first(self) -> list[dict[str, str]]:
        """Return those of the first 100 accounts in the order of names."""
        return [self._of(row) for _, row in sorted(self._rows.items())[:MANY]]

    def named(self, name: str) -> dict[str, str] | None:
        """Return those of the account with this name in the file, in any case, with or without @.

        None where nobody has it.
        """
        row = self._rows.get(fold_name(name), self._rows.get(fold_name(name.removeprefix("@"))))
        return None if row is None else self._of(row)

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The row of every folded name of the file."""
        return {} if self._world is None else {key: row for row, key in enumerate(self._world.accounts.keys)}

    def _of(self, row: int) -> dict[str, str]:
        assert self._world is not None
        found = {"name": self._world.accounts.shown[row]}
        for naming in self._namings:
            found |= naming(row)
        return found

    @cached_property
    def _namings(self) -> list[Naming]:
        """One for each platform that shows the accounts; their tables are made once somebody asks."""
        if self._world is None:
            return []
        return [
            _NAMINGS[name](self._world, self._settings, one)
            for name, one in self._platforms.items()
            if name in _NAMINGS
        ]


def _name_x(world: World, settings: MockSettings, platform: MockPlatform) -> Naming:
    changes = platform.changes
    assert changes is not None
    return lambda row: {"x": changes.username(row)}


def _name_bluesky(world: World, settings: MockSettings, platform: MockPlatform) -> Naming:
    from socialcrawl.mock.bluesky.identifiers import BlueskyNames  # noqa: PLC0415 - as the platforms, imported where it is wanted
    from socialcrawl.mock.bluesky.service import DOMAIN  # noqa: PLC0415 - as above

    assert platform.changes is not None
    names = BlueskyNames(world, platform.changes, DOMAIN)
    return lambda row: {"bluesky": names.handle(row), "did": names.did(row)}


def _name_mastodon(world: World, settings: MockSettings, platform: MockPlatform) -> Naming:
    from socialcrawl.mock.mastodon.instances import Instances  # noqa: PLC0415 - as above

    assert platform.changes is not None
    instances = Instances(world, settings.home, platform.changes)
    return lambda row: {"mastodon": instances.acct(row, "")}


_NAMINGS: dict[str, Callable[[World, MockSettings, MockPlatform], Naming]] = {
    "x": _name_x,
    "bluesky": _name_bluesky,
    "mastodon": _name_mastodon,
}
