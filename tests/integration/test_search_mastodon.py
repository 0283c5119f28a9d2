"""Accounts that are found by searches of the topic, span by span, on the mock of Mastodon: hashtags and full text."""

import io
import json
import math
import re
from collections import Counter
from dataclasses import replace

import httpx
import pytest
from archive_captures import MANY
from commands import socialcrawl
from killed_campaigns import Reaper, nursery, run_killed_at_requests
from rich.console import Console
from stores import opened
from tag_captures import TAGS
from test_capture_full_text import NOTHING
from test_match_reading import pick_sections
from test_search_reading import check_same, read_values
from verified_campaigns import differences, end_of
from x_crawls import TOKEN_ENV, TOPIC, crawl, posts, rows, sequence

from socialcrawl.campaign.cost_outlook import make_campaign_quote
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.collect.searched_time import measure_searched_time
from socialcrawl.engine.model import parse_time
from socialcrawl.errors import SettingsError
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.mastodon.platform import HASHTAGS_ONLY
from socialcrawl.platforms.mastodon.source import INSTANCE, PAGED_TAG, SEARCH
from socialcrawl.render.quote import show
from socialcrawl.storage.queries.traces import CampaignTraces

OPEN = {"mastodon_limit": 100_000, "paged_limit": 100_000}
TEXTS = {"full_text": True, "token_env": TOKEN_ENV}
TAGGED = {"topic": {"keywords": list(TAGS)}}
WORDS = {"topic": {"keywords": [TOPIC]}, "source": TEXTS}


def searching(url, place, read="search", **sections):
    source = {"platform": "mastodon", "base_url": url, "domain": "home.example", "read": read, "timeout": 60.0}
    how = {"steps": 120, "estimator": "hybrid-sum"}
    given = {"name": "tags", "database": place, "limits": MANY, "crawl": how, "seeds": {"most": 10}}
    given |= {"topic": end_of(posts()), "source": source}
    return check_settings(given | {key: given.get(key, {}) | more for key, more in sections.items()}, "test")


def count_by_author(words, data=None):
    """The occurrences of some words in each author's posts, by an independent scan without reposts."""
    data, found = posts() if data is None else data, Counter()
    pattern = re.compile("|".join(rf"(?<![\w/=]){re.escape(fold_name(word))}(?!\w)" for word in words))
    for author, text in zip(data.authors, data.texts, strict=True):
        found[author.lower()] += 0 if text.startswith("RT @") else len(pattern.findall(fold_name(text)))
    return {author: many for author, many in found.items() if many}


def named(counts):
    """Those counts by the full names of the accounts, with the relevance of each."""
    full = {name if "@" in name else f"{name}@home.example": many for name, many in counts.items()}
    return {name: (many, 1.0 + math.log(many)) for name, many in full.items()}


def measure_rate(url, place, read, **sections):
    """The relevance that a campaign finds for a request."""
    crawl(searching(url, place, read, **sections))
    told = json.loads(socialcrawl("report", place, "--json").stdout)
    return told["relevance"] / told["requests"]


def test_each_author_of_tagged_posts_is_found_with_the_value_that_all_of_these_give(tmp_path):
    table = posts()
    far = {name for name in table.authors if name[-1] in "aeiou"}
    mixed = replace(table, authors=[f"{name}@far.example" if name in far else name for name in table.authors])
    with serve_in_thread(mixed, **OPEN) as mock:
        reason, _ = crawl(searching(mock.url, tmp_path / "a.db", **TAGGED))
    assert (reason.kind, reason.why[:28]) == ("done", "all of the time was searched")
    wanted = named(count_by_author(TAGS, mixed))
    assert read_values(tmp_path / "a.db") == wanted
    assert {name.partition("@")[2] for name in wanted} == {"home.example", "far.example"}
    sent = "select distinct endpoint from request where kind = 'ok'"
    assert rows(tmp_path / "a.db", sent) == [("home.example/api/v1/timelines/tag/:hashtag?max_id",)]
    assert differences(tmp_path / "a.db") == []
    said = quote(searching(mock.url, tmp_path / "a.db", **TAGGED))
    assert "All of the time was searched. Nothing is left to do." in said
    assert "still to come" not in said


def quote(settings):
    """What the quote of a campaign says."""
    console, plan = Console(file=io.StringIO(), width=400), make_plan(settings)
    show(console, plan, make_campaign_quote(plan))
    return console.file.getvalue()


