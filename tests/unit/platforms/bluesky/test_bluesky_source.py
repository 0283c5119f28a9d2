import math

import pytest
from bluesky_posts import POLICY, did
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import PUT_OFF, Answer, Node, Page, Pick, Reply, SameAs, Who
from socialcrawl.platforms.bluesky.source import (
    ACTORS,
    FEED,
    FOLLOWS,
    MEMBERS,
    PROFILES,
    RESOLVE,
    SEARCH,
    BlueskySource,
    make_probe_request,
    make_resolve_request,
)

NOBODY = Who(None, None)
ANN = Who(did("ann"), "ann.test")
PLAIN = {"opt_outs": False}
EXPAND = Pick(7, Node(3), "expand")
LIST = f"at://{did('bob')}/app.bsky.graph.list/3klist"


def source(**more):
    return BlueskySource(POLICY, ["first query", f"list:{LIST}"], **more)


def talk_of(pick, who=NOBODY, **more):
    (talk,) = source(**more).start_conversations((pick,), {pick.node: who})
    return talk


def ok(cursor=None, at=5.0, kind="ok", **answer):
    return Reply(kind, at, rows=Answer(**answer), cursor=cursor)


def converse(talk, *replies):
    """The requests of a talk that is sent `replies`, and its outcomes."""
    requests = []
    try:
        for reply in (None, *replies):
            requests += [talk.send(reply)]
    except StopIteration as end:
        assert len(requests) == len(replies), "the talk ended before all replies were sent"
        return requests, end.value
    raise AssertionError(f"the talk goes on with {requests[-1]}")


def test_an_account_is_asked_by_its_feed():
    (request,), outcomes = converse(talk_of(EXPAND, ANN, **PLAIN), ok(posts=2, hits=1, targets=[9], target_hits=[1]))
    assert (request.key, request.endpoint, request.items, request.most) == ((7, 1), FEED, 100, 0)
    own = {"id": did("ann"), "filter": "posts_with_replies", "limit": "100"}
    assert dict(request.params) == {**own, "opt_outs": "no"}
    assert (outcomes[7].targets.tolist(), outcomes[7].alpha.tolist(), outcomes[7].value) == ([9], [1.0], 1.0)


def test_an_account_that_is_known_by_handle_is_looked_up_first():
    talk = talk_of(EXPAND, Who(None, "ann.test"))
    (look_up, feed), outcomes = converse(talk, ok(found={3: did("ann")}), ok(posts=1))
    assert (look_up.key, look_up.endpoint, dict(look_up.params)) == ((7, 0), PROFILES, {"usernames": "ann.test"})
    assert (feed.key, feed.params["id"]) == ((7, 1), did("ann"))
    assert outcomes[7].missing is None


@pytest.mark.parametrize(
    ("answer", "missing"),
    [({"missing": {3: "unknown"}}, "unknown"), ({}, "unknown"), ({"missing": {3: SameAs(5)}}, SameAs(5))],
)
def test_a_handle_that_nobody_has_is_missing(answer, missing):
    _, outcomes = converse(talk_of(EXPAND, Who(None, "ann.test")), ok(**answer))
    assert outcomes[7].missing == missing


@pytest.mark.parametrize("who", [Who(None, "ann"), Who(None, "an n.test"), Who("did:x", None), Who(None, "a,b.test")])
def test_what_is_no_handle_is_unknown_without_a_request(who):
    for act in ("expand", "resolve"):
        pick = Pick(7, Node(3), act)
        requests, outcomes = converse(talk_of(pick, who))
        assert (requests, outcomes[7].missing) == ([], "unknown")


def test_after_a_restart_an_account_whose_id_was_learned_asks_for_the_same_page():
    _, feed = converse(talk_of(EXPAND, Who(None, "ann.test"), **PLAIN), ok(found={3: did("ann")}), ok())[0]
    assert feed == next(talk_of(EXPAND, ANN, **PLAIN))


def test_pages_are_followed_by_their_cursor_up_to_the_number_wanted():
    requests, outcomes = converse(talk_of(EXPAND, ANN, **PLAIN, pages_per_user=3), ok("b"), ok("c"), ok("d", at=9.0))
    assert [request.key for request in requests] == [(7, 1), (7, 2), (7, 3)]
    assert [request.params.get("cursor") for request in requests] == [None, "b", "c"]
    assert outcomes[7].at == 9.0
    assert len(converse(talk_of(EXPAND, ANN, **PLAIN, pages_per_user=9), ok("b"), ok())[0]) == 2


