"""Daemons that are killed at counted moments, one after the other, on one virtual clock that processes share.

One of them at a time leads: the time passes where it waits. It dies at a counted moment, just before or just after a
request. If it has a successor, it stands still halfway until that one has looked around and found everything taken.
"""

import mmap
import os
import random
import signal
import sqlite3
import struct
import time as real
from contextlib import closing
from types import SimpleNamespace

from virtual_weeks import BEGIN, TOPICS, Slowly
from x_crawls import TOKEN_ENV

HOUR, K, D = 3600.0, 7, 900.0
FIELDS = {"at": (0, "d"), "leader": (8, "q"), "ready": (16, "q"), "halfway": (24, "q")}


class Turns:
    """A clock in a file: the time, the process that leads, and those that are ready or halfway."""

    def __init__(self, path, *, begin=False):
        if begin:
            path.write_bytes(struct.pack("dqqq", BEGIN, 0, 0, 0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def __getattr__(self, name):
        place, kind = FIELDS[name]
        return struct.unpack_from(kind, self._map, place)[0]

    def __setattr__(self, name, value):
        if name in FIELDS:
            place, kind = FIELDS[name]
            struct.pack_into(kind, self._map, place, value)
        else:
            super().__setattr__(name, value)

    def now(self):
        return round(self.at, 6)

    def wait(self, event, until):
        if event.is_set():
            return
        if self.leader != os.getpid():
            event.wait(0.001)
            return
        self.at = max(self.at, until)
        while self.now() < until:
            self.at += 1e-6

    def off(self):
        return 0.0

    def follow(self):
        return 0.0


class Mortal(Slowly):
    """An executor that ends its process at a counted moment; halfway there it waits until it leads again."""

    def __init__(self, time, dies, stops):
        super().__init__(time)
        self.dies, self.stops, self.moments = dies, stops, 0

    def submit(self, fn, /, *args, **kwargs):
        self.moment()
        future = super().submit(fn, *args, **kwargs)
        self.moment()
        return future

    def moment(self):
        self.moments += 1
        if self.moments == self.stops:
            self.time.leader, self.time.halfway = 0, os.getpid()
            while self.time.leader != os.getpid():
                real.sleep(0.001)
        if self.moments >= self.dies:
            os.kill(os.getpid(), signal.SIGKILL)


def work(folder, clock, dies, stops, until):
    """Run a daemon in this process until it is killed: at the moment `dies`, or at the virtual instant `until`."""
    from pathlib import Path

    import structlog
    from apscheduler.executors.debug import DebugExecutor

    from socialcrawl.campaign.build import ProcessContext
    from socialcrawl.daemon.daemon import Daemon, DaemonIdentity
    from socialcrawl.lab.instant import ImmediateExecutor

    time = Turns(Path(clock))
    executor = Mortal(time, dies, stops)
    process = ProcessContext(time, pool=lambda size: executor)
    who = DaemonIdentity("here", os.getpid())
    daemon = Daemon(
        Path(folder), process, DebugExecutor(), who, lambda now, before: None, look=60.0, hands=ImmediateExecutor
    )
    look_round = daemon.check_all

    def looked():
        look_round()
        time.ready = os.getpid()
        if time.now() >= until and time.leader == os.getpid():
            os.kill(os.getpid(), signal.SIGKILL)

    daemon.check_all = looked
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), processors=[lambda *given: ""])
    daemon.run()


CAMPAIGNS = {"a": "one.db", "b": "one.db", "c": "two.db"}


