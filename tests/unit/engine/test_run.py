"""The loop: the order of what it remembers, requests in flight together, pausing, stopping and going on."""

import random
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest
from tiny_town import BEGIN, AtOnce, Clock, D, Wire, parts_of, story

from socialcrawl.engine import loop
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Grant, Stop, Wait, format_time
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.storage.memory_store import MemoryStore


class Diary:
    """A store, and a wire, that write down every durable operation and every sending."""

    def __init__(self, store, wire):
        self.store, self.wire, self.lines = store, wire, []
        self.clock = wire.clock

    def __getattr__(self, name):
        return getattr(self.store, name)

    def open(self, batch):
        self.store.open(batch)
        self.lines.append(("open", batch[0].n))

    def reserve(self, grant):
        self.store.reserve(grant)
        self.lines.append(("reserve", grant.request.key))

    def send(self, grant):
        self.lines.append(("send", grant.request.key))
        return self.wire.send(grant)

    def save(self, grant, reply):
        self.lines.append(("save", grant.request.key))
        return self.store.save(grant, reply)

    def finish(self, batch, outcomes):
        self.lines.append(("finish", batch[0].n))
        self.store.finish(batch, outcomes)


@pytest.fixture(scope="module")
def undisturbed():
    store, wire = MemoryStore(), Wire(Clock())
    assert run(parts_of(store, wire)) == Stop("done", "the limit of 14 steps is reached")
    return story(store), wire.calls


def with_size(size, pool=None, **more):
    store, wire = MemoryStore(), Wire(Clock())
    parts = parts_of(store, wire, pool=pool, **more)
    return store, wire, parts, run(parts, size=size)


def test_every_step_is_remembered_before_the_next_is_done():
    diary = Diary(MemoryStore(), Wire(Clock()))
    parts = parts_of(diary, diary)
    run(parts)
    lines = diary.lines
    assert [what for what, _ in lines[:6]] == ["open", "reserve", "send", "save", "reserve", "send"]
    batch, sent, saved = None, set(), set()
    for before, (what, of) in zip([None, *lines], lines, strict=False):
        if what == "open":
            assert batch is None, "one batch is open at a time"
            batch, sent, saved = of, set(), set()
        elif what == "send":
            assert before == ("reserve", of)
            sent.add(of)
        elif what == "save":
            assert of in sent - saved
            saved.add(of)
        elif what == "finish":
            assert (of, saved) == (batch, sent)
            batch = None
    assert batch is None


def test_the_watcher_hears_of_every_reply_every_batch_and_every_wait():
    store, wire, parts, _ = with_size(1)
    seen = parts.watcher.seen
    landed = sorted(s[1:] for s in seen if s[0] == "landed")
    assert landed == sorted((grant.request.key, reply.kind) for grant, reply in store.ledger())
    assert [s[1:] for s in seen if s[0] == "learned"] == [(b[0].n, len(b)) for b, _ in store.history()]
    assert [s[1] for s in seen if s[0] == "waits"] == wire.clock.slept
    assert wire.clock.slept == sorted(wire.clock.slept)


class Late(ThreadPoolExecutor):
    """Threads whose replies arrive in any order."""

    def __init__(self, seed):
        super().__init__(8)
        self.random, self.lock = random.Random(seed), threading.Lock()

    def submit(self, fn, /, *args, **kwargs):
        pause = self.random.random() * 0.004

        def late():
            time.sleep(pause)
            with self.lock:  # the town's clock and list are not for threads
                return fn(*args, **kwargs)

        return super().submit(late)


def test_the_order_of_arrival_changes_nothing():
    expected = story(with_size(4)[0])
    for seed in range(6):
        with Late(seed) as pool:
            store, wire, _, reason = with_size(4, pool)
        assert reason.kind == "done"
        assert story(store) == expected
        assert all(received <= 6 for referee in wire.referees.values() for _, received in referee.windows)


def test_a_wait_longer_than_the_patience_is_returned_with_the_batch_open(undisturbed):
    store, wire, pauses = MemoryStore(), Wire(Clock()), 0
    for size in (1, 1, 1):  # the third would be enough; a run that is not over says when to come back
        reason = run(parts_of(store, wire), size=size, patience=1.0)
        while isinstance(reason, Wait):
            assert wire.clock.now() < reason.until <= wire.clock.now() + D + 2.0
            assert store.unfinished()
            assert wire.clock.slept == [] or max(wire.clock.slept) <= wire.clock.now()
            pauses += 1
            wire.clock.time = reason.until
            reason = run(parts_of(store, wire), size=size, patience=1.0)
    assert pauses >= 4
    assert (story(store), wire.calls) == undisturbed
    assert reason == Stop("done", "the limit of 14 steps is reached")


def test_coming_back_too_early_asks_nothing():
    store, wire = MemoryStore(), Wire(Clock())
    first = run(parts_of(store, wire), patience=1.0)
    paid = len(wire.calls)
    assert run(parts_of(store, wire), patience=1.0) == first
    assert len(wire.calls) == paid


def test_a_budget_stops_with_the_batch_open_and_a_larger_one_goes_on(undisturbed):
    store, wire = MemoryStore(), Wire(Clock())
    reason = run(parts_of(store, wire, caps=Caps(requests=20)))
    assert reason.kind == "budget"
    assert "max_requests = 20" in reason.why
    assert len(wire.calls) == 20
    assert run(parts_of(store, wire)).kind == "done"
    assert (story(store), wire.calls) == undisturbed