def test_bounds_in_time_are_told_to_feeds_and_searches_in_whole_seconds():
    bounds = {"begin": 1_767_225_600.9, "end": 1_769_904_000.1}  # 2026-01-01 and 2026-02-01
    feed = next(talk_of(EXPAND, ANN, **PLAIN, **bounds))
    assert feed.params["since"] == "2026-01-01T00:00:00.000Z"
    assert "until" not in feed.params
    search = next(talk_of(Pick(0, Node(-1), "search"), **PLAIN, **bounds))
    assert (search.params["since"], search.params["until"]) == (feed.params["since"], "2026-02-01T00:00:01.000Z")


def test_whom_an_account_follows_is_asked_after_its_posts_where_it_counts():
    talk = talk_of(EXPAND, ANN, **PLAIN, pages_per_user=2, follows=2, follow=3)
    replies = ok(posts=1, hits=1, targets=[4, 5], target_hits=[1, 1]), ok("x", follows=[5, 6]), ok("y", follows=[8])
    requests, outcomes = converse(talk, *replies)
    assert [(r.endpoint, r.key[1], dict(r.params)) for r in requests[1:]] == [
        (FOLLOWS, 1_000_000, {"id": did("ann"), "limit": "100"}),
        (FOLLOWS, 1_000_001, {"id": did("ann"), "limit": "100", "cursor": "x"}),
    ]
    worth = {4: 1.0, 5: 1 + math.log(4), 6: 1 + math.log(3), 8: 1 + math.log(3)}
    assert dict(zip(outcomes[7].targets.tolist(), outcomes[7].alpha.tolist(), strict=True)) == pytest.approx(worth)
    assert outcomes[7].posts == 1


def test_an_account_that_is_gone_is_not_asked_whom_it_follows():
    gone = ok(kind="missing", missing={3: "suspended"})
    requests, outcomes = converse(talk_of(EXPAND, ANN, **PLAIN, follows=1), gone)
    assert (len(requests), outcomes[7].missing) == (1, "suspended")


def test_what_was_read_of_an_account_that_goes_between_two_pages_stays():
    _, outcomes = converse(
        talk_of(EXPAND, ANN, **PLAIN, pages_per_user=2),
        ok("b", posts=3, hits=2),
        ok(kind="missing", missing={3: "deleted"}),
    )
    assert (outcomes[7].missing, outcomes[7].posts, outcomes[7].occurrences) == (None, 3, 2)


@pytest.mark.parametrize("kind", PUT_OFF)
def test_a_request_that_failed_for_a_while_makes_the_account_temporary(kind):
    assert converse(talk_of(EXPAND, ANN, **PLAIN), Reply(kind, 4.0))[1][7].missing == "temporary"
    both = talk_of(EXPAND, Who(None, "ann.test"))
    assert converse(both, Reply(kind, 4.0))[1][7].missing == "temporary"


def test_a_search_gives_its_authors_in_order():
    talk = talk_of(Pick(0, Node(-1), "search"), search_pages=2, opt_outs=False)
    first, second = ok("c", posts=2, found={5: "x", 4: "y"}), ok(posts=1, found={4: "y", 6: "z"})
    requests, outcomes = converse(talk, first, second)
    assert [(r.key, r.endpoint) for r in requests] == [((0, 1), SEARCH), ((0, 2), SEARCH)]
    assert dict(requests[1].params) == {"query": "first query", "sort": "latest", "limit": "100", "cursor": "c"}
    assert outcomes[0].targets.tolist() == [5, 4, 6]
    assert outcomes[0].missing is None


CLOSED = Reply("missing", 3.0, rows=Answer())


def test_where_the_search_for_posts_is_closed_accounts_are_searched():
    talk = talk_of(Pick(0, Node(-1), "search"), search_pages=2)
    requests, outcomes = converse(talk, CLOSED, ok("c", found={5: "x"}), ok(found={6: "x"}))
    assert [(r.key, r.endpoint) for r in requests[1:]] == [((0, 1_000_000), ACTORS), ((0, 1_000_001), ACTORS)]
    assert dict(requests[1].params) == {"query": "first query", "limit": "100"}
    assert (outcomes[0].targets.tolist(), outcomes[0].missing) == ([5, 6], None)


