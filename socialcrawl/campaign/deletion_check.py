"""What checks of stored posts and accounts for deletions have in common, however a platform is asked.

Requests go through the campaign's planner, ledger and wire, so they share its windows and its budget like all others.
What a check finds is removed while no campaign runs, by the code of `forget`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import NamedTuple

from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.policies import check_endpoint
from socialcrawl.crawls.reporting import renew_snapshots
from socialcrawl.engine.model import OF_NOBODY, Grant, Reply, Request, Stop, Wait, format_time
from socialcrawl.errors import SourceError
from socialcrawl.platforms.base import Wired
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage import stored_checks
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.erasure import execution
from socialcrawl.storage.erasure.dry_run import is_dry_run
from socialcrawl.storage.erasure.forgetting import ErasureReport, forget
from socialcrawl.storage.erasure.orders import ErasureOrder
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.storage.sql_store import SqlStore
from socialcrawl.storage.stored_checks import StoredJob


class JobResult(NamedTuple):
    """What a check has found: to be applied by `apply_result` while no campaign runs."""

    job: StoredJob
    order: ErasureOrder


class CheckProgress(NamedTuple):
    """How far a check of posts by look-ups has come.

    Attributes:
        checked: posts that were decided in the latest round: the platform showed them, or did not.
        absent: posts that were absent once, and are looked up again.
        unclear: posts of which the latest round learned nothing: the answer was no evidence, or none came.
        unknown: posts that this campaign cannot look up, as it knows no id of theirs on a server that it asks.
        left: posts that are still to be looked up in this round.
        again: when the first of those that were absent are looked up again (Unix seconds); None: none are.
    """

    checked: int
    absent: int
    unclear: int
    unknown: int
    left: int
    again: float | None


@dataclass(slots=True)
class DeletionCheck(ABC):
    """The check of a campaign, while the campaign is open.

    Args:
        plan: the campaign.
        store: its ledger, and the connection to its database.
        planner: its windows, folded.
        wire: its wire.
        now: the clock, Unix seconds.
    """

    plan: Plan
    store: SqlStore
    planner: WindowPlanner
    wire: Wired
    now: Callable[[], float]

    @abstractmethod
    def advance(self, since: float) -> JobResult | Wait | None:
        """Do all steps that need no waiting; return a result to apply, or when to go on; None: all is checked.

        Args:
            since: a check that began then or before is repeated (Unix seconds).

        Raises:
            SourceError: the platform does not do what it is to, or the budget or the credentials do not allow it.
            StoreError: the database cannot be used.
        """

    @abstractmethod
    def find_since(self) -> float:
        """Return an instant such that `advance` goes on with the check that is under way; else begins another."""

    @abstractmethod
    def find_next(self, every: float) -> float:
        """Return when there is something to do again, where a check is to begin every so many seconds."""

    def measure(self) -> CheckProgress | None:
        """Return how far the check has come; None where results alone tell."""
        return None

    def take(self, make: Callable[[tuple[int, int]], Request]) -> Grant:
        """Return the permission to send a request, which stands in the ledger then.

        Raises:
            WindowWaitError: not now.
            SourceError: not at all.
            SettingsError: the campaign's own policy does not know the endpoint.
        """
        request = make((OF_NOBODY, next(_parts)))
        check_endpoint(self.plan.policy, request.endpoint)
        answer = self.planner.take(request, self.now())
        if isinstance(answer, Grant):
            refused = self.store.reserve(answer)
            if refused is None:
                return answer
            answer = refused
        if isinstance(answer, Wait):
            raise WindowWaitError(answer)
        raise SourceError(f"The check for deletions cannot go on: {answer.why}.")

    def save(self, grant: Grant, reply: Reply) -> Wait | Stop | None:
        """Store what came back and learn from it; see `protocols.Planner.settle`."""
        self.store.save(grant, reply)
        return self.planner.settle(grant, reply, self.now())

    def explain_failure(self, reply: Reply, after: Wait | Stop | None) -> SourceError:
        """Return what to raise for a request that failed: a WindowWaitError where it is tried again later."""
        if isinstance(after, Wait):
            return WindowWaitError(after)
        why = reply.why or (after.why if after else "no answer")
        return SourceError(f"The check for what {self.plan.platform.title} no longer shows did not go on: {why}.")


_parts = count()  # numbers of requests, so that none waits for the failures of another one


class WindowWaitError(SourceError):
    """A request has to wait; `wait` says until when, and why."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(f"{wait.why}: wait until {format_time(wait.until)[:19]}Z, or run it again then.")
        self.wait = wait


def remove_named(connection: Opened, result: JobResult, platform: str, at: str) -> ErasureReport:
    """Remove what a result names, and note it, in the transaction of `execution.erase`; return what went.

    Args:
        connection: the database.
        result: of `DeletionCheck.advance`.
        platform: that of the ids.
        at: the instant, ISO 8601.
    """
    if result.job.status == stored_checks.APPLIED:  # it is gone from the tables: what is left is to clear the file
        return ErasureReport()
    report = forget(connection, result.order, at, platform)
    if not is_dry_run(connection):
        stored_checks.note_applied(connection, result.job, report.counts["post"], report.counts["account"], at)
    return report


def apply_result(connection: Opened, result: JobResult, platform: str, now: float) -> ErasureReport:
    """Remove what a result names for good while no campaign runs, and return what went.

    Args:
        connection: the database, without a transaction.
        result: of `DeletionCheck.advance`.
        platform: that of the ids.
        now: Unix seconds.

    Raises:
        HeldError: a campaign of the database runs.
        StoreError: the database cannot be written.
    """
    work = partial(remove_named, result=result, platform=platform, at=format_time(now))
    report = execution.erase(connection, work)
    renew_snapshots(CampaignTraces(connection))
    stored_checks.note_job(connection, result.job, status=stored_checks.DONE)
    return report
