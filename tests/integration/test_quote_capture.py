"""Quotes of captures: without counts they do not guess; with counts they hold against the mock's posts and bill."""

import io
import json
import time

import pytest
from archive_captures import capturing, list_matches, span, stamp
from commands import socialcrawl
from rich.console import Console
from test_capture_campaign import MANY
from test_mock_world import posts_of
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, rows

from socialcrawl.campaign.cost_outlook import make_campaign_quote
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.commands.quote import show_quote
from socialcrawl.cli.post_counts import count_posts
from socialcrawl.errors import SettingsError, SourceError
from socialcrawl.forecast.expected import COUNTED
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.quote import build_object

DAY = 86_400
COUNTS, COUNTS_OF_ALL = "/2/tweets/counts/recent", "/2/tweets/counts/all"
NOW = int(time.time()) // 60 * 60
BEGIN = NOW - 100 * DAY + 7 * 3_600
# A post every six hours for 100 days until now; every fifth says iron, every seventh repeats another.
LONG = [
    ("ann", at, f"RT @bob: rust {n}" if n % 7 == 3 else f"{n} {'iron' if n % 5 == 2 else 'rust'}")
    for n, at in enumerate(range(BEGIN, NOW - 300, 6 * 3_600))
]
LONG.append(("bob", NOW - 120, "now"))  # half a minute later the mock stands
MIDNIGHT = (NOW // DAY - 1) * DAY


def list_rust(begin, end):
    """The posts that a search for rust finds, by an independent scan of the rows: no retweets, end exclusive."""
    return [text for _, at, text in LONG if begin <= at < end and "rust" in text and not text.startswith("RT")]


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as made:
        yield made


@pytest.fixture
def long_mock():
    with serve_in_thread(posts_of(LONG), limit=100_000) as made:
        yield made


def settings_of(url, database, **more):
    return check_settings(capturing(url, database, **{"limits": MANY, **more}), "test")


def rust(url, database, begin=BEGIN, end=NOW - 3_600, **more):
    given = more.pop("capture", {})
    given = {"from": stamp(begin), "until": stamp(end), **given}
    return settings_of(url, database, topic={"keywords": ["rust"]}, capture=given, **more)


def show(settings, *, count, as_json=False):
    console = Console(file=io.StringIO(), width=300, markup=False, emoji=False, highlight=False)
    show_quote(settings, console, count=count, as_json=as_json)
    return console.file.getvalue()


def received(mock):
    """The requests that the mock has answered, by endpoint."""
    found = {}
    for window in mock.report()["windows"]:
        found[window["endpoint"]] = found.get(window["endpoint"], 0) + window["requests"]
    return found


def test_counts_are_those_of_a_scan_of_all_posts(mock, tmp_path):
    assert count_posts(make_plan(settings_of(mock.url, tmp_path / "a.db"))) == (len(list_matches()),)


@pytest.mark.parametrize(
    ("begin", "end", "pages"),
    [
        (BEGIN, NOW - 3_600, {4}),
        (MIDNIGHT - 31 * DAY, MIDNIGHT, {1}),
        (MIDNIGHT - 31 * DAY - 60, MIDNIGHT, {2}),
        (MIDNIGHT - 40 * DAY + 60, MIDNIGHT - 9 * DAY + 60, {2}),  # 31 days that begin within a day touch 32
        (NOW - 2 * DAY, NOW - DAY, {1}),
    ],
    ids=["100 days", "31 days", "a minute more", "31 days within days", "a day"],
)
def test_a_span_of_any_length_is_counted_page_by_page_and_every_page_is_on_the_bill(
    long_mock, tmp_path, begin, end, pages
):
    plan = make_plan(rust(long_mock.url, tmp_path / "a.db", begin, end))
    assert count_posts(plan) == (len(list_rust(begin, end)),)
    sent, bill = received(long_mock), long_mock.report()["totals"]
    assert sent.keys() == {COUNTS_OF_ALL}
    assert sent[COUNTS_OF_ALL] in pages
    assert bill["archive_counts_requests"] == sent[COUNTS_OF_ALL]
    assert bill["dollars"] == pytest.approx(0.010 * sent[COUNTS_OF_ALL])
    assert bill["posts"] == 0
    announced = make_campaign_quote(plan).counting
    assert 0.010 * sent[COUNTS_OF_ALL] <= announced / 100_000 <= 0.010 * (sent[COUNTS_OF_ALL] + 1)


def test_a_capture_without_until_is_counted_until_a_minute_ago(long_mock, tmp_path):
    now = int(time.time())
    fresh = [*LONG, ("ann", now - 600, "rust again"), ("bob", now + 3_600, "rust to come")]
    with serve_in_thread(posts_of(fresh), limit=100_000) as mock:
        (found,) = count_posts(make_plan(rust(mock.url, tmp_path / "a.db", capture={"until": None})))
    assert found == len(list_rust(BEGIN, now)) + 1


def test_without_the_archive_the_last_seven_days_are_counted_for_half_the_price(tmp_path):
    now = int(time.time())
    near = [("ann", now - hours * 3_600 + 60, f"rust {hours}") for hours in range(200, -1, -1)]
    for begin, end in ((now - 5 * DAY, now - 2 * DAY), (now - 30 * DAY, now - 2 * DAY)):
        with serve_in_thread(posts_of(near), limit=100_000) as mock:
            plan = make_plan(rust(mock.url, tmp_path / "a.db", begin, end, capture={"archive": False}))
            (found,) = count_posts(plan)
            assert received(mock) == {COUNTS: 1}
            assert mock.report()["totals"]["dollars"] == pytest.approx(0.005)
        wanted = sum(max(begin, now - 7 * DAY) <= at < end for _, at, _ in near)
        assert found == pytest.approx(wanted, abs=1)  # the mock stands half a minute after its last post
        assert found > 70


def test_two_queries_are_counted_each(mock, tmp_path, monkeypatch):
    monkeypatch.setattr("socialcrawl.platforms.x.platform.LONGEST_ARCHIVED", 12)
    settings = settings_of(mock.url, tmp_path / "a.db", topic={"keywords": [TOPIC, "nebula"]})
    plan = make_plan(settings)
    found = count_posts(plan)
    assert dict(zip(plan.queries, found, strict=True))[TOPIC] == len(list_matches())
    text = show(settings, count=True)
    assert "Counting the posts of 2 queries on X: at most 2 requests at $0.010 each, $0.020 in total" in text
    assert "A post that matches several queries is counted for each of them." in text


def test_what_was_counted_is_what_the_capture_then_reads_and_pays(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        plan = make_plan(settings_of(mock.url, tmp_path / "a.db", budget={"max_money": 5.0}))
        found = make_campaign_quote(plan, count_posts(plan))
        assert crawl(plan.settings)[0].kind == "done"
        bill = mock.report()["totals"]
    requests, cost = rows(tmp_path / "a.db", "select count(*), sum(cost) from request")[0]
    ((posts_read,),) = rows(tmp_path / "a.db", "select count(*) from post")  # pages overlap by less than a second
    assert (found.likely.posts, found.likely.money) == (pytest.approx(posts_read), pytest.approx(cost))
    assert bill["dollars"] - 0.010 == pytest.approx(found.likely.money / 100_000)  # and a page of counts
    assert found.likely.requests == pytest.approx(requests, rel=0.3)
    assert found.typical.explain_basis("matches") == COUNTED
    assert (found.reached, found.soonest, found.is_estimated) == (None, None, True)


def test_a_budget_below_the_counted_posts_is_said_to_be_reached_when_it_is(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        plan = make_plan(settings_of(mock.url, tmp_path / "a.db", budget={"max_money": 0.30}))
        found = make_campaign_quote(plan, count_posts(plan))
        reason, planner = crawl(plan.settings)
    assert reason.kind == "budget"
    assert found.reached.budget == "max_money"
    assert 30_000 - 10 * 500 < planner.budget.money <= found.likely.money <= 30_000, "but for the smallest page"


@pytest.mark.parametrize(("money", "posts_read"), [(0.04, 0), (0.05, 10), (1.0, 200)])
def test_money_for_less_than_the_smallest_page_buys_nothing_and_more_is_used_up(mock, tmp_path, money, posts_read):
    capture = {"parts": 1}
    plan = make_plan(settings_of(mock.url, tmp_path / "a.db", capture=capture, budget={"max_money": money}))
    assert make_campaign_quote(plan, (1_000,)).likely.posts == pytest.approx(posts_read)


def test_a_quote_without_counts_says_that_nobody_knows_and_how_to_learn_it(mock, tmp_path):
    settings = settings_of(mock.url, tmp_path / "a.db", budget={"max_money": 1.0})
    text = show(settings, count=False)
    head, tail = text.split("Probably: ")
    assert "At most" in head
    assert "/2/tweets/search/all" in head
    assert tail.startswith(
        "not known, because nobody has counted how many posts match. Count them with --counts, for at most $0.010."
    )
    assert "/2/tweets/search/all" not in tail
    assert "robab" not in tail
    assert "At the earliest, max_money is reached after 20 pages." in tail  # of ten posts each
    told = build_object(make_plan(settings), make_campaign_quote(make_plan(settings)))
    assert told["at_most"]["dollars"] == 1.0
    assert (told["probably"], told["first_reached"]["probably"]) == (None, None)
    assert [line["probably"] for line in told["endpoints"]] == [None]
    assert (told["counting_dollars"], told["means"]) == (0.010, {})


def test_the_command_counts_for_people_and_for_scripts(long_mock, tmp_path):
    (tmp_path / "mine.toml").write_text(
        f'name = "mine"\nkind = "capture"\ndatabase = "mine.db"\n[topic]\nkeywords = ["rust"]\n'
        f'[capture]\nfrom = "{stamp(BEGIN)}"\nuntil = "{stamp(NOW - 3_600)}"\n'
        f'[budget]\nmax_money = 3.0\n[source]\nbase_url = "{long_mock.url}"\n'
    )
    matches = len(list_rust(BEGIN, NOW - 3_600))
    child = socialcrawl("quote", "mine.toml", folder=tmp_path)
    assert child.returncode == 0, child.stderr
    assert "Probably: not known" in child.stdout
    assert received(long_mock) == {}
    child = socialcrawl("quote", "mine.toml", "--counts", folder=tmp_path, COLUMNS="300")
    assert child.returncode == 0, child.stderr
    assert "at most 4 requests at $0.010 each, $0.040 in total, in no ledger, as the campaign" in child.stdout
    assert f"posts that match in the span of time: {matches} (counted by X)" in child.stdout
    assert "the search may return fewer" in child.stdout
    child = socialcrawl("quote", "mine.toml", "--counts", "--json", folder=tmp_path)
    assert child.returncode == 0, child.stderr
    told = json.loads(child.stdout)
    assert told["probably"]["posts"] == matches
    assert told["probably"]["dollars"] == pytest.approx(0.005 * matches)
    assert told["means"]["matches"] == {"value": matches, "rests_on": "counted"}
    assert "counting_dollars" not in told
    assert "$0.040 in total" in child.stderr, "scripts are told beforehand, too"
    assert received(long_mock) == {COUNTS_OF_ALL: 8}
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"max_money": 0.039}, "it may cost $0.040, and $0.039 of max_money = $0.039 are left"),
        ({"max_requests": 3}, "it may take 4 requests, and 3 of max_requests = 3 are left"),
    ],
)
def test_counting_that_the_budget_cannot_pay_is_refused_before_anything_is_sent(long_mock, tmp_path, budget, said):
    with pytest.raises(SettingsError) as error:
        count_posts(make_plan(rust(long_mock.url, tmp_path / "a.db", budget=budget)))
    assert said in str(error.value)
    assert received(long_mock) == {}


