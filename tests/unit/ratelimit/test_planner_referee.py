"""The whole planner against independent referees of a few lines: several tokens, endpoints and windows at once.

What is promised, and checked here with random schedules:

- No window of any referee ever receives more than it allows, whatever the latencies, bursts, losses, restarts (what the
  dead process sent goes on arriving), clocks and headers are; provided that the headers do not lie generously, and that
  a daily window of which only headers know was told of before a process dies.
- Nothing waits while a slot is certainly free: with nothing in flight and no pause asked for by a failure, every lane
  has a window that may have received k requests within the last d + SLACK seconds. A request may have been received
  until its reply came; one whose process died, until LAG seconds after it left. The latter counts twice, as the first
  headers of the next process may have counted it already; so do those in flight when a day was first told of.
"""

from itertools import product
from math import floor

import numpy as np
import pytest
from example_counts import many
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from limit_referees import LONGEST, Aligned, Events, Fixed, Sent, Sliding, Summed, said

from socialcrawl.engine.model import Answer, Credential, Grant, Limit, Reply, Request, Stop, Wait
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule
from socialcrawl.ratelimit.retry import LONGEST as PAUSE
from socialcrawl.ratelimit.retry import Backoff
from socialcrawl.ratelimit.window import DAY, ROUNDING

SLACK = 2 * LONGEST + 2 * ROUNDING + 0.1


class World(Events):
    """A server with its referees, and a crawler that is killed now and then."""

    def __init__(self, case):
        super().__init__()
        self.case, self.skew = case, case["skew"]
        self.names = [f"/{number}" for number in range(len(case["endpoints"]))]
        self.credentials = [Credential(f"c{number}", kind) for number, kind in enumerate(case["kinds"])]
        ends = {
            name: Endpoint(app=app, user=user)
            for name, (app, user, _) in zip(self.names, case["endpoints"], strict=True)
        }
        self.policy = Policy("x", "", "2026", ends)
        self.referees, self.daily, self.log, self.paused = {}, {}, {}, {}
        for (name, kind, _), endpoint in product(self.credentials, self.names):
            rules, lane = ends[endpoint].get_rules(kind), (name, endpoint)
            self.referees[lane] = [self.referee(rule) for rule in rules]
            daily = case["endpoints"][self.names.index(endpoint)][2]
            self.daily[lane] = Fixed(daily, DAY) if daily else None
            self.log[lane], self.paused[lane] = [], -1.0
        self.heard_of_day, self.ledger, self.epoch, self.failed = set(), [], -1, 0.0
        self.restart()

    def referee(self, rule):
        if rule.kind == "aligned":
            return Aligned(rule.k, rule.d, self.skew)
        return Fixed(rule.k, rule.d) if rule.kind == "fixed" else Sliding(rule.k, rule.d)

    def restart(self):
        self.epoch, self.out = self.epoch + 1, 0
        for log in self.log.values():
            for sent in log:
                sent.dead = sent.dead or sent.heard is None
                sent.twice = sent.twice or sent.dead
        backoff = Backoff(pause=0.5, give_up=float("inf"), seed=1)
        self.planner = WindowPlanner(self.policy, self.credentials, Caps(), backoff)
        self.planner.fold(Summed(self.ledger) if self.epoch % 2 else self.ledger)
        for lane in self.paused:  # a new process may have begun longer pauses, as it takes over all failures as one row
            windows = self.planner.window_sets.get(*lane).windows if self.referees[lane] else ()
            self.paused[lane] = max((one.closed_until for one in windows), default=0.0)
            assert self.paused[lane] <= self.failed + PAUSE

    def may_die(self):
        return all(lane in self.heard_of_day or not self.log[lane] for lane, daily in self.daily.items() if daily)

    def send(self, n, wish):
        request = Request((n, 0), self.names[wish["endpoint"] % len(self.names)], {})
        if not any(self.policy.endpoints[request.endpoint].get_rules(kind) for _, kind, _ in self.credentials):
            assert isinstance(self.planner.take(request, self.now), Stop)
            return
        while True:
            self.advance(self.now)
            if self.out >= self.case["in_flight"]:
                self.advance(self.next_event())
                continue
            answer = self.planner.take(request, self.now)
            if isinstance(answer, Grant):
                break
            assert isinstance(answer, Wait), answer
            assert answer.until > self.now
            if self.out == 0:
                self.check_blocked(request.endpoint)
            self.advance(min(self.next_event(), answer.until))
        self.leave(wish, answer)

    def leave(self, wish, grant):
        lane = grant.credential, grant.request.endpoint
        sent, place, epoch = Sent(self.now), len(self.ledger), self.epoch
        self.log[lane].append(sent)
        self.ledger.append((grant, None))
        self.out += 1
        if self.daily[lane] and lane not in self.heard_of_day:
            wish = wish | {"fate": "fine", "noise": "none"}

        def arrive():
            kind, date, limits = self.answer(lane, wish)
            self.at(self.now + wish["back"], lambda: land(kind, date, limits))

        def land(kind, date, limits):
            if epoch != self.epoch:
                return
            self.out -= 1
            sent.heard = self.now
            self.failed = self.now if kind != "ok" else self.failed
            if any(limit.daily for limit in limits) and lane not in self.heard_of_day:
                self.heard_of_day.add(lane)
                for other in self.log[lane]:
                    other.twice = other.twice or other.heard is None
            status = 502 if wish["fate"] == "broken" else 0  # without one, the server was not reached
            reply = Reply(kind, self.now, Answer(), status=status, date=date, limits=limits, why="because")
            self.ledger[place] = (grant, reply)
            again = self.planner.settle(grant, reply, self.now)
            if isinstance(again, Stop):
                self.paused = dict.fromkeys(self.paused, self.now + 60.0)
                self.advance(self.now + 60.0)
                self.restart()
            elif kind != "ok":
                for other in self.log:
                    if other == lane or (kind != "backoff" and other[1] == lane[1]):
                        until = again.until if again else self.now
                        self.paused[other] = max(self.paused[other], until)

        self.at(self.now + wish["way"], arrive)

    def answer(self, lane, wish):
        """What the server does with a request: kind, Date, headers."""
        fate, now = wish["fate"], self.now
        if fate in ("unsent", "edge"):
            return ("broken" if fate == "unsent" else "backoff"), None, ()
        told = [referee.receive(now) for referee in self.referees[lane]]
        limits = [said(self.referees[lane][0], told[0], self.skew)]
        if self.daily[lane]:
            limits.append(said(self.daily[lane], self.daily[lane].receive(now), self.skew, daily=True))
        date = float(floor(now + self.skew))
        if fate in ("lost", "broken", "backoff"):
            return fate, None, ()
        return "ok", *noisy(wish["noise"], date, limits)

    def check_blocked(self, endpoint):
        if self.case["strict"]:
            return
        for name, kind, _ in self.credentials:
            lane = name, endpoint
            rules = [(rule.k, rule.d) for rule in self.policy.endpoints[endpoint].get_rules(kind)]
            if not rules or self.now <= self.paused[lane]:
                continue
            if self.daily[lane]:
                rules.append((self.daily[lane].k, DAY))
            recent = [self.recent(lane, self.now - d - SLACK) >= k for k, d in rules]
            assert any(recent), f"{lane} waits at {self.now} though no window can be full"

    def recent(self, lane, since):
        return sum(1 + sent.twice for sent in self.log[lane] if sent.gone > since)


