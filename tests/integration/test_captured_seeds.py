"""Campaigns that begin with the authors of a capture of their database, and go on as the capture does."""

import json
import math
import re
from contextlib import ExitStack

import archive_captures
import pytest
import tag_captures
from archive_captures import MANY, capturing, capturing_on_bluesky, span, write_policy
from commands import socialcrawl
from stores import opened
from test_guarantees import FORKED, D, K, find_undisturbed, hold_the_guarantee
from test_guarantees import WHO as NAMES
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, rows

from socialcrawl.campaign.build import ProcessContext, build
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.clock import SteadyClock
from socialcrawl.engine.loop import run as run_loop
from socialcrawl.engine.model import Wait
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.address import PostgresAddress

OF = (
    "from pick p join outcome o using (campaign, n) join account a on a.node = p.node where p.campaign = 2 and p.act = "
)
BROUGHT = f"select a.platform_id, o.posts, o.occurrences, o.value {OF} 'captured' order by p.n"
READ = f"select a.platform_id {OF} 'expand' order by p.n"


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000, bluesky_limit=100_000, mastodon_limit=100_000) as made:
        yield made


def following(url, place, **more):
    """Settings of a campaign that follows the capture "campaign" of its database."""
    return {
        "name": "people",
        "database": place.url if isinstance(place, PostgresAddress) else str(place),
        "topic": {"keywords": [TOPIC]},
        "seeds": {"search": False, "capture": "campaign", **more.pop("seeds", {})},
        "crawl": {"estimator": "hybrid-sum", "switch_after": 10, "steps": 20, **more.pop("crawl", {})},
        "source": {"token_env": TOKEN_ENV, "base_url": url, "timeout": 60.0, **more.pop("source", {})},
        "limits": MANY,
        **more,
    }


def run(given):
    return crawl(check_settings(given, "test"))[0]


def captured(url, place, **more):
    return run(capturing(url, place, limits=MANY, **more))


def list_evidence():
    """(posts, occurrences) by author's id of what X's search has, by an independent scan."""
    table, world = posts(), build_world(posts())
    found = {}
    begin, end = span()
    for i in range(len(table)):
        many = len(re.findall(rf"(?<!\w){TOPIC}(?!\w)", table.texts[i], re.IGNORECASE))
        if many and begin <= table.created_at[i] < end and not world.references.is_retweet(i):
            author = str(world.accounts.ids[world.accounts.by_username[table.authors[i].lower()]])
            count = found.get(author, (0, 0))
            found[author] = count[0] + 1, count[1] + many
    return found


def verifies(database):
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def test_the_authors_of_a_capture_are_the_accounts_to_begin_with_and_none_of_its_posts_is_bought_again(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), limit=100_000) as mock:
        assert captured(mock.url, database).kind == "done"
        held = rows(database, "select count(*) from post")[0][0]
        assert run(following(mock.url, database)).kind == "done"
        bill = mock.report()
    evidence = list_evidence()
    brought = rows(database, BROUGHT)
    assert {row[0]: row[1:3] for row in brought} == evidence, "each once, with all posts that are held"
    assert all(value == 1 + math.log(occurrences) for _, _, occurrences, value in brought)
    read = [row[0] for row in rows(database, READ)]
    assert len(read) == 20
    assert evidence[read[0]][1] == max(occurrences for _, occurrences in evidence.values()), "most evidence first"
    first = "select min(n) from pick where campaign = 2 and act <> 'captured'"
    assert rows(database, f"select count(*) from request where campaign = 2 and n < ({first})") == [(0,)]
    everything = rows(database, "select count(*) from post")[0][0]
    assert everything > held
    assert bill["totals"]["dollars"] == pytest.approx(0.005 * everything), "each post was billed once"
    assert rows(database, "select sum(new_posts) from request where campaign = 2") == [(everything - held,)]
    verifies(database)


def test_what_is_read_of_an_author_takes_the_place_of_the_evidence(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database)
    run(following(mock.url, database))
    alone = tmp_path / "b.db"
    names = [row[0] for row in rows(database, f"select a.platform_id {OF} 'expand'")]
    world = build_world(posts())
    by_id = {str(world.accounts.ids[row]): name for name, row in world.accounts.by_username.items()}
    seeds = {"search": False, "usernames": [by_id[name] for name in names]}
    run({**following(mock.url, alone), "seeds": seeds, "crawl": {"steps": 1}})
    values = f"select a.platform_id, o.value, o.posts {OF} 'expand' order by 1"
    seeded = values.replace("p.campaign = 2", "p.campaign = 1").replace("'expand'", "'seed'")
    assert rows(database, values) == rows(alone, seeded), "as if nothing had been held"
    counted = json.loads(socialcrawl("report", database, "--campaign", "people", "--json").stdout)
    assert counted["relevance"] == pytest.approx(sum(row[1] for row in rows(alone, seeded)))


