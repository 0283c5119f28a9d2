"""The UTC-day rule: what a credential read today is not billed to it again, and near midnight nobody can be sure."""

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import a_store, beside, failing, one, profile, reopened, rows, save, timeline
from tiny_town import Clock, Wire, close, parts_of, stored

from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Grant, Page, PostRow, Reply
from socialcrawl.errors import StoreError
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage.ledger.charges import find_billing_day
from socialcrawl.storage.queries.summary import summarize_campaign

TARIFF = Tariff(500, 1000)
FEE = 7
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
NOON = MIDNIGHT + 43_200
DAY = 86_400


def utc_day(at):
    return str(datetime.fromtimestamp(at, UTC).date())


def page(posts=(), users=()):
    written = [PostRow(key, "900", None, "text", *[None] * 14) for key in posts]
    return Page(written, [0] * len(written), (), [profile(key, f"name{key}") for key in users])


def price(posts, users):
    return FEE + 500 * posts + 1000 * users


def read(store, posts=(), users=(), *, at=NOON, n=0, credential="main", **more):
    """What a page costs that comes at `at` by a server's clock that is right."""
    cost = price(len(posts), len(users))
    reply = save(store, page(posts, users), n, at, credential=credential, **({"cost": cost, "date": int(at)} | more))
    return reply.cost


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request):
    with a_store(request.param, TARIFF) as made:
        yield made


AROUND_MIDNIGHT = st.one_of(st.floats(-5.0, 5.0), st.floats(-2000.0, 2000.0), st.floats(-DAY, DAY))
DELAY = st.one_of(st.just(0.0), st.floats(0.0, 3.0), st.floats(0.0, 90.0))


@settings(deadline=None, max_examples=many(200))
@given(AROUND_MIDNIGHT, DELAY, DELAY, DELAY, st.floats(-1e6, 1e6))
def test_a_day_that_is_named_is_the_one_on_which_the_server_served(offset, there, work, back, skew):
    served = MIDNIGHT + offset  # the server bills at some moment of its work, by its own clock
    for share in (0.0, 0.5, 1.0):
        arrives, leaves = served - share * work, served + (1 - share) * work
        sent, came = arrives - there + skew, leaves + back + skew
        found = find_billing_day(sent, Reply("ok", came, date=float(int(leaves))))
        assert found in (None, utc_day(served))
        far = min(served % DAY, DAY - served % DAY)
        assert found is not None or far <= there + work + back + 2.001, "sure enough, and yet not named"


@settings(deadline=None, max_examples=many(150))
@given(AROUND_MIDNIGHT, DELAY, st.floats(-899.0, 899.0))
def test_without_the_servers_clock_ours_may_be_wrong_by_a_quarter_of_an_hour(offset, took, skew):
    served = MIDNIGHT + offset
    found = find_billing_day(served + skew, Reply("ok", served + skew + took))
    assert found in (None, utc_day(served))
    assert found is not None or min(served % DAY, DAY - served % DAY) <= 900 + took + abs(skew) + 0.001


def test_a_clock_that_was_set_back_meanwhile_names_no_day():
    assert find_billing_day(NOON, Reply("ok", NOON - 0.1, date=NOON)) is None
    assert find_billing_day(NOON, Reply("ok", NOON, date=NOON)) == "2026-03-01"


