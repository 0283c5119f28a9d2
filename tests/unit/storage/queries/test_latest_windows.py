"""The latest windows of a rate limit, counted in the ledger, against windows that a planner would open."""

import sqlite3
from contextlib import closing

import pytest
from stores import opened
from tiny_town import close, stored

from socialcrawl.campaign.policies import find_window_rule
from socialcrawl.engine.model import format_time
from socialcrawl.storage.queries.latest_windows import WINDOWS, WindowRule, read_latest_windows, read_spending

ENDPOINT = "/2/users/:id/tweets"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("windows") / "a.db"
    close(stored(path))
    return path


def read_windows(database, sent, *, d=900.0, k=30, is_aligned=False, kind="ok", shares=None, headers=()):
    """The windows of requests that were sent at some instants."""
    with closing(sqlite3.connect(database)) as plain, plain:
        plain.execute("delete from request")
        plain.executemany(
            "insert into request (campaign, n, part, endpoint, params, credential, items, most, sent_at, kind) "
            "values (1, 0, ?, ?, '{}', 'main', 1, 0, ?, ?)",
            [(number, ENDPOINT, format_time(at), kind) for number, at in enumerate(sent)],
        )
    answer_with_headers(database, enumerate(headers))
    rule = WindowRule(k, d, is_aligned, shares or ENDPOINT.__eq__)
    with opened(database) as connection, connection.begin():
        return read_latest_windows(connection, 1, read_spending(connection, 1), lambda _: rule)


def open_windows(sent, d):
    """When each window was opened by its first request, and how many it has."""
    windows = []
    for at in sent:
        if not windows or at - windows[-1][0] >= d:
            windows.append([at, 0])
        windows[-1][1] += 1
    return windows


def test_each_window_is_opened_by_its_first_request(database):
    sent = [1_800_000_000 + at for at in (0, 1, 899, 900, 905, 4000, 4000, 4001, 9000)]
    found = read_windows(database, sent)
    expected = open_windows(sent, 900)
    assert [*found.begins] == [at for at, _ in expected]
    assert [*found.requests] == [count for _, count in expected] == [3, 2, 3, 1]
    assert (found.endpoint, found.k, found.d) == (ENDPOINT, 30, 900.0)


def test_of_a_long_campaign_the_latest_windows_are_whole(database):
    """Full windows, each sent in a burst at its begin: none shows more than the limit."""
    sent = [1_800_000_000 + 905 * window + second for window in range(60) for second in range(30)]
    found = read_windows(database, sent)
    assert [*found.requests] == WINDOWS * [30]
    assert [*found.begins] == [at for at, _ in open_windows(sent, 900)][-WINDOWS:]


def answer_with_headers(database, answers):
    """Give the first requests the headers of (server's clock, left, most, reset)."""
    with closing(sqlite3.connect(database)) as plain, plain:
        plain.executemany(
            "update request set headers = ? where part = ?",
            [(f"[{date}, [[{left}, {most}, {reset}, false]]]", part) for part, (date, left, most, reset) in answers],
        )


def test_a_limit_and_a_length_that_the_server_tells_count_in_place_of_the_table(database):
    """Three windows of 60 requests per minute, where the table has 10,000 per 15 minutes."""
    sent = [1_800_000_000 + 61 * window + second for window in range(3) for second in range(60)]
    told = [(at + 500, 59 - at % 61, 60, at + 500 - at % 61 + 60) for at in (one - 1_800_000_000 for one in sent)]
    found = read_windows(database, sent, k=10_000, headers=told)
    assert (found.k, found.d, [*found.requests]) == (60, 60.0, [60, 60, 60])
    larger = read_windows(database, sent, k=30, d=50.0, headers=told)
    assert (larger.k, larger.d) == (30, 50.0), "a table that is stricter holds"


def test_windows_by_the_clock_begin_with_it(database):
    sent = [1_800_000_000 + at for at in (10, 299, 301, 650)]
    found = read_windows(database, sent, d=300.0, is_aligned=True)
    assert [*found.begins] == [1_800_000_000, 1_800_000_300, 1_800_000_600]
    assert [*found.requests] == [2, 1, 1]


def test_what_was_never_sent_opens_no_window(database):
    assert read_windows(database, [1_800_000_000], kind="held") is None
    assert read_windows(database, []) is None


def test_the_rule_is_that_of_the_policy_or_of_the_campaign_file():
    x = {"source": {"platform": "x"}}
    found = find_window_rule(x, ENDPOINT)
    assert (found.k, found.d, found.is_aligned) == (10_000, 900.0, False)
    assert found.shares(ENDPOINT)
    assert not found.shares("/2/users/by")
    own = find_window_rule({**x, "limits": {"k": 7, "d": 60.0}}, ENDPOINT)
    assert (own.k, own.d) == (7, 60.0)
    assert find_window_rule({"source": {"platform": "x"}}, "no path") is None
    assert find_window_rule({"source": {"platform": "other"}}, ENDPOINT) is None


def test_endpoints_of_one_pool_are_counted_together():
    found = find_window_rule({"source": {"platform": "mastodon"}}, "home.example/api/v1/accounts/:id/statuses")
    assert found.shares("home.example/api/v1/accounts/lookup")
    assert not found.shares("other.example/api/v1/accounts/lookup")
