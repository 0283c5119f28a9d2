"""The report as a page: its numbers are those of the database, it needs no other file, no text leaves its place."""

import io
import math
import re
import sqlite3
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from html_pages import Page, check_page
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import opened
from x_crawls import TOPIC, campaign_of, crawl, posts, rows, scratch

import socialcrawl as sc
from socialcrawl import __version__
from socialcrawl.campaign.policies import load_policy
from socialcrawl.crawls.facts import BUILT_IN
from socialcrawl.crawls.registry import find_kind
from socialcrawl.crawls.track.report import RankedAccount, TrackReport, VisitYield
from socialcrawl.engine.draws import STEERED, assign_arms
from socialcrawl.errors import StoreError
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render import report_charts
from socialcrawl.render.campaign_report import collect_values, read_report, show
from socialcrawl.render.console import Console
from socialcrawl.render.html_elements import LONGEST, make_element, mark_code, write_document
from socialcrawl.render.html_report import PageSource, _describe_left_out, make_page, make_sections
from socialcrawl.render.methods_paragraph import CollectionFacts, list_unseen, write_methods
from socialcrawl.render.network_layout import compute_layout
from socialcrawl.storage.queries import top_network
from socialcrawl.storage.queries.top_network import NetworkNode, TopNetwork
from socialcrawl.storage.queries.topic_counts import TopicCounts, TopicText
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.system import plugins

ROOT = Path(__file__).parents[3]
TERMS = (ROOT / "docs" / "explanation" / "terms-and-ethics.md").read_text("utf-8")
LESS, ALONE = "less relevant (of equally relevant ones, those read first stay)", "that no mention joins to the others"
SHARE = "share of the accounts on topic that is held"
AT = 1_800_000_000.0
HOSTILE = (
    '"><script>alert(1)</script>', "</title><img src=//evil.example onerror=alert(1)>", "javascript:alert(1)",
    "' onmouseover='alert(1)", "</style><style>@import url(//evil.example)", "<!--", "-->", "]]>", "&lt;script&gt;",
    "\u202egnp.exe", "\x00\x1b[2J", "\ud800", "</bdi></td></table>", "$\\alpha$ {x}", "", " ", "a" * 5_000,
)  # fmt: skip


@pytest.fixture(scope="module")
def database():
    """The database of a campaign whose steps are drawn half of the time."""
    file = scratch() / "page.db"
    with serve_in_thread(posts(), limit=100_000, missing=0.1) as mock:
        crawl(campaign_of(mock.url, file, crawl={"steps": 60, "control": 0.5}))
    return file


@pytest.fixture(scope="module")
def found(database):
    with opened(database) as connection:
        report = read_report(connection, None)
        return report, CollectionFacts(CampaignTraces(connection), report.found)


def page_of(database, **more):
    with opened(database) as connection:
        return make_page(connection, read_report(connection, None), AT, **more)


@pytest.fixture(scope="module")
def plain(database):
    return page_of(database)


def replace_facts(facts, **more):
    """The facts with some of them changed."""
    told = CollectionFacts.__new__(CollectionFacts)
    told.__dict__ |= {**facts.__dict__, **more}
    return told


def count(text):
    return int(text.replace(",", ""))


def test_the_page_needs_no_other_file_no_script_and_no_network_and_its_pictures_are_told(plain):
    page = check_page(plain)
    assert sum(tag == "svg" for tag, _ in page.tags) == 3
    assert ("html", {"lang": "en"}) in page.tags
    (policy,) = [found["content"] for _, found in page.tags if "http-equiv" in found]
    assert policy.startswith("default-src 'none'")
    assert "prefers-color-scheme: dark" in page.style
    assert len(plain) < 400_000


def test_the_same_database_gives_the_same_page(database, plain):
    assert page_of(database) == plain


