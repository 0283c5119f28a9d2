"""A capture on the mock of Bluesky, end to end: every match once, opt-outs, closed searches, budgets, kills, verify."""

from collections import Counter
from functools import partial

import pytest
from archive_captures import (
    MANY,
    D,
    K,
    capturing_on_bluesky,
    check_captured,
    find_slices,
    list_matches,
    reported,
    span,
    stamp,
    texts_of,
)
from commands import socialcrawl
from test_guarantees import FORKED, hold_the_guarantee
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, rows

from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.mock.server import serve_in_thread

SERVED = {"bluesky_limit": K, "windows": {"bluesky": D}}
SIGNED = {"identifier": "someone.mock.social", "token_env": TOKEN_ENV}


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), bluesky_limit=100_000) as made:
        yield made


def captured(url, place, **more):
    reason, _ = crawl(check_settings(capturing_on_bluesky(url, place, limits=MANY, **more), "test"))
    return reason


def coverage(database):
    (query,) = reported(database)["queries"]
    return query


def verifies(database):
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def the_whole():
    begin, end = span()
    return [f"{stamp(begin)}/{stamp(end)}"]


@pytest.mark.parametrize("order", ["newest", "oldest", "even"])
@pytest.mark.parametrize("source", [{}, {"opt_outs": False}, SIGNED], ids=["profiles", "labels", "signed-in"])
def test_every_match_is_stored_once(mock, order, source, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, capture={"order": order}, source=source).kind == "done"
    assert texts_of(database) == list_matches()
    assert rows(database, "select count(*) from post") == [(len(list_matches()),)], "each once"
    states = dict(rows(database, "select state, count(*) from captured_slice group by 1"))
    assert states.keys() == {"complete", "cut"}, "some slices were full"
    query = coverage(database)
    assert (query["query"], query["complete"], query["left"], query["failed"]) == (TOPIC, the_whole(), [], [])
    verifies(database)


def test_no_cursor_is_needed_where_no_second_is_fuller_than_a_page(tmp_path):
    with serve_in_thread(posts(), bluesky_limit=100_000, closed_cursors=True, search_depth=15) as mock:
        assert captured(mock.url, tmp_path / "a.db").kind == "done"
    assert texts_of(tmp_path / "a.db") == list_matches()
    assert coverage(tmp_path / "a.db")["complete"] == the_whole()


@pytest.mark.parametrize("share", [{"nobot": 0.4}, {"noindex": 0.4}, {"nobot": 1.0}], ids=["some", "labelled", "all"])
def test_who_opted_out_is_left_out_and_the_spans_are_complete_all_the_same(share, tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), bluesky_limit=100_000, **share) as mock:
        assert captured(mock.url, database).kind == "done"
    stored, matches = Counter(texts_of(database)), Counter(list_matches())
    assert stored < matches
    assert bool(stored) == (share != {"nobot": 1.0})
    by = {text: author for text, author in zip(posts().texts, posts().authors, strict=True) if matches[text] == 1}
    left, kept = ({by[text].lower() for text in some if text in by} for some in (matches - stored, stored))
    assert not left & kept, "all of an account, or nothing"
    assert coverage(database)["complete"] == the_whole()
    verifies(database)


def test_slices_of_a_closed_search_fail_and_say_why(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), bluesky_limit=100_000, closed_search=True) as mock:
        reason = captured(mock.url, database)
        assert "6 of 6 slices of time could not be read" in reason.why
        query = coverage(database)
        assert (query["complete"], {why for _, why in query["failed"]}) == ([], {"protected"})
        child = socialcrawl("report", database)
        assert "protected: the server does not let you search. Set a token under [source]" in " ".join(
            child.stdout.split()
        ), child.stdout
        assert captured(mock.url, tmp_path / "b.db", source=SIGNED).kind == "done"
    assert texts_of(tmp_path / "b.db") == list_matches()


@pytest.mark.parametrize("order", ["newest", "oldest", "even"])
@pytest.mark.parametrize("budget", [{"max_posts": 60}, {"max_requests": 25}], ids=["posts", "requests"])
def test_with_a_budget_that_ends_early_what_is_called_complete_is_complete(mock, order, budget, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, capture={"order": order}, budget=budget).kind == "budget"
    query, stored = coverage(database), texts_of(database)
    assert query["complete"]
    assert query["left"]
    for interval in query["complete"]:
        assert set(list_matches(*map(int, parse_span(interval)))) <= set(stored)
    assert len(stored) < len(list_matches())
    more = dict.fromkeys(budget, 100000)
    assert captured(mock.url, database, capture={"order": order}, budget=more).kind == "done"
    assert texts_of(database) == list_matches(), "a higher budget goes on where the lower one ended"


def test_what_is_forgotten_is_in_no_table_of_a_capture_that_still_verifies_and_goes_on(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database, budget={"max_posts": 60})
    loudest = "select a.platform_id from post p join account a on a.node = p.author group by 1 order by count(*) desc"
    author = rows(database, f"{loudest} limit 1")[0][0]
    child = socialcrawl("forget", "--user", author, "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    assert rows(database, f"select count(*) from account where platform_id = '{author}'") == [(0,)]
    captured(mock.url, database, budget={"max_posts": 100_000})
    assert rows(database, f"select count(*) from account where platform_id = '{author}'") == [(0,)]
    assert 0 < len(texts_of(database)) < len(list_matches())
    verifies(database)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return find_slices(tmp_path_factory.mktemp("whole"), given=capturing_on_bluesky, serving=SERVED)


@FORKED
def test_a_capture_killed_at_random_moments_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 3, undisturbed, tmp_path, given=capturing_on_bluesky, serving=SERVED)


@FORKED
@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_a_capture_killed_and_cut_off_again_and_again_has_what_a_scan_finds(database, undisturbed, tmp_path):
    check = partial(check_captured, expected=list_matches())
    hold_the_guarantee(
        database,
        100,
        undisturbed,
        tmp_path,
        given=capturing_on_bluesky,
        serving=SERVED,
        cut_every=10,
        check=check,
    )
