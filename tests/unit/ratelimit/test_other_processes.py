"""Processes that share a token through the ledger of their database pass no window together, and leave none unused."""

import pytest
from example_counts import many
from limit_referees import BEGIN, Aligned, Fixed, Sliding
from rival_processes import World
from shared_tokens import BASE

from socialcrawl.engine.model import Answer, Credential, Grant, Limit, Reply, Request, Stop, Wait
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.other_processes import OtherRequest
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.shared_windows import SentRequest, SharedWindows

K, D = 20, 100.0
SKEW = -433.7
TRIPS = (0.001, 0.01, 0.05)  # seconds to the database and back
KINDS = {
    "told": (Rule(K, D), lambda: Fixed(K, D), True),
    "fixed": (Rule(K, D), lambda: Fixed(K, D), False),
    "sliding": (Rule(K, D, "sliding"), lambda: Sliding(K, D), False),
    "aligned": (Rule(K, D, "aligned"), lambda: Aligned(K, D, SKEW), False),
}


def world(kind, names, seed, **more):
    rule, referee, headers = KINDS[kind]
    return World((rule,), referee(), names, seed, headers=headers, skew=SKEW, **more)


def test_two_processes_with_one_token_pass_none_of_twenty_windows_and_use_all():
    it = world("told", "ab", 1)
    it.advance(BEGIN + 22 * D)
    whole = [received for _, received in it.referee.windows[1:-1]]
    assert len(whole) >= 20
    assert whole == [K] * len(whole)
    assert it.refusals > 0, "they met"


@pytest.mark.parametrize("kind", KINDS)
def test_processes_with_one_ledger_pass_no_window_and_use_all_however_far_the_database_is(kind):
    for seed in range(many(6)):
        it = world(kind, "abcd"[: 2 + seed % 3], seed, trip=TRIPS[seed % 3])
        it.advance(BEGIN + 22 * D)
        assert it.referee.most == K, (seed, it.referee.most)
        sent = len([row for row in it.rows if row.reply is not None and row.reply.reached])
        assert sent >= 0.98 * K * 21, (seed, sent / (K * 21))


@pytest.mark.parametrize("kind", KINDS)
def test_processes_that_are_killed_and_stopped_at_any_moment_pass_no_window(kind):
    for seed in range(many(12)):
        it = world(kind, "abc", seed, trip=0.02)
        while it.now < BEGIN + 15 * D:
            it.advance(it.now + it.draw(D / 2))
            one = it.processes[int(it.draw(3))]
            if it.draw(1.0) < 0.5:
                one.kill(it.draw(30.0))
            else:
                one.stop(it.draw(D / 2))
        assert it.referee.most <= K, (seed, it.referee.most)
        assert len(it.rows) > 5 * K, "they work between"


def follower(cap=None, k=5, before=(), shared=None, name="here"):
    """A planner of a process that follows others, and what these are; `before` is what was sent as it began."""
    shared = shared or SharedWindows()
    member = shared.join(name, 1.0, BASE, {"t": "t"}, ["bill"])
    others = member.others = shared.get_others("a database")
    endpoints = {"/e": Endpoint((Rule(k, D),))}
    made = WindowPlanner(Policy("x", BASE, "2026", endpoints, cap=cap), [Credential("t")], Caps(), shared=member)
    member.set_ledger(name)
    member.read_elsewhere = lambda since: others.begin(0, (), BEGIN + 6.0 if before else BEGIN) or {"there": before}
    made.fold([], BEGIN)
    others.note_clock(BEGIN, BEGIN, BEGIN)
    return made, others


def other(number, at, *, opens=(), reply=None, items=1):
    bills = frozenset({"t", "bill"})
    return OtherRequest(number, "there", bills, "t", "/e", at, at, items, opens, reply)


def ask(number, items=1):
    return Request((number, 1), "/e", {}, items)


def test_a_grant_is_taken_back_when_others_have_opened_the_window():
    planner, others = follower()
    grant = planner.take(ask(1), BEGIN)
    assert isinstance(grant, Grant)
    others.count([other(1, BEGIN, opens=(0,))], BEGIN + 0.01)
    refused = planner.reconsider(grant, BEGIN + 0.01)
    assert isinstance(refused, Wait)
    assert (planner.budget.requests, planner.budget.in_flight) == (0, 0)
    others.count([other(1, BEGIN, opens=(0,), reply=Reply("ok", BEGIN + 0.2, Answer(posts=1)))], BEGIN + 0.3)
    assert isinstance(planner.take(ask(1), BEGIN + 0.3), Grant), "its window is open now"


