"""A capture by full-text search on the mock of Mastodon: every post once, and no trust in a search that is silent."""

import re

import orjson
import pytest
from archive_captures import MANY, D, K, find_slices, reported, span, stamp, texts_of, write_small_pages
from commands import socialcrawl
from tag_captures import capturing as capturing_tags
from tag_captures import list_tagged
from test_guarantees import FORKED, hold_the_guarantee
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, rows

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.errors import SettingsError
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.mastodon.source import INSTANCE, PAGED_TAG

SEARCH = "/api/v2/search"
SERVED = {"mastodon_limit": K, "paged_limit": K, "windows": {"mastodon": D, "paged": D}}
OPEN = {"mastodon_limit": 100_000, "paged_limit": 100_000}
NOTHING = b'{"accounts": [], "statuses": [], "hashtags": []}'


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), **OPEN) as made:
        yield made


def capturing(url, place, *, keywords=(TOPIC,), source=None, **more):
    source = {"policy": write_small_pages("mastodon", SEARCH, 8), "token_env": TOKEN_ENV, **(source or {})}
    more["capture"] = {"full_text": True, **more.get("capture", {})}
    return {**capturing_tags(url, place, source=source, **more), "topic": {"keywords": list(keywords)}}


def captured(url, place, **more):
    reason, _ = crawl(check_settings(capturing(url, place, limits=MANY, **more), "test"))
    return reason


def list_found(begin=None, end=None, *, without=(), word=TOPIC):
    """The texts of the posts that the search has, by an independent scan: no reposts, the word as a whole."""
    table, (first, last) = posts(), span()
    pattern = re.compile(rf"(?<!\w){re.escape(fold_name(word))}(?!\w)")
    return sorted(
        table.texts[i]
        for i in range(len(table))
        if (begin or first) <= table.created_at[i] < (end or last)
        and pattern.search(fold_name(table.texts[i]))
        and not table.texts[i].startswith("RT @")
        and table.authors[i].lower() not in without
    )


def stored(database):
    return sorted(text for (text,) in rows(database, "select text from post"))


def the_whole():
    return ["/".join(map(stamp, span()))]


def verifies(database):
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


@pytest.mark.parametrize("order", ["newest", "oldest", "even"])
def test_every_post_with_the_word_is_stored_once(mock, order, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, capture={"order": order}).kind == "done"
    assert stored(database) == list_found() != []
    states = dict(rows(database, "select state, count(*) from captured_slice group by 1"))
    assert states.keys() == {"complete", "cut"}, "some slices were full"
    (query,) = reported(database)["queries"]
    assert (query["query"], query["complete"], query["left"], query["failed"]) == (TOPIC, the_whole(), [], [])
    verifies(database)


def test_hashtags_are_read_from_their_timelines_and_the_other_keywords_searched(mock, tmp_path):
    captured(mock.url, tmp_path / "a.db", keywords=("#mood", TOPIC, TOPIC.upper()), capture={"parts": 2})
    assert [query["query"] for query in reported(tmp_path / "a.db")["queries"]] == ["#mood", TOPIC.upper()]
    assert set(stored(tmp_path / "a.db")) == {*list_found(), *list_tagged(("#mood",))}


@pytest.mark.parametrize("order", ["newest", "even"])
def test_with_a_budget_that_ends_early_what_is_called_complete_is_complete(mock, order, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, capture={"order": order}, budget={"max_requests": 15}).kind == "budget"
    (query,) = reported(database)["queries"]
    assert query["complete"]
    assert query["left"]
    for interval in query["complete"]:
        assert set(list_found(*map(int, parse_span(interval)))) <= set(stored(database))
    assert len(stored(database)) < len(list_found())
    assert captured(mock.url, database, capture={"order": order}, budget={"max_requests": 9_999}).kind == "done"
    assert stored(database) == list_found()


def test_posts_of_those_who_opt_out_are_left_out_and_slices_are_complete_all_the_same(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), nobot=0.4, **OPEN) as mock:
        assert captured(mock.url, database).kind == "done"
    authors = "select distinct lower(a.username) from account a join post p on p.author = a.node"
    kept = {name.partition("@")[0] for (name,) in rows(database, authors)}
    assert 0 < len(stored(database)) < len(list_found())
    assert stored(database) == list_found(without={name.lower() for name in posts().authors} - kept)
    assert reported(database)["queries"][0]["complete"] == the_whole()


