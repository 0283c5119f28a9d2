"""Servers in trouble: nobody waits for one of many, and everybody for the campaign's own or for our network.

A crawl is played on a virtual clock: picks in batches, a look-up and a page for each, servers that answer after 0.2 s.
"""

from heapq import heappop, heappush

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_referees import BEGIN

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Answer, Credential, Grant, Reply, Request, Stop, Wait
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.outage import HOSTS, RECENT, HostHealth
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.retry import MANY, Backoff

LOOK_UP, STATUSES = "/api/v1/accounts/lookup", "/api/v1/accounts/:id/statuses"
HOME, DEAD, NEAR = "home.example", "dead.example", "near.example"
LATENCY = 0.2


def planner(home=HOME, platform="mastodon", **backoff):
    return WindowPlanner(load_policy(platform), [Credential("", "public")], Caps(), Backoff(**backoff), home=home)


class Played:
    """A crawl of accounts on `hosts` in turn of their places: how long it took, what was asked, what was given up."""

    def __init__(self, by, hosts, fails, size=1):
        self.by, self.hosts, self.fails = by, hosts, fails
        self.now, self.asked, self.temporary, self.stop = BEGIN, [], [], None
        for first in range(0, len(hosts), size):
            if self.stop is None:
                self.batch(range(first, min(first + size, len(hosts))))

    @property
    def seconds(self):
        return self.now - BEGIN

    def batch(self, picks):
        self.ready, self.flying = [(n, 0) for n in picks], []
        while (self.ready or self.flying) and self.stop is None:
            waits = self.leave()
            self.now = min([*waits, *(at for at, *_ in self.flying[:1])])
            while self.flying and self.flying[0][0] <= self.now:
                self.land(heappop(self.flying)[1:])

    def leave(self):
        waits, held = [], []
        for n, step in self.ready:
            request = Request((n, step), self.hosts[n] + (LOOK_UP, STATUSES)[step], {})
            answer = self.by.take(request, self.now)
            if isinstance(answer, Grant):
                self.asked.append(self.hosts[n])
                heappush(self.flying, (self.now + LATENCY, n, step, answer))
            else:
                assert isinstance(answer, Wait)
                waits.append(answer.until)
                held.append((n, step))
        self.ready = held
        return waits

    def land(self, came):
        n, step, grant = came
        kind = "broken" if self.fails(self.hosts[n], self.now - BEGIN) else "ok"
        again = self.by.settle(grant, Reply(kind, self.now, Answer(), why="because"), self.now)
        if isinstance(again, Stop):
            self.stop = again
        elif again is not None:
            self.ready.append((n, step))
        elif kind == "broken":
            self.temporary.append(n)
        elif step == 0:
            self.ready.append((n, 1))


def never(_host, _at):
    return False


def always(host, _at):
    return host == DEAD


