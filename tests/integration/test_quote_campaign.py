"""Quotes of real campaigns: against the mock's own count and bill, and what they leave behind (nothing)."""

import hashlib
import io
import json
import random
import re
import sqlite3
import sys
from dataclasses import replace

import numpy as np
import pytest
from commands import campaign_file, socialcrawl
from postgres import a_server_database
from rich.console import Console
from test_mock_world import START, posts_of
from test_store_upgrade import at_version
from x_crawls import TOKEN, TOPIC, campaign_of, crawl, posts, rows, scratch

from socialcrawl.campaign.cost_outlook import make_campaign_quote, read_knowledge, read_progress
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.policies import load_policy_file
from socialcrawl.cli.commands.quote import confirm_cost, show_quote
from socialcrawl.cli.post_counts import count_posts
from socialcrawl.errors import SettingsError, SourceError, StoreError
from socialcrawl.forecast.expected import ASSUMED, COUNTED, STORED, TypicalNeeds
from socialcrawl.forecast.shape import CampaignProgress
from socialcrawl.mock import faults
from socialcrawl.mock.names import HERE
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.render.quote import build_object, show
from socialcrawl.system.files import find_folder

LIVE = "https://192.0.2.1"  # an address that nobody has: it bills, as it is not this machine
NAMES = [name for name, row in sorted(build_world(posts()).accounts.by_username.items())][:12]


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def console(width=80):
    return Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)


def shown(meant, found, width=80):
    by = console(width)
    show(by, meant, found)
    return by.file.getvalue()


def finished(settings):
    reason, planner = crawl(settings)
    assert reason.kind == "done", reason
    return planner


def served(mock):
    """What the mock has counted: requests by endpoint, and its bill."""
    told = mock.report()
    requests = {}
    for window in told["windows"]:
        requests[window["endpoint"]] = requests.get(window["endpoint"], 0) + window["requests"]
    days = told["billed"].values()
    return requests, {name: sum(day[name] for day in days) for name in ("posts", "users", "dollars")}


CAMPAIGNS = {
    "plain": {},
    "the other vocabulary": {"source": {"vocabulary": "post"}, "seeds": {"most": 25, "search_pages": 3}},
    "named seeds": {"seeds": {"search": False, "usernames": NAMES}, "crawl": {"steps": 60, "refresh_rate": 8}},
    "both": {"seeds": {"usernames": NAMES, "search_pages": 2, "most": None}, "source": {"pages_per_user": 2}},
    "few nodes": {"crawl": {"steps": None}, "budget": {"max_nodes": 23}},
    "few requests": {"budget": {"max_requests": 31}},
    "few posts": {"budget": {"max_posts": 900}, "source": {"pages_per_user": 3}},
    "little money": {"budget": {"max_money": 3.21}, "crawl": {"steps": None}},
}


@pytest.mark.parametrize("sections", CAMPAIGNS.values(), ids=CAMPAIGNS)
def test_no_campaign_needs_more_than_at_most_by_the_count_and_the_bill_of_the_mock(tmp_path, sections):
    with serve_in_thread(posts(), limit=100_000, missing=0.1) as mock:
        meant = make_plan(campaign_of(mock.url, tmp_path / "a.db", **sections))
        found = make_campaign_quote(meant)
        crawl(meant.settings)
        requests, billed = served(mock)
    most = {line.endpoint: line.most for line in found.lines}
    assert sum(requests.values()) > 10
    for endpoint, sent in requests.items():
        assert sent <= most[endpoint].requests
    assert sum(requests.values()) <= found.most.requests
    assert billed["posts"] <= found.most.posts
    assert billed["users"] <= found.most.users
    assert billed["dollars"] * 100_000 <= found.most.money + 1e-6


@pytest.mark.parametrize("stop", [1, 9, 48])
def test_what_is_still_to_go_is_never_less_than_what_then_comes(tmp_path, stop):
    database, how = tmp_path / "a.db", {"seeds": {"usernames": ["nobody_at_all"]}, "source": {"pages_per_user": 2}}
    with serve_in_thread(posts(), limit=100_000, missing=0.1) as mock:
        crawl(campaign_of(mock.url, database, budget={"max_requests": stop}, **how))
        before = served(mock)
        meant = make_plan(campaign_of(mock.url, database, **how))
        found = make_campaign_quote(meant)
        assert found.done.requests == stop
        finished(meant.settings)
        after = served(mock)
    most = {line.endpoint: line.most.requests for line in found.lines}
    for endpoint, sent in after[0].items():
        assert sent - before[0].get(endpoint, 0) <= most.get(endpoint, 0)
    assert after[1]["posts"] - before[1]["posts"] <= found.most.posts
    assert after[1]["dollars"] - before[1]["dollars"] <= found.most.money / 100_000 + 1e-9
    over = make_campaign_quote(meant)
    assert (over.lines, over.most.money, over.reached) == ((), 0, None)
    assert "Nothing is left to do." in shown(meant, over)


