"""One contract for all sources: the same posts give the same graph whichever platform serves them, whatever fails."""

import json
import re
import sqlite3
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote

import httpx
import pyarrow as pa
import pytest
from pyarrow import parquet
from test_mock_site import PAGES, columns
from test_web_wire import MUSIC
from x_crawls import TOKEN_ENV, crawl

from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.model import RequestPart
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.lab.graphs import build_page_graph
from socialcrawl.lab.graphs.from_texts import build_mention_graph
from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock import faults
from socialcrawl.mock.bluesky.identifiers import make_did
from socialcrawl.mock.names import hash_names, make_user_ids
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.web.html import make_path
from socialcrawl.mock.world import build_world
from socialcrawl.system.files import find_folder
from socialcrawl.testing import check_resuming

PEOPLE = [f"{name}{i}" for i in range(4) for name in ("ann", "Bob", "eve", "dan", "ida_")]
SEEDS = PEOPLE[:2]
CHATTY = PEOPLE[1]  # more posts than fit on one page of any platform
BEGIN = 1_700_000_000

TOPICAL = Topic(["sun", "red dwarf"])
SAYINGS = [
    "the sun is up",
    "nothing here",
    "SUN and sun",
    "a red dwarf ☀ over the sun",
    "rain & <b>wind</b>",
    "sunny",
    "so",
]


def told():
    """The posts of a small town: mentions, replies, reposts, names in any case, and one who never stops."""
    found = []
    for i, author in enumerate(PEOPLE):
        for j in range(130 if author == CHATTY else (i * 5) % 9):
            first, second = PEOPLE[(i * 7 + j * 3 + 1) % 20], PEOPLE[(i + j * 11 + 5) % 20]
            saying = SAYINGS[(i + j) % len(SAYINGS)]
            row = {"author": author, "id": str(len(found) + 1), "mentions": [], "reply_to": None}
            if j % 5 == 4:
                row |= {"text": f"RT @{first}: {saying}", "mentions": [first]}
            elif j % 3 == 0:
                row |= {
                    "text": f"@{first.upper()} {saying} @{second}",
                    "mentions": list(dict.fromkeys([first, second])),
                }
            elif j % 3 == 1 and found:
                answered = PEOPLE[(i * 3 + j) % 20]
                row |= {"text": saying, "reply_to": answered, "mentions": [answered]}
            else:
                row |= {"text": saying}
            found.append(row | {"created_at": BEGIN + len(found) * 60, "lang": "en"})
    return found


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    path = tmp_path_factory.mktemp("town") / "town.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in told()), "utf-8")
    return read_posts(path)


def referee(gone=frozenset()):
    """(value, {whom: weight}) of everybody, read off the rows without reposts of who is gone."""
    hits, links = Counter(), {}
    for row in told():
        if any(kind_of(row, name.lower()) == "reposts" and name.lower() in gone for name in row["mentions"]):
            continue
        author, many = row["author"].lower(), TOPICAL.count(row["text"])
        hits[author] += many
        named = dict.fromkeys(name.lower() for name in row["mentions"])
        for name in named:
            if name != author:
                links.setdefault(author, Counter())[name] += many
    everybody = [name.lower() for name in PEOPLE]
    return {
        name: (compute_worth(hits[name]), {to: compute_worth(many) for to, many in links.get(name, Counter()).items()})
        for name in everybody
    }


def reached(graph, seeds):
    """The part of a graph that can be reached from the seeds, without links to itself."""
    found, line = {}, [seed if seed in graph else seed.lower() for seed in seeds]
    while line:
        name = line.pop()
        if name not in found and name in graph:
            found[name] = graph[name]
            line += graph[name][1]
    return found


FOLDED = [name.lower() for name in PEOPLE]
IDS = {
    str(number): name
    for name, number in zip(FOLDED, make_user_ids(FOLDED, hash_names(FOLDED)[:, 0]).tolist(), strict=True)
}
DIDS = {make_did(name): name for name in FOLDED}


