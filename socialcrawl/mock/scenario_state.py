"""What a scenario moves while the mock runs: its clock, its accounts and cursors, and the pages that come again."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import draw_numbers, start_stream
from socialcrawl.errors import MockError
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.faults import Fault
from socialcrawl.mock.gated_service import MockPlatform
from socialcrawl.mock.names import LEGAL
from socialcrawl.mock.scenario import FATES, LASTING, PAGING, Scenario, ScenarioRule, read_scenario
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.service import Guest, MockRequest, MockResponse
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import Lifetime, WorldChanges

_PAGES = 1_000  # lists whose last page is remembered


class ScenarioState:
    """The scenario of a mock, and what it acts on.

    Args:
        world: what there is to see; None where that is pages only.
        settings: the scenario and the skew at the start.
        platforms: those that are served, by name.
        time: the time that the server's clock shows, without its skew.
        moment: which posts exist; None where there are none.

    Raises:
        MockError: the scenario names what there is not.
    """

    def __init__(
        self,
        world: World | None,
        settings: MockSettings,
        platforms: Mapping[str, MockPlatform],
        time: Callable[[], float],
        moment: DatasetClock | None = None,
    ) -> None:
        self._world, self._platforms, self._time, self._moment = world, platforms, time, moment
        self._names: Mapping[str, int] = {} if world is None else world.accounts.by_username
        self._began = time()
        self._skew_at_start = self.skew = settings.skew
        self._last: dict[tuple[Any, ...], MockResponse] = {}
        self._set(Scenario({}) if settings.scenario is None else read_scenario(settings.scenario))

    def clock(self) -> float:
        """Return the server's clock, Unix seconds."""
        return self._time() + self.skew

    def set(self, tables: Mapping[str, Any]) -> None:
        """Replace the scenario by another one; times count from the start of the mock.

        Raises:
            MockError: it cannot be.
        """
        self._set(Scenario(tables))

    def _set(self, scenario: Scenario) -> None:
        self._check(scenario)
        self._scenario = scenario
        self._remembers = any(trouble.kind == "repeat" for trouble in scenario.troubles)
        self._last.clear()

    def clear(self) -> None:
        """Remove the scenario; clock and cursors are as at the start again. Accounts stay what they have become."""
        self._set(Scenario({}))
        self.skew = self._skew_at_start
        for changes in self._changes(None):
            changes.expire(None)

    def report(self) -> dict[str, Any]:
        """Return the scenario with its counts."""
        return self._scenario.report()

    def strike(self, platform: MockPlatform, asked: MockRequest) -> tuple[MockRequest, Fault | None]:
        """Return the request, by a clock that may just have changed, and the fault that it meets."""
        if platform.changes is not None:
            platform.changes.tick(asked.now)
        self.pass_time()
        if not self._scenario.troubles:
            return asked, None
        paged = any(name in PAGING for name, _ in asked.query)
        since = self._time() - self._began
        fault = None
        for trouble in self._scenario.strike(platform.name, asked.endpoint, paged=paged, since=since):
            if trouble.kind in LASTING:
                self._change(trouble)
            elif fault is None:
                fault = trouble.fault(platform.name)
        return replace(asked, now=self.clock()), fault

    def pass_time(self) -> None:
        """Move the world to the time of the clock: posts appear, and those whose time has come are deleted."""
        if self._moment is not None:
            self._moment.pass_time()
        for changes in self._changes(None):
            changes.pass_time()

    def strike_message(self, platform: str, endpoint: str) -> ScenarioRule | None:
        """Return the rule that strikes a message of a stream; None where none does."""
        if not self._scenario.has_streams:
            return None
        return self._scenario.strike_message(platform, endpoint, since=self._time() - self._began)

    def _change(self, trouble: ScenarioRule) -> None:
        table = trouble.table
        if trouble.kind == "skew":
            self.skew = table["seconds"]
            return
        for changes in self._changes(trouble.platform):
            if trouble.kind == "expire":
                changes.expire(Lifetime(table.get("seconds"), table.get("requests")))
            elif trouble.kind == "rename":
                changes.rename(self._names[fold_name(table["account"])], table["name"])
            elif trouble.kind == "edit":
                changes.edit(self._posts[table["post"]], table["text"])
            elif trouble.kind == "delete" and "account" not in table:
                changes.delete(self._select_posts(trouble), table.get("seconds", 0.0))
            else:
                changes.become(self._names[fold_name(table["account"])], FATES[trouble.kind])

    def _select_posts(self, trouble: ScenarioRule) -> NDArray[np.int64]:
        """Return the posts (their positions) that a rule deletes: one by its id in the file, or a share of all."""
        assert self._world is not None
        if "post" in trouble.table:
            return np.array([self._posts[trouble.table["post"]]], np.int64)
        start = start_stream(self._scenario.seed, f"deleted {trouble.number}")
        return np.flatnonzero(draw_numbers(start, 0, len(self._world.ids)) < trouble.table["share"])

    @cached_property
    def _posts(self) -> Mapping[str, int]:
        """The position of every post by its id."""
        ids = [] if self._world is None else self._world.ids.tolist()
        return {str(number): post for post, number in enumerate(ids)}

    def _changes(self, name: str | None) -> list[WorldChanges]:
        """Return what has become of the world on the platform of this name, or on each."""
        own = [platform for platform in self._platforms.values() if name in (None, platform.name)]
        return [platform.changes for platform in own if platform.changes is not None]

    def keep(self, platform: MockPlatform, asked: MockRequest, guest: Guest, response: MockResponse) -> MockResponse:
        """Return the same answer, remembered where it may have to come again."""
        if self._remembers and response.status == 200:
            key = _identify_list(platform, asked, guest)
            self._last.pop(key, None)
            self._last[key] = response
            if len(self._last) > _PAGES:
                del self._last[next(iter(self._last))]
        return response

    def find_previous(self, platform: MockPlatform, asked: MockRequest, guest: Guest) -> MockResponse | None:
        """Return the last page that this guest had of the same list, if it leads to the one that is asked for."""
        before = self._last.get(_identify_list(platform, asked, guest))
        return before if before is not None and _leads_to(before, asked) else None

    def _check(self, scenario: Scenario) -> None:
        names: set[str] = set()
        for trouble in scenario.troubles:
            place, table = f"Fault {trouble.number + 1} ({trouble.kind})", trouble.table
            if trouble.platform is not None and trouble.platform not in self._platforms:
                served = ", ".join(self._platforms)
                raise MockError(f"{place} is for the platform {trouble.platform!r}; the mock serves {served}.")
            if "account" in table and fold_name(table["account"]) not in self._names:
                raise MockError(f"{place}: no account of the posts is named {table['account']}; give one that is.")
            if "post" in table and table["post"] not in self._posts:
                raise MockError(f"{place}: there is no post with the id {table['post']}; give that of one, as on X.")
            if trouble.kind == "rename":
                name = fold_name(table["name"])
                if not LEGAL.fullmatch(name) or name in self._names or name in names:
                    raise MockError(
                        f"{place}: {table['name']!r} is taken or no username; give 1 to 15 letters, digits or "
                        "underscores that nobody has."
                    )
                names.add(name)


def _leads_to(response: MockResponse, asked: MockRequest) -> bool:
    """Return whether a page names the next one so: in its body, or in a header such as Link."""
    said = " ".join([response.body.decode("utf-8", "replace"), *response.headers.values()])
    return any(value in said for name, value in asked.query if name in PAGING)


def _identify_list(platform: MockPlatform, asked: MockRequest, guest: Guest) -> tuple[Any, ...]:
    """Return what the pages of one list have in common."""
    own = tuple(pair for pair in asked.query if pair[0] not in PAGING)
    return (platform.name, guest.label, asked.endpoint, tuple(asked.path.items()), own)
