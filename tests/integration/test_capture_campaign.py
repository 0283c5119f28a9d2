"""A capture on the mock of X, end to end: every match of the archive once, what a budget leaves, kills, verify."""

from collections import Counter
from functools import partial

import pytest
from archive_captures import MANY, capturing, check_captured, list_matches, reported, span, stamp, texts_of
from commands import socialcrawl
from html_pages import check_page
from matplotlib.image import imread
from test_guarantees import FORKED, find_undisturbed, hold_the_guarantee
from x_crawls import TOPIC, crawl, posts, rows

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as made:
        yield made


def captured(url, place, **more):
    reason, _ = crawl(check_settings(capturing(url, place, limits=MANY, **more), "test"))
    return reason


@pytest.mark.parametrize("order", ["newest", "oldest", "even"])
def test_every_match_of_the_archive_is_stored_once_and_paid_once(order, tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        reason = captured(mock.url, tmp_path / "a.db", capture={"order": order})
        bill = mock.report()
    assert reason.kind == "done"
    assert texts_of(tmp_path / "a.db") == list_matches()
    assert rows(tmp_path / "a.db", "select count(*) from post") == [(len(list_matches()),)]
    assert bill["totals"]["dollars"] == pytest.approx(0.005 * len(list_matches()))
    assert rows(tmp_path / "a.db", "select sum(cost) from request")[0][0] == 500 * len(list_matches())
    states = dict(rows(tmp_path / "a.db", "select state, count(*) from captured_slice group by 1"))
    assert states.keys() == {"complete", "cut"}, "some slices were full"
    begin, end = span()
    (query,) = reported(tmp_path / "a.db")["queries"]
    assert (query["query"], query["complete"]) == (TOPIC, [f"{stamp(begin)}/{stamp(end)}"])
    assert (query["left"], query["failed"]) == ([], [])


def test_two_queries_are_captured_and_a_post_that_matches_both_is_stored_once(mock, tmp_path, monkeypatch):
    words = [TOPIC, "nebula", "the"]
    monkeypatch.setattr("socialcrawl.platforms.x.platform.LONGEST_ARCHIVED", 12)
    settings = capturing(mock.url, tmp_path / "a.db", limits=MANY, topic={"keywords": words}, capture={"parts": 2})
    plan = make_plan(check_settings(settings, "test"))
    assert len(plan.queries) > 1
    reason, _ = crawl(plan.settings)
    assert reason.kind == "done"
    ids = rows(tmp_path / "a.db", "select count(*), count(distinct id) from post")[0]
    assert ids[0] == ids[1]
    assert {query["query"] for query in reported(tmp_path / "a.db")["queries"]} == {*plan.queries}


def test_posts_of_some_accounts_only_or_of_all_but_some_are_stored_and_paid(mock, tmp_path, monkeypatch):
    monkeypatch.setattr("socialcrawl.platforms.x.author_queries.MOST_NAMES", 9)
    world = build_world(posts())
    shown = dict(zip(world.accounts.keys, world.accounts.usernames, strict=True))
    count, table = Topic([TOPIC]).count, posts()
    authors = sorted({name for name, text in zip(table.authors, table.texts, strict=True) if count(text)})
    some = authors[::3]
    names = [shown[name.lower()] for name in some]
    for number, (given, expected) in enumerate(
        (
            ({"exclude": ["*"], "include": [f"@{name}" for name in names]}, list_matches(authors=some)),
            ({"exclude": names[:5]}, list_matches(authors={*authors} - {*some[:5]})),
        )
    ):
        database = tmp_path / f"{number}.db"
        assert captured(mock.url, database, accounts=given).kind == "done"
        check_captured(database, expected)
        assert rows(database, "select sum(cost) from request") == [(500 * len(expected),)], "others are not billed"
        assert 0 < len(expected) < len(list_matches())


@pytest.mark.parametrize(
    ("given", "capture", "said"),
    [
        ({"exclude": ["*_bot"]}, {}, "takes usernames and no patterns: under .accounts., replace '.*_bot'"),
        ({"exclude": ["*"], "include": ["a*"]}, {}, "replace 'a.'"),
        ({"exclude": ["ann"], "include": ["bob"]}, {}, "replace 'bob'"),
        ({"exclude": ["ann"]}, {"ids": True, "from": None, "until": None}, "restricted to accounts by its searches"),
    ],
)
def test_accounts_that_a_search_cannot_name_are_refused_before_anything_is_paid(given, capture, said, tmp_path):
    settings = capturing("http://127.0.0.1:1", tmp_path / "a.db", accounts=given)
    settings["capture"] = {name: value for name, value in {**settings["capture"], **capture}.items() if value}
    with pytest.raises(SettingsError, match=said):
        make_plan(check_settings(settings, "test"))


@pytest.mark.parametrize("order", ["newest", "oldest", "even"])
def test_with_a_budget_that_ends_early_what_is_called_complete_is_complete(mock, order, tmp_path):
    database = tmp_path / "a.db"
    reason = captured(mock.url, database, capture={"order": order}, budget={"max_posts": 60})
    assert reason.kind == "budget"
    (query,) = reported(database)["queries"]
    assert query["complete"]
    assert query["left"]
    stored = texts_of(database)
    for interval in query["complete"]:
        begin, end = map(int, parse_span(interval))
        assert set(list_matches(begin, end)) <= set(stored)
    assert len(stored) < len(list_matches())
    again = captured(mock.url, database, capture={"order": order}, budget={"max_posts": 100_000})
    assert again.kind == "done"
    assert texts_of(database) == list_matches(), "a higher budget goes on where the lower one ended"


def test_the_page_of_a_capture_shows_its_spans_and_says_that_days_are_not_complete(mock, tmp_path):
    database, page, picture = tmp_path / "a.db", tmp_path / "a.html", tmp_path / "a.png"
    captured(mock.url, database, budget={"max_posts": 60})
    child = socialcrawl("report", database, "--html", page, "--png", picture)
    assert child.returncode == 0, child.stderr
    assert "the days that are not complete are counted too low" in " ".join(child.stdout.split())
    assert imread(picture).std() > 0.1, "it is not blank"
    shown = check_page(page.read_text("utf-8"))
    assert "the days that are not complete are counted too low" in shown.sections["days"]
    (query,) = reported(database)["queries"]
    rows_of = shown.tables[f"{TOPIC}: {query['posts']} posts returned, by span of time"]
    assert rows_of[0] == ["state", "from (UTC)", "to (UTC)"]
    listed = Counter(state for state, *_ in rows_of[1:])
    assert listed == {"complete": min(6, len(query["complete"])), "not read yet": min(6, len(query["left"]))}
    said = shown.sections["methods"]
    assert "The posts were read with" in said
    assert not [words for words in ("relevance of an account", "accounts were read", "newest posts") if words in said]


def test_what_the_search_of_the_last_days_does_not_reach_is_one_span_with_what_to_do(mock, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, capture={"archive": False}).kind == "done"
    (query,) = reported(database)["queries"]
    begin, end = span()
    assert (query["complete"], query["failed"]) == ([], [[f"{stamp(begin)}/{stamp(end)}", "unreachable"]])
    text = " ".join(socialcrawl("report", database).stdout.split())
    assert "unreachable: the search does not reach back that far. A new campaign with archive = true" in text
    assert "requests by status" not in text, "none was sent"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    whole = find_undisturbed(tmp_path_factory.mktemp("whole"), given=capturing)
    assert {row[2] for row in whole["picks"]} == {"slice"}
    assert not whole.pop("profiles"), "none is bought"
    assert all(whole.values())
    return whole


@FORKED
def test_a_capture_killed_at_random_moments_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 4, undisturbed, tmp_path, given=capturing)


