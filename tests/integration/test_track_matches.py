"""Campaigns that track accounts and read them by searches for what matches, on the mock of X."""

import json
from collections import Counter

import numpy as np
import pytest
from archive_captures import write_policy
from commands import socialcrawl
from test_money import billed, spent
from test_quote_curve import write_file
from test_track_campaign import LIMIT, TRACK
from verified_campaigns import differences, lived
from x_crawls import TOKEN_ENV, TOPIC, campaign_of, crawl, posts, posts_file, rows, sequence

from socialcrawl.campaign.build import ProcessContext
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.instant import VirtualClock, VirtualExecutor
from socialcrawl.mock.server import serve_in_thread

RETURNS = "select node from pick where act = 'recrawl' and n > ?"


def returning(url, database, steps, read="match", **track):
    """A campaign that tracks accounts, which reads them in one way."""
    source = {"read": read, "policy": write_policy(page=20), "reuse_hours": 24}
    seeds = {"most": 45, "search_pages": 2}
    whole = campaign_of(url, database, source=source, seeds=seeds, budget={"max_money": 90.0})
    given = whole.model_dump(mode="python", by_alias=True, exclude_unset=True)
    given |= {"kind": "track", "track": {**TRACK, **track}, "crawl": {"steps": steps}}
    return type(whole).model_validate(given)


def run_at(at, database, steps, name="campaign", **more):
    """Run a campaign to its end on a clock that begins at `at`, when later posts are not there yet; the mock's bill."""
    clock = VirtualClock(at)
    with serve_in_thread(posts(), limit=LIMIT, time=clock.now, platforms=("x",), now=at) as mock:
        settings = returning(mock.url, database, steps, **more).model_copy(update={"name": name})
        crawl(settings, process=ProcessContext(clock, pool=lambda _: VirtualExecutor(clock, 0.25)), change=True)
        return billed(mock)


def find_time(share):
    """Return when a share of the posts was written, Unix seconds."""
    return float(np.quantile(posts().created_at, share)) + 0.5


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """A database in which accounts were matched before and after they posted more; the last pick before, both bills."""
    database = tmp_path_factory.mktemp("returns") / "a.db"
    bills = [run_at(find_time(0.6), database, 60)]
    before = rows(database, "select max(n) from pick")[0][0]
    bills.append(run_at(find_time(1.0) + 600.0, database, 260, p=0.9))
    return database, before, bills


def count_occurrences(data):
    """The occurrences of the topic in each author's posts without reposts, which X's search does not return."""
    found, topic = Counter(), Topic([TOPIC])
    for author, text in zip(data.authors, data.texts, strict=True):
        found[author.lower()] += 0 if text.startswith("RT @") else topic.count(text)
    return found


def test_visits_together_find_every_matching_post_once(visited):
    database, before, _ = visited
    again = {node for (node,) in rows(database, RETURNS, before)}
    first = {
        node for (node,) in rows(database, "select node from pick where act in ('seed', 'expand') and n <= ?", before)
    }
    assert len(again & first) > 20
    truth, sums = count_occurrences(posts()), {}
    for name, occurrences, value in rows(
        database,
        "select lower(a.username), sum(o.occurrences), count(*) from outcome o join pick p using (campaign, n) "
        "join account a on a.node = o.node where p.act in ('seed', 'expand', 'recrawl') and o.missing is null "
        f"and o.node in ({RETURNS}) group by o.node",
        before,
    ):
        sums[name] = occurrences
        assert value > 1
    assert len(sums) > 20
    assert sums == {name: truth[name] for name in sums}
    first = rows(database, "select sum(occurrences) from outcome o where n <= ?", before)[0][0]
    assert sum(sums.values()) > 1.2 * first


def test_many_accounts_share_a_search_and_only_what_is_new_is_billed(visited):
    database, before, bills = visited
    assert bills[0] + bills[1] <= spent(database)
    marked = "n in (select n from pick where since is not null and n > ?)"
    searches = f"select count(*), sum(new_posts) from request where endpoint like '%/search/all' and {marked}"
    requests, paid = rows(database, searches, before)[0]
    (picks,) = rows(database, f"select count(*) from pick where {marked}", before)[0]
    assert requests < picks / 2
    late = np.asarray(posts().created_at) > find_time(0.6) - 150.0
    new = sum(TOPIC in text for text, is_late in zip(posts().texts, late, strict=True) if is_late)
    assert 10 < paid <= new, "what was read before is not paid for again"
    assert rows(database, "select count(*) from request where status = 429") == [(0,)]
    assert rows(database, "select count(*) from request where endpoint like '%/tweets' and kind = 'ok'") == [(0,)]
    assert differences(database) == []


