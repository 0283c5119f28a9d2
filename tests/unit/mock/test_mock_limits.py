"""The mock as a referee of several limits: its decisions against definitions that look at all arrivals again."""

import asyncio
import itertools
import threading
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from test_mock_world import synthetic
from virtual_weeks import BEGIN, Virtual

from socialcrawl.errors import MockError
from socialcrawl.mock import faults
from socialcrawl.mock.rate_windows import LimitRule, TokenWindows, make_label
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.server_settings import ENDPOINTS, MockSettings
from socialcrawl.mock.x.gate import KEPT, Gate, make_tally

BOB = "/2/users/by/username/bob"
BY_NAME = "/2/users/by/username/:username"
APP_DAY, USER_DAY = "x-app-limit-24hour", "x-user-limit-24hour"
KINDS = ("fixed", "aligned", "sliding")


def bearer(token="one"):
    return {"Authorization": f"Bearer {token}"}


def client_of(mock, token="one"):
    return httpx.Client(base_url=mock.url, headers=bearer(token), timeout=10)


# The referee: how many of the requests let in before `now` stand in the way of one at `now`.


def in_a_fixed_window(let_in, now, period):
    opened, count = None, 0
    for then in let_in:
        if opened is None or then >= opened + period:
            opened, count = then, 0
        count += 1
    return 0 if opened is None or now >= opened + period else count


