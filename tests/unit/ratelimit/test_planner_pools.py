"""The planner where endpoints share windows and a platform is many servers, against referees that know nothing of it.

What is promised, and checked here with random schedules, for one campaign and for several of one process:

- No window of any server ever receives more than it allows, whatever pools an endpoint counts in, whichever of its
  windows the headers speak of, and however often the process dies.
- Nothing waits while a slot is certainly free: with nothing in flight and no pause asked for, an endpoint of which
  nothing may leave has a window that may have received all it allows.
"""

from math import floor

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_referees import LONGEST, Aligned, Events, Fixed, Sent, Sliding, Summed
from test_planner_referee import MILD, SLACK, WILD, noisy

from socialcrawl.engine.model import Answer, Credential, Grant, Limit, Reply, Request, Stop, Wait
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Pool, Rule
from socialcrawl.ratelimit.retry import Backoff
from socialcrawl.ratelimit.shared_windows import SharedWindows

BASE = "https://api.example"
HOSTS = ["", "a.example", "b.example"]


def referee(rule, skew):
    if rule.kind == "aligned":
        return Aligned(rule.k, rule.d, skew)
    return Fixed(rule.k, rule.d) if rule.kind == "fixed" else Sliding(rule.k, rule.d)


class Servers(Events):
    """Hosts with their windows, and campaigns of one process, which is killed now and then."""

    def __init__(self, case):
        super().__init__()
        self.case = case
        pools = [Pool(name, public=rules, user=rules) for name, rules in case["pools"].items()]
        self.endpoints = {
            f"/{number}": Endpoint(public=own, user=own, pools=tuple(pools[place] for place in places))
            for number, (places, own) in enumerate(case["endpoints"])
            if places or own
        }
        self.policy = Policy("x", BASE, "2026", self.endpoints)
        self.credentials = [Credential("nobody", "public"), Credential("its", "user", "b.example")]
        self.referees, self.log, self.paused, self.failed = {}, {}, {}, 0.0
        self.ledgers = [[] for _ in range(case["campaigns"])]
        self.epoch = -1
        self.restart()

    def token(self, host):
        return "its" if host == "b.example" else "nobody"

    def windows(self, place):
        """The referees that count a request, and those of them that headers may speak of."""
        host, path = place
        skew = self.case["skews"][HOSTS.index(host)]
        endpoint = self.endpoints[path]
        owners = [(pool.name, pool.public) for pool in endpoint.pools] + [(path, endpoint.public)]
        return [
            (self.referees.setdefault((host, owner, number), referee(rule, skew)), rule, number == 0)
            for owner, rules in owners
            for number, rule in enumerate(rules)
        ]

    def restart(self):
        self.epoch, self.out = self.epoch + 1, 0
        for log in self.log.values():
            for sent in log:
                sent.dead = sent.dead or sent.heard is None
                sent.twice = sent.twice or sent.dead
        self.shared = SharedWindows() if self.case["campaigns"] > 1 or self.case["alone"] else None
        self.planners = [None for _ in self.ledgers]
        for number in range(len(self.ledgers)):
            self.join(number)
        self.paused = dict.fromkeys(HOSTS, self.failed + 900.0 if self.failed else -1.0)

    def join(self, number):
        """Let a campaign begin from its ledger; what it had in flight nobody hears of."""
        if self.planners[number] is not None:
            self.planners[number].shared.leave()
        member = self.shared and self.shared.join(f"c{number}", 1.0, BASE, {"nobody": "public", "its": "token"})
        backoff = Backoff(pause=0.5, give_up=float("inf"), seed=1)
        planner = WindowPlanner(self.policy, self.credentials, Caps(), backoff, shared=member)
        planner.fold(Summed(self.ledgers[number]) if self.epoch % 2 else self.ledgers[number], self.now)
        self.planners[number] = planner

    def send(self, n, wish):
        paths = list(self.endpoints)
        place = HOSTS[wish["host"]], paths[wish["endpoint"] % len(paths)]
        which = wish["campaign"] % len(self.planners)
        request = Request((n, 0), "".join(place), {})
        while True:
            self.advance(self.now)
            if self.out >= self.case["in_flight"]:
                self.advance(self.next_event())
                continue
            answer = self.planners[which].take(request, self.now)
            if isinstance(answer, Grant):
                break
            assert isinstance(answer, Wait), answer
            assert answer.until > self.now
            if self.out == 0 and not self.case["strict"]:
                self.check_blocked(place)
            self.advance(min(self.next_event(), answer.until))
        assert answer.credential == self.token(place[0])
        self.leave(wish, answer, place, which)

    def leave(self, wish, grant, place, which):
        ledger, planner, epoch = self.ledgers[which], self.planners[which], self.epoch
        sent, number = Sent(self.now), len(ledger)
        self.log.setdefault(place, []).append(sent)
        ledger.append((grant, None))
        self.out += 1

        def arrive():
            kind, date, limits = self.answer(place, wish)
            self.at(self.now + wish["back"], lambda: land(kind, date, limits))

        def land(kind, date, limits):
            if epoch != self.epoch:
                return
            self.out -= 1
            if planner is not self.planners[which]:
                return
            sent.heard = self.now
            status = 502 if wish["fate"] == "broken" else 0  # without one, the server was not reached
            reply = Reply(kind, self.now, Answer(), status=status, date=date, limits=limits, why="because")
            ledger[number] = (grant, reply)
            again = planner.settle(grant, reply, self.now)
            assert not isinstance(again, Stop) or kind != "ok"
            if isinstance(again, Stop):
                self.failed = self.now
                self.advance(self.now + 60.0)
                self.restart()
            elif kind != "ok":
                self.failed = self.now
                self.paused[place[0]] = max(self.paused[place[0]], again.until if again else self.now)

        self.at(self.now + wish["way"], arrive)

    def answer(self, place, wish):
        """What a server does with a request: its headers speak of the window of which the least is left."""
        fate, now = wish["fate"], self.now
        if fate in ("unsent", "edge"):
            return ("broken" if fate == "unsent" else "backoff"), None, ()
        skew = self.case["skews"][HOSTS.index(place[0])]
        told = []
        for window, rule, head in self.windows(place):
            count, ends = window.receive(now)
            if head:
                told.append((rule.k - count, rule.k, ends + skew))
        left, k, ends = min(told)
        date = float(floor(now + skew))
        if fate in ("lost", "broken", "backoff"):
            return fate, None, ()
        resets = ends if self.case["exact"] else float(floor(ends))
        return "ok", *noisy(wish["noise"], date, [Limit(max(0, left), k, resets)])

    def check_blocked(self, place):
        host, path = place
        if self.now <= self.paused[host]:
            return
        pools = {pool.name for pool in self.endpoints[path].pools}
        full = []
        for pool in self.endpoints[path].pools:
            with_it = [path for path, one in self.endpoints.items() if pool.name in [its.name for its in one.pools]]
            full += [self.recent(host, with_it, rule) for rule in pool.public]
        full += [self.recent(host, [path], rule) for rule in self.endpoints[path].public]
        assert any(full), f"{place} in {pools} waits at {self.now} though no window can be full"

    def recent(self, host, paths, rule):
        since = self.now - rule.d - SLACK
        log = [sent for path in paths for sent in self.log.get((host, path), ())]
        return sum(1 + sent.twice for sent in log if sent.gone > since) >= rule.k

    def check(self):
        for name, window in self.referees.items():
            assert window.most <= window.k, f"{name}: {window.most} of {window.k} in {window.d}"