def test_time_that_two_keywords_have_left_counts_once(tmp_path):
    with serve_in_thread(posts(), **OPEN) as mock:
        crawl(searching(mock.url, tmp_path / "a.db", budget={"max_requests": 4}, **TAGGED))
    with opened(tmp_path / "a.db") as connection:
        traces = CampaignTraces(connection)
        found = measure_searched_time(traces, traces.read_campaign("tags"))
    assert 0 < found.left <= parse_time(found.until) - parse_time(found.begin)


@pytest.mark.parametrize(
    ("keywords", "source", "endpoints"),
    [
        (["#mood"], {}, [PAGED_TAG]),
        (["#mood"], {"token_env": TOKEN_ENV}, [PAGED_TAG, INSTANCE]),
        (["#mood"], TEXTS, [PAGED_TAG, INSTANCE]),
        (["mood"], TEXTS, [SEARCH]),
        (["#mood", "good mood"], TEXTS, [PAGED_TAG, INSTANCE, SEARCH]),
    ],
)
def test_a_quote_names_the_endpoints_that_are_used_and_what_ends_the_search(keywords, source, endpoints, tmp_path):
    given = {"topic": {"keywords": keywords}, "source": source, "crawl": {"steps": None, "estimator": "hybrid-sum"}}
    settings = searching("http://127.0.0.1:1", tmp_path / "a.db", **given)
    assert sorted(line.endpoint for line in make_campaign_quote(make_plan(settings)).lines) == sorted(endpoints)
    said = quote(settings)
    assert "It ends when all of the time is searched, or a budget is reached." in said
    assert "hybrid-sum" not in said


@pytest.mark.parametrize("read", ["search", "auto"])
def test_with_a_token_texts_are_searched_too_and_each_post_counts_once(read, tmp_path):
    words = {"topic": {"keywords": [TOPIC, TAGS[0]]}, "source": TEXTS}
    with serve_in_thread(posts(), **OPEN) as mock:
        reason, _ = crawl(searching(mock.url, tmp_path / "a.db", read, **words))
    assert reason.kind == "done"
    assert read_values(tmp_path / "a.db") == named(count_by_author([TOPIC, TAGS[0]]))
    assert differences(tmp_path / "a.db") == []


@pytest.mark.parametrize("sections", [TAGGED, WORDS], ids=["tags", "words"])
def test_searches_find_more_for_a_request_and_auto_without_full_text_reads_timelines(sections, tmp_path):
    without = {**sections, "source": {**sections.get("source", {}), "full_text": False}}
    with serve_in_thread(posts(), **OPEN) as mock:
        found = measure_rate(mock.url, tmp_path / "search.db", "search", **sections)
        assert found > 3 * measure_rate(mock.url, tmp_path / "timeline.db", "timeline", **without)
        crawl(searching(mock.url, tmp_path / "auto.db", "auto", **without))
    assert sequence(tmp_path / "auto.db") == sequence(tmp_path / "timeline.db")


@pytest.mark.parametrize("opt_outs", [True, False])
def test_authors_who_opt_out_are_not_found(opt_outs, tmp_path):
    with serve_in_thread(posts(), noindex=0.3, nobot=0.3, **OPEN) as mock:
        crawl(searching(mock.url, tmp_path / "a.db", topic=TAGGED["topic"], source={"opt_outs": opt_outs}))
        names = {name.partition("@")[0] for name in count_by_author(TAGS)}
        silent = {name for name in names if is_silent(mock.url, name)}
    wanted = named({name: many for name, many in count_by_author(TAGS).items() if not (opt_outs and name in silent)})
    assert silent
    assert read_values(tmp_path / "a.db") == wanted
    stored = {name for (name,) in rows(tmp_path / "a.db", "select platform_id from account join post on author = node")}
    assert stored == wanted.keys()
    check_descriptions(tmp_path, opt_outs=opt_outs)


def check_descriptions(folder, *, opt_outs):
    """Check what the methods paragraph and the datasheet say of the posts that are missing."""
    socialcrawl("report", folder / "a.db", "--html", folder / "a.html")
    socialcrawl("export", folder / "a.db", "--out", folder / "out")
    page, sheet = (folder / "a.html").read_text("utf-8"), (folder / "out" / "datasheet.md").read_text("utf-8")
    assert HASHTAGS_ONLY in page
    assert f"- {HASHTAGS_ONLY}" in sheet
    left_out = "Posts of accounts that had opted out were left out of what was returned, and are not counted."
    assert (left_out in page) == opt_outs
    assert "opted out were skipped" not in page


def is_silent(url, name):
    """Whether the mock says of an account that it wants no crawlers."""
    profile = httpx.get(f"{url}/api/v1/accounts/lookup", params={"acct": name}, headers={"Host": "home.example"}).json()
    return profile["noindex"] or "nobot" in profile["note"]


