"""What the loop sends by, where workers send: an executor, and a planner that waits while there is no worker."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from typing import Any

from socialcrawl.campaign.plan import Plan
from socialcrawl.engine.model import Grant, Reply, Request, Stop, Wait
from socialcrawl.engine.protocols import Ledger, Planner
from socialcrawl.errors import SettingsError
from socialcrawl.fleet.shared_fleets import Fleet, SharedFleets
from socialcrawl.fleet.worker_wires import WireSpec

SOON, LATER = 0.2, 5.0  # seconds until workers are looked for again: of a campaign that has just begun, and else
BEGINNING = 10.0  # seconds for which a campaign has just begun
ABSENT = 10.0  # seconds without workers after which people are told


def check_fleet(plan: Plan) -> None:
    """Check that the requests of a campaign can be sent by workers.

    Raises:
        SettingsError: it reads a stream, which stays in one process.
    """
    slices = plan.kind.plan_slices(plan.settings)
    if slices is not None and slices.live:
        raise SettingsError(
            "A stream is read by one process, without workers: remove scheduler under [fleet] and --workers, or set "
            "live = false under [capture]."
        )


def take_fleet(plan: Plan, fleets: SharedFleets, now: Callable[[], float]) -> Fleet | None:
    """Return the workers that send for a campaign; None: its requests are sent by this process.

    Raises:
        SettingsError: it cannot be sent by workers, Dask is not installed, or workers cannot be started.
    """
    fleet = fleets.take(plan.settings.fleet.scheduler, now)
    if fleet is not None:
        with ExitStack() as undo:
            undo.callback(fleets.release, fleet)
            check_fleet(plan)
            undo.pop_all()
    return fleet


class FleetExecutor(Executor):
    """The workers of a fleet as the executor of one campaign: what is submitted is sent by one of them.

    Args:
        fleet: the workers.
        campaign: what tells the campaign from all others of the process.
        spec: what they need to know of it.
        release: called once, when the campaign is over.
    """

    def __init__(self, fleet: Fleet, campaign: str, spec: WireSpec, release: Callable[[], None]) -> None:
        self.fleet, self.campaign = fleet, campaign
        self._ends = ExitStack()
        self._ends.callback(release)
        self._ends.callback(fleet.leave, campaign)
        fleet.join(campaign, spec)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Send the grant that `fn`, the wire's `send`, would be called with; see `Fleet.submit`."""
        (grant,) = args
        return self.fleet.submit(self.campaign, grant)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - Executor's
        """Have the workers let go of the campaign."""
        self._ends.close()


class FleetPlanner:
    """A planner that gives no permission while no worker can send.

    Args:
        planner: the windows and budgets.
        executor: the workers.
        now: the clock, Unix seconds.
    """

    def __init__(self, planner: Planner, executor: FleetExecutor, now: Callable[[], float]) -> None:
        self.planner, self.executor, self.now = planner, executor, now
        self._began = now()
        self._absent_since: float | None = None

    def take(self, request: Request, now: float) -> Grant | Wait | Stop:
        """See `Planner.take`."""
        why = self._explain_absence()
        if why is None:
            self._absent_since = None
            return self.planner.take(request, now)
        self._absent_since = now if self._absent_since is None else self._absent_since
        return Wait(now + (SOON if 0 <= now - self._began < BEGINNING else LATER), why)

    def describe_absence(self) -> str | None:
        """Return why no worker can send, once requests have waited for one for a while; None: all is well."""
        since = self._absent_since
        return None if since is None or self.now() - since < ABSENT else self._explain_absence()

    def _explain_absence(self) -> str | None:
        return self.executor.fleet.explain_absence(self.executor.campaign)

    def settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        """See `Planner.settle`."""
        return self.planner.settle(grant, reply, now)

    def abandon(self, grant: Grant) -> None:
        """See `Planner.abandon`."""
        self.planner.abandon(grant)

    def fold(self, ledger: Ledger, now: float) -> None:
        """See `Planner.fold`."""
        self.planner.fold(ledger, now)
