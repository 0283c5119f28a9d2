"""A capture reads X's filtered stream: every post once, within the ledger and the budget, whatever breaks."""

import os
import signal
import sys
import time
from pathlib import Path
from random import Random

import httpx
import pytest
from archive_captures import reported, stamp
from bluesky_mock import START, Row
from commands import socialcrawl
from killed_campaigns import DONE, nursery
from stream_clients import SIGNED_IN, streaming
from test_live_captures import (
    BEGUN,
    ROWS,
    TOKEN_ENV,
    capturing,
    follow,
    matching,
    read,
    stored,
)

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.model import Act, StopKind
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.x.live_source import make_rules

LATER = [*ROWS, Row("later", "zed", ROWS[-1].at + 3_000, "nothing")]  # the mock's time stands at its last post
RULES = "/2/tweets/search/stream/rules"
MILLS = 100_000  # of a dollar


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setitem(os.environ, TOKEN_ENV, "x")


def follow_x(streamed, place, *, capture=None, step=150.0, **given):
    capture = {"segment": "0.2s", **(capture or {})}
    return follow(streamed, place, platform="x", source={"token_env": TOKEN_ENV}, capture=capture, step=step, **given)


def spent(place):
    [(mills,)] = read(place, "select sum(cost) from request")
    return mills / MILLS


def check_bill(streamed, place):
    """What the mock has billed is within what the ledger says, and verify finds nothing wrong with that."""
    assert streamed.mock.report()["totals"]["dollars"] <= spent(place)
    child = socialcrawl("verify", place)
    assert "Everything that can be checked agrees." in child.stdout, child.stdout + child.stderr


def test_the_past_and_what_appears_is_stored_once(tmp_path):
    place = tmp_path / "a.db"
    with streaming(LATER, begin=BEGUN) as streamed:
        view = follow_x(streamed, place)
        check_bill(streamed, place)
        [rule] = streamed.admin.get(RULES).json()["data"]
        assert (rule["value"], rule["tag"]) == ("(rust) -is:retweet", "socialcrawl:campaign")
        bill = streamed.mock.report()["totals"]["dollars"]
    assert stored(place) == matching()
    assert {Act.SLICE, Act.LIVE} == set(view.acts)
    told = reported(place)
    assert told["stream"]["posts"] > 10
    assert len(told["stream"]["complete"]) == len(told["queries"][0]["complete"]) == 1
    assert 1.5 <= round(spent(place) - bill, 5) < 1.6, "300 posts in advance, and near midnight those of both days"


@pytest.mark.parametrize("behind", [150.0, 900.0])  # seconds, at most: by default searches overlap by 120
def test_connections_that_break_lose_nothing_and_their_advance_is_paid_once(behind, tmp_path):
    place = tmp_path / "a.db"
    rules = [
        {"kind": "drop", "every": 7},
        {"kind": "disconnect", "every": 9},
        {"kind": "duplicate", "every": 5},
        {"kind": "swap", "every": 4},
    ]
    with streaming(LATER, begin=BEGUN) as streamed:
        follow_x(streamed, place, step=behind, deeds={1: lambda: streamed.fail(*rules)})
        check_bill(streamed, place)
    assert stored(place) == matching()
    advances = read(place, "select cost from request where endpoint = '/2/tweets/search/stream' and kind = 'ok'")
    assert len(advances) >= 2
    assert sum(mills for (mills,) in advances) == 300 * 500


def test_rules_of_others_stop_a_run_before_anything_is_billed_unless_they_are_to_be_replaced(tmp_path):
    with streaming(LATER, begin=BEGUN) as streamed:
        streamed.admin.post(RULES, json={"add": [{"value": "tea", "tag": "someone's"}]})
        view = follow_x(streamed, tmp_path / "a.db", ends=StopKind.FAILED)
        assert "has 1 rule that this campaign did not make (such as 'tea', tag" in view.reason.why
        assert "replace_rules = true" in view.reason.why
        assert "/2/tweets/search/stream" not in streamed.mock.report()["answers"]
        follow_x(streamed, tmp_path / "b.db", capture={"replace_rules": True}, most=6)
        [rule] = streamed.admin.get(RULES).json()["data"]
        assert rule["tag"] == "socialcrawl:campaign"


