"""A capture that lets X count its posts first: slices of as many posts as a pick reads, whatever the counts say."""

import orjson
import pytest
from archive_captures import MANY, capturing, list_matches, reported, span, stamp, texts_of
from commands import socialcrawl
from test_guarantees import FORKED, find_undisturbed, hold_the_guarantee
from x_crawls import TOPIC, crawl, posts, rows

from socialcrawl.campaign.cost_outlook import make_campaign_quote
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.capture.report import CaptureReport
from socialcrawl.engine.span_counts import parse_counts
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.errors import SettingsError
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.capture_report import describe

COUNTS = "/2/tweets/counts/all"
ROOM = 20  # posts that a pick of these captures reads: two pages of ten


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as made:
        yield made


def counting(url, place, **more):
    return capturing(url, place, **{**more, "capture": {"counts": True, **more.get("capture", {})}})


def captured(url, place, **more):
    reason, _ = crawl(check_settings(counting(url, place, limits=MANY, **more), "test"))
    return reason


def list_slices(database):
    """The spans that were searched first, and the posts that were counted in each."""
    (mark,) = rows(database, "select mark from outcome join pick using (campaign, n) where act = 'count'")[0]
    return parse_counts(mark)


@pytest.mark.parametrize("order", ["newest", "oldest", "even"])
def test_every_match_is_stored_once_and_no_slice_is_full_or_empty(order, tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        assert captured(mock.url, tmp_path / "a.db", capture={"order": order}).kind == "done"
        bill = mock.report()["totals"]
    assert texts_of(tmp_path / "a.db") == list_matches()
    assert rows(tmp_path / "a.db", "select count(*) from post") == [(len(list_matches()),)]
    assert bill["archive_counts_requests"] == 1
    assert bill["dollars"] == pytest.approx(0.005 * len(list_matches()) + 0.010)
    assert rows(tmp_path / "a.db", "select sum(cost) from request")[0][0] == 500 * len(list_matches()) + 1_000
    slices = rows(tmp_path / "a.db", "select posts, state from captured_slice")
    assert {state for _, state in slices} == {"complete"}, "none was cut"
    assert all(0 < found <= ROOM for found, _ in slices)
    (query,) = reported(tmp_path / "a.db")["queries"]
    assert (query["complete"], query["left"]) == (["/".join(map(stamp, span()))], [])


def test_counts_are_those_of_a_scan_and_slices_touch_each_other(mock, tmp_path):
    captured(mock.url, tmp_path / "a.db")
    found, (begin, end) = list_slices(tmp_path / "a.db"), span()
    edges = [*(one.begin for one in found), end]
    assert edges[0] == begin
    for one, until in zip(found, edges[1:], strict=True):
        assert one.posts == len(list_matches(one.begin, until))
        assert until > one.begin


def test_fewer_requests_are_sent_than_without_counts(mock, tmp_path):
    sent = "select count(*) from request where endpoint like '%search%'"
    captured(mock.url, tmp_path / "a.db")
    crawl(check_settings(capturing(mock.url, tmp_path / "b.db", limits=MANY), "test"))
    assert texts_of(tmp_path / "a.db") == texts_of(tmp_path / "b.db")
    assert rows(tmp_path / "a.db", sent)[0][0] < rows(tmp_path / "b.db", sent)[0][0]


@pytest.mark.parametrize("order", ["newest", "even"])
def test_a_report_tells_how_many_posts_are_left_by_the_counts(mock, order, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, capture={"order": order}, budget={"max_posts": 60}).kind == "budget"
    found = reported(database)
    (query,) = found["queries"]
    left = sum(len(list_matches(*map(int, parse_span(one)))) for one in query["left"])
    assert found["counted"]["left"] == pytest.approx(left, abs=ROOM)
    assert found["counted"]["complete"] + found["counted"]["left"] == pytest.approx(len(list_matches()), abs=1)
    for interval in query["complete"]:
        assert set(list_matches(*map(int, parse_span(interval)))) <= set(texts_of(database))
    assert found["counted"]["returned"] == query["posts"] == len(texts_of(database))
    said = " ".join(socialcrawl("report", database).stdout.split())
    assert f"About {found['counted']['left']} posts are left, by the platform's own counts" in said
    assert found["total"] is None, "counts tell more than an estimate"
    assert said.count("How many posts") == said.count("All of it has") == 0, "one number is enough"
    assert captured(mock.url, database, capture={"order": order}, budget={"max_posts": 100_000}).kind == "done"
    assert texts_of(database) == list_matches()


def test_a_report_of_posts_that_could_not_be_counted_does_not_speak_of_estimates():
    whole = "/".join(map(stamp, span()))
    found = CaptureReport(whole, "even", ongoing=False, share=0.5, queries=[], posts=10, total=None, counts=True)
    [_, said] = describe(found)
    assert said == "How many posts are left is not known: the platform did not count those of every query."


def test_several_queries_are_counted_first_each_with_slices_of_its_own(mock, tmp_path, monkeypatch):
    monkeypatch.setattr("socialcrawl.platforms.x.platform.LONGEST_ARCHIVED", 12)
    words = {"keywords": [TOPIC, "nebula", "the"]}
    assert captured(mock.url, tmp_path / "a.db", topic=words).kind == "done"
    crawl(check_settings(capturing(mock.url, tmp_path / "b.db", limits=MANY, topic=words), "test"))
    assert texts_of(tmp_path / "a.db") == texts_of(tmp_path / "b.db")
    acts = [act for (act,) in rows(tmp_path / "a.db", "select act from pick order by n")]
    many = acts.count("count")
    assert many > 1
    assert acts[:many] == ["count"] * many
    child = socialcrawl("verify", tmp_path / "a.db")
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout


@pytest.mark.parametrize(
    "body",
    [
        {"data": [], "meta": {"total_tweet_count": 0}},
        {"data": [{"start": stamp(span()[0] + 7_200), "end": stamp(span()[1]), "tweet_count": 9_999_999}]},
        {"data": [{"start": stamp(span()[1] + 9_000), "end": stamp(span()[1] + 9_060), "tweet_count": 7}]},
    ],
    ids=["none", "too many", "outside"],
)
def test_whatever_the_counts_say_every_match_is_stored(body, tmp_path):
    wrong = faults.Fault("answer", 200, orjson.dumps(body))
    with serve_in_thread(posts(), limit=100_000, fault=lambda to, _: wrong if to == COUNTS else None) as mock:
        reason = captured(mock.url, tmp_path / "a.db")
    assert reason.kind == "done"
    assert texts_of(tmp_path / "a.db") == list_matches()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"data": [{"start": "yesterday", "tweet_count": 7}]}),
        (400, {"title": "Invalid Request", "detail": "no", "type": "about:blank", "errors": [{"message": "no"}]}),
    ],
    ids=["junk", "refused"],
)
def test_where_counts_cannot_be_had_a_run_stops_and_a_later_one_goes_on(status, body, tmp_path):
    wrong = faults.Fault("answer", status, orjson.dumps(body))
    with serve_in_thread(posts(), limit=100_000, fault=lambda to, _: wrong if to == COUNTS else None) as mock:
        reason = captured(mock.url, tmp_path / "a.db")
    assert reason.kind == "failed"
    assert rows(tmp_path / "a.db", "select distinct act from pick") == [("count",)]
    with serve_in_thread(posts(), limit=100_000) as mock:
        assert captured(mock.url, tmp_path / "a.db").kind == "done"
    assert texts_of(tmp_path / "a.db") == list_matches()


