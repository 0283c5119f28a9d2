import pytest
from mastodon_posts import POLICY

from socialcrawl.engine.model import Answer, Node, Pick, Reply, SameAs, Who
from socialcrawl.platforms.mastodon.source import NO_INSTANCE, MastodonSource, find_hashtag

NOBODY = Who(None, None)
ANN, BOB = Who("ann@home.example", "ann@home.example"), Who("bob@other.example", "bob@other.example")
LOOK_UP, STATUSES = "/api/v1/accounts/lookup", "/api/v1/accounts/:id/statuses"
FOLLOWING = "/api/v1/accounts/:id/following"
SEED = Pick(7, Node(3), "expand")
FOUND = {3: "ann@home.example"}


def talk_of(pick=SEED, who=ANN, queries=("sky", "#Sea", "deep blue"), **more):
    (talk,) = MastodonSource(POLICY, queries, "Home.Example", **more).start_conversations((pick,), {pick.node: who})
    return talk


def ok(cursor=None, kind="ok", **answer):
    return Reply(kind, 5.0, rows=Answer(**answer), cursor=cursor)


def converse(talk, *replies):
    """The requests of a talk that is sent `replies`, and its outcomes if it ends with the last."""
    requests = [next(talk)]
    for reply in replies:
        try:
            requests.append(talk.send(reply))
        except StopIteration as end:
            assert reply is replies[-1]
            return requests, end.value
    return requests, None


def asked(requests):
    return [(request.key, request.endpoint, dict(request.params)) for request in requests]


def test_an_account_is_looked_up_and_its_pages_are_read_to_the_end():
    requests, outcomes = converse(
        talk_of(pages_per_user=9),
        ok("11", found=FOUND),
        ok("200", posts=40, hits=3, targets=[5], target_hits=[2]),
        ok(posts=2, hits=1, targets=[6, 5], target_hits=[1, 1]),
    )
    mine = {"id": "11", "acct": "ann@home.example", "limit": "40"}
    assert asked(requests) == [
        ((7, 0), "home.example" + LOOK_UP, {"acct": "ann"}),
        ((7, 1), "home.example" + STATUSES, mine),
        ((7, 2), f"home.example{STATUSES}?max_id", {**mine, "max_id": "200"}),
    ]
    assert [request.items for request in requests] == [1, 40, 40]
    outcome = outcomes[7]
    assert (outcome.posts, outcome.occurrences, outcome.targets.tolist(), outcome.missing) == (42, 4, [5, 6], None)


def test_no_more_pages_are_read_than_was_said():
    requests, outcomes = converse(talk_of(pages_per_user=2), ok("11", found=FOUND), ok("a"), ok("b"))
    assert [request.key[1] for request in requests] == [0, 1, 2]
    assert outcomes[7].missing is None


def test_a_cursor_that_does_not_move_ends_the_list():
    requests, outcomes = converse(talk_of(pages_per_user=99), ok("11", found=FOUND), ok("a"), ok("a"), ok("a"))
    assert len(requests) == 4, "one page may be a repetition of the one before"
    assert outcomes is not None
    requests, _ = converse(talk_of(pages_per_user=99), ok("11", found=FOUND), ok("a"), ok("a"), ok("b"), ok())
    assert [request.params.get("max_id") for request in requests[1:]] == [None, "a", "a", "b"]


@pytest.mark.parametrize(
    ("who", "instances", "host", "acct"),
    [
        (ANN, (), "home.example", "ann"),
        (ANN, ["*"], "home.example", "ann"),
        (BOB, (), "home.example", "bob@other.example"),
        (BOB, ["other.example"], "other.example", "bob"),
        (BOB, ["*.example"], "other.example", "bob"),
        (BOB, ["*.art", "third.example"], "home.example", "bob@other.example"),
        (Who(None, "@Bob@Other.Example"), ["*"], "other.example", "bob"),
        (Who(None, "Ann"), ["*"], "home.example", "ann"),
        (Who(None, "eve@127.0.0.1"), ["*"], "home.example", "eve@127.0.0.1"),
        (Who(None, "eve@router.local"), ["*"], "home.example", "eve@router.local"),
    ],
)
def test_an_account_is_asked_on_its_own_instance_where_that_is_allowed(who, instances, host, acct):
    ((key, endpoint, params),) = asked([next(talk_of(who=who, instances=instances))])
    assert (key, endpoint, params) == ((7, 0), host + LOOK_UP, {"acct": acct})


def test_an_account_whose_domain_is_no_instance_is_asked_for_at_home():
    nowhere = Reply("missing", 5.0, rows=Answer(), cursor=NO_INSTANCE)
    requests, outcomes = converse(
        talk_of(who=BOB, instances=["*"]), nowhere, ok("9", found={3: BOB.id}), ok(posts=1, hits=1)
    )
    assert asked(requests) == [
        ((7, 0), "other.example" + LOOK_UP, {"acct": "bob"}),
        ((7, 999), "home.example" + LOOK_UP, {"acct": "bob@other.example"}),
        ((7, 1), "home.example" + STATUSES, {"id": "9", "acct": "bob@other.example", "limit": "40"}),
    ]
    assert (outcomes[7].missing, outcomes[7].posts) == (None, 1)
    requests, outcomes = converse(
        talk_of(who=BOB, instances=["*"]), nowhere, ok(kind="missing", missing={3: "unknown"})
    )
    assert (len(requests), outcomes[7].missing) == (2, "unknown")