class OnX:
    name = "x"
    source: ClassVar = {"platform": "x", "token_env": TOKEN_ENV}

    seeds = SEEDS
    topic = TOPICAL
    fine: ClassVar = set()  # statuses that are no refusals
    trouble = (
        faults.make_cut(),
        faults.make_half(),
        faults.make_html_fault(502),
        faults.make_html_fault(200),
        faults.make_too_many(),
        faults.make_html_fault(503),
    )

    def truth(self):
        return referee()

    def without(self, gone):
        """The graph without what is hidden of those who are gone: nothing, but on Bluesky reposts of theirs."""
        return referee()

    def serving(self, town, fault=None, **settings):
        return serving(town, fault, **settings)

    def called(self, person):
        return person

    def person(self, name):
        """Who it is in the posts file, by the platform's name or id: some accounts are known by their id only."""
        return IDS.get(name, name.lower())


class OnBluesky(OnX):
    name = "bluesky"
    source: ClassVar = {"platform": "bluesky"}

    def without(self, gone):
        return referee(gone)

    def called(self, person):
        return f"{person.lower().replace('_', '-')}.mock.social"

    def person(self, name):
        return DIDS.get(name, name.removesuffix(".mock.social").replace("-", "_"))


class OnMastodon(OnX):
    name = "mastodon"
    source: ClassVar = {"platform": "mastodon", "domain": "home.example", "contact": "mailto:tests@example.org"}

    def called(self, person):
        return f"{person.lower()}@home.example"

    def person(self, name):
        return name.removesuffix("@home.example")


class OnTheWeb(OnX):
    name = "web"
    source: ClassVar = {"platform": "web", "contact": "mailto:tests@example.org"}
    seeds = ("Jazz_(style)",)
    topic = MUSIC
    fine: ClassVar = {404}
    trouble = (
        faults.make_cut(),
        faults.make_half(),
        faults.make_html_fault(502),
        faults.make_too_many(),
        faults.make_html_fault(503),
    )

    def called(self, person):
        return f"http://wiki.example{make_path(person)}"

    def person(self, name):
        return unquote(name.removeprefix("http://wiki.example/wiki/"))

    def truth(self):
        known = build_page_graph(columns(PAGES), MUSIC)
        links = [
            dict(zip(*(part.tolist() for part in known.list_links(row)), strict=True)) for row in range(known.size)
        ]
        return {
            name: (float(known.beta[row]), {known.names[to]: a for to, a in links[row].items() if to != row})
            for row, name in enumerate(known.names)
            if name in PAGES
        }

    @contextmanager
    def serving(self, town, fault=None, **settings):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pages.parquet"
            parquet.write_table(pa.table(columns(PAGES)), path)
            with serve_in_thread(platforms=(), pages=path, fault=fault, **{"site_limit": 100_000, **settings}) as mock:
                yield mock


PLATFORMS = [OnX(), OnBluesky(), OnMastodon()]
EVERY = pytest.mark.parametrize("on", PLATFORMS, ids=lambda on: on.name)
AND_THE_WEB = pytest.mark.parametrize("on", [*PLATFORMS, OnTheWeb()], ids=lambda on: on.name)


def file_of(on, url, database, **sections):
    given = {
        "name": "town",
        "database": database,
        "topic": {"keywords": list(on.topic.keywords)},
        "seeds": {"search": False, "usernames": [on.called(seed) for seed in on.seeds]},
        "crawl": {"estimator": "nh-ne-sum", "refresh_rate": 3},
        "source": {**on.source, "base_url": url, "pages_per_user": 32, "timeout": 5.0, "reuse_hours": 0},
        "limits": {"k": 100_000, "d": 60.0, "pause": 0.01, "longest_pause": 0.04, "give_up": 30.0},
    }
    for name, values in sections.items():
        given[name] = {**given.get(name, {}), **values}
    return check_settings(given, "test")


def sql(database, query):
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def graph_in(on, database):
    """What a crawl has found of everybody whom it could read, by their names in the posts file."""
    names = {
        node: on.person(name)
        for node, name in sql(database, "select node, coalesce(username, platform_id) from account")
    }
    asked = "n in (select n from pick where act in ('seed', 'expand'))"
    values = sql(database, f"select n, node, value from outcome where missing is null and {asked}")
    found = {n: (names[node], value) for n, node, value in values}
    links = {name: {} for name, _ in found.values()}
    for n, node, alpha in sql(database, "select n, node, alpha from link order by n, position"):
        if n in found and names[node] != found[n][0]:
            links[found[n][0]][names[node]] = alpha
    return {name: (value, links[name]) for name, value in found.values()}