def test_what_was_spent_is_what_the_planner_counts(tmp_path):
    fault = faults.make_cut()
    chosen = {5: fault, 12: fault, 20: faults.make_html_fault(503)}
    with serve_in_thread(posts(), limit=100_000, missing=0.1, fault=lambda endpoint, nth: chosen.get(nth)) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", seeds={"usernames": NAMES[:3]})
        planner = finished(settings)
    spent, budget = read_progress(make_plan(settings)), planner.budget
    assert (spent.requests, spent.posts, spent.money, spent.began) == (
        budget.requests, budget.posts, budget.money, pytest.approx(budget.began, abs=1e-5),
    )  # fmt: skip
    assert rows(tmp_path / "a.db", "select count(*) from request where kind in ('lost', 'broken')")[0][0] > 0
    assert (spent.steps, spent.queries, spent.waiting) == (40, 1, 0)
    asked = rows(tmp_path / "a.db", "select act, count(*) from pick group by 1")
    assert spent.asked == dict(asked)["seed"] + 40
    assert spent.looked_up == dict(asked)["resolve"]


@pytest.fixture(scope="module")
def stored():
    """The settings of a campaign that was run, on a world in which some are gone, with its database."""
    with serve_in_thread(posts(), limit=100_000, missing=0.2) as mock:
        settings = campaign_of(
            mock.url, scratch() / "a.db", crawl={"steps": 150}, source={"reuse_hours": 0.0, "pages_per_user": 4}
        )
        finished(settings)
        yield settings


def test_stored_means_are_those_of_the_answers(stored):
    mean = read_knowledge(make_plan(stored.model_copy(update={"name": "twin"})))[1]
    asked = "from request where endpoint = '/2/users/:id/tweets' and kind = 'ok' order by n, part"
    pages = rows(stored.database, f"select n, part, posts, cursor {asked}")
    assert mean.posts_per_page == pytest.approx(sum(page[2] for page in pages) / len(pages))
    by_user = {}
    for n, part, *_ in pages:
        by_user[n] = max(part, by_user.get(n, 0))
    for most in (1, 2, 3, 4):
        read = [min(most, count) for count in by_user.values()]
        assert mean.estimate_pages(most) == pytest.approx(sum(read) / len(read))
    assert mean.estimate_pages(4) > 1.0
    accounts = build_world(posts(), 0.2).accounts
    fates = {name: accounts.fates[row] == HERE for name, row in accounts.by_username.items()}
    fates |= {str(key): accounts.fates[row] == HERE for key, row in accounts.by_id.items()}
    who = "select coalesce(a.platform_id, a.handle), p.act from pick p join account a using (node)"
    seen = [fates[name] for name, act in rows(stored.database, who) if act in ("seed", "expand")]
    assert mean.missing == pytest.approx(1 - sum(seen) / len(seen))
    assert 0.05 < mean.missing < 0.5
    looked_up = rows(stored.database, "select count(*) from request where endpoint = '/2/users/by'")[0][0]
    assert mean.named == pytest.approx(looked_up / 150)
    authors = rows(stored.database, "select count(*) from link join pick using (n) where act = 'search'")[0][0]
    found = rows(stored.database, "select o.posts from outcome o join pick using (n) where act = 'search'")[0][0]
    assert mean.authors == pytest.approx(authors / found)
    assert 0 < mean.answer < 1
    assert {
        mean.explain_basis(name) for name in ("posts_per_page", "more", "missing", "named", "authors", "answer")
    } == {STORED}
    assert mean.explain_basis("matches") == ASSUMED


def test_of_a_campaign_that_has_done_many_steps_the_later_half_counts(stored):
    mean = read_knowledge(make_plan(stored))[1]
    steps = [n for (n,) in rows(stored.database, "select n from pick where act = 'expand' order by n")][75:]
    asked = "select n, kind, posts, cost, endpoint from request where kind in ('ok', 'missing')"
    asked = [row for row in rows(stored.database, asked) if row[0] >= steps[0]]
    pages = [posts for _, kind, posts, _, endpoint in asked if kind == "ok" and endpoint.endswith("tweets")]
    assert mean.posts_per_page == pytest.approx(sum(pages) / len(pages))
    every = [n for (n,) in rows(stored.database, "select n from pick where act = 'expand' order by n")]
    asked = rows(stored.database, "select n, 1, posts, cost from request where kind in ('ok', 'missing')")
    for column, name in enumerate(("requests", "posts", "money"), 1):
        each = np.array([sum(row[column] for row in asked if row[0] == n) for n in every], float)
        first, second = each[:75], each[75:]
        spread = mean.spreads[name]
        assert (spread.steps, spread.used) == (150, 75)
        assert spread.variation == pytest.approx(second.std(ddof=1) / second.mean())
        assert spread.change == pytest.approx(np.log(second.mean() / first.mean()))
        posts_of_each = [sum(row[2] for row in asked if row[0] == n) for n in steps]
        assert spread.read == pytest.approx(np.mean(np.array(posts_of_each) > 0))