def test_a_span_that_has_not_begun_is_not_counted(mock, tmp_path):
    capture = {"from": "2100-01-01", "until": None}
    with pytest.raises(SettingsError, match="has not begun"):
        count_posts(make_plan(settings_of(mock.url, tmp_path / "a.db", capture=capture)))


def test_counting_of_a_capture_that_has_begun_is_in_its_ledger_and_budget(long_mock, tmp_path):
    database = tmp_path / "a.db"
    reason, _ = crawl(rust(long_mock.url, database, budget={"max_money": 0.50}))
    assert reason.kind == "budget"
    spent = rows(database, "select sum(cost) from request")[0][0] / 100_000
    with pytest.raises(SettingsError, match=r"of max_money = \$0.520 are left"):
        count_posts(make_plan(rust(long_mock.url, database, budget={"max_money": 0.52})))
    settings = rust(long_mock.url, database, budget={"max_money": 5.0})
    plan = make_plan(settings)
    found = make_campaign_quote(plan, matches := count_posts(plan))
    wanted = list_rust(BEGIN, NOW - 3_600)
    assert matches == (len(wanted),)
    kept = rows(database, f"select n, kind, cost, posts from request where endpoint = '{COUNTS_OF_ALL}'")
    assert kept == [(-1, "ok", 1_000, 0)] * 4
    read = rows(database, "select sum(posts) from request")[0][0]  # repeats included, as the budget counts them
    assert found.likely.posts == pytest.approx(len(wanted) - read)
    assert crawl(settings)[0].kind == "done"
    assert rows(database, "select count(*) from post") == [(len(wanted),)]
    bill, ledger = long_mock.report()["totals"], rows(database, "select sum(cost) from request")[0][0] / 100_000
    assert bill["dollars"] <= ledger + 1e-9
    assert spent < ledger <= 5.0
    for command in ("verify", "report"):
        child = socialcrawl(command, database)
        assert child.returncode == 0, child.stdout + child.stderr