def why_missing(on, database):
    told = """select coalesce(a.username, a.platform_id), o.missing from outcome o join account a using (node)
              where o.missing is not null and o.missing <> 'temporary' and o.missing not like 'same-as:%'"""
    return {on.person(name): why for name, why in sql(database, told)}


@contextmanager
def serving(posts, fault=None, **settings):
    quick = {"limit": 100_000, "bluesky_limit": 100_000, "mastodon_limit": 100_000, "paged_limit": 100_000}
    with serve_in_thread(posts, fault=fault, **{**quick, **settings}) as mock:
        yield mock


def test_the_known_graph_of_the_posts_is_that_of_the_referee(town):
    graph = build_mention_graph(town, TOPICAL)
    names = [name.lower() for name in graph.names]
    found = {
        name: (
            float(graph.beta[i]),
            dict(
                zip([names[t] for t in graph.list_links(i)[0].tolist()], graph.list_links(i)[1].tolist(), strict=True)
            ),
        )
        for i, name in enumerate(names)
    }
    assert {
        name: (value, {to: alpha for to, alpha in links.items() if to != name})
        for name, (value, links) in found.items()
    } == referee()


@AND_THE_WEB
def test_every_platform_shows_the_same_graph(on, town, tmp_path):
    with on.serving(town) as mock:
        reason, _ = crawl(file_of(on, mock.url, tmp_path / "a.db"))
        report = mock.report()
    assert "every account in reach was read" in reason.why
    assert graph_in(on, tmp_path / "a.db") == reached(on.truth(), on.seeds)
    assert len(reached(on.truth(), on.seeds)) > 6
    assert statuses(report) - on.fine == {200}
    page = (
        f"part % {RequestPart.REPEATED_PAGE}"  # of a page that was asked for twice; other requests have parts far off
    )
    read = sql(tmp_path / "a.db", f"select count(*), (select max({page}) from request where {page} < 1000) from post")
    if on.name == "web":
        assert read == [(len(reached(on.truth(), on.seeds)), 1)]
        return
    pages = {"x": 2, "bluesky": 2, "mastodon": 4}[on.name]
    assert read == [(sum(row["author"].lower() in reached(referee(), SEEDS) for row in told()), pages)]


def statuses(report):
    """The statuses that a mock answered, of whatever platform."""
    found = set()
    for one in [report, *report.get("platforms", {}).values()]:
        for window in one.get("windows", []):
            found |= {int(status) for status in window["answers"]}
    return found


GONE = {
    "x": {"suspended": "suspended", "protected": "protected", "deleted": "deleted"},
    "bluesky": {"suspended": "suspended", "protected": "protected", "deleted": "deleted"},
    "mastodon": {"suspended": "suspended", "protected": "private", "deleted": "deleted"},
}


@EVERY
def test_whoever_cannot_be_read_is_missing_with_a_reason_and_nobody_else(on, town, tmp_path):
    with serving(town, missing=0.4) as mock:
        crawl(file_of(on, mock.url, tmp_path / "a.db"))
    accounts = build_world(town, 0.4).accounts
    fates = {
        key: ("here", "suspended", "protected", "deleted")[fate]
        for key, fate in zip(accounts.keys, accounts.fates.tolist(), strict=True)
    }
    missing, graph = why_missing(on, tmp_path / "a.db"), graph_in(on, tmp_path / "a.db")
    assert missing
    for name, why in missing.items():
        assert fates[name] != "here"
        assert why in (GONE[on.name][fates[name]], "unknown")
    private = {name for name in graph if fates[name] == "protected" and on.name == "mastodon"}
    assert all(
        graph[name] == (0.0, {}) for name in private
    )  # their posts are for their followers: there is none to see
    seen = {name for name, fate in fates.items() if fate != "deleted"}  # X forgets whom a reply to the deleted answered
    truth = on.without({name for name, fate in fates.items() if fate != "here"})
    for name in graph.keys() - private:
        (value, links), (true, told) = graph[name], truth[name]
        assert value == true
        assert {to: links[to] for to in links.keys() & seen} == {to: told[to] for to in told.keys() & seen}
        assert links.keys() <= told.keys()
    assert {fates[name] for name in graph.keys() - private} == {"here"}