ONE = st.just(1)


def rules(least, most):
    """Rules whose k is in a range of its own, so that headers can be told apart by it."""
    k = st.integers(least, most)
    fixed = st.builds(Rule, k, st.floats(3.0, 40.0))
    grid = st.builds(lambda k, d: Rule(k, d, "aligned"), k, st.sampled_from([4.0, 7.5, 15.0, 60.0]))
    sliding = st.builds(lambda k, d: Rule(k, d, "sliding"), k, st.sampled_from([1.0, 2.5, 7.0]))
    return st.lists(st.one_of(fixed, fixed, grid, grid, sliding), min_size=1, max_size=2).map(tuple)


def case(noises, *, strict, campaigns=ONE):
    apart = ((1, 4), (5, 8), (9, 12)) if not strict else ((1, 8),) * 3
    return st.fixed_dictionaries(
        {
            "pools": st.fixed_dictionaries({"all": rules(*apart[0]), "paged": rules(*apart[1])}),
            "endpoints": st.lists(
                st.tuples(st.sampled_from([(0,), (0, 1), (1,), (1, 0), ()]), st.one_of(st.just(()), rules(*apart[2]))),
                min_size=1,
                max_size=4,
            ).filter(lambda ends: any(places or own for places, own in ends)),
            "skews": st.lists(st.floats(-600.0, 600.0), min_size=3, max_size=3),
            "in_flight": st.integers(1, 6),
            "campaigns": campaigns,
            "alone": st.booleans(),
            "exact": st.booleans(),
            "strict": st.just(strict),
            "wishes": st.lists(
                st.fixed_dictionaries(
                    {
                        "host": st.integers(0, 2),
                        "endpoint": st.integers(0, 3),
                        "campaign": st.integers(0, 1),
                        "way": st.floats(0.0, LONGEST),
                        "back": st.floats(0.0, LONGEST),
                        "gap": st.one_of(st.just(0.0), st.just(0.0), st.floats(0.0, 1.0), st.floats(0.0, 60.0)),
                        "fate": st.sampled_from(["fine"] * 12 + ["unsent", "edge", "lost", "broken", "backoff"]),
                        "noise": st.sampled_from([noise for noise in noises if "day" not in noise]),
                        "restart": st.sampled_from([False] * 9 + [True]),
                    }
                ),
                min_size=1,
                max_size=40,
            ),
        }
    )


