"""The mock's web site: what it serves, and that a crawl of it finds the graph that the laboratory makes of it."""

import csv
import json
import time
from html import unescape
from re import findall
from urllib.parse import unquote

import pyarrow as pa
import pytest
from example_counts import many
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from known_worlds import collect
from pyarrow import parquet
from shared_data import needed
from test_web_source import outcome_of
from test_web_wire import MUSIC, of_service, plays, wire

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.clock import InterruptibleClock
from socialcrawl.engine.loop import Parts, run
from socialcrawl.engine.model import Credential, Node, Pick, SameAs
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraphSource
from socialcrawl.graph.link_context import WebPage, find_context, normalize_line, parse_title
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.graphs import build_page_graph
from socialcrawl.lab.instant import ImmediateExecutor, NullMonitor, SequenceStore, make_parts
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.service import Guest, MockRequest, WindowState
from socialcrawl.mock.web.html import find_links, make_path, render_links, render_page
from socialcrawl.mock.web.service import Site, number_pages, read_pages
from socialcrawl.platforms.web.page import parse_page
from socialcrawl.platforms.web.source import WebSource
from socialcrawl.platforms.web.wire import make_page as rows_of
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule
from socialcrawl.storage.memory_store import MemoryStore

HOST = "http://wiki.example"
RULES = (Rule(1_000, 1.0, "sliding"),)
POLICY = Policy("web", "", "2026-11", {"/*": Endpoint(RULES, RULES), "/robots.txt": Endpoint(RULES, RULES)})
FAR = " .".join(["far"] * 30)
PAGES = {
    "Jazz_(style)": (f"Music! {FAR} music of New\n   Orleans, music {FAR} music", ["New_Orleans", "Nowhere"]),
    "New_Orleans": (f"The café, the CAFÉ music & <music>. {FAR} Paris", ["Caf%C3%A9", "Paris", "New_Orleans"]),
    "Caf%C3%A9": ("a party in Art: see art music", ["Art", "Art", "Nowhere", "Art_music"]),
    "Art_music": (f"New Orleans music {FAR} Paris; {FAR} Jazz (style)", ["Paris", "Jazz_(style)", "New_Orleans"]),
    "Art": ("", ["Jazz_(style)"]),
    "Paris": ("Straße music, STRASSE Art: a/b", ["Art", "Strasse", "a/b"]),
    "a/b": ("music", []),
}


def site_of(pages, **more):
    return Site(number_pages((key, *page) for key, page in pages.items()), **more)


def asked(template="/wiki/*key", key="Art", host="wiki.example", now=0.0):
    return MockRequest("GET", template, {"key": key} if "*" in template else {}, (), {}, now, host)


def answer(site, *told):
    return site.answer(asked(*told), Guest("public", "public"))


def key_of(url):
    return unquote(url.removeprefix(f"{HOST}/wiki/"))


def asked_about(source, made, store, url):
    """What a pick of `url` comes to, by the wire `made`."""
    (node,) = store.enlist([url], 0.0)
    (talk,) = source.start_conversations((Pick(0, node, "expand"),), store.accounts([node]))
    return outcome_of(talk, made, store)


def check_same(pages, topic, known):
    """Every page of a site, asked by the source, is a row of the known graph: its value, links, weights and order."""
    store, source = MemoryStore(), WebSource(POLICY, "socialcrawl", hosts=["wiki.example"])
    numbers = {key: row for row, key in enumerate(known.names)}
    with plays(of_service(site_of(pages))) as (url, _):
        made = wire(url, hits=topic.hits)
        for key in pages:
            outcome = asked_about(source, made, store, HOST + make_path(key))
            targets = [numbers[key_of(store.accounts([Node(node)])[node].id)] for node in outcome.targets.tolist()]
            expected, alpha = (part.tolist() for part in known.list_links(numbers[key]))
            assert (outcome.missing, outcome.value) == (None, known.beta[numbers[key]])
            assert (targets, outcome.alpha.tolist()) == (expected, alpha), key
        made.options.http.close()


def columns(pages):
    return {"key": list(pages), "text": [text for text, _ in pages.values()], "links": [to for _, to in pages.values()]}


def test_the_same_pages_give_the_same_graph_as_in_the_laboratory():
    known = build_page_graph(columns(PAGES), MUSIC)
    assert sum(known.alpha > 0) == 8
    check_same(PAGES, MUSIC, known)


def test_recorded_pages_give_the_same_graph_as_in_the_laboratory():
    table = parquet.read_table(needed("data/wikispeedia_6k.parquet")).slice(1_000, 200)
    pages = {row["key"]: (row["text"], row["links"]) for row in table.to_pylist()}
    topic = Topic(["music", "france", "city"])
    known = build_page_graph(columns(pages), topic)
    assert known.links > 3_000
    check_same(pages, topic, known)


