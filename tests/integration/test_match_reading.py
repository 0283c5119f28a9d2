"""Accounts that are read by a search for what matches, and further by pages of their timelines, on the mock of X."""

import json
import math
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np
import orjson
import pytest
from archive_captures import write_policy
from commands import socialcrawl
from killed_campaigns import Reaper, nursery, run_killed_at_requests, run_killed_at_statements
from test_change_mock import OTHER
from test_money import billed, spent
from verified_campaigns import DiedError, Mortal, collecting, copied, differences, lived
from x_crawls import TOKEN_ENV, TOPIC, campaign_of, crawl, posts, rows, sequence

from socialcrawl.campaign.build import build
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Page
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.post_table import Posts
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView

LONGEST, MOST = 1_024, 34  # characters and terms for authors of a query
ROOMY = {"limit": 100_000}


def matching(url, database, pages=2, **sections):
    crawling = {"estimator": "nh-ne-sum", "steps": None, **sections.pop("crawl", {})}
    policy = write_policy(page=100)
    source = {"read": "match", "pages_per_user": pages, "policy": policy, **sections.pop("source", {})}
    return campaign_of(url, database, crawl=crawling, source=source, **sections)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A campaign that has read all that it can reach, and what the mock has billed."""
    database = tmp_path_factory.mktemp("match") / "a.db"
    with serve_in_thread(posts(), **ROOMY) as mock:
        reason, _ = crawl(matching(mock.url, database))
        return database, reason, billed(mock)


def count_by_author(reposts):
    """The occurrences of the topic in each author's posts, from the file; without reposts, which searches leave out."""
    found, topic, data = Counter(), Topic([TOPIC]), posts()
    for author, text in zip(data.authors, data.texts, strict=True):
        if reposts or not text.startswith("RT @"):
            found[author.lower()] += topic.count(text)
    return found


def drop_reposts(data):
    kept = [row for row, text in enumerate(data.texts) if not text.startswith("RT @")]
    named = [data.list_mentions(row) for row in kept]
    offsets = np.cumsum([0, *map(len, named)])
    texts, authors = ([column[row] for row in kept] for column in (data.texts, data.authors))
    return Posts(authors, data.created_at[kept], texts, [name for one in named for name in one], offsets)


def test_what_a_search_brought_of_an_account_is_its_own_posts_that_match(crawled):
    database, _, _ = crawled
    wanted = count_by_author(reposts=False)
    query = (
        "select lower(a.username), p.act, o.occurrences, o.value, o.posts from outcome o "
        "join pick p using (campaign, n) join account a on a.node = o.node where p.act in ('match', 'seed') "
        "and o.missing is null"
    )
    found = rows(database, query)
    assert len(found) > 50
    for name, act, occurrences, value, many in found:
        assert occurrences == wanted[name], (name, act)
        assert value == (1.0 + math.log(occurrences) if occurrences else 0.0)
        assert many <= occurrences or not occurrences, "only posts that match were fetched"


def test_a_further_page_has_all_that_was_read_of_the_account(crawled):
    database, _, _ = crawled
    found = rows(
        database,
        "select o.node, o.n, o.occurrences from outcome o join pick p using (campaign, n) where p.act = 'page' "
        "and o.missing is null order by o.n",
    )
    assert len(found) > 20
    last = {node: (n, occurrences) for node, n, occurrences in found}
    read = rows(
        database,
        "select h.occurrences, p.author from hit h join post p on p.id = h.post "
        "where p.author in (select node from pick where act = 'page')",
    )
    sums = Counter()
    for occurrences, author in read:
        sums[author] += occurrences
    searched = {key for (ids,) in rows(database, "select post_ids from request where n = 0") if ids
                for key in orjson.loads(ids)}  # fmt: skip
    by_search = dict(rows(database, "select id, author from post"))
    seen_first = {by_search[key] for key in searched}
    for node, (_, occurrences) in last.items():
        if node not in seen_first:  # the search for seeds stores posts that no reading of the account may show
            assert occurrences == sums[node]


def test_the_report_counts_an_account_once_with_its_last_reading(crawled):
    database, _, _ = crawled
    accounts = dict(
        rows(
            database,
            "select o.node, max(o.value) from outcome o join pick p using (campaign, n) "
            "where p.act in ('seed', 'match', 'page') and o.missing is null group by o.node",
        )
    )
    seeds = {node for (node,) in rows(database, "select node from pick where act = 'seed'")}
    told = json.loads(socialcrawl("report", "--db", database, "--json").stdout)
    wanted = sum(value for node, value in accounts.items() if node not in seeds)
    assert told["relevance"] == pytest.approx(wanted)
    assert told["seed_relevance"] == pytest.approx(sum(accounts[node] for node in seeds & accounts.keys()))
    shown = rows(database, "select sum(relevance), count(*), count(distinct node) from top_account")[0]
    assert shown[0] == pytest.approx(sum(accounts.values()))
    assert shown[1] == shown[2]
    course = rows(database, "select relevance, seed_relevance from campaign_progress order by n desc limit 1")[0]
    assert course == pytest.approx((told["relevance"], told["seed_relevance"]))
    assert told["accounts_read"] == len(accounts)
    assert told["discovered_on_topic"] == sum(value > 0 for node, value in accounts.items() if node not in seeds)
    assert told["reused"] == 0, "the part of a pick is no answer of an earlier campaign"