@pytest.mark.parametrize(
    ("search", "said"),
    [("silent", "this instance finds no posts, whatever is searched"), ("days", "needs Mastodon 4.3.2 or later")],
)
def test_a_search_that_finds_nothing_or_knows_no_times_ends_the_run_before_anything_is_called_complete(
    search, said, tmp_path
):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), full_text=search, **OPEN) as mock:
        reason = captured(mock.url, database)
    assert reason.kind == "failed"
    assert said in reason.why
    assert rows(database, "select count(*) from captured_slice where state <> 'open'") == [(0,)]
    with serve_in_thread(posts(), **OPEN) as mock:
        assert captured(mock.url, database).kind == "done"
    assert stored(database) == list_found(), "once the search works, the capture goes on"


@pytest.mark.parametrize("every", [3, 7])
def test_a_search_that_is_silent_now_and_then_leaves_no_hole(every, tmp_path):
    database, empty = tmp_path / "a.db", faults.Fault("answer", 200, NOTHING)
    with serve_in_thread(posts(), fault=lambda _, nth: empty if nth % every == 0 else None, **OPEN) as mock:
        for _ in range(60):
            reason = captured(mock.url, database, crawl={"refresh_rate": 1})  # one request after the other
            if reason.kind == "done":
                break
            assert "finds no posts, whatever is searched" in reason.why
    (query,) = reported(database)["queries"]
    assert reason.kind == "done"
    assert (query["complete"], query["failed"]) == (the_whole(), [])
    assert stored(database) == list_found()


def test_a_search_that_heeds_no_times_is_of_no_use(tmp_path):
    begin, _ = span()
    old = [{"id": str((begin - 90 * 86_400) * 1000 << 16), "created_at": stamp(begin - 90 * 86_400)}]
    wrong = faults.Fault("answer", 200, orjson.dumps({"statuses": old, "accounts": [], "hashtags": []}))
    with serve_in_thread(posts(), fault=lambda *_: wrong, **OPEN) as mock:
        reason = captured(mock.url, tmp_path / "a.db")
    assert reason.kind == "failed"
    assert "searches without regard to before: and after:" in reason.why


def test_without_a_token_there_is_no_search_and_the_quote_knows_the_endpoint(mock, tmp_path):
    with pytest.raises(SettingsError, match="full_text = true takes a token of your instance"):
        make_plan(check_settings(capturing(mock.url, tmp_path / "a.db", source={"token_env": None}), "test"))
    plan = make_plan(check_settings(capturing(mock.url, tmp_path / "a.db", keywords=("a  b*", "#x1", "A b")), "test"))
    assert (plan.shape.roles.search, plan.queries) == (SEARCH, ["A b", "#x1"])
    assert plan.shape.searched == (PAGED_TAG, INSTANCE)


def test_what_is_forgotten_is_in_no_table_of_a_capture_that_still_verifies_and_goes_on(mock, tmp_path):
    database = tmp_path / "a.db"
    captured(mock.url, database, budget={"max_requests": 15})
    loudest = "select a.platform_id from post p join account a on a.node = p.author group by 1 order by count(*) desc"
    author = rows(database, f"{loudest}, 1 limit 1")[0][0]
    child = socialcrawl("forget", "--user", author, "--platform", "mastodon", "--db", database, "--yes")
    assert child.returncode == 0, child.stderr
    captured(mock.url, database, budget={"max_requests": 9_999})
    assert rows(database, f"select count(*) from account where platform_id = '{author}'") == [(0,)]
    assert texts_of(database) == list_found(without={author.partition("@")[0]})
    verifies(database)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return find_slices(tmp_path_factory.mktemp("whole"), given=capturing, serving=SERVED)


@FORKED
def test_a_capture_by_full_text_killed_at_random_moments_finds_what_it_would_have_found(
    database, undisturbed, tmp_path
):
    hold_the_guarantee(database, 3, undisturbed, tmp_path, given=capturing, serving=SERVED)