def test_without_the_archive_the_counts_of_the_last_days_are_taken_and_what_is_older_is_out_of_reach(mock, tmp_path):
    database = tmp_path / "a.db"
    assert captured(mock.url, database, capture={"archive": False}).kind == "done"
    (query,) = reported(database)["queries"]
    assert query["failed"] == [["/".join(map(stamp, span())), "unreachable"]]


def test_a_quote_has_the_counts_with_their_price(mock, tmp_path):
    plan = make_plan(check_settings(counting(mock.url, tmp_path / "a.db", budget={"max_posts": 100}), "test"))
    quote = make_campaign_quote(plan, (len(list_matches()),))
    line = next(line for line in quote.lines if line.endpoint == COUNTS)
    assert (line.most.requests, line.most.money) == (1, 1_000)
    assert quote.most.money == 100 * 500 + 1_000


@pytest.mark.parametrize("platform", ["bluesky", "mastodon"])
def test_other_platforms_count_no_posts(platform, tmp_path):
    given = counting("http://127.0.0.1:1", tmp_path / "a.db", topic={"keywords": ["#sky"]})
    given["source"] = {"platform": platform, "base_url": "http://127.0.0.1:1"}
    given["capture"]["from"] = "2026-01-01"
    given["capture"]["until"] = "2026-01-02"
    with pytest.raises(SettingsError, match="counts belongs to another platform than"):
        make_plan(check_settings(given, "test"))


def test_a_capture_with_counts_verifies_and_exports(mock, tmp_path):
    captured(mock.url, tmp_path / "a.db", capture={"order": "even"})
    child = socialcrawl("verify", tmp_path / "a.db")
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout
    child = socialcrawl("export", tmp_path / "a.db", "--format", "csv", "--out", tmp_path / "out")
    assert child.returncode == 0, child.stderr
    assert "count of a query's posts" in (tmp_path / "out" / "datasheet.md").read_text("utf-8")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    whole = find_undisturbed(tmp_path_factory.mktemp("whole"), given=counting)
    assert [row[2] for row in whole["picks"]].count("count") == 1
    assert not whole.pop("profiles"), "none is bought"
    assert all(whole.values())
    return whole


@FORKED
def test_a_capture_with_counts_killed_at_random_moments_finds_what_it_would_have_found(database, undisturbed, tmp_path):
    hold_the_guarantee(database, 4, undisturbed, tmp_path, given=counting)