def test_both_databases_give_the_same_means_and_ranges(tmp_path):
    with a_server_database() as server, serve_in_thread(a_ring(), limit=100_000) as mock:
        found = []
        for database in (tmp_path / "a.db", server.url):
            settings = campaign_of(mock.url, database, crawl={"steps": 120})
            finished(settings)
            mean = read_knowledge(make_plan(settings))[1]
            found.append(replace(mean, answer=0.0))
    assert found[0] == found[1]
    assert found[0].spreads["posts"].steps == 120


def a_ring(size=400):
    """Posts of accounts that write 5 to 34 posts each and mention those next in a ring."""
    draw = random.Random(3)
    ring = [(f"u{i}", i, draw.randrange(5, 35)) for i in range(size)]
    written = [
        (name, START + 60 * len(ring) * k + 60 * i, f"{TOPIC} {k}", tuple(f"u{(i + j) % size}" for j in (1, 7, 30)))
        for name, i, most in ring
        for k in range(most)
    ]
    return posts_of(sorted(written, key=lambda row: row[1]))


def test_ranges_hold_what_the_rest_took_and_are_shown_once_there_were_enough_steps(tmp_path):
    database, how = tmp_path / "a.db", {"seeds": {"most": 10}}
    with serve_in_thread(a_ring(), limit=100_000) as mock:
        crawl(campaign_of(mock.url, database, crawl={"steps": 30}, **how))
        meant = make_plan(campaign_of(mock.url, database, crawl={"steps": 280}, **how))
        assert make_campaign_quote(meant).ranges == {}
        assert "no range yet: requests have one after 100 steps, posts and cost after 200." in shown(
            meant, make_campaign_quote(meant), 200
        )
        crawl(campaign_of(mock.url, database, crawl={"steps": 120}, **how))
        assert make_campaign_quote(meant).ranges.keys() == {"requests", "seconds"}
        assert "no range for posts and cost before 200 steps are done." in shown(meant, make_campaign_quote(meant), 200)
        searched = replace(make_campaign_quote(meant), ranges={})
        searched = replace(searched, done=replace(searched.done, new_queries=1))
        assert "There is no range while searches or seeds are still to come." in shown(meant, searched, 200)
        assert "steps" not in next(line for line in shown(meant, searched, 200).splitlines() if "no range" in line)
        crawl(campaign_of(mock.url, database, crawl={"steps": 210}, **how))
        found = make_campaign_quote(meant)
        text = shown(meant, found, 200)
        before = rows(database, "select count(*), sum(posts), sum(cost) from request")[0]
        finished(meant.settings)
    after = rows(database, "select count(*), sum(posts), sum(cost) from request")[0]
    for name, then, now in zip(("requests", "posts", "money"), before, after, strict=True):
        low, high = found.ranges[name]
        assert 0 < low < getattr(found.likely, name) < high
        assert low <= now - then <= high
    assert rows(database, "select count(*) from pick where act = 'expand'") == [(280,)]
    assert "95 % range of the probable total: " in text
    assert "There is no range" not in text
    told = build_object(meant, found)["probably_ranges"]
    assert told["requests"] == list(found.ranges["requests"])
    assert told["dollars"] == [mills / 100_000 for mills in found.ranges["money"]]


