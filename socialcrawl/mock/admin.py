"""The mock's own addresses.

/_mock/report tells what it counted, /_mock/faults sets, shows and clears a scenario, /_mock/accounts tells what the
platforms call the accounts of the posts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from socialcrawl.errors import MockError
from socialcrawl.mock.called import Called
from socialcrawl.mock.service import Told
from socialcrawl.mock.stage import Stage

REPORT = "/_mock/report"
FAULTS = "/_mock/faults"
ACCOUNTS = "/_mock/accounts"


class Admin:
    """The answers at these addresses; they need no token and count nowhere.

    Args:
        report: what the server counted.
        stage: where scenarios are played.
        called: what accounts are called.
    """

    def __init__(self, report: Callable[[], Mapping[str, Any]], stage: Stage, called: Called) -> None:
        self._report, self._stage, self._called = report, stage, called

    def answer(self, method: str, path: str, body: bytes, query: Sequence[tuple[str, str]] = ()) -> Told:
        """The answer to a request; errors are sentences."""
        if path == REPORT and method in ("GET", "HEAD"):
            return _told(self._report())
        if path == ACCOUNTS and method in ("GET", "HEAD"):
            return self._accounts(dict(query).get("name"))
        if path != FAULTS or method not in ("GET", "POST", "DELETE"):
            there = f"GET {REPORT}, GET {ACCOUNTS} (?name=NAME), and GET, POST and DELETE {FAULTS}"
            return _told({"error": f"The mock has {there}."}, 404)
        try:
            if method == "POST":
                self._stage.set(_tables(body))
            elif method == "DELETE":
                self._stage.clear()
        except MockError as error:
            return _told({"error": str(error)}, 400)
        return _told(self._stage.report())

    def _accounts(self, name: str | None) -> Told:
        if name is None:
            return _told({"accounts": self._called.first()})
        found = self._called.named(name)
        if found is None:
            return _told({"error": f"No account of the posts is named {name!r}; GET {ACCOUNTS} shows some."}, 404)
        return _told(found)


def _tables(body: bytes) -> Mapping[str, Any]:
    try:
        tables = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MockError(f"The scenario is no JSON: {error}.") from error
    if not isinstance(tables, dict):
        raise MockError('The scenario is no table; give {"seed": 0, "fault": [...]}.')
    return tables


def _told(content: Mapping[str, Any], status: int = 200) -> Told:
    return Told(status, orjson.dumps(content))