def every(nth, *kinds):
    """Each nth request to a platform goes wrong, in turn in each of these ways."""
    counted = Counter()

    def hook(endpoint, number):
        counted["all"] += 1
        place, rest = divmod(counted["all"], nth)
        return kinds[place % len(kinds)] if not rest else None

    return hook


@AND_THE_WEB
def test_no_step_is_lost_whatever_goes_wrong_on_the_way(on, town, tmp_path):
    trouble = every(4, *on.trouble)
    with on.serving(town, trouble) as mock:
        reason, _ = crawl(file_of(on, mock.url, tmp_path / "a.db", crawl={"refresh_rate": 2}))
    assert "every account in reach was read" in reason.why
    assert graph_in(on, tmp_path / "a.db") == reached(on.truth(), on.seeds)
    kinds = {kind for (kind,) in sql(tmp_path / "a.db", "select distinct kind from request")}
    assert kinds >= {"ok", "broken", "backoff", "lost"}


NARROW = {
    "x": {"900": (9, 0.6)},
    "bluesky": {"300": (9, 0.6)},
    "mastodon": {"300": (9, 0.6), "900": (4, 1.2)},
    "web": {"1": (3, 0.5)},
}


def narrow(name):
    """The platform's own table, with windows of less than a second."""

    def rule(found):
        if found[1] not in NARROW[name]:  # a window that is short already
            return found[0]
        k, d = NARROW[name][found[1]]
        return f"k = {k}, d = {d}"

    return re.sub(r"k = \d+, d = (\d+)", rule, (find_folder("config") / f"{name}.toml").read_text("utf-8"))


def over(report, on):
    """The requests for which a window had no room, as the mock counted them."""
    return (report if on.name == "x" else report["platforms"][on.name])["over"]


@AND_THE_WEB
def test_no_window_is_overrun_and_none_is_left_unused(on, town, tmp_path):
    small = {"site_limit": 3, "window": 0.6, "limit": 9, "bluesky_limit": 9, "mastodon_limit": 9, "paged_limit": 4}
    lengths = {"bluesky": 0.6, "mastodon": 0.6, "paged": 1.2, "web": 0.45}
    own = tmp_path / "policy.toml"
    own.write_text(narrow(on.name), "utf-8")
    with on.serving(town, **small, windows=lengths) as mock:
        file = file_of(
            on, mock.url, tmp_path / "a.db", source={"policy": own}, limits={"k": None, "d": None, "give_up": 60.0}
        )
        reason, _ = crawl(file)
        report = mock.report()
    assert "every account in reach was read" in reason.why
    assert graph_in(on, tmp_path / "a.db") == reached(on.truth(), on.seeds)
    assert statuses(report) - on.fine == {200}
    assert over(report, on) == 0


@AND_THE_WEB
def test_a_crawl_that_is_stopped_after_any_request_goes_on_to_the_same_picks(on, town, tmp_path):
    with on.serving(town) as mock:
        check_resuming(file_of(on, mock.url, tmp_path / "a.db"), tmp_path, (1, 2, 3, 5, 8, 13))
    assert graph_in(on, tmp_path / "parts.db") == graph_in(on, tmp_path / "whole.db") == reached(on.truth(), on.seeds)


@EVERY
def test_a_post_on_two_pages_counts_once(on, town, tmp_path):
    again = tmp_path / "again.toml"
    again.write_text(
        '[[fault]]\nkind = "repeat"\nevery = 2\ntimes = 1\n[[fault]]\nkind = "overlap"\nposts = 7\n', "utf-8"
    )
    with serving(town, scenario=again) as mock:
        reason, _ = crawl(file_of(on, mock.url, tmp_path / "a.db"))
    assert "every account in reach was read" in reason.why
    assert graph_in(on, tmp_path / "a.db") == reached(referee(), SEEDS)
    read = sql(tmp_path / "a.db", "select sum(posts), (select count(*) from post) from outcome")[0]
    assert read[0] > read[1] == sum(row["author"].lower() in reached(referee(), SEEDS) for row in told())


