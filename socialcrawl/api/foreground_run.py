"""One campaign that runs in this process until it is done or stopped, with what signals do to it."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from socialcrawl.campaign.build import OpenCampaign, ProcessContext, build
from socialcrawl.campaign.settings import Settings
from socialcrawl.daemon.campaign_state import DONE, STOPPED
from socialcrawl.daemon.next_run import remove_rerun_advice
from socialcrawl.engine.clock import SteadyClock
from socialcrawl.engine.loop import GRACE, run
from socialcrawl.engine.model import Stop, StopKind, Wait
from socialcrawl.errors import SettingsError, SocialcrawlError, StoreError
from socialcrawl.fleet.shared_fleets import SharedFleets
from socialcrawl.render.campaign_report import CampaignReport, read_report
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage import daemons
from socialcrawl.storage.database.health import open_existing

LOOK = 2.0  # seconds between two looks whether somebody stops it
OBEYED = "stopped through the database, as from its page; everything is saved, run again to go on"
STOPPING = f"stopping: waiting up to {GRACE:.0f} s for what is in flight; once more to stop at once\n".encode()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: its reason, and the report of the campaign."""

    reason: Wait | Stop
    report: CampaignReport

    @property
    def state(self) -> str:
        """What it is called: done, failed, budget, room, interrupted, or waiting for something of the campaign's."""
        return self.reason.kind if isinstance(self.reason, Stop) else "waiting"


def run_to_end(
    settings: Settings,
    view: CampaignView,
    *,
    announce: Callable[[OpenCampaign], None] = lambda campaign: None,
    silent: bool = True,
    change: bool = False,
    workers: int = 0,
) -> Ending:
    """Run a campaign until it is done or stopped, also by somebody else through its database: see `stop_campaigns`.

    In the main thread, Ctrl-C or SIGTERM stops it: it waits up to GRACE seconds for requests in flight, and what they
    bring is stored. A second one raises KeyboardInterrupt at once.

    Args:
        settings: the campaign.
        view: what looks on.
        announce: what is done with the open campaign before its first request.
        silent: whether nothing is printed when it is asked to stop.
        change: whether settings are taken up that differ from those that its history rests on.
        workers: how many worker processes send its requests, where its file names no scheduler; 0: this process does.

    Raises:
        SettingsError, StoreError: see `campaign.build.build`.
        KeyboardInterrupt: it was interrupted twice; what was in flight counts as spent.
    """
    with _start_workers(settings, workers) as process:
        campaign = build(settings, view, process, change=change)
        announce(campaign)
        try:
            with _handle_signals(campaign, silent=silent), _obey_stops(campaign) as stopped:
                view.begin(campaign)
                try:
                    reason = run(campaign.parts, size=campaign.together)
                    campaign.keep(reason)
                finally:
                    view.end()
            if stopped.is_set() and isinstance(reason, Stop) and reason.kind == StopKind.INTERRUPTED:
                reason = Stop(StopKind.INTERRUPTED, OBEYED)
            report = read_report(campaign.store.connection, settings.name, billed=campaign.plan.billed)
            _store_ending(campaign, reason)
        finally:
            campaign.close()
    return Ending(reason, report)


def _store_ending(campaign: OpenCampaign, reason: Wait | Stop) -> None:
    """Store how a run ended, for `status` and the pages; a database that cannot be written does without it."""
    state = DONE if isinstance(reason, Stop) and reason.kind == StopKind.DONE else STOPPED
    why = remove_rerun_advice(reason.why)
    with suppress(StoreError):
        daemons.record_ending(campaign.store.connection, campaign.settings.name, state, why, campaign.clock.now())


@contextmanager
def _start_workers(settings: Settings, workers: int) -> Iterator[ProcessContext | None]:
    """Yield what a campaign shares with worker processes of its own, which start when it is opened."""
    if not workers:
        yield None
        return
    if settings.fleet.scheduler:
        raise SettingsError(
            "--workers starts workers here, and scheduler under [fleet] names others: remove one of them."
        )
    with closing(SharedFleets(workers)) as fleets:
        yield ProcessContext(SteadyClock(), fleets=fleets)


@contextmanager
def _obey_stops(campaign: OpenCampaign) -> Iterator[threading.Event]:
    """Interrupt the run when somebody stops its campaign through the database; yield what is set then.

    A stop from before the run counts no more: whoever runs it wants it to go on. The database is read in a thread.
    """
    name, before = campaign.settings.name, daemons.read_stop(campaign.store.connection, campaign.settings.name)
    stopped, ended = threading.Event(), threading.Event()

    def look() -> None:
        while not ended.wait(LOOK):
            with suppress(SocialcrawlError), open_existing(campaign.settings.database) as connection:
                if (now := daemons.read_stop(connection, name)) is not None and now != before:
                    stopped.set()
                    campaign.clock.interrupt()
                    return

    thread = threading.Thread(target=look, name="stops", daemon=True)
    thread.start()
    try:
        yield stopped
    finally:
        ended.set()
        thread.join(LOOK)


@contextmanager
def _handle_signals(campaign: OpenCampaign, *, silent: bool) -> Iterator[None]:
    """Stop the run at Ctrl-C or SIGTERM; end it at once at a second one (what is in flight counts as spent).

    The end is a KeyboardInterrupt, so that a caller that started something (the demo: its mock) can stop it.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if campaign.clock.interrupted():
            raise KeyboardInterrupt
        campaign.clock.interrupt()
        if not silent:
            os.write(2, STOPPING)  # a handler may run in the middle of anything: no buffers

    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