IN_THE_WAY = {
    "fixed": in_a_fixed_window,
    "aligned": lambda let_in, now, period: sum(then // period == now // period for then in let_in),
    "sliding": lambda let_in, now, period: sum(then + period > now for then in let_in),
}


def refereed(times, limit, window, rules):
    """For each arrival: whether it is let in, and the rules (by position) that have no room for it."""
    let_in, told = [], []
    for i, now in enumerate(times):
        short = [j for j, rule in enumerate(rules) if IN_THE_WAY[rule.kind](let_in, now, rule.period) >= rule.k]
        passes = in_a_fixed_window(times[:i], now, window) < limit and not short
        told.append((passes, short))
        if passes:
            let_in.append(now)
    return told


def eighths(low, high):
    """Seconds that floating point adds without rounding."""
    return st.integers(low * 8, high * 8).map(lambda n: n / 8)


ARRIVALS = st.lists(eighths(0, 6), max_size=60).map(
    lambda gaps: [1000.25 + sum(gaps[: i + 1]) for i in range(len(gaps))]
)
RULES = st.lists(st.builds(LimitRule, st.integers(1, 6), eighths(1, 40), st.sampled_from(KINDS)), max_size=4)


@settings(deadline=None, max_examples=many(300))
@given(ARRIVALS, st.integers(1, 12), eighths(1, 30), RULES)
def test_the_gate_decides_as_the_referee_who_looks_at_all_arrivals_again(times, limit, window, rules):
    gate = Gate({"app": TokenWindows(lambda endpoint: limit, window)}, {"/e": rules})
    passages = [gate.take("t", "app", "/e", now) for now in times]
    told = refereed(times, limit, window, rules)
    assert [not passage.refused for passage in passages] == [passes for passes, _ in told]
    report = gate.report()
    assert report["over"] == sum(not passes for passes, _ in told)
    assert sum(one["requests"] for one in report["windows"]) == len(times)
    for j, counted in enumerate(report["rules"]):
        over = sum(j in short for _, short in told)
        assert (counted["over"], counted["received"]) == (over, over + sum(passes for passes, _ in told))


@settings(deadline=None, max_examples=many(200))
@given(ARRIVALS, st.integers(1, 6), eighths(1, 40), st.sampled_from(KINDS))
def test_what_a_rule_reports_is_what_was_let_in_and_over_in_each_of_its_windows(times, k, period, kind):
    gate = Gate({"app": TokenWindows(lambda endpoint: 10**6, 1e6)}, {"/e": [LimitRule(k, period, kind)]})
    let_in = [now for now in times if not gate.take("t", "app", "/e", now).refused]
    if not times:
        assert gate.report()["rules"] == []
        return
    (told,) = gate.report()["rules"]
    if kind == "sliding":
        spans = [[now for now in let_in if first <= now < first + period] for first in let_in]
    else:
        spans = [[now for now in let_in if one["opened"] <= now < one["ends"]] for one in told["windows"]]
        for one, span in zip(told["windows"], spans, strict=True):
            received = sum(one["opened"] <= now < one["ends"] for now in times)
            assert (one["received"], one["over"]) == (received, received - len(span))
            assert one["ends"] == one["opened"] + period
            assert one["opened"] == (min(span) if kind == "fixed" else span[0] // period * period)
        assert sum(map(len, spans)) == len(let_in)
    assert told["fullest"] == max(map(len, spans)) <= k
    assert told["received"] - told["over"] == len(let_in)


@settings(deadline=None, max_examples=many(200))
@given(st.floats(1e-3, 1e5), st.integers(0, 10**7), st.integers(-2, 2))
def test_an_aligned_window_holds_its_k_wherever_floating_point_puts_its_edge(period, nth, steps):
    edge = nth * period
    now = edge + steps * max(edge, 1.0) * 2**-52
    count = make_tally(LimitRule(2, period, "aligned"))
    for left in (2, 1):
        assert count.count_left(now) == left
        count.let_in(now)
    assert count.count_left(now) == 0
    assert count.find_end(now) > now
    assert count.count_left(count.find_end(now)) == 2


def test_headers_tell_of_a_rule_with_a_family_and_only_of_it():
    rules = [
        LimitRule(3, 50.0, "fixed", APP_DAY),
        LimitRule(2, 40.0, "aligned", USER_DAY),
        LimitRule(5, 1.0, "sliding"),
    ]
    gate = Gate({"app": TokenWindows(lambda endpoint: 9, 10.0)}, {"/e": rules})
    told = gate.take("t", "app", "/e", 1010.5).headers
    assert told == {
        "x-rate-limit-limit": "9",
        "x-rate-limit-remaining": "8",
        "x-rate-limit-reset": "1020",
        f"{APP_DAY}-limit": "3",
        f"{APP_DAY}-remaining": "2",
        f"{APP_DAY}-reset": "1060",
        f"{USER_DAY}-limit": "2",
        f"{USER_DAY}-remaining": "1",
        f"{USER_DAY}-reset": "1040",  # 26 x 40
    }
    assert set(gate.take("t", "app", "/f", 1010.5).headers) == {name for name in told if name.startswith("x-rate")}


def test_tokens_and_kinds_of_tokens_have_rules_of_their_own():
    windows = {who: TokenWindows(lambda endpoint: 9, 10.0, who) for who in ("app", "user")}
    gate = Gate(windows, {"/e": [LimitRule(1, 100.0)]})
    visits = [("a", "app"), ("b", "app"), ("a", "user"), ("a", "app")]
    assert [gate.take(*visit, "/e", 5.0).refused for visit in visits] == [False, False, False, True]
    told = gate.report()["rules"]
    assert [(one["token"], one["who"], one["over"]) for one in told] == [
        ("a", "app", 1),
        ("b", "app", 0),
        ("a", "user", 0),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tally_remembers_no_more_than_it_needs(kind):
    count = make_tally(LimitRule(5, 1.0, kind))
    for n in range(20_000):
        now = n / 8
        if count.count_left(now):
            count.let_in(now)
        else:
            count.refuse(now)
    told = count.report()
    assert (told["received"], told["over"]) == (20_000, 20_000 - 5 * 2500)
    kept = count._times if kind == "sliding" else count._spans
    assert len(kept) <= (5 if kind == "sliding" else KEPT)
    if kind != "sliding":
        assert told["opened"] == 2500
        assert all((one["received"], one["over"]) == (8, 3) for one in told["windows"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"k": 0}, "allows 0 requests"),
        ({"period": 0.0}, "period of a rule is 0.0 s"),
        ({"period": float("inf")}, "period of a rule is inf s"),
        ({"period": float("nan")}, "period of a rule is nan s"),
        ({"kind": "leaky"}, "Unknown kind of rule 'leaky'"),
        ({"family": "x-rate-limit"}, "Unknown family of headers 'x-rate-limit'"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(wrong, said):
    with pytest.raises(MockError, match=said):
        LimitRule(**{"k": 1, "period": 1.0, **wrong})


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"user_limit": 0}, "limit of user_limit is 0"),
        ({"user_limit": {"/2/nothing": 3}}, "Unknown endpoint '/2/nothing'"),
        ({"rules": {"/2/nothing": []}}, "Unknown endpoint '/2/nothing'"),
        (
            {"rules": {"/2/users": [LimitRule(1, 1.0, family=APP_DAY), LimitRule(2, 2.0, family=APP_DAY)]}},
            "the same headers",
        ),
        ({"skew": float("nan")}, "skew is nan s"),
        ({"latency": -1.0}, "latency is -1.0 s"),
        ({"latency": float("inf")}, "latency is inf s"),
        ({"cap": -1}, "cap is -1 posts"),
        ({"cap_reset_day": 32}, "day 32 of the month"),
        ({"credits": -0.5}, "credits are -0.5 dollars"),
        ({"credits": float("nan")}, "credits are nan dollars"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_remedy(setting, said):
    with pytest.raises(MockError, match=said):
        MockSettings(**setting)


def test_users_have_the_limit_of_apps_unless_they_have_their_own():
    assert MockSettings(limit=7).user_limit_of("/2/users") == 7
    own = MockSettings(limit=7, user_limit={"/2/users": 9})
    assert (own.user_limit_of("/2/users"), own.user_limit_of("/2/users/by"), own.limit_of("/2/users")) == (9, 300, 7)
    assert "secret" not in repr(MockSettings(user_tokens=frozenset({"secret"})))


def test_a_day_that_is_over_is_told_while_the_window_still_has_room():
    rules = {BY_NAME: [LimitRule(3, 60.0, "fixed", APP_DAY)]}
    with serve_in_thread(synthetic(), limit=10, rules=rules) as mock, client_of(mock) as client:
        answers = [client.get(BOB) for _ in range(5)]
        other = client.get("/2/users/by", params={"usernames": "bob"})
        report = mock.report()
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert [answer.headers["x-rate-limit-remaining"] for answer in answers] == ["9", "8", "7", "6", "5"]
    assert [answer.headers[f"{APP_DAY}-remaining"] for answer in answers] == ["2", "1", "0", "0", "0"]
    assert answers[4].json()["title"] == "Too Many Requests"
    (rule,) = report["rules"]
    ends = rule["windows"][0]["ends"]
    assert {answer.headers[f"{APP_DAY}-reset"] for answer in answers} == {str(int(ends))}
    assert (rule["received"], rule["over"], rule["fullest"], rule["opened"]) == (5, 2, 3, 1)
    assert (rule["token"], rule["who"], rule["k"], rule["family"]) == (make_label("one"), "app", 3, APP_DAY)
    assert report["over"] == 2
    assert not any("24hour" in name for name in other.headers)


def test_what_the_window_refuses_takes_nothing_from_the_day():
    rules = {BY_NAME: [LimitRule(3, 60.0, "fixed", USER_DAY)]}
    clock = Virtual()
    with (
        serve_in_thread(synthetic(), time=clock.now, limit=2, window=0.6, rules=rules) as mock,
        client_of(mock) as client,
    ):
        first = [client.get(BOB) for _ in range(4)]
        clock.at = mock.report()["windows"][0]["ends"]
        second = [client.get(BOB) for _ in range(2)]
        report = mock.report()
    assert [answer.status_code for answer in (*first, *second)] == [200, 200, 429, 429, 200, 429]
    told = [answer.headers[f"{USER_DAY}-remaining"] for answer in (*first, *second)]
    assert told == ["2", "1", "1", "1", "0", "0"]
    assert second[1].headers["x-rate-limit-remaining"] == "0"
    assert [(one["requests"], one["over"]) for one in report["windows"]] == [(4, 2), (2, 0)]
    assert [(one["received"], one["over"]) for one in report["rules"]] == [(4, 1)]
    assert report["over"] == 3


def recorded(monkeypatch):
    """The (token, server's second, refused) of every request at the gate, in order of arrival."""
    book, take = [], Gate.take

    def noted(self, token, who, endpoint, now):
        passage = take(self, token, who, endpoint, now)
        book.append((token, now, passage.refused))
        return passage

    monkeypatch.setattr(Gate, "take", noted)
    return book


def test_a_crowd_that_keeps_no_limit_is_refused_exactly_where_the_referee_says(monkeypatch):
    book = recorded(monkeypatch)
    rules = [
        LimitRule(20, 0.15, "sliding"),
        LimitRule(60, 0.4, "aligned", APP_DAY),
        LimitRule(150, 30.0, "fixed", USER_DAY),
    ]
    statuses = {"one": Counter(), "two": Counter()}
    lock = threading.Lock()

    def crowd(mock, token):
        with client_of(mock, token) as client:
            for _ in range(150):
                status = client.get(BOB).status_code
                with lock:
                    statuses[token][status] += 1

    ticks = itertools.count(BEGIN, 0.0009765625)  # a millisecond passes whenever the server looks at its clock
    with serve_in_thread(synthetic(), time=lambda: next(ticks), limit=100, window=0.5, rules={BY_NAME: rules}) as mock:
        threads = [threading.Thread(target=crowd, args=(mock, token)) for token in ("one", "two") for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        report = mock.report()
    assert report["over"] == sum(refused for _, _, refused in book) > 0
    for token, counted in statuses.items():
        own = [(now, refused) for name, now, refused in book if name == make_label(token)]
        told = refereed_fast([now for now, _ in own], 100, 0.5, rules)
        assert [not refused for _, refused in own] == [passes for passes, _ in told]
        assert counted == {200: sum(passes for passes, _ in told), 429: sum(not passes for passes, _ in told)}
        over = [sum(j in short for _, short in told) for j in range(3)]
        assert [one["over"] for one in report["rules"] if one["token"] == make_label(token)] == over


def refereed_fast(times, limit, window, rules):
    """The referee for long runs: the same definitions, looking back no further than can matter."""
    let_in, told, opened, count = [], [], None, 0
    for now in times:
        if opened is None or now >= opened + window:
            opened, count = now, 0
        count += 1
        recent = {j: let_in[-rule.k :] for j, rule in enumerate(rules)}
        recent[2] = let_in  # fixed, longer than the test: one window
        short = [j for j, rule in enumerate(rules) if IN_THE_WAY[rule.kind](recent[j], now, rule.period) >= rule.k]
        told.append((count <= limit and not short, short))
        if told[-1][0]:
            let_in.append(now)
    return told


def test_who_keeps_every_limit_is_never_over(monkeypatch):
    book = recorded(monkeypatch)
    rules = {
        BY_NAME: [
            LimitRule(4, 0.2, "sliding"),
            LimitRule(8, 0.5, "fixed", APP_DAY),
            LimitRule(100, 3600.0, "aligned", USER_DAY),
        ]
    }
    clock = Virtual()
    with (
        serve_in_thread(synthetic(), time=clock.now, limit=9, window=0.5, rules=rules) as mock,
        client_of(mock) as client,
    ):
        for _ in range(24):
            assert client.get(BOB).status_code == 200
            clock.at += 0.065  # at most 4 in 0.2 s, 8 in 0.5 s
        report = mock.report()
    times = [now for _, now, _ in book]
    assert report["over"] == 0
    assert [one["over"] for one in (*report["windows"], *report["rules"])] == [0] * (len(report["windows"]) + 3)
    assert [one["received"] for one in report["rules"]] == [24] * 3
    sliding, fixed, _ = report["rules"]
    assert sliding["fullest"] == max(sum(0 <= now - first < 0.2 for now in times) for first in times)
    assert sum(one["received"] for one in fixed["windows"]) == 24


@pytest.mark.parametrize("skew", [-5 * 3600.0, 417.0])
def test_everything_the_server_says_of_time_is_by_its_own_clock(skew):
    rules = {BY_NAME: [LimitRule(5, 1000.0, "aligned", APP_DAY)]}
    clock = Virtual(BEGIN + 0.25)
    with serve_in_thread(synthetic(), time=clock.now, skew=skew, rules=rules) as mock, client_of(mock) as client:
        answer, nothing = client.get(BOB), client.get("/2/nothing")
        report = mock.report()
    theirs = clock.now() + skew
    for said in (answer, nothing):
        assert parsedate_to_datetime(said.headers["date"]).timestamp() == int(theirs)
    assert int(answer.headers["x-rate-limit-reset"]) == int(report["windows"][0]["ends"])
    assert report["windows"][0]["opened"] == theirs
    assert int(answer.headers["x-rate-limit-reset"]) - int(theirs) == 900
    assert int(answer.headers[f"{APP_DAY}-reset"]) % 1000 == 0
    assert 0 < int(answer.headers[f"{APP_DAY}-reset"]) - report["windows"][0]["opened"] <= 1000
    assert report["skew"] == skew
    assert report["started"] == theirs


@pytest.mark.parametrize("days", [-1, 1])
def test_the_day_of_the_bill_is_the_server_s(days):
    with serve_in_thread(synthetic(), skew=days * 86_400.0) as mock, client_of(mock) as client:
        before = datetime.now(UTC).date()
        client.get(BOB)
        usage = client.get("/2/usage/tweets", params={"days": 1}).json()["data"]["daily_project_usage"]["usage"]
        after = datetime.now(UTC).date()
    (day,) = mock.report()["billed"]
    assert date.fromisoformat(day) - timedelta(days=days) in (before, after)
    assert usage[0]["date"][:10] == day or before < after


def test_answers_that_take_their_time_are_counted_at_once_and_fly_together():
    n, latency = 20, 0.1

    async def flight(mock, *, to_the_end):
        async with httpx.AsyncClient(base_url=mock.url, headers=bearer(), timeout=None) as client:
            flying = [asyncio.create_task(client.get(BOB)) for _ in range(n)]
            while (counted := (await client.get("/_mock/report")).json())["received"] != {BY_NAME: n}:
                pass
            early = sum(task.done() for task in flying)
            if not to_the_end:
                [task.cancel() for task in flying]
            return await asyncio.gather(*flying, return_exceptions=True), counted, early

    with serve_in_thread(synthetic(), limit=15, latency=900.0) as mock:
        _, counted, early = asyncio.run(flight(mock, to_the_end=False))
    assert early == 0
    with serve_in_thread(synthetic(), limit=15, latency=latency) as mock:
        answers, _, _ = asyncio.run(flight(mock, to_the_end=True))
    assert (counted["received"], counted["windows"][0]["requests"]) == ({BY_NAME: n}, n)
    assert counted["windows"][0]["answers"] == {"200": 15, "429": 5}
    assert all(answer.elapsed.total_seconds() >= latency - 0.01 for answer in answers)
    assert sorted(int(answer.headers["x-rate-limit-remaining"]) for answer in answers) == [0] * 6 + list(range(1, 15))


def test_the_date_is_the_moment_at_which_an_answer_leaves():
    with serve_in_thread(synthetic(), latency=1.1) as mock, client_of(mock) as client:
        answer = client.get(BOB)
        opened = mock.report()["windows"][0]["opened"]
    left = parsedate_to_datetime(answer.headers["date"]).timestamp()
    assert int(opened + 1.1) <= left
    with (
        serve_in_thread(synthetic(), fault=lambda endpoint, nth: faults.make_hang(1.1)) as mock,
        client_of(mock) as client,
    ):
        answer = client.get(BOB)
        opened = mock.report()["windows"][0]["opened"]
    assert int(opened + 1.1) <= parsedate_to_datetime(answer.headers["date"]).timestamp()


def test_every_endpoint_can_have_rules():
    rules = {endpoint: [LimitRule(1, 60.0)] for endpoint in ENDPOINTS}
    paths = (
        *("/2/users/by?usernames=bob", BOB, "/2/users/1", "/2/users?ids=1", "/2/users/1/tweets", "/2/users/1/mentions"),
        *("/2/users/1/following", "/2/tweets?ids=1", "/2/tweets/1"),
        *("/2/tweets/search/recent?query=rust", "/2/tweets/search/all?query=rust"),
        *("/2/tweets/counts/recent?query=rust", "/2/tweets/counts/all?query=rust", "/2/usage/tweets"),
        *("/2/compliance/jobs?type=users", "/2/compliance/jobs/1"),
    )
    with serve_in_thread(synthetic(), rules=rules) as mock, client_of(mock) as client:
        for path in paths:
            assert [client.get(path).status_code for _ in range(2)] == [200, 429], path
        told = {one["endpoint"]: one["over"] for one in mock.report()["rules"]}
    assert told == dict.fromkeys(ENDPOINTS, 1)
