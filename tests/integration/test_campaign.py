import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console
from x_crawls import TOPIC, campaign_of, crawl, posts, rows, sequence

from socialcrawl.cli.commands.run import build_object, run_campaign, show_ending
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.mock import faults
from socialcrawl.mock.names import DELETED, HERE, PROTECTED, SUSPENDED
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.render.campaign_report import CampaignReport, show

WORLD = build_world(posts())
GONE = build_world(posts(), 0.3)
ACTIVE = [name for name, row in sorted(WORLD.accounts.by_username.items()) if len(WORLD.timelines.of(row)) > 5]


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def beta(name, most=None):
    """The relevance of an account, straight from the posts; of its newest `most` posts where so many are read."""
    row = WORLD.accounts.by_username[name]
    word = re.compile(rf"(?<!\w){re.escape(TOPIC)}(?!\w)")
    texts = [WORLD.texts[post] for post in WORLD.timelines.of(row)[::-1][:most]]
    return compute_worth(sum(len(word.findall(text.lower())) for text in texts))


def test_a_campaign_from_a_search_finds_what_there_is_and_the_store_says_the_same(mock, tmp_path):
    database = tmp_path / "a.db"
    reason, planner = crawl(campaign_of(mock.url, database))
    assert (reason.kind, reason.why) == ("done", "the limit of 40 steps is reached")
    acts = dict(rows(database, "select act, count(*) from pick group by 1"))
    assert acts == {"search": 1, "resolve": 10, "seed": 10, "expand": 40}
    outcomes = rows(
        database,
        "select lower(a.username), o.value, o.posts from outcome o join pick p using (campaign, n) "
        "join account a on a.node = o.node where p.act in ('seed', 'expand')",
    )
    assert len({name for name, _, _ in outcomes}) == 50
    assert {name: value for name, value, _ in outcomes} == pytest.approx({name: beta(name) for name, _, _ in outcomes})
    assert all(beta(name) > 0 for name, act in rows(database, QUERY_SEEDS) if act == "seed")
    assert sum(count for _, _, count in outcomes) == rows(database, QUERY_POSTS)[0][0]
    (spent,) = rows(database, "select count(*), sum(cost), sum(posts) from request where kind != 'held'")
    assert spent == (planner.budget.requests, planner.budget.money, planner.budget.posts)


QUERY_POSTS = "select count(*) from post where author in (select node from pick where act in ('seed', 'expand'))"
QUERY_SEEDS = "select lower(a.username), p.act from pick p join account a using (node) order by p.n"


def test_both_vocabularies_ask_the_same_accounts_in_the_same_order_for_the_same_links(mock, tmp_path):
    told = []
    for words in ("tweet", "post"):
        database = tmp_path / f"{words}.db"
        crawl(campaign_of(mock.url, database, source={"vocabulary": words}))
        who = "coalesce(a.platform_id, a.handle)"
        links = (
            f"select {who}, l.alpha from link l join account a using (node) "
            "join pick p on p.n = l.n and p.act in ('seed', 'expand') order by l.n, l.position"
        )
        counts = "select sum(reposts), sum(replies), count(*), count(lang), count(hashtags) from post"
        picks = sequence(database)
        asked = [pick for pick in picks if pick[0] != "resolve"]
        told.append((asked, rows(database, links), rows(database, counts)))
        # the new vocabulary's search names its authors, with their profiles; they are not looked up (and billed) again
        assert len(picks) - len(asked) == (10 if words == "tweet" else 0)
    assert told[0] == told[1]
    assert len(told[0][0]) == 51


@pytest.mark.parametrize("estimator", ["random", "hybrid-sum"])
def test_the_same_seed_gives_the_same_sequence_in_two_databases(mock, tmp_path, estimator):
    told = []
    for name in ("a", "b"):
        how = {"estimator": estimator, "switch_after": 10, "refresh_rate": 4}
        crawl(campaign_of(mock.url, tmp_path / f"{name}.db", crawl=how))
        told.append(sequence(tmp_path / f"{name}.db"))
    assert told[0] == told[1]
    other = campaign_of(mock.url, tmp_path / "c.db", crawl={"estimator": estimator, "switch_after": 10}, seed=2)
    crawl(other)
    assert (sequence(tmp_path / "c.db") == told[0]) == (estimator != "random") or estimator == "hybrid-sum"


def test_named_seeds_are_asked_first_in_their_order_however_they_are_spelled(mock, tmp_path):
    database = tmp_path / "a.db"
    names = [ACTIVE[4].upper(), f"@{ACTIVE[2]}", ACTIVE[7], ACTIVE[2]]
    file = tmp_path / "seeds.txt"
    file.write_text(f"# those we know\n@{ACTIVE[9]}\n\n  {ACTIVE[4]}  \n", "utf-8")
    seeds = {"search": False, "usernames": names, "file": file}
    crawl(campaign_of(mock.url, database, seeds=seeds, crawl={"steps": 5}))
    asked = [name for name, act in rows(database, QUERY_SEEDS) if act == "seed"]
    assert asked == [ACTIVE[4], ACTIVE[2], ACTIVE[7], ACTIVE[9]]