@pytest.mark.parametrize(("sections", "after"), [(TAGGED, 11), (WORDS, 7)], ids=["tags", "words"])
def test_a_process_that_is_killed_as_its_requests_arrive_makes_the_same_picks(sections, after, tmp_path):
    reaper = Reaper()
    with serve_in_thread(posts(), **OPEN) as mock:
        crawl(searching(mock.url, tmp_path / "a.db", **sections))
    with (
        serve_in_thread(posts(), reaper, **OPEN) as mock,
        nursery(tmp_path / "errors", "killed_campaigns") as children,
    ):
        given = pick_sections(searching(mock.url, tmp_path / "b.db", **sections))
        assert run_killed_at_requests(children, reaper, given, after, tmp_path / "errors") > 3
    check_same(tmp_path / "a.db", tmp_path / "b.db")


def test_a_search_that_is_silent_for_a_while_leaves_no_hole(tmp_path):
    database, empty = tmp_path / "a.db", faults.Fault("answer", 200, NOTHING)
    with serve_in_thread(posts(), fault=lambda _, nth: empty if nth % 40 > 30 else None, **OPEN) as mock:
        settings = searching(mock.url, database, crawl={"refresh_rate": 1}, **WORDS)  # one request after the other
        reasons = [crawl(settings)[0]]
        while reasons[-1].kind != "done":
            assert "finds no posts, whatever is searched" in reasons[-1].why
            reasons.append(crawl(settings)[0])
    assert len(reasons) > 5
    assert read_values(database) == named(count_by_author([TOPIC]))


@pytest.mark.parametrize(
    ("read", "changes", "why"),
    [
        ("search", {"source": {"full_text": True}}, r"\[source\] full_text = true takes a token of your instance"),
        ("auto", {"source": {"full_text": True}}, r"\[source\] full_text = true takes a token of your instance"),
        ("timeline", {"source": TEXTS}, 'is for read = "search" or "auto"'),
        ("search", {"topic": {"keywords": ["@ann@home.example"]}}, r'read = "search" reads hashtag.*\[source\]'),
        ("search", {"topic": {"from": "2017-10-17"}}, r"set from under \[topic\]"),
        ("search", {"topic": {"until": "2017-10-18"}}, r"set from under \[topic\] .*, and until after"),
        ("search", {"source": {"search": "v2"}}, "search under .source. belongs to another platform than Mastodon"),
        ("search", {"seeds": {"usernames": ["ann@home.example"]}}, "reads no seeds"),
        ("search", {"source": TEXTS | {"platform": "bluesky", "identifier": "a.b"}}, "another platform than Bluesky"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_is_sent(read, changes, why, tmp_path):
    given = {**TAGGED, **changes, "topic": TAGGED["topic"] | changes.get("topic", {})}
    settings = searching("http://127.0.0.1:1", tmp_path / "a.db", read, **given)
    with pytest.raises(SettingsError, match=re.compile(why, re.DOTALL)):
        make_plan(settings)


def test_words_without_a_sign_are_named_with_the_hashtag_that_is_read(tmp_path):
    given = {"topic": {"keywords": ["#mood", "good weekend"]}}
    plan = make_plan(searching("http://127.0.0.1:1", tmp_path / "a.db", **given))
    [said] = [text for about, text in plan.warnings if about == "keywords"]
    assert "'good weekend' is read as the hashtag #goodweekend" in said
    assert "full_text = true under [source]" in said


@pytest.mark.parametrize(
    ("keyword", "source", "said"),
    [
        ("C++", {}, "'C++' is read as the hashtag #C, because hashtags have letters, digits and _ only"),
        ("#C++", {}, "Posts with #C count only if they contain '#C++' too; with full_text = true"),
        ("#C++", TEXTS, "Posts with #C count only if they contain '#C++' too"),
        ("week-end", {}, "Posts with #weekend count only if they contain 'week-end' too"),
        ("Week End*", {}, "Posts with #WeekEnd count only if they contain 'Week End*' too"),
        ("weekend", {}, "'weekend' is read as the hashtag #weekend, so posts without that sign are not found"),
        ("C++", TEXTS, ""),
        ("#Café", {}, ""),
    ],
)
def test_keywords_whose_hashtag_lacks_some_of_their_characters_are_named(keyword, source, said, tmp_path):
    given = {"topic": {"keywords": ["#mood", keyword]}, "source": source}
    plan = make_plan(searching("http://127.0.0.1:1", tmp_path / "a.db", **given))
    found = " ".join(text for about, text in plan.warnings if about == "keywords" and "hashtag" in text)
    assert said in found
    assert bool(said) == bool(found)
