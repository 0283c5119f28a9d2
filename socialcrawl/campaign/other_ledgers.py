"""Whose requests the rows of other processes are, and what joins a campaign to the ledger that they share."""

from collections.abc import Callable, Sequence

from socialcrawl.campaign.siblings import Siblings, read_marks
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.shared_windows import Membership, SentRequest
from socialcrawl.storage.ledger.request_log import read_settings
from socialcrawl.storage.ledger.shared_ledger import Sender, SharedLedger
from socialcrawl.storage.sql_store import SqlStore

KNOWN = 1024  # campaigns whose tokens are remembered


class OtherLedgers:
    """The campaigns of a database, as their rows in the ledger name them.

    Args:
        store: of the campaign that asks.
        siblings: what names ledgers.
    """

    def __init__(self, store: SqlStore, siblings: Siblings) -> None:
        self.store, self.siblings = store, siblings
        self._known: dict[tuple[int, str], tuple[str, dict[str, str], frozenset[str]]] = {}

    def find_sender(self, campaign: int, version: str, credential: str) -> Sender | None:
        """See `shared_ledger.FindSender`; called in a transaction."""
        known = self._known.get((campaign, version))
        if known is None:
            name, settings = read_settings(self.store.connection, campaign)
            if len(self._known) >= KNOWN:
                self._known.clear()
            known = self._known[campaign, version] = (self.siblings.name_ledger(name), *read_marks(settings))
        ledger, marks, bills = known
        return Sender(ledger, bills, marks[credential]) if credential in marks else None


def follow_other_processes(
    store: SqlStore, siblings: Siblings, member: Membership, planner: WindowPlanner, now: Callable[[], float]
) -> None:
    """Let a campaign count what other processes of its PostgreSQL database send, from when its ledger is counted on."""
    others = member.others = siblings.others
    if others is None:
        return
    finder = OtherLedgers(store, siblings)
    shared = SharedLedger(
        store.connection,
        store.campaign,
        others,
        planner,
        find_sender=finder.find_sender,
        now=now,
        clock=member.shared.database_clock,
    )
    read_elsewhere = member.read_elsewhere

    def begin(since: float) -> dict[str, Sequence[SentRequest]]:
        shared.begin()
        found = dict(read_elsewhere(since))
        others.read_at = now()
        return found

    member.read_elsewhere, member.refresh = begin, shared.refresh
    store.follow_others(shared)
