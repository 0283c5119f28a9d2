"""Windows are used up and never overrun, by the mock's own count: with one credential and with many.

Time is virtual: it passes where somebody waits, and while a request is under way. So it does not matter how fast the
machine is, and no window is lost because it was busy. With `make chaos` one campaign runs by the real clock: no window
may be overrun then either, and requests really are in flight together.
"""

import os
from itertools import pairwise

import pytest
from virtual_weeks import Slowly, Virtual
from x_crawls import campaign_of, crawl, posts, rows

from socialcrawl.campaign.build import ProcessContext
from socialcrawl.mock.rate_windows import LimitRule
from socialcrawl.mock.server import serve_in_thread

TIMELINE = "/2/users/:id/tweets"
LATENCY = 0.005  # seconds that a request takes, in virtual time


@pytest.fixture
def tokens(monkeypatch):
    """So many tokens in the environment, and the settings that name them."""

    def made(count):
        for number in range(count):
            monkeypatch.setenv(f"SOCIALCRAWL_TEST_TOKEN_{number}", f"the-secret-token-number-{number}")
        return [{"env": f"SOCIALCRAWL_TEST_TOKEN_{number}"} for number in range(count)]

    return made


def windows_of(mock):
    """The windows of the timelines by token, in order."""
    found = {}
    for window in mock.report()["windows"]:
        if window["endpoint"] == TIMELINE:
            found.setdefault(window["token"], []).append(window)
    return found


def virtual():
    """What a campaign and a mock on a virtual clock are given: one its process context, the other its time."""
    time = Virtual()
    return ProcessContext(time, pool=lambda size: Slowly(time, LATENCY)), {"time": time.now}


def filled(tmp_path, tokens, *, credentials, k, d, count, users, policy=None, real=False, **mocked):
    """The mock's windows of the timelines by token, after a crawl that would have filled `count` of each."""
    process, timed = (None, {"latency": LATENCY}) if real else virtual()
    with serve_in_thread(posts(users, 1, 8.0), limit={TIMELINE: k}, window=d, **timed, **mocked) as mock:
        settings = campaign_of(
            mock.url,
            tmp_path / "a.db",
            seeds={"most": 60},
            crawl={"steps": int(credentials * k * (count - 0.5)), "refresh_rate": 16, "estimator": "bfs"},
            source={"pages_per_user": 1, "tokens": tokens(credentials), "policy": policy},
            limits={"k": None, "d": None} if policy else {"k": k, "d": d},
        )
        reason, _ = crawl(settings, process=process)
        assert "steps is reached" in reason.why
        return windows_of(mock), mock.report()


def assert_kept(windows, credentials, k):
    assert len(windows) == credentials
    for of_token in windows.values():
        assert {status for window in of_token for status in window["answers"]} <= {"200"}
        assert all(window["requests"] <= k for window in of_token)


def assert_filled(windows, credentials, k, d, count):
    assert_kept(windows, credentials, k)
    for of_token in windows.values():
        assert len(of_token) >= count - 1
        assert all(window["requests"] >= 0.99 * k for window in of_token[:-1]), [w["requests"] for w in of_token]
        for before, after in pairwise(of_token):
            assert after["opened"] - before["ends"] <= 1.1


@pytest.mark.parametrize("credentials", [1, 3])
def test_windows_of_a_second_are_used_up_by_every_credential(tmp_path, tokens, credentials):
    windows, _ = filled(tmp_path, tokens, credentials=credentials, k=25, d=2.0, count=4, users=600)
    assert_filled(windows, credentials, 25, 2.0, 4)


@pytest.mark.chaos
@pytest.mark.parametrize("credentials", [1, 3, 10])
def test_windows_of_ten_seconds_are_used_up_by_every_credential(tmp_path, tokens, credentials):
    windows, _ = filled(
        tmp_path, tokens, credentials=credentials, k=100, d=10.0, count=10.6, users=2500 * credentials
    )  # fmt: skip
    assert_filled(windows, credentials, 100, 10.0, 10)


