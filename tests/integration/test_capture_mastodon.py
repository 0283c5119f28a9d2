"""A capture of hashtags on the mock of Mastodon: every post once, what a budget leaves, opt-outs, kills, verify."""

from functools import partial

import httpx
import pytest
from archive_captures import MANY, D, K, check_captured, find_slices, reported, span, stamp, texts_of
from commands import socialcrawl
from tag_captures import TAGS, capturing, list_tagged
from test_guarantees import FORKED, hold_the_guarantee
from x_crawls import TOKEN_ENV, crawl, posts, rows

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread

SERVED = {"mastodon_limit": K, "paged_limit": K, "windows": {"mastodon": D, "paged": D}}
OPEN = {"mastodon_limit": 100_000, "paged_limit": 100_000}
AUTHORS = "select distinct lower(a.username) from account a join post p on p.author = a.node"


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), **OPEN) as made:
        yield made


def captured(url, place, **more):
    reason, _ = crawl(check_settings(capturing(url, place, limits=MANY, **more), "test"))
    return reason


@pytest.mark.parametrize("order", ["newest", "oldest", "even"])
def test_every_post_with_the_hashtags_is_stored_once(mock, order, tmp_path):
    database = tmp_path / "a.db"
    reason = captured(mock.url, database, capture={"order": order})
    assert reason.kind == "done"
    assert texts_of(database) == list_tagged()
    assert rows(database, "select count(*), count(distinct id) from post") == [(len(list_tagged()),) * 2]
    states = dict(rows(database, "select state, count(*) from captured_slice group by 1"))
    assert states.keys() == {"complete", "cut"}, "some slices were full"
    whole = [f"{stamp(span()[0])}/{stamp(span()[1])}"]
    queries = reported(database)["queries"]
    assert [(one["query"], one["complete"], one["left"], one["failed"]) for one in queries] == [
        (tag, whole, [], []) for tag in TAGS
    ]
    assert {endpoint for (endpoint,) in rows(database, "select distinct endpoint from request")} == {
        "home.example/api/v1/timelines/tag/:hashtag?max_id"
    }, "instances count them as later pages"


@pytest.mark.parametrize("order", ["newest", "oldest", "even"])
def test_with_a_budget_that_ends_early_what_is_called_complete_is_complete(mock, order, tmp_path):
    database = tmp_path / "a.db"
    reason = captured(mock.url, database, capture={"order": order}, budget={"max_requests": 20})
    assert reason.kind == "budget"
    stored, queries = texts_of(database), reported(database)["queries"]
    assert any(query["left"] for query in queries)
    assert any(query["complete"] for query in queries)
    for query in queries:
        for interval in query["complete"]:
            assert set(list_tagged([query["query"]], *map(int, parse_span(interval)))) <= set(stored)
    assert len(stored) < len(list_tagged())
    again = captured(mock.url, database, capture={"order": order}, budget={"max_requests": 10_000})
    assert again.kind == "done"
    assert texts_of(database) == list_tagged(), "a higher budget goes on where the lower one ended"


def test_words_are_captured_by_the_hashtags_that_they_are(mock, tmp_path):
    captured(mock.url, tmp_path / "a.db", tags=("Week end", "#MOOD", "mood", "@ann"))
    assert [query["query"] for query in reported(tmp_path / "a.db")["queries"]] == ["#Weekend", "#mood"]
    stored = sorted(text for (text,) in rows(tmp_path / "a.db", "select text from post"))
    assert stored == list_tagged()


@pytest.mark.parametrize("opt_outs", [True, False])
def test_posts_of_those_who_opt_out_are_left_out_and_slices_are_complete_all_the_same(opt_outs, tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), noindex=0.3, nobot=0.3, **OPEN) as mock:
        assert captured(mock.url, database, source={"opt_outs": opt_outs}).kind == "done"
    missing = len(list_tagged()) - len(texts_of(database))
    assert bool(missing) == opt_outs
    authors = {name.partition("@")[0] for (name,) in rows(database, AUTHORS)}
    silent = {name.lower() for name in posts().authors} - authors
    assert texts_of(database) == list_tagged(without=silent)
    assert {query["complete"][0] for query in reported(database)["queries"]} == {
        f"{stamp(span()[0])}/{stamp(span()[1])}"
    }


@pytest.mark.parametrize("trouble", [{"kind": "repeat"}, {"kind": "overlap", "posts": 2}, {"kind": "cut"}])
def test_pages_that_come_again_or_not_at_all_leave_no_hole(trouble, tmp_path):
    with serve_in_thread(posts(), **OPEN) as mock:
        faults = {"fault": [{**trouble, "every": 3, "times": 9, "endpoint": "/api/v1/timelines/tag/:hashtag"}]}
        httpx.post(f"{mock.url}/_mock/faults", json=faults).raise_for_status()
        assert captured(mock.url, tmp_path / "a.db", capture={"parts": 2, "pages": 5}).kind == "done"
    assert texts_of(tmp_path / "a.db") == list_tagged()
    assert {query["complete"][0] for query in reported(tmp_path / "a.db")["queries"]} == {
        f"{stamp(span()[0])}/{stamp(span()[1])}"
    }


