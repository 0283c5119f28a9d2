"""Campaigns that share tokens, on a clock moved by hand, against servers that know nothing of shares.

A `Crowd` plays the servers' side (a referee a token) and campaigns that send whenever they are let. What each window of
a referee received is kept by campaign.
"""

from math import floor

import numpy as np
from limit_referees import BEGIN, Events, Summed, said

from socialcrawl.engine.model import Answer, Credential, Grant, Reply, Request, Stop, Wait
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy
from socialcrawl.ratelimit.retry import Backoff
from socialcrawl.ratelimit.shared_windows import SharedWindows

BASE = "https://api.example"


def policy(*rules, **more):
    return Policy("x", BASE, "2026", {"/e": Endpoint(tuple(rules), tuple(rules))}, **more)


def planner(shared, name, rules, tokens=("t",), weight=1.0, **more):
    """A planner that is called `name`, whose credentials are the marks of its tokens with its name before them."""
    member = shared and shared.join(name, weight, BASE, {f"{name}-{token}": token for token in tokens})
    credentials = [Credential(f"{name}-{token}") for token in tokens]
    return WindowPlanner(policy(*rules), credentials, Caps(), Backoff(give_up=float("inf")), shared=member, **more)


class Campaign:
    """Somebody who sends whenever it may, at most `most` requests in flight; `work` are those that it still wants."""

    def __init__(self, crowd, name, weight, tokens, most):
        self.crowd, self.name, self.tokens, self.most = crowd, name, tokens, most
        self.planner = planner(crowd.shared, name, crowd.rules, tokens, weight)
        self.member = self.planner.shared
        self.is_claiming, self.out, self.n, self.wake = False, 0, 0, float("inf")
        self.work, self.ledger, self.log = float("inf"), [], []
        self.switches = []  # (when, whether it claims its share from then on)

    def go_on(self):
        """Ask for slots as long as they are given; come back when told."""
        ahead = self.crowd.ahead
        now = self.crowd.now + ahead
        while self.is_claiming and self.out < self.most and self.work > 0:
            answer = self.planner.take(Request((self.n, 0), "/e", {}), now)
            if isinstance(answer, Wait):
                assert answer.until > now
                self.call(answer.until - ahead)
                return
            assert not isinstance(answer, Stop), answer
            self.n, self.out, self.work = self.n + 1, self.out + 1, self.work - 1
            self.crowd.leave(self, answer)

    def call(self, when):
        if when < self.wake or self.wake <= self.crowd.now:
            self.wake = when
            self.crowd.at(when, lambda: self.go_on() if self.wake == when else None)

    def claim_share(self):
        self.is_claiming = True
        self.switches.append((self.crowd.now, True))
        self.member.claim_share()
        self.go_on()

    def drop_claim(self):
        self.is_claiming = False
        self.switches.append((self.crowd.now, False))
        self.member.drop_claim()

    def stayed(self, begin, end):
        """Whether it claimed its share all the time."""
        state = False
        for at, claims in self.switches:
            if at <= begin:
                state = claims
            elif at < end and not claims:
                return False
        return state


class Crowd(Events):
    """Campaigns on one server, and its referees."""

    def __init__(self, rules, referee, seed=0, latency=0.2, skew=0.0, *, headers=True):
        super().__init__()
        self.rules, self.latency, self.skew, self.headers = rules, latency, skew, headers
        self.rng, self.shared = np.random.default_rng(seed), SharedWindows()
        self.shared.on_release = lambda name: self.campaigns[name].call(self.now)
        self.referee, self.referees, self.campaigns, self.took = referee, {}, {}, {}
        self.ahead = 0.0  # seconds that the campaigns' clock is ahead of `now`
        self.under_way = 0  # requests that no server has received yet

    def add(self, name, weight=1.0, tokens=("t",), most=3):
        self.campaigns[name] = Campaign(self, name, weight, tokens, most)
        for token in tokens:
            self.referees.setdefault(token, self.referee())
        return self.campaigns[name]

    def rejoin(self, name, *, summed=False):
        """Let a campaign begin anew from its ledger; what it had in flight nobody hears of."""
        old = self.campaigns[name]
        old.is_claiming = False
        old.member.leave()
        new = self.campaigns[name] = Campaign(self, name, old.member.weight, old.tokens, old.most)
        new.ledger, new.log, new.switches, new.n, new.work = list(old.ledger), old.log, old.switches, old.n, old.work
        new.planner.fold(Summed(new.ledger) if summed else new.ledger, self.now + self.ahead)
        return new

    def restart(self, names):
        """Kill the process; in the next one only these campaigns run at first."""
        self.shared = SharedWindows()
        self.shared.on_release = lambda name: self.campaigns[name].call(self.now)
        for campaign in self.campaigns.values():
            campaign.is_claiming = False
        for name in names:
            self.rejoin(name)

    def set_clock(self, delta):
        """Set the clock of the campaigns ahead; that of the servers, which is `now`, goes on."""
        self.ahead += delta
        self.shared.shift(delta)

    def leave(self, campaign, grant):
        token = grant.credential.removeprefix(f"{campaign.name}-")
        way, back = self.rng.uniform(0.0, self.latency / 2, 2)
        place = len(campaign.ledger)
        self.under_way += 1
        campaign.ledger.append((grant, None))
        campaign.log.append((self.now, token))

        def arrive():
            referee = self.referees[token]
            self.under_way -= 1
            told = referee.receive(self.now)
            window = len(referee.windows) if hasattr(referee, "windows") else 0
            counts = self.took.setdefault((token, window), {})
            counts[campaign.name] = counts.get(campaign.name, 0) + 1
            limits = [said(referee, told, self.skew)] if self.headers else []
            self.at(self.now + back, lambda: land(limits, float(floor(self.now + self.skew))))

        def land(limits, date):
            if self.campaigns.get(campaign.name) is not campaign:
                return  # its process is gone
            campaign.out -= 1
            at = self.now + self.ahead
            reply = Reply("ok", at, Answer(), date=date if self.headers else None, limits=limits)
            campaign.ledger[place] = (grant, reply)
            assert isinstance(grant, Grant)
            assert campaign.planner.settle(grant, reply, at) is None
            campaign.go_on()

        self.at(self.now + way, arrive)

    def check(self):
        """No referee ever received more than it allows."""
        for token, referee in self.referees.items():
            assert referee.most <= referee.k, f"{token} received {referee.most} of {referee.k}"

    def full(self, token="t"):
        """(begin, end, counts by campaign) of every fixed window but the first and the last."""
        referee = self.referees[token]
        return [
            (opened, opened + referee.d, self.took[token, number + 1])
            for number, (opened, _) in enumerate(referee.windows[:-1])
            if number
        ]


__all__ = ["BASE", "BEGIN", "Campaign", "Crowd", "planner", "policy"]
