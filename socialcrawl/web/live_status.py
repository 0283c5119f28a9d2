"""How campaigns stand, read by one poller for all who look on: in a thread, and only while somebody does."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence

from socialcrawl import CampaignStatus, Project, SocialcrawlError

INTERVAL = 1.0  # seconds between two looks
MOST_VIEWERS = 64  # open pages that are kept up to date
SIGN_OF_LIFE = 15.0  # seconds after which a viewer hears something though nothing changed


class TooManyViewersError(SocialcrawlError):
    """As many pages are open as are kept up to date."""


class LiveStatus:
    """The states of a project's campaigns, kept up to date while somebody watches.

    Args:
        project: its campaigns.
        interval: seconds between two looks.
    """

    def __init__(self, project: Project, interval: float = INTERVAL) -> None:
        self.project = project
        self._interval = interval
        self._known: Sequence[CampaignStatus] = ()
        self._version = 0
        self._viewers = 0
        self._changed = asyncio.Condition()
        self._reading = asyncio.Lock()

    @property
    def known(self) -> Sequence[CampaignStatus]:
        """How all campaigns stood at the last look."""
        return self._known

    async def read(self) -> Sequence[CampaignStatus]:
        """Return how all campaigns stand now; those who ask at the same time share one look."""
        async with self._reading:
            known = await asyncio.to_thread(self.project.list_campaigns)
        if known != self._known:
            async with self._changed:
                self._known, self._version = known, self._version + 1
                self._changed.notify_all()
        return self._known

    async def poll(self) -> None:
        """Look again and again, while there are viewers; until it is cancelled."""
        while True:
            if self._viewers:
                try:
                    await self.read()
                except SocialcrawlError as error:  # a place that is gone for a moment
                    logging.getLogger(__name__).warning("%s", error)
            await asyncio.sleep(self._interval)

    async def watch(self) -> AsyncIterator[Sequence[CampaignStatus] | None]:
        """Yield how all campaigns stand, at once and after each change; None as a sign of life.

        Raises:
            TooManyViewersError: as many watch as may.
        """
        if self._viewers >= MOST_VIEWERS:
            raise TooManyViewersError(f"{MOST_VIEWERS} pages are open: close one of them.")
        self._viewers += 1
        try:
            yield await self.read()
            seen = self._version
            while True:
                async with self._changed:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._wait_beyond(seen), SIGN_OF_LIFE)
                    known = self._known if self._version != seen else None
                    seen = self._version
                yield known
        finally:
            self._viewers -= 1

    async def _wait_beyond(self, seen: int) -> None:
        """Wait for a change after the one with number `seen`; the lock is held."""
        await self._changed.wait_for(lambda: self._version != seen)