def test_ranges_reach_down_to_what_is_left_when_another_campaign_has_stored_the_rest(tmp_path):
    """The second campaign of the database makes the same steps, and goes further: what it fetched is not paid again."""
    database, how = tmp_path / "a.db", {"seeds": {"most": 10}}
    with serve_in_thread(a_ring(), limit=100_000) as mock:
        crawl(campaign_of(mock.url, database, crawl={"steps": 210}, **how))
        meant = make_plan(campaign_of(mock.url, database, crawl={"steps": 280}, **how))
        alone = make_campaign_quote(meant)
        assert alone.stored.requests == 0
        assert "such answer" not in shown(meant, alone, 200)
        finished(campaign_of(mock.url, database, name="further", crawl={"steps": 250}, **how))
        fresh = rows(
            database,
            "select count(distinct digest), sum(posts), sum(cost) from request r join campaign c on c.id = r.campaign "
            "where name = 'further' and kind in ('ok', 'missing')",
        )[0]
        found = make_campaign_quote(meant)
        before = rows(database, "select count(*), sum(posts), sum(cost) from request where kind <> 'held'")[0]
        finished(meant.settings)
    after = rows(database, "select count(*), sum(posts), sum(cost) from request where kind <> 'held'")[0]
    assert (found.stored.requests, found.stored.posts, found.stored.money) == fresh
    assert fresh[0] >= 30
    for name, then, now in zip(("requests", "posts", "money"), before, after, strict=True):
        low, high = found.ranges[name]
        assert now - then < alone.ranges[name][0]  # where all would have to be requested
        assert low <= now - then <= high
        assert high == alone.ranges[name][1]
    text = shown(meant, found, 300)
    assert f"Other campaigns of this database have {fresh[0]} such answers." in text
    assert "the lower ends of the ranges count all of them" in text
    assert build_object(meant, found)["stored"]["requests"] == fresh[0]


def test_a_quote_counts_no_stored_answers_where_none_are_reused_and_says_what_is_billed_today(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(a_ring(60), limit=100_000) as mock:
        finished(campaign_of(mock.url, database, name="other", crawl={"steps": 20}, seeds={"most": 5}))
        asked = campaign_of(mock.url, database, crawl={"steps": 20}, source={"reuse_hours": 0.0})
        found = make_campaign_quote(make_plan(asked))
    assert found.stored.requests == 0
    billed = dict(rows(database, "select kind, count(distinct resource) from charge group by kind"))
    text = shown(make_plan(asked), found, 400)
    assert f"{billed['post']:,} posts and {billed['user']:,} users of this database are billed today already" in text
    with sqlite3.connect(database) as connection:
        connection.execute("update charge set day = '2020-01-01'")
    assert "billed today" not in shown(make_plan(asked), make_campaign_quote(make_plan(asked)), 400)


def test_with_stored_means_the_probable_numbers_are_near_those_of_the_same_campaign(stored):
    twin = make_plan(stored.model_copy(update={"name": "twin"}))
    found = make_campaign_quote(twin).likely
    sent, read, cost = rows(stored.database, "select count(*), sum(posts), sum(cost) from request")[0]
    assert found.requests == pytest.approx(sent, rel=0.05)
    assert found.posts == pytest.approx(read, rel=0.05)
    assert found.money == pytest.approx(cost, rel=0.1)


def test_a_few_answers_are_no_statistics(mock, tmp_path):
    settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 2}, seeds={"most": 3})
    finished(settings)
    mean = read_knowledge(make_plan(settings))[1]
    assert mean.posts_per_page == TypicalNeeds().posts_per_page
    assert set(mean.rests) == {"authors"}  # of a hundred posts found


