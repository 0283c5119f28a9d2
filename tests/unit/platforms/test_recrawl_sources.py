"""A second visit asks for what is new, and nothing else: against two mocks, of which the second has later posts too."""

import math
import random
from contextlib import ExitStack

import httpx
import pytest
from stores import a_store, reopened
from test_mock_world import START, posts_of

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Grant, Node, Pick, RequestPart, parse_time
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.bluesky.source import FEED, FOLLOWS, BlueskySource
from socialcrawl.platforms.bluesky.wire import BlueskyWire
from socialcrawl.platforms.mastodon import source as mastodon
from socialcrawl.platforms.mastodon.source import STATUSES, MastodonSource
from socialcrawl.platforms.mastodon.wire import MastodonWire
from socialcrawl.platforms.x import source as x
from socialcrawl.platforms.x.source import FOLLOWING, TIMELINE, XSource
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.platforms.x.wire import XWire, make_client
from socialcrawl.storage.memory_store import MemoryStore

HOME = "home.example"
TOPIC = Topic(["glacier"])
PLATFORMS = ("x", "bluesky", "mastodon")
EVERYWHERE = pytest.mark.parametrize("platform", PLATFORMS)
BEFORE = {"ann": 5, "bob": 130, "cy": 3, "dot": 20, "eve": 0, "fay": 4, "gil": 6, "hal": 4}
NEWS = {"ann": 2, "bob": 7, "cy": 0, "dot": 230, "eve": 1, "fay": 3, "gil": 2, "hal": 6}  # posts between the visits
PAGE = {"x": 100, "bluesky": 100, "mastodon": 40}
# Accounts are looked up every time: on Mastodon numbers are known to one instance only, on Bluesky posts come without
# the description, in which somebody may opt out.
MORE_REQUESTS = {"mastodon": 1, "bluesky": 1}


def drawn():
    """Rows (author, created_at, text, [mentions]): before the first visit, then between the visits."""
    draw = random.Random(5)
    rows = []
    for counts in (BEFORE, NEWS):
        some = [name for name, many in counts.items() for _ in range(many)]
        draw.shuffle(some)
        for author in some:
            other = draw.choice([name for name in NEWS if name != author])
            text = draw.choice(["a glacier @{}", "glacier, @{}: glacier", "the sea @{}", "RT @{}: a glacier"])
            rows.append((author, START + 60 * len(rows), f"{text.format(other)} {len(rows)}", (other,)))
    return rows


ROWS = drawn()
OLD = sum(BEFORE.values())
CUT = START + 60 * OLD  # when the first post was written that only the second mock knows


def expected(name, begin=0):
    """(posts, occurrences, {target: occurrences}) of an account's rows from an instant on."""
    mine = [row for row in ROWS if row[0] == name and row[1] >= begin]
    ties = {}
    for *_, text, (other,) in mine:
        ties[other] = ties.get(other, 0) + TOPIC.count(text)
    return len(mine), sum(TOPIC.count(row[2]) for row in mine), ties


class World:
    """Two mocks, the wires to them, and what accounts are called: `keys[platform][name]`."""

    def __init__(self, stack):
        given = [posts_of(ROWS[:OLD]), posts_of(ROWS)]
        self.mocks = [stack.enter_context(serve_in_thread(posts, limit=10_000)) for posts in given]
        self.web = stack.enter_context(httpx.Client(verify=False))  # nothing is encrypted on this machine
        told = {name: self.web.get(f"{self.mocks[1].url}/_mock/accounts?name={name}").json() for name in NEWS}
        self.keys = {platform: {name: told[name][platform] for name in NEWS} for platform in PLATFORMS}
        self.names = {told[name][key].lower(): name for name in NEWS for key in ("did", *PLATFORMS)}
        self.wires = {platform: [self.wire(platform, mock.url) for mock in self.mocks] for platform in PLATFORMS}
        for one in self.wires.values():
            for wire in one:
                stack.callback(wire.close)

    def wire(self, platform, url):
        hits, now = TOPIC.hits, lambda: float(START)
        if platform == "x":
            return XWire({"main": make_client("token", url)}, TWEET, load_policy("x"), hits, now)
        if platform == "bluesky":
            return BlueskyWire(url, hits=hits, now=now)
        return MastodonWire(url, HOME, {}, hits=hits, now=now)

    def fault(self, **fault):
        assert self.web.post(f"{self.mocks[1].url}/_mock/faults", json={"fault": [fault]}).status_code == 200