def test_the_numbers_of_the_page_are_those_of_sql(database, plain):
    page = Page(plain)
    (total,) = rows(database, "select count(*) from hit")[0]
    outcomes = "select o.node from outcome o join pick using (n) where missing is null and act in ('seed', 'expand')"
    read = {node for (node,) in rows(database, outcomes)}
    matches = rows(database, "select author, substr(created_at, 1, 10), repost_of from hit join post on id = post")
    own, authors = [one for one in matches if one[0] in read], {one[0] for one in matches}
    assert len(own) < total == len(matches), "a search found posts of accounts that were not read"
    reposts = sum(one[2] is not None for one in matches)
    assert (
        f"{total:,} posts: {len(own):,} by {len(authors & read):,} accounts read, {total - len(own):,} by "
        f"{len(authors - read):,} accounts not read, which a search returned; {reposts:,} are reposts"
    ) in page.text
    assert f"{total - len(own):,} more posts, found only by a search, are not shown" in page.sections["days"]
    single = sum(many == 1 for many in Counter(one[0] for one in own).values())
    both = f"{len(authors & read):,} of {len(read):,} accounts read have at least one matching post"
    assert f"{both} ({single:,} exactly one)" in page.text
    days = Counter(one[1] for one in own)
    shown = {day: count(many) for day, many in page.tables["matching posts per day"][1:]}
    assert {day: many for day, many in shown.items() if many} == days
    assert list(shown) == sorted(shown)
    values = [
        value
        for (value,) in rows(database, "select value from outcome join pick using (n) where act = 'expand' order by n")
    ]
    for read, own, *_ in page.tables["relevance found (sum)"][1:]:
        assert float(own) == pytest.approx(sum(values[: count(read)]), abs=0.006)
    assert page.tables["relevance found (sum)"][0][1:] == ["this campaign"]
    top = "select platform_id, value, occurrences, o.posts, o.node from outcome o join pick using (n) "
    top += "join account a on a.node = o.node"
    written = dict(rows(database, "select author, count(*) from post group by 1"))
    matching = dict(rows(database, "select author, count(*) from post where id in (select post from hit) group by 1"))
    for caption, act in (("discovered by the crawl", "expand"), ("seeds", "seed")):
        best = rows(database, f"{top} where act = '{act}' and value > 0 order by value desc, n limit 15")
        listed = page.tables[caption][1:]
        told = [[row[1], float(row[2]), *map(count, row[3:5]), row[5], count(row[6])] for row in listed]
        shares = {node: f"{100 * many / written[node]:.0f} %" for node, many in matching.items()}
        assert told == [
            [who, pytest.approx(value, abs=0.006), hits, matching[node], shares[node], posts]
            for who, value, hits, posts, node in best
        ]
    sent = {row[0]: 0 for row in page.tables["requests by status"][1:]}
    for endpoint, _, _, many in page.tables["requests by status"][1:]:
        sent[endpoint] += count(many)
    assert sent == dict(rows(database, "select endpoint, count(*) from request group by 1"))
    gone = rows(
        database, "select missing, count(distinct node) from outcome where missing is not null and node >= 0 group by 1"
    )
    gaps = dict(page.tables["gaps"][1:])
    assert {f"accounts that could not be read: {why}": f"{many:,}" for why, many in gone}.items() <= gaps.items()


def test_what_was_not_seen_though_nothing_failed_is_counted(database, plain):
    page = Page(plain)
    gaps = dict(page.tables["gaps"][1:])
    done = "outcome join pick using (n) where outcome.node >= 0 and act in ('seed', 'expand')"
    (empty,) = rows(database, f"select count(distinct outcome.node) from {done} and missing is null and posts = 0")[0]
    (waiting,) = rows(database, "select count(*) from frontier_now")[0]
    (stopped,) = rows(
        database, "select coalesce(sum(size), 0) from coverage_gap where gap = 'search' and why = 'more pages'"
    )[0]
    assert count(gaps["accounts read that returned no posts"]) == empty
    assert count(gaps["accounts known by a mention, and not read"]) >= waiting > 0
    (unread, mentioned) = rows(
        database,
        "select count(*), count(case when author in (select link.node from link join pick using (campaign, n) "
        "where act in ('seed', 'expand')) then 1 end) from (select distinct author from hit join post "
        "on post.id = hit.post where author not in "
        f"(select outcome.node from {done} and missing is null))",
    )[0]
    assert 0 < mentioned < unread
    said = gaps["authors of matching posts that a search returned, and not read"]
    assert said == f"{unread:,} ({mentioned:,} of them also mentioned)"
    assert count(gaps["searches stopped before their last page"]) == stopped
    assert gaps[SHARE] == "not measured: see docs/how-to/audit.md"
    assert "Ids lead to persons" in page.sections["publishing"]