def traces(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_quote_begins_nothing_and_makes_no_file(mock, tmp_path):
    meant = make_plan(campaign_of(mock.url, tmp_path / "new.db"))
    assert make_campaign_quote(meant).done == CampaignProgress()
    assert count_posts(meant)
    assert traces(tmp_path) == {}
    finished(campaign_of(mock.url, tmp_path / "old.db", name="other", crawl={"steps": 12}))
    before = traces(tmp_path)
    other = make_plan(campaign_of(mock.url, tmp_path / "old.db"))
    assert make_campaign_quote(other, count_posts(other)).done == CampaignProgress()
    assert traces(tmp_path) == before
    assert rows(tmp_path / "old.db", "select name from campaign") == [("other",)]


def test_an_empty_file_is_a_database_of_nothing_and_those_of_others_are_refused(tmp_path):
    (tmp_path / "a.db").touch()
    meant = make_plan(campaign_of(LIVE, tmp_path / "a.db"))
    assert read_progress(meant) == CampaignProgress()
    connection = sqlite3.connect(tmp_path / "b.db")
    connection.execute("create table diary (day text)")
    connection.close()
    (tmp_path / "c.db").write_text("my diary " * 500)
    for name, said in (("b.db", "belongs to another program"), ("c.db", "not an SQLite database")):
        with pytest.raises(StoreError, match=said):
            read_progress(make_plan(campaign_of(LIVE, tmp_path / name)))


def test_a_database_of_an_older_or_newer_program_is_read_as_it_is_or_refused(mock, tmp_path):
    settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 20})
    finished(settings)
    spent = read_knowledge(make_plan(settings))
    with at_version(tmp_path / "a.db", "0001"):
        pass
    assert read_knowledge(make_plan(settings)) == spent
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("update alembic_version set version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="newer than this socialcrawl"):
        make_campaign_quote(make_plan(settings))


def test_counting_asks_once_a_search_and_says_what_the_searches_then_find(tmp_path):
    keywords = ["a" * 40 + str(i) for i in range(20)]
    with serve_in_thread(posts(), limit=100_000) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", seeds={"search_pages": 32, "most": 5}, crawl={"steps": 1})
        topic = {"keywords": [*settings.topic.keywords, *keywords]}
        meant = make_plan(settings.model_copy(update={"topic": settings.topic.model_copy(update=topic)}))
        assert len(meant.queries) == 2
        matches = count_posts(meant)
        assert served(mock)[0] == {"/2/tweets/counts/recent": 2}
        assert sum(day["counts_requests"] for day in mock.report()["billed"].values()) == 2
        finished(meant.settings)
        found = make_campaign_quote(meant, matches)
    read = rows(tmp_path / "a.db", "select o.posts from outcome o join pick using (n) where act = 'search' order by n")
    assert [count for (count,) in read] == list(matches)
    assert found.typical.explain_basis("matches") == COUNTED


def test_counting_of_a_campaign_that_has_begun_is_in_its_ledger_and_budget(tmp_path):
    keywords = {"keywords": [*campaign_of(None, tmp_path).topic.keywords, *("b" * 40 + str(i) for i in range(20))]}
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), limit=100_000) as mock:
        how = {"topic": keywords, "seeds": {"search_pages": 1}}
        reason, _ = crawl(campaign_of(mock.url, database, budget={"max_requests": 1}, **how))
        assert reason.kind == "budget"
        with pytest.raises(SettingsError, match="max_requests = 1"):
            count_posts(make_plan(campaign_of(mock.url, database, budget={"max_requests": 1}, **how)))
        assert "/2/tweets/counts/recent" not in served(mock)[0]
        meant = make_plan(campaign_of(mock.url, database, **how))
        matches = count_posts(meant)
        assert served(mock)[0]["/2/tweets/counts/recent"] == 1  # the other search was done already
        assert matches[0] == 0
        kept = rows(database, "select n, part, kind, cost, posts from request where endpoint like '%counts%'")
        assert kept == [(-1, 1, "ok", 500, 0)]
        planner = finished(meant.settings)
        assert planner.budget.money == rows(database, "select sum(cost) from request")[0][0]
        assert count_posts(meant) is None  # nothing is left to search


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        (faults.make_refusals(401), SourceError, "not accepted"),
        (faults.make_html_fault(503), SourceError, "in trouble"),
        (faults.Fault("answer", 200, b'{"meta": {}}'), SourceError, "does not say it"),
    ],
    ids=["401", "503", "nothing"],
)
def test_a_count_that_does_not_come_is_told(tmp_path, fault, error, said):
    with serve_in_thread(posts(), fault=lambda endpoint, _: fault) as mock, pytest.raises(error, match=said) as told:
        count_posts(make_plan(campaign_of(mock.url, tmp_path / "a.db")))
    assert TOKEN not in str(told.value)


def test_only_tokens_of_apps_count_and_none_that_is_in_use(mock, tmp_path):
    user = {"tokens": [{"env": campaign_of(None, tmp_path).source.variable, "kind": "user"}]}
    with pytest.raises(SettingsError, match="bearer token of an app"):
        count_posts(make_plan(campaign_of(mock.url, tmp_path / "a.db", source=user)))
    from socialcrawl.campaign.credentials import open_access

    settings = campaign_of(mock.url, tmp_path / "a.db")
    held = open_access(settings, mock.url)
    with pytest.raises(StoreError, match="Another process uses the token"):
        count_posts(make_plan(settings))
    held.release()
    assert count_posts(make_plan(settings))


WIDE = {"source": {"pages_per_user": 32}, "crawl": {"steps": 1_000_000}, "budget": {"max_money": 1e6, "max_time": "7d"}}


@pytest.mark.parametrize("sections", [*CAMPAIGNS.values(), WIDE, {"crawl": {"steps": None}}])
@pytest.mark.parametrize("width", [80, 120])
def test_a_quote_fits_the_terminal_and_shows_its_numbers(tmp_path, sections, width):
    meant = make_plan(campaign_of(LIVE, tmp_path / "a.db", **sections | {"limits": {"k": None, "d": None}}))
    found = make_campaign_quote(meant)
    text = shown(meant, found, width)
    assert max(map(len, text.splitlines())) <= width
    for line in found.lines:
        cells = [row for row in text.splitlines() if row.startswith(line.endpoint + " ")]
        assert len(cells) == 2, text
        for row, amount in zip(cells, (line.most, line.likely), strict=True):
            number = "no end" if amount.requests == float("inf") else f"{round(amount.requests):,}"
            number = number if len(number) < 8 else f"{amount.requests / 1e6:.1f} M"
            assert row.split(line.endpoint)[1].strip().startswith(number)
    assert "the price table" in text.replace("\n", " ")