def test_a_grant_holds_where_others_have_done_nothing():
    planner, _ = follower()
    grant = planner.take(ask(1), BEGIN)
    assert planner.reconsider(grant, BEGIN) is None
    assert planner.budget.requests == 1


def test_what_another_process_has_in_flight_holds_up_nobody_once_the_last_campaign_has_left():
    shared = SharedWindows()
    planner, others = follower(shared=shared)
    others.count([other(1, BEGIN)], BEGIN)
    assert isinstance(planner.take(ask(1), BEGIN), Wait), "it may be what opens the window"
    planner.shared.leave()
    later, _ = follower(shared=shared)
    assert isinstance(later.take(ask(1), BEGIN + LAG + D), Grant), "nobody heard what became of it"


def test_the_reply_to_another_process_counts_also_where_the_campaign_with_its_token_has_left():
    shared = SharedWindows()
    planner, others = follower(shared=shared)
    stays, _ = follower(shared=shared, name="stays")
    others.count([other(1, BEGIN)], BEGIN)
    planner.shared.leave()
    others.count([other(1, BEGIN, reply=Reply("ok", BEGIN + 0.1, Answer(posts=1)))], BEGIN + 0.2)
    assert isinstance(stays.take(ask(1), BEGIN + 0.3), Grant)


def test_posts_that_others_read_count_towards_the_cap_of_the_billing_cycle():
    planner, others = follower(cap=10)
    others.count([other(1, BEGIN, items=9)], BEGIN)
    assert isinstance(planner.take(ask(1, 2), BEGIN + 1.0), Stop), "at its dearest until it is settled"
    others.count([other(1, BEGIN, items=9, reply=Reply("ok", BEGIN + 1.0, Answer(posts=8)))], BEGIN + 2.0)
    assert isinstance(planner.take(ask(1, 2), BEGIN + 3.0), Grant)
    assert isinstance(planner.take(ask(2, 1), BEGIN + 4.0), Stop)


def test_a_request_that_did_not_reach_the_server_takes_no_slot_of_others():
    planner, others = follower(k=1)
    others.count([other(1, BEGIN)], BEGIN)
    assert isinstance(planner.take(ask(1), BEGIN + 1.0), Wait)
    others.count([other(1, BEGIN, reply=Reply("broken", BEGIN + 1.0))], BEGIN + 1.0)
    assert isinstance(planner.take(ask(1), BEGIN + 2.0), Grant)


def test_a_window_that_the_server_has_refused_to_others_is_waited_for():
    planner, others = follower()
    limits = [Limit(0, 5, float(BEGIN + 60.0))]
    refused = Reply("window", BEGIN + 0.2, status=429, date=float(BEGIN), limits=limits)
    others.count([other(1, BEGIN, reply=refused)], BEGIN + 1.0)
    waits = planner.take(ask(1), BEGIN + 1.0)
    assert isinstance(waits, Wait)
    assert BEGIN + 60.0 <= waits.until <= BEGIN + 62.0


def test_what_others_send_while_a_process_begins_counts_from_when_they_sent_it():
    """The ledger is read a while after the process has looked at its clock."""
    sent = [SentRequest("t", "/e", BEGIN + at - 500.0, BEGIN + at - 499.9, ahead=500.0) for at in range(1, 6)]
    planner, _ = follower(before=sent)
    waits = planner.take(ask(1), BEGIN + 6.0)
    assert isinstance(waits, Wait)
    assert waits.until >= BEGIN + 1.1 + D


def test_requests_of_a_sender_whose_clock_is_behind_count_when_they_are_told_of_later():
    sent = [SentRequest("t", "/e", BEGIN + at - 500.0, BEGIN + at - 499.9, ahead=500.0) for at in range(1, 6)]
    planner, _ = follower(before=sent[:2])
    assert isinstance(planner.take(ask(1), BEGIN + 6.0), Grant)
    planner, _ = follower(before=sent[:2])
    planner.shared.read_elsewhere = lambda since: {"there": sent}
    planner.fold([], BEGIN + 6.0)
    waits = planner.take(ask(1), BEGIN + 6.0)
    assert isinstance(waits, Wait)
    assert waits.until >= BEGIN + 1.1 + D