def test_more_pages_than_a_window_allows_wait_for_the_next_one(tmp_path):
    with serve_in_thread(posts_of(LONG), limit=3, window=1.0) as mock:
        plan = make_plan(rust(mock.url, tmp_path / "a.db", limits={"k": 3, "d": 1.0}))
        began = time.monotonic()
        assert count_posts(plan) == (len(list_rust(BEGIN, NOW - 3_600)),)
        assert time.monotonic() - began > 0.9
        assert mock.report()["answers"] == {"200": 4}, "none was refused"


def test_counts_without_an_end_are_an_error_and_not_a_bill_without_an_end(tmp_path):
    body = b'{"meta": {"total_tweet_count": 5, "next_token": "on"}}'
    fault = faults.Fault("answer", 200, body)
    sent = []
    with serve_in_thread(posts_of(LONG), fault=lambda endpoint, _: sent.append(endpoint) or fault) as mock:
        plan = make_plan(rust(mock.url, tmp_path / "a.db"))
        with pytest.raises(SourceError, match="more pages of counts than the span of time"):
            count_posts(plan)
    assert sent == [COUNTS_OF_ALL] * 4


def test_a_span_without_matches_and_one_that_goes_on_are_told(mock, tmp_path):
    settings = settings_of(mock.url, tmp_path / "a.db", topic={"keywords": ["zyxwvut"]})
    assert "No posts match in the capture's span of time" in show(settings, count=True)
    begin, _ = span()
    capture = {"from": stamp(begin), "until": None, "ongoing": True}
    settings = settings_of(mock.url, tmp_path / "a.db", capture=capture, budget={"max_money": 9.0})
    plan = make_plan(settings)
    console = Console(file=io.StringIO(), width=300)
    from socialcrawl.render import quote

    quote.show(console, plan, make_campaign_quote(plan, (100,)))
    text = console.file.getvalue()
    assert "The probable numbers are those of the posts until now: new posts come on top." in text
    assert "At the earliest, max_money is reached" in text
    assert "No budget will be reached" not in text


