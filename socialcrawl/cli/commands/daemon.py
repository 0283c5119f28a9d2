"""`socialcrawl daemon`: signals, log, health page and notices around the daemon."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import FrameType

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor

from socialcrawl.campaign.build import ProcessContext
from socialcrawl.campaign.settings import Settings
from socialcrawl.cli.commands.child_pages import serve_beside
from socialcrawl.cli.commands.ui import PORT, WebOptions
from socialcrawl.daemon.campaign_state import (
    BROKEN,
    DONE,
    DOWN,
    ELSEWHERE,
    EVENTFUL,
    RUNNING,
    STALLED,
    WAITING,
    CampaignState,
    EventFilter,
)
from socialcrawl.daemon.daemon import Daemon, DaemonIdentity
from socialcrawl.daemon.health_page import make_app, parse_host_port, serve_pages
from socialcrawl.daemon.log_file import BoundedLogFile
from socialcrawl.daemon.logs import configure
from socialcrawl.daemon.notices import COMMAND_PATIENCE, EVENT_OF, Notices
from socialcrawl.engine.clock import SteadyClock
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError
from socialcrawl.fleet.dask_client import load_distributed
from socialcrawl.fleet.shared_fleets import SharedFleets
from socialcrawl.storage.database.filetypes import describe_wrong_campaign
from socialcrawl.system.secret import read_secret, read_secret_addresses
from socialcrawl.text.wording import format_span

OK, LEFT_BEHIND, INTERRUPTED = 0, 1, 130
LAST = 9.8  # seconds after a signal to stop at which the process ends in any case
CLOSING = 0.2  # seconds for notices that are under way when the daemon leaves
LOUD = {STALLED: "warning", BROKEN: "warning", DOWN: "warning", RUNNING: "debug"}
SHORT = 60.0  # seconds: a shorter wait is no news


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """What a person asks of the daemon; see the options of `socialcrawl daemon`. `stall` in seconds."""

    folder: Path
    log: str
    health: str | None
    allow_remote: bool
    allow_hosts: Sequence[str]
    workers: int
    stall: float
    ui: str | None = None
    log_file: Path | None = None
    until_done: bool = False
    worker_processes: int = 0
    weight: float = 1.0


def operate(wanted: DaemonOptions) -> int:
    """Run the daemon until told to stop; the exit code."""
    if not wanted.folder.exists():
        raise SettingsError(f"There is no folder {wanted.folder}: make it, and put campaign files (*.toml) into it.")
    if wanted.folder.is_file() and (wrong := describe_wrong_campaign(wanted.folder)) is not None:
        raise SettingsError(wrong)
    if wanted.worker_processes:
        load_distributed()  # or say at once that it is missing
    with ExitStack() as undo:
        stream = sys.stderr if wanted.log_file is None else undo.enter_context(BoundedLogFile(wanted.log_file))
        undo.callback(configure(wanted.log, stream))
        notifier = _StateNotifier()
        undo.callback(notifier.close)
        time = SteadyClock()
        fleets = SharedFleets(wanted.worker_processes)
        undo.callback(fleets.close)
        who = DaemonIdentity(socket.gethostname(), os.getpid())
        daemon = Daemon(
            wanted.folder,
            ProcessContext(time, fleets=fleets),
            ThreadPoolExecutor(wanted.workers + 1),
            who,
            notifier.announce,
            stall=wanted.stall,
            until_done=wanted.until_done,
            weight=wanted.weight,
        )
        notifier.daemon = daemon
        if wanted.health is not None:
            host, port = parse_host_port(wanted.health)
            pages = make_app(daemon.make_status, time.now)
            served = serve_pages(pages, host, port, allow_remote=wanted.allow_remote, allow_hosts=wanted.allow_hosts)
            url = undo.enter_context(served)
            structlog.get_logger().info("the health page is served", url=f"{url}/healthz", metrics=f"{url}/metrics")
        if wanted.ui is not None:
            undo.enter_context(serve_beside(_make_web_options(wanted, wanted.ui)))
        with _handle_signals(daemon):
            late = daemon.run()
    return LEFT_BEHIND if late else OK


def _make_web_options(wanted: DaemonOptions, place: str) -> WebOptions:
    host, port = parse_host_port(place, PORT)
    return WebOptions(
        [str(wanted.folder)],
        host,
        port,
        browser=False,
        allow_remote=wanted.allow_remote,
        allow_hosts=wanted.allow_hosts,
    )


class _StateNotifier:
    """Who is told when a campaign comes into another state: the log, and whom its file names."""

    def __init__(self) -> None:
        self.daemon: Daemon
        self._secrets: set[str] = set()  # variables of all campaigns that hold secrets
        self._notices: dict[Path, tuple[Settings, Notices | None]] = {}
        self._lock = threading.Lock()
        self._events = EventFilter()

    def announce(self, now: CampaignState, before: CampaignState | None) -> None:
        log = structlog.get_logger().bind(campaign=now.campaign)
        if before is not None and (line := _describe_return(now, before)) is not None:
            log.info(line, was=before.state, after=format_span(max(0.0, self.daemon.process.time.now() - before.since)))
        facts = {"why": now.why, "until": now.until and format_time(now.until)} | _format_figures(now)
        short = now.state == WAITING and (now.until is None or now.until - self.daemon.process.time.now() < SHORT)
        loud = "debug" if short else LOUD.get(now.state, "info")
        getattr(log, loud)(now.state, **{key: value for key, value in facts.items() if value})
        for runner in list(self.daemon.runners.values()):
            if not self._secrets.issuperset(found := _find_secrets(runner.settings)):
                self._secrets |= found
        notices = self._of(now.file)  # also where there is nothing to tell yet: what is wrong with it is said at once
        if self._events.is_one(now, before) and notices is not None:
            notices.tell(EVENT_OF[now.state], now)

    def close(self) -> None:
        """Wait a moment for notices that are under way."""
        ends = monotonic() + CLOSING
        for _, notices in self._notices.values():
            if notices is not None:
                notices.close(max(0.0, ends - monotonic()))

    def _of(self, file: Path) -> Notices | None:
        """Return whom the campaign file names, read again where it has changed."""
        runner = self.daemon.runners.get(file)
        if runner is None:
            return None
        with self._lock:
            held = self._notices.get(file)
            if held is None or held[0] is not runner.settings:
                if held is not None and held[1] is not None:
                    _retire(held[1])
                held = self._notices[file] = runner.settings, _make_notices(runner.settings, self._secrets)
            return held[1]


def _describe_return(now: CampaignState, before: CampaignState) -> str | None:
    """Return a line that says that a campaign is well again; None: it is not, or was well before."""
    if before.state == DOWN and now.state in (RUNNING, WAITING, DONE):  # DOWN lasts until the platform answers
        return "the platform answers again"
    is_well = now.state not in EVENTFUL and now.state != ELSEWHERE
    return "the campaign goes on" if is_well and before.state in EVENTFUL and before.state != DOWN else None


def _retire(notices: Notices) -> None:
    """Let what is under way come to its end, without waiting for it."""
    threading.Thread(target=notices.close, args=(COMMAND_PATIENCE,), name="notices-end", daemon=True).start()


def _find_secrets(settings: Settings) -> set[str]:
    """Return the environment variables of a campaign that hold what nobody may see."""
    notify = settings.notify
    named = {name for name in (settings.source.variable, notify.webhook_env, notify.apprise_env) if name}
    for token in settings.source.tokens:
        named |= {token.env} if isinstance(token.env, str) else set(token.env)
    return named


def _make_notices(settings: Settings, secrets: set[str]) -> Notices | None:
    given = settings.notify
    try:
        webhook = read_secret(given.webhook_env) if given.webhook_env else None
        addresses = read_secret_addresses(given.apprise_env) if given.apprise_env else []
        if not given.command and webhook is None and not addresses:
            return None
        return Notices(given.command, webhook, given.on, without=secrets, addresses=addresses)
    except SettingsError as error:
        structlog.get_logger().warning("no notice can be sent", campaign=settings.name, error=str(error))
        return None


def _format_figures(standing: CampaignState) -> dict[str, object]:
    figures = standing.figures
    return {} if figures is None else {"steps": figures.steps, "relevance": round(figures.relevance, 1)}


@contextmanager
def _handle_signals(daemon: Daemon) -> Iterator[None]:
    """Stop the daemon at SIGTERM or Ctrl-C, at once at a second one; at SIGHUP read the campaign files again."""

    def stop(number: int, frame: FrameType | None) -> None:
        if daemon.stopping:
            os._exit(INTERRUPTED)
        daemon.stop()
        last = threading.Timer(LAST, os._exit, (LEFT_BEHIND,))  # whatever hangs: what was stored is safe
        last.daemon = True
        last.start()

    def reload(number: int, frame: FrameType | None) -> None:
        daemon.reload()

    wanted = {signal.SIGTERM: stop, signal.SIGINT: stop}
    if hasattr(signal, "SIGHUP"):
        wanted[signal.SIGHUP] = reload
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
