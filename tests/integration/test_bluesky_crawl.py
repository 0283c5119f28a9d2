"""The Bluesky source against the mock's Bluesky: a crawl by all its parts, with and without signing in."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest
from bluesky_mock import START, Row, Sky, town
from bluesky_posts import POLICY
from bluesky_posts import Sky as Server
from stores import opened
from tiny_town import BEGIN, Clock, Watcher

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import Parts, run
from socialcrawl.engine.model import Credential, Node, RequestPart, Stop
from socialcrawl.exporters.datasheet_facts import count_gaps
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.mock.bluesky.profiles import LIST_KEY
from socialcrawl.mock.names import DELETED, HERE, PROTECTED, SUSPENDED
from socialcrawl.mock.world_changes import Lifetime
from socialcrawl.platforms.bluesky.session import Session
from socialcrawl.platforms.bluesky.source import ACTORS, FEED, MEMBERS, RESOLVE, SEARCH, BlueskySource
from socialcrawl.platforms.bluesky.wire import BlueskyWire
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.memory_store import MemoryStore
from socialcrawl.storage.sql_store import SqlStore

TOPIC = Topic(["glacier"])
PEOPLE = [f"person{n}" for n in range(12)]


def drawn(seed=4):
    """Rows of a town in which everybody is reached; some write more than a page holds."""
    draw, rows = random.Random(seed), []
    for n, author in enumerate(PEOPLE):
        for _ in range((4, 130)[n % 3 == 0]):
            other, third = draw.sample([one for one in PEOPLE if one != author], 2)
            word = draw.choice(["glacier 🧊 ice", "żółw glacier glacier", "sea", "#glacier"])
            kind, place = draw.random(), len(rows)
            if kind < 0.2:
                row = Row(f"r{place}", author, START + 60 * place, f"RT @{other}: {word} {place}", (other,))
            elif kind < 0.4:
                row = Row(f"r{place}", author, START + 60 * place, f"@{third} {word}", (third,), other)
            else:
                row = Row(f"r{place}", author, START + 60 * place, f"{word}, 🐈 @{third}!", (third,))
            rows.append(row)
    return rows


ROWS = drawn()


def occurrences(name, begin=0.0):
    """The occurrences of the topic in an account's posts, and by whom they name, straight from the rows."""
    own, ties = 0, {}
    for row in ROWS:
        if row.author == name and row.at >= begin:
            own += TOPIC.count(row.text)
            for target in {*row.names, *([row.answers] if row.answers else [])}:
                ties[target] = ties.get(target, 0) + TOPIC.count(row.text)
    return own, ties


def serving(sky):
    """What answers requests to a town of the mock, one after the other."""
    lock = Lock()

    def says(path, query, headers, body):
        token = headers.get("Authorization", "").removeprefix("Bearer ") or None
        with lock:
            told = sky.told(path.removeprefix("/xrpc/"), query, token=token, body=body)
        return told.status, told.headers, told.body

    return says


@pytest.fixture(scope="module")
def sky():
    made = Sky(town(ROWS), closed_search=True, passwords={"person1.mock.social": "app-password-of-one"})
    with Server(serving(made)) as server:
        made.url = server.url
        yield made


def crawled(
    sky,
    *,
    steps=30,
    names=("person0",),
    queries=(),
    size=3,
    session=None,
    topic=TOPIC,
    store=None,
    clock=None,
    caps=None,
    pages=9,
    **more,
):
    """The store after a crawl, and why it ended."""
    store, clock = MemoryStore() if store is None else store, clock or Clock()
    sessions = {} if session is None else {"me": session}
    wire = BlueskyWire(sky.url, hits=topic.hits, now=clock.now, timeout=5.0, sessions=sessions)
    source = BlueskySource(POLICY, queries, pages_per_user=pages, search_pages=9, **more)
    handles = store.enlist([sky.handle(name) for name in names], clock.now())
    seeds = Seeds([Node(-1 - place) for place in range(len(queries))], handles, None, look_up=False)
    crawl = Collect(seeds, make_estimator("nh-ne-sum", seed=3, switch_after=3), steps, source.width)
    credential = Credential("me", "user") if session else Credential("public", "public")
    planner = WindowPlanner(POLICY, [credential], caps or Caps())
    with ThreadPoolExecutor(4) as pool:
        reason = run(Parts(crawl, source, store, wire, planner, clock, pool, Watcher()), size=size)
    wire.close()
    return store, reason