def test_the_report_counts_which_matching_posts_of_timelines_the_searches_had_found(crawled):
    database, _, _ = crawled
    asked = (
        "select r.post_ids from request r join pick p on p.campaign = r.campaign and p.n = r.n "
        "where p.act = 'page' and r.endpoint = '/2/users/:id/tweets' and r.post_ids is not null"
    )
    paged = {key for (ids,) in rows(database, asked) for key in orjson.loads(ids)}
    count = Topic([TOPIC]).count
    matching = [text for key, text in rows(database, "select id, text from post") if key in paged and count(text)]
    reposts = sum(text.startswith("RT @") for text in matching)
    assert 0 < reposts < len(matching)
    told = socialcrawl("report", "--db", database, "--json").stdout
    wanted = {"posts": len(matching), "found": len(matching) - reposts, "reposts": reposts}
    assert json.loads(told)["search_recall"] == wanted, "the search of the mock finds all but reposts"
    shown = " ".join(socialcrawl("report", "--db", database, COLUMNS="500").stdout.split())
    assert f"searches had returned {len(matching) - reposts:,} (" in shown
    assert f"{reposts:,} of the other {reposts:,} are reposts" in shown


def test_every_query_fits_and_matches_are_all_that_is_billed_before_timelines(crawled):
    database, reason, bill = crawled
    assert reason.kind == "done"
    assert bill == spent(database)
    asked = [
        json.loads(params)["query"]
        for (params,) in rows(database, "select params from request where endpoint = '/2/tweets/search/all'")
    ]
    assert asked
    for query in asked:
        assert len(query) <= LONGEST
        assert query.count("from:") <= MOST
    cost = "select sum(posts), sum(cost) from request where endpoint = '/2/tweets/search/all'"
    found, paid = rows(database, cost)[0]
    assert paid <= found * 500
    assert rows(database, "select count(*) from request where status = 429") == [(0,)]


def test_accounts_are_matched_before_any_timeline_is_read_further(crawled):
    database, _, _ = crawled
    acts = [act for act, _, _ in sequence(database)]
    first = acts.index("page")
    assert set(acts[first:]) == {"page", "match"}
    batches = rows(database, "select count(*) from pick where act = 'match' group by batch")
    assert 1 < max(many for (many,) in batches) <= MOST // 2


def test_with_enough_money_both_ways_end_with_the_same_values(tmp_path):
    plain = drop_reposts(posts())
    values = {}
    with serve_in_thread(plain, **ROOMY) as mock:
        for read in ("timeline", "match"):
            database = tmp_path / f"{read}.db"
            crawl(matching(mock.url, database, pages=32, source={"read": read}))
            values[read] = dict(rows(database, "select lower(account), relevance from top_account where relevance > 0"))
    assert values["match"] == values["timeline"]


def pick_sections(settings):
    given = settings.model_dump(mode="json")
    return {key: given[key] for key in ("name", "database", "topic", "seeds", "crawl", "source", "limits")}


@pytest.mark.parametrize("after", [5, 11])
def test_a_process_that_is_killed_as_its_requests_arrive_makes_the_same_picks(after, crawled, tmp_path):
    reaper = Reaper()
    with (
        serve_in_thread(posts(), reaper, **ROOMY) as mock,
        nursery(tmp_path / "errors", "killed_campaigns") as children,
    ):
        settings = matching(mock.url, tmp_path / "b.db")
        given = pick_sections(settings)
        assert run_killed_at_requests(children, reaper, given, after, tmp_path / "errors") > 3
        assert billed(mock) <= spent(tmp_path / "b.db")
    assert sequence(tmp_path / "b.db") == sequence(crawled[0])
    values = "select n, node, value, occurrences, posts, missing from outcome order by n"
    assert rows(tmp_path / "b.db", values) == rows(crawled[0], values)


def test_a_process_that_is_killed_before_its_statements_makes_the_same_picks(crawled, tmp_path):
    with serve_in_thread(posts(), **ROOMY) as mock, nursery(tmp_path / "errors", "killed_campaigns") as children:
        given = pick_sections(matching(mock.url, tmp_path / "c.db"))
        kills = run_killed_at_statements(children, given, tmp_path / "errors")
        assert kills > 10
        asked = rows(tmp_path / "c.db", "select params, count(*) from request where kind = 'ok' group by 1")
        twice = sum(many - 1 for _, many in asked)
        assert twice <= kills, "an answer that was stored is not requested again"
    assert sequence(tmp_path / "c.db") == sequence(crawled[0])
    assert differences(tmp_path / "c.db") == []