KEYS = st.lists(st.sampled_from("abcdef"), max_size=5)  # the same key may come twice in a page
READS = st.lists(
    st.tuples(
        KEYS,
        KEYS.map(lambda keys: list(dict.fromkeys(keys))),
        st.sampled_from(["main", "other"]),
        st.sampled_from([-1, 0, 0, 0, 1]),  # the days that pass before it
        st.sampled_from([MIDNIGHT, NOON]),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=many(25))
@given(READS)
def test_both_stores_bill_as_a_referee_with_a_set_does(database, reads):
    with a_store("memory", TARIFF) as memory, a_store(database, TARIFF) as sql:
        billed_alike(memory, sql, reads)


def billed_alike(memory, sql, reads):
    billed, today, told = set(), date(2026, 3, 1), []
    for n, (posts, users, credential, days, hour, restart) in enumerate(reads):
        today += timedelta(days)
        at = hour + DAY * (today - date(2026, 3, 1)).days + 0.25
        asked = {(credential, today, "post", key) for key in posts}, {(credential, today, "user", key) for key in users}
        if hour == NOON:
            # what is older than the day before is forgotten: only a server whose clock goes back could tell
            billed = {row for row in billed if row[1] >= today - timedelta(1) or not (posts or users)}
            new = [len(keys - billed) for keys in asked]
            billed |= asked[0] | asked[1]
        else:  # a quarter of a second after midnight: it may have been served before
            new = [len(keys) for keys in asked]
        told.append(tuple(new))
        sql = sql if not restart else reopened(sql)
        for store in (memory, sql):
            assert read(store, posts, users, at=at, n=n, credential=credential) == price(*new)
    assert [reply.cost for _, reply in memory.ledger()] == [price(*new) for new in told]
    assert [reply.cost for _, reply in sql.ledger()] == [price(*new) for new in told]
    assert rows(sql, "select new_posts, new_users from request order by id") == told
    kept = rows(sql, "select credential, day, kind, resource from charge")
    newest = max((row[1] for row in billed), default=today)
    expected = {(name, str(on), kind, key) for name, on, kind, key in billed}
    assert {row for row in kept if row[1] >= str(newest)} == {row for row in expected if row[1] >= str(newest)}


def test_a_post_read_twice_today_is_billed_once_and_again_tomorrow(store):
    assert read(store, "ab", "u") == price(2, 1)
    assert read(store, "abc", "u", n=1) == price(1, 0)
    assert read(store, "abc", "uv", at=NOON + DAY, n=2) == price(3, 2)
    assert [reply.cost for _, reply in store.ledger()] == [price(2, 1), price(1, 0), price(3, 2)]


def test_a_post_and_a_user_with_one_id_are_two_resources(store):
    assert read(store, ["7"]) == price(1, 0)
    assert read(store, (), ["7"], n=1) == price(0, 1)


def test_another_credential_may_be_another_developer_and_pays_for_itself(store):
    assert read(store, "ab") == price(2, 0)
    assert read(store, "ab", n=1, credential="other") == price(2, 0)
    assert read(store, "ab", n=2, credential="other") == price(0, 0)


def test_near_midnight_everything_is_billed_and_nothing_counts_as_billed(store):
    late, early = MIDNIGHT + DAY - 0.5, MIDNIGHT + DAY + 0.5
    assert read(store, "ab") == price(2, 0)
    assert read(store, "abc", at=late, n=1) == price(3, 0), "it may have been served tomorrow"
    assert read(store, "abcd", at=early, n=2) == price(4, 0), "it may have been served yesterday"
    assert read(store, "abcd", at=early + 60, n=3) == price(4, 0)
    assert read(store, "abcd", at=early + 90, n=4) == price(0, 0)


def test_a_reply_that_took_long_is_certain_only_when_midnight_is_far(store):
    assert read(store, "a", at=MIDNIGHT + 60, took=70) == price(1, 0)
    assert read(store, "a", at=MIDNIGHT + 61, n=1, took=30) == price(1, 0), "the first was of neither day"
    assert read(store, "a", at=MIDNIGHT + 62, n=2, took=30) == price(0, 0)


def test_the_servers_day_counts_and_not_ours(store):
    assert read(store, "a", at=NOON, date=NOON + DAY) == price(1, 0)
    assert read(store, "a", at=NOON, n=1) == price(1, 0)
    assert read(store, "a", at=NOON + DAY, n=2) == price(0, 0)


def test_without_a_tariff_every_reading_is_billed(database):
    for kind in ("memory", "sqlite", "postgres"):
        with a_store(kind) as store:
            assert [read(store, "ab", "u", n=n) for n in range(2)] == [price(2, 1)] * 2
    with a_store(database) as store:
        read(store, "ab", "u")
        assert one(store, "select count(*) from charge") == 0
        assert rows(store, "select new_posts, new_users from request") == [(None, None)]


def test_a_reply_without_a_page_keeps_its_cost(store):
    assert save(store, None, kind="lost", cost=50_000).cost == 50_000
    assert save(store, None, 1, kind="broken").cost == 0


def test_a_price_is_never_below_nothing(store):
    assert read(store, "ab", cost=0) == 0
    assert read(store, "ab", n=1, cost=0) == 0


def test_campaigns_of_one_database_share_what_a_credential_has_paid_for(place):
    first = beside(stored(place), "first", TARIFF)
    second = beside(first, "second", TARIFF)
    assert read(first, "ab", "u") == price(2, 1)
    assert read(second, "abc", "u") == price(1, 0)
    close(first)


def test_charges_older_than_yesterday_are_removed(database):
    with a_store(database, TARIFF) as store:
        for n in range(4):
            read(store, "ab", "u", at=NOON + n * DAY, n=2 * n)
            read(store, "c", at=NOON + n * DAY + 60, n=2 * n + 1)
        kept = rows(store, "select day, kind, resource from charge order by 1, 2, 3")
    days = ("2026-03-03", "2026-03-04")
    assert kept == [(on, *what) for on in days for what in (*(("post", key) for key in "abc"), ("user", "u"))]


def test_a_page_that_could_not_be_stored_is_not_noted_as_billed(database):
    with a_store(database, TARIFF) as store:
        with failing(store.connection, "request", "update"), pytest.raises(StoreError, match="no"):
            read(store, "ab", "u")
        assert one(store, "select count(*) from charge") == 0
        assert read(store, "ab", "u", n=1) == price(2, 1)


def test_a_crawl_costs_what_its_different_posts_and_users_cost(place):
    store = beside(stored(place), "day", TARIFF)
    wire = Wire(Clock())
    run(parts_of(store, wire))
    read_at_all = sum(len(json.loads(ids or "[]")) for (ids,) in rows(store, "select post_ids from request"))
    posts = one(store, "select count(*) from post")
    profiles = one(store, "select count(*) from account where profile_at is not null")
    found = summarize_campaign(store.connection, "day")
    assert found.cost == 500 * posts + 1000 * profiles
    assert found.posts == read_at_all > posts
    assert found.billed_posts == [("2023-11-14", posts, found.cost / 100_000)]
    close(store)


def test_the_summary_adds_up_each_day(place):
    store = beside(stored(place), "days", TARIFF)
    referee = Counter()
    for n, (days, posts) in enumerate([(0, "ab"), (0, "bc"), (1, "ab"), (1, "ab"), (3, "")]):
        at = NOON + days * DAY
        referee[utc_day(at)] += read(store, posts, at=at, n=n)
    save(store, None, 9, NOON + 3 * DAY, kind="lost", cost=50_000)
    referee[utc_day(NOON + 3 * DAY)] += 50_000
    plain = beside(store, "plain")
    assert read(plain, "abc") == price(3, 0)
    assert summarize_campaign(store.connection, "days").billed_posts == [
        (on, posts, referee[on] / 100_000) for on, posts in (("2026-03-01", 3), ("2026-03-02", 2), ("2026-03-04", 0))
    ]
    assert summarize_campaign(store.connection, "plain").billed_posts == [("2026-03-01", 3, price(3, 0) / 100_000)]
    store.reserve(Grant(timeline(10), "main", NOON))  # never settled: it counts as spent
    days = summarize_campaign(store.connection, "days")
    assert days.billed_posts[0] == ("2026-03-01", 3, (referee["2026-03-01"] + 50_000) / 100_000)
    assert round(sum(dollars for _, _, dollars in days.billed_posts) * 100_000) == days.cost
    close(store)