def read_colours():
    """The colours of the page by name: on light and on dark paper."""
    css = files("socialcrawl.render").joinpath("html_report.css").read_text("utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    )
    return [light, light | dark]


def compute_luminance(colour):
    """By WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def compute_contrast(one, other):
    low, high = sorted((compute_luminance(one), compute_luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", read_colours(), ids=["light", "dark"])
def test_texts_and_marks_of_the_page_contrast_with_its_paper(colours):
    assert compute_contrast("#000000", "#ffffff") == pytest.approx(21)
    for name in ("ink", "quiet", "first"):
        assert compute_contrast(colours[name], colours["paper"]) >= 4.5, name
        assert compute_contrast(colours[name], colours["tint"]) >= 4.5, name
    for name in ("first", "second", "third", "edge"):
        assert compute_contrast(colours[name], colours["paper"]) >= 3, name
    levels = [colours[f"level-{number}"] for number in range(1, 1 + len(report_charts.LEVELS))]
    for level in levels:
        outlined = (
            compute_contrast(level, colours["ink"]) >= 3 and compute_contrast(colours["ink"], colours["paper"]) >= 3
        )
        assert outlined or compute_contrast(level, colours["paper"]) >= 3
    away = [compute_contrast(level, colours["paper"]) for level in levels]
    assert away == sorted(away), "the most relevant accounts stand out most"


@pytest.mark.parametrize("values", [[2.1], [1.0, 1.0], [1.0, 1.04], [2.39, 5.53, 3.3], [0.04, 9.96]])
def test_classes_of_relevance_begin_at_tenths_and_hold_all_values(values):
    bounds = report_charts.choose_bounds(np.array(values))
    assert np.allclose(bounds * 10, np.round(bounds * 10))
    assert bounds[0] <= min(values) <= max(values) <= bounds[-1]
    assert 2 <= len(bounds) <= 1 + len(report_charts.LEVELS)
    assert (np.diff(bounds) > 0).all()


def test_labels_of_a_network_do_not_stand_on_each_other():
    at = np.concatenate([np.zeros((3, 2)), np.array([[0.02, 0.0], [1.0, 1.0], [0.0, 0.03]])])
    offsets = report_charts.place_labels(at, 6)
    spots = at * report_charts.WIDE + offsets
    gaps = np.sqrt(((spots[:, None] - spots[None]) ** 2).sum(axis=2)) + np.eye(6) * 99
    assert gaps.min() > 5
    assert (offsets == report_charts.place_labels(at, 6)).all()
    assert report_charts.place_labels(at[:1], 5).shape == (1, 2)


def test_a_test_server_is_not_called_the_platform_and_what_the_platform_would_cost_is_said(database, plain):
    top = Page(plain).text
    assert "on a test server on this machine in place of X" in top
    (cost,) = rows(database, "select sum(cost) / 100000.0 from request")[0]
    as_of = load_policy("x").as_of
    assert f"nothing (test server); on X it would be ${cost:,.2f} at most by the price table of {as_of}" in top


def test_the_network_is_that_of_sql_and_says_how_many_accounts_are_left_out(database, plain):
    page = Page(plain)
    pairs = rows(
        database,
        "select s.platform_id, t.platform_id from mention_network m join account s on s.node = source_node "
        "join account t on t.node = target_node",
    )
    nodes = page.tables["accounts of the network"][1:]
    among = {who for _, who, *_ in nodes}
    inside = {pair for pair in pairs if set(pair) <= among}
    for number, (place, who, value, into, out, _) in enumerate(nodes, 1):
        assert count(place) == number
        assert count(into) == sum(target == who for _, target in inside)
        assert count(out) == sum(source == who for source, _ in inside)
        assert float(value) > 0
    (total,) = rows(database, "select count(*) from top_account")[0]
    assert f"{len(nodes):,} of the {total:,} accounts on topic" in page.text
    assert total > len(nodes)
    assert "Left out: " in page.text
    matching = "m.alpha > 0 and s.platform_id in ({0}) and t.platform_id in ({0})".format(
        ", ".join(f"'{who}'" for who in among)
    )
    ((few,),) = rows(
        database,
        "select count(*) from mention_network m join account s on s.node = source_node "
        f"join account t on t.node = target_node where {matching}",
    )
    assert f"There are {len(inside):,} ordered pairs" in page.text
    assert f"in matching posts, {few:,} of them" in page.text
    assert 0 < few < len(inside)


def test_what_was_simulated_and_what_was_measured_are_two_answers_to_one_question(found):
    report, facts = found
    both = replace(report, baselines={"chance (simulated)": np.arange(60.0)})
    source = PageSource(both, facts, TopNetwork([], [], 0), [], "", False)
    (said,) = [one for name, one in make_sections(source) if name == "steering"]
    first, second, *_ = ["".join(one.itertext()) for one in said.iter("p")]
    assert "in one simulated run each" in first
    assert second.startswith("Did steering beat chance? ")


def test_the_accounts_listed_have_the_numbers_of_the_network(plain):
    page = Page(plain)
    numbers = {who: place for place, who, *_ in page.tables["accounts of the network"][1:]}
    for caption in ("discovered by the crawl", "seeds"):
        listed = page.tables[caption][1:]
        assert {who: place for place, who, *_ in listed} == {who: numbers.get(who, "-") for _, who, *_ in listed}


@pytest.mark.parametrize(
    ("alone", "total", "said"),
    [
        (0, 2, ""),
        (0, 5, f"Left out: 3 {LESS}. "),
        (3, 5, f"Left out: 3 {ALONE}. "),
        (1, 5, f"Left out: 2 {LESS}, and 1 {ALONE}. "),
    ],
)
def test_only_accounts_that_are_left_out_are_counted_as_such(alone, total, said):
    nodes = [NetworkNode("@a", "1", 2.0, True), NetworkNode("@b", "2", 1.0, False)]
    assert _describe_left_out(TopNetwork(nodes, [(0, 1, 1.0)], alone), total) == said


def test_early_days_are_said_to_lack_posts_where_only_the_newest_were_read(found):
    report, facts = found
    sentence = "Of 3 accounts only the newest posts were read, so early days are counted too low."
    told = replace_facts(facts, gaps={**facts.gaps, "timelines_cut": 3})
    source = PageSource(report, told, TopNetwork([], [], 0), [], "", False)
    (days,) = [section for name, section in make_sections(source) if name == "days"]
    assert sentence in "".join(days.itertext())
    for cut, wanted in ((3, True), (0, False)):
        console = Console(file=io.StringIO(), width=120)
        show(console, replace(report, cut=cut))
        assert (sentence in console.file.getvalue()) is wanted


def test_a_sample_of_the_same_topic_is_named_where_the_share_was_not_measured(database, tmp_path):
    """A campaign of kind sample on the same topic can measure it; one on another topic can not."""
    copy = tmp_path / "copy.db"
    for topic, wanted in (("other", False), (TOPIC, True)):
        copy.unlink(missing_ok=True)
        with closing(sqlite3.connect(database)) as old, closing(sqlite3.connect(copy)) as new:
            old.backup(new)
            for table, column in (("campaign", "id"), ("version", "campaign")):
                columns = [row[1] for row in new.execute(f"pragma table_info({table})")]
                values = ", ".join({column: "7", "name": "'walk'"}.get(one, one) for one in columns)
                new.execute(f"insert into {table} select {values} from {table}")
                settings = "json_set(settings, '$.kind', 'sample', '$.topic.keywords', json_array(?))"
                new.execute(f"update {table} set settings = {settings} where {column} = 7", [topic])
            new.commit()
        with opened(copy) as connection:
            report = read_report(connection, "campaign")
            page = Page(make_page(connection, report, AT))
        advised = "run socialcrawl audit with the file of the sample campaign walk"
        assert (dict(report.gaps)[SHARE] == advised) is wanted
        assert ("is what socialcrawl audit estimates" in page.sections["methods"]) is wanted
        assert ("was not measured" in page.sections["methods"]) is not wanted


def test_names_and_texts_are_left_out_unless_they_are_wanted(database, plain):
    names = [name for (name,) in rows(database, "select username from account where username is not null")]
    texts = [said for (said,) in rows(database, "select text from post join hit on post = id")]
    page, full = check_page(plain), check_page(page_of(database, with_texts=True))
    words = set(re.findall(r"\w+", page.text))
    assert not words & set(names)
    assert not [said for said in texts if said[:40] in page.text]
    assert "neither post texts nor profiles" in page.text  # what X permits
    (best,) = rows(
        database, "select account from top_account join pick using (n) where pick.act = 'expand' order by place limit 1"
    )[0]
    assert f"@{best}" in full.text
    assert sum(tag == "blockquote" for tag, _ in full.tags) == 30
    quoted = "select text from hit join post on id = post order by occurrences desc, created_at desc, id limit 30"
    for (said,) in rows(database, quoted):
        assert " ".join(said.split())[:900] in full.text
    assert "names accounts and quotes posts" in full.text


def test_the_methods_paragraph_has_the_counts_and_the_settings_no_secrets(database, plain, found):
    report, _ = found
    text = Page(plain).sections["methods"]
    (requests,) = rows(database, "select count(*) from request")[0]
    assert f"{requests:,} requests" in text
    assert f"{len(report.found.seeds):,} seed accounts (authors of posts found by a search" in text
    assert f'"{TOPIC}"' in text
    assert "not a random sample" in text
    counts = report.found.on_topic
    assert f"written from {counts.first} to {counts.last} (UTC): {counts.posts:,} posts" in text
    assert "accounts not read, which a search returned" in text
    assert "The share of the accounts on topic that is held was not measured." in text
    assert "Random seed" in text
    assert "`" not in text
    drawn = int((assign_arms(found[1].seed, 0.5, 0, 60) != STEERED).sum())
    assert f"2014); {drawn} of the 60 steps read an account that was drawn for comparison." in text
    assert "drawn for comparison" not in write_methods(replace_facts(found[1], drawn=0), report.found, "1")
    assert "estimator nh-ne-sum" in text
    assert "Data come from a simulated platform (mock server), not from X; do not publish as observations." in text
    for secret in ("SOCIALCRAWL_TEST_TOKEN", "127.0.0.1", str(database)):
        assert secret not in plain


def test_every_slot_of_the_template_of_the_methods_paragraph_is_filled(database, plain):
    """Each capital word of the page in the documentation has its value here, or is left to the reader."""
    template = " ".join(TERMS[TERMS.index("> We collected") : TERMS.index("The five papers")].replace("> ", "").split())
    ((began, ended, sent),) = rows(
        database, "select min(sent_at), max(coalesce(arrived_at, sent_at)), count(*) from request"
    )
    done = "from outcome o join pick using (n) where act in ('seed', 'expand')"
    read, seeds = (
        rows(database, f"select count(distinct o.node) {done} and {which}")[0][0]
        for which in ("missing is null", "act = 'seed'")
    )
    gone = dict(rows(database, f"select missing, count(distinct o.node) {done} and missing is not null group by 1"))
    matches = rows(database, "select author from hit join post on id = post")
    start, end = f"between {began[:16].replace('T', ' ')} and", f"and {ended[:16].replace('T', ' ')} (UTC)"
    if began[:16] == ended[:16]:
        start = end = f"at {began[11:16]} UTC on {began[:10]}"
    filled = {
        "PLATFORM": "from a simulation of X ",
        "START": start,
        "END": end,
        "VERSION": f"socialcrawl {__version__}, a focused crawler",
        "KEYWORDS": f'given by "{TOPIC}". A post matches if it contains a keyword as a whole word or phrase, in upper',
        "SEEDS": f"from {seeds:,} seed accounts",
        "HOW CHOSEN": "(authors of posts found by a search for the topic)",
        "ESTIMATOR": "(estimator nh-ne-sum; after Gouriten, Maniu and Senellart, 2014)",
        "PAGES": "pages of its newest posts were read",
        "ACCOUNTS": f"The posts of {read:,} accounts were read",
        "REQUESTS": f"with {sent:,} requests",
        "MATCHES": f"{len(matches):,} posts",
        "AUTHORS": f"by {len(set(matches) & set(rows(database, f'select o.node {done}'))):,} accounts",
        "MISSING": f"{sum(gone.values()):,} accounts could not be read (",
        "REASONS": ", ".join(f"{gone[why]:,} {why}" for why in sorted(gone)),
        "PROTECTED": f"Protected accounts were skipped: {gone.get('protected', 0):,}.",
        "COMPLETENESS": "The share of the accounts on topic that is held was not measured.",
        "SEED": f"Random seed {rows(database, 'select seed from campaign')[0][0]};",
        "PAPER": "doi:10.1145/2631775.2631795",
    }
    # None in this campaign, none of a mock, known to the reader alone, none on X.
    elsewhere = {"LANGUAGES", "COST", "DATE", "OPTED"}
    slots = set(re.findall(r"HOW CHOSEN|\b[A-Z]{4,}\b", template)) - {"HOW", "CHOSEN"} | {"END"}
    assert slots == filled.keys() | elsewhere
    text = Page(plain).sections["methods"]
    assert [slot for slot, said in filled.items() if said not in text] == []


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ({"keywords": ["sun"]}, ["as a whole word or phrase, in upper or lower case"]),
        ({"keywords": ["sol*"]}, ["(with * at its end: words that begin with it)"]),
        (
            {"keywords": ["すし"]},
            ["In scripts that are written without spaces between words, parts of words match too."],
        ),
        ({"patterns": ["su+n"]}, ["A post matches by a regular expression."]),
        ({"keywords": ["sun"], "languages": ["en", "de"]}, ["without a known language, count: en, de."]),
        ({"keywords": ["sun"], "from": "2025-01-01"}, ["Only posts written from 2025-01-01 (UTC)"]),
    ],
)
def test_the_methods_paragraph_says_which_posts_match(found, topic, said):
    report, facts = found
    told = CollectionFacts.__new__(CollectionFacts)
    told.__dict__ |= {**facts.__dict__, "settings": {"topic": topic}}
    text = write_methods(told, report.found, "1")
    assert all(part in text for part in said)
    assert ("without spaces" in text) == ("すし" in topic.get("keywords", ()))


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ("2026-01-02T02:13:59Z", "from a simulation of X at 02:13 UTC on 2026-01-02 with"),
        ("2026-01-02T02:14:00Z", "from a simulation of X between 2026-01-02 02:13 and 2026-01-02 02:14 (UTC) with"),
    ],
)
def test_requests_of_one_minute_have_one_time(found, ended, said):
    report, facts = found
    told = CollectionFacts.__new__(CollectionFacts)
    told.__dict__ |= {**facts.__dict__, "began": "2026-01-02T02:13:00Z", "ended": ended}
    assert said in write_methods(told, report.found, "1")


def test_matching_posts_of_an_account_are_counted_apart_from_occurrences(database, plain, found):
    report, _ = found
    texts = rows(database, "select platform_id, text from post join account on node = author")
    matching = Counter(who for who, said in texts if re.search(rf"\b{TOPIC}\b", said or "", re.IGNORECASE))
    values = collect_values(report)
    for caption, key in (("discovered by the crawl", "top_discovered"), ("seeds", "top_seeds")):
        head, *cells = Page(plain).tables[caption]
        assert head == ["no.", "account", "relevance", "occurrences", "matching", "share", "posts read", "step"]
        assert [(row[1], row[4]) for row in cells] == [(row[1], f"{matching[row[1]]:,}") for row in cells]
        assert [(row["id"], row["posts_on_topic"]) for row in values[key]] == [
            (row[1], matching[row[1]]) for row in cells
        ]


def test_matching_posts_do_not_follow_from_occurrences(database, found, tmp_path):
    report, _ = found
    with closing(sqlite3.connect(database)) as old, closing(sqlite3.connect(tmp_path / "copy.db")) as new:
        old.backup(new)
        new.execute("update outcome set occurrences = occurrences + 7")
        new.commit()
    with opened(tmp_path / "copy.db") as connection:
        after = {row["id"]: row for row in collect_values(read_report(connection, None))["top_discovered"]}
    for row in collect_values(report)["top_discovered"]:
        assert after[row["id"]] == row | {"occurrences": row["occurrences"] + 7}


def test_the_text_lists_what_is_not_in_the_dataset_without_zeros(found):
    report, facts = found
    gaps = dict(report.gaps)
    assert gaps[SHARE] == "not measured: see docs/how-to/audit.md"
    assert "0" not in gaps.values()
    for what, count in list_unseen(facts, report.found):
        assert gaps.get(what, "0") == count
    alone = replace(report.found, on_topic=replace(report.found.on_topic, mentioned_authors=0))
    assert "mentioned)" not in " ".join(count for _, count in list_unseen(facts, alone))
    console = Console(file=io.StringIO(), width=120)
    show(console, report)
    said = console.file.getvalue()
    assert all(f"  {what}: {count}" in said for what, count in gaps.items())
    assert "not in this dataset:" in said


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        ("nearest", "(estimator nearest; package nearest-first 0.1, as installed when this was written)"),
        (
            "mine:NearestFirst",
            "(estimator mine:NearestFirst; package nearest-first 0.1, as installed when this was written)",
        ),
        ("mine:Other", "(estimator mine:Other; our own code: add its source and version)"),
    ],
)
def test_an_estimator_of_ones_own_is_not_said_to_be_that_of_the_paper(found, estimator, said, monkeypatch):
    report, facts = found
    dist = SimpleNamespace(name="nearest-first", version="0.1")
    entry = SimpleNamespace(name="nearest", value="mine:NearestFirst", dist=dist)
    monkeypatch.setattr(plugins, "_find_entries", lambda group: [entry])
    crawl = {**facts.settings["crawl"], "estimator": estimator}
    text = write_methods(replace_facts(facts, settings={**facts.settings, "crawl": crawl}), report.found, "1")
    assert said in text
    assert "Gouriten" not in text


def test_the_adaptive_estimator_is_said_to_be_of_socialcrawl(found):
    report, facts = found
    crawl = {**facts.settings["crawl"], "estimator": "adaptive"}
    text = write_methods(replace_facts(facts, settings={**facts.settings, "crawl": crawl}), report.found, "1")
    assert "(estimator adaptive; socialcrawl's own, fitted while it crawled; with features after Gouriten" in text


def test_opt_outs_are_counted_and_their_neglect_is_said(found):
    report, facts = found
    told = CollectionFacts.__new__(CollectionFacts)
    told.__dict__ |= {**facts.__dict__, "gaps": {**facts.gaps, "missing": {"opted-out": 1_234, "protected": 2}}}
    sky = replace(report.found, platform="bluesky")
    assert "opted out were skipped: 1,234, and 2 protected." in write_methods(told, sky, "1")
    told.honours = False
    assert "were not honoured all the time (opt_outs = false)" in write_methods(told, sky, "1")
    on_x = write_methods(told, report.found, "1")
    assert "Protected accounts were skipped: 2." in on_x
    assert "had opted out" not in on_x, "on X, nobody can opt out"
    assert "opt_outs" not in on_x


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("http://localhost:1", [True, True, False]),
        ("http://gateway.example", [False, False, True]),
        ("https://api.x.com", [False, False, False]),
        (None, [False, False, False]),
    ],
)
def test_only_servers_on_this_machine_are_called_a_simulation(database, found, tmp_path, base_url, expected):
    with closing(sqlite3.connect(database)) as old, closing(sqlite3.connect(tmp_path / "copy.db")) as new:
        old.backup(new)
        for table in ("campaign", "version"):
            new.execute(f"update {table} set settings = json_set(settings, '$.source.base_url', ?)", (base_url,))
        new.commit()
    with opened(tmp_path / "copy.db") as connection:
        said = write_methods(CollectionFacts(CampaignTraces(connection), found[0].found), found[0].found, "1")
    parts = ("simulated platform (mock server)", "from a simulation of X", "went to another server than that of X")
    assert [part in said for part in parts] == expected


def test_kinds_that_do_not_collect_posts_are_not_called_a_focused_crawler(found):
    report, facts = found
    told = CollectionFacts.__new__(CollectionFacts)
    for kind in BUILT_IN:
        told.__dict__ |= {**facts.__dict__, "kind": kind}
        said = write_methods(told, report.found, "1")
        focused = kind in ("collect", "track")
        assert ("We collected posts from" in said, "a focused crawler." in said) == (focused, focused), kind
        assert ("The posts of" in said) == (kind != "refresh"), kind


def test_papers_are_those_of_the_file_of_citations():
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    papers = {kind: find_kind(kind).paper for kind in BUILT_IN}
    assert [kind for kind, paper in papers.items() if not paper] == ["capture"], "which rests on none"
    for kind, paper in papers.items():
        if not paper:
            continue
        names, rest = paper.split(" (", 1)
        one = next(part for part in cited.split("  - type: ") if rest[7:].split(". ")[0] in part)
        assert f'"{kind}"' in one
        assert f"year: {rest[:4]}" in one
        assert re.split(", | and ", names) == re.findall(r"family-names: ([\w-]+)", one)
        assert re.findall(r"doi: ?(\S+)", one) == re.findall(r"doi:(\S+)", paper)


def make_source(found, name, *, with_texts=True):
    """What a page shows, with `name` wherever others wrote something."""
    report, facts = found
    row = {**report.found.discovered[0], "account": name, "id": name}
    requests = [{"endpoint": name, "kind": name, "status": 200, "requests": 3}]
    summary = replace(
        report.found, name=name, topic=(name,), discovered=[row], top_seeds=[row], requests=requests,
        billed_posts=[(name, 1, 0.5)], missing={name: 1},
    )  # fmt: skip
    told = CollectionFacts.__new__(CollectionFacts)
    told.__dict__ |= {**facts.__dict__, "settings": {"topic": {"keywords": [name], "patterns": name}, "crawl": {}}}
    told.gaps = {**facts.gaps, "missing": {name: 1}}
    nodes = [NetworkNode(name, name, 1.0, False), NetworkNode(name, name, 2.0, True)]
    return PageSource(
        replace(report, found=summary, billed=True, unread=[(name, name)]),
        told,
        TopNetwork(nodes, [(0, 1, 1.0)], 0),
        [TopicText(name, name, 1, name)],
        "2026-01-01T00:00:00Z",
        with_texts,
    )


def tags_of(source):
    page = write_document(source.report.found.name, "", *(section for _, section in make_sections(source)))
    return check_page(page.encode("utf-8", "strict").decode()).tags


@contextmanager
def without_charts():
    """Charts are drawn from numbers alone, and take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_charts, "draw_chart", lambda name, title, said, plot, size=None: drawn(name, title, said))
        yield