def test_a_crawl_of_the_site_goes_the_way_of_a_crawl_of_the_known_graph():
    known = build_page_graph(columns(PAGES), MUSIC)
    store, crawl = MemoryStore(), {}
    (first,) = store.enlist([f"{HOST}{make_path('Art_music')}"], 0.0)
    source = WebSource(POLICY, "socialcrawl", hosts=["*.example"])
    with plays(of_service(site_of(PAGES))) as (url, _):
        made = wire(url)
        assert run(make_parts(collect("nh-ne-sum", [first]), source, store, made)).kind == "done"
        made.options.http.close()
    for batch, outcomes in store.history():
        for pick, outcome in zip(batch, outcomes, strict=True):
            crawl[key_of(store.accounts([pick.node])[pick.node].id)] = outcome
    again = SequenceStore()
    run(make_parts(collect("nh-ne-sum", [list(known.names).index("Art_music")]), KnownGraphSource(known), again))
    assert list(crawl) == [known.names[node] for node in again.nodes]
    assert [outcome.value for outcome in crawl.values()] == again.values
    # The laboratory knows pages that are only linked to as empty ones.
    assert {key: one.missing for key, one in crawl.items() if one.missing} == dict.fromkeys(
        ["Nowhere", "Strasse"], "unknown"
    )


WORDS = [
    "music",
    "Music",
    "new",
    "York",
    "new York",
    "art",
    "party",
    "straße",
    "ﬁne",
    "İx",
    "\n",
    ". -",
    "<b>",
    "&amp;",
    "far" * 9,
]
NAMES = ["New_York", "York", "New", "Art", "Party_art", "strasse", "fine", "music", "New_York_music", "%26amp;", "x"]


@settings(deadline=None, max_examples=many(80))
@given(
    st.lists(st.sampled_from(WORDS), max_size=50).map(" ".join),
    st.lists(st.sampled_from(NAMES), max_size=6, unique=True),
)
def test_whatever_overlaps_in_a_text_its_links_have_the_windows_of_the_laboratory(text, keys):
    url = f"{HOST}/wiki/me"
    rows = rows_of(parse_page(render_page("me", WebPage(text, keys)), url), url, MUSIC.hits)
    assert [key_of(mention.who.id) for mention in rows.mentions] == keys
    assert rows.posts[0].text == " ".join(text.split())
    line = normalize_line(text)
    assume(len(line) == len(rows.posts[0].text))  # else a character of the laboratory's is none of the page's
    assert [mention.hits for mention in rows.mentions] == [
        MUSIC.count(find_context(line, parse_title(key))) for key in keys
    ]


def test_links_stand_where_the_titles_do():
    text = "In New York, York; new york"
    found = find_links(text, ["York", "New_York", "Nowhere", "rk"])
    assert [(mark.start, mark.end, mark.key) for mark in found] == [
        (3, 11, "New_York"),
        (7, 7, "York"),
        (11, 11, "York"),
    ]
    expected = (
        'In <a href="/wiki/New_York">New </a><a href="/wiki/York"></a><a href="/wiki/New_York">York</a>'
        '<a href="/wiki/York"></a>, York; new york'
    )
    assert render_links(text, found) == expected


def test_a_page_shows_its_title_and_a_menu_of_all_its_links_and_its_text_is_only_the_text():
    html = render_page("A_&_b", WebPage("some <text>", ["C_d", "x/y%"]))
    assert findall("<title>(.*)</title>", html) == ["A &amp; b"]
    assert [unescape(name) for name in findall("<li><a [^>]*>([^<]*)</a>", html)] == ["C d", "x/y%"]
    assert parse_page(html, f"{HOST}/wiki/A").text == "some <text>"
    assert [link.url for link in parse_page(html, f"{HOST}/wiki/A").links] == [
        f"{HOST}/wiki/C_d",
        f"{HOST}/wiki/x%2Fy%25",
    ]


def test_the_site_has_pages_rules_and_what_goes_wrong_with_pages():
    site = site_of(PAGES)
    assert {template for _, template in site.endpoints()} >= {"/", "/robots.txt", "/wiki/*key"}
    assert b"party in Art" not in answer(site, "/wiki/*key", "Art").body
    assert answer(site, "/wiki/*key", "Caf%C3%A9").status == 200
    assert answer(site, "/wiki/*key", "Nobody").status == 404
    assert answer(site, "/robots.txt").body == b"User-agent: *\nDisallow: /private/\n"
    assert answer(site_of(PAGES, robots=None), "/robots.txt").status == 404
    assert answer(site, "/").body.count(b"<li>") == len(PAGES)
    moved = answer(site, "/moved/*key", "a/b")
    assert (moved.status, moved.headers["Location"]) == (301, "/wiki/a%2Fb")
    assert b'content="noindex"' in answer(site, "/hidden/*key", "Art").body
    assert answer(site, "/soft/*key", "Art").status == 200