@pytest.mark.parametrize(("access", "token"), [("authenticated", False), ("disabled", False), ("disabled", True)])
def test_an_instance_that_shows_no_hashtags_ends_the_run_before_anything_is_called_complete(access, token, tmp_path):
    source = {"token_env": TOKEN_ENV} if token else {}
    with serve_in_thread(posts(), hashtag_feeds=access, **OPEN) as mock:
        given = capturing(mock.url, tmp_path / "a.db", limits=MANY, source=source)
        reason, _ = crawl(check_settings(given, "test"))
    assert reason.kind == "failed"
    assert ("turned its hashtag timelines off" if token else "set token_env under [source]") in reason.why
    assert rows(tmp_path / "a.db", "select count(*) from captured_slice where state <> 'open'") == [(0,)]


def test_a_token_opens_hashtags_that_strangers_are_not_shown(tmp_path):
    with serve_in_thread(posts(), hashtag_feeds="authenticated", **OPEN) as mock:
        assert captured(mock.url, tmp_path / "a.db", source={"token_env": TOKEN_ENV}).kind == "done"
    assert texts_of(tmp_path / "a.db") == list_tagged()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return find_slices(tmp_path_factory.mktemp("whole"), given=capturing, serving=SERVED)


@FORKED
def test_a_capture_killed_at_random_moments_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 4, undisturbed, tmp_path, given=capturing, serving=SERVED)


@FORKED
@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_a_capture_killed_and_cut_off_again_and_again_has_what_a_scan_finds(database, undisturbed, tmp_path):
    check = partial(check_captured, expected=list_tagged())
    hold_the_guarantee(
        database,
        100,
        undisturbed,
        tmp_path,
        given=capturing,
        serving=SERVED,
        cut_every=10,
        check=check,
    )


def test_what_is_forgotten_is_in_no_table_of_a_capture_that_still_verifies_and_goes_on(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database, budget={"max_requests": 20})
    loudest = "select a.platform_id from post p join account a on a.node = p.author group by 1 order by count(*) desc"
    author = rows(database, f"{loudest}, 1 limit 1")[0][0]
    child = socialcrawl("forget", "--user", author, "--platform", "mastodon", "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    assert rows(database, f"select count(*) from account where platform_id = '{author}'") == [(0,)]
    captured(mock.url, database, budget={"max_requests": 10_000})
    assert rows(database, f"select count(*) from account where platform_id = '{author}'") == [(0,)]
    assert texts_of(database) == list_tagged(without={author.partition("@")[0]})
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def test_a_capture_verifies_is_quoted_and_exports(mock, tmp_path):
    settings = check_settings(capturing(mock.url, tmp_path / "a.db", limits=MANY, capture={"order": "even"}), "test")
    assert make_plan(settings).shape.roles.search == "/api/v1/timelines/tag/:hashtag?max_id"
    crawl(settings)
    child = socialcrawl("verify", tmp_path / "a.db")
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout
    child = socialcrawl("export", tmp_path / "a.db", "--format", "csv", "--out", tmp_path / "out")
    assert child.returncode == 0, child.stderr
    assert "slice by slice of time" in (tmp_path / "out" / "datasheet.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"topic": {"keywords": ["@ann@home.example", "https://example.org/", "2024"]}}, 'write keywords as "#tag"'),
        ({"capture": {"from": "2017-10-17"}}, "since 2017-10-18 only: set from under [capture] to that day or later"),
        ({"capture": {"from": None}}, "Write under [capture] from when posts are to be read"),
    ],
)
def test_mistakes_are_answered_with_what_to_write(change, said, tmp_path):
    given = capturing("http://127.0.0.1:1", tmp_path / "a.db")
    for section, values in change.items():
        given[section] = {**given[section], **values}
    with pytest.raises(SettingsError) as refused:
        make_plan(check_settings(given, "test"))
    assert said in str(refused.value)


def test_words_without_a_sign_are_named_with_the_hashtag_that_is_read(tmp_path):
    given = capturing("http://127.0.0.1:1", tmp_path / "a.db", tags=["#mood", "good weekend", "https://a.example/b"])
    said = [text for about, text in make_plan(check_settings(given, "test")).warnings if about == "keywords"]
    assert len(said) == 2
    assert "'good weekend' is read as the hashtag #goodweekend" in said[0]
    assert "'https://a.example/b' can be no hashtag" in said[1]