def drawn(name, title, said):
    told = [make_element("title", title, id=f"{name}-title"), make_element("desc", said, id=f"{name}-description")]
    return make_element("svg", *told, role="img", aria_labelledby=f"{name}-title {name}-description")


@settings(max_examples=40)
@given(st.one_of(st.sampled_from(HOSTILE), st.text(), st.text("<>\"'&/= a\x00\u202e", max_size=20)), st.booleans())
def test_whatever_others_wrote_the_page_has_the_same_tags_and_attributes(found, name, with_texts):
    with without_charts():
        harmless = tags_of(make_source(found, "ann", with_texts=with_texts))
        assert tags_of(make_source(found, name, with_texts=with_texts)) == harmless


def test_charts_take_no_text_of_others(found):
    harmless, hostile = (tags_of(make_source(found, name)) for name in ("ann", HOSTILE[0]))
    assert harmless == hostile


def test_what_others_wrote_is_shown_as_it_is_but_for_controls_and_excess(found):
    shown = {}
    with without_charts():
        for name in HOSTILE:
            page = Page(write_document("x", "", *(section for _, section in make_sections(make_source(found, name)))))
            shown[name] = page.tables["seeds"][1][1]
    assert shown["<!--"] == "<!--"
    assert shown["\u202egnp.exe"] == "\\u202egnp.exe"
    assert shown["\x00\x1b[2J"] == "\\x00\\x1b[2J"
    assert len(shown["a" * 5_000]) == LONGEST + len(" ...")


