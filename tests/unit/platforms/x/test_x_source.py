import math
import re
from collections import Counter
from datetime import UTC, datetime

import pytest
from x_crawls import TOKEN, TOPIC, posts

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Answer, Grant, Node, Pick, Reply, SameAs, Who
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.x.source import TIMELINE, XSource, make_time_bounds
from socialcrawl.platforms.x.vocabulary import POST, TWEET, USER_FIELDS
from socialcrawl.platforms.x.wire import XWire, make_client
from socialcrawl.storage.memory_store import MemoryStore

POLICY = load_policy("x")
BOTH = pytest.mark.parametrize("words", [TWEET, POST], ids=["tweet", "post"])
PAGE, USER = 50_000, 1_000  # mills: $0.50 and $0.01
NOBODY = Who(None, None)


def source(words=TWEET, **more):
    return XSource(POLICY, words, ["first query", "second query"], **more)


def talk_of(pick, who=NOBODY, words=TWEET, **more):
    (talk,) = source(words, **more).start_conversations((pick,), {pick.node: who})
    return talk


def ok(cursor=None, at=5.0, **answer):
    return Reply("ok", at, rows=Answer(**answer), cursor=cursor)


def end_of(talk, reply):
    with pytest.raises(StopIteration) as end:
        talk.send(reply)
    return end.value.value


def converse(talk, *replies):
    """The requests of a talk that is sent `replies`, and its outcomes."""
    requests = [next(talk), *(talk.send(reply) for reply in replies[:-1])]
    return requests, end_of(talk, replies[-1])


@BOTH
def test_an_account_is_asked_by_its_timeline_and_a_page_is_priced_at_its_dearest(words):
    request = next(talk_of(Pick(7, Node(3), "expand"), Who("42", "ann"), words))
    assert (request.key, request.endpoint, request.items, request.most) == ((7, 1), "/2/users/:id/tweets", 100, PAGE)
    assert dict(request.params) == {"id": "42", "max_results": "100", **words.fields}
    assert not {"expansions", "user.fields"} & request.params.keys()  # they are billed


@pytest.mark.parametrize(("words", "most"), [(TWEET, PAGE), (POST, PAGE + 100 * USER)], ids=["tweet", "post"])
def test_a_search_asks_for_its_query_and_only_the_new_vocabulary_pays_for_authors(words, most):
    request = next(talk_of(Pick(0, Node(-2), "search"), words=words))
    assert (request.key, request.endpoint, request.items, request.most) == (
        (0, 1),
        "/2/tweets/search/recent",
        100,
        most,
    )
    more = {"expansions": "author_id", "user.fields": USER_FIELDS} if words is POST else {}
    assert dict(request.params) == {"query": "second query", "max_results": "100", **words.fields, **more}