@pytest.mark.parametrize("size", [1, 4])
def test_a_budget_is_not_called_reached_while_cheaper_replies_are_in_flight(size):
    spent = sum(reply.rows.posts for _, reply in with_size(size)[0].ledger())
    store, _, _, reason = with_size(size, caps=Caps(posts=spent + 3))  # a page may hold 3 posts
    assert reason.kind == "done"
    assert sum(reply.rows.posts for _, reply in store.ledger()) == spent


@pytest.mark.parametrize("kind", ["refused", "money", "month"])
def test_a_refusal_stops_and_the_next_run_goes_on_with_the_same_request(undisturbed, kind):
    store, wire = MemoryStore(), Wire(Clock(), faults={9: kind})
    reason = run(parts_of(store, wire))
    assert reason.kind == ("failed" if kind == "refused" else "budget")
    assert reason.why.partition(";")[0] == kind
    assert format_time(reason.until) == "2023-12-01T00:00:00.000000Z" if kind != "refused" else reason.until is None
    assert run(parts_of(store, wire)).kind == "done"
    assert story(store) == undisturbed[0]
    assert wire.calls[10] == wire.calls[9]
    assert wire.calls[:9] + wire.calls[10:] == undisturbed[1]


def test_a_retry_uses_the_key_of_the_request_it_repeats(undisturbed):
    store, wire = MemoryStore(), Wire(Clock(), faults={4: "broken", 5: "broken", 12: "backoff"})
    assert run(parts_of(store, wire)).kind == "done"
    assert story(store) == undisturbed[0]
    ledger = [(grant.request.key, reply.kind) for grant, reply in store.ledger()]
    again = [key for key, kind in ledger if kind in ("broken", "backoff")]
    assert [kind for key, kind in ledger if key == again[0]] == ["broken", "broken", "ok"]
    assert [kind for key, kind in ledger if key == again[2]] == ["backoff", "ok"]


def test_a_request_that_stays_broken_leaves_its_node_for_later():
    store, wire = MemoryStore(), Wire(Clock(), faults=dict.fromkeys(range(6, 9), "broken"))
    assert run(parts_of(store, wire, steps=None)).kind == "done"
    outcomes = [outcome for _, row in store.history() for outcome in row]
    failed = [outcome.node for outcome in outcomes if outcome.missing == "temporary"]
    assert len(failed) == 1
    assert [outcome.missing for outcome in outcomes if outcome.node == failed[0]][-1] is None


@pytest.mark.parametrize("size", [1, 4])
def test_an_interrupt_saves_what_is_in_flight_and_the_next_run_goes_on(size):
    expected = story(with_size(size)[0])
    for moment in range(0, len(with_size(size)[1].calls) - 1, 3):
        store, wire = MemoryStore(), Wire(Clock())

        class Interrupting(AtOnce):
            def submit(self, fn, /, *args, wire=wire, moment=moment, **kwargs):
                wire.clock.stopped |= len(wire.calls) >= moment
                return super().submit(fn, *args, **kwargs)

        reason = run(parts_of(store, wire, pool=Interrupting()), size=size)
        assert reason == Stop("interrupted", "interrupted; everything is saved, run again to go on")
        assert all(reply is not None for _, reply in store.ledger())
        wire.clock.stopped = False
        run(parts_of(store, wire), size=size)
        assert story(store) == expected
        assert len(wire.calls) == len(set(wire.calls)), "nothing was paid for twice"


def test_an_interrupt_does_not_wait_for_ever_and_what_is_abandoned_counts_as_spent(monkeypatch, undisturbed):
    monkeypatch.setattr(loop, "GRACE", 0.05)
    monkeypatch.setattr(loop, "TICK", 0.01)

    class Never(Executor):
        def submit(self, fn, /, *args, **kwargs):
            wire.clock.stopped = True
            return Future()

    store, wire = MemoryStore(), Wire(Clock())
    assert run(parts_of(store, wire, pool=Never())).kind == "interrupted"
    assert [reply for _, reply in store.ledger()] == [None]
    wire.clock.stopped = False
    parts = parts_of(store, wire)
    assert run(parts).kind == "done"
    assert story(store) == undisturbed[0]
    assert parts.planner.budget.requests == len(wire.calls) + 1


def test_an_interrupt_ends_a_wait():
    store, wire = MemoryStore(), Wire(Clock())
    wire.clock.sleep = lambda until: setattr(wire.clock, "stopped", True)
    assert run(parts_of(store, wire)).kind == "interrupted"
    assert wire.clock.now() == BEGIN


def test_an_interrupted_run_starts_nothing():
    wire = Wire(Clock(stopped=True))
    assert run(parts_of(MemoryStore(), wire)).kind == "interrupted"
    assert wire.calls == []


def test_a_crawl_that_waits_is_asked_again_and_one_that_stops_is_believed():
    said = [Wait(BEGIN + 5.0, "nothing is due"), Wait(BEGIN + 500.0, "nothing is due"), Stop("done", "enough")]
    for patience, expected in ((100.0, said[1]), (1000.0, said[2])):
        store, wire = MemoryStore(), Wire(Clock())
        parts = parts_of(store, wire)
        answers = iter(said)
        parts.crawl.choose = lambda size, now, answers=answers: next(answers)
        assert run(parts, patience=patience) == expected
        assert wire.clock.slept == [wait.until for wait in said[:2]][: 1 if patience == 100.0 else 2]


def test_a_grant_is_what_the_wire_is_sent():
    wire = Wire(Clock())
    sent = []
    wire.answer_to, wire.send = wire.send, lambda grant: sent.append(grant) or wire.answer_to(grant)
    store = MemoryStore()
    run(parts_of(store, wire))
    assert all(isinstance(grant, Grant) for grant in sent)
    assert sent == [grant for grant, _ in store.ledger()]
