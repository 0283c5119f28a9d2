"""Probes of life on Bluesky: 25 profiles a look-up, then the newest post of each account; against the mock."""

from urllib.parse import quote

import pytest
from bluesky_posts import POLICY, did
from probe_towns import HALF_A_YEAR, NOW, Asking, carried, last, of, recent, stamp, town

from socialcrawl.engine.model import Answer, Node, Pick, Reply, Request, RequestPart, Who
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.names import HERE, PROTECTED
from socialcrawl.platforms.bluesky import parse
from socialcrawl.platforms.bluesky.source import FEED, PROFILES, BlueskySource
from socialcrawl.platforms.bluesky.wire import BlueskyWire, make_address

RECENTLY = Activity(float(HALF_A_YEAR))


@pytest.fixture(scope="module")
def people():
    with town(bluesky_limit=100_000) as found:
        yield found


def asking(url, activity=RECENTLY):
    wire = BlueskyWire(url, hits=Topic(["hello"]).hits, now=lambda: float(NOW))
    return Asking(url, BlueskySource(POLICY, [], activity=activity), wire)


def handle(people, name):
    return people.username(name).replace("_", "-") + ".mock.social"


def probed(people, names, activity=RECENTLY):
    """The outcomes of probes by name, and who asked."""
    who = asking(people.url, activity)
    picks = who.picks("probe", [handle(people, name) for name in names])
    found = who.ask(picks)
    return {name: found[pick.n] for name, pick in zip(names, picks, strict=True)}, who