@EVERY
@pytest.mark.parametrize("hours", [0, 24])
def test_a_cursor_that_grew_old_while_nobody_asked_costs_no_post(on, hours, town, tmp_path):
    with serving(town, platforms=(on.name,)) as mock:
        # Profiles that are known are enough; on Bluesky pages with reposts take two requests, and a look-up.
        most = {"x": 3, "bluesky": 5 if hours else 7, "mastodon": 4}[on.name]
        crawl(file_of(on, mock.url, tmp_path / "a.db", source={"reuse_hours": hours}, budget={"max_requests": most}))
        assert sql(
            tmp_path / "a.db",
            "select count(*) from request where cursor is not null and part = {}".format(
                1 if on.name != "bluesky" else RequestPart.REPEATED_PAGE + 1
            ),
        ) == [(1,)]
        old = {"fault": [{"kind": "expire", "requests": 3 if on.name == "bluesky" else 1}]}
        httpx.post(f"{mock.url}/_mock/faults", json=old).raise_for_status()
        others = {"usernames": [on.called(name) for name in ("dan3", "eve1", "ann2")]}
        crawl(file_of(on, mock.url, tmp_path / "other.db", seeds=others, budget={"max_requests": 3}))  # it grows older
        file = file_of(on, mock.url, tmp_path / "a.db", source={"reuse_hours": hours}, crawl={"refresh_rate": 1})
        reason, _ = crawl(file)
    refused = sql(tmp_path / "a.db", "select count(*) from request where kind = 'invalid'")[0][0]
    assert refused == (0 if on.name == "mastodon" else 1), "its cursors are ids, which never grow old"
    assert "every account in reach was read" in reason.why
    assert graph_in(on, tmp_path / "a.db") == reached(referee(), SEEDS)


LATER = """
[[fault]]
kind = "rename"
account = "eve1"
name = "eve_is_now"
from = 6

[[fault]]
kind = "suspend"
account = "dan1"
from = 6

[[fault]]
kind = "delete"
account = "ann2"
from = 6

[[fault]]
kind = "expire"
requests = 3
from = 2
"""


@EVERY
def test_whoever_changes_in_the_middle_changes_nobody_else(on, town, tmp_path):
    later = tmp_path / "later.toml"
    later.write_text(LATER, "utf-8")
    changed = {"eve1", "dan1", "ann2", "eve_is_now", "eve-is-now"}
    with serving(town, scenario=later) as mock:
        reason, _ = crawl(file_of(on, mock.url, tmp_path / "a.db", crawl={"refresh_rate": 2}))
    assert "every account in reach was read" in reason.why
    graph, missing = graph_in(on, tmp_path / "a.db"), why_missing(on, tmp_path / "a.db")
    assert missing.keys() <= changed
    assert missing.keys() & {"dan1", "ann2"}
    before, after = on.truth(), on.without({"dan1", "ann2"})
    for name in graph.keys() - changed:
        (value, links), (true, told) = graph[name], before[name]
        assert value in (true, after[name][0])  # read before or after they were gone
        assert {to: links[to] for to in links.keys() - changed} == {to: told[to] for to in told.keys() - changed}


@EVERY
@pytest.mark.parametrize(
    "links", [["replies"], {"mentions": 1, "reposts": 0}, ["follows"], {"mentions": 2, "follows": 3}]
)
def test_links_of_other_kinds_are_the_same_on_every_platform(on, links, town, tmp_path):
    with serving(town, platforms=(on.name,)) as mock:
        file = file_of(on, mock.url, tmp_path / "a.db", crawl={"links": links})
        crawl(file)
    assert graph_in(on, tmp_path / "a.db") == reached(weighed(file.crawl.links), SEEDS)


def kind_of(row, name):
    """How a row names somebody: the answered, the repeated, or else plainly."""
    if row["reply_to"] and row["reply_to"].lower() == name:
        return "replies"
    return "reposts" if row["text"].startswith("RT @") else "mentions"


def weighed(links):
    """The graph with these links, read off the rows; an account follows whom it mentions."""
    found = {}
    for name, (value, named) in referee().items():
        own = [row for row in told() if row["author"].lower() == name]
        counts = {}
        for other in named:
            rows = [
                (kind_of(row, other), TOPICAL.count(row["text"]))
                for row in own
                if other in map(str.lower, row["mentions"])
            ]
            weights = [(links.get(kind, links.get("mentions", 0)), many) for kind, many in rows]
            if any(weight for weight, _ in weights) or links.get("follows"):
                counts[other] = sum(weight * many for weight, many in weights) + links.get("follows", 0)
        found[name] = (value, {other: compute_worth(many) for other, many in counts.items()})
    return found