def test_the_view_of_the_frontier_is_what_the_crawl_would_choose_from(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database)
    campaign = build(check_settings(following(mock.url, database, crawl={"steps": 4}), "test"), CampaignView())
    try:
        run_loop(campaign.parts, size=campaign.together)
    finally:
        campaign.close()
    graph = campaign.crawl.graph
    rows_of = {graph.node(row): dict(zip(COLUMNS, graph.features(row), strict=True)) for row in graph.frontier()}
    names = [name for name in COLUMNS if name != "depth"]
    shown = {
        row[0]: dict(zip(names, row[1:], strict=True))
        for row in rows(database, f"select node, {', '.join(names)} from frontier_now where campaign = 'people'")
    }
    assert shown.keys() == rows_of.keys()
    linked = {row[0] for row in rows(database, "select distinct node from link where campaign = 2")}
    assert shown.keys() - linked, "some came from the capture only"
    for node, features in shown.items():
        assert features == pytest.approx({name: rows_of[node][name] for name in names})


def test_authors_who_are_captured_later_come_too(mock, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, budget={"max_posts": 40}).kind == "budget"
    run(following(mock.url, database, crawl={"steps": 4}))
    early = {row[0] for row in rows(database, BROUGHT)}
    assert 0 < len(early) < len(list_evidence())
    assert captured(mock.url, database, budget={"max_posts": 100_000}).kind == "done"
    run(following(mock.url, database, crawl={"steps": 12}))
    last = {row[0]: row[1:3] for row in rows(database, BROUGHT)}
    read_before = {row[0] for row in rows(database, READ)[:4]}
    evidence = list_evidence()
    assert last.keys() == evidence.keys() | read_before
    for name in last.keys() - read_before:
        assert evidence[name][0] / 2 < last[name][0] <= evidence[name][0], "renewed when twice as many are held"
    again = "select count(*) from (select node from pick where act = 'captured' group by node having count(*) > 1)"
    assert rows(database, again)[0][0] > 0
    twice = "select count(*) from (select node from pick where act = 'expand' group by node having count(*) > 1)"
    assert rows(database, twice) == [(0,)]
    verifies(database)


def test_a_campaign_whose_capture_is_still_running_waits_for_it(mock, tmp_path):
    database = tmp_path / "a.db"
    process = ProcessContext(SteadyClock())
    policy = {"policy": write_policy()}
    with ExitStack() as ends:
        capture = build(check_settings(capturing(mock.url, database, limits=MANY), "test"), CampaignView(), process)
        ends.callback(capture.close)
        people = build(check_settings(following(mock.url, database, source=policy), "test"), CampaignView(), process)
        ends.callback(people.close)
        early = run_loop(people.parts, size=1, patience=0.0)
        assert isinstance(early, Wait)
        assert early.why == "no account is left to read until the capture campaign finds more authors"
        assert run_loop(capture.parts, size=2).kind == "done"
        assert run_loop(people.parts, size=1, patience=0.0, folded=True).kind == "done"
    assert {row[0] for row in rows(database, BROUGHT)} == list_evidence().keys()
    verifies(database)


def test_without_a_single_author_a_run_says_what_to_do(mock, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, topic={"keywords": ["zzyzx"]}).kind == "done"
    reason = run(following(mock.url, database))
    assert reason.kind == "failed"
    nobody = "capture campaign has found no author, and is not running. Run it first"
    assert reason.why == f"there is no account to start from: the {nobody}"
    seeds = {"search": True}
    reason = run({**following(mock.url, database, seeds=seeds), "name": "more", "topic": {"keywords": ["zzyzx"]}})
    assert reason.why.startswith("the search found no posts")
    assert reason.why.endswith(f". The {nobody}")