def test_a_quote_says_what_to_expect(tmp_path):
    def sentences(url=LIVE, matches=None, **sections):
        meant = make_plan(campaign_of(url, tmp_path / "a.db", **sections | {"limits": {"k": 300, "d": 900.0}}))
        return " ".join(shown(meant, make_campaign_quote(meant, matches)).split())

    week = sentences(budget={"max_time": "7d", "max_money": 12.0})
    assert "In the campaign's 7 d 0 h, rate limits allow 201,600 timelines." in week
    assert "will ask for confirmation" in week
    assert "Probably max_money is reached after" in week
    assert "confirmation" not in sentences(budget={"max_money": 10.0})
    assert "A run will be refused: This campaign would send requests to" in sentences()
    assert "No budget will be reached" not in sentences()
    rehearsed = sentences("http://127.0.0.1:1", budget={"max_money": 1.0})
    assert "is this machine and charges nothing, but the budget counts these costs as if it did" in rehearsed
    assert "max_money is reached after" in rehearsed
    assert "The searches find no posts to start from" in sentences(matches=(0,))
    assert "posts of the last seven days that the searches find: 47 (counted by X)" in sentences(matches=(47,))
    assert "3,000,000 posts per billing cycle" in sentences(budget={"max_posts": 10**9}, crawl={"steps": 10**6})
    assert "posts per page of a timeline: 70.0 (assumed)" in week
    user = {"tokens": [{"env": "SOCIALCRAWL_TEST_TOKEN", "kind": "user"}], "policy": _for_apps(tmp_path)}
    assert "No token of this campaign may request /2/tweets/search/recent" in sentences(source=user)


def _for_apps(folder):
    """A policy that lets no token of a user search."""
    from socialcrawl.system.files import find_folder as of

    text = (of("config") / "x.toml").read_text()
    head, tail = text.split('[endpoints."/2/tweets/search/recent"]')
    (folder / "policy.toml").write_text(
        f'{head}[endpoints."/2/tweets/search/recent"]{re.sub("user = .*", "", tail, count=1)}'
    )
    return folder / "policy.toml"


def test_the_object_for_scripts_has_the_numbers_of_the_tables(tmp_path, capsys, mock):
    settings = campaign_of(mock.url, tmp_path / "a.db", budget={"max_requests": 15})
    crawl(settings)
    show_quote(settings, console(), count=False, as_json=True)
    told = json.loads(capsys.readouterr().out)
    meant = make_plan(settings)
    assert told == json.loads(json.dumps(build_object(meant, make_campaign_quote(meant)))) | {
        key: told[key] for key in ("at_most", "probably", "endpoints")
    }
    assert told["spent"]["requests"] == 15
    endless = build_object(make_plan(campaign_of(LIVE, tmp_path / "b.db", crawl={"steps": None})), make_campaign_quote(
        make_plan(campaign_of(LIVE, tmp_path / "b.db", crawl={"steps": None}))))  # fmt: skip
    assert endless["at_most"] == {"requests": None, "posts": None, "users": None, "dollars": None, "seconds": None}
    assert json.loads(json.dumps(endless, allow_nan=False)) == endless


def test_counting_says_what_it_costs_and_where_that_is_kept(mock, tmp_path):
    topic = {"keywords": [TOPIC, "x" * 300, "y" * 300]}  # two searches
    by, settings = console(200), campaign_of(mock.url, tmp_path / "a.db", topic=topic)
    show_quote(settings, by, count=True, as_json=False)
    assert "Asking X how many posts each search finds, for $0.005 each, in no ledger" in by.file.getvalue()
    assert "counted by X" in by.file.getvalue()
    crawl(campaign_of(mock.url, tmp_path / "a.db", topic=topic, budget={"max_requests": 1}))
    by = console(200)
    show_quote(settings, by, count=True, as_json=False)
    assert "recorded in the campaign's ledger" in by.file.getvalue()


def test_counting_is_not_announced_where_all_searches_are_done(mock, tmp_path, capsys):
    settings = campaign_of(mock.url, tmp_path / "a.db")
    crawl(campaign_of(mock.url, tmp_path / "a.db", budget={"max_requests": 5}))
    by = console(200)
    show_quote(settings, by, count=True, as_json=False)
    assert "Asking X" not in by.file.getvalue()
    assert "all searches of this campaign are done" in capsys.readouterr().err