@FORKED
@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_a_capture_killed_and_cut_off_again_and_again_has_what_a_scan_finds(database, undisturbed, tmp_path):
    check = partial(check_captured, expected=list_matches())
    hold_the_guarantee(
        database,
        200,
        undisturbed,
        tmp_path,
        given=capturing,
        cut_every=10,
        check=check,
    )


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
    forgotten = by_id(author)
    gone = sum(name.lower() == forgotten for name in posts().authors)
    assert 0 < len(list_matches()) - len(texts_of(database)) <= gone
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


def by_id(platform_id):
    """The name of an account of the mock, by its id."""
    world = build_world(posts())
    return next(name for name, row in world.accounts.by_username.items() if str(world.accounts.ids[row]) == platform_id)


def test_a_capture_verifies_explains_and_exports(mock, tmp_path):
    captured(mock.url, tmp_path / "a.db", capture={"order": "even"})
    child = socialcrawl("verify", tmp_path / "a.db")
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout
    out = tmp_path / "out"
    child = socialcrawl("export", tmp_path / "a.db", "--format", "csv", "--out", out)
    assert child.returncode == 0, child.stderr
    assert "slice by slice of time" in (out / "datasheet.md").read_text("utf-8")


def test_authors_are_bought_on_request_only(mock, tmp_path):
    captured(mock.url, tmp_path / "a.db")
    assert rows(tmp_path / "a.db", "select count(*) from account where profile_at is not null") == [(0,)]
    with_authors = tmp_path / "b.db"
    captured(mock.url, with_authors, capture={"authors": True})
    authors = "select count(*) from account where node in (select author from post) and username is null"
    assert rows(with_authors, authors) == [(0,)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"capture": {"from": None}}, "Write under [capture] from when posts are to be read, as from = 2026-03-01."),
        ({"capture": {"until": "2010-01-01"}}, "from is not before until"),
        ({"capture": {"ongoing": True}}, "ongoing = true has no end, and until names one"),
        ({"seeds": {"usernames": ["ann"]}}, '[seeds] has no effect where kind = "capture"'),
        ({"topic": {"keywords": [TOPIC], "from": "2026-01-01"}}, "write from and until under [capture] instead"),
        (
            {"source": {"platform": "web", "contact": "mailto:me@example.org"}},
            'by time yet, which kind = "capture" needs',
        ),
    ],
)
def test_mistakes_are_answered_with_what_to_write(change, said, tmp_path):
    given = capturing("http://127.0.0.1:1", tmp_path / "a.db")
    for section, values in change.items():
        given[section] = values if section == "source" else {**given.get(section, {}), **values}
    with pytest.raises(SettingsError) as refused:
        make_plan(check_settings(given, "test"))
    assert said in str(refused.value)
