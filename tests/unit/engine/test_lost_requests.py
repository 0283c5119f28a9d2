"""Whoever was to send a request is gone: it stays spent, it is asked again, and the crawl is the same."""

from concurrent.futures import Future

import pytest
from stores import rows
from tiny_town import AtOnce, Clock, Wire, close, parts_of, stored, story

from socialcrawl.engine.loop import run
from socialcrawl.engine.protocols import LostRequestError


class Losing(AtOnce):
    """A pool that loses some of its requests by their numbers; those that are `sent` reach the town before."""

    def __init__(self, lost, *, sent):
        self.lost, self.sent, self.count = lost, sent, 0

    def submit(self, fn, /, *args, **kwargs):
        self.count += 1
        if self.count - 1 not in self.lost:
            return super().submit(fn, *args, **kwargs)
        if self.sent:
            fn(*args, **kwargs)
        gone = Future()
        gone.set_exception(LostRequestError("gone"))
        return gone


def crawled(path, size, pool=None):
    """What a crawl did, the requests that never got a reply, and the largest number of requests in a window."""
    wire, store = Wire(Clock()), stored(path)
    assert run(parts_of(store, wire, pool=pool), size=size).kind == "done"
    (unanswered,) = rows(store, "select count(*) from request where arrived_at is null")[0]
    told = story(store)
    most = max(count for referee in wire.referees.values() for _, count in referee.windows)
    close(store)
    return told, unanswered, most


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("sent", [False, True], ids=["never sent", "sent"])
def test_lost_requests_stay_spent_are_asked_again_and_change_nothing_else(tmp_path, size, sent):
    expected, none, _ = crawled(tmp_path / "whole.db", size)
    found, unanswered, most = crawled(tmp_path / "lost.db", size, Losing({0, 3, 4, 9}, sent=sent))
    assert none == 0
    assert unanswered == 4
    assert found == expected
    assert most <= 6
