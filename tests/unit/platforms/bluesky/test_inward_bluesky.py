"""Who mentions an account on Bluesky: the newest hundred posts that a search for mentions finds; against the mock."""

import pytest
from bluesky_posts import POLICY, did
from probe_towns import FANS, NOW, STAR, Asking, town

from socialcrawl.engine.model import Node, Pick, Reply, Request, Who
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.names import DELETED, HERE, SUSPENDED
from socialcrawl.platforms.bluesky import parse
from socialcrawl.platforms.bluesky.source import PROFILES, SEARCH, BlueskySource
from socialcrawl.platforms.bluesky.wire import CLOSED, BlueskyWire, make_address

TOPIC = Topic(["hello"])


@pytest.fixture(scope="module")
def people():
    with town(FANS, missing=0.2, bluesky_limit=100_000) as found:
        yield found


def asking(url, **more):
    return Asking(url, BlueskySource(POLICY, [], **more), BlueskyWire(url, hits=TOPIC.hits, now=lambda: float(NOW)))


def handle(people, name):
    return people.username(name).replace("_", "-") + ".mock.social"


def mentioners(people, name, begin=0, end=NOW + 1):
    """Those who mention somebody in the newest hundred posts that search finds: it finds no reposts."""
    posts = [row for row in FANS if begin <= row[1] < end and len(row) > 3 and name in row[3] and "RT @" not in row[2]]
    shown = [row[0] for row in posts[::-1] if people.fate(row[0]) == HERE][:100]
    return [handle(people, one) for one in dict.fromkeys(shown) if one != name], len(shown)


def handles(who, outcome):
    nodes = [Node(int(node)) for node in outcome.targets]
    told = who.store.accounts(nodes)
    return [told[node].username for node in nodes]


@pytest.mark.parametrize(("begin", "end"), [(None, None), (NOW - 150 * 60, NOW - 90 * 60)])
def test_the_authors_of_the_newest_mentions_are_the_targets(people, begin, end):
    who = asking(people.url, begin=begin, end=end)
    (pick,) = who.picks("inward", [handle(people, STAR)])
    outcome = who.ask((pick,))[pick.n]
    expected, posts = mentioners(people, STAR, begin or 0, end or NOW + 1)
    assert (handles(who, outcome), outcome.posts) == (expected, posts)
    assert len(expected) > 5
    assert (outcome.missing, outcome.value, set(outcome.alpha.tolist())) == (None, 0.0, {0.0})
    endpoints = [request.endpoint for request, _ in who.told]
    look_ups = -(-len(expected) // 25)  # of who wrote the posts, before these are asked for
    assert endpoints == [PROFILES, SEARCH, *[PROFILES] * look_ups, SEARCH]
    assert [request.params.get("show") for request in who.asked(SEARCH)] == ["authors", None]


def test_no_more_than_a_hundred_posts_are_read():
    rows = [(f"fan{i}", NOW - 900 + i, "@star hi", (STAR,)) for i in range(130)] + [(STAR, NOW, "hello")]
    with town(rows, missing=0.0) as people:
        who = asking(people.url)
        (pick,) = who.picks("inward", [handle(people, STAR)])
        outcome = who.ask((pick,))[pick.n]
        assert handles(who, outcome) == [f"fan{i}.mock.social" for i in range(129, 29, -1)]
    assert [request.params.get("show") for request in who.asked(SEARCH)] == ["authors", None]
    assert len(who.asked(PROFILES)) == 1 + 4


def test_whom_nobody_mentions_has_no_targets_and_the_gone_are_missing(people):
    lone = next(name for name in people.names if not mentioners(people, name)[1] and people.fate(name) == HERE)
    gone = next(name for name in people.names if people.fate(name) in (SUSPENDED, DELETED))
    who = asking(people.url)
    picks = who.picks("inward", [handle(people, lone), handle(people, gone)])
    found = who.ask(picks)
    assert [(one.missing, len(one.targets)) for one in found.values()] == [(None, 0), ("unknown", 0)]


def test_a_closed_search_names_nobody_and_loses_nobody():
    with town(FANS, missing=0.0, closed_search=True) as people:
        who = asking(people.url)
        (pick,) = who.picks("inward", [handle(people, STAR)])
        outcome = who.ask((pick,))[pick.n]
        assert (outcome.missing, len(outcome.targets)) == (None, 0)
    assert (who.told[-1][1].kind, who.told[-1][1].why) == ("missing", CLOSED)


@pytest.mark.parametrize("kind", ["broken", "lost", "backoff"])
def test_a_failure_is_asked_again_later(kind):
    (talk,) = BlueskySource(POLICY, []).start_conversations(
        (Pick(3, Node(1), "inward"),), {Node(1): Who(did("ann"), None)}
    )
    next(talk)
    with pytest.raises(StopIteration) as end:
        talk.send(Reply(kind, 5.0))
    assert end.value.value[3].missing == "temporary"


def test_the_search_is_for_everything_that_mentions_the_account():
    asked = Request((0, 1), SEARCH, {"id": did("ann"), "sort": "latest", "limit": "100"})
    query = f"q=%2A&mentions={did('ann').replace(':', '%3A')}&sort=latest&limit=100"
    assert make_address("https://x.test", asked) == f"https://x.test{SEARCH}?{query}"


def post(by, *names):
    facets = [
        {
            "index": {"byteStart": i, "byteEnd": i},
            "features": [{"$type": "app.bsky.richtext.facet#mention", "did": did(n)}],
        }
        for i, n in enumerate(names)
    ]
    record = {"text": "hi", "facets": facets}
    return {"uri": f"at://{did(by)}/p/{by}", "author": {"did": did(by), "handle": f"{by}.test"}, "record": record}


def test_where_the_filter_was_not_understood_posts_of_others_are_left_out():
    given = {"posts": [post("bob", "cy", "ann"), post("dot"), post("eve", "cy"), post("fay", "ann")]}
    page = parse.parse_mentions(given, did("ann"), TOPIC.hits)
    assert [who.username for who in page.answered] == ["bob.test", "fay.test"]
    assert len(page.posts) == 2
