"""One campaign in a daemon's care: opened, run, changed, paused and put down.

`work` is a run of the loop that ends where the limiter, a budget or the schedule says so; it is called in a thread of
the scheduler. Between two runs the campaign stays open and goes on with what it knows; the path of a restart is taken
where something went wrong or was changed, and after a long rest. All other methods may be called from other threads.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

from socialcrawl.campaign.build import OpenCampaign, ProcessContext, build, find_reserved_space, identify_campaign
from socialcrawl.campaign.settings import Settings
from socialcrawl.daemon.campaign_state import (
    BROKEN,
    DONE,
    DOWN,
    ELSEWHERE,
    GONE,
    LEFT,
    PAUSED,
    RUNNING,
    STOPPED,
    WAITING,
    CampaignFigures,
    CampaignState,
    describe_pause,
    is_settled,
)
from socialcrawl.daemon.compliance_upkeep import ComplianceUpkeep
from socialcrawl.daemon.next_run import NextRun, plan_next_run, plan_turn, remove_rerun_advice
from socialcrawl.daemon.run_monitor import RunMonitor, measure_campaign
from socialcrawl.engine.clock import InterruptibleClock
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Stop, StopKind, Wait
from socialcrawl.errors import HeldError, PluginError, SettingsError, SocialcrawlError, StoreError
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.database.connection import read_inode
from socialcrawl.storage.database.disk_space import AGAIN, MARGIN

PATIENCE = 2.0  # seconds of a wait that a run sits out
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # seconds until what is broken is tried again
UNABLE = 300.0  # seconds for which other daemons run what could not be opened here for want of a file or token
HELD = 5.0  # seconds until a campaign that another process runs is tried again
Elsewhere = Callable[[Settings], str | None]
"""Who else runs a campaign, in words; None: nobody."""


class CampaignRunner:
    """A campaign of a daemon.

    Args:
        file: its campaign file.
        settings: what is in it.
        process: what it shares with the others.
        elsewhere: who else runs it.

    Attributes:
        due: when its next run is (Unix seconds); None: not by itself.
        running: whether one is under way.
    """

    def __init__(self, file: Path, settings: Settings, process: ProcessContext, elsewhere: Elsewhere) -> None:
        self.file, self.settings, self.process, self.elsewhere = file, settings, process, elsewhere
        self.monitor, self.clock = RunMonitor(process.time.now, settings.name), InterruptibleClock(process.time)
        self.schedule, self.upkeep = settings.schedule.schedule, ComplianceUpkeep(settings, process.time.now)
        first = self._plan_first()
        self.due = first.due
        self.running = False
        self._guard = threading.RLock()
        self._campaign: OpenCampaign | None = None
        self._folded = self._counted = False
        self._barred: tuple[str, str] | None = None  # the state and why, while it may not run
        self._held = self._lost = self._full = False
        self._inode: tuple[int, int] | None = None  # of its database file, when it was opened
        self._fresh: Settings | None = None
        self._given_to: str | None = None  # who is to run it now, in words, while this daemon gives it away
        self._ended: tuple[str, str] | None = None  # how it had ended (state, why), until it is opened again
        self._unable_until = 0.0
        self._faults = self._failures = 0
        self._began: float | None = None  # when the turn of its schedule began that its runs belong to
        self._lag, self._figures = 0.0, CampaignFigures()
        self._next = first  # what follows, without regard to the upkeep
        self._plan_due(first)
        self._state = (first.state, first.why, process.time.now())

    @property
    def name(self) -> str:
        """The name of the campaign."""
        return self.settings.name

    @property
    def label(self) -> str:
        """What tells it from the other campaigns of the daemon."""
        return identify_campaign(self.settings)

    @property
    def open(self) -> bool:
        """Whether it has its database, tokens and lease."""
        return self._campaign is not None

    @property
    def blocking_state(self) -> str | None:
        """The state in which it may not run; None: it may."""
        return self._barred[0] if self._barred else None

    @property
    def is_able(self) -> bool:
        """Whether it can be run here: its file, its settings and what they need are in order, as far as is known."""
        fine = self._barred is None or (self._barred[0] in (PAUSED, STOPPED) and self._barred[1] not in (LEFT, GONE))
        return fine and self.process.time.now() >= self._unable_until

    @property
    def is_held(self) -> bool:
        """Whether it may not run for a moment."""
        return self._held

    def describe_state(self) -> CampaignState:
        """Return how it stands, at this moment."""
        campaign, (state, why, since) = self._campaign, self._state
        if self.upkeep.trouble:
            why = f"{why}; the check for deletions is tried again: {self.upkeep.trouble}"
        if campaign is not None:
            with self.process.shared.lock:
                self._figures = measure_campaign(campaign, self.monitor, self._lag)
        until = None if state == RUNNING else self._next.due
        if state in (RUNNING, WAITING) and (down := self._find_outage(campaign)) is not None:
            state, (since, why) = DOWN, down
            wait = self.monitor.wait
            until = wait.until if wait else until
        elif state in (RUNNING, WAITING) and campaign is not None and (away := campaign.describe_absence()) is not None:
            state, why = BROKEN, away
        return CampaignState(self.file, self.name, state, why, since, until, self.monitor.moved, self._figures)

    def restore(self, held: CampaignLease) -> None:
        """Begin as an earlier daemon has left it; a time of its schedule that was missed since is made up for."""
        with self._guard:
            self.monitor.moved = held.moved
            first = self._plan_first(held.moved)
            self._plan_due(first)
            state, why = held.state, held.why
            if state == DOWN:
                self.monitor.down = self.process.time.now() if held.since is None else held.since, why
            elif is_settled(state, why):
                first = NextRun(state, why, first.due)
                self._ended = (state, why) if state in (DONE, STOPPED) else None
            self._become(first.state, first.why, held.since if first.state == state else None)

    def _find_outage(self, campaign: OpenCampaign | None) -> tuple[float, str] | None:
        """Return since when its platform has not answered, and what happened; also if that was under another daemon."""
        outage = campaign.planner.outage if campaign is not None else None
        if campaign is not None and outage is not None:
            since = min(outage.since, self.monitor.down[0] if self.monitor.down else inf)  # opened anew
            self.monitor.down = since, f"{campaign.plan.platform.title} does not answer: {outage.why}"
            if campaign.planner.outage is None:  # it has answered since we looked
                self.monitor.down = None
        return self.monitor.down

    def prepare(self) -> None:
        """Open it, if it is to run now, and count what its ledger tells.

        Campaigns share the windows of their tokens: what each of them has sent should be known before any of them asks.
        """
        with self._guard:
            now = self.process.time.now()
            if self._barred or self.running or self.due is None or self.due > now or not self.schedule.open(now):
                return
            try:
                if not self.elsewhere(self.settings):
                    campaign = self._open_campaign()
                    campaign.planner.fold(campaign.store.ledger(), now)
                    self._counted = True
            except SocialcrawlError as error:
                self._settle(self._plan_retry(error))
            except Exception:  # noqa: BLE001 - an error of ours in one campaign ends no other; its run tells of it
                self._settle(self._plan_retry(None))

    def run(self) -> None:
        """Run the campaign once; `due` is set afterwards."""
        now = self.process.time.now()
        with self._guard:
            if self._barred or self._held:
                return
            self.running = True
            self._lag = max(0.0, now - self.due) if self.due is not None else 0.0
            self.clock.restart()
        after: NextRun | None = None
        try:
            after = self._run_once()
        except SocialcrawlError as error:
            after = self._plan_retry(error)
        finally:
            with self._guard:
                self.running = False
                self._settle(after or self._plan_retry(None))

    def check(self) -> None:
        """Close it where its database file is gone, or another has taken its place; it is tried again."""
        if self._campaign is not None and read_inode(self.settings.database) != self._inode:
            with self._guard:
                self._lost = True
                self._interrupt()

    def obey(self, wish: CampaignLease | None) -> bool:
        """Pause, stop or go on, as its database says; return whether that is a change."""
        why = describe_pause(wish) if wish is not None and wish.paused is not None else None
        state = STOPPED if wish is not None and wish.stopped else PAUSED
        obeys = (
            self._barred is not None and self._barred[0] in (PAUSED, STOPPED) and self._barred[1] not in (LEFT, GONE)
        )
        if why is None and obeys:
            self.unbar()
        elif why is not None and (self._barred is None or (obeys and self._barred != (state, why))):
            self.bar(state, why)
        else:
            return False
        return True

    def bar(self, state: str, why: str) -> None:
        """Let it not run, and close it, until `unbar`: it is paused, gone, or its file is broken."""
        with self._guard:
            self._barred = state, why
            self._interrupt()

    def unbar(self) -> None:
        """Let it run again."""
        with self._guard:
            if self._barred:
                pause = self._barred[0] == PAUSED
                self._barred = None
                goes_on = pause and self._began is not None  # its turn was not over
                now = self.process.time.now()
                self._settle(
                    NextRun(WAITING, "it is about to go on", now, same=True) if goes_on else self._plan_first()
                )

    def give_way(self, to: str) -> None:
        """Let another daemon run it until `take_over`; requests in flight are waited for. `to` says who, in words."""
        with self._guard:
            if self._barred is None and self._state[0] != ELSEWHERE:
                self._given_to = to
                self._interrupt()

    def take_over(self, held: CampaignLease | None) -> None:
        """Run it again, from where another daemon has left it; its next turn is when its schedule says."""
        with self._guard:
            self._given_to = None
            if self._state[0] != ELSEWHERE or self.running:
                return
            if held is None:
                self._settle(self._plan_first())
            else:
                self.restore(held)

    def change(self, settings: Settings) -> None:
        """Go on with other settings."""
        with self._guard:
            self._fresh = settings
            self._interrupt()

    def hold(self, *, still: bool) -> None:
        """Do not run for a moment, but stay open; or run again, at once."""
        with self._guard:
            self._held = still
            if still and self.running:
                self.clock.interrupt()
            elif not still and self.due is not None:
                self._plan_due(replace(self._next, due=self.process.time.now()) if self._next.due else self._next)

    def hasten(self) -> bool:
        """Return whether it waits, and does so no longer: the next run is now."""
        with self._guard:
            waits = not self.running and self._state[0] == WAITING and self._next.due is not None
            if waits:
                self._plan_due(replace(self._next, due=self.process.time.now()))
            return waits

    def _interrupt(self) -> None:
        """End the run that is under way, which then settles; or settle at once."""
        if self.running:
            self.clock.interrupt()
        else:
            self._settle(NextRun(*self._state[:2], self._next.due))

    def _settle(self, after: NextRun) -> None:
        """Take in what follows a run, and what others want meanwhile."""
        self.monitor.clear_flying()
        if self._fresh is not None:
            self._put_down()
            self.settings, self._fresh, self._faults, self._failures = self._fresh, None, 0, 0
            self._unable_until, self._ended = 0.0, None
            self.schedule = self.settings.schedule.schedule
            self.upkeep = self.upkeep.take_over(self.settings)
            after = self._plan_first()
        if self._lost:
            self._lost = False
            after = self._plan_retry(StoreError(f"The database {self.settings.database} is gone: put it back."))
        given_to, self._given_to = self._given_to, None
        if given_to is not None and after.state != DONE:
            after = NextRun(ELSEWHERE, given_to, None, close=True)
        if self._barred:
            self.upkeep.let_go()
            after = NextRun(*self._find_stop_state(after), None, close=True, same=self._barred[0] == PAUSED)
        if after.close:
            self._put_down()
        self._plan_due(after)
        self._began = self._began if after.same else None
        if self._campaign is not None and (after.state != WAITING or self._campaign.failing):
            self._campaign.release_windows()  # a campaign that does not wait for the window leaves it to the others
        self._become(after.state, after.why)

    def _plan_due(self, after: NextRun) -> None:
        """Take in what follows: the next run, or before that what the upkeep has to do."""
        self._next = after
        dues = [] if self._barred or after.state == ELSEWHERE else [self.upkeep.due]
        self.due = min((due for due in (after.due, *dues) if due is not None and due < inf), default=None)

    def _find_stop_state(self, after: NextRun) -> tuple[str, str]:
        """Return the state in which it may not run, and why: how it stands, where it has no way to go on anyway."""
        assert self._barred is not None
        left = self._barred[1] == LEFT
        if left and after.state in (RUNNING, WAITING) and (down := self._find_outage(self._campaign)) is not None:
            return DOWN, down[1]
        stays = is_settled(after.state, after.why) if left else after.state == DONE
        return (after.state, after.why) if stays and self._barred[0] != BROKEN else self._barred

    def _plan_first(self, last: float | None = None) -> NextRun:
        """Return what a campaign begins with, or begins again: its first turn, now or when its schedule says."""
        now = self.process.time.now()
        first = plan_turn(self.schedule, now, None if self.schedule.continuous else last)
        return NextRun(WAITING, "it is about to begin", now) if first.due == now else first

    def _run_once(self) -> NextRun:
        now, schedule = self.process.time.now(), self.schedule
        if self.upkeep.is_due():
            self._keep_up(schedule.find_hours(now))
            if self._next.due is None or self._next.due > now:
                return self._next
        if not schedule.open(now):
            return plan_turn(schedule, now, None)
        self._began = now if self._began is None else self._began
        if (
            self._full
            and (why := find_reserved_space(self.settings, self.process).describe_shortage(MARGIN)) is not None
        ):
            return NextRun(STOPPED, why, now + AGAIN, close=True)  # nothing is opened and folded for that
        if self._campaign is None:
            if other := self.elsewhere(self.settings):
                return NextRun(ELSEWHERE, other, now + HELD)
            self._become(RUNNING, "it is being opened")
        campaign = self._open_campaign()
        ends = schedule.find_end(self._began)
        self.clock.ends = min(inf if ends is None else ends, self.upkeep.due)
        self._become(RUNNING, "it sends requests")
        campaign.claim_windows()
        known = {"folded": self._folded, "counted": self._counted}
        reason = run(campaign.parts, size=campaign.together, patience=PATIENCE, **known)
        campaign.keep(reason)
        self._folded, self._faults = True, 0
        return self._plan_after(reason)

    def _keep_up(self, opens: float) -> None:
        """Do what the check for deletions has to do now, but not before `opens`; it stands in no run's way."""
        if opens > self.process.time.now():
            self.upkeep.postpone(opens)
            return
        try:
            if not self.upkeep.is_ready:
                if self._campaign is None and (other := self.elsewhere(self.settings)):
                    raise HeldError(other)
                campaign = self._open_campaign()
                if not (self._folded or self._counted):
                    campaign.planner.fold(campaign.store.ledger(), self.process.time.now())
                    self._counted = True
                self.upkeep.advance(campaign)
            if self.upkeep.is_ready:
                self._put_down()
                self.upkeep.apply()
        except SocialcrawlError as error:
            self.upkeep.fail(error)

    def _open_campaign(self) -> OpenCampaign:
        where = self.settings.database
        if self._campaign is None:
            if isinstance(where, Path) and self._inode is not None and read_inode(where) is None:
                raise StoreError(f"The database {where} is gone: put it back; no other is begun in its place.")
            self._campaign = build(self.settings, self.monitor, self.process, clock=self.clock, change=True)
            self._folded, self._counted, self._inode, self._ended = False, False, read_inode(where), None
        return self._campaign

    def _plan_after(self, reason: Wait | Stop) -> NextRun:
        now = self.process.time.now()
        if self._held and isinstance(reason, Stop) and reason.kind == StopKind.INTERRUPTED:
            return NextRun(WAITING, "the clock of this machine was set", now, same=True)
        ends = self.schedule.find_end(self._began or now)
        interrupted = isinstance(reason, Stop) and reason.kind == StopKind.INTERRUPTED
        if interrupted and self.upkeep.is_due() and (ends is None or now < ends):
            return NextRun(WAITING, "a check for deletions is due", now, same=True)
        self._full = isinstance(reason, Stop) and reason.kind == StopKind.ROOM
        after = plan_next_run(reason, self.schedule, now, self._began or now, self._failures)
        failed = isinstance(reason, Stop) and reason.kind == StopKind.FAILED and reason.until is None
        self._failures = self._failures + 1 if failed else 0
        return after

    def _plan_retry(self, error: SocialcrawlError | None) -> NextRun:
        """Return what follows an error: it is closed, and tried again.

        None: an error of socialcrawl itself, which is reported elsewhere.
        """
        now = self.process.time.now()
        if isinstance(error, HeldError):
            return NextRun(ELSEWHERE, str(error), now + HELD, close=True)
        if isinstance(error, SettingsError | PluginError):
            self._unable_until = now + UNABLE
            if self._ended is not None:
                return NextRun(*self._ended, now + UNABLE, close=True)  # nothing is left to do, whatever is missing
        pause = PAUSES[min(self._faults, len(PAUSES) - 1)]
        self._faults += 1
        why = remove_rerun_advice(str(error)) if error else "an error of socialcrawl itself, see the log"
        return NextRun(BROKEN, why, now + pause, close=True)

    def _put_down(self) -> None:
        if self._campaign is not None:
            campaign, self._campaign = self._campaign, None
            self._figures = measure_campaign(campaign, self.monitor, self._lag)
            campaign.close()

    def _become(self, state: str, why: str, since: float | None = None) -> None:
        if state == DOWN and self.monitor.down is not None:
            since = self.monitor.down[0]
        if (state, why) != self._state[:2]:
            since = since or (self._state[2] if state == self._state[0] else self.process.time.now())
            self._state = state, why, since
