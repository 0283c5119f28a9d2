import socket

import pytest
from x_crawls import TOKEN, TOKEN_ENV, campaign_of, crawl, posts, rows, sequence

from socialcrawl.campaign.build import build
from socialcrawl.campaign.settings import check_settings
from socialcrawl.errors import SettingsError
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView

K, D = 40, 1.0


@pytest.mark.parametrize("rate", [1, 8])
def test_windows_are_filled_and_never_overrun(tmp_path, rate):
    with serve_in_thread(posts(), limit=K, window=D) as mock:
        settings = campaign_of(
            mock.url, tmp_path / "a.db", crawl={"steps": 4 * K, "refresh_rate": rate}, limits={"k": K, "d": D}
        )
        reason, _ = crawl(settings)
        windows = mock.report()["windows"]
    assert reason.kind == "done"
    assert {status for window in windows for status in window["answers"]} == {"200"}
    assert all(window["requests"] <= K for window in windows)
    assert sum(window["requests"] == K for window in windows) >= 3


def test_a_smaller_limit_of_the_server_is_learned_from_its_headers(tmp_path):
    with serve_in_thread(posts(), limit=20, window=0.5) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 60}, limits={"k": 300, "d": 0.5})
        reason, _ = crawl(settings)
        windows = mock.report()["windows"]
    assert reason.kind == "done"
    assert all(set(window["answers"]) == {"200"} and window["requests"] <= 20 for window in windows)


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


@pytest.mark.parametrize(
    ("name", "cap", "more"), [("max_requests", 30, 80), ("max_posts", 700, 5_000), ("max_money", 4.0, 60.0)]
)
def test_a_budget_pauses_a_campaign_with_nothing_over_and_a_higher_one_goes_on(mock, tmp_path, name, cap, more):
    def spent(planner):
        money = planner.budget.money / 100_000
        return {"max_requests": planner.budget.requests, "max_posts": planner.budget.posts, "max_money": money}[name]

    database = tmp_path / "a.db"
    reason, planner = crawl(campaign_of(mock.url, database, budget={name: cap}))
    assert reason.kind == "budget"
    assert name in reason.why
    assert "raise it and run again" in reason.why
    assert 0 < spent(planner) <= cap
    before = sequence(database)
    again, planner = crawl(campaign_of(mock.url, database, budget={name: cap}))
    assert (again.kind, sequence(database)) == ("budget", before)
    assert spent(planner) <= cap
    reason, planner = crawl(campaign_of(mock.url, database, budget={name: more}))
    assert reason.kind == "done"
    assert spent(planner) <= more
    crawl(campaign_of(mock.url, tmp_path / "whole.db"))
    assert sequence(database) == sequence(tmp_path / "whole.db")


def test_the_mock_bills_what_the_campaign_says_it_spent(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        _, planner = crawl(campaign_of(mock.url, tmp_path / "a.db"))
        billed = sum(day["dollars"] for day in mock.report()["billed"].values())
    assert billed <= planner.budget.money / 100_000 <= billed + 10.0  # X counts a post once a day: the search's again


def test_a_topic_that_nobody_uses_is_told(mock, tmp_path):
    reason, _ = crawl(campaign_of(mock.url, tmp_path / "a.db", topic={"keywords": ["zzyzx"]}))
    assert reason.kind == "failed"
    assert "found no posts" in reason.why
    assert "other keywords" in reason.why


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (faults.make_refusals(401), "failed", "token_env"),
        (faults.make_refusals(402), "budget", "buy credits"),
        (faults.make_refusals(403), "failed", "access level"),
        (faults.make_html_fault(503), "failed", "times in a row, for "),
        (faults.make_cut(), "failed", "base_url"),
        (faults.make_html_fault(200), "failed", "proxy"),
        (faults.make_too_many(), "failed", "(429), but not until when ("),
    ],
    ids=["401", "402", "403", "503", "cut", "html", "429"],
)
def test_trouble_in_the_middle_ends_the_run_with_a_message_and_the_next_run_goes_on(tmp_path, fault, kind, said):
    database, broken = tmp_path / "a.db", True
    how = {"crawl": {"steps": 15}, "seeds": {"most": 5}}

    def choose(endpoint, nth):
        return fault if broken and endpoint == "/2/users/:id/tweets" and nth > 9 else None

    with serve_in_thread(posts(), fault=choose, limit=100_000) as mock:
        reason, _ = crawl(campaign_of(mock.url, database, **how))
        assert (reason.kind, said in reason.why) == (kind, True), reason.why
        assert rows(database, "select count(*) from outcome where missing is null and value > 0")[0][0] >= 5
        broken = False
        reason, _ = crawl(campaign_of(mock.url, database, **how))
        assert reason.kind == "done"
        crawl(campaign_of(mock.url, tmp_path / "whole.db", **how))
    if fault.status in (401, 402, 403):  # elsewhere the account was put off, and others went before
        assert sequence(database) == sequence(tmp_path / "whole.db")
    assert len({name for _, name, _ in sequence(database)}) == len(
        {name for _, name, _ in sequence(tmp_path / "whole.db")}
    )