def outcomes(store, sky):
    """What was found of each account and its links, by the account's name in the file."""
    name_of = {sky.did(name): name for name in PEOPLE}
    found = {}
    for batch, ended in store.history():
        for pick, outcome in zip(batch, ended, strict=True):
            if pick.act in ("seed", "expand"):
                whos = store.accounts([pick.node, *outcome.targets.tolist()])
                pairs = zip(outcome.targets.tolist(), outcome.alpha.tolist(), strict=True)
                who = whos[pick.node]
                name = name_of[who.id] if who.id else who.username.split(".")[0]
                found[name] = outcome, {name_of[whos[node].id]: alpha for node, alpha in pairs}
    return found


def agrees(found, begin=0.0):
    for name, (outcome, ties) in found.items():
        own, expected = occurrences(name, begin)
        assert outcome.missing is None, name
        assert outcome.value == pytest.approx(compute_worth(own), rel=1e-12)
        assert ties == pytest.approx({target: compute_worth(hits) for target, hits in expected.items()}, rel=1e-12)


@pytest.mark.parametrize("size", [1, 4])
def test_a_crawl_finds_what_the_posts_say(sky, size):
    store, reason = crawled(sky, size=size)
    assert isinstance(reason, Stop)
    assert reason.kind == "done"
    found = outcomes(store, sky)
    assert set(found) == set(PEOPLE)
    agrees(found)
    picked = [pick.node for batch, _ in store.history() for pick in batch]
    assert {who.username for who in store.accounts(picked).values()} == {sky.handle(name) for name in PEOPLE}
    grants = [grant.request for grant, _ in store.ledger()]
    own = {name: [row for row in reversed(ROWS) if row.author == name] for name in PEOPLE}
    pages = [rows[place : place + 100] for rows in own.values() for place in range(0, len(rows), 100)]
    twice = [page for page in pages if any(row.text.startswith("RT @") for row in page)]
    assert 0 < len(twice) < len(pages)
    assert sum(request.endpoint == FEED for request in grants) == len(pages) + len(twice)


def test_a_feed_is_left_where_the_time_that_counts_begins(sky):
    begin = ROWS[100].at  # among the 130 posts of the first, of which the later 30 stand on the first page
    topic = Topic(["glacier"], begin=float(begin))
    store, _ = crawled(sky, steps=0, topic=topic, begin=float(begin))
    (outcome, _) = outcomes(store, sky)["person0"]
    assert outcome.value == pytest.approx(compute_worth(occurrences("person0", begin)[0]))
    assert [grant.request.key[1] for grant, _ in store.ledger() if grant.request.endpoint == FEED] == [
        1,
        RequestPart.REPEATED_PAGE + 1,
    ]


@pytest.mark.parametrize(("pages", "cut"), [(1, 4), (2, 0)])
def test_a_datasheet_counts_a_feed_that_was_cut_once_however_its_pages_were_requested(sky, tmp_path, pages, cut):
    with opened(tmp_path / "a.db") as connection:
        number = ensure_campaign(connection, {"name": "a", "seed": 1, "source": {"platform": "bluesky"}}, {}, BEGIN)
        _, reason = crawled(sky, pages=pages, follows=1, store=SqlStore(connection, number, "bluesky"))
        gaps = count_gaps(connection, number, [], "bluesky")
        asked = "select coalesce(sum(size), 0) from coverage_gap where gap = 'timeline' and why = 'more pages'"
        seen = connection.exec_driver_sql(asked).scalar_one()
    assert reason.kind == "done"
    posts = Counter(row.author for row in ROWS)
    assert gaps["timelines_cut"] == sum(count > 100 * pages for count in posts.values()) == cut == seen


def test_a_closed_search_leaves_the_seeds_that_are_named_and_says_what_to_do(sky):
    store, reason = crawled(sky, queries=["glacier"], steps=2)
    assert reason.kind == "done"
    asked = [(grant.request.endpoint, reply.kind) for grant, reply in store.ledger()]
    assert asked[:2] == [(SEARCH, "missing"), (ACTORS, "ok")]
    assert "sign in with an app password" in next(iter(store.ledger()))[1].why
    store, reason = crawled(sky, queries=["glacier"], names=())
    assert (reason.kind, "name seeds (usernames, lists, file), or sign in" in reason.why) == ("failed", True)


def test_a_closed_search_still_finds_accounts_by_their_names(sky):
    store, _ = crawled(sky, queries=["person3"], names=(), steps=0)
    assert set(outcomes(store, sky)) == {"person3"}