@pytest.mark.parametrize("second", [CLOSED, ok()])
def test_a_closed_search_that_finds_nobody_says_so(second):
    _, outcomes = converse(talk_of(Pick(0, Node(-1), "search")), CLOSED, second)
    assert (outcomes[0].targets.tolist(), outcomes[0].missing) == ([], "protected")


def test_a_search_that_closes_after_its_first_page_keeps_what_it_found():
    talk = talk_of(Pick(0, Node(-1), "search"), search_pages=3, opt_outs=False)
    _, outcomes = converse(talk, ok("c", posts=2, found={5: "x"}), CLOSED)
    assert (outcomes[0].targets.tolist(), outcomes[0].missing) == ([5], None)


def test_the_members_of_a_list_are_the_authors_of_its_query():
    talk = talk_of(Pick(0, Node(-2), "search"), search_pages=2, begin=1e9)
    requests, outcomes = converse(talk, ok("c", found={5: "x"}), ok(found={6: "y"}))
    assert [(r.endpoint, dict(r.params)) for r in requests] == [
        (MEMBERS, {"list": LIST, "limit": "100"}),
        (MEMBERS, {"list": LIST, "limit": "100", "cursor": "c"}),
    ]
    assert (outcomes[0].targets.tolist(), outcomes[0].missing) == ([5, 6], None)
    assert converse(talk_of(Pick(0, Node(-2), "search")), CLOSED)[1][0].missing == "unknown"


OF_BOB = "list:at://bob.test/app.bsky.graph.list/3klist"


def listing(query=OF_BOB, **more):
    (talk,) = BlueskySource(POLICY, [query], **more).start_conversations((Pick(0, Node(-1), "search"),), {})
    return talk


def test_a_list_whose_owner_is_named_by_handle_is_asked_for_by_the_did():
    requests, outcomes = converse(listing(), ok(found={9: did("bob")}), ok(found={5: "x"}))
    assert [(r.key, r.endpoint, dict(r.params)) for r in requests] == [
        ((0, 0), RESOLVE, {"username": "bob.test"}),
        ((0, 1), MEMBERS, {"list": LIST, "limit": "100"}),
    ]
    assert (outcomes[0].targets.tolist(), outcomes[0].missing) == ([5], None)  # its owner is none of its members


@pytest.mark.parametrize(
    ("reply", "missing"), [(CLOSED, "unknown"), (ok(), "unknown"), (Reply(PUT_OFF[0], 3.0, rows=Answer()), "temporary")]
)
def test_a_list_whose_owner_cannot_be_found_has_no_members(reply, missing):
    requests, outcomes = converse(listing(), reply)
    assert len(requests) == 1
    assert (outcomes[0].targets.tolist(), outcomes[0].missing) == ([], missing)


def picks(count, act="resolve"):
    return tuple(Pick(n, Node(100 + n), act) for n in range(count))


def test_accounts_are_looked_up_by_25_whether_by_did_or_handle():
    batch = picks(60)
    whos = {pick.node: Who(did(f"a{pick.n}"), None) if pick.n % 2 else Who(None, f"h{pick.n}.test") for pick in batch}
    talks = source().start_conversations(batch, whos)
    assert source().width("resolve") == 25
    assert {source().width(act) for act in ("search", "seed", "expand")} == {1}
    asked = [next(talk) for talk in talks]
    assert [request.items for request in asked] == [25, 25, 10]
    assert [request.key for request in asked] == [(0, 0), (25, 0), (50, 0)]
    names = [name for r in asked for key in ("ids", "usernames") for name in r.params[key].split(",")]
    assert sorted(names) == sorted(who.id or who.username for who in whos.values())


def test_who_is_not_in_an_answer_is_asked_for_once_more_and_then_unknown():
    batch = picks(4)
    whos = {pick.node: Who(None, f"h{pick.n}.test") for pick in batch}
    (talk,) = source().start_conversations(batch, whos)
    first = ok(found={100: "x"}, missing={101: "unknown"})
    requests, outcomes = converse(talk, first, ok(found={102: "y"}))
    assert (requests[1].key, dict(requests[1].params)) == ((0, 1), {"usernames": "h2.test,h3.test"})
    assert [outcomes[n].missing for n in range(4)] == [None, "unknown", None, "unknown"]