@pytest.mark.parametrize(
    ("path", "why"),
    [("wiki/Art", None), ("wiki/Nobody", "unknown"), ("private/Art", "opted-out"), ("hidden/Art", "opted-out"),
     ("soft/Art", "deleted"), ("loop/Art", "unknown"), ("moved/Nobody", "unknown"), ("moved/Art", SameAs(1))],
)  # fmt: skip
def test_what_goes_wrong_with_pages_is_seen_by_the_source(path, why):
    store = MemoryStore()
    with plays(of_service(site_of(PAGES))) as (url, _):
        made = wire(url)
        outcome = asked_about(WebSource(POLICY, "socialcrawl", hosts=["*"]), made, store, f"{HOST}/{path}")
        made.options.http.close()
    assert outcome.missing == why
    if why == SameAs(1):
        assert store.accounts([Node(1)])[Node(1)].id == f"{HOST}/wiki/Art"


def test_every_host_has_one_window_and_a_refusal_says_when_to_come_again():
    site = site_of(PAGES, k=3, period=10.0)
    guest = site.guest(asked())
    (one,), (other,) = site.counted(asked(), guest), site.counted(asked("/robots.txt", host="b.example"), guest)
    assert (one.k, one.period, one.kind) == (3, 10.0, "sliding")
    assert one.key != other.key
    assert site.counted(asked("/robots.txt"), guest) == [one]
    told = site.too_many(asked(now=100.0), [WindowState(one, 0, 104.2)])
    assert (told.status, told.headers["Retry-After"]) == (429, "5")
    assert site.limits(asked(), [WindowState(one, 0, 104.2)]) == {}


@pytest.mark.parametrize("as_json", [True, False])
def test_a_file_of_pages_is_read_as_parquet_or_csv(tmp_path, as_json):
    rows = [("A", "text, one", ["B", "C_d", "B"]), ("B", None, None), ("C_d", "", [])]
    names = ("key", "text", "links")
    parquet.write_table(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), tmp_path / "pages.parquet")
    with (tmp_path / "pages.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for key, text, links in rows:
            writer.writerow([key, text, json.dumps(links or []) if as_json else " ".join(links or ())])
    expected = {"A": WebPage("text, one", ["B", "C_d"]), "B": WebPage("", []), "C_d": WebPage("", [])}
    assert read_pages(tmp_path / "pages.parquet") == expected
    assert list(read_pages(tmp_path / "pages.csv").items()) == list(expected.items())


def test_a_file_that_is_none_of_pages_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"no file .*none.parquet"):
        read_pages(tmp_path / "none.parquet")
    (tmp_path / "pages.csv").write_text("key,words\na,b\n")
    with pytest.raises(SettingsError, match="needs the columns key, text, links; it has key, words"):
        read_pages(tmp_path / "pages.csv")
    with pytest.raises(SettingsError, match="Page 2: the key 'a' is there twice"):
        number_pages([("a", "", []), ("a", "", [])])
    with pytest.raises(SettingsError, match="Page 1: the key is empty"):
        number_pages([(None, "", [])])


def test_a_campaign_asks_a_host_no_faster_than_its_window_allows(tmp_path):
    parquet.write_table(pa.table(columns(PAGES)), tmp_path / "pages.parquet")
    rules = load_policy("web").override_limits(4, 0.3)
    store = MemoryStore()
    (first,) = store.enlist([f"{HOST}/wiki/Art_music"], 0.0)
    with serve_in_thread(platforms=(), pages=tmp_path / "pages.parquet", site_limit=4, windows={"web": 0.25}) as mock:
        made = wire(mock.url, now=time.time)
        planner = WindowPlanner(rules, [Credential("public", "public")], Caps())
        doors = (store, made, planner, InterruptibleClock(), ImmediateExecutor(), NullMonitor())
        began = time.monotonic()
        crawl = collect("bfs", [first])
        assert run(Parts(crawl, WebSource(rules, "socialcrawl", hosts=["wiki.example"]), *doors)).kind == "done"
        made.options.http.close()
        report = mock.report()["platforms"]["web"]
    asked_for = sum(report["received"].values())
    assert asked_for == 18  # each of the nine pages, and the rules before each: this store holds no answers
    assert report["answers"] == {"200": 16, "404": 2}
    assert time.monotonic() - began >= (asked_for / 4 - 1) * 0.25
