"""What takes long to read of a campaign: read once for all who ask for the same, and kept for a while."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from socialcrawl import CampaignStatus, Dataset, Project

MOST = 16  # readings that are kept
LASTING = 60.0  # seconds after which a campaign is read again in any case
Reading = TypeVar("Reading")


def find_mark(status: CampaignStatus) -> object:
    """Return what changes when there is something new to read of a campaign."""
    return status.steps, status.requests, status.posts_on_topic, status.platform


class KeptReadings(Generic[Reading]):
    """Reads something of campaigns, and keeps the latest readings; methods may be called from any thread.

    Args:
        project: the campaigns.
        now: the clock, Unix seconds.
        make: reads it; the number says how much of it is wanted.
        resting: seconds for which a reading is good enough though the campaign has moved.
    """

    def __init__(
        self,
        project: Project,
        now: Callable[[], float],
        make: Callable[[Dataset, CampaignStatus, int], Reading],
        resting: float = 0.0,
    ) -> None:
        self._project, self._now, self._make, self._resting = project, now, make, resting
        self._kept: OrderedDict[tuple[str, int], tuple[object, float, Reading]] = OrderedDict()
        self._locks: dict[tuple[str, int], threading.Lock] = {}
        self._lock = threading.Lock()

    def read(self, status: CampaignStatus, size: int = 0) -> Reading:
        """Return what there is to read of a campaign, as it is or was a short while ago.

        Args:
            status: the campaign.
            size: how much of it is wanted, where there may be more.

        Raises:
            SocialcrawlError: it has not begun, or its database cannot be read.
        """
        key = status.key, size
        mark = find_mark(status)
        with self._lock:
            own = self._locks.setdefault(key, threading.Lock())
        with own:  # of two who ask for the same, one reads
            with self._lock:
                before, at, kept = self._kept.get(key, (None, 0.0, None))
            age = self._now() - at
            if kept is not None and age < (LASTING if before == mark else self._resting):
                return kept
            with self._project.open(status.key) as data:
                made = self._make(data, status, size)
            with self._lock:
                self._kept[key] = mark, self._now(), made
                self._kept.move_to_end(key)
                while len(self._kept) > MOST:
                    self._locks.pop(self._kept.popitem(last=False)[0], None)
        return made
