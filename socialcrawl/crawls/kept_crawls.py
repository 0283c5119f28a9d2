"""The crawl of a stored campaign, rebuilt from its history, and kept for a while for who asks about it again."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from socialcrawl.campaign.plan import make_word_topic
from socialcrawl.campaign.settings import load_stored
from socialcrawl.crawls.base import CrawlKind, remember_seeds
from socialcrawl.engine.clock import SteadyClock
from socialcrawl.platforms.registry import platform_of
from socialcrawl.storage.identity import read_queries
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign

LASTING = 600.0  # seconds after the last use for which a crawl is kept
LEAST = 1.0  # seconds that rebuilding a crawl takes at least if it is kept


class KeptCrawls:
    """Keeps the latest crawl that took long to rebuild, one only: that of a large campaign takes a gigabyte.

    New answers are added to it; after any other change it is rebuilt. Methods may be called from any thread.

    Args:
        least: seconds that rebuilding a crawl takes at least if it is kept.
        lasting: seconds after the last use for which it is kept.
    """

    def __init__(self, least: float = LEAST, lasting: float = LASTING) -> None:
        self._least, self._lasting = least, lasting
        self._kept: tuple[object, object, Any] | None = None  # of which campaign, its last answer, the crawl
        self._timer: threading.Timer | None = None
        self._lock, self._clock = threading.Lock(), SteadyClock()

    @contextmanager
    def hold(self, traces: CampaignTraces, stored: StoredCampaign, kind: CrawlKind) -> Iterator[Any]:
        """Yield the crawl of a campaign with all of its history: shadows do not look on, and no limit ends it.

        It is to be asked only, and not to be used after the block: one user has it at a time.
        """
        with self._lock:
            settings = load_stored(traces.read_versions(stored)[-1].settings, f"the campaign {stored.name!r}")
            names = traces.read_seeds(stored.platform, stored.identity["seeds"]["usernames"])
            topics = traces.read_topics(stored.id)
            _, queries = read_queries(
                stored.identity, kind.list_queries(settings, platform_of(settings), make_word_topic(settings))
            )
            endless = settings.crawl.model_copy(update={"steps": None, "shadows": []})
            settings = settings.model_copy(update={"crawl": endless})

            def make() -> Any:
                return kind.make_crawl(settings, remember_seeds(settings, names, topics, queries))

            mark = (
                traces.place, stored.id, stored.name, stored.identity, settings.model_dump(mode="json"), names, topics,
                queries, traces.read_epochs(stored.id),
            )  # fmt: skip
            crawl = self._fold(traces, stored, kind, mark, make)
            yield crawl

    def _fold(
        self, traces: CampaignTraces, stored: StoredCampaign, kind: CrawlKind, mark: object, make: Callable[[], Any]
    ) -> Any:
        """Return the crawl with all of the history: the one that is kept, if it is of this campaign and history."""
        kept, self._kept = self._kept, None  # until it is complete again
        began, crawl = self._clock.now(), None
        if kept is not None and kept[0] == mark and kept[1] == traces.read_answer(stored.id, kept[2].picks - 1):
            crawl = kept[2]
        known = crawl is not None
        crawl = crawl or make()
        crawl.fold(traces.read_history(stored, kind.features, first=crawl.picks))
        if known or self._clock.now() - began >= self._least:
            self._kept = mark, traces.read_answer(stored.id, crawl.picks - 1), crawl
            self._forget_later()
        return crawl

    def _forget_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._lasting, self._forget)
        self._timer.daemon = True
        self._timer.start()

    def _forget(self) -> None:
        with self._lock:
            self._kept = None
