"""Reserving a row of a PostgreSQL ledger tells what other processes have reserved; a file tells nobody."""

import time
from contextlib import contextmanager
from threading import RLock

import pytest
from stores import AT, a_store, beside, one, rows, save, timeline
from tiny_town import page_of, posts_of

from socialcrawl.engine.model import Grant, Reply, Wait
from socialcrawl.ratelimit.billing_cycle import BillingCycles
from socialcrawl.ratelimit.other_processes import OtherProcesses
from socialcrawl.storage.ledger.shared_ledger import Sender, SharedLedger

SECOND = 1.0


class Told(OtherProcesses):
    """What others have sent, noted as it is told."""

    def __init__(self):
        super().__init__(RLock(), BillingCycles())
        self.told = []

    def count(self, requests, now):
        self.told += [(one.number, one.ledger, one.opens, one.reply and str(one.reply.kind)) for one in requests]
        super().count(requests, now)


class Decisions:
    """A planner that opens windows and says what it is told to say."""

    def __init__(self, opens=(), answer=None):
        self.opens, self.answer = opens, answer

    def list_opened(self, grant):
        return self.opens

    def reconsider(self, grant, now):
        return self.answer


def follow(store, decisions=None):
    """Let a store follow the other processes: what it is told of them."""
    others = Told()
    ledger = SharedLedger(
        store.connection, store.campaign, others, decisions or Decisions(),
        find_sender=lambda campaign, version, credential: Sender(f"{campaign}", frozenset(), credential), now=time.time,
    )  # fmt: skip
    ledger.begin()
    store.follow_others(ledger)
    return others, ledger


@contextmanager
def two_stores():
    """Two campaigns of one PostgreSQL database."""
    with a_store("postgres") as first:
        yield first, beside(first)


def reserve(store, n, at=None):
    return store.reserve(Grant(timeline(n, 1), "main", time.time() if at is None else at))


def test_who_reserves_is_told_what_others_have_reserved_before_and_what_came_of_it():
    with two_stores() as (a, b):
        (at_a, _), (at_b, _) = follow(a, Decisions((0,))), follow(b)
        assert reserve(a, 1) is None
        assert reserve(b, 1) is None
        assert [(one[1:]) for one in at_b.told] == [(str(a.campaign), (0,), None)]
        a.save(Grant(timeline(1, 1), "main", AT), Reply("ok", time.time(), page_of(posts_of(1)[:1])))
        assert at_a.told == [(2, str(b.campaign), (), None)], "saving tells too"
        assert reserve(b, 2) is None
        assert at_b.told[1] == (1, str(a.campaign), (0,), "ok")
        assert reserve(b, 3) is None
        assert len(at_b.told) == 2, "nothing is told twice"


def test_a_request_that_may_not_leave_leaves_no_row():
    with two_stores() as (a, b):
        at_a, _ = follow(a)
        follow(b, Decisions(answer=Wait(AT, "the window is used")))
        assert reserve(b, 1) == Wait(AT, "the window is used")
        assert one(b, "select count(*) from request") == 0
        assert reserve(a, 1) is None
        assert at_a.told == []


def test_a_row_has_the_clock_of_the_server_whatever_that_of_the_process_says():
    with two_stores() as (a, _):
        others, _ = follow(a)
        reserve(a, 1, at=AT)
        ((clock, opens),) = rows(a, "select clock, opens from request")
        assert abs(clock - time.time()) < 3600.0
        assert opens is None
        assert others.offset.width < 3600.0


def test_what_is_in_flight_when_a_process_begins_is_followed_until_it_lands():
    with two_stores() as (a, b):
        follow(a)
        reserve(a, 1)
        others, ledger = follow(b)
        assert others.list_pending() == [1]
        a.save(Grant(timeline(1, 1), "main", AT), Reply("ok", time.time(), page_of(posts_of(1)[:1])))
        ledger.refresh(time.time() + SECOND)
        assert others.list_pending() == []
        assert others.told[-1][3] == "ok"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_store_that_follows_nobody_writes_no_clock(kind):
    with a_store(kind) as store:
        save(store, page_of(posts_of(1)[:1]))
        assert rows(store, "select clock, opens from request") == [(None, None)]
