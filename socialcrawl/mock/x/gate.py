"""The gate: every limit of the server at once, main windows and rules, and what each has counted.

What becomes of a request, decided after what was seen of X (a 429 with 49 of 50 left in the main window; a day's cap of
10 with 39,989 of 40,000 left, so the refused eleventh was counted in the main window too):

- the main window counts every request that it receives, refused or not, and opens with the first of them;
- a rule counts what is let in by all limits, and as `over` what it had no room for itself;
- so what another limit refuses neither opens a window of a rule nor takes a slot of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from socialcrawl.mock.rate_windows import LimitRule, TokenWindow, TokenWindows
from socialcrawl.mock.x.rule_counts import Tally, make_tally


@dataclass(frozen=True, slots=True)
class Passage:
    """What the gate says of a request.

    Attributes:
        window: the main window in which it was counted; the status of the answer belongs into its `answers`.
        refused: whether a limit has no room for it.
        headers: those of the main window and of all families, as they stood when it arrived.
    """

    window: TokenWindow
    refused: bool
    headers: dict[str, str]


class Gate:
    """All limits of a server.

    Args:
        windows: the main windows of the tokens of each kind.
        rules: the rules besides, by endpoint; each holds for every token on its own, of whatever kind.
    """

    def __init__(self, windows: Mapping[str, TokenWindows], rules: Mapping[str, Sequence[LimitRule]]) -> None:
        self._windows = windows
        self._rules = rules
        self._tallies: dict[tuple[str, str, str], list[Tally]] = {}
        self._over = 0

    def take(self, token: str, who: str, endpoint: str, now: float) -> Passage:
        """Return the passage of a request, counted at the server's second `now`.

        Args:
            token: its label.
            who: its kind, `app` or `user`.
            endpoint: where it goes.
            now: when it came.
        """
        window = self._windows[who].take(token, endpoint, now)
        tallies = self._tallies_of(token, who, endpoint)
        short = [one for one in tallies if one.left(now) < 1]
        refused = window.full or bool(short)
        self._over += refused
        for one in short:
            one.refuse(now)
        if not refused:
            for one in tallies:
                one.let_in(now)
        headers = window.headers()
        for one in tallies:
            headers |= one.headers(now)
        return Passage(window, refused, headers)

    def _tallies_of(self, token: str, who: str, endpoint: str) -> list[Tally]:
        if endpoint not in self._rules:
            return []
        key = (token, who, endpoint)
        if key not in self._tallies:
            self._tallies[key] = [make_tally(rule) for rule in self._rules[endpoint]]
        return self._tallies[key]

    def report(self) -> dict[str, Any]:
        """Return the counts as plain values for JSON: `windows` in the order of opening, `rules`, and `over` of all."""
        windows = [window for windows in self._windows.values() for window in windows.report()]
        rules = [
            {"token": token, "who": who, "endpoint": endpoint, **one.report()}
            for (token, who, endpoint), tallies in self._tallies.items()
            for one in tallies
        ]
        return {"windows": sorted(windows, key=lambda window: window["opened"]), "rules": rules, "over": self._over}
