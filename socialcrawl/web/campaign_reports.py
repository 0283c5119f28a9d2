"""Reports of campaigns for pages and API: read once for all who ask for the same, as reading may take long.

They are read by threads of their own: a large campaign holds up no other page, and not the end of the server.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from socialcrawl import CampaignStatus, Project
from socialcrawl.web.kept_readings import LASTING, MOST, find_mark

REST = 10  # times the duration of a reading that pass until the next one: it takes about 10 % of a core at most
PATIENCE = 0.3  # seconds that a page waits for a report
TOGETHER = 2  # reports that are read at the same time


@dataclass(frozen=True, slots=True)
class ReadReport:
    """A report as pages show it.

    Attributes:
        sections: its parts as HTML, by their ids.
        charts: what its charts show, see `CampaignPage.to_charts`.
        values: its figures.
        ledger: requests and dollars by endpoint.
        changes: of settings and history, oldest first.
        at: when it was read, Unix seconds.
        took: how many seconds that took.
    """

    sections: Mapping[str, str]
    charts: Mapping[str, Any]
    values: Mapping[str, Any]
    ledger: Sequence[Mapping[str, Any]]
    changes: Sequence[Mapping[str, Any]]
    at: float
    took: float


class CampaignReports:
    """Reads reports, and keeps the latest ones; its methods are called from one event loop.

    Args:
        project: the campaigns.
        now: the clock, Unix seconds.
        patience: seconds that a page waits for a report.
    """

    def __init__(self, project: Project, now: Callable[[], float], patience: float = PATIENCE) -> None:
        self._project, self._now, self._patience = project, now, patience
        self._kept: OrderedDict[str, tuple[object, ReadReport]] = OrderedDict()
        self._reading: dict[str, Future[ReadReport]] = {}
        self._lock, self._places = threading.Lock(), threading.Semaphore(TOGETHER)

    async def read(self, status: CampaignStatus) -> ReadReport:
        """Return the report of a campaign, as it is or was a short while ago; wait for it if need be.

        Raises:
            SocialcrawlError: it has not begun, or its database cannot be read.
        """
        found = await self.find(status)
        return found if found is not None else await asyncio.wrap_future(self._begin(status))

    async def find(self, status: CampaignStatus) -> ReadReport | None:
        """Return the report of a campaign, an older one if reading it takes long; None: it is being read.

        Raises:
            SocialcrawlError: it has not begun, or its database cannot be read.
        """
        with self._lock:
            mark, older = self._kept.get(status.key, (None, None))
        if older is not None:
            age = self._now() - older.at
            if age < REST * older.took or (age < LASTING and mark == find_mark(status)):
                return older
        reading = asyncio.wrap_future(self._begin(status))
        reading.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be waiting any more
        await asyncio.wait([reading], timeout=self._patience)
        return reading.result() if reading.done() else older

    def _begin(self, status: CampaignStatus) -> Future[ReadReport]:
        """Return the report that is being read; of all who ask for the same, the first one begins it."""
        with self._lock:
            if (reading := self._reading.get(status.key)) is None:
                reading = self._reading[status.key] = Future()
                threading.Thread(target=self._run, args=(status, reading), name="report", daemon=True).start()
            return reading

    def _run(self, status: CampaignStatus, reading: Future[ReadReport]) -> None:
        made: ReadReport | None = None
        try:
            with self._places:
                made = self._make(status)
        except BaseException as error:  # noqa: BLE001  (whoever waits raises it)
            failed = error
        with self._lock:
            del self._reading[status.key]
            if made is not None:
                self._kept[status.key] = find_mark(status), made
                self._kept.move_to_end(status.key)
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
        if made is not None:
            reading.set_result(made)
        else:
            reading.set_exception(failed)

    def _make(self, status: CampaignStatus) -> ReadReport:
        began = self._now()
        with self._project.open(status.key) as data:
            report = data.report(campaign=status.name, top=15)
            return ReadReport(
                dict(report.to_sections(lambda name, known_id: make_account_path(status.key, name or known_id or ""))),
                report.to_charts(),
                report.to_dict(),
                [*data.ledger(campaign=status.name)],
                [*data.changes(campaign=status.name)],
                began,
                self._now() - began,
            )


def make_account_path(key: str, account: str) -> str:
    """Return the address of the page that explains an account; a name of the web may have any character."""
    return f"/campaigns/{quote(key, safe='')}/account?name={quote(account, safe='')}"