@pytest.fixture
def no_network(monkeypatch):
    tried = []

    def refuse(*given, **_):
        tried.append(given)
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    yield
    assert tried == []


@pytest.mark.parametrize("host", ["https://api.x.com", None, "https://10.1.2.3:8000", "https://localhost.example.org"])
def test_a_server_that_bills_is_refused_without_a_budget(no_network, tmp_path, host):
    with pytest.raises(SettingsError) as error:
        build(campaign_of(host, tmp_path / "a.db"), CampaignView())
    for part in (host or "https://api.x.com", "$0.50", "$5,000", "max_money", "max_posts", "[budget]"):
        assert part in str(error.value)
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("sections", "most"),
    [
        # 40 steps and 10 seeds of 32 pages, one page of a search; 50 profiles (the post vocabulary brings those found)
        ({"budget": {"max_posts": 10**9}}, 100 * (50 * 32 + 1) * 500 + 50 * 1_000),
        ({"budget": {"max_posts": 10**9}, "source": {"pages_per_user": 1}}, 100 * 51 * 500 + 50 * 1_000),
        ({"budget": {"max_posts": 10**9}, "source": {"vocabulary": "post"}}, 100 * 1601 * 500 + 140 * 1_000),
        ({"budget": {"max_posts": 300}}, 300 * 500 + 50 * 1_000),
        ({"budget": {"max_money": 2.5}}, 250_000),
        ({"budget": {"max_money": 2.5}, "crawl": {"steps": None}}, 250_000),
        ({"budget": {"max_posts": 300}, "crawl": {"steps": None}}, None),
        ({"budget": {"max_posts": 10**9}, "seeds": {"search": False, "usernames": ["a", "b"]}}, 67_200_000 + 42_000),
        ({"budget": {"max_posts": 10**9}, "seeds": {"most": None}, "crawl": {"steps": 1}}, 161_650_000 + 101_000),
    ],
)
def test_what_a_campaign_can_cost_at_most_is_known_before_its_first_request(no_network, tmp_path, sections, most):
    campaign = build(campaign_of("https://api.x.com", tmp_path / "a.db", **sections), CampaignView())
    campaign.close()
    assert campaign.plan.billed
    assert campaign.plan.max_cost == most


def test_the_mock_is_free_of_charge(no_network, tmp_path):
    campaign = build(campaign_of("http://127.0.0.1:1", tmp_path / "a.db"), CampaignView())
    campaign.close()
    assert not campaign.plan.billed


@pytest.mark.parametrize("token", ["", "   ", "two words", "new\nline", "ümlaut", "tab\there"])
def test_a_token_that_is_none_is_refused_before_anything_is_written(no_network, tmp_path, monkeypatch, token):
    monkeypatch.setenv(TOKEN_ENV, token)
    with pytest.raises(SettingsError, match=TOKEN_ENV) as error:
        build(campaign_of("http://127.0.0.1:1", tmp_path / "a.db"), CampaignView())
    assert not token.strip() or token not in str(error.value)
    assert not (tmp_path / "a.db").exists()


def test_the_token_is_not_written_anywhere(mock, tmp_path):
    database = tmp_path / "a.db"
    settings = campaign_of(mock.url, database, crawl={"steps": 2})
    crawl(settings)
    assert TOKEN not in repr(settings)
    campaign = build(settings, CampaignView())
    campaign.close()
    assert TOKEN not in repr(campaign)
    assert not any(TOKEN.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_a_campaign_without_any_start_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="nothing to start from"):
        build(campaign_of("http://127.0.0.1:1", tmp_path / "a.db", seeds={"search": False}), CampaignView())
    only_patterns = {"name": "a", "topic": {"patterns": ["x+"]}, "source": {"token_env": TOKEN_ENV}}
    with pytest.raises(SettingsError):
        build(check_settings(only_patterns | {"database": tmp_path / "a.db"}, "test"), CampaignView())
