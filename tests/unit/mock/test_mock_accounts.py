"""The mock's one customer: caps, credits and the bill, and the tokens that may ask."""

import calendar
import json
from datetime import UTC, date, datetime, timedelta

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oauthlib.oauth1 import Client as Signer
from shared_data import needed
from test_mock_limits import BOB, BY_NAME, bearer, client_of
from test_mock_world import synthetic

from socialcrawl.mock.rate_windows import make_label
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.x.bill import XBill, find_cycle_start
from socialcrawl.mock.x.service import SIGNED_WITH, find_visitor

NO_ARCHIVE = {"archive_counts_requests": 0}
CAPPED = {
    "title": "UsageCapExceeded",
    "detail": "Usage cap exceeded: Monthly product cap",
    "type": "https://api.twitter.com/2/problems/usage-capped",
    "period": "Monthly",
    "scope": "Product",
}


def test_a_cap_that_is_reached_ends_the_reading_of_posts_and_nothing_else():
    with serve_in_thread(synthetic(), limit=50, cap=3, cap_reset_day=16) as mock, client_of(mock) as client:
        number = client.get(BOB).json()["data"]["id"]
        timeline = f"/2/users/{number}/tweets"
        assert client.get(timeline, params={"max_results": 5}).json()["meta"]["result_count"] == 3
        refused = [
            client.get(timeline),
            client.get(f"/2/users/{number}/mentions"),
            client.get("/2/tweets/search/recent", params={"query": "rust"}),
        ]
        in_posts = client.get(timeline, params={"post.fields": "text"})
        fine = [client.get(BOB), client.get("/2/tweets/counts/recent", params={"query": "rust"})]
        usage = client.get("/2/usage/tweets").json()["data"]
        report = mock.report()
    for answer in refused:
        assert (answer.status_code, answer.json()) == (429, CAPPED)
        assert int(answer.headers["x-rate-limit-remaining"]) > 0
    assert in_posts.json() == CAPPED | {"type": "https://api.x.com/2/problems/usage-capped"}
    assert [answer.status_code for answer in fine] == [200, 200]
    assert (usage["project_cap"], usage["project_usage"], usage["cap_reset_day"]) == (3, 3, 16)
    assert report["totals"] == {"posts": 3, "users": 1, "counts_requests": 1, **NO_ARCHIVE, "dollars": 0.03}
    assert report["over"] == 0  # no window had too many


def test_x_has_a_cap_of_three_millions_and_the_answer_that_reaches_a_cap_is_whole():
    with serve_in_thread(synthetic()) as mock, client_of(mock) as client:
        assert client.get("/2/usage/tweets").json()["data"]["project_cap"] == 3_000_000
    assert MockSettings().post_cap == 3_000_000
    with serve_in_thread(synthetic(), cap=1) as mock, client_of(mock) as client:
        found = [client.get("/2/tweets/search/recent", params={"query": "note", "max_results": 50}) for _ in range(2)]
    assert (found[0].json()["meta"]["result_count"], found[1].status_code) == (50, 429)
    with serve_in_thread(synthetic(), cap=0) as mock, client_of(mock) as client:
        assert client.get("/2/tweets/search/recent", params={"query": "note"}).status_code == 429


def test_credits_that_are_used_up_are_told_and_usage_still_answers():
    with serve_in_thread(synthetic(), credits=0.02) as mock, client_of(mock) as client:
        names = ("bob", "bob", "ann", "bob")
        answers = [client.get(f"/2/users/by/username/{name}") for name in names]
        count = client.get("/2/tweets/counts/recent", params={"query": "rust"})
        usage = client.get("/2/usage/tweets")
        report = mock.report()
    assert [answer.status_code for answer in answers] == [200, 200, 200, 402]  # bob is paid for once
    assert answers[3].json() == {
        "account_id": 1,
        "title": "CreditsDepleted",
        "detail": "Your enrolled account [1] does not have any credits to fulfill this request.",
        "type": "https://api.twitter.com/2/problems/credits",
    }
    assert not any(name.startswith("x-rate") for name in answers[3].headers)
    assert (count.status_code, usage.status_code) == (402, 200)
    assert report["totals"]["dollars"] == 0.02
    assert report["windows"][0]["answers"] == {"200": 3, "402": 1}