def test_named_seeds_go_before_those_of_the_search(mock, tmp_path):
    database = tmp_path / "a.db"
    crawl(campaign_of(mock.url, database, seeds={"usernames": ACTIVE[:2], "most": 3}, crawl={"steps": 1}))
    asked = [name for name, act in rows(database, QUERY_SEEDS) if act == "seed"]
    assert asked[:2] == ACTIVE[:2]
    assert len(asked) == 5


def test_accounts_that_are_gone_are_missing_for_the_reason_that_the_mock_has(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), missing=0.3, limit=100_000) as mock:
        reason, _ = crawl(campaign_of(mock.url, database, crawl={"steps": 120}))
    assert reason.kind == "done"
    found = rows(
        database,
        "select coalesce(a.platform_id, a.handle), o.missing, o.value, o.posts from outcome o "
        "join account a using (node) join pick p using (campaign, n) where p.act = 'expand'",
    )
    accounts = GONE.accounts
    fates = {name: int(accounts.fates[row]) for name, row in accounts.by_username.items()}
    fates |= {str(key): int(accounts.fates[row]) for key, row in accounts.by_id.items()}
    # A deleted account is known by name only; asked for by name, nobody can tell it from one that never was.
    words = {HERE: {None}, SUSPENDED: {"suspended"}, PROTECTED: {"protected"}, DELETED: {"deleted", "unknown"}}
    assert all(missing in words[fates[name]] for name, missing, _, _ in found)
    assert {missing for _, missing, _, _ in found} >= {None, "suspended", "protected", "unknown"}
    assert all((value, count) == (0.0, 0) for _, missing, value, count in found if missing)


def test_seeds_that_are_gone_are_left_out_and_told_if_they_are_all_there_is(tmp_path):
    gone = [n for n, row in sorted(GONE.accounts.by_username.items()) if GONE.accounts.fates[row] == SUSPENDED][:3]
    here = [n for n in ACTIVE if GONE.accounts.fates[GONE.accounts.by_username[n]] == HERE][:1]
    with serve_in_thread(posts(), missing=0.3, limit=100_000) as mock:
        only_gone = {"search": False, "usernames": [*gone, "nobody_at_all"]}
        reason, _ = crawl(campaign_of(mock.url, tmp_path / "a.db", seeds=only_gone))
        assert reason.kind == "failed"
        assert re.match(r"none of the 4 seeds.* can be read \(suspended, unknown\)", reason.why)
        some = {"search": False, "usernames": [*gone, *here]}
        reason, _ = crawl(campaign_of(mock.url, tmp_path / "b.db", seeds=some, crawl={"steps": 3}))
    assert reason.kind == "done"
    assert [name for name, act in rows(tmp_path / "b.db", QUERY_SEEDS) if act == "seed"] == here


def test_accounts_that_never_posted_are_asked_and_worth_nothing(mock, tmp_path):
    database = tmp_path / "a.db"
    reason, _ = crawl(campaign_of(mock.url, database, crawl={"steps": None}))
    assert reason.why == "the frontier is empty: every account in reach was read"
    silent = {name for name, row in WORLD.accounts.by_username.items() if not len(WORLD.timelines.of(row))}
    empty = rows(
        database,
        "select lower(a.username), o.value, o.missing from outcome o join account a using (node) where o.posts = 0",
    )
    asked = [(name, value, missing) for name, value, missing in empty if name in silent]
    assert len(asked) > 10
    assert all((value, missing) == (0.0, None) for _, value, missing in asked)


def test_as_many_pages_are_read_as_wanted_and_no_more(mock, tmp_path):
    busiest = max(ACTIVE, key=lambda name: len(WORLD.timelines.of(WORLD.accounts.by_username[name])))
    whole = len(WORLD.timelines.of(WORLD.accounts.by_username[busiest]))
    assert whole > 100
    for pages, read in ((1, 100), (32, whole)):
        database = tmp_path / f"{pages}.db"
        how = {"source": {"pages_per_user": pages}, "seeds": {"search": False, "usernames": [busiest]}}
        crawl(campaign_of(mock.url, database, crawl={"steps": 1}, **how))
        (outcome,) = rows(database, "select o.posts, o.value from outcome o join pick p using (n) where p.act = 'seed'")
        assert outcome == (read, pytest.approx(beta(busiest, read)))


def test_the_original_json_is_kept_on_request(mock, tmp_path):
    for keep in (True, False):
        database = tmp_path / f"{keep}.db"
        crawl(campaign_of(mock.url, database, source={"keep_original": keep}, crawl={"steps": 2}))
        kept = rows(database, "select id, text, original from post")
        assert kept
        assert all((json.loads(original)["id"] == key) if keep else original is None for key, _, original in kept)