class Typed(io.StringIO):
    """A person at a terminal."""

    def isatty(self):
        return True


def ask(monkeypatch, typed, spent=None, *, url=LIVE, yes=False, terminal=True, **sections):
    """What a person was shown before a run; `typed` None: nobody is there."""
    monkeypatch.setattr(sys, "stdin", io.StringIO() if typed is None else Typed(typed))
    by = Console(file=io.StringIO(), force_terminal=terminal, width=200, color_system=None)
    meant = make_plan(campaign_of(url, scratch() / "a.db", **{"limits": {"k": None, "d": None}} | sections))
    confirm_cost(meant, spent or CampaignProgress(), by, yes=yes)
    return by.file.getvalue()


DEAR = {"budget": {"max_money": 10.01}}


def test_what_is_cheap_or_free_or_agreed_to_is_not_asked_about(monkeypatch):
    assert ask(monkeypatch, None, budget={"max_money": 10.0}) == ""
    assert ask(monkeypatch, None, url="http://127.0.0.1:1") == ""
    assert ask(monkeypatch, None, yes=True, **DEAR) == ""
    assert ask(monkeypatch, None, budget={"max_money": 500.0, "confirm_above": 500.0}) == ""
    assert ask(monkeypatch, None, CampaignProgress(money=4_000), **DEAR) == ""  # 9.97 dollars are left to spend
    assert ask(monkeypatch, None, budget={"max_posts": 10**6}, crawl={"steps": 9}, seeds={"most": 9},
               source={"pages_per_user": 1}) == ""  # fmt: skip


@pytest.mark.parametrize("typed", ["y\n", "YES\n", " y \n"])
def test_a_person_may_agree(monkeypatch, typed):
    said = ask(monkeypatch, typed, **DEAR)
    assert "may cost up to $10.01 by the price table of 2026-11-01" in said
    assert "[y/N]" in said
    assert "without bound" in ask(monkeypatch, typed, budget={"max_posts": 50}, crawl={"steps": None})
    assert "($2.00 are spent already)" in ask(
        monkeypatch, typed, CampaignProgress(money=200_000), budget={"max_money": 50.0}
    )


@pytest.mark.parametrize("typed", ["n\n", "\n", "", "yo\n"])
def test_whoever_does_not_agree_pays_nothing(monkeypatch, typed):
    with pytest.raises(SettingsError, match="nothing was sent, nothing was spent"):
        ask(monkeypatch, typed, **DEAR)


@pytest.mark.parametrize(("typed", "terminal"), [(None, True), ("y\n", False), (None, False)])
def test_where_nobody_can_be_asked_the_run_is_refused_with_what_to_do(monkeypatch, typed, terminal):
    with pytest.raises(SettingsError) as error:
        ask(monkeypatch, typed, terminal=terminal, **DEAR)
    for part in ("up to $10.01", "socialcrawl quote", "--yes", "confirm_above = 10 dollars", "nothing was spent"):
        assert part in str(error.value)


def test_the_command_quotes_for_people_and_scripts(mock, tmp_path):
    file = campaign_file(tmp_path, mock.url)
    child = socialcrawl("quote", file, folder=tmp_path)
    assert child.returncode == 0, child.stderr
    assert "Probably" in child.stdout
    child = socialcrawl("quote", file, "--counts", "--json", folder=tmp_path)
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout)["means"]["matches"]["rests_on"] == "counted"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]
    assert socialcrawl("quote", tmp_path / "lost.toml", folder=tmp_path).returncode == 2


def test_the_command_run_is_refused_above_the_price_before_anything_is_begun(tmp_path):
    file = campaign_file(tmp_path, LIVE, steps=1_000, budget="max_money = 100.0")
    child = socialcrawl("run", file, folder=tmp_path)
    assert child.returncode == 2, child.stdout + child.stderr
    assert "socialcrawl quote" in child.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize("prices", [True, False])
