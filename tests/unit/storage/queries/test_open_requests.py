"""Requests whose answers are awaited, and tokens that were refused, against readings of the same ledger in Python."""

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert
from stores import a_store, beside

from socialcrawl.engine.model import format_time
from socialcrawl.storage.queries.open_requests import (
    DEADLINE,
    TIMEOUT,
    RefusedToken,
    RequestsInFlight,
    count_in_flight,
    list_refused,
)
from socialcrawl.storage.schema.tables import request

AT = 1_800_000_000
ENDPOINTS, TOKENS = ("/2/users", "/2/tweets"), ("main", "second")
KINDS = ("ok", "missing", "refused", "window", "lost", "broken", None)
SENT = st.tuples(
    st.sampled_from(TOKENS), st.sampled_from(ENDPOINTS), st.sampled_from(KINDS), st.sampled_from((401, 403))
)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def store(request):
    with a_store(request.param) as made:
        yield made


def fill(store, rows, campaign=None):
    """Store a ledger: rows of (token, endpoint, kind, status), sent a minute apart, or with values of their own."""
    values = [
        {"campaign": campaign or store.campaign, "n": place, "part": 0, "endpoint": endpoint, "params": "{}",
         "credential": token, "items": 1, "most": 10 + place, "sent_at": format_time(AT + 60 * place), "kind": kind,
         "status": status if kind == "refused" else 200,
         "arrived_at": None if kind in (None, "lost") else format_time(AT + 60 * place + 1)}
        for place, (token, endpoint, kind, status) in enumerate(rows)
    ]  # fmt: skip
    with store.connection.begin():
        store.connection.execute(delete(request))
        if values:
            store.connection.execute(insert(request), values)


def read_refused(store, campaign=None):
    with store.connection.begin():
        return list_refused(store.connection, campaign or store.campaign)


def read_in_flight(store, source, last, campaign=None):
    with store.connection.begin():
        return count_in_flight(store.connection, campaign or store.campaign, source, last)


def find_refused(rows):
    """The tokens that a ledger leaves refused, read from its end: the latest refusal that no answer has cleared."""
    found = {}
    for token in TOKENS:
        answered = set()
        for place in range(len(rows) - 1, -1, -1):
            one, endpoint, kind, status = rows[place]
            if one != token:
                continue
            if kind in ("ok", "missing"):
                answered.add(endpoint)
            elif kind == "refused" and not (answered if status == 401 else endpoint in answered):
                found[token] = RefusedToken(token, endpoint, status, format_time(AT + 60 * place))
                break
    return sorted(found.values(), key=lambda one: one.at, reverse=True)


@given(st.lists(SENT, max_size=8))
@settings(max_examples=many(100), deadline=None)
def test_a_token_is_refused_until_it_gets_an_answer_where_it_was_refused(store, rows):
    fill(store, rows)
    assert read_refused(store) == find_refused(rows)


def test_a_token_that_is_unknown_is_refused_everywhere_and_one_without_access_on_its_endpoint(store):
    users, tweets = ENDPOINTS
    for status, answered, refused in ((401, users, 0), (401, tweets, 0), (403, users, 0), (403, tweets, 1)):
        fill(store, [("main", users, "refused", status), ("main", answered, "ok", 0)])
        assert len(read_refused(store)) == refused, (status, answered)
    fill(store, [("main", users, "refused", 401), ("second", users, "ok", 0)])
    assert [one.credential for one in read_refused(store)] == ["main"], "an answer to another token says nothing"


@pytest.mark.parametrize(
    ("source", "deadline"),
    [({}, TIMEOUT * DEADLINE), ({"timeout": 50.0}, 50.0 * DEADLINE), ({"timeout": 50.0, "deadline": 90.0}, 90.0)],
)
def test_what_was_sent_before_the_deadline_of_the_latest_request_is_awaited_no_more(store, source, deadline):
    rows = [
        ("main", ENDPOINTS[place % 2], kind, 0) for place, kind in enumerate([None, None, "ok", None, "lost", None])
    ]
    fill(store, rows)
    last = AT + 60 * (len(rows) - 1)
    awaited = [
        10 + place
        for place, (_, _, kind, _) in enumerate(rows)
        if kind is None and last - (AT + 60 * place) <= deadline
    ]
    assert read_in_flight(store, source, format_time(last)) == RequestsInFlight(len(awaited), sum(awaited))
    assert 0 < len(awaited) < sum(kind is None for _, _, kind, _ in rows), "some are, and some are not"


def test_nothing_is_awaited_by_a_campaign_that_has_sent_nothing_and_none_counts_for_another(store):
    assert read_in_flight(store, {}, None) == RequestsInFlight()
    fill(store, [("main", ENDPOINTS[0], None, 0), ("main", ENDPOINTS[0], "refused", 401)])
    other = beside(store).campaign
    assert read_in_flight(store, {}, format_time(AT), other) == RequestsInFlight()
    assert read_refused(store, other) == []
    assert read_in_flight(store, {}, format_time(AT)) == RequestsInFlight(1, 10)
