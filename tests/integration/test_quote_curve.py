"""`quote --curve`: what ways of reading accounts find for more money, by what a database holds."""

import html
import json
import re

import numpy as np
import pytest
from archive_captures import write_policy
from campaign_forms import read_fields
from commands import socialcrawl
from test_match_reading import ROOMY, matching
from verified_campaigns import end_of
from web_pages import log_in, serving
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, rows

import socialcrawl as sc
from socialcrawl.campaign.cost_outlook import read_curve
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import read as read_file
from socialcrawl.crawls.collect.reading_records import find_way, read_reading_records
from socialcrawl.forecast.reading_curve import forecast_relevance
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.summary import summarize_campaign
from socialcrawl.storage.queries.traces import CampaignTraces

WORLD = (500, 3, 60.0)  # accounts, seed, posts of each
POST = 500  # mills
DASH = "\u2013"


def reading(url, database, read, money, **more):
    """A campaign about one topic that reads accounts in one way."""
    source = {
        "read": read,
        "policy": write_policy(page=100),
        "pages_per_user": 32 if read == "match" else 1,
        **more.pop("source", {}),
    }
    topic = end_of(posts(*WORLD))
    seeds = {} if read == "search" else {"most": 2}
    return matching(
        url, database, name=f"by-{read}", source=source, topic=topic, seeds=seeds, budget={"max_money": money}, **more
    )


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A database with a campaign of each way of reading, their settings, and the mock."""
    database = tmp_path_factory.mktemp("curve") / "a.db"
    with serve_in_thread(posts(*WORLD), **ROOMY) as mock:
        asked = {
            way: reading(mock.url, database, way, money)
            for way, money in (("search", 2.5), ("match", 8.0), ("timeline", 8.0))
        }
        for settings in asked.values():
            crawl(settings)
        yield database, asked, mock


def write_file(file, name, database, source, *, budget=None, topic=None, kind="collect", **sections):
    """Write a campaign file, with TOML that is JSON where values stand."""
    given = {"topic": topic or {"keywords": [TOPIC]}, "source": source, "budget": budget or {}, **sections}
    lines = [f'name = "{name}"', f"database = {json.dumps(str(database))}", f'kind = "{kind}"']
    for section, values in given.items():
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    file.write_text("\n".join(lines), "utf-8")
    return file


def write_like(folder, settings, money, **topic):
    """Write the file of a campaign like one that has begun."""
    source = {"token_env": TOKEN_ENV, "base_url": settings.source.base_url, "read": settings.source.read}
    about = {"keywords": [TOPIC], **end_of(posts(*WORLD)), **topic}
    return write_file(
        folder / "curve.toml", settings.name, settings.database, source, budget={"max_money": money}, topic=about
    )


def sum_prices(database, number):
    """Return the dollars that a campaign would have paid alone: for each post once, for profiles, for held answers."""
    paid = (
        "select post_ids, posts, coalesce(new_users, 0) from request r where campaign = ? and endpoint not like '%?%' "
        "and n <= (select max(n) from outcome o where o.campaign = r.campaign)"
    )
    requests = rows(database, paid, number)
    known = set().union(*(json.loads(ids) for ids, *_ in requests if ids))
    posts_held = sum(many or 0 for ids, many, _ in requests if not ids)
    return 0.005 * (len(known) + posts_held) + 0.01 * sum(users for *_, users in requests)


def test_records_have_what_reports_and_ledgers_have(compared):
    database, asked, _ = compared
    with open_readable(database) as connection:
        found = read_reading_records(CampaignTraces(connection), asked["search"], POST)
    assert sorted(found) == ["match", "search", "timeline"]
    numbers = dict(rows(database, "select name, id from campaign"))
    for way, record in found.items():
        with open_readable(database) as connection:
            assert record.found == pytest.approx(summarize_campaign(connection, f"by-{way}").relevance)
        assert record.campaign == f"by-{way}"
        assert record.dollars == pytest.approx(sum_prices(database, numbers[f"by-{way}"]))
        assert (np.diff(record.spent) >= 0).all()
    assert found["search"].seeds == 0.0 < found["match"].seeds < found["timeline"].seeds
    search, number = found["search"].searches, numbers["by-search"]
    outcomes = "from outcome o join pick p using (campaign, n) where o.campaign = ? and p.act"
    assert rows(database, f"select sum(posts) {outcomes} = 'search'", number) == [(search.posts.sum(),)]
    last = f"select max(occurrences) {outcomes} <> 'search' group by o.node"
    counted = [many for (many,) in rows(database, last, number)]
    assert sorted(np.bincount(search.account, search.occurrences).tolist()) == sorted(counted)


def test_what_a_search_is_expected_to_find_is_found_when_its_budget_is_raised(compared, tmp_path):
    database, asked, mock = compared
    with open_readable(database) as connection:
        record = read_reading_records(CampaignTraces(connection), asked["search"], POST)["search"]
    crawl(reading(mock.url, tmp_path / "b.db", "search", 5.0))
    with open_readable(tmp_path / "b.db") as connection:
        later = read_reading_records(CampaignTraces(connection), asked["search"], POST)["search"]
    (one,) = forecast_relevance(record, [later.dollars], matching=10**6)
    assert later.found > 1.3 * record.found
    assert one.low <= later.found <= one.high


def test_the_command_shows_each_way_and_says_which_finds_most(compared, tmp_path):
    _, asked, mock = compared
    before = mock.report()["totals"]
    file = write_like(tmp_path, asked["search"], 5.0)
    shown = " ".join(socialcrawl("quote", file, "--curve", COLUMNS="80").stdout.split())
    assert "Relevance found, by budget budget search match timeline" in shown
    assert "*: if enough posts match." in shown
    assert "search: campaign 'by-search' found a relevance of" in shown
    told = json.loads(socialcrawl("quote", file, "--curve", "--json").stdout)["curve"]
    assert told["budget"] == 5.0
    assert told["matching_posts"] is None
    assert told["recommendation"] in shown
    ways = {way["read"]: way for way in told["ways"]}
    assert sorted(ways) == ["match", "search", "timeline"]
    assert ways["search"]["dollars"] == pytest.approx(2.5)
    here = {way: next(one for one in some["expected"] if one["dollars"] == 5.0) for way, some in ways.items()}
    assert here["search"]["basis"] == "if enough posts match"
    assert here["search"]["low"] == pytest.approx(ways["search"]["relevance"])
    assert here["match"]["basis"] == here["timeline"]["basis"] == "measured"
    assert here["match"]["relevance"] > here["timeline"]["relevance"]
    assert mock.report()["totals"] == before, "it sends no request"


def test_posts_that_x_counts_bound_what_a_search_finds(compared, tmp_path):
    _, asked, _ = compared
    file = write_like(tmp_path, asked["search"].model_copy(update={"name": "later"}), 60.0)
    told = socialcrawl("quote", file, "--curve", "--counts", "--json", SOCIALCRAWL_TEST_TOKEN="a-token")
    assert told.returncode == 0, told.stderr
    curve = json.loads(told.stdout)["curve"]
    matching = sum(Topic([TOPIC]).count(text) > 0 and not text.startswith("RT @") for text in posts(*WORLD).texts)
    assert curve["matching_posts"] == matching
    (search,) = (way for way in curve["ways"] if way["read"] == "search")
    here = {one["dollars"]: one for one in search["expected"]}
    assert {here[budget]["basis"] for budget in (25.0, 50.0, 60.0)} == {"everything"}
    crawl(reading(asked["search"].source.base_url, tmp_path / "b.db", "search", 90.0))
    (found,) = rows(tmp_path / "b.db", "select sum(relevance) from top_account")[0]
    assert here[60.0]["low"] <= found <= here[60.0]["high"]


def test_python_has_the_same_curve(compared, tmp_path):
    _, asked, _ = compared
    file = write_like(tmp_path, asked["match"], 10.0)
    quote = sc.Campaign.load(file).quote(curve=True)
    told = json.loads(socialcrawl("quote", file, "--curve", "--json").stdout)
    assert json.loads(quote.to_json())["curve"] == told["curve"]
    assert "Relevance found, by budget" in quote.text
    assert "curve" not in sc.Campaign.load(file).quote().to_dict()


@pytest.mark.parametrize(
    ("source", "more", "words"),
    [
        ({"platform": "bluesky"}, {}, "Bluesky is free of charge"),
        (
            {"token_env": TOKEN_ENV},
            {"kind": "capture", "capture": {"from": "2026-01-01"}},
            'it is for kind = "collect"',
        ),
        ({"token_env": TOKEN_ENV}, {"kind": "track"}, 'it is for kind = "collect"'),
    ],
)
def test_where_there_is_nothing_to_compare_it_says_so(tmp_path, source, more, words):
    file = write_file(tmp_path / "a.toml", "a", tmp_path / "a.db", source, **more)
    told = socialcrawl("quote", file, "--curve")
    assert told.returncode == 2
    assert words in " ".join(told.stderr.split())
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("source", "way"),
    [
        ({"read": "search"}, "search"),
        ({"read": "auto"}, "search"),
        ({"read": "auto", "archive": False}, "auto"),
        ({"read": "search", "archive": False}, "auto"),
        ({"read": "match"}, "match"),
        ({"read": "timeline"}, "timeline"),
        ({"read": "auto", "platform": "mastodon", "base_url": "http://127.0.0.1:1"}, "timeline"),
    ],
)
def test_a_way_of_reading_is_what_a_campaign_does(tmp_path, source, way):
    given = {"name": "a", "database": tmp_path / "a.db", "topic": {"keywords": ["sky"]}, "source": source}
    given["budget"] = {"max_money": 1.0}
    assert find_way(sc.campaign.settings.check_settings(given, "test")) == way


@pytest.mark.parametrize(("read", "matching"), [("search", 900), ("match", None), ("timeline", None)])
def test_only_a_count_of_all_the_time_says_how_many_posts_match(compared, tmp_path, read, matching):
    """X counts the last seven days for the search by which other campaigns find their seeds."""
    file = write_like(tmp_path, compared[1][read], 20.0)
    assert read_curve(make_plan(read_file(file)), (900,)).matching == matching


def test_the_form_of_a_campaign_shows_the_curve_that_the_command_has(compared, tmp_path):
    _, asked, _ = compared
    file = write_like(tmp_path, asked["search"], 5.0)
    wanted = sc.Campaign.load(file).quote(curve=True).to_dict()["curve"]
    with serving(file) as client:
        log_in(client)
        campaigns = client.get("/api/v1/campaigns").json()["campaigns"]
        path = f"/campaigns/{next(one['key'] for one in campaigns if one['name'] == 'by-search')}/edit"
        values = read_fields(client.get(path)).values | {"-do": "quote"}
        part = client.post(path, data=values, headers={"x-part": "1"}).text
    shown = " ".join(re.sub(r"<[^>]+>", " ", html.unescape(part)).split())
    assert wanted["recommendation"] in shown
    for row in zip(*(way["expected"] for way in wanted["ways"]), strict=True):
        cells = [
            DASH if one["relevance"] is None
            else f"{one['relevance']:,.0f}" + f" {one['low']:,.0f} to {one['high']:,.0f}" * (one["high"] > one["low"])
            for one in row
        ]  # fmt: skip
        assert f"${row[0]['dollars']:,.2f} {' '.join(cells)}" in shown
    assert len(wanted["ways"]) == 3
