"""Who mentions an account on X: its newest hundred mentions, their authors; against the mock, and through the loop."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from probe_towns import FANS, NOW, REASONS, STAR, Asking, town
from tiny_town import Clock, Watcher

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.loop import Parts, run
from socialcrawl.engine.model import Credential, Node, Pick, Stop, Who
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.names import HERE, SUSPENDED
from socialcrawl.platforms.x.source import BY_NAME, MENTIONS, XSource, make_time_bounds
from socialcrawl.platforms.x.vocabulary import POST, TWEET
from socialcrawl.platforms.x.wire import XWire, make_client
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.memory_store import MemoryStore

POLICY = load_policy("x")
WORDS = pytest.mark.parametrize("words", [TWEET, POST], ids=["tweet", "post"])


@pytest.fixture(scope="module")
def people():
    with town(FANS, missing=0.2) as found:
        yield found


def asking(url, words=TWEET, **more):
    wire = XWire({"main": make_client("token", url)}, words, POLICY, Topic(["hello"]).hits, lambda: float(NOW))
    return Asking(url, XSource(POLICY, words, [], **more), wire)


def mentioners(people, name, most=100, begin=0):
    """The ids of those who mention somebody in the newest posts to be seen, straight from the rows."""
    posts = [row for row in FANS if row[1] >= begin and len(row) > 3 and name in row[3]]
    shown = [fold_name(row[0]) for row in posts[::-1] if people.fate(fold_name(row[0])) == HERE][:most]
    return [people.number(one) for one in dict.fromkeys(shown) if one != name], len(shown)


@WORDS
def test_the_authors_of_the_newest_hundred_mentions_are_the_targets(people, words):
    who = asking(people.url, words)
    (pick,) = who.picks("inward", [people.username(STAR)])
    outcome = who.ask((pick,))[pick.n]
    expected, posts = mentioners(people, STAR)
    assert who.names(outcome) == expected
    assert len(expected) > 20
    assert (posts, outcome.posts) == (100, 100)
    assert (outcome.missing, outcome.value, set(outcome.alpha.tolist())) == (None, 0.0, {0.0})
    assert [request.endpoint for request, _ in who.told] == [BY_NAME, MENTIONS]
    request, reply = who.told[1]
    users = len(expected) + 1 if words is POST else 0  # the star wrote some of them
    assert (request.key, request.params["max_results"]) == ((0, 1), "100")
    assert request.most == 100 * 500 + (100 * 1_000 if words is POST else 0)
    assert reply.cost == 100 * 500 + users * 1_000


@WORDS
def test_only_the_newer_vocabulary_tells_the_names_of_those_who_mention(people, words):
    who = asking(people.url, words)
    (pick,) = who.picks("inward", [people.username(STAR)])
    nodes = [Node(int(node)) for node in who.ask((pick,))[pick.n].targets]
    named = [one for one in who.store.accounts(nodes).values() if one.username]
    assert len(named) == (len(nodes) if words is POST else 1)  # fan3 is mentioned itself


def test_only_the_time_that_counts_is_asked_for(people):
    begin = NOW - 120 * 60
    who = asking(people.url, span=make_time_bounds(float(begin), None, float(NOW)))
    (pick,) = who.picks("inward", [people.username(STAR)])
    expected, posts = mentioners(people, STAR, begin=begin)
    outcome = who.ask((pick,))[pick.n]
    assert (who.names(outcome), outcome.posts) == (expected, posts)
    assert 0 < posts < 100


@WORDS
def test_whom_nobody_mentions_has_no_targets_and_the_gone_are_missing(people, words):
    unmentioned = next(name for name in people.names if not mentioners(people, name)[1] and people.fate(name) == HERE)
    gone = [name for name in people.names if people.fate(name)]
    who = asking(people.url, words)
    picks = who.picks("inward", [people.username(name) for name in (unmentioned, *gone)])
    found = who.ask(picks)
    assert (found[0].missing, len(found[0].targets)) == (None, 0)
    for name, pick in zip(gone, picks[1:], strict=True):
        assert found[pick.n].missing == {"deleted": "unknown"}.get(
            REASONS[people.fate(name)], REASONS[people.fate(name)]
        )


def test_the_mentions_of_an_id_that_is_gone_are_missing_with_the_reason():
    names = [f"someone{i}" for i in range(40)]
    with town([(name, NOW - 99, "x") for name in names], missing=0.9) as people:
        who, fates = asking(people.url), {people.fate(name): name for name in names}
        for fate, reason in REASONS.items():
            one = Who(people.number(fates[fate]), None)
            (talk,) = who.source.start_conversations((Pick(fate, Node(0), "inward"),), {Node(0): one})
            reply = who._send(next(talk))
            (node,) = reply.answer.missing
            assert (reply.kind, reply.answer.missing[node], reply.cost) == ("missing", reason, 0)


def test_an_account_known_by_name_that_is_walked_to_and_asked_for_at_once_is_looked_up_once(people):
    here, gone = (next(name for name in people.names if people.fate(name) == fate) for fate in (HERE, SUSPENDED))
    who = asking(people.url)
    walks = who.picks("walk", [people.username(STAR), people.username(gone)])
    inwards = who.picks("inward", [people.username(STAR), people.username(gone), people.username(here)], first=2)
    found = who.ask((*walks, *inwards))
    assert here != STAR
    assert sorted(request.params["usernames"] for request in who.asked(BY_NAME)) == sorted(
        people.username(name) for name in (STAR, gone, here)
    )
    assert who.names(found[inwards[0].n]) == mentioners(people, STAR)[0]
    assert found[walks[0].n].posts == min(100, sum(row[0] == STAR for row in FANS))
    assert {one.n: one.missing for one in found.values()} == {0: None, 1: "suspended", 2: None, 3: "suspended", 4: None}


class Once:
    """A crawl of one batch: probes of some accounts, who mentions them, and a walk to each."""

    def __init__(self, nodes):
        self.nodes, self.outcomes = nodes, {}

    def choose(self, size, now):
        if self.outcomes:
            return Stop("done", "all were asked")
        acts = [(act, node) for act in ("probe", "inward", "walk") for node in self.nodes]
        return tuple(Pick(n, node, act) for n, (act, node) in enumerate(acts))

    def absorb(self, batch, outcomes):
        self.outcomes |= {(pick.act, pick.node): outcome for pick, outcome in zip(batch, outcomes, strict=True)}

    def fold(self, history):
        for batch, outcomes in history:
            self.absorb(batch, outcomes)


@pytest.mark.parametrize("kind", ["app", "user"])
def test_the_loop_carries_probes_walks_and_in_links_within_the_windows_of_either_token(people, kind):
    store, clock = MemoryStore(), Clock(float(NOW))
    names = [name for name in people.names if people.fate(name) == HERE][:5]
    crawl = Once(store.enlist([people.username(name) for name in names], 0.0))
    who = asking(people.url, activity=Activity(86_400.0), pages_per_user=32)
    planner = WindowPlanner(POLICY, [Credential("main", kind)], Caps())
    with ThreadPoolExecutor(4) as pool:
        reason = run(Parts(crawl, who.source, store, who.wire, planner, clock, pool, Watcher()), size=4)
    assert (reason.kind, reason.why) == ("done", "all were asked")
    for name, node in zip(names, crawl.nodes, strict=True):
        written = [row for row in FANS if fold_name(row[0]) == name]
        assert crawl.outcomes["probe", node].value == float(bool(written))
        inward, walk = crawl.outcomes["inward", node], crawl.outcomes["walk", node]
        assert [ids(store, one) for one in inward.targets] == mentioners(people, name)[0]
        assert walk.posts == len(written)
        named = {people.username(one).lower() for row in written if len(row) > 3 for one in row[3]}
        assert {str(store.accounts([Node(int(one))])[int(one)].username).lower() for one in walk.targets} == named


def ids(store, node):
    return store.accounts([Node(int(node))])[Node(int(node))].id