def play(case):
    it = Servers(case)
    for n, wish in enumerate(case["wishes"]):
        if wish["gap"]:
            it.advance(it.now + wish["gap"])
        if wish["restart"] and case["campaigns"] > 1 and wish["campaign"]:
            it.join(n % 2)
        elif wish["restart"]:
            it.restart()
        it.send(n, wish)
    it.advance(it.now + 3 * LONGEST)
    it.check()
    return it


@settings(deadline=None, max_examples=many(100))
@given(case(WILD, strict=True, campaigns=st.sampled_from([1, 1, 2])))
def test_no_window_that_endpoints_share_ever_receives_more_than_it_allows(case):
    play(case)


@settings(deadline=None, max_examples=many(100))
@given(case(MILD, strict=False))
def test_nothing_waits_for_a_shared_window_while_a_slot_of_it_is_certainly_free(case):
    play(case)


def drawn(seed, *, strict, length=200):
    """A long schedule in which windows fill up again and again."""
    rng = np.random.default_rng(seed)

    def one_of(values):
        return values[int(rng.integers(len(values)))]

    def some(least, most):
        k = int(rng.integers(least, most + 1))
        grid = [Rule(k, one_of([4.0, 7.5, 15.0, 60.0]), "aligned"), Rule(k, rng.uniform(3.0, 40.0))]
        return (one_of([*grid, Rule(k, one_of([1.0, 2.5]), "sliding")]),)

    apart = ((1, 8),) * 3 if strict else ((1, 4), (5, 8), (9, 12))
    return {
        "pools": {"all": some(*apart[0]), "paged": some(*apart[1])},
        "endpoints": [((0,), ()), ((0, 1), ()), ((1,), some(*apart[2])), (one_of([(), (0,)]), some(*apart[2]))],
        "skews": [rng.uniform(-600.0, 600.0) for _ in HOSTS],
        "in_flight": int(rng.integers(1, 7)),
        "campaigns": 1 + seed % 2 if strict else 1,
        "alone": seed % 3 == 0,
        "exact": seed % 4 > 1,
        "strict": strict,
        "wishes": [
            {
                "host": int(rng.integers(3)),
                "endpoint": int(rng.integers(4)),
                "campaign": int(rng.integers(2)),
                "way": rng.uniform(0.0, 0.5),
                "back": rng.uniform(0.0, 0.5),
                "gap": rng.exponential(20.0) if rng.uniform() < 0.1 else 0.0,
                "fate": one_of(["fine"] * 40 + ["unsent", "edge", "lost", "broken", "backoff"]),
                "noise": one_of([noise for noise in (WILD if strict else MILD) if "day" not in noise]),
                "restart": rng.uniform() < 0.02,
            }
            for _ in range(length)
        ],
    }


@pytest.mark.parametrize("seed", range(8))
def test_long_schedules_on_several_hosts_are_kept_too(seed):
    play(drawn(seed, strict=True))
    it = play(drawn(seed, strict=False))
    assert sum(map(len, it.ledgers)) == 200
