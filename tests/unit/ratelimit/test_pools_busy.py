"""Windows that endpoints share are used to the full: on a virtual clock, against referees that play the servers."""

from math import floor

import pytest
from limit_referees import BEGIN, Aligned, Events, Fixed, Sliding

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Answer, Credential, Grant, Limit, Reply, Request, Wait
from socialcrawl.ratelimit.batch_size import choose_batch_size
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.retry import Backoff
from socialcrawl.ratelimit.shared_windows import SharedWindows

FEED, PROFILES = "/xrpc/app.bsky.feed.getAuthorFeed", "/xrpc/app.bsky.actor.getProfiles"
STATUSES, LOOK_UP = "m.example/api/v1/accounts/:id/statuses", "m.example/api/v1/accounts/lookup"


class Sender(Events):
    """Somebody who keeps `flight` requests in flight to endpoints in turn; `referees` name those that count one."""

    def __init__(self, planner, endpoints, referees, latency, *, batches=False):
        super().__init__()
        self.planner, self.endpoints, self.referees, self.latency = planner, endpoints, referees, latency
        self.batches, self.sent, self.out = batches, 0, 0

    def run(self, until, flight):
        while self.now < until:
            answer = self.wait(flight)
            if isinstance(answer, Grant):
                self.leave(answer)
            else:
                self.advance(min(self.next_event(), answer))

    def wait(self, flight):
        if self.out >= flight:
            return self.next_event()
        answer = self.planner.take(
            Request((self.sent, 0), self.endpoints[self.sent % len(self.endpoints)], {}), self.now
        )
        return answer.until if isinstance(answer, Wait) else answer

    def leave(self, grant):
        self.sent, self.out = self.sent + 1, self.out + 1

        def arrive():
            told = [(one.k - count, one.k, ends) for one in self.referees(grant.request.endpoint)
                    for count, ends in [one.receive(self.now)]]  # fmt: skip
            left, k, ends = min(told)
            reply = ("ok", float(floor(self.now)), [Limit(max(0, left), k, float(floor(ends)))])
            self.at(self.now + self.latency / 2, lambda: land(*reply))

        def land(kind, date, limits):
            self.out -= 1
            assert (
                self.planner.settle(grant, Reply(kind, self.now, Answer(), date=date, limits=limits), self.now) is None
            )

        self.at(self.now + self.latency / 2, arrive)


def planner(platform, member=None):
    return WindowPlanner(load_policy(platform), [Credential("", "public")], Caps(), Backoff(), shared=member)


@pytest.mark.parametrize("flight", [2, 16])
def test_three_thousand_requests_in_five_minutes_are_kept_busy_to_99_percent(flight):
    whole = Fixed(3000, 300.0)
    it = Sender(planner("bluesky"), [FEED, FEED, PROFILES], lambda _: [whole], 0.15)
    it.run(BEGIN + 1500.0, flight)
    assert whole.most == 3000
    received = sum(count for opened, count in whole.windows if opened < BEGIN + 1200.0)
    assert received >= 0.99 * 3000 * 1200 / 300
    assert choose_batch_size(0.15, 3000, 300.0) == 2, "two at a time are enough, as the planner keeps the windows"


def test_an_instance_is_asked_300_times_in_5_minutes_of_them_100_for_further_pages():
    whole, paged = Aligned(300, 300.0, 0.0), Aligned(300, 900.0, 0.0)
    further = f"{STATUSES}?max_id"

    def referees(endpoint):
        return [whole, paged] if endpoint.endswith("?max_id") else [whole]

    it = Sender(planner("mastodon"), [STATUSES, LOOK_UP, further], referees, 0.2)
    it.run(BEGIN + 4500.0, 16)
    assert (whole.most, paged.most) == (300, 300)
    full = [count for number, count in whole.windows.items() if BEGIN + 300 <= number * 300 < BEGIN + 4200]
    assert len(full) == 13
    assert sum(full) >= 0.99 * 300 * 13


def test_first_pages_go_on_while_further_ones_wait_for_their_window():
    whole, paged = Aligned(300, 300.0, 0.0), Aligned(300, 900.0, 0.0)
    further = f"{STATUSES}?max_id"
    it = Sender(planner("mastodon"), [further], lambda _: [whole, paged], 0.0)
    begin = (BEGIN // 900 + 1) * 900
    it.advance(begin + 1.0)
    it.run(begin + 2.0, 4)
    assert it.sent == 300
    answer = it.planner.take(Request((999, 0), further, {}), begin + 310.0)
    assert answer.until == pytest.approx(begin + 900.0, abs=3.0)
    assert isinstance(it.planner.take(Request((999, 1), STATUSES, {}), begin + 310.0), Grant)


def test_every_host_of_the_web_has_a_window_of_its_own():
    hosts = {f"h{n}.example": Sliding(1, 1.0) for n in range(20)}
    endpoints = [f"{name}/page/{n}" for n, name in enumerate(hosts)]
    it = Sender(planner("web"), endpoints, lambda endpoint: [hosts[endpoint.partition("/")[0]]], 0.05)
    it.run(BEGIN + 30.0, 16)
    assert {one.most for one in hosts.values()} == {1}
    assert it.sent >= 20 * 28, "each of twenty hosts once a second or so"
    later = it.now + 5.0
    assert isinstance(it.planner.take(Request((9998, 0), "h1.example/robots.txt", {}), later), Grant)
    assert isinstance(it.planner.take(Request((9999, 0), "h1.example/page", {}), later), Wait)


def test_campaigns_that_ask_without_a_token_share_the_windows_by_weight_and_leave_none_unused():
    shared, whole = SharedWindows(), Fixed(300, 30.0)
    rules = load_policy("bluesky").override_limits(300, 30.0)
    senders = []
    for name, weight in (("a", 1.0), ("b", 2.0)):
        member = shared.join(name, weight, rules.base_url, {"": "public"})
        by = WindowPlanner(rules, [Credential("", "public")], Caps(), Backoff(), shared=member)
        senders.append(Sender(by, [FEED, PROFILES] if name == "a" else [FEED], lambda _: [whole], 0.15))
        member.claim_share()
    together(senders, BEGIN + 150.0)
    assert whole.most <= 300
    assert sum(count for opened, count in whole.windows if opened < BEGIN + 120.0) >= 0.98 * 300 * 4
    assert senders[1].sent / senders[0].sent == pytest.approx(2.0, abs=0.1)
    senders[1].planner.shared.drop_claim()
    before = senders[0].sent
    together(senders[:1], BEGIN + 210.0)
    assert senders[0].sent - before >= 0.95 * 600


def together(senders, until):
    """Run senders side by side on one clock."""
    now = max(one.now for one in senders)
    while now < until:
        following = []
        for one in senders:
            one.advance(now)
            while isinstance(answer := one.wait(4), Grant):
                one.leave(answer)
            following += [min(answer, one.next_event())]
        now = max(min(following), now + 1e-6)
