"""The mock's own addresses.

/_mock/report tells what it counted, /_mock/faults sets, shows and clears a scenario, /_mock/moment does so with the
moment of the file, /_mock/accounts tells what the platforms call the accounts of the posts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from socialcrawl.errors import MockError
from socialcrawl.mock.account_list import AccountNames
from socialcrawl.mock.dataset_clock import FORM, DatasetClock, read_moment
from socialcrawl.mock.scenario_state import ScenarioState
from socialcrawl.mock.service import MockResponse

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