def test_a_tracking_campaign_begins_with_the_authors_too(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database)
    track = {"target": "relevance", "expansion": "gai", "recrawl": "u", "p": 0.3}
    given = {**following(mock.url, database), "kind": "track", "track": track, "crawl": {"steps": 25}}
    assert run(given).kind == "done"
    assert {row[0]: row[1:3] for row in rows(database, BROUGHT)} == list_evidence()
    read = [row[0] for row in rows(database, READ)]
    evidence = list_evidence()
    assert evidence[read[0]][1] == max(occurrences for _, occurrences in evidence.values()), "most evidence first"
    verifies(database)
    child = socialcrawl("explain", "--db", database, "--campaign", "people", read[0])
    assert "captured: brought by the capture campaign, with the posts that were held" in child.stdout, child.stdout


ON_MASTODON = {"platform": "mastodon", "domain": "home.example"}


@pytest.mark.parametrize(
    ("capturing", "topic", "source"),
    [
        (capturing_on_bluesky, [TOPIC], {"platform": "bluesky"}),
        (tag_captures.capturing, list(tag_captures.TAGS), ON_MASTODON),
    ],
    ids=["bluesky", "mastodon"],
)
def test_authors_on_other_platforms_come_as_well(mock, capturing, topic, source, tmp_path):
    database = tmp_path / "a.db"
    assert run(capturing(mock.url, database, limits=MANY)).kind == "done"
    given = following(mock.url, database, source=source)
    del given["source"]["token_env"]
    assert run({**given, "topic": {"keywords": topic}}).kind == "done"
    authors = rows(database, "select distinct author from post p join hit h on h.post = p.id where h.campaign = 1")
    assert authors
    assert set(rows(database, "select node from pick where act = 'captured'")) == set(authors)
    verifies(database)


def test_what_is_forgotten_is_gone_here_too(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database)
    run(following(mock.url, database, crawl={"steps": 5}))
    read = {row[0] for row in rows(database, READ)}
    author = next(row[0] for row in rows(database, BROUGHT) if row[0] not in read)
    node = rows(database, "select node from account where platform_id = ?", author)[0][0]
    child = socialcrawl("forget", "--user", author, "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    assert rows(database, "select value, posts, missing, mark from outcome where node = ?", node) == [
        (0.0, 0, "forgotten", None)
    ]
    assert author not in {row[0] for row in rows(database, BROUGHT)}
    assert run(following(mock.url, database, crawl={"steps": 30})).kind == "done"
    assert rows(database, "select act from pick where node = ?", node) == [("captured",)]
    verifies(database)