def test_a_campaign_that_tracks_has_its_own_tables_and_curve_and_names_only_where_wanted(database, found):
    place = RankedAccount("ann_of_the_hill", 0.25, 1, None, 1e9, 7, id="4711")
    known = TrackReport(
        "importance", 1e9, 1e9, 1e9 - 3600, [place], [place], [], [VisitYield("expand", 3, 4, 5, 6)], 1.0, 1.0,
        posts=[4, 0, 2],
    )  # fmt: skip
    with opened(database) as connection:
        report = replace(found[0], known=known, gained=None, baselines={})
        page, full = (check_page(make_page(connection, report, AT, with_texts=wanted)) for wanted in (False, True))
    assert page.tables["most important accounts"][1][:3] == ["1", "4711", "25.00%"]
    assert full.tables["most important accounts"][1][1] == "ann_of_the_hill"
    assert "ann_of_the_hill" not in page.text
    assert page.tables["posts (sum)"][1:] == [["1", "4.00"], ["2", "4.00"], ["3", "6.00"]]
    assert "discovered by the crawl" not in page.tables


def test_of_kinds_that_others_add_only_numbers_are_shown_unless_texts_are_wanted(database, found):
    with opened(database) as connection:
        report = replace(found[0], known={"walkers": 3, "best": "ann_of_the_hill"}, gained=None, baselines={})
        page, full = (check_page(make_page(connection, report, AT, with_texts=wanted)) for wanted in (False, True))
    assert "walkers: 3" in page.text
    assert "ann_of_the_hill" not in page.text
    assert "best: ann_of_the_hill" in full.text


