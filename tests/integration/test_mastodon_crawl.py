"""The Mastodon source against the mock: two instances and a home, a crawl by all its parts."""

import random
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from http_server import QuietHandler, serving
from stores import opened
from test_mock_world import START, posts_of
from tiny_town import BEGIN, Clock, Watcher, story

from socialcrawl.campaign.policies import load_policy
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import Parts, run
from socialcrawl.engine.model import Credential, Node, SameAs, Stop
from socialcrawl.exporters.datasheet_facts import count_gaps
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.mock.app import Routes
from socialcrawl.mock.mastodon.service import MastodonService
from socialcrawl.mock.service import MockRequest
from socialcrawl.mock.world import build_world
from socialcrawl.platforms.mastodon.source import STATUSES, MastodonSource
from socialcrawl.platforms.mastodon.wire import MastodonWire
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.memory_store import MemoryStore
from socialcrawl.storage.sql_store import SqlStore

HOME, NEAR, FAR = "home.example", "near.example", "far.example"
TOPIC = Topic(["glacier"])
SHORT = {"steps": 2, "names": ("u1@near.example", "u2@far.example"), "instances": ("*",), "follows": 1}
SILENT = "u3"  # who wants no crawlers
PEOPLE = [f"u{n}" + ("", "@" + NEAR, "@" + FAR)[n % 3] for n in range(15)]


def whole(key):
    return key if "@" in key else f"{key}@{HOME}"


def drawn(seed=4):
    """Rows (author, created_at, text, [mentions], reply to) of a fediverse; some write more than a page holds."""
    draw, rows = random.Random(seed), []
    for n, author in enumerate(PEOPLE):
        for _ in range((3, 55, 90)[n % 3] if n < 9 else 4):
            other, third = draw.sample([one for one in PEOPLE if one not in (author, SILENT)], 2)
            word = draw.choice(["glacier & ice", "glacier <glacier>", "sea\nand sky", "snow\n\n#glacier"])
            kind = draw.random()
            at = START + 60 * len(rows)
            if kind < 0.2:
                rows.append((author, at, f"RT @{other}: {word}", (other,), None))
            elif kind < 0.4:
                rows.append((author, at, f"@{third} {word}", (third,), other))
            else:
                rows.append(
                    (author, at, f"{word}, @{third}!" if kind < 0.8 else word, (third,) if kind < 0.8 else (), None)
                )
    return rows


def occurrences(rows, name, begin=0.0):
    """({target: occurrences}, whom the mock says that the account follows), straight from the rows."""
    ties, followed = {}, set()
    for author, at, text, mentioned, answered in rows:
        if whole(author) == name and at >= begin:
            followed |= set(map(whole, mentioned))
            for key in {*mentioned, *([answered] if answered else [])}:
                ties[whole(key)] = ties.get(whole(key), 0) + TOPIC.count(text)
    return ties, followed


def expected(rows, name, begin=0.0):
    """(value, {target: alpha}) of an account, straight from the rows."""
    own = sum(TOPIC.count(text) for author, at, text, *_ in rows if whole(author) == name and at >= begin)
    return compute_worth(own), {
        target: compute_worth(hits) for target, hits in occurrences(rows, name, begin)[0].items()
    }


@contextmanager
def serving_service(service):
    """A server in front of a service of the mock; `asked` holds (host, endpoint) of each request."""
    routes = Routes()
    for method, template in service.endpoints():
        routes.add(method, template, template)

    class Answer(QuietHandler):
        def answer(self):
            parts = urlsplit(self.path)
            template, values = routes.find("GET", parts.path)
            names = [part[1:] for part in template.split("/") if part.startswith(":")]
            host, headers = self.headers["Host"], {name.lower(): value for name, value in self.headers.items()}
            path = dict(zip(names, map(unquote, values), strict=True))
            asked = MockRequest("GET", template, path, parse_qsl(parts.query), headers, START, host)
            server.asked.append((host, template))
            if host in server.troubled:
                self.send(server.troubled[host], {}, b"<html>no</html>")
            else:
                told = service.answer(asked, service.guest(asked))
                self.send(told.status, told.headers, told.body)

    with serving(Answer) as server:
        server.asked, server.troubled = [], {}
        yield server


@pytest.fixture(scope="module")
def rows():
    return drawn()


