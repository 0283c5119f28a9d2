"""The daemon: every campaign of a folder, run on the scheduler until told to stop.

    start      the folder is read, each campaign is opened and gets its job
    a job      one run of a campaign; when it has ended, it is added again for the moment that the limiter named
    look       every few seconds: files that changed, who stalls, the heartbeat; and for each database, in a thread of
               its own: what others ask through it, and how its campaigns stand
    stop       all runs are interrupted at once; what is in flight has 8 s to land

The main thread does nothing but begin jobs that are due, and wait. Whatever uses a database is done by its own thread
(`hands`), so that one that hangs delays no other.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import structlog
from apscheduler.executors.base import BaseExecutor

from socialcrawl.campaign.build import ProcessContext
from socialcrawl.campaign.credentials import list_variables
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings
from socialcrawl.daemon.campaign_folder import CampaignFolder, FolderChange
from socialcrawl.daemon.campaign_runner import CampaignRunner
from socialcrawl.daemon.campaign_sharing import CampaignSharing
from socialcrawl.daemon.campaign_state import (
    BROKEN,
    DONE,
    ELSEWHERE,
    GONE,
    LEFT,
    PAUSED,
    STOPPED,
    CampaignState,
    Changed,
    StateChanges,
    describe_pause,
    is_settled,
)
from socialcrawl.daemon.daemon_records import DaemonRecords
from socialcrawl.daemon.database_threads import DatabaseThreads, make_thread
from socialcrawl.daemon.duplicate_campaigns import DuplicateCampaigns
from socialcrawl.daemon.metrics import DaemonStatus
from socialcrawl.daemon.overview import Overview
from socialcrawl.daemon.scheduler import Scheduler
from socialcrawl.engine.loop import GRACE
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.versions import compare_file
from socialcrawl.system.locks import is_alive

LOOK = 2.0  # seconds between two looks
OFTEN = 0.5  # seconds between two looks at least
LEAVING = GRACE + 0.7  # seconds after which a run that has not ended is left behind
HASTE = 0.6  # seconds for the last words in all databases; also what runs that ended at once have left of theirs
SET = 5.0  # seconds by which somebody has to set the clock for it to be noticed
STALL = 1800.0  # seconds without a movement that was due, after which a campaign counts as stalled
LOOKING = "look"
OF_EPOCHS = ("topic", "seeds", "accounts")  # sections of a campaign file whose changes begin an epoch


@dataclass(frozen=True, slots=True)
class DaemonIdentity:
    """Who a daemon is: its machine and its process."""

    host: str
    pid: int


class Daemon:
    """All campaigns of a folder.

    Args:
        folder: the folder of campaign files, or one file.
        process: what the campaigns share: time, windows, tokens.
        executor: APScheduler's, of threads or of the calling one.
        who: the machine and process.
        changed: called with each change of a state.
        look: seconds between two looks.
        stall: seconds after which a campaign that should have moved counts as stalled.
        hands: makes what does the work with one database.
        until_done: whether to stop when nothing is left to do: see `_is_done`.
        weight: its share of the campaigns of a server, relative to other daemons; 0: only what no other can run.
    """

    def __init__(
        self,
        folder: Path,
        process: ProcessContext,
        executor: BaseExecutor,
        who: DaemonIdentity,
        changed: Changed,
        *,
        look: float = LOOK,
        stall: float = STALL,
        hands: Callable[[], Executor] = make_thread,
        until_done: bool = False,
        weight: float = 1.0,
    ) -> None:
        self.folder, self.process, self.who = CampaignFolder(folder), process, who
        self.hands, self.every = DatabaseThreads(hands), look
        self.began = self.heart = process.time.now()
        self.name = f"{who.host}:{who.pid}:{format_time(self.began)}"
        self.books = DaemonRecords(self.name, who.host, who.pid, self._complain)
        self.sharing = CampaignSharing(self.name, weight, self.books)
        self.overview = Overview(process, self.books, StateChanges(changed), stall)
        self.runners, self.faults = self.overview.runners, self.overview.faults
        self.scheduler = Scheduler(process.time, executor, self._plan_again)
        self.stopping, self.until_done = False, until_done
        self._reload = False
        self._leaving: list[CampaignRunner] = []  # whose files are gone, while their last runs end
        self._namesakes = DuplicateCampaigns()
        self._log = structlog.get_logger()
        process.shared.on_release = self._hasten_campaign

    def run(self) -> list[str]:
        """Run until `stop`; the names of campaigns whose runs had to be left behind, none if all is well."""
        self._log.info("the daemon begins", folder=str(self.folder.path), daemon=self.name)
        self.check_all()
        self.scheduler.add_once(self.process.time.now() + self.every, LOOKING, self.check_all)
        self.scheduler.run(lambda: not self.stopping)
        return self._leave()

    def stop(self) -> None:
        """Stop soon; safe to call from a signal handler."""
        self.stopping = True
        self.scheduler.wakeup()

    def reload(self) -> None:
        """Read all campaign files again; safe to call from a signal handler."""
        self._reload = True
        with suppress(RuntimeError):
            self.scheduler.wakeup()

    def make_status(self) -> DaemonStatus:
        """Return how the daemon is, and how its campaigns stand."""
        shared = self.sharing.list_daemons(self.process.time.now())
        return DaemonStatus(self.began, self.heart, self.overview.list_states(), shared)

    def check_all(self) -> None:
        """Look after everything once."""
        self._follow_clock()
        again, self._reload = self._reload, False
        self._look_into_folder(again=again)
        self._plan_opened()
        for where in {runner.settings.database: None for runner in self.runners.values()}:
            if not self.hands.is_busy(where):
                self.hands.do(where, partial(self._look_at, where))
        self.overview.notice_all()
        self._leaving = [runner for runner in self._leaving if runner.running or runner.open]
        self.heart = self.process.time.now()
        if self.until_done and not self.stopping and self._is_done():
            self._log.info("nothing is left to do")
            self.stop()

    def _is_done(self) -> bool:
        """Return whether all campaigns are done or stopped, with no time at which they go on, or others run them."""
        if self.overview.opening.busy or self.faults:
            return False
        for runner in self.runners.values():
            state = runner.describe_state()
            others = state.state == ELSEWHERE and not self.sharing.is_expected(runner.settings)
            ended = others or (state.state in (DONE, STOPPED) and runner.due is None)
            if not ended or runner.running or runner in self.overview.opening:
                return False
        return True

    def _look_into_folder(self, *, again: bool) -> None:
        place, begun = self.folder.path, list[CampaignRunner]()
        try:
            changes = self.folder.find_changes(again=again)
        except SettingsError as error:  # a volume that is away: no reason to stop anything, but to tell
            held = self.faults.get(place)
            self.faults[place] = held or CampaignState(place, place.name, BROKEN, str(error), self.process.time.now())
            return
        if self.folder.many:
            self.faults.pop(place, None)
        for found in self._namesakes.order(changes):
            self._take_change(found, begun, again=again)
        self.overview.opening.begin(begun, self.process.time.now())
        for runner in begun:
            self._do(runner, partial(self._open, runner))

    def _take_change(self, found: FolderChange, begun: list[CampaignRunner], *, again: bool) -> None:
        """Take in a campaign file that is new, changed or gone; `begun` gets the campaigns that are new."""
        runner = self.runners.get(found.file)
        if found.settings is None:
            self._stop_file(found, runner)
            return
        self.faults.pop(found.file, None)
        settings = found.settings
        if (first := self._find_duplicate(found.file, settings)) is not None:
            self._stop_file(
                FolderChange(found.file, fault=self._namesakes.leave_out(found.file, settings, first)), runner
            )
        elif runner is not None and (runner.name, runner.settings.database) == (settings.name, settings.database):
            self._do(runner, partial(self._take_in, runner, settings, again=again))
        else:
            if runner is not None:
                self._drop(found.file)
            self.runners[found.file] = runner = CampaignRunner(
                found.file, settings, self.process, self._find_other_daemon
            )
            begun.append(runner)

    def _do(self, runner: CampaignRunner, deed: Callable[[], object]) -> "Future[None]":
        return self.hands.do(runner.settings.database, deed)

    def _take_in(self, runner: CampaignRunner, settings: Settings, *, again: bool) -> None:
        """Let a campaign go on with what its file says now."""
        if settings != runner.settings or again or runner.blocking_state == BROKEN:
            self._log.info("the campaign file is taken in", campaign=settings.name, file=str(runner.file))
            runner.unbar() if runner.blocking_state == BROKEN else None
            runner.change(settings)
            self._plan(runner.file)

    def _open(self, runner: CampaignRunner) -> None:
        """Begin a campaign as its database knows it; it runs once all that begin with it are open."""
        try:
            now, where = self.process.time.now(), runner.settings.database
            plan = make_plan(runner.settings)
            for doubt in plan.doubts:
                self._log.warning("a keyword of the campaign is doubtful", campaign=runner.name, why=doubt)
            self.books.begin(plan, now)
            heard = self.books.read_orders(where, now)
            one = None if heard is None else heard[1].get(runner.name)
            stored = partial(self.books.read_settings, where, runner.name, now)
            if (right := self._namesakes.find_right(runner, one, stored)) != runner.file:
                self._drop(runner.file)
                self.faults.pop(right, None)
                self.folder.forget(runner.file)  # both are read again, the right one first
                self.folder.forget(right)
                return
            if one is not None:
                runner.restore(one)
                if is_settled(one.state, one.why):
                    self.overview.news.restore(replace(runner.describe_state(), state=one.state, why=one.why))
                self._obey(runner, one)
            if heard is not None and not self.sharing.is_begun(where):
                self._share(where, heard[1])
            runner.prepare()
        finally:
            self.overview.opening.end(runner)
            self._plan_opened()

    def _plan_opened(self) -> None:
        """Have campaigns run that were opened together, once all of them are: their windows are known then."""
        for runner in self.overview.opening.take_ready(self.process.time.now()):
            self._plan(runner.file)

    def _stop_file(self, found: FolderChange, runner: CampaignRunner | None) -> None:
        """Stop the campaign of a file that is gone or cannot be read, and no other campaign."""
        now = self.process.time.now()
        if found.fault is None:
            self.faults.pop(found.file, None)
            if runner is not None:
                self._log.info("the campaign file is gone: the campaign stops", campaign=runner.name)
                self._drop(found.file)
        elif runner is not None:
            self._do(runner, partial(runner.bar, BROKEN, found.fault))
            self.scheduler.cancel(str(found.file))
        else:
            self.faults[found.file] = CampaignState(found.file, found.file.stem, BROKEN, found.fault, now)

    def _drop(self, file: Path) -> None:
        self.scheduler.cancel(str(file))
        for other in (*self.faults, *(one for one, its in self.runners.items() if its.blocking_state == BROKEN)):
            self.folder.forget(other)  # it may have been in the way of them
        runner = self.runners.pop(file)
        self._leaving.append(runner)
        self._do(runner, partial(runner.bar, STOPPED, GONE))

    def _find_duplicate(self, file: Path, settings: Settings) -> Path | None:
        for other, runner in self.runners.items():
            if other != file and (runner.name, runner.settings.database) == (settings.name, settings.database):
                return other
        return None

    def _look_at(self, where: DatabaseAddress) -> None:
        """Hear from a database to stop, and who is paused; write the heartbeat, and how its campaigns stand."""
        for runner in self.overview.find_campaigns(where):
            runner.check()
        heard = self.books.read_orders(where, self.process.time.now())
        if heard is None:
            return
        if heard[0] and not self.stopping:
            self._log.info("stopped from another terminal")
            self.stop()
        for runner in self.overview.find_campaigns(where):
            self._obey(runner, heard[1].get(runner.name))
        if not self.stopping:
            self._share(where, heard[1])
        for runner in self.overview.find_campaigns(where):
            self.overview.notice(runner.file)
        self.overview.write(where)

    def _share(self, where: DatabaseAddress, held: Mapping[str, CampaignLease]) -> None:
        """Give away the campaigns of a server that other daemons are to run, and take over those that are left."""
        changed = self.sharing.decide(where, held, self.overview.find_campaigns(where), self.process.time.now())
        for one in changed.hung:
            text = "a daemon hangs: its connections to the database were ended"
            self._log.warning(text, campaign=one.campaign, daemon=one.daemon)
        for runner in changed.lacking:
            unset = [name for name, there in list_variables(runner.settings).items() if not there]
            text = "the campaign cannot be run here: its token is not set, or another program of this machine uses it"
            self._log.warning(text, campaign=runner.name, unset=unset)
        for runner in changed.given:
            self.scheduler.cancel(str(runner.file))
        for runner in changed.taken:
            self._note_taken(runner, held.get(runner.name))
            self._plan(runner.file)

    def _note_taken(self, runner: CampaignRunner, before: CampaignLease | None) -> None:
        """Log that a campaign is taken over, and whether its file here is another one."""
        log = self._log.bind(campaign=runner.name, daemon=None if before is None else before.daemon)
        log.info("taken over")
        stored = self.books.read_settings(runner.settings.database, runner.name, self.process.time.now())
        changed = compare_file(stored, runner.settings.model_dump(mode="json")) if stored else []
        if keys := [key for key in changed if key.partition(".")[0] in OF_EPOCHS]:
            log.warning("its campaign file is another one here: the campaign goes on with this one", keys=keys)

    def _obey(self, runner: CampaignRunner, one: CampaignLease | None) -> None:
        """Pause a campaign, or let it go on, as its database says."""
        log = self._log.bind(campaign=runner.name)
        if one is not None and (by := one.paused_by) is not None and by.host == self.who.host and not is_alive(by.pid):
            log.warning("the command that paused the campaign is gone: it goes on", by=str(by))
            self.books.resume(runner.settings.database, runner.name, by, self.process.time.now())
            one = None
        if not runner.obey(one):
            return
        if one is None or one.paused is None:
            self._plan(runner.file)
            return
        self.scheduler.cancel(str(runner.file))
        if one.paused_by is not None:
            log.info(PAUSED, why=describe_pause(one))  # the only line: it is no news

    def _find_other_daemon(self, settings: Settings) -> str | None:
        if trouble := self.books.get_trouble(settings.database):
            raise StoreError(trouble)  # at once: many campaigns of a server that hangs would keep all threads busy
        if (why := self.sharing.find_reason(settings)) is not None:
            return why
        other = self.books.find_other(settings.database, settings.name, self.process.time.now(), is_alive)
        return None if other is None else f"the daemon {other.daemon} runs it: it is taken over when that lets go"

    def _plan(self, file: Path) -> None:
        """Have the job of a campaign begun when it is due; not while it runs: then it is when that has ended."""
        runner = self.runners.get(file)
        if runner is None or runner in self.overview.opening:
            return
        if not runner.running and not runner.is_held and runner.due is not None:
            self.scheduler.add_once(runner.due, str(file), runner.run)

    def _plan_again(self, name: str, error: BaseException | None) -> None:
        """Listen to the scheduler: a job has ended, and is added again for the moment that it named."""
        if name == LOOKING:
            if error is not None:
                self._log.error("a look failed, an error of socialcrawl itself", exc_info=error)
            self.scheduler.add_once(self.process.time.now() + self.every, LOOKING, self.check_all)
            return
        if error is not None:
            self._log.error("a run failed, an error of socialcrawl itself", file=name, exc_info=error)
        self._plan(Path(name))
        if (runner := self.runners.get(Path(name))) is not None:
            self.overview.notice(runner.file)
            self._look_soon()

    def _look_soon(self) -> None:
        """Have it written soon how things stand now; at most so often as nobody minds."""
        now = self.process.time.now()
        if now - self.heart >= OFTEN and not self.stopping:
            self.scheduler.add_once(now, LOOKING, self.check_all)

    def _hasten_campaign(self, campaign: str) -> None:
        """Let a campaign ask at once: others gave up their claims to the window for whose share it waits."""
        for file, runner in list(self.runners.items()):
            if runner.label == campaign and runner.hasten():
                self._plan(file)

    def _follow_clock(self) -> None:
        """Wait for open requests and shift the windows where the system clock was set: they last as long."""
        by = self.process.time.off()
        if abs(by) < SET:
            return
        self._log.warning("the clock of this machine was set: windows go on as they were", seconds=round(by, 3))
        for runner in self.runners.values():
            runner.hold(still=True)
        self._await(lambda: any(runner.running for runner in self.runners.values()))
        self.process.shared.shift(self.process.time.follow())
        for file, runner in self.runners.items():
            runner.hold(still=False)
            self._plan(file)

    def _complain(self, where: DatabaseAddress, trouble: str) -> None:
        if trouble:
            self._log.warning("a database cannot be used: its campaigns wait for it", error=trouble)
        else:
            self._log.info("the database is back", database=str(where))

    def _await(self, goes_on: Callable[[], bool]) -> None:
        """Wait for runs that were interrupted, at most LEAVING seconds."""
        ends = threading.Event()
        began = self.process.time.now()
        while goes_on() and self.process.time.now() - began < LEAVING:
            ends.wait(0.05)

    def _leave(self) -> list[str]:
        """End all runs, and let go of everything."""
        self._log.info("the daemon stops: what is in flight is waited for", seconds=GRACE)
        ends = self.process.time.now() + LEAVING + HASTE
        runners = [*self.runners.values(), *self._leaving]
        barred = {runner: self._do(runner, partial(runner.bar, STOPPED, LEFT)) for runner in runners}
        self._await(lambda: any(runner.running or not done.done() for runner, done in barred.items()))
        late = [runner.name for runner, done in barred.items() if runner.running or not done.done()]
        self.scheduler.shutdown(wait=False)
        self.overview.notice_all()
        now = self.process.time.now()
        last = [self.hands.do(where, self.overview.leave(where)) for where in self.books.list_databases()]
        wait(last, max(HASTE, ends - now))
        self.hands.shut_down()
        self._log.info("the daemon has stopped", left_behind=late)
        return late