@pytest.fixture(scope="module")
def world():
    with ExitStack() as stack:
        yield World(stack)


@pytest.fixture
def a_world_that_changes():
    """A world for one test, as others see reposts of whoever is gone no more."""
    with ExitStack() as stack:
        yield World(stack)


class Asker:
    """Who visits accounts, first on the first mock; `told` holds the requests and replies of the last visit."""

    def __init__(self, world, platform, store=None, **more):
        self.world, self.platform = world, platform
        self.store, self.later = MemoryStore() if store is None else store, False
        sources = {
            "x": lambda: XSource(load_policy("x"), TWEET, [], 32, **more),
            "bluesky": lambda: BlueskySource(load_policy("bluesky"), [], 32, **more),
            "mastodon": lambda: MastodonSource(load_policy("mastodon"), [], HOME, 32, **more),
        }
        self.source = sources[platform]()
        self.told, self.n = [], 0

    def node(self, name):
        (node,) = self.store.enlist([self.world.keys[self.platform][name]], 0.0)
        return node

    def begin(self, node, act, since):
        """The next pick, and the talk about it."""
        self.pick = Pick(self.n, node, act, since=since)
        self.n, self.told = self.n + 1, []
        self.store.open((self.pick,))
        return self.source.start_conversations((self.pick,), self.store.accounts([node]))[0]

    def ask(self, request):
        grant = Grant(request, "main", float(START))
        self.store.reserve(grant)
        reply = self.store.save(grant, self.world.wires[self.platform][self.later].send(grant))
        self.told.append((request, reply))
        return reply

    def visit(self, node, act="recrawl", since=""):
        """The outcome of a pick."""
        talk = self.begin(node, act, since)
        try:
            request = next(talk)
            while True:
                request = talk.send(self.ask(request))
        except StopIteration as end:
            (outcome,) = end.value.values()
        self.store.finish((self.pick,), [outcome])
        return outcome

    def asked(self, *ends):
        """How many requests of the last visit went to these endpoints; a page that was asked for twice is one."""
        told = [request for request, _ in self.told if request.endpoint.partition("?")[0].endswith(ends)]
        return len({request.key[1] % RequestPart.REPEATED_PAGE for request in told})

    def agrees(self, outcome, name, begin=0):
        """The outcome is what the rows say."""
        posts, hits, ties = expected(name, begin)
        assert (outcome.missing, outcome.posts, outcome.occurrences, outcome.value) == (
            None,
            posts,
            hits,
            compute_worth(hits),
        )
        targets = self.store.accounts([Node(int(node)) for node in outcome.targets]).values()
        found = [self.world.names[str(who.username or who.id).lower()] for who in targets]
        assert dict(zip(found, outcome.alpha.tolist(), strict=True)) == {
            to: compute_worth(many) for to, many in ties.items()
        }


@EVERYWHERE
@pytest.mark.parametrize("name", ["ann", "bob", "cy", "dot", "eve"])
def test_a_second_visit_brings_exactly_the_new_posts(world, platform, name):
    asker = Asker(world, platform)
    node = asker.node(name)
    first = asker.visit(node, "expand")
    assert (first.posts, bool(first.mark)) == (BEFORE[name], BEFORE[name] > 0)
    asker.later = True
    second = asker.visit(node, "recrawl", first.mark)
    assert second.posts == NEWS[name]
    asker.agrees(second, name, CUT)
    assert asker.asked(TIMELINE, FEED, STATUSES) == max(1, math.ceil(NEWS[name] / PAGE[platform]))
    third = asker.visit(node, "recrawl", second.mark)
    assert (third.missing, third.posts, third.occurrences, len(third.targets)) == (None, 0, 0, 0)
    assert third.mark == second.mark != ""
    assert len(asker.told) == 1 + MORE_REQUESTS.get(platform, 0), "what has nothing new costs one request"
    assert sum(reply.cost for _, reply in asker.told) == 0


def test_x_bills_the_new_posts_and_no_others(world):
    asker = Asker(world, "x")
    node = asker.node("hal")
    mark = asker.visit(node, "seed").mark
    asker.later = True
    before = world.mocks[1].report()["totals"]
    asker.visit(node, "recrawl", mark)
    after = world.mocks[1].report()["totals"]
    assert sum(reply.cost for _, reply in asker.told) == NEWS["hal"] * 500
    assert {key: after[key] - before[key] for key in ("posts", "users")} == {"posts": NEWS["hal"], "users": 0}