def test_a_campaign_that_has_found_nothing_yet_has_a_page_without_charts(found):
    report, facts = found
    nothing = replace(
        report.found, steps=np.zeros(0), seeds=np.zeros(0), discovered=[], top_seeds=[], requests=[],
        on_topic=TopicCounts(), topic=(), missing={},
    )  # fmt: skip
    source = PageSource(
        replace(report, found=nothing, gained=None, baselines={}), facts, TopNetwork([], [], 0), [], "", False
    )
    assert not [tag for tag, _ in tags_of(source) if tag == "svg"]


@pytest.mark.parametrize("spare", [0, 1, -1])
def test_a_network_says_that_it_has_more_mentions_only_where_some_are_not_drawn(database, monkeypatch, spare):
    with opened(database) as connection:
        every = top_network.read_top_network(connection, 1, 150).edges
    monkeypatch.setattr(top_network, "LINKS", len(every) + spare)
    page = Page(page_of(database))
    drawn = len(every) + min(spare, 0)
    assert f"There are {'more than ' * (spare < 0)}{drawn:,} ordered pairs" in page.sections["network"]


def test_the_python_interface_writes_the_same_page(database, tmp_path):
    with sc.open(database) as data:
        report = data.report()
        report.to_html(tmp_path / "a.html")
        report.to_html(tmp_path / "b.html", with_texts=True)
        with pytest.raises(StoreError, match="name another file"):
            report.to_html(tmp_path / "no" / "a.html")
    made = r"Made [\d-]+ [\d:]+ UTC"
    one, other = (re.sub(made, "", text) for text in ((tmp_path / "a.html").read_text("utf-8"), page_of(database)))
    assert one == other
    assert "blockquote" in {tag for tag, _ in check_page((tmp_path / "b.html").read_text("utf-8")).tags}