CLOSED = Reply("missing", 5.0, rows=Answer(), cursor=NO_INSTANCE)


def test_an_account_whose_instance_shows_no_posts_to_strangers_is_asked_for_at_home():
    requests, outcomes = converse(
        talk_of(who=BOB, instances=["*"], follows=1, pages_per_user=2),
        ok("4", found={3: BOB.id}),
        CLOSED,
        ok("9", found={3: BOB.id}),
        ok("a", posts=1, hits=1),
        ok(posts=1),
        ok(follows=[8]),
    )
    assert [(request.key[1], request.endpoint) for request in requests[1:]] == [
        (1, "other.example" + STATUSES),
        (999, "home.example" + LOOK_UP),
        (2001, "home.example" + STATUSES),
        (2002, f"home.example{STATUSES}?max_id"),
        (3000, "home.example" + FOLLOWING),
    ]
    assert (outcomes[7].missing, outcomes[7].posts, outcomes[7].targets.tolist()) == (None, 2, [8])


@pytest.mark.parametrize(
    ("at_home", "missing"),
    [
        (ok(kind="missing", missing={3: "unknown"}), "protected"),
        (ok(kind="missing", missing={3: "opted-out"}), "opted-out"),
        (Reply("broken", 5.0), "temporary"),
    ],
)
def test_what_is_closed_there_and_not_known_at_home_is_protected(at_home, missing):
    requests, outcomes = converse(talk_of(who=BOB, instances=["*"]), ok("4", found={3: BOB.id}), CLOSED, at_home)
    assert (len(requests), outcomes[7].missing) == (3, missing)


def test_a_later_page_that_is_closed_takes_nothing_away():
    gone = ok(kind="missing", missing={3: "protected"})
    talk = talk_of(who=BOB, instances=["*"], pages_per_user=2)
    requests, outcomes = converse(talk, ok("4", found={3: BOB.id}), ok("a", posts=40), gone)
    assert (len(requests), outcomes[7].missing, outcomes[7].posts) == (3, None, 40)


def test_a_list_says_whose_it_is_by_the_name_in_full():
    requests, _ = converse(talk_of(who=BOB, instances=["*"]), ok("9", found=FOUND))
    assert requests[1].endpoint == "other.example" + STATUSES
    assert requests[1].params["acct"] == "bob@other.example"


@pytest.mark.parametrize("name", ["a b", "a@b@c", "a@b/../c", "@", "a@b?x=1"])
def test_what_nobody_is_called_is_not_asked_for(name):
    with pytest.raises(StopIteration) as end:
        next(talk_of(who=Who(None, name)))
    assert end.value.value[7].missing == "unknown"


@pytest.mark.parametrize(
    ("reply", "missing"),
    [
        (ok(kind="missing", missing={3: "opted-out"}), "opted-out"),
        (ok(kind="missing", missing={3: "deleted"}), "deleted"),
        (Reply("broken", 5.0), "temporary"),
        (Reply("invalid", 5.0), "temporary"),
        (ok(kind="missing", missing={4: "opted-out"}), "opted-out"),  # whose name was written in short
        (ok("11"), "unknown"),
        (ok("11", found={4: "ann@elsewhere.example"}), SameAs(4)),
        (ok(found=FOUND), "temporary"),  # nobody told the number
    ],
)
def test_after_a_look_up_that_says_no_nothing_is_read(reply, missing):
    requests, outcomes = converse(talk_of(follows=3), reply)
    assert len(requests) == 1
    assert outcomes[7].missing == missing


def test_a_resolved_account_is_only_looked_up():
    requests, outcomes = converse(talk_of(Pick(7, Node(3), "resolve")), ok("11", found=FOUND))
    assert len(requests) == 1
    assert (outcomes[7].missing, outcomes[7].value) == (None, 0.0)
    assert MastodonSource(POLICY, (), "home.example").width("resolve") == 1


def test_an_account_that_goes_between_two_pages_keeps_what_was_read():
    gone = ok(kind="missing", missing={3: "deleted"})
    _, outcomes = converse(talk_of(pages_per_user=9), ok("11", found=FOUND), ok("a", posts=40, hits=2), gone)
    assert (outcomes[7].missing, outcomes[7].posts) == (None, 40)
    _, outcomes = converse(talk_of(pages_per_user=9), ok("11", found=FOUND), gone)
    assert outcomes[7].missing == "deleted"


