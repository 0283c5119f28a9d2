"""The mock's own addresses.

/_mock/report tells what it counted, /_mock/faults sets, shows and clears a scenario, /_mock/moment does so with the
moment of the file, /_mock/accounts tells what the platforms call the accounts of the posts.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import orjson

from socialcrawl.errors import MockError
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.dataset_clock import FORM, DatasetClock, read_moment
from socialcrawl.mock.gated_service import MockPlatform
from socialcrawl.mock.scenario_state import ScenarioState
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.service import MockResponse
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


REPORT = "/_mock/report"
FAULTS = "/_mock/faults"
ACCOUNTS = "/_mock/accounts"
MOMENT = "/_mock/moment"


class Admin:
    """The answers at these addresses; they need no token and count nowhere.

    Args:
        report: what the server counted.
        stage: where scenarios are played.
        called: what accounts are called.
        moment: which posts exist; None where there are none.
    """

    def __init__(
        self,
        report: Callable[[], Mapping[str, Any]],
        stage: ScenarioState,
        called: AccountNames,
        moment: DatasetClock | None = None,
    ) -> None:
        self._report, self._stage, self._called, self._moment = report, stage, called, moment

    def answer(self, method: str, path: str, body: bytes, query: Sequence[tuple[str, str]] = ()) -> MockResponse:
        """Return the answer to a request; errors are sentences."""
        if path == REPORT and method in ("GET", "HEAD"):
            return _respond(self._report())
        if path == ACCOUNTS and method in ("GET", "HEAD"):
            return self._accounts(dict(query).get("name"))
        if path not in (FAULTS, MOMENT) or method not in ("GET", "POST", "DELETE"):
            there = f"GET {REPORT}, GET {ACCOUNTS} (?name=NAME), and GET, POST and DELETE {FAULTS} and {MOMENT}"
            return _respond({"error": f"The mock has {there}."}, 404)
        try:
            return _respond(self._faults(method, body) if path == FAULTS else self._moments(method, body))
        except MockError as error:
            return _respond({"error": str(error)}, 400)

    def _faults(self, method: str, body: bytes) -> Mapping[str, Any]:
        if method == "POST":
            self._stage.set(_read_tables(body, "scenario", '{"seed": 0, "fault": [...]}'))
        elif method == "DELETE":
            self._stage.clear()
        return self._stage.report()

    def _moments(self, method: str, body: bytes) -> Mapping[str, Any]:
        if self._moment is None:
            raise MockError("The mock serves pages only, and these have no times; give it posts.")
        self._moment.pass_time()
        if method == "POST":
            self._moment.set(*read_moment(_read_tables(body, "moment", FORM)))
        elif method == "DELETE":
            self._moment.clear()
        return self._moment.report()

    def _accounts(self, name: str | None) -> MockResponse:
        if name is None:
            return _respond({"accounts": self._called.first()})
        found = self._called.named(name)
        if found is None:
            return _respond({"error": f"No account of the posts is named {name!r}; GET {ACCOUNTS} shows some."}, 404)
        return _respond(found)


def _read_tables(body: bytes, what: str, form: str) -> Mapping[str, Any]:
    try:
        tables = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MockError(f"The {what} is not valid JSON: {error}.") from error
    if not isinstance(tables, dict):
        raise MockError(f"The {what} is not a table; give {form}.")
    return tables


def _respond(content: Mapping[str, Any], status: int = 200) -> MockResponse:
    return MockResponse(status, orjson.dumps(content))
