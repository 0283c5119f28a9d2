"""The mock's Bluesky, asked directly: names, feeds, search, people. What it must say is read off the rows of `sky`."""

import re
from datetime import UTC, datetime

import pytest
from bluesky_mock import BY_ID, DOMAIN, NOW, ROWS, START, Row, Sky, town
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from test_mock_world import posts_of

from socialcrawl.mock.bluesky.identifiers import make_cid, make_did, make_record_key, parse_record_key
from socialcrawl.mock.bluesky.profiles import LIST_KEY
from socialcrawl.mock.names import DELETED, PROTECTED, SUSPENDED
from socialcrawl.mock.service import Guest, WindowSpec, WindowState
from socialcrawl.mock.world_changes import Lifetime

FEED, SEARCH = "app.bsky.feed.getAuthorFeed", "app.bsky.feed.searchPosts"
HANDLE = re.compile(r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="module")
def sky():
    return Sky()


def iso(second):
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def mentions(record):
    """The DIDs of a record's mention facets, in order, each with the bytes at its place."""
    raw = record["text"].encode()
    return [
        (feature["did"], raw[facet["index"]["byteStart"] : facet["index"]["byteEnd"]].decode())
        for facet in record.get("facets", ())
        for feature in facet["features"]
        if feature["$type"].endswith("#mention")
    ]


@given(st.sets(st.text("abcAB_.-é1 ", min_size=1, max_size=18).map(str.lower).filter(str.strip), max_size=30))
@settings(deadline=None, max_examples=many(60))
def test_every_account_has_its_own_handle_and_did_and_is_found_by_both(names):
    sky = Sky(posts_of([(name, START, "hello") for name in sorted(names)] or [("x", START, "hello")]))
    rows = range(len(sky.world.accounts))
    handles = [sky.names.handle(row) for row in rows]
    assert len(set(handles)) == len(handles)
    assert all(HANDLE.fullmatch(handle) and handle.endswith(f".{DOMAIN}") for handle in handles)
    assert all(re.fullmatch(r"did:plc:[a-z2-7]{24}", sky.names.did(row)) for row in rows)
    assert [sky.names.row(handle.upper()) for handle in handles] == list(rows)
    assert [sky.names.row(sky.names.did(row)) for row in rows] == list(rows)