def unix(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


NOW = unix("2026-11-20T12:00:00")


@pytest.mark.parametrize(
    ("begin", "end", "found"),
    [
        (None, None, {}),
        ("2026-11-01T00:00:00", None, {"start_time": "2026-11-01T00:00:00Z"}),
        ("2026-11-01T00:00:00.9", "2026-11-02T00:00:00.1",
         {"start_time": "2026-11-01T00:00:00Z", "end_time": "2026-11-02T00:00:01Z"}),
        ("2026-11-01T00:00:00", "2026-12-01T00:00:00", {"start_time": "2026-11-01T00:00:00Z"}),  # X refuses the future
        ("2026-11-20T11:59:55", "2026-11-20T11:59:58", {}),
        ("2006-03-21T00:00:00", "2026-11-01T00:00:00", {"end_time": "2026-11-01T00:00:00Z"}),
        ("2006-03-21T00:00:00", "2008-01-01T00:00:00", {"end_time": "2010-11-06T00:00:01Z"}),
    ],
)  # fmt: skip
def test_a_timeline_is_bounded_by_the_times_that_x_knows(begin, end, found):
    assert make_time_bounds(begin and unix(begin), end and unix(end), NOW) == found


def test_timelines_are_bounded_on_every_page_and_searches_are_not():
    bounds = {"start_time": "2026-11-01T00:00:00Z"}
    pick, who = Pick(1, Node(1), "expand"), Who("42", None)
    requests, _ = converse(talk_of(pick, who, pages_per_user=2, span=bounds), ok("b"), ok(None))
    plain, _ = converse(talk_of(pick, who, pages_per_user=2), ok("b"), ok(None))
    assert [request.params for request in requests] == [{**request.params, **bounds} for request in plain]
    assert "start_time" not in next(talk_of(Pick(0, Node(-1), "search"), span=bounds)).params


def test_what_a_bounded_timeline_brings_and_bills_is_what_counts(mock):
    written = Counter(name.lower() for name in posts().authors)
    name = written.most_common(1)[0][0]
    times = sorted(posts().created_at[row] for row, author in enumerate(posts().authors) if author.lower() == name)
    begin, end = (float(times[len(times) * part // 5]) for part in (1, 4))
    topic = Topic([TOPIC], begin=begin, end=end)
    found = {}
    for bounds in ({}, make_time_bounds(begin, end, end + 86_400.0)):
        store = MemoryStore()
        (node,) = store.enlist([name], 0.0)
        wire = XWire({"main": make_client(TOKEN, mock.url)}, TWEET, POLICY, topic.hits, lambda: 1.0)
        talks = XSource(POLICY, TWEET, [], 32, span=bounds)
        (talk,) = talks.start_conversations((Pick(0, node, "expand"),), {node: store.accounts([node])[node]})
        told = []
        outcome = carry(talk, wire, store, told)[0]
        found[len(bounds)] = outcome, sum(reply.cost for request, reply in told if request.endpoint == TIMELINE)
    (whole, dear), (part, cheap) = found[0], found[2]
    assert 0 < part.posts < whole.posts
    assert (part.value, part.occurrences) == (whole.value, whole.occurrences)
    assert part.posts == sum(begin <= at < end for at in times)
    assert part.occurrences > 0
    assert (dear, cheap) == (whole.posts * 500, part.posts * 500)


def test_the_two_vocabularies_are_never_mixed():
    asked = {name: f"{next(iter(words.fields))} {words.fields}" for name, words in (("tweet", TWEET), ("post", POST))}
    assert "post" not in asked["tweet"]
    assert "tweet" not in asked["post"]
    assert "author_id" not in asked["post"]


def test_pages_are_followed_by_their_cursor_up_to_the_number_wanted():
    pick, who = Pick(1, Node(1), "expand"), Who("42", None)
    one, _ = converse(talk_of(pick, who), ok("more"))
    assert len(one) == 1
    requests, outcomes = converse(talk_of(pick, who, pages_per_user=3), ok("b"), ok("c"), ok("d", at=9.0))
    assert [request.key for request in requests] == [(1, 1), (1, 2), (1, 3)]
    assert [request.params.get("pagination_token") for request in requests] == [None, "b", "c"]
    assert outcomes[1].at == 9.0
    few, _ = converse(talk_of(pick, who, pages_per_user=32), ok("b"), ok(None))
    assert len(few) == 2


def test_a_search_pages_with_a_token_of_another_name_and_gives_its_authors_in_order():
    pick = Pick(0, Node(-1), "search")
    first, second = ok("b", posts=2, found={5: "x", 4: "y"}), ok("c", posts=1, found={4: "y", 6: "z"})
    requests, outcomes = converse(talk_of(pick, search_pages=2), first, second)
    assert [request.params.get("next_token") for request in requests] == [None, "b"]
    assert outcomes[0].targets.tolist() == [5, 4, 6]
    assert outcomes[0].alpha.tolist() == [0.0, 0.0, 0.0]
    assert outcomes[0].posts == 3


def test_users_are_looked_up_by_the_hundred_by_id_or_by_name():
    batch = tuple(Pick(n, Node(n), "resolve") for n in range(350))
    accounts = {Node(n): Who(str(n), f"u{n}") if n < 250 else Who(None, f"u{n}") for n in range(350)}
    assert source().width("resolve") == 100
    assert source().width("expand") == source().width("search") == source().width("seed") == 1
    requests = [next(talk) for talk in source().start_conversations(batch, accounts)]
    assert [r.endpoint for r in requests] == ["/2/users"] * 3 + ["/2/users/by"]
    assert [r.key for r in requests] == [(0, 0), (100, 0), (200, 0), (250, 0)]
    assert [(r.items, r.most) for r in requests] == [
        (100, 100 * USER),
        (100, 100 * USER),
        (50, 50 * USER),
        (100, 100 * USER),
    ]
    assert requests[1].params["ids"] == ",".join(str(n) for n in range(100, 200))
    assert requests[3].params["usernames"] == ",".join(f"u{n}" for n in range(250, 350))
    assert all(r.params["user.fields"] == USER_FIELDS for r in requests)


def test_a_look_up_tells_for_each_user_whether_he_is_there():
    batch = tuple(Pick(n, Node(n), "resolve") for n in range(4))
    accounts = {pick.node: Who(str(pick.n), None) for pick in batch}
    answer = ok(found={0: "0", 1: "1"}, missing={1: "protected", 2: "suspended", 3: "deleted"})
    (talk,) = source().start_conversations(batch, accounts)
    _, outcomes = converse(talk, answer)
    assert [outcomes[n].missing for n in range(4)] == [None, "protected", "suspended", "deleted"]
    (talk,) = source().start_conversations(batch, accounts)
    _, outcomes = converse(talk, Reply("broken", 1.0))
    assert {outcome.missing for outcome in outcomes.values()} == {"temporary"}


def test_users_whom_a_look_up_says_nothing_about_are_asked_for_once_more():
    batch = tuple(Pick(n, Node(n), "resolve") for n in range(3))
    (talk,) = source().start_conversations(batch, {pick.node: Who(str(pick.n), None) for pick in batch})
    requests, outcomes = converse(talk, ok(found={1: "1"}), ok(found={2: "2"}))
    assert [(r.key, r.params["ids"], r.items) for r in requests] == [((0, 0), "0,1,2", 3), ((0, 1), "0,2", 2)]
    assert [outcomes[n].missing for n in range(3)] == ["unknown", None, None]


def test_an_id_learned_before_a_restart_does_not_turn_the_look_up_into_a_page():
    pick = Pick(4, Node(9), "expand")
    looked_up = next(talk_of(pick, Who(None, "ann")))
    page = next(talk_of(pick, Who("42", "ann")))  # after the restart
    assert looked_up.key != page.key


def test_an_account_known_by_name_only_is_looked_up_first():
    pick = Pick(4, Node(9), "expand")
    talk = talk_of(pick, Who(None, "ann"), pages_per_user=2)
    requests, outcomes = converse(talk, ok(found={9: "42"}), ok("b", posts=100, hits=1), ok(posts=1, hits=1))
    assert [(r.key, r.endpoint) for r in requests] == [((4, 0), "/2/users/by"), ((4, 1), TIMELINE), ((4, 2), TIMELINE)]
    assert requests[0].params["usernames"] == "ann"
    assert (requests[0].items, requests[0].most) == (1, USER)
    assert requests[1].params["id"] == "42"
    assert (outcomes[4].value, outcomes[4].posts, outcomes[4].occurrences) == (1 + math.log(2), 101, 2)


@pytest.mark.parametrize(
    ("reply", "missing"),
    [
        (Reply("missing", 1.0, rows=Answer(missing={9: "suspended"})), "suspended"),
        (ok(found={9: "42"}, missing={9: "protected"}), "protected"),
        (ok(found={3: "42"}, missing={9: SameAs(3)}), SameAs(3)),
        (ok(), "unknown"),
        (Reply("broken", 1.0), "temporary"),
    ],
)
def test_a_name_that_leads_nowhere_ends_the_talk_with_its_reason(reply, missing):
    requests, outcomes = converse(talk_of(Pick(4, Node(9), "expand"), Who(None, "ann")), reply)
    assert len(requests) == 1
    assert (outcomes[4].missing, outcomes[4].value, len(outcomes[4].targets)) == (missing, 0.0, 0)


@pytest.mark.parametrize("name", ["a_name_of_16_char", "two,names", "na me", "", "naïve"])
def test_a_name_that_the_platform_would_refuse_is_not_asked_for(name):
    with pytest.raises(StopIteration) as end:
        next(talk_of(Pick(4, Node(9), "expand"), Who(None, name)))
    assert end.value.value[4].missing == "unknown"


def test_what_was_read_before_an_account_vanished_stays_and_a_broken_page_is_for_later():
    pick, who = Pick(1, Node(1), "expand"), Who("42", None)
    read = ok("b", posts=100, hits=3, targets=[5], target_hits=[2])
    gone = Reply("missing", 2.0, rows=Answer(missing={1: "deleted"}))
    _, outcomes = converse(talk_of(pick, who, pages_per_user=3), read, gone)
    assert (outcomes[1].missing, outcomes[1].posts, outcomes[1].alpha.tolist()) == (None, 100, [1 + math.log(2)])
    _, outcomes = converse(talk_of(pick, who, pages_per_user=3), read, Reply("broken", 2.0))
    assert (outcomes[1].missing, outcomes[1].value) == ("temporary", 0.0)
    _, outcomes = converse(talk_of(pick, who), gone)
    assert outcomes[1].missing == "deleted"


def carry(talk, wire, store, told):
    """A talk carried to its outcomes over a wire and a store; its requests and stored replies are noted."""
    try:
        request = next(talk)
        while True:
            grant = Grant(request, "main", 0.0)
            store.reserve(grant)
            reply = store.save(grant, wire.send(grant))
            told.append((request, reply))
            request = talk.send(reply)
    except StopIteration as end:
        return end.value


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def by_the_definition(posts, author):
    """beta and alpha of an author, straight from the file."""
    word = re.compile(rf"\b{re.escape(TOPIC)}\b")
    total, by_target = 0, {}
    for row in reversed(range(len(posts))):
        if posts.authors[row].lower() == author:
            hits = len(word.findall(posts.texts[row].lower()))
            total += hits
            for name in {name.lower() for name in [*posts.list_mentions(row), posts.reply_to[row] or ""] if name}:
                by_target[name] = by_target.get(name, 0) + hits
    f = {0: 0.0}
    return f.get(total, 1 + math.log(max(1, total))), {
        n: f.get(h, 1 + math.log(max(1, h))) for n, h in by_target.items()
    }


@BOTH
def test_values_and_links_are_those_of_the_definition_and_a_replay_gives_them_again(mock, words):
    store = MemoryStore()
    talks = XSource(POLICY, words, [TOPIC], pages_per_user=32)
    wire = XWire({"main": make_client(TOKEN, mock.url)}, words, POLICY, Topic([TOPIC]).hits, lambda: 1.0)
    written = Counter(name.lower() for name in posts().authors)
    order = sorted((count, name) for name, count in written.items())
    chosen = [name for _, name in (*order[-6:], *order[:3], *order[100:110])]
    assert order[-1][0] > 100  # more than a page
    seen = 0
    for n, (name, node) in enumerate(zip(chosen, store.enlist(chosen, 0.0), strict=True)):
        pick, told = Pick(n, node, "expand"), []
        before = store.accounts([node])[node]
        (talk,) = talks.start_conversations((pick,), {node: before})
        outcome = carry(talk, wire, store, told)[n]
        beta, alpha = by_the_definition(posts(), name)
        accounts = store.accounts([Node(int(target)) for target in outcome.targets])
        assert outcome.value == pytest.approx(beta, abs=1e-12)
        found = {who.username.lower(): weight for who, weight in zip(accounts.values(), outcome.alpha, strict=True)}
        assert found == pytest.approx(alpha, abs=1e-12)
        seen += len(alpha) + (beta > 0)
        (again,) = talks.start_conversations((pick,), {node: before})
        requests, outcomes = converse(again, *[reply for _, reply in told])
        assert requests == [request for request, _ in told]
        assert outcomes[n].targets.tolist() == outcome.targets.tolist()
        assert outcomes[n].alpha.tolist() == outcome.alpha.tolist()
        assert (outcomes[n].value, outcomes[n].posts) == (outcome.value, outcome.posts)
    assert seen > 20


def test_whom_an_account_follows_is_asked_after_its_timeline_and_priced_by_the_user():
    talk = talk_of(Pick(7, Node(3), "expand"), Who("42", "ann"), follows=2, follow=2)
    pages = ok(posts=1, hits=3, targets=[5], target_hits=[3]), ok("more", follows=[5, 6]), ok(follows=[7])
    requests, outcomes = converse(talk, *pages)
    assert [(one.key, one.endpoint) for one in requests] == [
        ((7, 1), "/2/users/:id/tweets"),
        ((7, 1000), "/2/users/:id/following"),
        ((7, 1001), "/2/users/:id/following"),
    ]
    assert [one.most for one in requests[1:]] == [1000 * USER] * 2
    assert requests[2].params["pagination_token"] == "more"
    found = dict(zip(outcomes[7].targets.tolist(), outcomes[7].alpha.tolist(), strict=True))
    assert found == {5: 1 + math.log(5), 6: 1 + math.log(2), 7: 1 + math.log(2)}


@pytest.mark.parametrize("kind", ["broken", "missing", "window", "invalid"])
def test_a_list_of_follows_that_cannot_be_had_takes_nothing_from_what_was_read(kind):
    talk = talk_of(Pick(7, Node(3), "expand"), Who("42", "ann"), follows=1, follow=1)
    missing = Answer(missing={3: "protected"})
    _, outcomes = converse(talk, ok(posts=1, hits=3, targets=[5], target_hits=[3]), Reply(kind, 6.0, rows=missing))
    assert (outcomes[7].missing, outcomes[7].targets.tolist()) == (None, [5])