def test_a_second_reader_of_an_app_waits_and_says_why(tmp_path):
    with streaming(LATER, begin=BEGUN) as streamed:
        streamed.admin.post(RULES, json={"add": [{"value": "(rust) -is:retweet", "tag": "socialcrawl:campaign"}]})
        with httpx.stream("GET", streamed.url + "/2/tweets/search/stream", headers=SIGNED_IN, timeout=60.0):
            view = follow_x(streamed, tmp_path / "a.db", ends=StopKind.FAILED)
    assert "another program reads the stream of this app" in view.reason.why


@pytest.mark.parametrize("dollars", [0.30, 1.90, 2.50])
def test_a_budget_ends_a_stream_before_it_is_exceeded(dollars, tmp_path):
    """The file's posts all appear at once, at 250 a second, and more than half of them are beyond the budget."""
    place, count = tmp_path / "a.db", 900
    rows = [Row(f"p{i}", f"author{i % 9}", BEGUN + 1 + i // 50, f"about rust {i}") for i in range(count)]
    rows = [Row("first", "author1", START, "about rust"), *rows, Row("later", "zed", BEGUN + 4_000, "nothing")]
    with streaming(rows, begin=BEGUN) as streamed:
        budget = {"max_money": dollars}
        view = follow_x(streamed, place, budget=budget, crawl={"refresh_rate": 1}, ends=StopKind.BUDGET)
        time.sleep(1.0)  # what was on its way has come
        bill = streamed.mock.report()["totals"]["dollars"]
        check_bill(streamed, place)
    assert "max_money" in view.reason.why
    assert bill <= spent(place) <= dollars
    assert bool(read(place, "select 1 from request where endpoint like '%/stream' and kind = 'ok'")) == (dollars > 1.5)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked")
@pytest.mark.parametrize("seed", [5, 6])
def test_a_capture_killed_at_random_moments_has_every_post_once_and_pays_for_all_that_was_billed(seed, tmp_path):
    place, file, draw = tmp_path / "a.db", tmp_path / "moment", Random(seed)
    rows = [
        Row(f"p{i}", f"author{i % 7}", START + 4 * i, f"note {i} about {'rust' if i % 3 else 'tea'}")
        for i in range(200)
    ]
    rows.append(Row("later", "zed", START + 1_200, "nothing"))
    file.write_text(str(START + 200))
    with (
        streaming(rows, begin=START + 200) as streamed,
        nursery(tmp_path / "err", "live_children") as made,
    ):
        capture = {"from": stamp(START), "segment": "0.2s"}
        given = capturing(streamed.url, place, platform="x", source={"token_env": TOKEN_ENV}, capture=capture)
        how = {"last": START + 1_200, "step": 40.0, "batches": 200, "posts": len(matching(rows))}
        for _ in range(6):
            assert made.run(given, str(file), statement=draw.randrange(30, 160), **how) == -signal.SIGKILL
        assert made.run(given, str(file), **how) == DONE
        check_bill(streamed, place)
    assert (tmp_path / "err").read_text() == ""
    assert stored(place) == matching(rows)


def test_the_rules_of_a_stream_name_the_accounts_whose_posts_are_wanted(tmp_path):
    names = [f"a_name_of_15_{i:02}" for i in range(80)]
    given = capturing("http://127.0.0.1:1", tmp_path / "a.db", platform="x", source={"token_env": TOKEN_ENV})
    plan = make_plan(check_settings({**given, "accounts": {"exclude": ["*"], "include": names}}, "test"))
    rules = make_rules(plan.queries)
    assert len(rules) == 3
    assert all(len(rule) <= 1_024 for rule in rules)
    assert all(sum(f"from:{name} " in f"{rule} ".replace(")", " ") for rule in rules) == 1 for name in names)


def test_a_policy_file_of_ones_own_without_the_stream_is_refused_with_where_it_is(tmp_path):
    given = capturing("http://127.0.0.1:1", tmp_path / "a.db", platform="x", source={"token_env": TOKEN_ENV})
    older = tmp_path / "older.toml"
    text = (Path(__file__).parents[2] / "config/x.toml").read_text("utf-8")
    older.write_text(text.replace("stream?part", "stream?other"), "utf-8")
    given["source"]["policy"] = str(older)
    with pytest.raises(SettingsError, match=r"no \[endpoints.*stream\?part.*copy it from config/x.toml"):
        make_plan(check_settings(given, "test"))
