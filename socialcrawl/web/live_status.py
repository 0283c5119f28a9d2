"""How campaigns stand, read by one poller for all who look on: in a thread, and only while somebody does."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from math import inf

from socialcrawl import CampaignStatus, Project, SocialcrawlError
from socialcrawl.system.host_names import App, Message, Receive, Scope, Send
from socialcrawl.web.security import SAFE_METHODS

INTERVAL = 1.0  # seconds between two looks
MOST_VIEWERS = 64  # open pages that are kept up to date
SIGN_OF_LIFE = 15.0  # seconds after which a viewer hears something though nothing changed


class TooManyViewersError(SocialcrawlError):
    """As many pages are open as are kept up to date."""


class LiveStatus:
    """The states of a project's campaigns, kept up to date while somebody watches.

    Args:
        project: its campaigns.
        now: the clock, Unix seconds.
        interval: seconds between two looks.
    """

    def __init__(self, project: Project, now: Callable[[], float], interval: float = INTERVAL) -> None:
        self.project = project
        self._interval, self._now = interval, now
        self._known: Sequence[CampaignStatus] = ()
        self._version = 0
        self._viewers = 0
        self._watched: Counter[str] = Counter()
        self._changed = asyncio.Condition()
        self._reading = asyncio.Lock()
        self._looked_at, self._changes = -inf, 0

    @property
    def known(self) -> Sequence[CampaignStatus]:
        """How all campaigns stood at the last look."""
        return self._known

    async def read(self, *, fresh: bool = False) -> Sequence[CampaignStatus]:
        """Return how all campaigns stand now, or did at the last look of the poller, unless it is to be `fresh`.

        Those who ask at the same time share one look.
        """
        if not fresh and self._viewers and 0 <= self._now() - self._looked_at < 2 * self._interval:
            return self._known
        return await self._look()

    def expire(self) -> None:
        """Forget the time of the last look: the next page looks again."""
        self._looked_at, self._changes = -inf, self._changes + 1

    async def _look(self) -> Sequence[CampaignStatus]:
        async with self._reading:
            began, changes = self._now(), self._changes
            known = await asyncio.to_thread(self.project.list_campaigns, watched=[*self._watched])
            self._looked_at = began if changes == self._changes else -inf
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
                    await self._look()
                except SocialcrawlError as error:  # a place that is gone for a moment
                    logging.getLogger(__name__).warning("%s", error)
                except Exception:  # else all open pages would stand still, and say that they are live
                    logging.getLogger(__name__).exception("Campaigns could not be read.")
            await asyncio.sleep(self._interval)

    async def watch(self, key: str | None = None) -> AsyncIterator[Sequence[CampaignStatus] | None]:
        """Yield how all campaigns stand, at once and after each change; None as a sign of life.

        Args:
            key: of the campaign that is looked at, whose changes are wanted at once; None: of none more than of others.

        Raises:
            TooManyViewersError: as many watch as may.
        """
        if self._viewers >= MOST_VIEWERS:
            raise TooManyViewersError(f"{MOST_VIEWERS} pages are open: close one of them.")
        self._viewers += 1
        looked_at = () if key is None else (key,)
        self._watched.update(looked_at)
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
            self._watched -= Counter(looked_at)

    async def _wait_beyond(self, seen: int) -> None:
        """Wait for a change after the one with number `seen`; the lock is held."""
        await self._changed.wait_for(lambda: self._version != seen)


class ExpireAfterChanges:
    """Lets the next page look at the campaigns again after each request that may have changed one.

    Args:
        app: the application.
        live: what knows how they stand.
    """

    def __init__(self, app: App, live: LiveStatus) -> None:
        self.app, self.live = app, live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.live.expire()
            await send(message)

        changes = scope["type"] == "http" and scope["method"] not in SAFE_METHODS
        await self.app(scope, receive, answer if changes else send)