def test_timelines_of_the_same_steps_cost_many_times_as_much(visited, tmp_path):
    end = find_time(1.0) + 600.0
    bills = [run_at(end, tmp_path / f"{read}.db", 60, read=read) for read in ("match", "timeline")]
    assert bills[1] > 5 * bills[0]


def test_a_process_that_dies_again_and_again_makes_the_same_visits(tmp_path):
    for name in ("whole", "died"):
        with serve_in_thread(posts_file(), limit=LIMIT) as mock:
            settings = returning(mock.url, tmp_path / f"{name}.db", 120, p=0.5)
            deaths = lived(settings, every=10_000 if name == "whole" else 3)
            assert (deaths > 2) == (name == "died")
    assert sequence(tmp_path / "died.db") == sequence(tmp_path / "whole.db")
    values = "select n, node, value, occurrences, posts, missing from outcome order by n"
    assert rows(tmp_path / "died.db", values) == rows(tmp_path / "whole.db", values)
    assert differences(tmp_path / "died.db") == []


def test_answers_of_another_campaign_are_not_taken_as_they_lack_the_newest_posts(tmp_path):
    database, end = tmp_path / "a.db", find_time(1.0) + 600.0
    run_at(find_time(0.8), database, 30, name="other")
    run_at(end, database, 100)
    own = "(select id from campaign where name = 'campaign')"
    found = dict(
        rows(
            database,
            "select lower(a.username), sum(o.occurrences) from outcome o join pick p using (campaign, n) "
            "join account a on a.node = o.node where p.act in ('seed', 'expand', 'recrawl') and o.missing is null "
            f"and o.campaign = {own} group by o.node",
        )
    )
    truth = count_occurrences(posts())
    assert len(found) > 20
    assert found == {name: truth[name] for name in found}
    assert differences(database) == []


def test_a_window_that_is_shorter_than_what_a_search_shows_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="too short for read"):
        crawl(returning("http://127.0.0.1:1", tmp_path / "a.db", 5, window="20s"))


def test_reports_and_quotes_say_what_such_a_campaign_costs(visited, tmp_path):
    database = visited[0]
    told = socialcrawl("report", database, "--html", tmp_path / "a.html")
    assert told.returncode == 0, told.stderr
    shown = " ".join((tmp_path / "a.html").read_text("utf-8").split())
    assert "which return no reposts, again and again, from where the last visit ended." in shown
    source = {"token_env": TOKEN_ENV, "base_url": "http://127.0.0.1:1", "read": "match"}
    file = write_file(tmp_path / "a.toml", "a", tmp_path / "a.db", source, kind="track", budget={"max_money": 5.0})
    shown = " ".join(socialcrawl("quote", file, COLUMNS="500").stdout.split())
    assert 'With read = "match", only the budget bounds what is found' in shown
    endpoints = json.loads(socialcrawl("quote", file, "--json").stdout)["endpoints"]
    assert {one["endpoint"] for one in endpoints if one["at_most"]["requests"] != 0} >= {"/2/tweets/search/all"}
    assert "/2/users/:id/tweets" not in {one["endpoint"] for one in endpoints if one["at_most"]["requests"]}


@pytest.mark.parametrize(
    ("read", "platform", "words"),
    [
        ("auto", "x", 'works with kind = "collect"'),
        ("search", "x", 'works on X, Bluesky and Mastodon with kind = "collect"'),
        ("match", "bluesky", 'works on X with kind = "collect", "track" or "sample"'),
    ],
)
def test_ways_of_reading_that_do_not_track_are_refused(tmp_path, read, platform, words):
    source = {"platform": platform, "read": read}
    file = write_file(tmp_path / "a.toml", "a", tmp_path / "a.db", source, kind="track")
    told = socialcrawl("check", file)
    assert told.returncode == 2
    assert words in " ".join(told.stdout.split())
