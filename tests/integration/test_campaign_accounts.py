"""Campaigns against a mock in trouble: refused tokens, caps, no credits, budgets, a wrong clock."""

import time
from datetime import UTC, datetime

import pytest
from x_crawls import campaign_of, crawl, posts, rows, sequence

from socialcrawl.engine.model import parse_time
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView

TIMELINE = "/2/users/:id/tweets"
GOOD, BAD = "the-good-token", "the-bad-token"


@pytest.fixture
def two_tokens(monkeypatch):
    monkeypatch.setenv("SOCIALCRAWL_GOOD", GOOD)
    monkeypatch.setenv("SOCIALCRAWL_BAD", BAD)
    return {"tokens": [{"env": "SOCIALCRAWL_BAD"}, {"env": "SOCIALCRAWL_GOOD"}]}


def next_month():
    now = datetime.now(UTC)
    return datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC).timestamp()


def test_a_token_that_is_refused_is_set_aside_and_the_others_go_on(tmp_path, two_tokens):
    with serve_in_thread(posts(), limit=100_000, tokens=frozenset({GOOD})) as mock:
        view = CampaignView()
        reason, planner = crawl(campaign_of(mock.url, tmp_path / "a.db", source=two_tokens), view)
        crawl(campaign_of(mock.url, tmp_path / "whole.db", source={"token_env": "SOCIALCRAWL_GOOD"}))
    assert reason.kind == "done"
    assert list(planner.window_sets.aside) == ["SOCIALCRAWL_BAD"]
    assert "SOCIALCRAWL_BAD is set aside: the token was not accepted (401" in view.note
    refused = rows(tmp_path / "a.db", "select credential, count(*) from request where kind = 'refused' group by 1")
    assert refused == [("SOCIALCRAWL_BAD", 1)]
    assert sequence(tmp_path / "a.db") == sequence(tmp_path / "whole.db")


def test_a_token_that_one_endpoint_refuses_is_used_on_the_others(tmp_path, two_tokens):
    first = []

    def forbid(endpoint, nth):
        if endpoint == TIMELINE and not first:
            first.append(nth)
            return faults.make_refusals(403)
        return None

    with serve_in_thread(posts(), fault=forbid, limit=100_000) as mock:
        reason, planner = crawl(campaign_of(mock.url, tmp_path / "a.db", source=two_tokens))
    assert (reason.kind, planner.window_sets.aside) == ("done", {})
    used = rows(tmp_path / "a.db", "select distinct endpoint, credential from request where kind = 'ok'")
    assert (TIMELINE, "SOCIALCRAWL_GOOD") in used
    assert (TIMELINE, "SOCIALCRAWL_BAD") not in used
    assert ("/2/tweets/search/recent", "SOCIALCRAWL_BAD") in used


def test_when_the_last_token_is_refused_the_run_stops_and_a_mended_one_goes_on(tmp_path, two_tokens, monkeypatch):
    with serve_in_thread(posts(), limit=100_000, tokens=frozenset({"a-new-token"})) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", source=two_tokens)
        reason, _ = crawl(settings)
        assert (reason.kind, "token was not accepted (401" in reason.why) == ("failed", True)
        monkeypatch.setenv("SOCIALCRAWL_BAD", "a-new-token")
        reason, _ = crawl(settings)
    assert reason.kind == "done"


def test_the_cap_of_the_billing_cycle_pauses_until_the_next_one(tmp_path):
    with serve_in_thread(posts(), limit=100_000, cap=900) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db")
        reason, planner = crawl(settings)
        assert mock.report()["totals"]["posts"] >= 900
    assert reason.kind == "budget"
    assert "monthly cap" in reason.why
    assert reason.until == next_month()
    assert datetime.fromtimestamp(reason.until, UTC).date().isoformat() in reason.why
    assert rows(tmp_path / "a.db", "select kind, status from request order by id desc limit 1") == [("month", 429)]
    assert planner.backoff.since is None


def test_our_own_count_of_the_cycle_stops_before_the_cap_is_passed(tmp_path):
    policy = tmp_path / "policy.toml"
    with serve_in_thread(posts(), limit=100_000) as mock:
        from socialcrawl.system.files import find_folder

        text = (find_folder("config") / "x.toml").read_text("utf-8").replace("cap = 3_000_000", "cap = 900")
        policy.write_text(text, "utf-8")
        settings = campaign_of(mock.url, tmp_path / "a.db", source={"policy": policy}, limits={"cycle_day": 31})
        reason, _ = crawl(settings)
        assert mock.report()["totals"]["posts"] <= 900
    assert (reason.kind, "cap of 900 posts" in reason.why) == ("budget", True)
    day = datetime.fromtimestamp(reason.until, UTC)
    assert (day.hour, day.minute) == (0, 0)
    assert time.time() < reason.until < time.time() + 31 * 86_400


def test_without_credits_the_campaign_pauses_and_goes_on_when_there_are_some(tmp_path):
    with serve_in_thread(posts(), limit=100_000, credits=3.0) as poor:
        reason, _ = crawl(campaign_of(poor.url, tmp_path / "a.db"))
    assert (reason.kind, "buy credits" in reason.why) == ("budget", True)
    with serve_in_thread(posts(), limit=100_000) as rich:
        reason, _ = crawl(campaign_of(rich.url, tmp_path / "a.db"))
    assert reason.kind == "done"