class Succession:
    """Daemons on one folder after another, each killed; of its campaigns some run, others are paused, broken or away.

    Args:
        folder: where everything lies.
        time: the clock, whose file is there.
        url: the mock.
        nurseries: two of them, as a daemon begins while another still runs.
        seed: of everything that is drawn.
        policy: the file with the windows; None: those of X, as long as they are here.
    """

    def __init__(self, folder, time, url, nurseries, *, seed, policy=None):
        self.folder, self.url, self.nurseries, self.policy = folder, url, list(nurseries), policy
        self.draw = random.Random(seed)
        self.time = time
        self.restarts = self.takeovers = self.worlds = 0
        self.place = None
        self.living = None

    def world(self):
        """Begin with new databases; the tokens, and what was sent with them, stay."""
        self.worlds += 1
        self.place = self.folder / f"world{self.worlds}"
        self.place.mkdir()

    def text(self, number, name, database, state):
        """A campaign file."""
        if state == "broken":
            return "name = 3\n"
        windows = f'policy = "{self.policy}"' if self.policy else f"[limits]\nk = {K}\nd = {D}"
        rests = "[schedule]\nevery = '5h'\n" if state == "rests" else ""
        return (
            f'name = "{name}"\ndatabase = "{database}"\n[topic]\nkeywords = ["{TOPICS[number % 2]}"]\n'
            f'[seeds]\nmost = 10\n[crawl]\nestimator = "nh-ne-sum"\n'
            f'[source]\nbase_url = "{self.url}"\ntoken_env = "{TOKEN_ENV}"\nreuse_hours = 0\n{windows}\n{rests}'
        )

    def shuffle(self):
        """Draw what each campaign is up to; somebody runs."""
        runs = self.draw.choice(list(CAMPAIGNS))
        for number, (name, database) in enumerate(CAMPAIGNS.items()):
            state = "runs" if name == runs else self.draw.choice(["runs", "paused", "broken", "away", "rests"])
            file = self.place / f"{name}.toml"
            file.write_text(self.text(number, name, database, state), "utf-8")
            if state == "away":
                file.unlink()
            if (self.place / database).exists():
                with closing(sqlite3.connect(self.place / database, timeout=30)) as connection, connection:
                    paused = "2027-01-01T00:00:00.000000+00:00" if state == "paused" else None
                    if connection.execute("select 1 from sqlite_master where name = 'campaign'").fetchone():
                        connection.execute("update campaign set paused_at = ? where name = ?", (paused, name))

    def begin(self):
        """Begin a daemon, which does not lead yet."""
        nursery = self.nurseries.pop(0)
        dies = self.draw.randint(1, 30)
        stops = self.draw.randint(1, dies) if self.draw.random() < 0.5 else 0
        given = str(self.place), str(self.folder / "clock"), dies, stops, self.time.at + 2 * HOUR
        return SimpleNamespace(nursery=nursery, pid=nursery.begin(*given), stops=stops)

    def bury(self, one):
        """Let a daemon die at its moment."""
        code = one.nursery.end()
        assert code == -signal.SIGKILL, code
        self.nurseries.append(one.nursery)
        self.restarts += 1
        self.time.at += self.draw.choice([0.0, 1.0, 30.0, self.draw.uniform(0.0, D)])

    def live(self, one):
        """Let a daemon lead until it dies; its successor, where it had one."""
        self.time.leader = one.pid
        if not one.stops:
            self.bury(one)
            return None
        while self.time.halfway != one.pid:
            if ended(one.pid):
                self.bury(one)
                return None
            real.sleep(0.0005)
        other = self.begin()
        while self.time.ready != other.pid:
            real.sleep(0.0005)
        self.time.leader = one.pid
        self.bury(one)
        self.takeovers += 1
        return other

    def reign(self, restarts, each=25):
        """Kill so many daemons one after the other; a new world begins after every few."""
        heir = None
        while self.restarts < restarts:
            if heir is None:
                if self.restarts >= self.worlds * each or self.place is None:
                    self.world()
                self.shuffle()
                heir = self.begin()
            heir = self.live(heir)
        if heir is not None:
            os.kill(heir.pid, signal.SIGKILL)
            self.bury(heir)


def ended(pid):
    """Whether a process has ended, though nobody has taken note yet."""
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0] == "Z"