def test_posts_that_are_erased_lower_the_evidence(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database)
    run(following(mock.url, database, crawl={"steps": 1}))
    loudest = "select o.node, o.posts from outcome o join pick p using (campaign, n) where p.act = 'captured' "
    node, before = rows(database, f"{loudest} order by o.posts desc limit 1")[0]
    key = rows(database, "select id from post where author = ? limit 1", node)[0][0]
    child = socialcrawl("forget", "--post", key, "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    assert rows(database, f"{loudest} and o.node = ?", node) == [(node, before - 1)]
    verifies(database)


def test_another_topic_counts_the_posts_that_are_held_anew(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database)
    run(following(mock.url, database, crawl={"steps": 3}))
    other = following(mock.url, database, crawl={"steps": 6})
    other["topic"] = {"keywords": ["the"]}
    campaign = build(check_settings(other, "test"), CampaignView(), change=True)
    try:
        assert run_loop(campaign.parts, size=1).kind == "done"
    finally:
        campaign.close()
    texts = rows(
        database,
        "select a.platform_id, group_concat(p.text, ' | ') from post p join account a on a.node = p.author "
        "where p.id in (select post from hit where campaign = 1) group by 1",
    )
    expected = {key: len(re.findall(r"(?<!\w)the(?!\w)", text, re.IGNORECASE)) for key, text in texts}
    assert {row[0]: row[2] for row in rows(database, BROUGHT)} == expected
    verifies(database)


def test_it_is_said_where_accounts_came_from(mock, tmp_path):
    database, file = tmp_path / "a.db", tmp_path / "people.toml"
    captured(mock.url, database)
    file.write_text(
        f'name = "people"\ndatabase = "{database}"\n[topic]\nkeywords = ["{TOPIC}", "nebula"]\n'
        "[seeds]\nsearch = false\n"
        f'capture = "campaign"\n[crawl]\nsteps = 5\n[source]\nbase_url = "{mock.url}"\ntoken_env = "{TOKEN_ENV}"\n',
    )
    checked = socialcrawl("check", file)
    assert checked.returncode == 0, checked.stdout
    assert "beginning with the authors of the capture campaign" in checked.stdout
    assert f"has another topic ({TOPIC}): its authors are read all the same" in " ".join(checked.stdout.split())
    quoted = socialcrawl("quote", file)
    assert "It begins with the authors of the capture campaign, which costs nothing." in " ".join(quoted.stdout.split())
    assert socialcrawl("run", file, "--yes").returncode == 0
    (chosen, *_), unread = rows(database, READ)[0], rows(database, BROUGHT)[-1][0]
    told = " ".join(socialcrawl("explain", "--db", database, "--campaign", "people", unread).stdout.split())
    assert "Not read yet: it was brought by the capture campaign, with " in told
    assert "that the database holds; these count as a link to it (partial evidence)" in told
    assert "brought by the capture campaign, with partial evidence (posts that were held)" in told
    told = json.loads(socialcrawl("explain", "--db", database, "--campaign", "people", chosen, "--json").stdout)
    assert (told["capture"], told["asks"][0]["act"], told["decision"]["agrees"]) == ("campaign", "captured", True)
    report = socialcrawl("report", database, "--campaign", "people").stdout
    count = len(list_evidence())
    assert f"authors brought by a capture: {count}, of whom 5 were read" in " ".join(report.split()), report
    out = tmp_path / "out"
    assert socialcrawl("export", file, "--format", "csv", "--out", out).returncode == 0
    sheet = (out / "datasheet.md").read_text("utf-8")
    assert f"{count} authors brought by a capture (partial evidence: matching posts only)" in sheet
    verifies(out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seeds": {"search": False, "capture": "other"}}, "has no campaign 'other' (captures in it: campaign)"),
        ({"seeds": {"search": False, "capture": "people"}}, "'people' is a campaign of kind 'collect'"),
        ({"source": {"platform": "bluesky"}}, "is a capture of X, and this campaign reads accounts of Bluesky"),
        ({"kind": "sample"}, 'capture under [seeds] has no effect where kind = "sample"'),
    ],
)
def test_mistakes_are_answered_with_what_to_write(mock, tmp_path, change, said):
    database = tmp_path / "a.db"
    captured(mock.url, database, budget={"max_posts": 10})
    run(following(mock.url, database, crawl={"steps": 1}))
    with pytest.raises(SettingsError) as refused:
        build(check_settings({**following(mock.url, database), "name": "more", **change}, "test"), CampaignView())
    assert said in str(refused.value)
    assert rows(database, "select name from campaign") == [("campaign",), ("people",)], "nothing was begun"


def test_a_capture_that_is_not_there_yet_is_a_warning_of_a_plan(tmp_path):
    plan = make_plan(check_settings(following("http://127.0.0.1:1", tmp_path / "a.db"), "test"))
    ((about, text),) = plan.warnings
    assert about == "seeds"
    assert "has no campaign 'campaign' (it has no capture yet). Run the capture first" in text


FOUND = {
    "picks": f"select p.n, p.batch, p.act, {NAMES}, p.score, p.features from pick p "
    "left join account a on a.node = p.node where p.campaign = 2 order by p.n",
    "outcomes": "select n, value, occurrences, posts, missing, mark from outcome where campaign = 2 order by n",
    "links": "select l.n, l.position, coalesce(a.platform_id, a.username), l.alpha from link l "
    "join account a on a.node = l.node where l.campaign = 2 order by 1, 2",
    "hits": "select post, occurrences from hit where campaign = 2 order by 1",
}


def found(place):
    with opened(place) as connection, connection.begin():
        return {name: [tuple(row) for row in connection.exec_driver_sql(sql)] for name, sql in FOUND.items()}


def begin_after_capture(url, place):
    """Run a capture, and give the settings of a campaign that follows it."""
    limits = {"k": K, "d": D, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5}
    assert run(archive_captures.capturing(url, place)).kind == "done"
    return {**following(url, place, crawl={"refresh_rate": 3}), "limits": limits}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    whole = find_undisturbed(tmp_path_factory.mktemp("whole"), given=begin_after_capture, found=found)
    acts = [row[2] for row in whole["picks"]]
    assert (acts.count("captured"), acts.count("expand")) == (len(list_evidence()), 20)
    assert all(whole.values())
    return whole


@FORKED
def test_a_campaign_killed_at_random_moments_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 4, undisturbed, tmp_path, given=begin_after_capture, found=found)