@pytest.mark.parametrize("dollars", [1.0, 3.33])
def test_the_budget_is_kept_to_the_cent(dollars, tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), **ROOMY) as mock:
        reason, planner = crawl(matching(mock.url, database, budget={"max_money": dollars}))
        bill = billed(mock)
    assert reason.kind == "budget"
    assert bill <= planner.budget.money == spent(database) <= dollars * 100_000


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "track"}, "kind = "),
        ({"source": {"platform": "bluesky", "policy": None, "token_env": None}}, "works on X"),
        ({"crawl": {"links": {"follows": 1}}}, "follow"),
        ({"source": {"tokens": [{"env": TOKEN_ENV, "kind": "user"}]}}, "bearer tokens"),
    ],
)
def test_what_cannot_be_read_so_is_refused_before_anything_is_sent(changes, why, tmp_path):
    with pytest.raises(SettingsError, match=why):
        make_plan(matching("http://127.0.0.1:1", tmp_path / "a.db", **changes))


def test_the_file_of_a_campaign_that_matches_reads_all_pages_unless_it_says_otherwise(tmp_path):
    given = {"name": "a", "database": str(tmp_path / "a.db"), "topic": {"keywords": ["x"]}, "source": {"read": "match"}}
    assert check_settings(given, "test").source.pages_after_match == 32
    assert check_settings({**given, "source": {}}, "test").source.pages_after_match is None
    assert check_settings({**given, "source": {}}, "test").source.pages_per_user == 1


@pytest.mark.parametrize("act", ["match", "page", "seed"])
def test_a_forgotten_account_leaves_a_campaign_that_still_proves_itself(act, tmp_path):
    place = copied("match", tmp_path)
    query = (
        "select a.username, a.platform_id, a.node from outcome o join pick p using (campaign, n) "
        f"join account a on a.node = o.node where p.act = '{act}' and o.posts > 2 order by o.n desc limit 1"
    )
    [(name, key, node)] = rows(place, query)
    theirs = [post for (post,) in rows(place, "select id from post where author = ?", node)]
    done = socialcrawl("forget", "--user", name, "--db", place, "--yes")
    assert done.returncode == 0, done.stderr
    assert differences(place) == []
    raw = place.read_bytes()
    assert not [text for text in (key, name, *theirs) if text.encode() in raw]


def test_a_post_that_is_forgotten_leaves_every_page_that_shares_it(tmp_path):
    place = copied("match", tmp_path)
    shared = rows(place, "select post_ids from request where part >= 8000000 and post_ids is not null order by id desc")
    key = orjson.loads(shared[0][0])[0]
    assert len(rows(place, "select 1 from request where post_ids like ?", f"%{key}%")) > 1
    done = socialcrawl("forget", "--post", key, "--db", place, "--yes")
    assert done.returncode == 0, done.stderr
    assert rows(place, "select 1 from request where post_ids like ?", f"%{key}%") == []
    assert differences(place) == []


def test_the_topic_stays_as_only_what_matched_it_was_fetched(tmp_path):
    place = copied("match", tmp_path)
    with serve_in_thread(posts(), **ROOMY) as mock:
        source = {"read": "match", "pages_per_user": 2}
        other = collecting(mock.url, place, source=source, topic={"keywords": [OTHER]}, crawl={"steps": 150})
        with pytest.raises(SettingsError, match="topic"):
            lived(other, change=True)


def test_how_accounts_are_read_is_the_campaigns_own_and_older_ones_read_timelines(tmp_path):
    place = copied("collect", tmp_path)
    with serve_in_thread(posts(), **ROOMY) as mock:
        settings = collecting(mock.url, place, source={"read": "match"})
        with pytest.raises(SettingsError, match="read"):
            crawl(settings)