def test_a_probe_tells_who_is_active_when_they_posted_last_and_why_others_are_gone(people):
    found, who = probed(people, people.names)
    for name, outcome in found.items():
        fate = people.fate(name)
        if fate == HERE:
            at = last(name)
            assert (outcome.value, outcome.missing) == (float(recent(name)), None), name
            assert outcome.mark == ("" if at is None else stamp(at, 3))
        else:  # profiles leave out the suspended and the deleted without a word
            expected = "protected" if fate == PROTECTED else "unknown"
            assert (outcome.value, outcome.missing, outcome.mark) == (0.0, expected, "")
        assert (outcome.posts, outcome.at, len(outcome.targets)) == (0, float(NOW), 0)
    assert {outcome.value for outcome in found.values()} == {0.0, 1.0}
    shown = len(of(people, HERE)) + len(of(people, PROTECTED))
    assert len(who.asked(PROFILES)) == -(-len(found) // 25)
    assert len(who.asked(FEED)) == shown < len(found)
    assert {request.params["limit"] for request in who.asked(FEED)} == {"1"}
    assert all(reply.answer.posts == 0 for _, reply in who.told)  # a probe keeps no posts


def test_reposts_are_signs_of_life():
    rows = [("ann", NOW - 400 * 86_400, "hello"), ("ann", NOW - 86_400, "RT @bob: hello", ("bob",)), ("bob", 5, "x")]
    with town(rows, missing=0.0) as people:
        found, _ = probed(people, ["ann", "bob"])
    assert [(one.value, one.mark) for one in found.values()] == [
        (1.0, stamp(NOW - 86_400, 3)),
        (0.0, "1970-01-01T00:00:05.000Z"),
    ]


def test_where_activity_is_to_exist_no_feed_is_asked_for(people):
    found, who = probed(people, people.names, Activity(None))
    assert {name for name, outcome in found.items() if outcome.value} == set(of(people, HERE))
    assert {name for name, outcome in found.items() if outcome.missing == "protected"} == set(of(people, PROTECTED))
    assert not who.asked(FEED)


def test_a_server_is_not_told_that_it_is_enough_to_exist():
    request = next(probe(ONE, activity=Activity(None)))
    assert request.params == {"ids": ANN.id, "exists": "probe"}
    assert make_address("https://a.example", request) == f"https://a.example{PROFILES}?actors={quote(str(ANN.id), '')}"


@pytest.mark.parametrize("within", [None, float(HALF_A_YEAR)])
def test_protected_accounts_are_active_where_the_campaign_says_so(people, within):
    found, _ = probed(people, of(people, PROTECTED), Activity(within, protected=True))
    assert {(one.value, one.missing) for one in found.values()} == {(1.0, None)}


ANN, BOB = Who(did("ann"), "ann.test"), Who(None, "bob.test")
ONE, TWO = Pick(4, Node(1), "probe"), Pick(5, Node(2), "probe")


def ok(kind="ok", cursor=None, **answer):
    return Reply(kind, float(NOW), rows=Answer(**answer), cursor=cursor)


def probe(*picks, activity=RECENTLY, whos=(ANN, BOB)):
    accounts = {pick.node: who for pick, who in zip(picks, whos, strict=False)}
    (found,) = BlueskySource(POLICY, [], activity=activity).start_conversations(picks, accounts)
    return found


def conversed(talk, *replies):
    """The requests of a talk that is sent these replies, and its outcomes."""
    left, requests = list(replies), []

    def send(request):
        requests.append(request)
        return left.pop(0)

    found = carried(talk, send)
    assert not left
    return requests, found


BOTH = ok(found={1: did("ann"), 2: did("bob")})
SEEN = stamp(NOW - 5, 3)


def test_the_newest_posts_are_later_parts_of_the_same_talk():
    requests, found = conversed(probe(ONE, TWO), BOTH, ok(active={1: SEEN}), ok())
    assert [(one.key, one.endpoint) for one in requests] == [
        ((4, 0), PROFILES),
        ((4, RequestPart.FAR_SECOND_LIST), FEED),
        ((5, RequestPart.FAR_SECOND_LIST), FEED),
    ]
    assert [one.params.get("id") for one in requests[1:]] == [did("ann"), did("bob")]
    assert [(one.value, one.missing, one.mark) for one in found.values()] == [(1.0, None, SEEN), (0.0, None, "")]


def test_an_answer_that_the_database_has_is_no_sign_of_life():
    held = ok("held", found={1: did("ann")})
    requests, found = conversed(probe(ONE), held, BOTH, ok("held"), ok(active={1: SEEN}))
    assert [one.key for one in requests] == [
        (4, 0),
        (4, 1),
        (4, RequestPart.FAR_SECOND_LIST),
        (4, RequestPart.FAR_SECOND_LIST + 1),
    ]
    assert found[4].value == 1.0


def test_a_page_that_left_its_only_post_out_is_read_on():
    requests, found = conversed(probe(ONE), BOTH, ok(cursor="c"), ok(active={1: SEEN}))
    assert [(one.params["limit"], one.params.get("cursor")) for one in requests[1:]] == [("1", None), ("100", "c")]
    assert (found[4].value, found[4].mark) == (1.0, SEEN)
    requests, found = conversed(probe(ONE), BOTH, *[ok(cursor="c")] * 3)
    assert (found[4].value, found[4].missing) == (0.0, None)


@pytest.mark.parametrize("kind", ["broken", "lost", "backoff", "invalid"])
def test_a_failure_says_nothing_of_who_lives(kind):
    _, found = conversed(probe(ONE), Reply(kind, 3.0))
    assert (found[4].value, found[4].missing) == (0.0, "temporary")
    _, found = conversed(probe(ONE), BOTH, Reply(kind, 3.0))
    assert (found[4].value, found[4].missing) == (0.0, "temporary")


def test_who_went_between_the_two_requests_is_missing():
    _, found = conversed(probe(ONE), BOTH, ok("missing", missing={1: "suspended"}))
    assert (found[4].value, found[4].missing) == (0.0, "suspended")


def test_what_is_no_account_is_unknown_without_a_request():
    for who in (Who("nobody", None), Who(None, "no handle"), Who(None, None)):
        requests, found = conversed(probe(ONE, whos=(who,)))
        assert (requests, found[4].missing) == ([], "unknown")


def test_a_source_without_a_rule_refuses_probes():
    with pytest.raises(ValueError, match="no activity"):
        next(probe(ONE, activity=None))


def post(of, at, **more):
    author = {"did": did(of), "handle": f"{of}.test"}
    return {"post": {"uri": f"at://{did(of)}/x/1", "author": author, "indexedAt": at, "record": {}}, **more}


def test_what_is_pinned_and_what_others_wrote_is_no_news_of_an_account():
    pinned = post("ann", "2026-09-09T00:00:00.000Z", reason={"$type": "app.bsky.feed.defs#reasonPin"})
    other = post("bob", "2026-09-09T00:00:00.000Z")
    mine = post("ann", "2025-01-01T00:00:00.123456Z")
    page = parse.parse_latest({"feed": [pinned, other, mine]}, did("ann"))
    assert page.active == [(Who(did("ann"), "ann.test"), "2025-01-01T00:00:00.123Z")]
    assert not page.posts
    assert parse.parse_latest({"feed": [other]}, did("ann")).active == ()


def test_no_server_is_told_what_is_kept():
    asked = Request((0, 0), FEED, {"id": did("ann"), "latest": "post", "limit": "1"})
    assert (
        make_address("https://x.test", asked) == f"https://x.test{FEED}?actor={did('ann').replace(':', '%3A')}&limit=1"
    )