@EVERYWHERE
@pytest.mark.parametrize("act", ["seed", "expand"])
def test_a_first_visit_is_bounded_by_the_mark_of_an_instant(world, platform, act):
    asker = Asker(world, platform, follows=1)
    node, asker.later = asker.node("bob"), True
    begin = sorted(row[1] for row in ROWS if row[0] == "bob")[-11]
    outcome = asker.visit(node, act, asker.source.mark(float(begin)))
    assert outcome.posts == expected("bob", begin)[0] == 11, "what was written at the very instant is new"
    assert asker.asked(FOLLOWS, FOLLOWING, mastodon.FOLLOWING) == 1, "it is a first visit"


@EVERYWHERE
def test_whom_an_account_follows_is_asked_for_once(world, platform):
    asker = Asker(world, platform, follows=1)
    node, asked = asker.node("ann"), []
    for act, since in (("expand", ""), ("recrawl", ""), ("recrawl", asker.source.mark(float(CUT)))):
        asker.visit(node, act, since)
        asked.append(asker.asked(FOLLOWS, FOLLOWING, mastodon.FOLLOWING))
    assert asked == [1, 0, 0]


@EVERYWHERE
def test_an_account_is_asked_by_its_id_whatever_it_is_called_now(world, platform):
    asker = Asker(world, platform)
    node = asker.node("fay")
    mark = asker.visit(node, "expand").mark
    asker.later = True
    if platform != "mastodon":  # whose accounts are called by their names for ever
        world.fault(kind="rename", platform=platform, account="fay", name="fayette")
    asker.agrees(asker.visit(node, "recrawl", mark), "fay", CUT)
    assert len(asker.told) == 1 + MORE_REQUESTS.get(platform, 0)


@EVERYWHERE
@pytest.mark.parametrize("kind", ["delete", "suspend"])
def test_an_account_that_is_gone_keeps_its_mark(a_world_that_changes, platform, kind):
    world = a_world_that_changes
    asker = Asker(world, platform)
    node = asker.node("gil")
    mark = asker.visit(node, "expand").mark
    asker.later = True
    world.fault(kind=kind, platform=platform, account="gil")
    outcome = asker.visit(node, "recrawl", mark)
    assert outcome.missing in ("deleted", "unknown", "suspended")
    assert (outcome.mark, outcome.posts) == (mark, 0)


@EVERYWHERE
def test_a_mark_tells_when_the_newest_post_was_written_and_not_which_it_was(world, platform):
    asker = Asker(world, platform)
    mark = asker.visit(asker.node("bob"), "expand").mark
    at = max(row[1] for row in ROWS[:OLD] if row[0] == "bob")
    if platform == "bluesky":
        assert parse_time(mark) == at
        return
    flakes = {"x": x, "mastodon": mastodon}[platform].SNOWFLAKES
    assert flakes.time(mark) == pytest.approx(at, abs=0.5)  # the mock gives posts of a second a millisecond each
    assert (int(mark) + 1) % (1 << flakes.bits) == 0


@EVERYWHERE
def test_what_was_stored_of_a_visit_is_replayed_to_the_same_outcome(world, platform):
    with a_store("sqlite") as store:
        asker = Asker(world, platform, store)
        node, since = asker.node("dot"), asker.source.mark(float(CUT))
        asker.later = True
        outcome = asker.visit(node, "recrawl", since)
        talk = asker.begin(node, "recrawl", since)
        asker.ask(next(talk))
        again = reopened(store)
        (pick,) = again.unfinished()
        assert pick.since == since
        kept = again.replies((pick,))
        assert kept[pick.n, asker.told[0][0].key[1]].answer == asker.told[0][1].answer
        asker.store = again
        (talk,) = asker.source.start_conversations((pick,), again.accounts([node]))
        try:
            request = next(talk)
            while True:
                request = talk.send(kept.get(request.key) or asker.ask(request))
        except StopIteration as end:
            (found,) = end.value.values()
    assert (found.mark, found.posts, found.occurrences) == (outcome.mark, outcome.posts, outcome.occurrences)
    assert found.targets.tolist() == outcome.targets.tolist()
    assert found.posts == NEWS["dot"]
