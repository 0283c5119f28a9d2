"""Daemons that use one token on one PostgreSQL database, each as if on a machine of its own, beside one mock.

A machine is a state folder here: no machine reads another's locks and journals.
"""

import os
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
from commands import COMMAND, ENVIRONMENT
from postgres import a_server_database
from x_crawls import TOKEN, TOKEN_ENV, posts_file

from benchmarks.server_link import link_server
from socialcrawl.engine.model import MILLS_PER_DOLLAR, format_time
from socialcrawl.lab.generators.generate import choose_topics
from socialcrawl.mock.server import serve_in_thread

TIMELINE = "/2/users/:id/tweets"
TOPICS = list(choose_topics().values())


class Machine:
    """A daemon with one campaign; `stop`, `go_on` and `kill` are what happens to it.

    Args:
        folder: where its files are.
        name: of the campaign.
        text: the campaign file.
        options: of the daemon.
        link: its way to the database, a ServerLink; None: it cannot be cut.
    """

    def __init__(self, folder, name, text, options=(), link=None):
        self.folder, self.name = folder / name, name
        (self.folder / "campaigns").mkdir(parents=True)
        (self.folder / "campaigns" / f"{name}.toml").write_text(text, "utf-8")
        self.child, self.log = None, self.folder / "log"
        self.options, self.link = options, link

    def begin(self):
        variables = {**ENVIRONMENT, TOKEN_ENV: TOKEN, "XDG_STATE_HOME": str(self.folder / "state")}
        with self.log.open("ab") as stderr:
            self.child = subprocess.Popen(
                [*COMMAND, "daemon", str(self.folder / "campaigns"), "--log", "json", *self.options],
                env=variables,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    def stop(self):
        self.child.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.child.send_signal(signal.SIGCONT)

    def kill(self):
        self.child.kill()
        self.child.wait(60)

    def list_workers(self):
        """The process ids of the workers that send for the daemon."""
        found = []
        for one in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                parent = int((one / "stat").read_text("ascii").rpartition(")")[2].split()[1])
                if parent == self.child.pid and b"spawn_main" in (one / "cmdline").read_bytes():
                    found.append(int(one.name))
        return sorted(found)

    def signal_worker(self, pid, number):
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    def end(self):
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.kill()


class Machines:
    """Machines, their mock and their database.

    Args:
        folder: where everything lies.
        place: the database.
        mock: the mock.
        k, d: the windows.

    Attributes:
        all: the machines.
        budgets: the mocks of the campaigns that `add_budget` made, by their names.
    """

    def __init__(self, folder, place, mock, k, d):
        self.folder, self.place, self.mock, self.k, self.d = folder, place, mock, k, d
        self.all, self.budgets = [], {}

    def add(self, name, options=(), link=None):
        where = self.place.url if link is None else link.where.url
        self.all.append(Machine(self.folder, name, self.write_campaign(name, where, self.mock), options, link))
        return self.all[-1]

    def add_budget(self, machine, dollars, mock):
        """Give a machine a second campaign, with a mock for it alone and a budget in dollars."""
        where = self.place.url if machine.link is None else machine.link.where.url
        name = f"budget-{machine.name}"
        text = self.write_campaign(name, where, mock) + f"[budget]\nmax_money = {dollars}\n"
        (machine.folder / "campaigns" / f"{name}.toml").write_text(text, "utf-8")
        self.budgets[name] = mock

    def write_campaign(self, name, where, mock):
        return (
            f'name = "{name}"\ndatabase = "{where}"\n[topic]\nkeywords = ["{TOPICS[len(self.all) % 2]}"]\n'
            f'[seeds]\nmost = 8\n[source]\nbase_url = "{mock.url}"\ntoken_env = "{TOKEN_ENV}"\nreuse_hours = 0\n'
            f"timeout = 20.0\n[limits]\nk = {self.k}\nd = {self.d}\npause = 0.05\n"
        )

    def windows(self):
        """The windows of timelines that are over."""
        now = time.time()
        return [one for one in self.mock.report()["windows"] if one["endpoint"] == TIMELINE and one["ends"] < now]

    def count_sent(self, name):
        """The requests of a campaign that were reserved."""
        with psycopg.connect(self.place.url) as raw:
            query = "select count(*) from request join campaign c on c.id = campaign where c.name = %s"
            return raw.execute(query, (name,)).fetchone()[0]

    def describe_over(self):
        """Of the windows that were passed: what the ledger says of the requests that can have been in them."""
        told = []
        for one in self.windows():
            if one["over"]:
                begin, end = (format_time(one["ends"] + seconds) for seconds in (-3 * self.d, 1.0))
                query = (
                    "select c.name, n, part, sent_at, arrived_at, kind, status, clock from request join campaign c "
                    "on c.id = campaign where endpoint = %s and sent_at between %s and %s order by sent_at"
                )
                with psycopg.connect(self.place.url) as raw:
                    rows = raw.execute(query, (TIMELINE, begin, end)).fetchall()
                told += [f"window that ends at {format_time(one['ends'])}: {one}", *map(str, rows)]
        return "\n".join(told)

    def read_spent(self, name):
        """The dollars that a campaign spent by its ledger, at most."""
        with psycopg.connect(self.place.url) as raw:
            query = "select sum(coalesce(cost, most)) from request join campaign c on c.id = campaign where c.name = %s"
            return (raw.execute(query, (name,)).fetchone()[0] or 0) / MILLS_PER_DOLLAR

    def list_twice(self):
        """Requests that were answered more than once."""
        with psycopg.connect(self.place.url) as raw:
            query = (
                "select campaign, n, endpoint, cursor from request where kind in ('ok', 'missing') "
                "group by campaign, n, endpoint, cursor having count(*) > 1"
            )
            return raw.execute(query).fetchall()

    def wait_for(self, windows):
        """Wait until so many windows are over."""
        self.wait_until(lambda: len(self.windows()) >= windows)

    def wait_until_all_sent(self, requests):
        """Wait until each campaign has reserved so many requests."""
        self.wait_until(lambda: all(self.count_sent(one.name) >= requests for one in self.all))

    def wait_until(self, found, within=600.0):
        ends = time.monotonic() + within
        while not found():
            assert time.monotonic() < ends, "\n".join(one.log.read_text("utf-8")[-2000:] for one in self.all)
            time.sleep(0.2)


@contextmanager
def machines(folder, names, k=20, d=2.0, *, options=(), cuttable=False, dollars=None, **settings):
    """Some machines at work, ended afterwards.

    Args:
        options: of their daemons.
        cuttable: whether they can be cut off from the database.
        dollars: the budget of a second campaign of each, see `add_budget`; None: there is none.
    """
    with ExitStack() as stack:
        place = stack.enter_context(a_server_database())
        mock = stack.enter_context(serve_in_thread(posts_file(4000, 1, 8.0), None, limit=k, window=d, **settings))
        it = Machines(folder, place, mock, k, d)
        for name in names:
            link = stack.enter_context(link_server(place)) if cuttable else None
            machine = it.add(name, options, link)
            if dollars is not None:
                shop = stack.enter_context(serve_in_thread(posts_file(4000, 1, 8.0), None, limit=k, window=d))
                it.add_budget(machine, dollars, shop)
            stack.callback(machine.end)
            machine.begin()
        yield it