def noisy(noise, date, limits):
    """Date and headers as a bad server or a proxy sends them: nothing of it is more generous than the truth."""
    main, *rest = limits
    if noise == "bare":
        return None, ()
    if noise == "undated":
        return None, limits
    if noise == "no main":
        return date, rest
    if noise == "no day":
        return date, [main]
    if noise == "generous twin":
        return date, [Limit(main.left + 5, main.most + 5, main.resets), *limits]
    if noise == "past":
        return date, [Limit(main.left, main.most, date - 40.0), *rest]
    if noise == "far":
        return date, [Limit(main.left, main.most, main.resets * 1000), *rest]
    if noise == "fewer":
        return date, [Limit(max(0, main.left - 2), main.most, main.resets), *rest]
    if noise == "smaller":
        most = max(1, main.most // 2)
        return date, [Limit(max(0, main.left - (main.most - most)), most, main.resets), *rest]
    if noise == "later":
        return date, [Limit(main.left, main.most, main.resets + 50.0), *rest]
    if noise == "nothing allowed":
        return date, [Limit(0, 0, limit.resets, limit.daily) for limit in limits]
    return date, limits


MILD = ["none"] * 6 + ["bare", "no main", "no day", "generous twin"]
WILD = [*MILD, "undated", "past", "far", "fewer", "smaller", "later", "nothing allowed"]
SECONDS = st.floats(0.0, LONGEST)
FIXED = st.builds(Rule, st.integers(1, 8), st.floats(3.0, 40.0))
SPACED = st.builds(lambda k, d: Rule(k, d, "sliding"), st.integers(1, 3), st.sampled_from([1.0, 2.5, 7.0]))
GRID = st.builds(lambda k, d: Rule(k, d, "aligned"), st.integers(1, 6), st.sampled_from([4.0, 7.5, 15.0, 60.0]))
RULES = st.lists(st.one_of(FIXED, FIXED, SPACED, GRID), min_size=1, max_size=3).map(tuple)
ENDPOINT = st.tuples(RULES, st.one_of(RULES, st.just(())), st.sampled_from([0, 0, 9, 20]))


def wishes(noises):
    return st.lists(
        st.fixed_dictionaries(
            {
                "endpoint": st.integers(0, 2),
                "way": SECONDS,
                "back": SECONDS,
                "gap": st.one_of(st.just(0.0), st.just(0.0), st.floats(0.0, 1.0), st.floats(0.0, 60.0)),
                "fate": st.sampled_from(["fine"] * 12 + ["unsent", "edge", "lost", "broken", "backoff"]),
                "noise": st.sampled_from(noises),
                "restart": st.sampled_from([False] * 9 + [True]),
            }
        ),
        min_size=1,
        max_size=50,
    )


def case(noises, *, strict):
    return st.fixed_dictionaries(
        {
            "kinds": st.lists(st.sampled_from(["app", "app", "user"]), min_size=1, max_size=4),
            "endpoints": st.lists(ENDPOINT, min_size=1, max_size=3),
            "skew": st.floats(-600.0, 600.0),
            "in_flight": st.integers(1, 6),
            "wishes": wishes(noises),
            "strict": st.just(strict),
        }
    )


def play(case):
    world = World(case)
    for n, wish in enumerate(case["wishes"]):
        if wish["gap"]:
            world.advance(world.now + wish["gap"])
        if wish["restart"] and world.may_die():
            world.restart()
        world.send(n, wish)
    world.advance(world.now + 3 * LONGEST)
    for lane, referees in world.referees.items():
        for referee in (*referees, world.daily[lane]):
            assert referee is None or referee.most <= referee.k, f"{type(referee)} {referee.k} {referee.d} of {lane}"
    return world


@settings(deadline=None, max_examples=many(300))
@given(case(WILD, strict=True))
def test_no_window_of_any_token_ever_receives_more_than_it_allows(case):
    play(case)


@settings(deadline=None, max_examples=many(300))
@given(case(MILD, strict=False))
def test_nothing_waits_while_a_slot_is_certainly_free_in_some_lane(case):
    play(case)


def drawn(seed, noises, *, strict, length=200):
    """A long schedule in which windows fill up again and again."""
    rng = np.random.default_rng(seed)

    def one_of(values):
        return values[int(rng.integers(len(values)))]

    def rules():
        made = [
            lambda: Rule(int(rng.integers(1, 9)), rng.uniform(3.0, 40.0)),
            lambda: Rule(int(rng.integers(1, 4)), one_of([1.0, 2.5, 7.0]), "sliding"),
            lambda: Rule(int(rng.integers(1, 7)), one_of([4.0, 7.5, 15.0, 60.0]), "aligned"),
        ]
        return tuple(one_of(made)() for _ in range(int(rng.integers(1, 4))))

    fates = ["fine"] * one_of([10, 30, 100]) + ["unsent", "edge", "lost", "broken", "backoff"]
    slow, idle, deaths = one_of([0.05, 0.5, LONGEST]), one_of([0.0, 0.1, 0.5]), one_of([0.0, 0.02, 0.1])
    return {
        "kinds": [one_of(["app", "app", "user"]) for _ in range(int(rng.integers(1, 5)))],
        "endpoints": [(rules(), one_of([rules(), ()]), one_of([0, 0, 9, 60])) for _ in range(int(rng.integers(1, 4)))],
        "skew": rng.uniform(-600.0, 600.0),
        "in_flight": int(rng.integers(1, 7)),
        "strict": strict,
        "wishes": [
            {
                "endpoint": int(rng.integers(3)),
                "way": rng.uniform(0.0, slow),
                "back": rng.uniform(0.0, slow),
                "gap": rng.exponential(20.0) if rng.uniform() < idle else 0.0,
                "fate": one_of(fates),
                "noise": one_of(noises),
                "restart": rng.uniform() < deaths,
            }
            for _ in range(length)
        ],
    }


@pytest.mark.parametrize("seed", range(25))
def test_long_schedules_are_kept_too(seed):
    play(drawn(seed, WILD, strict=True))
    world = play(drawn(seed, MILD, strict=False))
    assert len(world.ledger) > 0 or "app" not in world.case["kinds"]


@settings(deadline=None, max_examples=many(100))
@given(case(WILD, strict=True))
def test_folding_the_ledger_is_living_through_it_window_by_window(case):
    world = play(case | {"wishes": [wish | {"restart": False} for wish in case["wishes"]]})
    assume(world.epoch == 0)  # a run that a row of failures has stopped is gone on with by another
    folded = WindowPlanner(world.policy, world.credentials, Caps(), Backoff(pause=0.5, give_up=float("inf"), seed=1))
    folded.fold(world.ledger)
    assert folded.budget == world.planner.budget
    assert vars(folded.window_sets.offset) == vars(world.planner.window_sets.offset)
    for lane in sorted({(grant.credential, grant.request.endpoint) for grant, _ in world.ledger}):
        told, lived = (by.window_sets.get(*lane).windows for by in (folded, world.planner))
        assert [state(one) for one in told] == [state(one) for one in lived]


def state(window):
    """All that a window knows, except whether its next request flies alone."""
    known = {**vars(window), "received": vars(window.received)}
    return {name: value for name, value in known.items() if name not in ("next_flies_alone", "alone", "offset")}