def test_a_look_up_that_failed_for_a_while_makes_its_accounts_temporary_but_not_those_with_impossible_names():
    batch = picks(2)
    (talk,) = source().start_conversations(batch, {Node(100): Who(None, "a.test"), Node(101): Who(None, "nobody")})
    _, outcomes = converse(talk, Reply("broken", 4.0))
    assert [outcomes[n].missing for n in range(2)] == ["temporary", "unknown"]


def test_the_doctors_requests_are_small():
    assert make_resolve_request((0, 0), "ann.test").endpoint == RESOLVE
    probe = make_probe_request((0, 0), "topic")
    assert (probe.endpoint, probe.params["limit"], probe.items) == (SEARCH, "1", 1)


REPLIES = st.builds(
    lambda kind, cursor, answer: Reply(kind, 1.0, rows=answer, cursor=cursor if kind in ("ok", "held") else None),
    st.sampled_from(["ok", "ok", "held", "missing", "broken", "invalid"]),
    st.none() | st.text(min_size=1, max_size=3),
    st.builds(
        lambda posts, found, gone, follows: Answer(
            posts=posts, hits=posts, targets=[9], target_hits=[posts], found=dict.fromkeys(found, "did:plc:x"),
            missing=dict.fromkeys(gone, "deleted"), follows=follows,
        ),
        st.integers(0, 3), st.sets(st.integers(3, 6)), st.sets(st.integers(3, 6)), st.lists(st.integers(3, 6)),
    ),
)  # fmt: skip


@given(st.sampled_from(["search", "resolve", "seed", "expand"]), st.booleans(), st.data())
@settings(deadline=None)
def test_talks_end_answer_every_pick_and_can_be_replayed(act, known, data):
    nodes = [Node(-1)] if act == "search" else [Node(n) for n in range(3, 7)]
    batch = tuple(Pick(n, node, act) for n, node in enumerate(nodes))
    accounts = {node: ANN if known else Who(None, f"h{node}.test") for node in nodes}
    made = source(pages_per_user=3, search_pages=2, follows=2)
    for talk, again in zip(
        made.start_conversations(batch, accounts), made.start_conversations(batch, accounts), strict=True
    ):
        told, keys = [], set()
        try:
            request = next(talk)
            while True:
                assert request.key not in keys
                keys.add(request.key)
                reply = data.draw(REPLIES)
                told.append(reply)
                request = talk.send(reply)
        except StopIteration as end:
            outcomes = end.value
        # A list of two pages that expires once is four pages, each who wrote it, four look-ups, and its posts.
        assert len(told) <= 4 * (1 + 4 + 1) + 4
        requests, same = converse(again, *told)
        assert {request.key for request in requests} == keys
        assert [repr(o) for o in same.values()] == [repr(o) for o in outcomes.values()]
        assert all(outcomes[n].node == batch[n].node for n in outcomes)


def test_pages_that_no_store_has_seen_count_nothing():
    assert converse(talk_of(EXPAND, ANN, **PLAIN), Reply("ok", 1.0, rows=Page()))[1][7].posts == 0


NEXT = [Who(did(f"next{n}"), None) for n in range(40)]


def test_an_account_is_looked_up_before_its_feed_together_with_those_that_come_next():
    talk = talk_of(EXPAND, ANN, ahead=lambda: [ANN, *NEXT])
    (look_up, feed), outcomes = converse(talk, ok(found={3: did("ann"), 4: did("next0")}), ok(posts=1))
    assert (look_up.key, look_up.endpoint, look_up.items) == ((7, 0), PROFILES, 25)
    assert look_up.params["ids"].split(",") == [who.id for who in (ANN, *NEXT[:24])]
    assert (feed.key, feed.endpoint, feed.params["id"]) == ((7, 1), FEED, did("ann"))
    assert (outcomes[7].missing, outcomes[7].targets.tolist()) == (None, [])