def test_a_renamed_account_keeps_its_number(mock, tmp_path):
    database = tmp_path / "a.db"
    name = ACTIVE[0]
    one = {"search": False, "usernames": [name]}
    crawl(campaign_of(mock.url, database, seeds=one, crawl={"steps": 1}))
    ((node, key),) = rows(database, "select node, platform_id from account where handle = ?", name)
    user = {"id": key, "username": "Brand_New_Name", "name": "x", "protected": False}
    found = faults.Fault("answer", 200, json.dumps({"data": [user]}).encode())
    again = {"search": False, "usernames": ["brand_new_name"]}
    with serve_in_thread(
        posts(), limit=1000, fault=lambda endpoint, _: found if endpoint == "/2/users/by" else None
    ) as later:
        crawl(campaign_of(later.url, database, name="later", seeds=again, crawl={"steps": 1}))
    assert rows(database, "select node, handle from account where platform_id = ?", key) == [(node, "brand_new_name")]
    assert not rows(database, "select 1 from account where handle = ?", name)


@pytest.mark.parametrize("requests", range(2, 9))
def test_a_seed_that_turns_out_to_be_an_account_already_met_is_gone_on_with_after_a_pause(tmp_path, requests):
    """The search finds authors by id; a person named two of them: their look-ups say `same-as`."""
    with serve_in_thread(posts(), limit=100_000) as mock:
        crawl(campaign_of(mock.url, tmp_path / "first.db"))
        named = "select a.username from pick join account a using (node) where act = 'seed' order by n limit 3"
        how = {"seeds": {"usernames": [name for (name,) in rows(tmp_path / "first.db", named)]}}
        crawl(campaign_of(mock.url, tmp_path / "whole.db", **how))
        paused, _ = crawl(campaign_of(mock.url, tmp_path / "a.db", budget={"max_requests": requests}, **how))
        assert paused.kind == "budget"
        reason, _ = crawl(campaign_of(mock.url, tmp_path / "a.db", **how))
    assert reason.kind == "done"
    merged = "select count(*) from outcome where missing like 'same-as:%'"
    assert rows(tmp_path / "a.db", merged)[0][0] > 0
    assert sequence(tmp_path / "a.db") == sequence(tmp_path / "whole.db")


def test_a_run_names_the_seeds_that_could_not_be_read_and_says_why(tmp_path):
    gone = [n for n, row in sorted(GONE.accounts.by_username.items()) if GONE.accounts.fates[row] == SUSPENDED][:1]
    here = [n for n in ACTIVE if GONE.accounts.fates[GONE.accounts.by_username[n]] == HERE][:1]
    seeds = {"search": False, "usernames": [*gone, *here, "nobody_at_all"]}
    with serve_in_thread(posts(), missing=0.3, limit=100_000) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", seeds=seeds, crawl={"steps": 2})
        ending = run_campaign(settings, Console(file=io.StringIO()), quiet=True)
    assert ending.report.unread == [(gone[0], "suspended"), ("nobody_at_all", "unknown")]
    assert build_object(ending)["seeds_unread"] == {gone[0]: "suspended", "nobody_at_all": "unknown"}
    console = Console(file=io.StringIO(), width=100)
    show_ending(settings, console, ending, as_json=False)
    text = console.file.getvalue()
    assert f"seeds that could not be read:\n  {gone[0]}: suspended\n  nobody_at_all: unknown\n" in text


def test_pages_in_a_report_have_no_at(mock, tmp_path):
    settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 2})
    found = run_campaign(settings, Console(file=io.StringIO()), quiet=True).report.found
    row = found.top_seeds[0]
    top = [{**row, "account": "@https://a.example/"}, {**row, "account": "did:plc:bob"}]
    for platform, word, name in (("web", "page", "https://a.example/"), ("x", "account", "@https://a.example/")):
        console = Console(file=io.StringIO(), width=100)
        shown = replace(found, platform=platform, discovered=top)
        show(console, CampaignReport(shown, billed=False))
        lines = [line.split() for line in console.file.getvalue().splitlines()]
        assert [word, "relevance"] in [line[:2] for line in lines]
        assert {line[0] for line in lines if line} >= {name, "did:plc:bob"}


def test_a_report_says_which_setting_excludes_a_seed(mock, tmp_path):
    settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 2})
    found = run_campaign(settings, Console(file=io.StringIO()), quiet=True).report.found
    for platform, where in (("web", "a host that [source] hosts does not name"), ("x", "[accounts] exclude names it")):
        console = Console(file=io.StringIO(), width=200)
        lost = [("https://b.example/", "excluded"), ("ann", "suspended")]
        shown = replace(found, platform=platform)
        show(console, CampaignReport(shown, billed=False, unread=lost))
        lines = [line for line in console.file.getvalue().splitlines() if line.startswith("  ")]
        assert any(line.startswith("  https://b.example/: excluded: ") and where in line for line in lines)
        assert "  ann: suspended" in lines
