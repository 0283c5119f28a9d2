"""Campaigns that are opened together: as they may share tokens, none runs before what all have sent is known."""

import threading
from collections.abc import Iterable

from socialcrawl.daemon.campaign_runner import CampaignRunner

PATIENCE = 5.0  # seconds for which those that are open wait for the others


class GroupOpening:
    """The campaigns that are being opened, and those that are open and wait for them."""

    def __init__(self) -> None:
        self._since: dict[CampaignRunner, float] = {}  # those being opened
        self._open: list[CampaignRunner] = []
        self._lock = threading.Lock()

    def __contains__(self, runner: CampaignRunner) -> bool:
        return runner in self._since or runner in self._open

    @property
    def busy(self) -> bool:
        """Whether some are being opened: until then nobody knows which of two files is that of its campaign."""
        return bool(self._since)

    def begin(self, runners: Iterable[CampaignRunner], now: float) -> None:
        """Take in campaigns that are opened together from `now` on (Unix seconds)."""
        with self._lock:
            self._since |= dict.fromkeys(runners, now)

    def end(self, runner: CampaignRunner) -> None:
        """Take in that a campaign is open, or failed to open."""
        with self._lock:
            self._since.pop(runner, None)
            self._open.append(runner)

    def take_ready(self, now: float) -> list[CampaignRunner]:
        """Return, once, those that may run now (Unix seconds): no other is being opened that is not late."""
        with self._lock:
            if any(now - since < PATIENCE for since in self._since.values()):
                return []
            ready, self._open = self._open, []
            return ready
