"""Reports of campaigns for pages and API: read once for all who ask for the same, as reading may take seconds."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from socialcrawl import CampaignStatus, Project

MOST = 16  # reports that are kept
LASTING = 60.0  # seconds after which a report is read again in any case


@dataclass(frozen=True, slots=True)
class ReadReport:
    """A report as pages show it.

    Attributes:
        sections: its parts as HTML, by their ids.
        charts: what its charts show, see `CampaignPage.to_charts`.
        values: its figures.
        ledger: requests and dollars by endpoint.
        changes: of settings and history, oldest first.
    """

    sections: Mapping[str, str]
    charts: Mapping[str, Any]
    values: Mapping[str, Any]
    ledger: Sequence[Mapping[str, Any]]
    changes: Sequence[Mapping[str, Any]]


class CampaignReports:
    """Reads reports, and keeps the latest ones; methods may be called from any thread.

    Args:
        project: the campaigns.
        now: the clock, Unix seconds.
    """

    def __init__(self, project: Project, now: Callable[[], float]) -> None:
        self._project, self._now = project, now
        self._kept: OrderedDict[str, tuple[object, float, ReadReport]] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def read(self, status: CampaignStatus) -> ReadReport:
        """Return the report of a campaign, as it is or was a short while ago.

        Raises:
            SocialcrawlError: it has not begun, or its database cannot be read.
        """
        mark = status.steps, status.requests, status.posts_on_topic, status.platform
        with self._lock:
            own = self._locks.setdefault(status.key, threading.Lock())
        with own:  # of two who ask for the same, one reads
            with self._lock:
                before, at, kept = self._kept.get(status.key, (None, 0.0, None))
            if kept is not None and before == mark and self._now() - at < LASTING:
                return kept
            made = self._make(status)
            with self._lock:
                self._kept[status.key] = mark, self._now(), made
                self._kept.move_to_end(status.key)
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
        return made

    def _make(self, status: CampaignStatus) -> ReadReport:
        with self._project.open(status.key) as data:
            report = data.report(campaign=status.name, top=15)
            return ReadReport(
                dict(report.to_sections(lambda name, known_id: make_account_path(status.key, name or known_id or ""))),
                report.to_charts(),
                report.to_dict(),
                [*data.ledger(campaign=status.name)],
                [*data.changes(campaign=status.name)],
            )


def make_account_path(key: str, account: str) -> str:
    """Return the address of the page that explains an account; a name of the web may have any character."""
    return f"/campaigns/{quote(key, safe='')}/account?name={quote(account, safe='')}"