@pytest.mark.parametrize("size", [1, 4, 10])
@pytest.mark.parametrize("home", [HOME, ""])
def test_one_dead_host_among_five_makes_a_crawl_of_a_hundred_at_most_twice_as_long(home, size):
    hosts = [[HOME, NEAR, DEAD, "c.example", "d.example"][n * 7 % 5 if n % 2 else n // 2 % 5] for n in range(100)]
    well, ill = (Played(planner(home), hosts, fails, size) for fails in (never, always))
    assert ill.stop is None
    assert ill.seconds <= 2.0 * well.seconds
    assert sorted(ill.temporary) == [n for n, host in enumerate(hosts) if host == DEAD]
    lost = hosts.count(DEAD)
    assert ill.asked.count(DEAD) <= lost + 2 * max(size, 3), "once it is known to be dead an account costs one request"


@settings(deadline=None, max_examples=many(60))
@given(st.lists(st.sampled_from([HOME, NEAR, DEAD, "c.example"]), min_size=1, max_size=60), st.integers(1, 12))
def test_no_schedule_of_accounts_waits_long_for_a_dead_host(hosts, size):
    well, ill = (Played(planner(), hosts, fails, size) for fails in (never, always))
    assert ill.stop is None
    # The first failures are pauses of 1.5 s at most, two for each account that is tried three times.
    assert ill.seconds <= well.seconds + (1.5 + LATENCY) * 6 + LATENCY * hosts.count(DEAD)
    assert sorted(ill.temporary) == [n for n, host in enumerate(hosts) if host == DEAD]


def test_a_crawl_that_begins_at_a_dead_host_goes_on_from_it_to_the_others():
    ill = Played(planner(), [DEAD] * 30 + [HOME] * 3, always)
    assert (ill.stop, len(ill.temporary)) == (None, 30)
    assert ill.asked.count(DEAD) == 3 + 29
    assert ill.seconds < 20.0


def test_a_host_that_comes_back_is_tried_again_as_before():
    def fails(host, at):
        return host == DEAD and (at < 10.0 or 20.0 < at < 20.5)

    played = Played(planner(), [HOME, DEAD] * 40, fails)
    early = [n for n in played.temporary if n < 40]
    assert early == played.temporary, "one failure after it was well is not given back"
    assert early


def test_a_home_that_is_dead_is_waited_for_as_ever():
    def fails(host, at):
        return host == HOME and at > 5.0

    alone, many = (Played(planner(home, give_up=1e9), [HOME] * 30, fails) for home in (HOME, ""))
    assert (alone.seconds, alone.asked, alone.temporary) == (many.seconds, many.asked, many.temporary)
    assert alone.seconds > 3600.0, "accounts are kept while their server is down"
    among = Played(planner(give_up=1e9), [HOME, NEAR] * 15, fails)
    assert among.seconds > 600.0
    assert {among.hosts[n] for n in among.temporary} == {HOME}
    stop = Played(planner(), [HOME] * 9, lambda *_: True).stop
    assert (stop.kind, "5 times in a row" in stop.why) == ("failed", True)


def test_a_site_that_is_all_there_is_is_waited_for():
    def fails(_host, at):
        return 5.0 < at < 500.0

    played = Played(planner(""), ["a.example"] * 100, fails)
    assert len(played.temporary) <= 6, "an outage of minutes does not go through the frontier"
    several = Played(planner(""), ["a.example", "b.example", "c.example"] * 30, fails)
    assert len(several.temporary) <= 40


def test_a_network_that_is_down_is_waited_for_and_a_batch_of_dead_hosts_is_not():
    hosts = [f"h{n}.example" for n in range(200)]
    down = Played(planner(), hosts, lambda _, at: 5.0 < at < 400.0, size=10)
    assert down.stop is None
    assert len(down.temporary) <= 4 * 10
    mixed = [f"dead{n}.example" if n % 12 < MANY + 2 else f"well{n}.example" for n in range(48)]
    gone = Played(planner(), [HOME, *mixed], lambda host, _: host.startswith("dead"), size=12)
    assert gone.stop is None
    assert gone.seconds < 120.0
    assert len(gone.temporary) == 40


def test_a_429_keeps_its_pause_whoever_says_so():
    by = planner()
    for n in range(9):
        grant = by.take(Request((n, 0), HOME + LOOK_UP, {}), BEGIN)
        by.settle(grant, Reply("ok", BEGIN, Answer()), BEGIN)
    now = BEGIN
    for n in range(4):
        grant = by.take(Request((100 + n, 0), DEAD + LOOK_UP, {}), now)
        wait = by.settle(grant, Reply("backoff", now, Answer(), why="because"), now)
        assert isinstance(by.take(Request((200, 0), DEAD + LOOK_UP, {}), now), Wait)
        assert wait.until - now >= 2.0**n
        now = wait.until


def test_what_is_known_of_hosts_is_moved_with_the_clock_forgotten_in_a_new_run_and_has_a_bound():
    def grant(host, at):
        return Grant(Request((0, 0), f"{host}/x", {}), "", at)

    others = HostHealth()
    others.note_success(grant(NEAR, 0.0))
    others.shift(1000.0)
    assert others.was_network_up(grant(DEAD, 1000.0 + RECENT))
    assert not others.was_network_up(grant(DEAD, 1001.0 + RECENT))
    assert not others.was_network_up(grant(NEAR, 1000.0)), "its own answers say nothing of the others"
    for n in range(4):
        others.note_failure(grant(DEAD, 1000.0 + n), 1000.5 + n)
        others.note_failure(grant(DEAD, 1000.0 + n), 1000.5 + n)  # in flight together with the one before
        assert others.is_given_up(grant(DEAD, 2000.0)) == (n == 3)
    assert not others.has_failed_alone(grant(DEAD, 2000.0)), "the other one answered before it failed first"
    others.note_success(grant(NEAR, 1001.0))
    assert others.has_failed_alone(grant(DEAD, 2000.0))
    others.start_run()
    assert not others.is_given_up(grant(DEAD, 2000.0))
    assert not others.has_failed_alone(grant(DEAD, 1000.0))
    for n in range(HOSTS + 9):
        others.note_success(grant(f"g{n}", 1.0))
        others.note_failure(grant(f"f{n}", 1.0), 1.0)
    assert len(others._answered) == len(others._failures) == HOSTS