def test_the_problems_have_the_recorded_shapes():
    shapes = json.loads(needed("reference/samples/x_error_envelopes.json").read_text())
    assert shapes["429_usage_cap"]["body"] == CAPPED
    with serve_in_thread(synthetic(), credits=0, user_tokens=frozenset({"u"})) as mock, client_of(mock) as client:
        broke = client.get(BOB).json()
        wrong = client.get("/2/usage/tweets", headers=bearer("u")).json()
    seen = shapes["402_credits"]["body"]
    number = str(seen["account_id"])
    assert {**broke, "account_id": number, "detail": broke["detail"].replace("[1]", f"[{number}]")} == {
        **seen,
        "account_id": number,
    }
    seen = shapes["403_unsupported_auth"]["body"]
    assert {name: wrong[name] for name in ("title", "type", "status")} == {
        name: seen[name] for name in ("title", "type", "status")
    }
    assert set(wrong) == set(seen)
    assert wrong["detail"].partition(" is forbidden")[2].startswith(seen["detail"].partition(" is forbidden")[2][:60])


def signed(url, token="their-token", **changed):
    """The Authorization header that oauthlib makes for a GET of this address."""
    _, headers, _ = Signer("key", "key secret", token, "token secret").sign(url)
    text = headers["Authorization"]
    for name, value in changed.items():
        text = text.replace(f'{name}="', f'{value}="')
    return {"Authorization": text}


def test_tokens_of_users_have_a_limit_of_their_own_and_are_told_apart_only_by_label():
    how = {"limit": 2, "user_limit": 3, "user_tokens": frozenset({"u"})}
    with serve_in_thread(synthetic(), **how) as mock, httpx.Client(base_url=mock.url) as client:
        shown = {"app": bearer("a"), "user": bearer("u"), "signed": signed(mock.url + BOB)}
        answers = {name: [client.get(BOB, headers=header) for _ in range(4)] for name, header in shown.items()}
        report = mock.report()
    statuses = {name: [answer.status_code for answer in got] for name, got in answers.items()}
    assert statuses == {"app": [200, 200, 429, 429], "user": [200, 200, 200, 429], "signed": [200, 200, 200, 429]}
    assert [got[0].headers["x-rate-limit-limit"] for got in answers.values()] == ["2", "3", "3"]
    assert [(one["who"], one["token"], one["over"]) for one in report["windows"]] == [
        ("app", make_label("a"), 2),
        ("user", make_label("u"), 1),
        ("user", make_label("their-token"), 1),
    ]
    assert "their-token" not in json.dumps(report)


def test_endpoints_for_apps_refuse_users_and_open_no_window_for_them():
    counts = "/2/tweets/counts/recent"
    how = {"user_tokens": frozenset({"u"})}
    with serve_in_thread(synthetic(), **how) as mock, httpx.Client(base_url=mock.url) as client:
        told = client.get(counts, params={"query": "rust"}, headers=bearer("u"))
        by_signature = client.get("/2/usage/tweets", headers=signed(f"{mock.url}/2/usage/tweets"))
        assert mock.report()["windows"] == []
        assert client.get(counts, params={"query": "rust"}, headers=bearer("a")).status_code == 200
        report = mock.report()
    for answer, scheme in ((told, "OAuth 2.0 User Context"), (by_signature, "OAuth 1.0a User Context")):
        assert answer.status_code == 403
        assert answer.json() == {
            "title": "Unsupported Authentication",
            "detail": f"Authenticating with {scheme} is forbidden for this endpoint.  "
            "Supported authentication types are [OAuth 2.0 Application-Only].",
            "type": "https://api.twitter.com/2/problems/unsupported-authentication",
            "status": 403,
        }
    assert report["forbidden"] == {counts: 1, "/2/usage/tweets": 1}
    assert report["billed"].popitem()[1]["counts_requests"] == 1