def test_whom_an_account_follows_is_asked_after_its_posts_with_parts_of_their_own():
    requests, outcomes = converse(
        talk_of(follows=3, follow=2, begin=0.0),
        ok("11", found=FOUND),
        ok(posts=1, hits=1, targets=[5], target_hits=[1]),
        ok("80", follows=[5, 6]),
        ok(follows=[8]),
    )
    mine = {"id": "11", "acct": "ann@home.example", "limit": "80"}
    assert asked(requests[2:]) == [
        ((7, 1000), "home.example" + FOLLOWING, mine),
        ((7, 1001), f"home.example{FOLLOWING}?max_id", {**mine, "max_id": "80"}),
    ]
    outcome = outcomes[7]
    # f(3), f(2) and f(2): once by a post and twice by following, and twice by following
    assert outcome.targets.tolist() == [5, 6, 8]
    assert outcome.alpha == pytest.approx([1 + 1.0986122886681098, 1 + 0.6931471805599453, 1 + 0.6931471805599453])


def test_a_list_of_follows_that_is_hidden_takes_nothing_away():
    hidden = ok(kind="missing", missing={3: "protected"})
    _, outcomes = converse(talk_of(follows=1), ok("11", found=FOUND), ok(), hidden)
    assert outcomes[7].missing is None
    _, outcomes = converse(talk_of(follows=1), ok("11", found=FOUND), ok(), Reply("broken", 5.0))
    assert outcomes[7].missing == "temporary"


def test_bounds_and_opt_outs_travel_with_the_requests_that_they_concern():
    talk = talk_of(follows=1, opt_outs=False, begin=1_767_225_600.0, end=1_767_312_000.5)
    requests, _ = converse(talk, ok("11", found=FOUND), ok())
    span = {"begin": "2026-01-01T00:00:00.000000Z", "end": "2026-01-02T00:00:00.500000Z"}
    assert [request.params.get("opt_outs") for request in requests] == ["no"] * 3
    assert [{name: r.params[name] for name in span if name in r.params} for r in requests] == [{}, span, {}]


@pytest.mark.parametrize(
    ("query", "tag"),
    [("sky", "sky"), ("#Sky", "Sky"), ("deep blue", "deepblue"), ('"l\'été"', "lété"), ("氷河", "氷河"), ("!?", "")],
)
def test_a_query_is_looked_for_as_a_hashtag(query, tag):
    assert find_hashtag(query) == tag


def search(node, **more):
    return talk_of(Pick(0, Node(node), "search"), NOBODY, **more)


def test_without_an_account_of_its_own_a_campaign_searches_by_hashtag_at_home():
    requests, outcomes = converse(
        search(-3, search_pages=5), ok("a", posts=40, found={4: "x", 3: "y"}), ok(found={4: "x"})
    )
    tag = "home.example/api/v1/timelines/tag/:hashtag"
    assert asked(requests) == [
        ((0, 1), tag, {"hashtag": "deepblue", "limit": "40"}),
        ((0, 2), f"{tag}?max_id", {"hashtag": "deepblue", "limit": "40", "max_id": "a"}),
    ]
    assert outcomes[0].targets.tolist() == [4, 3]


def test_who_has_signed_in_searches_for_words_too():
    requests, outcomes = converse(
        search(-1, search_pages=5, signed_in=True), ok(found={4: "x"}), ok("40", found={3: "y"}), ok(found={4: "x"})
    )
    words = {"q": "sky", "type": "statuses", "limit": "40"}
    assert asked(requests[1:]) == [
        ((0, 1000), "home.example/api/v2/search", words),
        ((0, 1001), "home.example/api/v2/search?offset", {**words, "offset": "40"}),
    ]
    assert outcomes[0].targets.tolist() == [4, 3]
    requests, _ = converse(search(-2, signed_in=True), ok(found={4: "x"}))
    assert len(requests) == 1  # a hashtag is no words


@pytest.mark.parametrize("signed_in", [False, True])
def test_a_search_that_is_closed_says_so(signed_in):
    closed = Reply("missing", 5.0, rows=Answer())
    replies = [closed, closed] if signed_in else [closed]
    _, outcomes = converse(search(-1, signed_in=signed_in), *replies)
    assert (outcomes[0].missing, outcomes[0].targets.tolist()) == ("protected", [])


def test_what_a_hashtag_found_stays_where_search_is_closed():
    _, outcomes = converse(search(-1, signed_in=True), ok(found={4: "x"}), Reply("missing", 5.0, rows=Answer()))
    assert (outcomes[0].missing, outcomes[0].targets.tolist()) == (None, [4])


def test_a_talk_is_replayed_to_the_same_requests_and_outcome():
    replies = [ok("11", found=FOUND), ok("a", posts=40, hits=3), ok("b", posts=1), ok("c", follows=[5])]
    first, ended = converse(talk_of(pages_per_user=2, follows=1), *replies)
    again, same = converse(talk_of(pages_per_user=2, follows=1), *replies)
    assert asked(first) == asked(again)
    assert len({request.key for request in first}) == len(first) == 4
    assert (ended[7].posts, ended[7].targets.tolist()) == (same[7].posts, same[7].targets.tolist()) == (41, [5])
