"""Campaigns that sample and judge accounts by searches for what matches, on the mock of X."""

import json
from collections import Counter, defaultdict

import numpy as np
import pytest
from archive_captures import write_policy
from commands import socialcrawl
from test_money import billed, spent
from test_quote_curve import write_file
from test_refresh_campaign import MANY, run
from test_sample_campaign import SHARE, X, ids, sampling, walked
from verified_campaigns import differences, lived
from x_crawls import TOKEN_ENV, TOPIC, posts, posts_file, rows

from socialcrawl.cli.commands.forget import ErasureOptions, forget
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.names import HERE
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.storage.erasure.orders import read_order

STEPS = 120


def matching(url, database, read="match", steps=STEPS, **sample):
    """A campaign that samples and judges accounts in one way; it reads at most a page of each."""
    source = X | {"read": read, "policy": write_policy(page=20), "pages_per_user": 1}
    given = {"crawl": {"steps": steps}, "sample": sample, "budget": {"max_money": 500.0}}
    return sampling(url, database, source, **given)


def sample_matches(database, posts=posts, **more):
    """Run such a campaign to its end; how it ended, and the mock's bill."""
    with serve_in_thread(posts(), missing=SHARE, limit=MANY, platforms=("x",)) as mock:
        return run(matching(mock.url, database, **more)), billed(mock)


@pytest.fixture(scope="module")
def truth():
    """By name: the occurrences in posts that are no reposts, whom one mentions, and what became of the accounts."""
    world, topic, whole = build_world(posts(), SHARE), Topic([TOPIC]), posts()
    count, out = Counter(), defaultdict(set)
    for i, author in enumerate(whole.authors):
        count[author.lower()] += 0 if whole.texts[i].startswith("RT @") else topic.count(whole.texts[i])
        out[author.lower()] |= {other.lower() for other in whole.list_mentions(i)}
    fates = zip(map(str.lower, world.accounts.usernames), world.accounts.fates.tolist(), strict=True)
    return count, out, dict(fates)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    database = tmp_path_factory.mktemp("matched") / "a.db"
    ending, bill = sample_matches(database)
    assert ending.reason.kind == "done"
    return database, bill


def test_whoever_is_matched_is_on_topic_or_off_it_as_the_posts_say(drawn, truth):
    count, _, fates = truth
    walks = [row for row in walked(drawn[0]) if row[0] == "walk"]
    assert len(walks) == STEPS
    for _, name, value, occurrences, missing, _ in walks:
        expected = count[name] if fates.get(name) == HERE else 0
        assert missing in ((None,) if name in fates and expected else (None, "suspended", "deleted", "unknown"))
        assert (occurrences, value) == (expected, float(expected > 0))
    assert 10 < sum(row[2] for row in walks) < STEPS - 10


def test_only_accounts_on_topic_are_read_and_all_whom_they_mention_are_their_neighbours(drawn, truth):
    database = drawn[0]
    on = {row[1] for row in walked(database) if row[0] == "walk" and row[2]}
    asked = "select p.act, lower(coalesce(a.username, a.platform_id)), p.n from pick p join account a using (node) "
    read = {act: {} for act in ("page", "inward")}
    for act, name, n in rows(database, asked + "where p.act in ('page', 'inward')"):
        read[act][ids().get(name, name)] = n
    assert read["page"].keys() == read["inward"].keys() == on, "also those that were judged when the steps were used up"
    links = "select l.n, lower(coalesce(a.username, a.platform_id)) from link l join account a using (node)"
    found = defaultdict(set)
    for n, name in rows(database, links):
        found[n].add(ids().get(name, name))
    assert {name: found[n] for name, n in read["page"].items()} == {
        name: truth[1][name] - {name} for name in read["page"]
    }
    drawn_accounts = rows(database, "select lower(account), weight, visits from sampled_account")
    assert {ids().get(name, name) for name, _, _ in drawn_accounts} <= on
    assert sum(weight for _, weight, _ in drawn_accounts) == pytest.approx(1.0)


def test_an_account_off_topic_costs_a_small_part_of_what_its_timeline_costs(drawn, tmp_path):
    database, bill = drawn
    _, whole = sample_matches(tmp_path / "a.db", read="timeline")
    judged = rows(database, "select count(*) from pick where act = 'walk'")[0][0]
    assert judged == rows(tmp_path / "a.db", "select count(*) from pick where act = 'walk'")[0][0]
    assert bill <= spent(database)
    assert whole > 1.5 * bill
    off = rows(database, "select sum(o.posts) from outcome o join pick p using (campaign, n) "
                         "where p.act = 'walk' and o.value = 0")[0][0]  # fmt: skip
    assert off == 0
    assert rows(database, "select count(*) from request where status = 429") == [(0,)]
    assert differences(database) == []


