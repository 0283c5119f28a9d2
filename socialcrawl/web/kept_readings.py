"""What takes long to read of a campaign: read once for all who ask for the same, and kept for a while.

It is read by threads of its own: a large campaign holds up no other page, and not the end of the server.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from socialcrawl import CampaignStatus, Dataset, Project
from socialcrawl.web.work_slots import WorkSlots

MOST = 16  # readings that are kept
LASTING = 60.0  # seconds after which a campaign is read again in any case
REST = 10  # times the duration of a reading that pass until the next one: it takes about 10 % of a core at most
PATIENCE = 0.3  # seconds that a page waits for a reading
TOGETHER = 2  # that are read at the same time
WAITING = 16  # that wait for their turn
Reading = TypeVar("Reading")


class KeptReading(NamedTuple, Generic[Reading]):
    """Something that was read.

    Attributes:
        mark: how the campaign was.
        at: when it was read, Unix seconds.
        took: how many seconds that took.
        found: it.
    """

    mark: object
    at: float
    took: float
    found: Reading


class KeptReadings(Generic[Reading]):
    """Reads something of campaigns, and keeps the latest readings; methods are called from one event loop.

    Args:
        project: the campaigns.
        now: the clock, Unix seconds.
        make: reads it; the last argument says what is wanted: a size, a name.
        patience: seconds that a page waits.
    """

    def __init__(
        self,
        project: Project,
        now: Callable[[], float],
        make: Callable[[Dataset, CampaignStatus, Any], Reading],
        patience: float = PATIENCE,
    ) -> None:
        self._project, self._now, self._make, self._patience = project, now, make, patience
        self._kept: OrderedDict[object, KeptReading[Reading]] = OrderedDict()
        self._reading: dict[object, Future[Reading]] = {}
        self._lock, self._slots = threading.Lock(), WorkSlots(TOGETHER, "readings of campaigns", WAITING)

    async def read(self, status: CampaignStatus, wanted: object = None) -> Reading:
        """Return something of a campaign, as it is or was a short while ago; wait for it if need be.

        Raises:
            HTTPException: too many wait.
            SocialcrawlError: the campaign has not begun, or its database cannot be read.
        """
        found = await self.find(status, wanted)
        return found if found is not None else await asyncio.wrap_future(self._begin(status, wanted))

    async def find(self, status: CampaignStatus, wanted: object = None) -> Reading | None:
        """Return something of a campaign, an older reading if it takes long; None: it is being read.

        Raises:
            HTTPException: too many wait.
            SocialcrawlError: the campaign has not begun, or its database cannot be read.
        """
        with self._lock:
            older = self._kept.get((status.key, wanted))
        if older is not None:
            age = self._now() - older.at
            if age < REST * older.took or (age < LASTING and older.mark == _find_mark(status)):
                return older.found
        reading = asyncio.wrap_future(self._begin(status, wanted))
        reading.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be waiting any more
        await asyncio.wait([reading], timeout=self._patience)
        return reading.result() if reading.done() else None if older is None else older.found

    def _begin(self, status: CampaignStatus, wanted: object) -> Future[Reading]:
        """Return what is being read; of all who ask for the same, the first one begins it."""
        with self._lock:
            if (reading := self._reading.get((status.key, wanted))) is None:
                reading = self._reading[status.key, wanted] = Future()
                threading.Thread(target=self._run, args=(status, wanted, reading), name="reading", daemon=True).start()
            return reading

    def _run(self, status: CampaignStatus, wanted: object, reading: Future[Reading]) -> None:
        made: KeptReading[Reading] | None = None
        key = status.key, wanted
        try:
            with self._slots.hold(), self._project.open(status.key) as data:
                began = self._now()
                found = self._make(data, status, wanted)
                made = KeptReading(_find_mark(status), began, self._now() - began, found)
        except BaseException as error:  # noqa: BLE001  (whoever waits raises it)
            failed = error
        with self._lock:
            del self._reading[key]
            if made is not None:
                self._kept[key] = made
                self._kept.move_to_end(key)
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
        if made is not None:
            reading.set_result(made.found)
        else:
            reading.set_exception(failed)


def _find_mark(status: CampaignStatus) -> object:
    """Return what changes when there is something new to read of a campaign."""
    return status.steps, status.requests, status.posts_on_topic, status.platform