def test_a_platform_that_counts_nothing_gets_no_hint(tmp_path):
    settings = settings_of(None, tmp_path / "a.db", source={"token_env": TOKEN_ENV, "base_url": "http://127.0.0.1:9"})
    plan = make_plan(settings)
    from dataclasses import replace

    found = replace(make_campaign_quote(plan), counting=None)
    console = Console(file=io.StringIO(), width=300)
    from socialcrawl.render import quote

    quote.show(console, plan, found)
    assert "--counts" not in console.file.getvalue()


@pytest.mark.parametrize(("opt_outs", "hourly"), [(False, 120), (True, 240)])
def test_a_quote_names_the_requests_by_which_a_stream_is_read(mock, tmp_path, opt_outs, hourly):
    """3,600 s an hour in segments of 30 s are 120; twice as many if authors are looked up before their posts."""
    given = {
        "name": "sky",
        "kind": "capture",
        "database": str(tmp_path / "a.db"),
        "topic": {"keywords": ["rust"]},
        "capture": {"from": "2026-01-01", "live": True, "segment": "30s"},
        "source": {"platform": "bluesky", "base_url": mock.url, "opt_outs": opt_outs},
    }
    settings = check_settings(given, "test")
    stream = "/xrpc/network.bsky.jetstream.subscribeEvents"
    text = show(settings, count=False)
    assert f"requests to {stream}, about {hourly} an hour" in text
    assert "segment of 30 s" in text
    assert "How many posts it will show is not known" in text
    plan = make_plan(settings)
    told = build_object(plan, make_campaign_quote(plan))["stream"]
    assert told == {"endpoint": stream, "requests_per_hour": hourly}


def test_a_quote_of_xs_stream_says_what_a_post_costs_and_what_a_run_pays_in_advance(mock, tmp_path):
    given = {"capture": {"from": "2026-01-01", "live": True}, "topic": {"keywords": ["rust"]}}
    given = {**capturing(mock.url, tmp_path / "a.db"), **given, "budget": {"max_money": 20.0}}
    text = show(check_settings(given, "test"), count=False)
    assert "requests to /2/tweets/search/stream?part, about 180 an hour" in text
    assert "costs $0.005. Each run pays for 300 posts in advance ($1.50)" in text
