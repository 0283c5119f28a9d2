"""Processes that use one token through one ledger, on a clock moved by hand, against a server that knows nothing of it.

A `Desk` plays the database: rows in one order, and a clock. Each process is one thread: while it waits for the database
it hears no reply. Its clock is its own. It may be stopped at any moment, and killed.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from math import floor

import numpy as np
from limit_referees import Events, said
from shared_tokens import BASE, policy

from socialcrawl.campaign.prompt_wire import PROMPT
from socialcrawl.engine.model import Answer, Credential, Grant, Reply, ReplyKind, Request, Stop, Wait
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.other_processes import OtherRequest
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.retry import Backoff
from socialcrawl.ratelimit.shared_windows import SentRequest, SharedWindows

DATABASE = "a database"


@dataclass
class Row:
    """A row of the ledger, as its sender dates it; `clock` is the database's."""

    number: int
    process: str
    clock: float
    left: float
    opens: tuple
    reply: Reply | None = None

    def told(self):
        bills = frozenset({"t"})
        return OtherRequest(
            self.number, self.process, bills, "t", "/e", self.clock, self.left, 1, self.opens, self.reply
        )


class Process:
    """Somebody who sends whenever it may, at most `most` requests in flight."""

    def __init__(self, world, name, skew, most):
        self.world, self.name, self.skew, self.most = world, name, skew, most
        self.life, self.n, self.out, self.until, self.held = 0, 0, 0, 0.0, []
        self.resumes = 0.0
        self.begin()

    def clock(self):
        return round(self.world.now + self.skew, 6)

    def begin(self):
        """A new process of the campaign: it reads the ledger."""
        shared = SharedWindows()
        self.member = shared.join(self.name, 1.0, BASE, {"t": "t"})
        self.others = self.member.others = shared.get_others(DATABASE)
        self.planner = WindowPlanner(
            policy(*self.world.rules), [Credential("t")], Caps(), Backoff(give_up=float("inf")), shared=self.member
        )
        self.member.set_ledger(self.name)
        self.member.read_elsewhere, self.member.refresh = self.read_elsewhere, self.refresh
        self.until, self.out, self.n = 0.0, 0, self.n + 1000
        own = [(self.grant(row), row.reply) for row in self.world.rows if row.process == self.name]
        self.planner.fold(own, self.clock())
        self.go_on(self.life)

    def grant(self, row):
        return Grant(Request((row.number, 0), "/e", {}), "t", row.left)

    def read_elsewhere(self, since):
        before = self.clock()
        self.others.note_clock(before, before, self.world.database_clock())
        rows = self.world.rows
        seen = rows[-1].number if rows else 0
        lately = [one for one in rows if one.clock > self.world.database_clock() - LAG and one.process != self.name]
        self.others.begin(seen, [one.told() for one in lately if one.reply is None], before)
        found = {}
        for row in rows:
            told = row.reply is not None or not self.others.is_pending(row.process, row.left)
            if row.process != self.name and told and (row.reply is None or row.reply.reached):
                landed, ahead = (
                    None if row.reply is None else row.reply.at,
                    row.clock - row.left - self.others.offset.low,
                )
                found.setdefault(row.process, []).append(SentRequest("t", "/e", row.left, landed, ahead))
        return found

    def read(self):
        """Count what others have done, between two instants of our clock."""
        after = self.clock()
        self.others.note_clock(after - self.world.draw(self.world.trip), after, self.world.database_clock())
        pending = self.others.list_pending()
        new = bisect_right(self.world.rows, self.others.seen, key=lambda row: row.number)
        old = (bisect_right(self.world.rows, number, key=lambda row: row.number) - 1 for number in pending)
        news = [self.world.rows[place] for place in old] + self.world.rows[new:]
        self.others.count([one.told() for one in news], after)

    def refresh(self, now):
        if not self.others.is_due(now):
            return False
        version = self.others.version
        self.read()
        return self.others.version != version

    def later(self, seconds, what):
        """Do something after a while, unless the process is another by then; once it goes on, where it is stopped."""
        life = self.life

        def act():
            if life != self.life:
                return
            if self.world.now < self.resumes:
                self.world.at(self.resumes, act)
            else:
                what()

        self.world.at(self.world.now + seconds, act)

    def go_on(self, life):
        if life != self.life or self.held or self.out >= self.most or self.world.now < self.until:
            return
        answer = self.planner.take(Request((self.n, 0), "/e", {}), self.clock())
        if isinstance(answer, Wait):
            self.wait(answer)
            return
        self.n += 1
        self.held.append(answer)
        self.later(self.world.draw(self.world.trip), lambda: self.reserve(answer))

    def wait(self, answer):
        assert not isinstance(answer, Stop), answer
        self.until = max(answer.until - self.skew, self.world.now + 1e-6)
        self.later(self.until - self.world.now + 1e-6, lambda: self.go_on(self.life))

    def reserve(self, grant):
        opens = self.planner.list_opened(grant)
        row = Row(self.world.number(), self.name, self.world.database_clock(), grant.at, opens)
        self.read()
        refused = self.planner.reconsider(grant, self.clock())
        self.others.note_own(row.number)
        if refused is None:
            self.world.rows.append(row)
            self.out += 1
        self.later(self.world.draw(self.world.trip), lambda: self.reserved(grant, row, refused))

    def reserved(self, grant, row, refused):
        self.held.remove(grant)
        if refused is not None:
            self.world.refusals += 1
            self.wait(refused)
        elif self.clock() - grant.at > PROMPT:
            self.land(grant, row, Reply(ReplyKind.BROKEN, self.clock(), late=True))
        else:
            self.world.send(self, grant, row)
        self.go_on(self.life)

    def land(self, grant, row, reply):
        """A reply is stored, and learned from."""
        if self.held:  # the thread is busy
            self.later(self.world.trip / 10, lambda: self.land(grant, row, reply))
            return
        self.held.append(grant)
        self.later(self.world.draw(self.world.trip), lambda: self.save(grant, row, reply))

    def save(self, grant, row, reply):
        self.read()
        row.reply = replace(reply, at=min(reply.at, self.clock()))
        self.held.remove(grant)
        self.out -= 1
        after = self.planner.settle(grant, reply, self.clock())
        if isinstance(after, Wait):
            self.wait(after)
        self.go_on(self.life)

    def kill(self, rest):
        """End, and begin anew after a while; what it had in flight nobody hears of."""
        self.life += 1
        life = self.life
        self.held = []
        self.world.at(self.world.now + rest, lambda: self.begin() if life == self.life else None)

    def stop(self, rest):
        """Stand still for a while, as by SIGSTOP."""
        self.resumes = self.world.now + rest