def test_who_has_signed_in_may_search(sky, tmp_path):
    session = Session(sky.url, "person1.mock.social", "app-password-of-one", tmp_path, now=lambda: 1_800_000_000.0)
    store, reason = crawled(sky, queries=["glacier"], names=(), steps=3, session=session)
    session.close()
    assert reason.kind == "done"
    _, ended = next(iter(store.history()))
    found = {who.id for who in store.accounts(ended[0].targets.tolist()).values()}
    writers = {row.author for row in ROWS if TOPIC.count(row.text) and not row.text.startswith("RT @")}
    assert writers
    assert {sky.did(name) for name in writers} <= found
    agrees(outcomes(store, sky))
    assert {grant.credential for grant, _ in store.ledger()} == {"me"}


def test_whom_an_account_follows_makes_links_where_the_campaign_says_so(sky):
    store, _ = crawled(sky, steps=0, follows=5, follow=2)
    (outcome, ties) = outcomes(store, sky)["person0"]
    followed = {target for row in ROWS if row.author == "person0" for target in row.names}
    own, named_ = occurrences("person0")
    expected = {target: named_.get(target, 0) + (2 if target in followed else 0) for target in {*named_, *followed}}
    assert ties == pytest.approx({target: compute_worth(hits) for target, hits in expected.items()})
    assert outcome.value == pytest.approx(compute_worth(own))


def test_the_members_of_a_list_are_seeds(sky):
    members = {target for row in ROWS if row.author == "person0" for target in row.names}
    for owner, asked in ((sky.did("person0"), [MEMBERS]), (sky.handle("person0"), [RESOLVE, MEMBERS])):
        uri = f"at://{owner}/app.bsky.graph.list/{LIST_KEY}"
        store, _ = crawled(sky, queries=[f"list:{uri}"], names=(), steps=0)
        assert set(outcomes(store, sky)) == members
        assert [grant.request.endpoint for grant, _ in store.ledger()][: len(asked)] == asked
    store, reason = crawled(sky, queries=["list:at://did:plc:nobody/app.bsky.graph.list/x"], names=())
    assert (reason.kind, "unknown" in reason.why) == ("failed", True)


@pytest.fixture
def changed(sky):
    """A way to change what becomes of an account; afterwards all is as it was."""
    rows = []

    def become(name, fate):
        rows.append(sky.row(name))
        sky.changes.become(rows[-1], fate)

    yield become
    for row in rows:
        sky.changes.become(row, HERE)


def test_accounts_that_are_gone_are_missing_with_their_reason_and_the_crawl_goes_on(sky, changed):
    fates = {"person1": SUSPENDED, "person2": DELETED, "person4": PROTECTED}
    for name, fate in fates.items():
        changed(name, fate)
    store, reason = crawled(sky)
    found = outcomes(store, sky)
    assert reason.kind == "done"
    assert set(found) == set(PEOPLE)
    gone = {name: outcome.missing for name, (outcome, _) in found.items() if outcome.missing}
    assert gone == {"person1": "suspended", "person2": "deleted", "person4": "protected"}
    store, reason = crawled(sky, names=("person2",))
    assert [outcome.missing for _, ended in store.history() for outcome in ended] == ["unknown"]
    assert (reason.kind, "unknown" in reason.why) == ("failed", True)


def test_where_no_cursor_holds_what_was_read_stays_and_the_crawl_goes_on(sky):
    sky.changes.expire(Lifetime(requests=0))  # no second page comes
    try:
        store, reason = crawled(sky, names=("person1",))
    finally:
        sky.changes.expire(None)
    found = outcomes(store, sky)
    assert reason.kind == "done"
    times = {name: [row.at for row in ROWS if row.author == name] for name in PEOPLE}
    long = {name for name in found if len(times[name]) > 100}
    assert len(long) >= 2
    for name, one in found.items():
        agrees({name: one}, begin=times[name][-100] if name in long else 0.0)  # the first page only
    kinds = [reply.kind for grant, reply in store.ledger() if grant.request.endpoint == FEED]
    assert kinds.count("invalid") == 2 * len(long)  # each is read anew once


def test_a_crawl_that_is_stopped_anywhere_goes_on_as_if_it_had_not_been(sky):
    whole = outcomes(crawled(sky, steps=8, size=1)[0], sky)
    assert len(whole) == 9
    parts, store, clock = {}, MemoryStore(), Clock()
    again = crawled(sky, steps=8, size=1, store=store, clock=clock, caps=Caps(requests=7))
    for _ in range(40):
        again = crawled(
            sky, steps=8, size=1, store=store, clock=clock, caps=Caps(requests=len(list(store.ledger())) + 3)
        )
        parts = outcomes(again[0], sky)
        if again[1].kind == "done":
            break
    assert again[1].kind == "done"
    assert {name: (repr(outcome), ties) for name, (outcome, ties) in parts.items()} == {
        name: (repr(outcome), ties) for name, (outcome, ties) in whole.items()
    }
