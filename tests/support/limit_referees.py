"""Referees that play the server's side of a window, a few lines each, and the roads that lead there.

They know nothing of our windows: a fixed one opens with the first request received after the last one ended and lasts
exactly d; a sliding one is any span (t - d, t]; an aligned one is floor(server's clock / d).
"""

import heapq
from dataclasses import dataclass
from math import floor

from socialcrawl.engine.model import Limit, Page
from socialcrawl.engine.protocols import Sums
from socialcrawl.ratelimit.fixed_window import FixedWindow
from socialcrawl.ratelimit.received_requests import LAG

LONGEST = 2.0  # seconds of the longest way to the server or back
BEGIN = 1_700_000_000.0


class Fixed:
    def __init__(self, k, d):
        self.k, self.d = k, d
        self.windows = []  # [opened, received]

    def receive(self, now, count=1):
        """How many the window has received now, and when it ends."""
        if not self.windows or now >= self.windows[-1][0] + self.d:
            self.windows.append([now, 0])
        self.windows[-1][1] += count
        return self.windows[-1][1], self.windows[-1][0] + self.d

    def room(self, now):
        over = not self.windows or now >= self.windows[-1][0] + self.d
        return self.k if over else self.k - self.windows[-1][1]

    @property
    def most(self):
        return max((received for _, received in self.windows), default=0)


class Sliding:
    def __init__(self, k, d):
        self.k, self.d = k, d
        self.times, self.most = [], 0

    def receive(self, now):
        self.times.append(now)
        count = sum(now - self.d < time <= now for time in self.times)
        self.most = max(self.most, count)
        return count, now + self.d


class Aligned:
    def __init__(self, k, d, skew):
        self.k, self.d, self.skew = k, d, skew
        self.windows = {}  # number -> received

    def receive(self, now):
        number = floor((now + self.skew) / self.d)
        self.windows[number] = self.windows.get(number, 0) + 1
        return self.windows[number], (number + 1) * self.d - self.skew

    @property
    def most(self):
        return max(self.windows.values(), default=0)


def said(referee, told, skew, *, daily=False):
    """The headers for what a referee told: whole seconds of the server's clock."""
    count, ends = told
    return Limit(max(0, referee.k - count), referee.k, float(floor(ends + skew)), daily)


@dataclass
class Sent:
    """One request as its sender knows it: when it left, and when it was heard of again."""

    left: float
    heard: float | None = None
    dead: bool = False  # its process was killed
    twice: bool = False  # headers may have counted it while it was counted as in flight

    @property
    def gone(self):
        """The latest instant at which the server can have received it, as far as its sender can know."""
        return float("inf") if self.heard is None and not self.dead else self.heard or self.left + LAG


class Events:
    """What is under way, on a clock moved by hand."""

    def __init__(self):
        self.now, self.count, self.events = BEGIN, 0, []

    def at(self, when, what):
        self.count += 1
        heapq.heappush(self.events, (when, self.count, what))

    def advance(self, until):
        while self.events and self.events[0][0] <= until:
            self.now, _, what = heapq.heappop(self.events)
            what()
        self.now = max(self.now, until)

    def next_event(self):
        return self.events[0][0] if self.events else float("inf")


class Traffic(Events):
    """A client that obeys one window, and the ways its requests take.

    `blocked` are the instants at which nothing was in flight, and yet no request might leave, with what counts how many
    the server may have received in the last d seconds and some slack.
    """

    def __init__(self, window, referee, skew=0.0, *, offset=None):
        super().__init__()
        self.window, self.referee, self.skew, self.offset = window, referee, skew, offset
        self.told = self.told_later = True  # whether replies that flew alone have headers, and all others
        self.epoch, self.out = 0, 0
        self.log, self.blocked = [], []

    def send(self, wish, most_in_flight):
        while True:
            self.advance(self.now)
            when = self.window.find_slot(self.now)
            if when <= self.now and self.out < most_in_flight:
                break
            assert when <= self.now or self.events or when < float("inf")
            if when > self.now and self.out == 0:
                self.blocked.append((self.now, self.recently()))
            self.advance(min(self.next_event(), when if when > self.now else float("inf")))
        first = isinstance(self.window, FixedWindow) and self.window.must_fly_alone(self.now)
        assert not (first and self.out), "the first request of a window flies alone"
        assert getattr(self.window, "alone", None) is None, "nothing leaves while one flies alone"
        self.window.take(self.now)
        self.out += 1
        sent = Sent(self.now)
        self.log.append(sent)
        epoch = self.epoch
        self.at(self.now + wish["way"], lambda: self.arrive(wish, sent, epoch, first=first))

    def arrive(self, wish, sent, epoch, *, first):
        limit, date = None, None
        if wish["fate"] not in ("lost before", "unsent"):
            limit = said(self.referee, self.referee.receive(self.now), self.skew)
            date = float(floor(self.now + self.skew))
        if wish["fate"] != "fine" or wish["bare"] or not (self.told if first else self.told_later):
            limit = None
        if wish["fate"] != "fine" or wish["undated"]:
            date = None

        def land():
            if epoch != self.epoch:
                return  # the process that waited for it is gone
            self.out -= 1
            if wish["fate"] == "unsent":
                sent.heard = float("-inf")
                self.window.give_back(sent.left)
                return
            sent.heard = self.now
            if self.offset is not None:
                self.offset.learn(sent.left, self.now, date)
            self.window.learn(limit, date, self.now, sent=sent.left, counted=wish["fate"] == "fine")

        self.at(self.now + wish["back"], land)

    def restart(self):
        """Kill the process. What it sent goes on its way; nobody hears the answers."""
        self.epoch, self.out = self.epoch + 1, 0
        for sent in self.log:
            sent.dead = sent.dead or sent.heard is None
        self.window.forget_in_flight()

    def recently(self):
        gone, since = [sent.gone for sent in self.log for _ in range(1 + sent.dead)], self.now - self.window.d
        return lambda slack: sum(at > since - slack for at in gone)


class Summed:
    """A ledger that hands over what lies back as sums, added up plainly."""

    def __init__(self, ledger):
        self.ledger = list(ledger)

    def __iter__(self):
        return iter(self.ledger)

    def last(self):
        return max((grant.at for grant, _ in self.ledger), default=None)

    def daily(self):
        told = [grant.at for grant, reply in self.ledger if reply and any(limit.daily for limit in reply.limits)]
        return max(told, default=None)

    def since(self, at):
        return [pair for pair in self.ledger if pair[0].at >= at]

    def before(self, at):
        groups = {}
        for grant, reply in self.ledger:
            if grant.at < at:
                day = floor((grant.at if reply is None else reply.at) / 86_400) * 86_400.0
                groups.setdefault((day, grant.request.endpoint), []).append((grant, reply))
        return [Sums(endpoint, day, *self.added(group)) for (day, endpoint), group in sorted(groups.items())]

    def added(self, group):
        lost = [grant for grant, reply in group if reply is None or reply.kind == "lost"]
        read = [reply for _, reply in group if reply is not None and reply.kind != "lost"]
        return (
            len(group),
            min(grant.at for grant, _ in group),
            sum(len(reply.rows.posts) if isinstance(reply.rows, Page) else reply.answer.posts for reply in read),
            sum(grant.request.items for grant in lost),
            sum(grant.request.most if reply is None else reply.cost for grant, reply in group),
        )