class World(Events):
    """Processes, their database and the server.

    Args:
        rules: of the policy.
        referee: counts what the server receives.
        names: of the processes.
        seed: of everything that is drawn.
        trip: seconds to the database and back, at most.
        latency: the same to the server.
        headers: whether replies have them.
        skew: seconds that the server's clock is ahead.
    """

    def __init__(self, rules, referee, names, seed, *, trip=0.01, latency=0.2, headers=True, skew=0.0, most=3):
        super().__init__()
        self.rules, self.referee, self.trip, self.latency = rules, referee, trip, latency
        self.headers, self.skew = headers, skew
        self.rng = np.random.default_rng(seed)
        self.rows, self.refusals, self.late, self._number = [], 0, 0, 0
        self.ahead = float(self.rng.uniform(-1000.0, 1000.0))
        self.processes = [Process(self, name, float(self.rng.uniform(-500.0, 500.0)), most) for name in names]

    def draw(self, most):
        return float(self.rng.uniform(0.0, most))

    def number(self):
        self._number += 1
        return self._number

    def database_clock(self):
        return self.now + self.ahead

    def send(self, process, grant, row):
        way, back = self.draw(self.latency / 2), self.draw(self.latency / 2)

        def arrive():
            told = self.referee.receive(self.now)
            limits = [said(self.referee, told, self.skew)] if self.headers else []
            date = float(floor(self.now + self.skew))
            process.later(back, lambda: land(limits, date))

        def land(limits, date):
            reply = Reply(ReplyKind.OK, process.clock(), Answer(posts=1), status=200, date=date, limits=limits)
            process.land(grant, row, reply)

        self.at(self.now + way, arrive)