def test_a_name_that_fits_a_handle_stays_readable_and_stable(sky):
    assert sky.handle("ann") == "ann.mock.social"
    other = Sky(posts_of([("zed", START, "x"), ("a_b", START, "x"), ("ANN", START, "x")]), handle_domain="example.test")
    assert other.handle("a_b") == "a-b.example.test"
    assert other.did("ann") == sky.did("ann") == make_did("ann")


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_record_keys_sort_as_their_numbers_and_are_read_back(numbers):
    keys = [make_record_key(number) for number in numbers]
    assert [parse_record_key(key) for key in keys] == numbers
    assert [key for _, key in sorted(zip(numbers, keys, strict=True))] == sorted(keys)
    assert keys[0] == "".join(ALPHABET[numbers[0] // 32**place % 32] for place in range(12, -1, -1))
    assert parse_record_key("k222222222222") is None  # more than 64 bits


def test_a_cid_is_base_32_of_a_sha256_of_cbor():
    import base64

    cid = make_cid(make_did("x"), "app.bsky.feed.post", make_record_key(7))
    raw = base64.b32decode(cid[1:].upper() + "=" * (-len(cid[1:]) % 8))
    assert (cid[0], raw[:4], len(raw)) == ("b", b"\x01\x71\x12\x20", 36)
    assert base64.b32encode(raw).decode().lower().rstrip("=") == cid[1:]
    assert (
        len(
            {
                cid,
                make_cid(make_did("y"), "app.bsky.feed.post", make_record_key(7)),
                make_cid(make_did("x"), "app.bsky.feed.post", make_record_key(8)),
            }
        )
        == 3
    )


@pytest.mark.parametrize("size", [1, 7, 57, 58, 100])
def test_a_feed_is_the_whole_timeline_newest_first_and_ends_without_a_cursor(sky, size):
    items, pages = sky.feed(sky.handle("ann"), limit=size)
    own = [row for row in ROWS if row.author.lower() == "ann"]
    assert [item["post"]["record"]["text"] for item in items] == [row.text for row in reversed(own)]
    assert [item["post"]["record"]["createdAt"] for item in items] == [iso(row.at) for row in reversed(own)]
    assert pages == -(-len(own) // size)
    assert len({item["post"]["uri"] for item in items}) == len(own)


def test_a_post_names_its_mentions_by_did_at_their_bytes(sky):
    items, _ = sky.feed(sky.did("bob"))
    record = items[-1]["post"]["record"]
    assert record["text"] == BY_ID["b0"].text
    assert mentions(record) == [(sky.did("ann"), "@ann"), (sky.did("nobody"), "@nobody")]
    others = [facet["features"][0] for facet in record["facets"][2:]]
    assert others == [{"$type": "app.bsky.richtext.facet#link", "uri": "https://example.org/a_b?c=1"}]
    assert mentions(items[0]["post"]["record"]) == [(sky.did("dave"), "")]
    assert [facet["index"] for facet in items[0]["post"]["record"]["facets"]] == [{"byteStart": 0, "byteEnd": 0}]


def test_a_long_post_is_shown_whole(sky):
    items, _ = sky.feed(sky.did("cy"))
    long = items[-1]["post"]["record"]
    assert long["text"] == BY_ID["c0"].text
    assert mentions(long) == [(sky.did("bob"), "@bob"), (sky.did("ann"), "@ann")]
    assert long["facets"][-1]["features"][0]["tag"] == "late"


@given(st.text(max_size=40), st.text("ab🌾é ", max_size=10))
@settings(deadline=None, max_examples=many(60))
def test_a_mention_stands_at_its_bytes_in_any_text(before, after):
    text = f"{before} @zoe_1 {after}".replace("@@", "@")
    sky = Sky(posts_of([("ann", START, text, ("zoe_1",))]))
    ((did, shown),) = mentions(sky.feed(sky.did("ann"))[0][0]["post"]["record"])
    assert (did, shown.lower()) == (sky.did("zoe_1"), "@zoe_1")


def test_a_reply_names_its_parent_and_root_and_shows_them(sky):
    agree = sky.feed(sky.did("ann"))[0][0]
    note = sky.feed(sky.did("ann"))[0][-4]["post"]
    hey = sky.feed(sky.did("bob"))[0][-1]
    assert hey["post"]["record"]["reply"] == {
        key: {"uri": note["uri"], "cid": note["cid"]} for key in ("parent", "root")
    }
    assert agree["post"]["record"]["reply"]["parent"]["uri"] == hey["post"]["uri"]
    assert agree["post"]["record"]["reply"]["root"]["uri"] == note["uri"]
    assert agree["reply"]["parent"] == {"$type": "app.bsky.feed.defs#postView", **hey["post"]}
    assert agree["reply"]["root"] == {"$type": "app.bsky.feed.defs#postView", **note}
    assert (note["replyCount"], note["repostCount"]) == (1, 1)


def test_a_reply_to_a_name_has_a_parent_of_that_account_which_is_not_found(sky):
    (item,), _ = sky.feed(sky.handle("the.long-named_one_of_all"))
    parent = item["post"]["record"]["reply"]["parent"]["uri"]
    assert parent.startswith(f"at://{sky.did('bob')}/app.bsky.feed.post/")
    assert parent not in {it["post"]["uri"] for it in sky.feed(sky.did("bob"))[0]}
    assert item["reply"]["parent"] == {"$type": "app.bsky.feed.defs#notFoundPost", "notFound": True, "uri": parent}
    assert item["reply"]["root"] == item["reply"]["parent"]


def test_a_retweet_is_a_repost_of_the_post_in_the_file(sky):
    items, _ = sky.feed(sky.did("bob"))
    repost = items[1]
    original = sky.feed(sky.did("ann"))[0][-4]["post"]
    assert repost["post"] == original
    reason = repost["reason"]
    assert reason["$type"] == "app.bsky.feed.defs#reasonRepost"
    assert (reason["by"]["did"], reason["indexedAt"]) == (sky.did("bob"), iso(BY_ID["b1"].at))
    assert reason["uri"].startswith(f"at://{sky.did('bob')}/app.bsky.feed.repost/")


def test_a_retweet_whose_original_the_file_lacks_or_cut_has_one_of_its_own(sky):
    items, _ = sky.feed(sky.did("cy"))
    unnamed, cut, gone = items[1], items[2], items[3]
    assert (gone["post"]["author"]["did"], gone["post"]["record"]["text"]) == (sky.did("gone"), "never seen by @bob")
    assert mentions(gone["post"]["record"]) == [(sky.did("bob"), "@bob")]
    assert gone["reason"]["by"]["did"] == sky.did("cy")
    assert (cut["post"]["author"]["did"], cut["post"]["record"]["text"]) == (sky.did("ann"), "note 4 about…")
    assert cut["post"]["uri"] not in {item["post"]["uri"] for item in sky.feed(sky.did("ann"))[0]}
    assert "reason" not in unnamed  # whom it does not name on X it does not name here
    assert unnamed["post"]["record"]["text"] == BY_ID["c3"].text
    assert Sky().feed(sky.did("cy"))[0] == items


NAMES = ["ann", "bob_", "c.y"]
TEXTS = [
    "",
    "hello @ann",
    "hi @bob_ and @ann…",
    "RT @ann: hello @bob_",
    "RT @c.y: hello @ann",
    "RT @ann hello @ann",
    "RT @",
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.integers(0, 3),
            st.sampled_from(TEXTS),
            st.lists(st.sampled_from([*NAMES, "new"]), max_size=3).map(tuple),
            st.none() | st.sampled_from(["ann", "else", "0", "3"]),
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(deadline=None, max_examples=many(80))
def test_whoever_a_post_names_in_the_file_is_named_here_and_nobody_else(rows):
    posts = posts_of(
        [(author, START + at, text, names) for author, at, text, names, _ in rows],
        ids=[str(i) for i in range(len(rows))],
        reply_to=[answered for *_, answered in rows],
    )
    sky = Sky(posts)
    seen = {}
    for name in {author for author, *_ in rows}:
        for item in sky.feed(sky.did(name), limit=3)[0]:
            record = item["post"]["record"]
            named = {did for did, _ in mentions(record)}
            own = record["text"]
            if "reason" in item:
                named.add(item["post"]["author"]["did"])
                own = (item["post"]["author"]["handle"], own)
            elif "reply" in record:
                named.add(record["reply"]["parent"]["uri"].split("/")[2])
                assert item["reply"]["parent"]["uri"] == record["reply"]["parent"]["uri"]
            when = item["reason"]["indexedAt"] if "reason" in item else record["createdAt"]
            seen.setdefault((name, when), []).append((own, sorted(named)))
    want = {}
    for author, at, text, names, answered in rows:
        is_post = answered in [str(i) for i in range(len(rows))]
        to = rows[int(answered)][0] if is_post else answered
        match = re.match(r"RT @([^\s:]+):?\s*(.*)", text, re.DOTALL)
        repost = match is not None and match[1] in names and to is None
        own = (sky.handle(match[1]), match[2]) if repost else text
        named = sorted({sky.did(name) for name in [*names, *([to] if to else [])]})
        want.setdefault((author, iso(START + at)), []).append((own, named))
    assert {key: sorted(told, key=repr) for key, told in seen.items()} == {
        key: sorted(told, key=repr) for key, told in want.items()
    }


def test_filters_leave_out_replies_and_what_has_no_media(sky):
    cy = sky.did("cy")

    def texts(wanted):
        items, _ = sky.feed(cy, filter=wanted, limit=2)
        return [item["reason"]["indexedAt"] if "reason" in item else item["post"]["record"]["text"] for item in items]

    everything = texts("posts_with_replies")
    assert len(everything) == 5
    assert texts("posts_and_author_threads") == everything
    assert texts("posts_no_replies") == [text for text in everything if text != "to myself"]
    assert texts("posts_with_media") == texts("posts_with_video") == []
    bob = [item["post"]["record"]["text"] for item in sky.feed(sky.did("bob"), filter="posts_and_author_threads")[0]]
    assert BY_ID["b0"].text not in bob
    assert len(bob) == 2


def test_missing_accounts_are_refused_as_bluesky_does():
    sky = Sky()
    for name, fate in (("ann", SUSPENDED), ("cy", PROTECTED), ("bob", DELETED)):
        sky.changes.become(sky.row(name), fate)
    taken = ("AccountTakedown", "Account has been suspended")
    assert sky.error(FEED, actor=sky.did("ann")) == taken
    assert sky.error("app.bsky.actor.getProfile", actor=sky.did("ann")) == taken
    assert sky.error("app.bsky.graph.getFollows", actor=sky.did("ann")) == taken
    assert sky.error(FEED, actor=sky.did("cy")) == ("BlockedByActor", "Requester is blocked by actor")
    assert sky.ask("app.bsky.actor.getProfile", actor=sky.did("cy"))["viewer"]["blockedBy"] is True
    for actor in (sky.did("bob"), "no-one.mock.social"):
        assert sky.error(FEED, actor=actor) == ("InvalidRequest", "Profile not found")
        assert sky.error("app.bsky.actor.getProfile", actor=actor) == ("InvalidRequest", "Profile not found")
        assert sky.error("app.bsky.graph.getFollows", actor=actor) == ("InvalidRequest", "Actor not found")
    pairs = [("actors", sky.did(name)) for name in ("ann", "cy", "bob", "nobody")]
    shown = sky.ask("app.bsky.actor.getProfiles", *pairs)["profiles"]
    assert [profile["did"] for profile in shown] == [sky.did("cy"), sky.did("nobody")]
    assert sky.ask(SEARCH, q="rust OR cats OR agree")["posts"] == []
    assert sky.error("com.atproto.identity.resolveHandle", handle="bob.mock.social")[1] == "Unable to resolve handle"
    assert sky.ask("app.bsky.graph.getFollowers", actor=sky.did("nobody"))["followers"] == []
    assert [item["did"] for item in sky.ask("app.bsky.graph.getFollows", actor=sky.did("cy"))["follows"]] == [
        sky.did("gone")
    ]


def test_a_profile_counts_posts_follows_and_followers(sky):
    profile = sky.ask("app.bsky.actor.getProfile", actor="ANN.mock.social")
    assert (profile["did"], profile["handle"], profile["displayName"]) == (sky.did("ann"), "ann.mock.social", "Ann")
    assert (profile["postsCount"], profile["followsCount"], profile["followersCount"]) == (58, 0, 2)
    assert profile["createdAt"] == iso(START)


def test_an_account_follows_whom_it_mentions_in_the_order_of_first_mention(sky):
    def listed(method, kind, name, size=1):
        found, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = sky.ask(f"app.bsky.graph.{method}", actor=sky.did(name), limit=size, **more)
            assert page["subject"]["did"] == sky.did(name)
            found += [profile["did"] for profile in page[kind]]
            cursor = page.get("cursor")
            if cursor is None:
                return found

    assert listed("getFollows", "follows", "bob") == [sky.did(name) for name in ("ann", "nobody", "dave")]
    assert listed("getFollows", "follows", "cy", 100) == [sky.did(name) for name in ("bob", "ann", "gone")]
    assert listed("getFollowers", "followers", "ann") == [sky.did("bob"), sky.did("cy")]
    uri = f"at://{sky.did('bob')}/app.bsky.graph.list/{LIST_KEY}"
    found = sky.ask("app.bsky.graph.getList", list=uri)
    assert [item["subject"]["did"] for item in found["items"]] == [sky.did(n) for n in ("ann", "nobody", "dave")]
    assert (found["list"]["uri"], found["list"]["listItemCount"]) == (uri, 3)


@pytest.mark.parametrize(
    "uri",
    [
        f"at://did:plc:none/app.bsky.graph.list/{LIST_KEY}",
        "at://BOB/app.bsky.graph.list/3k2222222222b",
        "at://BOB/app.bsky.graph.list/",
        f"at://BOB/app.bsky.graph.starterpack/{LIST_KEY}",
        f"BOB/app.bsky.graph.list/{LIST_KEY}",
        f"at://bob.mock.social/app.bsky.graph.list/{LIST_KEY}",
        "nonsense",
    ],
)
def test_a_list_that_there_is_not_is_refused(sky, uri):
    told = sky.error("app.bsky.graph.getList", list=uri.replace("BOB", sky.did("bob")))
    assert told == ("InvalidRequest", "List not found")


def test_accounts_are_searched_by_handle_and_name_the_most_mentioned_first(sky):
    def found(q, **more):
        return [actor["handle"] for actor in sky.ask("app.bsky.actor.searchActors", q=q, **more)["actors"]]

    assert found("ann") == found("@ANN.mock.social") == ["ann.mock.social"]
    assert found("o") == [sky.handle(name) for name in ("bob", "gone", "nobody", "the.long-named_one_of_all")]
    assert found("long named") == [sky.handle("the.long-named_one_of_all")]
    assert found("") == found("unheard") == []


@pytest.mark.parametrize(
    ("q", "more", "ids"),
    [
        ("cats", {}, ["b2"]),
        ("agree OR cats", {}, ["b2", "a57"]),
        ('"note 3 about"', {}, ["n3"]),
        ("note -rust", {}, []),
        ("rust", {"since": iso(START + 60 * 55)}, ["n56", "n55"]),
        ("rust", {"until": "2023-11-14T22:14:20+00:00"}, ["n0"]),
        ("from:ann.mock.social agree", {}, ["a57"]),
        ("agree", {"author": "bob.mock.social"}, []),
        ("hey", {"mentions": "nobody.mock.social"}, ["b0"]),
        ("@nobody.mock.social", {}, ["b0"]),
        ("@nobody", {}, ["b0"]),
        ("from:bob until:2023-11-15T03:00:00Z", {}, ["b0"]),
        ("agree", {"lang": "en"}, ["a57"]),
        ("agree", {"lang": "ja"}, []),
        ("y", {"tag": "late"}, ["c0"]),
        ("*", {"tag": "LATE"}, ["c0"]),
        ("#late", {}, ["c0"]),
        ("hey", {"tag": "hey"}, []),
        ("hey", {"domain": "example.org"}, ["b0"]),
        ("*", {"domain": "example.org"}, ["b0"]),
        ("*", {"domain": "example.com"}, []),
        ('"from:ann x"', {}, []),
        ("🐈 OR quite", {}, ["l0", "b0"]),
        ("🐈", {}, ["b0"]),
        ("to:bob.mock.social", {}, ["a57", "l0"]),
    ],
)
def test_search_finds_posts_newest_first(sky, q, more, ids):
    found = sky.ask(SEARCH, q=q, **more)
    assert [post["record"]["text"] for post in found["posts"]] == [BY_ID[key].text for key in ids]
    assert found["hitsTotal"] == len(ids)
    assert "cursor" not in found


def test_search_pages_to_its_end_and_finds_no_reposts(sky):
    texts, cursor = [], None
    while True:
        page = sky.ask(SEARCH, q="rust", limit=20, **({"cursor": cursor} if cursor else {}))
        texts += [post["record"]["text"] for post in page["posts"]]
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert texts == [f"note {i} about rust 🌾 #Rust" for i in reversed(range(57))]


@given(
    st.lists(
        st.sampled_from(["rust", "Cats", "#rust", "🌾", '"note 3"', "not", "-dogs", "OR", "or", "(", ")", "has:links"]),
        max_size=6,
    )
)
@settings(deadline=None, max_examples=many(150))
def test_search_with_an_index_finds_what_a_look_at_every_post_finds(parts):
    from socialcrawl.lab.post_table import fold_name
    from socialcrawl.mock.bluesky.search import PostFinder
    from socialcrawl.mock.query import PLAIN_QUERY, QueryError, parse
    from socialcrawl.mock.search import read_post

    world = SKY.world
    try:
        test = parse(" ".join(parts), PLAIN_QUERY).test
    except QueryError:
        return
    want = [
        p for p in range(len(ROWS)) if not world.references.is_retweet(p) and test(read_post(world, p, fold=fold_name))
    ]
    assert PostFinder(world).matches(" ".join(parts)).tolist() == want


SKY = Sky()


@pytest.mark.parametrize(
    ("method", "query", "sentence"),
    [
        (FEED, {}, 'Params must have the property "actor"'),
        (FEED, {"actor": "no handle"}, "actor must be a valid did or a handle"),
        (FEED, {"actor": "ann.mock.social", "limit": 101}, "limit can not be greater than 100"),
        (FEED, {"actor": "ann.mock.social", "limit": 0}, "limit can not be less than 1"),
        (FEED, {"actor": "ann.mock.social", "limit": "x"}, "limit must be an integer"),
        (FEED, {"actor": "ann.mock.social", "filter": "x"}, "filter must be one of"),
        (FEED, {"actor": "ann.mock.social", "cursor": "what"}, "Malformed cursor"),
        (FEED, {"actor": "ann.mock.social", "cursor": "1::zzzzzzzzzzzzz"}, "Malformed cursor"),
        (SEARCH, {}, 'Params must have the property "q"'),
        (SEARCH, {"q": "x", "cursor": "no"}, "Malformed cursor"),
        (SEARCH, {"q": "x", "since": "soon"}, "since must be a valid datetime"),
        (SEARCH, {"q": "x", "sort": "best"}, "sort must be one of"),
        ("app.bsky.actor.getProfiles", {}, 'Params must have the property "actors"'),
        ("com.atproto.identity.resolveHandle", {"handle": "did:plc:x"}, "Unable to resolve handle"),
    ],
)
def test_wrong_parameters_are_refused_with_a_sentence(sky, method, query, sentence):
    error, message = sky.error(method, **query)
    assert error == "InvalidRequest"
    assert sentence in message


def test_a_query_that_cannot_be_read_and_a_method_that_is_not_served_are_refused(sky):
    assert sky.error(SEARCH, q="(cats")[0] == "BadQueryString"
    too_many = [("actors", sky.did("ann"))] * 26
    assert "25" in sky.error("app.bsky.actor.getProfiles", *too_many)[1]
    assert sky.error("app.bsky.feed.getTimeline", status=501)[0] == "MethodNotImplemented"


def test_a_renamed_account_keeps_its_did_and_nobody_has_its_old_handle():
    sky = Sky()
    ann, did = sky.row("ann"), sky.did("ann")
    before = sky.feed(did)[0][0]["post"]
    sky.changes.rename(ann, "Anna_B")
    assert sky.error(FEED, actor="ann.mock.social")[1] == "Profile not found"
    assert sky.ask("com.atproto.identity.resolveHandle", handle="anna-b.mock.social") == {"did": did}
    after = sky.feed("anna-b.mock.social")[0][0]["post"]
    assert (after["uri"], after["author"]["handle"]) == (before["uri"], "anna-b.mock.social")
    sky.changes.rename(ann, "_b_")  # could not be read back from a label
    handle = sky.names.handle(ann)
    assert HANDLE.fullmatch(handle)
    assert sky.names.row(handle) == ann


def test_an_expired_cursor_is_refused_and_a_fresh_one_holds():
    sky = Sky()
    sky.changes.expire(Lifetime(seconds=60.0))
    feed = sky.ask(FEED, actor=sky.did("ann"), limit=10)["cursor"]
    search = sky.ask(SEARCH, q="rust", limit=10)["cursor"]
    assert sky.ask(FEED, actor=sky.did("ann"), cursor=feed, now=NOW + 60)["feed"]
    assert sky.ask(SEARCH, q="rust", cursor=search, now=NOW + 60)["posts"]
    assert sky.error(FEED, actor=sky.did("ann"), cursor=feed, now=NOW + 61) == ("InvalidRequest", "Malformed cursor")
    assert sky.error(SEARCH, q="rust", cursor=search, now=NOW + 61) == ("InvalidRequest", "Malformed cursor")


@pytest.mark.parametrize(
    ("method", "query", "kind"), [(FEED, {"actor": "ann.mock.social"}, "feed"), (SEARCH, {"q": "rust"}, "posts")]
)
def test_an_overlapping_page_repeats_the_end_of_the_last_and_goes_on_from_its_own(sky, method, query, kind):
    first = sky.ask(method, limit=10, **query)
    second = sky.ask(method, limit=10, cursor=first["cursor"], overlap=3, **query)
    third = sky.ask(method, limit=10, cursor=second["cursor"], **query)
    straight = sky.ask(method, limit=100, **query)[kind]
    assert first[kind] == straight[:10]
    assert second[kind] == straight[7:17]
    assert third[kind] == straight[17:27]


def test_the_headers_tell_of_the_window_with_the_fewest_left(sky):
    asked = sky.asked("com.atproto.server.createSession", body={"identifier": "Ann.mock.social", "password": "x"})
    windows = sky.service.counted(asked, Guest("public", "public"))
    assert [(one.k, one.period, one.kind) for one in windows] == [
        (3_000, 300.0, "fixed"),
        (30, 300.0, "fixed"),
        (300, 86_400.0, "fixed"),
    ]
    assert "ann.mock.social" in windows[1].key
    standing = [WindowState(one, left, NOW + 100.7) for one, left in zip(windows, (2_999, 29, 299), strict=True)]
    assert dict(sky.service.limits(asked, standing)) == {
        "RateLimit-Limit": "30",
        "RateLimit-Remaining": "29",
        "RateLimit-Reset": str(int(NOW) + 100),
        "RateLimit-Policy": "30;w=300",
    }
    spent = [
        WindowState(windows[1], 0, NOW + 10),
        WindowState(windows[2], 0, NOW + 4_000.2),
        WindowState(windows[0], 9, NOW),
    ]
    refused = sky.service.too_many(asked, spent)
    assert (refused.status, refused.headers) == (429, {"Retry-After": "4001"})
    assert b"RateLimitExceeded" in refused.body


def test_hosts_have_windows_of_their_own_and_methods_share_one(sky):
    keys = {
        sky.service.counted(sky.asked(method, host=host), Guest("public", "public"))[0]
        for method in (FEED, SEARCH)
        for host in ("bsky.social", "public.api.bsky.app")
    }
    assert len(keys) == 2
    assert all(isinstance(key, WindowSpec) for key in keys)


def test_search_can_be_closed_to_the_public():
    sky = Sky(closed_search=True)
    told = sky.told(SEARCH, [("q", "rust")])
    assert (told.status, told.content_type) == (403, "text/html")
    token = sky.ask("com.atproto.server.createSession", body={"identifier": "bob.mock.social", "password": "any"})[
        "accessJwt"
    ]
    assert len(sky.ask(SEARCH, q="rust", token=token)["posts"]) == 25
    assert sky.feed(sky.did("bob"))[0]


def test_a_file_of_one_silent_name_is_served_too():
    sky = Sky(town([Row("x", "Zoë Q", START, "", ())]))
    (item,), _ = sky.feed(sky.handle("zoë q"))
    assert item["post"]["record"]["text"] == ""
    assert sky.error(SEARCH, q="")[0] == "InvalidRequest"
