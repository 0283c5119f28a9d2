"""The mock's own addresses: /_mock/report tells what it counted, /_mock/faults sets, shows and clears a scenario."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from socialcrawl.errors import MockError
from socialcrawl.mock.service import Told
from socialcrawl.mock.stage import Stage

REPORT = "/_mock/report"
FAULTS = "/_mock/faults"


class Admin:
    """The answers at these addresses; they need no token and count nowhere.

    Args:
        report: what the server counted.
        stage: where scenarios are played.
    """

    def __init__(self, report: Callable[[], Mapping[str, Any]], stage: Stage) -> None:
        self._report, self._stage = report, stage

    def answer(self, method: str, path: str, body: bytes) -> Told:
        """The answer to a request; errors are sentences."""
        if path == REPORT and method in ("GET", "HEAD"):
            return _told(self._report())
        if path != FAULTS or method not in ("GET", "POST", "DELETE"):
            return _told({"error": f"The mock has GET {REPORT} and GET, POST and DELETE {FAULTS}."}, 404)
        try:
            if method == "POST":
                self._stage.set(_tables(body))
            elif method == "DELETE":
                self._stage.clear()
        except MockError as error:
            return _told({"error": str(error)}, 400)
        return _told(self._stage.report())


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