def test_a_page_replaces_an_earlier_page_and_nothing_else(database, tmp_path):
    page, other = tmp_path / "a.html", tmp_path / "notes.html"
    other.write_text("<!DOCTYPE html>\n<p>mine</p>", "utf-8")
    before = database.read_bytes()
    with sc.open(database) as data:
        report = data.report()
        report.to_html(page)
        report.to_html(page)
        for file, advice in (
            (other, "name another file"),
            (database, r"end it in \.html"),
            (tmp_path, r"end it in \.html"),
        ):
            with pytest.raises(StoreError, match=advice):
                report.to_html(file)
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert other.read_text("utf-8") == "<!DOCTYPE html>\n<p>mine</p>"
    assert database.read_bytes() == before


def test_long_time_spans_and_large_campaigns_have_pages_of_bounded_size(found):
    report, facts = found
    days = [(date.fromordinal(700_000 + number), 1 + number % 50) for number in range(9_000)]
    nodes = [NetworkNode(f"@{number}", str(number), 5 - number / 50, number % 3 == 0) for number in range(150)]
    edges = [(number % 150, (number * 7 + 1) % 150, 1.0) for number in range(800)]
    summary = replace(
        report.found, steps=np.ones(200_000), on_topic=replace(report.found.on_topic, days=days, posts=10**6)
    )
    large = replace(report, found=summary, baselines={"chance": np.arange(200_000.0)})
    source = PageSource(
        large, facts, TopNetwork(nodes, edges, 0), [TopicText("a", None, 1, "x" * 10**6)] * 30, "", True
    )
    page = write_document("large", "", *(section for _, section in make_sections(source)))
    check_page(page)
    assert len(page) < 1_000_000


def test_linked_nodes_are_drawn_nearer_than_others_and_no_two_at_one_place():
    """Two groups of ten, all linked inside, one link between them."""
    pairs = [(a + side, b + side) for side in (0, 10) for a in range(10) for b in range(a)] + [(0, 10)]
    source, target = np.array(pairs).T
    at = compute_layout(20, source, target)
    assert np.array_equal(at, compute_layout(20, source, target))
    middles = at[:10].mean(axis=0), at[10:].mean(axis=0)
    inside = max(math.dist(spot, middles[number >= 10]) for number, spot in enumerate(at))
    assert inside < math.dist(*middles) / 2
    assert len({tuple(spot) for spot in at}) == 20
    assert np.isfinite(compute_layout(1, *np.zeros((2, 0), np.int64))).all()


def test_what_stands_between_backticks_is_code_and_its_text_stays_text():
    made = make_element("p", *mark_code("Simulated by `socialcrawl demo`: see <a>"))
    assert ET.tostring(made, encoding="unicode") == ("<p>Simulated by <code>socialcrawl demo</code>: see &lt;a&gt;</p>")
