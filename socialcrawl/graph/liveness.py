"""Liveness: how what a probe saw of an account or a page is judged, active or not. Pure.

LiveRank (paper 003, sections 2.1 and 3.2) calls a page active that answers, and an account active that has posted in
the last six months; which of the two counts, and how long ago, is a setting. Most pages do not tell when they last
changed, which says nothing of them, whereas an account without any post has never acted: who is there, and when it
last acted nobody knows, may count as active.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from socialcrawl.engine.model import Outcome, Pick, Reason, Unavailable
from socialcrawl.errors import SettingsError

DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Activity:
    """The rule by which a probed node is active.

    Attributes:
        within: seconds; its last activity is at most as long ago. None: whoever exists is active.
        protected: whether one that is there, and shows what it does to its friends only, counts as active.
        untold: whether one that is there counts as active where nobody knows when it last acted.
        redirects: whether one that has moved counts as active where it leads.
        soft: whether a page that says that it is not there is missing, whatever its status.

    Raises:
        SettingsError: `within` is no positive number of seconds.
    """

    within: float | None = None
    protected: bool = False
    untold: bool = False
    redirects: bool = False
    soft: bool = True

    def __post_init__(self) -> None:
        if self.within is not None and not 0 < self.within < float("inf"):
            raise SettingsError(f"Activity is counted within a positive number of seconds, not {self.within}.")

    def is_active(self, last: str | None, at: float, missing: Unavailable | None) -> bool:
        """Return whether a node is active.

        Args:
            last: when it was last seen to act, ISO 8601; a day alone counts to its end; None or "": nobody knows.
            at: when it was asked about, Unix seconds.
            missing: why it is not there, as outcomes say it; None: it is.

        Raises:
            ValueError: `last` is no instant.
        """
        if missing is not None:
            return self.protected and missing == Reason.PROTECTED
        if self.within is None:
            return True
        return at - parse_latest(last) <= self.within if last else self.untold

    def make_outcome(
        self, pick: Pick, at: float, last: str | None = None, missing: Unavailable | None = None
    ) -> Outcome:
        """Return the outcome of a probe: value 1.0 or 0.0, the last activity as mark, and why it is missing."""
        alive = self.is_active(last, at, missing)
        return Outcome(pick.n, pick.node, at, value=float(alive), missing=None if alive else missing, mark=last or "")


def parse_latest(text: str) -> float:
    """Return the instant of ISO 8601 `text` in Unix seconds, UTC where it does not say; of a day alone its end.

    Raises:
        ValueError: it is neither.
    """
    instant = datetime.fromisoformat(text)
    instant = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
    return instant.timestamp() + (86_400.0 if DAY.fullmatch(text) else 0.0)