def test_explain_says_by_which_readings_an_account_came_to_its_value(crawled):
    [(name,)] = rows(
        crawled[0],
        "select a.username from outcome o join pick p using (campaign, n) join account a on a.node = o.node "
        "where p.act = 'page' order by o.n desc limit 1",
    )
    done = socialcrawl("explain", name, "--db", crawled[0], "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["state"] == "asked"
    assert [ask["act"] for ask in told["asks"]][-1] == "page"
    assert told["decision"]["agrees"] is True


class Nameless:
    """A wire whose posts mention some accounts without their ids, and some by the names that they had before."""

    def __init__(self, wire):
        self.wire = wire

    def send(self, grant):
        reply = self.wire.send(grant)
        if not isinstance(reply.rows, Page):
            return reply
        mentions = [one._replace(who=self.change(one.who)) for one in reply.rows.mentions]
        return replace(reply, rows=replace(reply.rows, mentions=mentions))

    def change(self, who):
        if who.username and who.username[0].lower() < "d":
            return who._replace(id=None)
        return who._replace(username="old_name") if who.username and who.username[0].lower() < "h" else who


def run_nameless(settings, every=None):
    """Run a campaign whose process dies after so many requests, again and again."""
    for _ in range(1_000):
        campaign = build(settings, CampaignView())
        wire = Nameless(campaign.parts.wire)
        try:
            with suppress(DiedError):
                run(replace(campaign.parts, wire=wire if every is None else Mortal(wire, every)))
                return
        finally:
            campaign.parts.pool.shutdown()
            campaign.close()
    raise AssertionError("it never ends")


def test_accounts_without_ids_and_with_old_names_have_the_same_values_however_often_it_is_killed(tmp_path):
    values = {}
    with serve_in_thread(posts(), **ROOMY) as mock:
        for every in (None, 3, 7):
            place = tmp_path / f"{every}" / "a.db"
            place.parent.mkdir()
            run_nameless(matching(mock.url, place, crawl={"steps": 120}), every)
            values[every] = rows(
                place, "select p.n, p.act, o.node, o.value, o.missing from pick p join outcome o using (campaign, n)"
            )
    assert values[3] == values[7] == values[None]
    wanted = count_by_author(reposts=False)
    read = (
        "select lower(a.username), o.occurrences from outcome o join pick p using (campaign, n) "
        "join account a on a.node = o.node where p.act = 'match' and o.missing is null and a.username <> 'old_name'"
    )
    found = rows(tmp_path / "None" / "a.db", read)
    assert len(found) > 20
    assert [(name, many) for name, many in found if many != wanted[name]] == []
    old = "select count(*), sum(o.value > 0) from outcome o join account a using (node) where a.username = 'old_name'"
    many, worth = rows(tmp_path / "None" / "a.db", old)[0]
    assert many == 0 or worth > 0, "their ids are known"


def test_an_account_that_is_forgotten_after_its_page_is_left_alone(tmp_path):
    with serve_in_thread(posts(), **ROOMY) as mock:
        settings = matching(mock.url, tmp_path / "a.db", budget={"max_money": 12.0})
        reason, _ = crawl(settings)
        assert reason.kind == "budget"
        [(name,)] = rows(
            tmp_path / "a.db",
            "select a.username from pick p join account a using (node) where p.act = 'page' order by p.n limit 1",
        )
        assert socialcrawl("forget", "--user", name, "--db", tmp_path / "a.db", "--yes").returncode == 0
        reason, _ = crawl(matching(mock.url, tmp_path / "a.db", budget={"max_money": 100.0}))
        assert reason.kind == "done"


def test_an_account_that_is_gone_is_asked_for_one_page_and_told_of(tmp_path):
    with serve_in_thread(posts(), missing=0.15, **ROOMY) as mock:
        crawl(matching(mock.url, tmp_path / "a.db"))
    gone = rows(
        tmp_path / "a.db",
        "select o.node, o.missing, count(*) from outcome o join pick p using (campaign, n) "
        "where p.act = 'page' and o.missing is not null group by 1, 2",
    )
    assert gone
    assert {many for _, _, many in gone} == {1}
    told = dict(rows(tmp_path / "a.db", "select why, size from coverage_gap where gap = 'account'"))
    assert {why: told[why] for _, why, _ in gone} == Counter(why for _, why, _ in gone)


def test_a_place_that_x_does_not_know_any_more_begins_a_timeline_anew(tmp_path):
    refused = []

    def strike(endpoint, nth):
        if endpoint == "/2/users/:id/tweets" and nth > 30 and not refused:
            refused.append(nth)
            return faults.Fault("answer", 400, b'{"title": "Invalid Request"}', "application/json")
        return None

    with serve_in_thread(posts(), strike, **ROOMY) as mock:
        crawl(matching(mock.url, tmp_path / "a.db", pages=8))
    assert refused
    assert differences(tmp_path / "a.db") == []


def test_a_campaign_that_is_given_the_searches_of_another_one_verifies(crawled, tmp_path):
    database = tmp_path / "b.db"
    shutil.copy(crawled[0], database)
    with serve_in_thread(posts(), **ROOMY) as mock:
        settings = matching(mock.url, database, source={"reuse_hours": 24, "policy": write_policy(page=100)})
        for name in ("again", "once-more"):  # the first of the two knows names that its queries did not know before
            crawl(settings.model_copy(update={"name": name}))
    held = "select count(*) from request where kind = 'held' and endpoint like '%/search/all'"
    assert rows(database, held)[0][0] > 0
    assert differences(database) == []
