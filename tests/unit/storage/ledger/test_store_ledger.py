"""The ledger of a database, of which what lies back is read as sums: the same as adding up its rows."""

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_referees import Summed
from stores import AT, a_store, reopened, rows, save, timeline
from tiny_town import page_of, posts_of

from socialcrawl.engine.model import Grant, Limit, Request

SENT = st.tuples(
    st.sampled_from(["/2/users", "/2/users/:id/tweets"]),
    st.sampled_from(["ok", "ok", "missing", "window", "lost", "never", "broken"]),
    st.integers(0, 9),
    st.floats(0.0, 50_000.0),
    st.booleans(),
)


def fill(store, sent):
    """A ledger of requests, one after the other."""
    now = AT
    for n, (endpoint, kind, posts, gap, daily) in enumerate(sent):
        now += round(gap, 3)
        asked = Request((n, 1), endpoint, {"id": str(n)}, 100, 50_000)
        if kind == "never":
            store.reserve(Grant(asked, "main", now))
            continue
        page = page_of(posts_of(posts % 9)[: posts % 4]) if kind == "ok" else None
        cost = 50_000 if kind == "lost" else 500 * posts
        limits = [Limit(1, 15, now + 900.0, daily)]
        save(store, page, n, at=now + 0.5, kind=kind, asked=asked, cost=cost, limits=limits)


@settings(deadline=None, max_examples=many(25))
@given(st.lists(SENT, max_size=25), st.floats(0.0, 400_000.0))
def test_the_sums_of_a_database_are_those_of_its_rows(database, sent, since):
    with a_store(database) as store:
        fill(store, sent)
        ledger = reopened(store).ledger()
        referee, at = Summed(ledger), AT + round(since, 3)
        assert len(referee.ledger) == len(sent)
        assert ledger.last() == referee.last()
        assert ledger.daily() == referee.daily()
        assert list(ledger.before(at)) == referee.before(at)
        assert list(ledger.since(at)) == referee.since(at)


def test_what_was_held_was_never_sent(database):
    with a_store(database) as store:
        save(store, page_of(posts_of(1)[:1]), 0, kind="held", asked=timeline(0))
        ledger = store.ledger()
        assert (ledger.last(), ledger.daily(), list(ledger.before(AT + 9)), list(ledger)) == (None, None, [], [])


@pytest.mark.parametrize("which", ["before", "since", "last", "daily"])
def test_a_long_ledger_is_not_read_as_a_whole(which):
    with a_store("sqlite") as store:
        ledger, asked = store.ledger(), []
        store.connection.connection.driver_connection.set_trace_callback(asked.append)
        call = getattr(ledger, which)
        list(call(AT)) if which in ("before", "since") else call()
        store.connection.connection.driver_connection.set_trace_callback(None)
        (statement,) = [one for one in asked if one.startswith("SELECT")]
        plan = str(rows(store, f"explain query plan {statement}"))
        by = {"daily": "ix_request_daily", "since": "ix_request_spent"}.get(which, "COVERING INDEX ix_request_spent")
        assert by in plan