def test_a_platform_that_bills_is_guarded_even_by_a_policy_file_without_prices(tmp_path, prices):
    text = (find_folder("config") / "x.toml").read_text("utf-8")
    mine = tmp_path / "policy.toml"
    mine.write_text(text if prices else re.sub(r"(?m)^(post|user|fee) = [0-9.]+$", "", text), "utf-8")
    assert load_policy_file(mine).is_billed is prices
    meant = make_plan(campaign_of(LIVE, tmp_path / "a.db", source={"policy": mine}))
    assert meant.billed
    with pytest.raises(SettingsError, match="Set max_money"):
        meant.guard()
    make_plan(campaign_of("http://127.0.0.1:1", tmp_path / "a.db", source={"policy": mine})).guard()


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (lambda likely, most: None, "No budget will be reached."),
        (
            lambda likely, most: round((likely + most) / 2),
            "Probably no budget will be reached; at the earliest, max_posts is reached after # steps.",
        ),
        (
            lambda likely, most: round(likely * 0.8),
            "Probably max_posts is reached after # steps; at the earliest, max_posts is reached after # seeds.",
        ),
    ],
)
def test_which_budget_is_reached_first_is_one_sentence(tmp_path, bound, said):
    """`bound`: max_posts, by the posts that are probably read and those that are read at most."""
    free = make_campaign_quote(make_plan(campaign_of("http://127.0.0.1:1", tmp_path / "a.db", seeds={"most": 3})))
    budget = {"max_posts": bound(free.likely.posts, free.most.posts)}
    meant = make_plan(campaign_of("http://127.0.0.1:1", tmp_path / "a.db", seeds={"most": 3}, budget=budget))
    (line,) = [line for line in shown(meant, make_campaign_quote(meant), 300).splitlines() if " reached" in line]
    assert re.sub(r"\d+", "#", line) == said


def test_one_of_a_thing_is_quoted_in_the_singular(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 3}, seeds={"most": 1})
        crawl(settings.model_copy(update={"crawl": settings.crawl.model_copy(update={"steps": 1})}))
        text = " ".join(shown(make_plan(settings), make_campaign_quote(make_plan(settings))).split())
    assert "for 1 seed and 1 step." in text


def test_all_users_that_look_ups_tell_of_on_bluesky_are_in_the_total(tmp_path):
    asked = "select params from request where endpoint like '%getProfiles' and kind = 'ok'"
    with serve_in_thread(posts(), bluesky_limit=100_000) as mock:
        source = {"platform": "bluesky", "base_url": mock.url, "token_env": None}
        settings = campaign_of(mock.url, tmp_path / "a.db", source=source, seeds={"most": 5}, crawl={"steps": 3})
        found = make_campaign_quote(make_plan(settings))
        crawl(settings)
    users = {line.endpoint: line.most.users for line in found.lines}
    assert found.most.users == sum(users.values())
    params = [json.loads(told) for (told,) in rows(tmp_path / "a.db", asked)]
    looked_up = sum(len(one[key].split(",")) for one in params for key in ("ids", "usernames") if key in one)
    assert 8 < looked_up <= users["/xrpc/app.bsky.actor.getProfiles"] <= found.most.users


def test_pages_that_are_asked_for_twice_on_bluesky_are_in_the_quote_and_in_the_stored_means(tmp_path):
    rows_of = [
        (f"p{n % 30}", START + n, f"glacier {n} @p{(n * 7 + 1) % 30}", (f"p{(n * 7 + 1) % 30}",)) for n in range(600)
    ]
    rows_of += [
        (f"p{n}", START + 700 + n, f"RT @p{(n + 5) % 30}: glacier {n}", (f"p{(n + 5) % 30}",)) for n in range(0, 30, 3)
    ]
    database = tmp_path / "a.db"
    with serve_in_thread(posts_of(rows_of), bluesky_limit=100_000) as mock:
        source = {"platform": "bluesky", "base_url": mock.url, "token_env": None, "pages_per_user": 2}
        topic = {"keywords": ["glacier"]}
        settings = campaign_of(mock.url, database, topic=topic, source=source, seeds={"most": 5}, crawl={"steps": 25})
        found = make_campaign_quote(make_plan(settings))
        crawl(settings)
        asked = "select endpoint, count(*), sum(posts) from request where kind <> 'held' group by 1"
        most = {line.endpoint: line.most for line in found.lines}
        for endpoint, requests, read in rows(database, asked):
            assert requests <= most[endpoint].requests, endpoint
            assert read <= most[endpoint].posts or not most[endpoint].posts, endpoint
        mean = read_knowledge(make_plan(settings))[1]
        assert (mean.again, mean.explain_basis("again")) == (pytest.approx(10 / 30), STORED)
        assert mean.posts_per_page == pytest.approx(610 / 30)
        twin = make_campaign_quote(make_plan(settings.model_copy(update={"name": "twin"})))
    feeds = "select count(*) from request where endpoint like '%getAuthorFeed'"
    likely = {line.endpoint: line.likely for line in twin.lines}
    assert rows(database, feeds) == [(40,)]
    assert likely["/xrpc/app.bsky.feed.getAuthorFeed"].requests == pytest.approx(40, rel=0.05)
    assert most["/xrpc/app.bsky.feed.getAuthorFeed"].requests == 2 * 2 * 30
    assert most["/xrpc/app.bsky.feed.getAuthorFeed"].posts == 2 * 30 * 100
