"""A capture by Bluesky's second search, where a server has enabled it: every match once, and what to do elsewhere."""

from pathlib import Path

import pytest
from archive_captures import (
    MANY,
    D,
    K,
    capturing_on_bluesky,
    find_slices,
    list_matches,
    reported,
    span,
    stamp,
    texts_of,
    write_small_pages,
)
from commands import socialcrawl
from test_guarantees import FORKED, hold_the_guarantee
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, rows

from socialcrawl.campaign.build import build
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView

SEARCH, SEARCH_V2 = "/xrpc/app.bsky.feed.searchPosts", "/xrpc/app.bsky.feed.searchPostsV2"
SERVED = {"bluesky_limit": K, "windows": {"bluesky": D}, "search_v2": True}
SIGNED = {"identifier": "someone.mock.social", "token_env": TOKEN_ENV}


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), bluesky_limit=100_000, search_v2=True) as made:
        yield made


def capturing(url, place, *, source=None, **more):
    source = {"policy": write_small_pages("bluesky", SEARCH_V2, 10), **(source or {})}
    more["capture"] = {"search": "v2", **more.get("capture", {})}
    return capturing_on_bluesky(url, place, source=source, **more)


def captured(url, place, **more):
    reason, _ = crawl(check_settings(capturing(url, place, limits=MANY, **more), "test"))
    return reason


def the_whole():
    return ["/".join(map(stamp, span()))]


def list_endpoints(database):
    return {endpoint for (endpoint,) in rows(database, "select distinct endpoint from request")}


@pytest.mark.parametrize("order", ["newest", "even"])
@pytest.mark.parametrize("source", [{}, {"opt_outs": False}, SIGNED], ids=["profiles", "labels", "signed-in"])
def test_every_match_is_stored_once_whenever_it_was_written(mock, order, source, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, capture={"order": order}, source=source).kind == "done"
    assert texts_of(database) == list_matches()
    assert rows(database, "select count(*) from post") == [(len(list_matches()),)], "each once"
    assert SEARCH_V2 in list_endpoints(database)
    assert SEARCH not in list_endpoints(database)
    (query,) = reported(database)["queries"]
    assert (query["query"], query["complete"], query["left"], query["failed"]) == (TOPIC, the_whole(), [], [])
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def test_both_searches_find_the_same_posts_also_by_hashtags(mock, tmp_path):
    words = {"keywords": ["#mood", "weekend", TOPIC]}
    captured(mock.url, tmp_path / "a.db", topic=words)
    captured(mock.url, tmp_path / "b.db", topic=words, capture={"search": "v1"})
    assert texts_of(tmp_path / "a.db") == texts_of(tmp_path / "b.db") != []


def test_no_cursor_is_needed_where_no_second_is_fuller_than_a_page(tmp_path):
    with serve_in_thread(posts(), bluesky_limit=100_000, search_v2=True, search_v2_depth=15) as mock:
        assert captured(mock.url, tmp_path / "a.db").kind == "done"
        sent = rows(tmp_path / "a.db", "select count(*) from request where status = 403")
    assert sent == [(0,)], "cursors are refused to who has not signed in"
    assert texts_of(tmp_path / "a.db") == list_matches()


def test_where_the_search_is_not_enabled_the_run_stops_and_says_what_to_set(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), bluesky_limit=100_000) as mock:
        reason = captured(mock.url, database)
        assert reason.kind == "failed"
        assert 'this server has not enabled searchPostsV2: set search = "v1" under [capture] and continue' in reason.why
        assert rows(database, "select count(*) from captured_slice where state <> 'open'") == [(0,)]
        given = check_settings(capturing(mock.url, database, limits=MANY, capture={"search": "v1"}), "test")
        build(given, CampaignView(), change=True).close()
        assert crawl(given)[0].kind == "done"
    assert texts_of(database) == list_matches()


@pytest.mark.parametrize("platform", ["x", "mastodon"])
def test_other_platforms_have_one_search(platform, tmp_path):
    given = capturing("http://127.0.0.1:1", tmp_path / "a.db", topic={"keywords": ["#sky"]})
    given["source"] = {"platform": platform, "base_url": "http://127.0.0.1:1"}
    with pytest.raises(SettingsError, match="search belongs to another platform than"):
        make_plan(check_settings(given, "test"))


def test_a_policy_file_without_the_endpoint_is_refused_with_where_it_is(tmp_path):
    given = capturing("http://127.0.0.1:1", tmp_path / "a.db")
    older = tmp_path / "older.toml"
    text = Path(given["source"]["policy"]).read_text("utf-8")
    older.write_text(text.replace("searchPostsV2", "searchPostsV3"), "utf-8")
    given["source"]["policy"] = str(older)
    with pytest.raises(SettingsError, match=r"no \[endpoints.*searchPostsV2.*copy it from config/bluesky.toml"):
        make_plan(check_settings(given, "test"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return find_slices(tmp_path_factory.mktemp("whole"), given=capturing, serving=SERVED)


@FORKED
def test_a_capture_by_the_second_search_killed_at_random_moments_finds_what_it_would_have_found(
    database, undisturbed, tmp_path
):
    hold_the_guarantee(database, 3, undisturbed, tmp_path, given=capturing, serving=SERVED)