@pytest.fixture(scope="module")
def fediverse(rows):
    posts = posts_of([row[:4] for row in rows], reply_to=[row[4] for row in rows])
    with serving_service(MastodonService(build_world(posts, 0.0), home=HOME, noindex=frozenset({SILENT}))) as server:
        server.wire = MastodonWire(server.url, HOME, {}, hits=TOPIC.hits, now=Clock().now, timeout=5.0)
        yield server
        server.wire.close()


def crawled(
    fediverse,
    *,
    steps=30,
    names=("u1@near.example", SILENT),
    queries=(),
    size=1,
    most=None,
    store=None,
    caps=None,
    pages=9,
    **more,
):
    """The store after a crawl, and why it ended; it goes on where `store` has the beginning."""
    fediverse.asked.clear()
    store, clock = MemoryStore() if store is None else store, Clock()
    rules = load_policy("mastodon").override_limits(100_000, None)
    source = MastodonSource(rules, queries, HOME, pages_per_user=pages, search_pages=9, **more)
    seeds = Seeds([Node(-1)] if queries else [], store.enlist(list(names), clock.now()), most, look_up=False)
    crawl = Collect(seeds, make_estimator("nh-ne-sum", seed=3, switch_after=3), steps, source.width)
    planner = WindowPlanner(rules, [Credential("public", "public")], caps or Caps(), home=HOME)
    with ThreadPoolExecutor(4) as pool:
        reason = run(Parts(crawl, source, store, fediverse.wire, planner, clock, pool, Watcher()), size=size)
    fediverse.seconds = clock.now() - BEGIN
    return store, reason


def outcomes(store):
    """What was found of each account, by name; the latest of several."""
    found = {}
    for batch, ended in store.history():
        for pick, outcome in zip(batch, ended, strict=True):
            if pick.act in ("seed", "expand"):
                names = store.accounts([pick.node, *outcome.targets.tolist()])
                found[names[pick.node].username.lower()] = (
                    outcome,
                    [names[node].id for node in outcome.targets.tolist()],
                )
    return found


def agrees(outcome, targets, truth):
    value, ties = truth
    assert outcome.value == pytest.approx(value, rel=1e-12)
    assert dict(zip(targets, outcome.alpha.tolist(), strict=True)) == pytest.approx(ties, rel=1e-12)


@pytest.mark.parametrize("instances", [(), (NEAR,), ("*",)], ids=["home", "near", "all"])
def test_a_crawl_finds_what_the_posts_say_whichever_instance_is_asked(fediverse, rows, instances):
    store, reason = crawled(fediverse, instances=instances, size=4)
    assert isinstance(reason, Stop)
    assert reason.kind == "done"
    found = outcomes(store)
    for name, (outcome, targets) in found.items():
        if outcome.missing is None:
            agrees(outcome, targets, expected(rows, name))
    assert {name for name, (outcome, _) in found.items() if outcome.missing is None} == {
        whole(key) for key in PEOPLE if key != SILENT
    }
    hosts = {host for host, _ in fediverse.asked}
    assert hosts == {HOME} | ({NEAR} if instances else set()) | ({FAR} if instances == ("*",) else set())


@pytest.fixture
def troubled(fediverse):
    """Statuses that a host answers everything with."""
    yield fediverse.troubled
    fediverse.troubled.clear()


def test_an_instance_in_trouble_stops_nobody_else(fediverse, rows, troubled):
    troubled[FAR] = 503
    store, reason = crawled(
        fediverse, instances=("*",), size=4, names=("u2@far.example", "u5@far.example", "u1@near.example")
    )
    assert reason.kind == "done"
    assert fediverse.seconds < 30.0
    found = outcomes(store)
    assert {name for name, (outcome, _) in found.items() if outcome.missing} == {
        whole(key) for key in PEOPLE if key.endswith(FAR)
    }
    for name, (outcome, targets) in found.items():
        if outcome.missing is None:
            agrees(outcome, targets, expected(rows, name))


def test_accounts_of_an_instance_that_is_closed_are_read_at_home(fediverse, rows, troubled):
    troubled[FAR] = 403
    store, reason = crawled(fediverse, instances=("*",), size=4)
    assert reason.kind == "done"
    found = outcomes(store)
    assert len(found) == len(PEOPLE) - 1
    for name, (outcome, targets) in found.items():
        agrees(outcome, targets, expected(rows, name))
    assert {endpoint for host, endpoint in fediverse.asked if host == FAR} == {"/api/v1/accounts/lookup"}