@pytest.mark.chaos
def test_windows_by_the_real_clock_are_never_overrun(tmp_path, tokens):
    windows, _ = filled(tmp_path, tokens, credentials=3, k=100, d=10.0, count=5, users=5000, real=True)
    assert_kept(windows, 3, 100)


# The first window is the one that headers speak of; of the day's only its own headers tell.
POLICY = """
platform = "x"
base_url = "https://api.x.com"
as_of = 2026-11-01
[prices]
post = 0.005
user = 0.010
"""
FREE = '[endpoints."{}"]\napp = [{{ k = 100000, d = 60 }}]\npage = 100\nreturns = "{}"\n'


def policy_file(folder, rules):
    given = ", ".join(f'{{ k = {rule["k"]}, d = {rule["period"]}, kind = "{rule["kind"]}" }}' for rule in rules)
    others = {"/2/users/by": "user", "/2/users": "user", "/2/tweets/search/recent": "post"}
    text = POLICY + "".join(FREE.format(*pair) for pair in others.items())
    text += f'[endpoints."{TIMELINE}"]\napp = [{given}]\npage = 100\nreturns = "post"\n'
    (folder / "policy.toml").write_text(text)
    return folder / "policy.toml"


def three_others(k, d):
    """A limit on bursts, one on the server's clock, and one a day that the table does not know of."""
    sliding = {"k": max(2, k // 5), "period": d / 10, "kind": "sliding"}
    aligned = {"k": int(k * 0.8), "period": d * 0.7, "kind": "aligned"}
    daily = {"k": k * 100, "period": 86_400.0, "kind": "fixed", "family": "x-user-limit-24hour"}
    return sliding, aligned, daily


def kept_with_three_others(tmp_path, tokens, *, k, d, count, credentials):
    sliding, aligned, daily = three_others(k, d)
    policy = policy_file(tmp_path, [{"k": k, "period": d, "kind": "fixed"}, sliding, aligned])
    rules = [LimitRule(**rule) for rule in (sliding, aligned, daily)]
    windows, report = filled(
        tmp_path, tokens, credentials=credentials, k=k, d=d, count=count, users=400 * credentials + 4 * k * count,
        policy=policy, rules={TIMELINE: rules}, skew=-433.7,
    )  # fmt: skip
    assert len(windows) == credentials
    assert {status for of_token in windows.values() for w in of_token for status in w["answers"]} <= {"200"}
    assert all(w["requests"] <= k for of_token in windows.values() for w in of_token)
    assert rows(tmp_path / "a.db", "select count(*) from request where status = 429")[0][0] == 0
    return report


def test_with_three_other_windows_on_the_endpoint_none_is_overrun(tmp_path, tokens):
    kept_with_three_others(tmp_path, tokens, k=25, d=2.0, count=3, credentials=2)


@pytest.mark.chaos
def test_with_three_other_windows_of_ten_seconds_none_is_overrun(tmp_path, tokens):
    kept_with_three_others(tmp_path, tokens, k=100, d=10.0, count=6, credentials=3)


def test_a_day_that_is_used_up_is_waited_for_though_the_window_has_requests_left(tmp_path, tokens):
    """A bucket of two seconds stands for the day: its headers have the names of the 24-hour family."""
    rule = LimitRule(k=30, period=2.0, kind="fixed", family="x-app-limit-24hour")
    process, timed = virtual()
    with serve_in_thread(posts(600, 1, 3.0), limit=100_000, rules={TIMELINE: [rule]}, **timed) as mock:
        settings = campaign_of(
            mock.url, tmp_path / "a.db", crawl={"steps": 50, "refresh_rate": 4}, source={"pages_per_user": 1}
        )
        reason, _ = crawl(settings, process=process)
        windows = windows_of(mock)
    assert reason.kind == "done"
    assert [set(window["answers"]) for of_token in windows.values() for window in of_token] == [{"200"}]
    assert "SOCIALCRAWL_TEST_TOKEN_0" not in os.environ
