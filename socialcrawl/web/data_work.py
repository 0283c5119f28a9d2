"""What pages and API do with data that takes long: queries, exports, and the search index, each within bounds."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from fastapi import Request

from socialcrawl import CampaignStatus, Project, SocialcrawlError
from socialcrawl.web.kept_exports import KeptExports
from socialcrawl.web.work_slots import WorkSlots

QUERIES = 4  # searches and SQL at once, of all viewers
EXPORTS = 2
MOST_WAITING = 8  # quotes and previews that wait for their turn
LONGEST_INDEXING = "30m"  # of one press of the button; the next goes on


@dataclass(frozen=True, slots=True)
class IndexingState:
    """How far the search index of a database is, as somebody had it made here.

    Attributes:
        running: whether posts are being added.
        posts: how many were added.
        done: whether all posts were in it at the end.
        why: what went wrong; "" if nothing did.
    """

    running: bool = False
    posts: int = 0
    done: bool = False
    why: str = ""


class SearchIndexing:
    """Brings search indexes up to date, each in a thread of its own; methods may be called from any thread.

    Whatever ends the thread, what was added stays: it adds posts in small transactions.

    Args:
        project: the campaigns.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._states: dict[str, IndexingState] = {}  # by database: campaigns of one share its index
        self._lock = threading.Lock()

    def read(self, status: CampaignStatus) -> IndexingState:
        """Return how far the index of a campaign's database is."""
        return self._states.get(status.database, IndexingState())

    def start(self, status: CampaignStatus) -> bool:
        """Begin to bring the index of a campaign's database up to date; return False if that is under way."""
        with self._lock:
            if self.read(status).running:
                return False
            self._states[status.database] = IndexingState(running=True)
        threading.Thread(target=self._run, args=(status,), daemon=True).start()
        return True

    def _run(self, status: CampaignStatus) -> None:
        done, why = False, "It failed. The terminal of `socialcrawl ui` says why."
        try:
            done = self._project.update_search_index(
                status.key, timeout=LONGEST_INDEXING, watch=lambda posts: self._set(status, posts=posts)
            )
            why = ""
        except SocialcrawlError as error:
            why = str(error)
        finally:
            self._set(status, running=False, done=done, why=why)

    def _set(self, status: CampaignStatus, **changed: object) -> None:
        with self._lock:
            self._states[status.database] = replace(self._states[status.database], **changed)  # type: ignore[arg-type]


class DataWork:
    """The work on data that is under way.

    Args:
        project: the campaigns.
        now: the clock, Unix seconds.

    Attributes:
        queries: slots of searches and SQL.
        exports: slots of exports, and of reports as files.
        kept: exports that are written while nobody waits, and kept for a while.
        drafting: the slot of quotes and previews; a few more wait.
        indexing: brings search indexes up to date.
        writing: what the newest export of each campaign writes, and how many of its rows are written, by campaign.
    """

    def __init__(self, project: Project, now: Callable[[], float]) -> None:
        self.queries, self.exports = WorkSlots(QUERIES, "searches and queries"), WorkSlots(EXPORTS, "exports")
        self.kept = KeptExports(project, self.exports, now)
        self.drafting = WorkSlots(1, "quotes and previews", MOST_WAITING)
        self.indexing = SearchIndexing(project)
        self.writing: dict[str, tuple[str, int]] = {}


def get_work(request: Request) -> DataWork:
    """Return the work on data that is under way."""
    work: DataWork = request.app.state.data_work
    return work
