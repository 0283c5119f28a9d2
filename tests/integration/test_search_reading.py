"""Accounts that are found by searches of the topic, span by span, and read from what these return, on the mock of X."""

import json
import math
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from archive_captures import write_policy
from commands import socialcrawl
from killed_campaigns import Reaper, nursery, run_killed_at_requests, run_killed_at_statements
from test_capture_bluesky_v2 import SIGNED
from test_match_reading import ROOMY, count_by_author, drop_reposts, matching, pick_sections
from test_money import billed, spent
from verified_campaigns import LIMIT, changed, collecting, copied, differences, end_of, recent
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, posts_file, rows, sequence

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.capture.rules import CaptureRules
from socialcrawl.crawls.collect.slice_queue import SliceQueue
from socialcrawl.engine.model import Node, Outcome, Pick, Reason, Wait, format_time
from socialcrawl.errors import SettingsError
from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock.server import serve_in_thread

DAY = 86_400.0
ROOMY_WINDOW = {"k": 100_000, "d": 60.0}


def searching(url, database, read="search", **sections):
    """A campaign whose searches return so few posts that spans are cut again and again."""
    topic = end_of(posts()) | sections.pop("topic", {})
    source = {"read": read, "policy": write_policy(page=20), **sections.pop("source", {})}
    return matching(url, database, source=source, topic=topic, **sections)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A campaign that has searched all of the time, and what the mock has billed."""
    database = tmp_path_factory.mktemp("search") / "a.db"
    with serve_in_thread(posts(), **ROOMY) as mock:
        reason, _ = crawl(searching(mock.url, database))
        return database, reason, billed(mock)


def read_values(database):
    query = (
        "select a.platform_id, o.occurrences, o.value from outcome o join account a on a.node = o.node "
        "join pick p using (campaign, n) where p.act in ('match', 'page') order by o.n"
    )
    return {key: (occurrences, value) for key, occurrences, value in rows(database, query)}


def test_every_author_of_a_matching_post_is_found_with_the_occurrences_of_all_its_posts(crawled):
    database, reason, bill = crawled
    assert (reason.kind, reason.why[:28]) == ("done", "all of the time was searched")
    wanted = sorted(many for many in count_by_author(reposts=False).values() if many)
    found = read_values(database)
    assert sorted(occurrences for occurrences, _ in found.values()) == wanted
    assert all(value == 1.0 + math.log(occurrences) for occurrences, value in found.values())
    assert bill == spent(database)
    assert {act for act, _, _ in sequence(database)} == {"search", "match", "page"}
    assert rows(database, "select count(*) from request where status = 429") == [(0,)]
    assert differences(database) == []


def test_a_further_search_tells_more_of_accounts_and_steps_count_each_once(crawled):
    database = crawled[0]
    steps = rows(database, "select node from pick where act = 'match'")
    assert len(steps) == len(set(steps)) == len(read_values(database))
    assert rows(database, "select count(*) from pick where act = 'page'")[0][0] > 10
    told = json.loads(socialcrawl("report", database, "--json").stdout)
    assert told["relevance"] == pytest.approx(sum(value for _, value in read_values(database).values()))
    assert told["steps"] == told["discovered_on_topic"] == len(steps)
    assert "steering" not in told, "no estimator chose anybody"
    shown = rows(database, "select step, relevance from top_account order by step")
    assert [step for step, _ in shown] == list(range(1, len(steps) + 1))
    assert sum(value for _, value in shown) == pytest.approx(told["relevance"])


def test_the_searches_cover_all_of_the_time_once_and_the_report_says_so(crawled):
    database = crawled[0]
    spans = "select coalesce(read_from, begins_at), ends_at, state from captured_slice order by 1, 2"
    found = [(datetime.fromisoformat(low), datetime.fromisoformat(high)) for low, high, _ in rows(database, spans)]
    end = datetime.fromtimestamp(float(posts().created_at.max()) + 1.0, UTC)
    assert (found[0][0], found[-1][1]) == (datetime(2006, 3, 21, tzinfo=UTC), end)
    ahead = [(after[0] - before[1]).total_seconds() for before, after in pairwise(found)]
    assert max(ahead) == 0
    assert min(ahead) >= -1, "the second in which a search ended is read again"
    assert {state for _, _, state in rows(database, spans)} == {"complete", "cut"}
    assert rows(database, "select count(*) from coverage_gap") == [(0,)], "what was cut off was searched later"
    told = json.loads(socialcrawl("report", database, "--json").stdout)["time_searched"]
    assert (told["left"], told["failed"], told["searches"]) == (0.0, 0, len(found))
    assert told["begin"] == "2006-03-21T00:00:00.000000Z"
    assert told["posts"] == rows(database, "select sum(posts) from captured_slice")[0][0]


def test_a_budget_that_ends_early_is_kept_and_the_report_says_how_much_time_is_left(tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), **ROOMY) as mock:
        reason, planner = crawl(searching(mock.url, database, budget={"max_money": 0.55}))
        bill = billed(mock)
        assert reason.kind == "budget"
        assert bill <= planner.budget.money == spent(database) <= 55_000
        assert json.loads(socialcrawl("report", database, "--json").stdout)["time_searched"]["left"] > 0
        shown = " ".join(socialcrawl("report", database, COLUMNS="500").stdout.split())
        assert "not searched yet: " in shown
        reason, _ = crawl(searching(mock.url, database, budget={"max_money": 90.0}))
    assert reason.kind == "done"
    wanted = sorted(many for many in count_by_author(reposts=False).values() if many)
    assert sorted(occurrences for occurrences, _ in read_values(database).values()) == wanted


def test_all_ways_end_with_the_same_values_for_the_same_accounts(tmp_path):
    plain = drop_reposts(posts())
    values = {}
    with serve_in_thread(plain, **ROOMY) as mock:
        for read in ("timeline", "search", "auto"):
            settings = searching(mock.url, tmp_path / f"{read}.db", read, pages=32)
            crawl(settings)
            query = (
                "select a.platform_id, t.relevance from top_account t join account a using (node) where relevance > 0"
            )
            values[read] = dict(rows(tmp_path / f"{read}.db", query))
    assert values["auto"] == values["search"]
    assert len(values["timeline"]) > 40
    assert values["timeline"].items() <= values["search"].items()


@pytest.mark.parametrize("after", [7, 13])
def test_a_process_that_is_killed_as_its_requests_arrive_makes_the_same_picks(after, crawled, tmp_path):
    reaper = Reaper()
    with (
        serve_in_thread(posts(), reaper, **ROOMY) as mock,
        nursery(tmp_path / "errors", "killed_campaigns") as children,
    ):
        given = pick_sections(searching(mock.url, tmp_path / "b.db"))
        assert run_killed_at_requests(children, reaper, given, after, tmp_path / "errors") > 3
        assert billed(mock) <= spent(tmp_path / "b.db")
    check_same(crawled[0], tmp_path / "b.db")


def test_a_process_that_is_killed_before_its_statements_makes_the_same_picks(crawled, tmp_path):
    with serve_in_thread(posts(), **ROOMY) as mock, nursery(tmp_path / "errors", "killed_campaigns") as children:
        given = pick_sections(searching(mock.url, tmp_path / "c.db"))
        kills = run_killed_at_statements(children, given, tmp_path / "errors")
        assert kills > 10
        asked = rows(tmp_path / "c.db", "select params, count(*) from request where kind = 'ok' group by 1")
        assert sum(many - 1 for _, many in asked) <= kills, "an answer that was stored is not requested again"
    check_same(crawled[0], tmp_path / "c.db")


def check_same(database, other):
    assert sequence(other) == sequence(database)
    values = "select n, node, value, occurrences, posts, missing, mark from outcome order by n"
    assert rows(other, values) == rows(database, values)
    assert differences(other) == []


def test_steps_and_accounts_of_a_budget_bound_who_is_read(tmp_path):
    with serve_in_thread(posts(), **ROOMY) as mock:
        for name, more in (("steps", {"crawl": {"steps": 7}}), ("nodes", {"budget": {"max_nodes": 9}})):
            crawl(searching(mock.url, tmp_path / f"{name}.db", **more))
    assert rows(tmp_path / "steps.db", "select count(*) from pick where act = 'match'") == [(7,)]
    assert rows(tmp_path / "nodes.db", "select count(*) from pick where act = 'match'") == [(9,)]
    assert differences(tmp_path / "steps.db") == differences(tmp_path / "nodes.db") == []


def test_the_last_days_are_searched_and_timelines_are_read_after_them(tmp_path):
    place = copied("week", tmp_path)
    acts = [act for act, _, _ in sequence(place)]
    last = len(acts) - acts[::-1].index("search")
    assert set(acts[:last]) == {"search", "match", "page"}
    assert set(acts[last:]) >= {"page", "expand"}
    twice = "select node from pick where act in ('match', 'expand') group by node having count(*) > 1"
    assert rows(place, twice) == []
    first = rows(place, "select min(substr(since, 1, 10)), max(substr(since, 22, 10)) from pick where act = 'search'")[
        0
    ]
    days = (datetime.fromisoformat(first[1]) - datetime.fromisoformat(first[0])).days
    assert days in (6, 7)


def test_after_the_last_days_estimators_steer_from_the_authors_that_were_found_until_nobody_is_left(tmp_path):
    place = tmp_path / "a.db"
    with serve_in_thread(recent(), limit=LIMIT) as mock:
        source = {"read": "auto", "archive": False, "pages_per_user": 1}
        crawling = {"estimator": "bfs", "steps": None, "shadows": ["sklearn.linear_model.SGDRegressor"]}
        settings = collecting(mock.url, place, source=source, topic=end_of(read_posts(recent())), crawl=crawling)
        reason, _ = crawl(settings)
    assert (reason.kind, reason.why[:21]) == ("done", "the frontier is empty")
    scores = rows(place, "select score from pick where act = 'expand'")
    assert len(scores) > 50
    assert max(scores) == (0.5,), "1 / (depth + 1), as the authors are where it begins"
    assert differences(place) == []
    told = socialcrawl("report", place, "--html", tmp_path / "a.html")
    assert told.returncode == 0, told.stderr
    assert "At each step it read the account with the highest score" in (tmp_path / "a.html").read_text()


def test_a_topic_that_ended_before_what_searches_reach_is_said_so_and_nothing_is_sent(tmp_path):
    topic = {"until": "2020-01-01"}
    with serve_in_thread(posts(), **ROOMY) as mock:
        for read, why in (("search", "archive = false"), ("auto", "no account to start from")):
            settings = searching(mock.url, tmp_path / f"{read}.db", read, topic=topic, source={"archive": False})
            reason, _ = crawl(settings)
            assert (reason.kind, why in reason.why) == ("failed", True), reason
    assert rows(tmp_path / "search.db", "select count(*) from pick") == [(0,)]


def test_a_span_that_somebody_exchanged_is_found_out(tmp_path):
    place = copied("search", tmp_path)
    spans = rows(place, "select n, since from pick where act = 'search' order by n limit 5 offset 20")
    (first, one), (second, other) = spans[0], spans[3]
    changed(place, f"update pick set since = case n when {first} then '{other}' else '{one}' end "
            f"where n in ({first}, {second})")  # fmt: skip
    assert ("picks", "since") in {(check, column) for check, _, column in differences(place)}


def test_a_quote_has_the_pages_and_the_limit_of_searches(tmp_path):
    plan = make_plan(searching("http://127.0.0.1:1", tmp_path / "a.db", source={"policy": None}, crawl={"steps": 30}))
    assert plan.shape.policy.get_endpoint(plan.shape.roles.search).page == 100
    assert plan.description == "searches for the topic until all of the time is searched, or 30 accounts are found"
    assert "remove steps" in plan.kind.limit_quote(plan.settings)


def test_seeds_that_are_not_read_are_said_so(tmp_path):
    plan = make_plan(searching("http://127.0.0.1:1", tmp_path / "a.db", "auto", seeds={"usernames": ["ann"]}))
    [said] = [text for what, text in plan.warnings if what == "seeds"]
    assert "accounts under [seeds] are read only if a search finds them" in said


@pytest.mark.parametrize("act", ["match", "page"])
def test_a_forgotten_account_leaves_a_campaign_that_still_proves_itself(act, tmp_path):
    place = copied("search", tmp_path)
    query = (
        "select a.platform_id, a.node from outcome o join pick p using (campaign, n) "
        f"join account a on a.node = o.node where p.act = '{act}' and o.posts > 1 order by o.n desc limit 1"
    )
    [(key, node)] = rows(place, query)
    theirs = [post for (post,) in rows(place, "select id from post where author = ?", node)]
    done = socialcrawl("forget", "--user", key, "--db", place, "--yes")
    assert done.returncode == 0, done.stderr
    assert differences(place) == []
    raw = place.read_bytes()
    assert not [text for text in (key, *theirs) if text.encode() in raw]


def test_explain_names_the_search_that_found_an_account(crawled):
    query = "select a.platform_id, p.since from pick p join account a using (node) where act = 'match' limit 1"
    [(key, since)] = rows(crawled[0], query)
    done = socialcrawl("explain", crawled[0], key)
    assert done.returncode == 0, done.stderr
    assert f"Found by a search for the topic (decision {since.removeprefix('search:')})" in done.stdout
    told = json.loads(socialcrawl("explain", crawled[0], key, "--json").stdout)
    assert (told["state"], told["decision"]) == ("asked", None)


@pytest.mark.parametrize(
    ("read", "changes", "why"),
    [
        ("search", {"kind": "track"}, "kind = "),
        ("auto", {"kind": "track"}, "kind = "),
        (
            "search",
            {
                "seeds": {"usernames": ["https://a.example/"], "search": False},
                "source": {"platform": "web", "policy": None, "token_env": None, "contact": "mailto:a@b.example"},
            },
            "works on X",
        ),
        ("search", {"source": {"search": "v2"}}, "another platform than X"),
        ("search", {"source": {"full_text": True}}, "another platform than X"),
        (
            "auto",
            {"source": {"platform": "bluesky", "policy": None, "token_env": None, "archive": False}},
            "another platform",
        ),
        ("search", {"seeds": {"usernames": ["ann"]}}, "reads no seeds"),
        ("search", {"crawl": {"links": {"follows": 1}}}, "follow"),
        ("auto", {"source": {"tokens": [{"env": TOKEN_ENV, "kind": "user"}]}}, "archive = false"),
        ("match", {"source": {"archive": False}}, 'read = "auto"'),
        ("timeline", {"source": {"archive": False}}, "archive = false"),
    ],
)
def test_what_cannot_be_read_so_is_refused_before_anything_is_sent(read, changes, why, tmp_path):
    with pytest.raises(SettingsError, match=why):
        make_plan(searching("http://127.0.0.1:1", tmp_path / "a.db", read, **changes))


def test_tokens_of_users_search_the_last_days_and_other_platforms_read_timelines(tmp_path):
    users = {"tokens": [{"env": TOKEN_ENV, "kind": "user"}], "archive": False}
    plan = make_plan(searching("http://127.0.0.1:1", tmp_path / "a.db", "auto", source=users))
    assert plan.terms.slices.archive is False
    assert plan.terms.slices.back <= 7 * DAY - 3600.0, "searches take their time, while what they reach moves on"
    bluesky = {"platform": "bluesky", "policy": None, "token_env": None}
    plan = make_plan(searching("http://127.0.0.1:1", tmp_path / "a.db", "auto", source=bluesky))
    assert plan.terms.slices is None


def test_what_is_searched_stays_as_it_was_begun(tmp_path):
    with serve_in_thread(posts(), **ROOMY) as mock:
        crawl(searching(mock.url, tmp_path / "a.db", crawl={"steps": 1}))
        with pytest.raises(SettingsError, match="archive"):
            crawl(searching(mock.url, tmp_path / "a.db", source={"archive": False}))
        with pytest.raises(SettingsError, match="topic"):
            crawl(searching(mock.url, tmp_path / "a.db", topic={"keywords": ["another"]}))


def test_the_demo_shows_it_and_its_bill(tmp_path):
    given = ("--read", "search", "--keyword", TOPIC, "--max-money", 0.3, "--per-window", 10_000)
    made = socialcrawl("demo", "--posts", posts_file(), *given, "--db", "a.db", "--json", folder=tmp_path)
    told = json.loads(made.stdout)
    assert made.returncode == 3, made.stderr  # the budget is reached
    assert 0 < told["bill"] <= told["dollars"] <= 0.3
    assert told["relevance"] > 0


def read_sky(url, place, read, search):
    source = {"platform": "bluesky", "base_url": url, "read": read, "search": search, **SIGNED}
    given = {"name": "sky", "database": place, "topic": {"keywords": [TOPIC], **end_of(posts())}, "source": source}
    crawl(check_settings({**given, "crawl": {"steps": 120}, "seeds": {"most": 10}, "limits": ROOMY_WINDOW}, "test"))
    told = json.loads(socialcrawl("report", place, "--json").stdout)
    return told["relevance"] / told["requests"]


def test_on_bluesky_searches_find_more_for_a_request_and_auto_takes_those_that_the_file_says_are_enabled(tmp_path):
    with serve_in_thread(posts(), bluesky_limit=100_000, search_v2=True) as mock:
        found = {
            (read, search): read_sky(mock.url, tmp_path / f"{read}-{search}.db", read, search)
            for read, search in (("timeline", "v1"), ("auto", "v1"), ("auto", "v2"), ("search", "v1"))
        }
    assert found["auto", "v2"] > 3 * found["timeline", "v1"]
    assert found["search", "v1"] > 3 * found["timeline", "v1"]
    assert sequence(tmp_path / "auto-v1.db") == sequence(tmp_path / "timeline-v1.db")
    assert differences(tmp_path / "auto-v2.db") == []
    wanted = sorted(many for many in count_by_author(reposts=False).values() if many)
    assert sorted(occurrences for occurrences, _ in read_values(tmp_path / "auto-v2.db").values()) == wanted
    assert rows(tmp_path / "auto-v2.db", "select count(*) from request where endpoint like '%searchPosts'") == [(0,)]


def search(queue, n, found, outcome):
    queue.take_search(Pick(n, found[0], "search", since=found[1]), outcome)


def outcome_of(n, **more):
    return Outcome(n, Node(-1), 0.0, **more)


def test_the_first_search_says_where_the_span_ends_and_each_part_is_searched_before_any_rest():
    queue = SliceQueue(CaptureRules(0.0), [Node(-1)], 1, math.inf, alone=True)
    [first] = queue.choose(8, 64 * DAY + 90.0)
    assert first == (-1, "1970-03-05T00:00:00Z/1970-03-06T00:00:00Z")
    search(queue, 0, first, outcome_of(0, mark="1970-03-05T12:00:00.000000Z", posts=100))
    seen, n = [first[1]], 1
    while not queue.is_done:
        for found in queue.choose(1, 1e9):
            seen.append(found[1])
            search(queue, n, found, outcome_of(n))
            n += 1
    whole = [text for text in seen if not text.endswith("1970-03-05T12:00:00Z")]
    assert len(whole) == len(set(whole)) == 64
    assert seen[-1] == "1970-03-05T00:00:00Z/1970-03-05T12:00:00Z"
    assert seen[1:64] != sorted(seen[1:64], reverse=True), "the order is drawn"


def test_searches_that_fail_come_last_and_are_given_up_after_three_times():
    queue = SliceQueue(CaptureRules(0.0, 4 * 3600.0), [Node(-1)], 1, math.inf, alone=True)
    tried, n = [], 0
    while not queue.is_done:
        for found in queue.choose(1, 1e9):
            tried.append(found[1])
            bad = found[1].startswith("1970-01-01T02")
            search(queue, n, found, outcome_of(n, missing=Reason.TEMPORARY if bad else None))
            n += 1
    assert tried[-2:] == ["1970-01-01T02:00:00Z/1970-01-01T03:00:00Z"] * 2
    assert len(tried) == 6
    assert "1 span of time could not be searched" in queue.stop().why


def test_a_span_that_has_not_begun_is_waited_for():
    queue = SliceQueue(CaptureRules(1000 * DAY), [Node(-1)], 1, math.inf, alone=True)
    waits = queue.choose(1, DAY)
    assert isinstance(waits, Wait)
    assert waits.until > 1000 * DAY


def test_searches_that_reach_back_some_days_begin_there():
    queue = SliceQueue(CaptureRules(0.0), [Node(-1)], 1, 2 * DAY, alone=False)
    [first] = queue.choose(1, 100 * DAY + 60.0)
    search(queue, 0, first, outcome_of(0))
    seen = {since for _, since in queue.choose(1_000, 0.0)} | {first[1]}
    assert min(seen)[:20] == format_time(98 * DAY)[:19] + "Z"