def test_a_budget_of_nodes_counts_the_seeds_and_pauses(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        reason, _ = crawl(campaign_of(mock.url, tmp_path / "a.db", budget={"max_nodes": 17}))
        asked = "select count(*) from pick where act in ('seed', 'expand')"
        assert rows(tmp_path / "a.db", asked) == [(17,)]
        assert (reason.kind, "max_nodes = 17 accounts" in reason.why) == ("budget", True)
        again, _ = crawl(campaign_of(mock.url, tmp_path / "a.db", budget={"max_nodes": 17}))
        assert (again, rows(tmp_path / "a.db", asked)) == (reason, [(17,)])
        reason, _ = crawl(campaign_of(mock.url, tmp_path / "a.db"))
    assert reason.kind == "done"


def test_a_budget_of_time_is_counted_from_the_first_request(tmp_path):
    with serve_in_thread(posts(), limit=100_000, latency=0.02) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": None}, budget={"max_time": "700ms"})
        reason, _ = crawl(settings)
        assert (reason.kind, "max_time" in reason.why) == ("budget", True)
        ((first, last),) = rows(tmp_path / "a.db", "select min(sent_at), max(sent_at) from request")
        assert 0.0 <= parse_time(last) - parse_time(first) < 0.7
        before = sequence(tmp_path / "a.db")
        crawl(settings)
        assert sequence(tmp_path / "a.db") == before


def test_a_window_that_opens_after_the_end_of_the_time_is_not_waited_for(tmp_path):
    with serve_in_thread(posts(), limit={TIMELINE: 5}, window=60.0) as mock:
        settings = campaign_of(
            mock.url, tmp_path / "a.db", budget={"max_time": "30s"}, limits={"k": 5, "d": 60.0},
        )  # fmt: skip
        reason, _ = crawl(settings)
        opened = [window["endpoint"] for window in mock.report()["windows"]]
    assert (reason.kind, "max_time" in reason.why) == ("budget", True)
    assert opened.count(TIMELINE) == 1


@pytest.mark.parametrize("skew", [-599.3, 600.7])
def test_a_server_whose_clock_is_ten_minutes_wrong_is_asked_in_its_windows(tmp_path, skew):
    with serve_in_thread(posts(), limit=25, window=1.0, skew=skew) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 60}, limits={"k": 25, "d": 1.0})
        reason, planner = crawl(settings)
        report = mock.report()
    assert reason.kind == "done"
    assert report["over"] == 0
    assert {status for window in report["windows"] for status in window["answers"]} == {"200"}
    offset = planner.window_sets.offset
    assert offset.low <= skew <= offset.high
    assert offset.high - offset.low < 1.5


def test_a_second_campaign_in_the_database_pays_for_nothing_that_is_held(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), limit=100_000) as mock:
        crawl(campaign_of(mock.url, database, name="first"))
        bill = mock.report()["totals"]["dollars"]
        reason, planner = crawl(campaign_of(mock.url, database, name="second"))
        assert mock.report()["totals"]["dollars"] == bill
        assert (reason.kind, planner.budget.requests, planner.budget.money) == ("done", 0, 0)
        reason, planner = crawl(campaign_of(mock.url, database, name="third", source={"reuse_hours": 0.0}))
    assert planner.budget.requests > 40
    stories = [
        rows(database, "select act, node, value, occurrences, posts from pick join outcome using (campaign, n, node) "
             "join campaign c on c.id = campaign where name = ? order by n", name)
        for name in ("first", "second", "third")
    ]  # fmt: skip
    assert stories[0] == stories[1] == stories[2]


def test_another_token_in_the_same_variable_is_billed_for_what_the_first_has_read(tmp_path, monkeypatch):
    """Two tokens may belong to two accounts: what one has paid for today the other pays for again."""
    with serve_in_thread(posts(), limit=100_000) as mock:
        monkeypatch.setenv("SOCIALCRAWL_BAD", "the-token-of-one-account")
        source = {"token_env": "SOCIALCRAWL_BAD", "reuse_hours": 0.0}
        settings = [campaign_of(mock.url, tmp_path / "a.db", name=name, source=source) for name in ("a", "b", "c")]
        _, first = crawl(settings[0])
        _, second = crawl(settings[1])
        monkeypatch.setenv("SOCIALCRAWL_BAD", "the-token-of-another-account")
        _, third = crawl(settings[2])
    assert first.budget.money > 0
    assert second.budget.money == 0
    assert third.budget.money == first.budget.money
    marks = rows(tmp_path / "a.db", "select distinct credential from charge")
    assert len(marks) == 2
    assert not {"SOCIALCRAWL_BAD", "main"} & {mark for (mark,) in marks}


def test_an_account_that_the_server_does_not_understand_is_put_off_and_the_others_are_asked(tmp_path):
    """So is one whose cursor has expired: it is begun anew."""
    invalid = faults.Fault("answer", 400, b'{"title": "Invalid Request", "detail": "Invalid pagination_token."}')

    def once(endpoint, nth):
        return invalid if endpoint == TIMELINE and nth in (6, 13, 20) else None

    with serve_in_thread(posts(), fault=once, limit=100_000) as mock:
        reason, _ = crawl(campaign_of(mock.url, tmp_path / "a.db"))
    assert reason.kind == "done"
    put_off = rows(tmp_path / "a.db", "select count(*) from outcome where missing = 'temporary'")
    assert put_off == [(3,)]


def test_the_ledger_of_a_server_that_bills_outlives_a_power_cut(tmp_path):
    from socialcrawl.storage.database.connection import connect

    for durable, level in ((True, 2), (False, 1)):  # SQLite's numbers for full and normal
        connection = connect(tmp_path / "a.db", durable=durable)
        assert connection.exec_driver_sql("pragma synchronous").scalar() == level
        connection.close()
        connection.engine.dispose()