def test_a_request_is_let_in_with_all_that_a_signed_one_has_and_a_token_that_is_known():
    url = "http://127.0.0.1/2/users"
    with serve_in_thread(synthetic(), tokens=frozenset({"their-token"}), user_tokens=frozenset({"u"})) as mock:
        known = [signed(url), bearer("their-token"), bearer("u"), signed(url, "u")]
        strange = [signed(url, "other"), bearer("other"), {"Authorization": "OAuth"}]
        strange += [signed(url, **{name: "nothing"}) for name in SIGNED_WITH]
        with httpx.Client(base_url=mock.url) as client:
            assert [client.get(BOB, headers=header).status_code for header in known] == [200] * 4
            assert [client.get(BOB, headers=header).status_code for header in strange] == [401] * 9
        report = mock.report()
    assert report["unauthorized"] == {BY_NAME: 9}
    told = [(one["who"], one["token"], one["requests"]) for one in report["windows"]]
    assert told == [
        ("user", make_label("their-token"), 1),
        ("app", make_label("their-token"), 1),
        ("user", make_label("u"), 2),
    ]


@given(st.text(st.characters(codec="ascii"), max_size=80))
@settings(deadline=None)
def test_any_header_is_read_without_trouble(text):
    assert find_visitor("OAuth " + text, None, ()) is None
    seen = find_visitor("Bearer " + text, None, ())
    assert (seen is None) == (not text.strip())


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=["Cs"]), min_size=1, max_size=30)
)
@settings(deadline=None)
def test_a_signed_token_is_read_as_it_was_written(token):
    seen = find_visitor(signed("https://api.x.com/2/users", token)["Authorization"], None, ())
    assert seen is not None
    assert (seen.label, seen.kind) == (make_label(token), "user")


def last_of(day):
    return calendar.monthrange(day.year, day.month)[1]


@given(st.dates(date(2020, 1, 1), date(2030, 12, 31)), st.integers(1, 31))
def test_a_billing_cycle_begins_on_its_day_or_the_last_of_a_shorter_month(today, reset_day):
    begins = today
    while begins.day != min(reset_day, last_of(begins)):
        begins -= timedelta(days=1)
    assert find_cycle_start(today, reset_day) == begins


READINGS = st.lists(
    st.tuples(st.integers(0, 80 * 24), st.sets(st.integers(0, 9), max_size=4), st.sets(st.integers(0, 5), max_size=3)),
    max_size=25,
)


@settings(deadline=None)
@given(READINGS, st.integers(1, 31), st.integers(0, 1), st.integers(0, 1))
def test_the_bill_is_the_sum_of_what_each_day_had_for_the_first_time(readings, reset_day, counts, of_all):
    bill, first = XBill(reset_day), datetime(2026, 1, 20, tzinfo=UTC)
    posts, users = set(), set()
    for hours, some_posts, some_users in sorted(readings, key=lambda reading: reading[0]):
        when = first + timedelta(hours=hours)
        bill.charge(when.timestamp(), some_posts, some_users, counts, of_all)
        posts |= {(when.date(), post) for post in some_posts}
        users |= {(when.date(), user) for user in some_users}
        begins = find_cycle_start(when.date(), reset_day)
        assert bill.posts_in_cycle(when.timestamp()) == sum(day >= begins for day, _ in posts)
    mills = 5 * len(posts) + 10 * len(users) + (5 * counts + 10 * of_all) * len(readings)
    wanted = {
        "posts": len(posts),
        "users": len(users),
        "counts_requests": counts * len(readings),
        "archive_counts_requests": of_all * len(readings),
        "dollars": mills / 1000,
    }
    assert bill.totals() == wanted
    assert bill.dollars == mills / 1000
    for name, value in wanted.items():
        assert sum(day[name] for day in bill.report().values()) == pytest.approx(value)


def test_one_customer_pays_for_all_tokens():
    with serve_in_thread(synthetic(), user_tokens=frozenset({"u"})) as mock, httpx.Client(base_url=mock.url) as client:
        for header in (bearer("a"), bearer("b"), bearer("u"), signed(mock.url + BOB)):
            assert client.get(BOB, headers=header).status_code == 200
        assert mock.report()["totals"] == {"posts": 0, "users": 1, "counts_requests": 0, **NO_ARCHIVE, "dollars": 0.01}