def test_who_wants_no_crawlers_is_looked_up_and_never_read(fediverse):
    store, _ = crawled(fediverse, names=(SILENT,), steps=1)
    (batch, ended), *_ = store.history()
    assert (batch[0].act, ended[0].missing) == ("resolve", "opted-out")
    assert {endpoint for _, endpoint in fediverse.asked} == {"/api/v1/accounts/lookup"}
    store, _ = crawled(fediverse, names=("u3@home.example",), steps=1, opt_outs=False)
    assert outcomes(store)["u3@home.example"][0].missing is None


def test_a_hashtag_brings_its_authors_as_seeds(fediverse, rows):
    store, _ = crawled(fediverse, names=(), queries=("#Glacier",), steps=0, most=1)
    batch, ended = store.history()[0]
    names = store.accounts(ended[0].targets.tolist())
    writers = {whole(author) for author, _, text, _, _ in rows if re.search("^(?!RT ).*#glacier", text, re.DOTALL)} - {
        whole(SILENT)
    }
    assert {who.id for who in names.values()} == writers
    assert batch[0].act == "search"


def test_a_name_that_is_short_leads_to_the_account_in_full(fediverse):
    store, _ = crawled(fediverse, names=("@U6",), steps=1)
    (_, first), *_ = store.history()
    assert isinstance(first[0].missing, SameAs)
    assert "u6@home.example" in outcomes(store)


def test_posts_before_the_bound_are_neither_counted_nor_paged_to(fediverse, rows):
    author = "u2@far.example"  # ninety posts: three pages
    times = sorted(at for who, at, *_ in rows if who == author)
    begin = float(times[-10])
    store, _ = crawled(fediverse, names=(author,), steps=0, begin=begin)
    outcome, targets = outcomes(store)[author]
    assert outcome.posts == 10
    agrees(outcome, targets, expected(rows, author, begin))
    assert [endpoint for _, endpoint in fediverse.asked if endpoint.endswith("statuses")] == [STATUSES]
    crawled(fediverse, names=(author,), steps=0)
    assert [endpoint for _, endpoint in fediverse.asked if endpoint.endswith("statuses")] == [STATUSES] * 3


@pytest.mark.parametrize(("pages", "since"), [(1, 0), (2, 0), (1, 200), (1, 400), (1, 460)])
def test_a_datasheet_counts_the_timelines_of_which_older_posts_were_left_unread(
    fediverse, rows, tmp_path, pages, since
):
    begin = float(rows[since][1])
    with opened(tmp_path / "a.db") as connection:
        number = ensure_campaign(connection, {"name": "a", "seed": 1, "source": {"platform": "mastodon"}}, {}, BEGIN)
        store = SqlStore(connection, number, "mastodon")
        _, reason = crawled(
            fediverse, instances=("*",), size=4, pages=pages, follows=1, follow=1, begin=begin, store=store
        )
        gaps = count_gaps(connection, number, [], "mastodon")
    assert reason.kind == "done"
    posts = Counter(whole(author) for author, at, *_ in rows if at >= begin and author != SILENT)
    more = [name for name, count in posts.items() if count > 40 * pages]  # a page has 40
    assert gaps["timelines_cut"] == len(more)


def test_whom_an_account_follows_are_links_where_the_campaign_asks_for_them(fediverse, rows):
    store, _ = crawled(fediverse, names=("u1@near.example",), steps=1, follows=2, follow=1)
    outcome, targets = outcomes(store)["u1@near.example"]
    value, _ = expected(rows, "u1@near.example")
    hits, followed = occurrences(rows, "u1@near.example")
    agrees(outcome, targets, (value, {who: compute_worth(n + (who in followed)) for who, n in hits.items()}))


@pytest.fixture(scope="module")
def undisturbed(fediverse):
    store, _ = crawled(fediverse, **SHORT)
    return story(store), list(fediverse.asked)


@pytest.mark.parametrize("after", [1, 3, 5, 8])
def test_a_crawl_that_was_stopped_goes_on_and_asks_nothing_twice(fediverse, undisturbed, after):
    store = MemoryStore()
    _, reason = crawled(fediverse, store=store, caps=Caps(requests=after), **SHORT)
    assert reason.kind == "budget"
    asked = list(fediverse.asked)
    crawled(fediverse, store=store, **SHORT)
    assert (story(store), asked + fediverse.asked) == undisturbed