def test_who_is_on_topic_stays_so_when_a_post_that_was_read_is_erased(drawn, tmp_path):
    database = tmp_path / "a.db"
    database.write_bytes(drawn[0].read_bytes())
    value = "select o.value, o.posts from outcome o join pick p using (campaign, n) where p.act = 'page' and o.n = ?"
    n, post = rows(
        database,
        "select o.n, min(post.id) from outcome o join pick p using (campaign, n) "
        "join post on post.author = o.node where p.act = 'page' and o.occurrences > 3 group by o.n limit 1",
    )[0]
    before = rows(database, value, n)[0]
    forget(database, ErasureOptions(yes=True, as_json=True), read_order([], [post], None, None), "x")
    assert rows(database, value, n) == [(1.0, before[1] - 1)]
    assert differences(database) == []


def test_accounts_are_read_as_far_wherever_a_budget_ended_a_run(tmp_path):
    for name, budgets in (("whole", [500.0]), ("paused", [*np.arange(0.9, 8.0, 0.37).tolist(), 500.0])):
        with serve_in_thread(posts_file(), limit=MANY) as mock:
            for dollars in budgets:
                settings = matching(mock.url, tmp_path / f"{name}.db", steps=20)
                run(settings.model_copy(update={"budget": settings.budget.model_copy(update={"max_money": dollars})}))
    cut = "select count(*) from request where endpoint like '%/tweets' and params like '%max_results%' and part > 1"
    assert rows(tmp_path / "paused.db", cut) != rows(tmp_path / "whole.db", cut) == [(0,)]
    assert walked(tmp_path / "paused.db") == walked(tmp_path / "whole.db")
    links = "select n, count(*) from link group by n order by n"
    assert rows(tmp_path / "paused.db", links) == rows(tmp_path / "whole.db", links)
    gap = "select gap, why, size from coverage_gap where gap = 'timeline'"
    assert rows(tmp_path / "whole.db", gap) == rows(tmp_path / "paused.db", gap)


@pytest.mark.parametrize("sample", [{}, {"exact": True, "inward": False}], ids=["drawn", "exact"])
def test_a_process_that_dies_again_and_again_draws_the_same_accounts(sample, tmp_path):
    for name in ("whole", "died"):
        with serve_in_thread(posts_file(), limit=MANY) as mock:
            settings = matching(mock.url, tmp_path / f"{name}.db", steps=60, **sample)
            deaths = lived(settings, every=10_000 if name == "whole" else 5)
            assert (deaths > 2) == (name == "died")
    assert walked(tmp_path / "died.db") == walked(tmp_path / "whole.db")
    drawn = "select lower(account), visits, weight, degree from sampled_account order by 1"
    assert rows(tmp_path / "died.db", drawn) == rows(tmp_path / "whole.db", drawn) != []
    assert differences(tmp_path / "died.db") == []


@pytest.mark.parametrize(
    "sample", [{"focus": "trial"}, {"least": 0, "patterns": ["*a"]}, {"focus": "ancestor", "wider_labels": "a.csv"}]
)
def test_walks_that_go_off_topic_and_names_alone_are_refused(tmp_path, sample):
    (tmp_path / "a.csv").write_text("account,on_topic\nann,yes\n")
    file = write_sample(tmp_path, sample=sample)
    told = socialcrawl("check", file)
    assert told.returncode == 2
    assert 'write focus = "hard" and least = 1 or more, and no tree; or remove read' in " ".join(told.stdout.split())


def write_sample(folder, **sections):
    source = {"token_env": TOKEN_ENV, "base_url": "http://127.0.0.1:1", "read": "match"}
    return write_file(folder / "a.toml", "a", folder / "a.db", source, kind="sample", **sections)


def test_reports_and_quotes_say_how_accounts_were_judged(drawn, tmp_path):
    told = socialcrawl("report", drawn[0], "--html", tmp_path / "a.html")
    assert told.returncode == 0, told.stderr
    assert "on topic" in told.stdout
    shown = " ".join((tmp_path / "a.html").read_text("utf-8").split())
    assert "which return no reposts. Of those on topic, the newest posts were read too (1 page at most)." in shown
    file = write_sample(tmp_path, budget={"max_money": 5.0})
    assert 'With read = "match", only the budget' in " ".join(socialcrawl("quote", file, COLUMNS="500").stdout.split())
    endpoints = json.loads(socialcrawl("quote", file, "--json").stdout)["endpoints"]
    used = {one["endpoint"] for one in endpoints if one["at_most"]["requests"] != 0}
    assert {"/2/tweets/search/all", "/2/users/:id/tweets", "/2/users/:id/mentions"} <= used
