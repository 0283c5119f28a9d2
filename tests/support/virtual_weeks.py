"""A daemon on a clock that passes only where somebody waits, beside a mock that looks at the same clock."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import structlog
from apscheduler.executors.debug import DebugExecutor
from x_crawls import TOKEN_ENV

from socialcrawl.campaign.build import ProcessContext
from socialcrawl.daemon.campaign_state import EventFilter
from socialcrawl.daemon.daemon import Daemon, DaemonIdentity
from socialcrawl.lab import instant
from socialcrawl.lab.generators.generate import choose_topics
from socialcrawl.lab.instant import ImmediateExecutor
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.disk_space import measure_disk

BEGIN = 1_800_000_000.0
DAY, WINDOW, K = 86_400.0, 900.0, 15
LATENCY = 0.25
TOPICS = list(choose_topics().values())


class Virtual(instant.VirtualClock):
    """A clock that begins at an instant of these tests."""

    def __init__(self, now=BEGIN):
        super().__init__(now)


class Slowly(instant.VirtualExecutor):
    """An executor whose work takes a while of virtual time."""

    def __init__(self, time, latency=LATENCY):
        super().__init__(time, latency)


@contextmanager
def a_mock(posts, time, fault=None, **settings):
    quick = {"held": 1_000_000, "platforms": ("x",)}  # what is measured is the daemon, not what the mock holds
    with serve_in_thread(posts, fault, time.now, limit=K, window=WINDOW, **{**quick, **settings}) as mock:
        yield mock


def campaign_text(name, url, keyword, more=""):
    return (
        f'name = "{name}"\ndatabase = "week.db"\n[topic]\nkeywords = ["{keyword}"]\n[seeds]\nmost = 10\n'
        f'[crawl]\nestimator = "nh-ne-sum"\n[source]\nbase_url = "{url}"\ntoken_env = "{TOKEN_ENV}"\nreuse_hours = 0\n'
        f"[limits]\nk = {K}\nd = {WINDOW:.0f}\n{more}"
    )


class Week:
    """A daemon in this thread that stops at a virtual instant; `each` is called at every look.

    `states` are all that its campaigns came into, `told` those of which notices would be sent, `logged` its log lines.
    """

    def __init__(self, folder, time, until, each=lambda now: None, look=300.0, *, disk=measure_disk):
        self.time, self.until, self.each = time, until, each
        self.states, self.told, self.logged, self._events = [], [], [], EventFilter()
        process = ProcessContext(time, pool=lambda size: Slowly(time), disk=disk)
        process.shared.database_clock = time.now
        who = DaemonIdentity("here", 1)
        self.daemon = Daemon(folder, process, DebugExecutor(), who, self._changed, look=look, hands=ImmediateExecutor)
        look_round = self.daemon.check_all

        def looked():
            look_round()
            self.each(time.now())
            if time.now() >= until:
                self.daemon.stop()

        self.daemon.check_all = looked

    def _changed(self, now, before):
        self.states.append((self.time.now(), now.campaign, now.state, now.why))
        if self._events.is_one(now, before):
            self.told.append((now.campaign, now.state))

    def _logs(self, logger, level, line):
        self.logged.append({"level": level, **line})
        return ""

    def run(self):
        structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), processors=[self._logs])
        try:
            return self.daemon.run()
        finally:
            structlog.reset_defaults()


def in_windows(report, endpoint="/2/users/:id/tweets"):
    return [window for window in report["windows"] if window["endpoint"] == endpoint]


def threads():
    return SimpleNamespace(count=threading.active_count())