def test_accounts_that_are_read_at_once_look_up_different_ones_that_come_next():
    batch = (EXPAND, Pick(8, Node(4), "recrawl", since="x"))
    whos = {Node(3): ANN, Node(4): Who(did("bob"), None)}
    first, second = (
        next(talk) for talk in source(ahead=lambda: [*whos.values(), *NEXT]).start_conversations(batch, whos)
    )
    asked = [request.params["ids"].split(",") for request in (first, second)]
    assert asked[0][0] == did("ann")
    assert asked[1][0] == did("bob")
    assert not {*asked[0]} & {*asked[1]}


def test_what_the_database_knows_of_an_account_is_enough():
    requests, _ = converse(talk_of(EXPAND, ANN), ok(kind="held", found={3: did("ann")}), ok())
    assert [request.endpoint for request in requests] == [PROFILES, FEED]


def test_an_account_that_the_database_does_not_know_is_asked_for_where_it_knew_others():
    held = ok(kind="held", found={4: did("next0")})
    requests, outcomes = converse(talk_of(EXPAND, ANN, ahead=lambda: NEXT), held, ok(found={3: did("ann")}), ok())
    assert [(request.key, request.endpoint) for request in requests[1:]] == [((7, 2_000_001), PROFILES), ((7, 1), FEED)]
    assert outcomes[7].missing is None


def test_nothing_is_asked_for_of_an_account_that_opted_out():
    for act in ("seed", "expand", "recrawl", "walk"):
        requests, outcomes = converse(talk_of(Pick(7, Node(3), act), ANN), ok(missing={3: "opted-out"}))
        assert (len(requests), outcomes[7].missing) == (1, "opted-out")


def test_why_an_account_has_no_profile_is_asked_without_keeping_a_post():
    gone = ok(kind="missing", missing={3: "suspended"})
    (_, why), outcomes = converse(talk_of(EXPAND, ANN), ok(missing={3: "unknown"}), gone)
    assert (why.endpoint, why.params["latest"], why.params["limit"]) == (FEED, "post", "1")
    assert outcomes[7].missing == "suspended"
    assert converse(talk_of(EXPAND, ANN), ok(missing={3: "unknown"}), ok())[1][7].missing == "unknown"


AUTHORS = {node: did(f"author{node}") for node in range(10, 40)}


def test_the_authors_of_a_search_are_looked_up_25_at_a_time_before_their_posts_are_asked_for():
    nodes = list(AUTHORS)
    first = ok(found={node: AUTHORS[node] for node in nodes[:25] if node != 12}, missing={12: "opted-out"})
    second = ok(found={node: AUTHORS[node] for node in nodes[25:]})
    page = ok(posts=2, found={10: AUTHORS[10]})
    talk = talk_of(Pick(0, Node(-1), "search"))
    requests, outcomes = converse(talk, ok(found=AUTHORS), first, second, page)
    assert [request.endpoint for request in requests] == [SEARCH, PROFILES, PROFILES, SEARCH]
    assert (requests[0].params["show"], requests[0].items) == ("authors", 0)
    assert [request.items for request in requests[1:3]] == [25, 5]
    assert requests[3].key == (0, 1)
    assert requests[3].params["ids"].split(",") == [AUTHORS[node] for node in nodes if node != 12]
    assert outcomes[0].targets.tolist() == [10]
    assert len({request.key for request in requests}) == 4


def test_a_page_of_a_search_whose_authors_all_opted_out_is_not_asked_for_and_the_next_one_is():
    talk = talk_of(Pick(0, Node(-1), "search"), search_pages=2)
    found = {10: AUTHORS[10]}
    requests, outcomes = converse(talk, ok("c", found=found), ok(missing={10: "opted-out"}), ok())
    assert [request.params.get("cursor") for request in requests if request.endpoint == SEARCH] == [None, "c"]
    assert outcomes[0].targets.tolist() == []


@pytest.mark.parametrize("kind", PUT_OFF)
def test_no_post_of_a_search_is_asked_for_while_its_authors_cannot_be_looked_up(kind):
    talk = talk_of(Pick(0, Node(-1), "search"))
    requests, outcomes = converse(talk, ok(found={10: AUTHORS[10]}), Reply(kind, 4.0))
    assert [request.endpoint for request in requests] == [SEARCH, PROFILES]
    assert outcomes[0].missing == "temporary"
