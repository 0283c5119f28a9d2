import re

import orjson
import pytest
from bluesky_posts import AT, did, facet, naming, no_topic, post, profile, quote, reply_to, repost, uri
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import needed

from socialcrawl.engine.model import Page, Who
from socialcrawl.platforms.bluesky import parse
from socialcrawl.platforms.bluesky.post_mentions import is_did, is_handle

HOSTILE = (KeyError, TypeError, AttributeError, ValueError)


def feed(*items, actor="ann", hits=no_topic, **more):
    whole = [item if "post" in item else {"post": item} for item in items]
    return parse.parse_feed({"feed": whole}, did(actor), hits, **more)


def named(page, place=0):
    return [(mention.who.id, mention.kind) for mention in page.mentions if mention.post == place]


def test_a_post_becomes_a_row_with_all_that_was_told_of_it():
    text = "see https://a.example/x #Tag"
    record = {
        "langs": ["pt-BR", "en"],
        "tags": ["more"],
        "facets": [
            facet(text, "https", {"$type": "app.bsky.richtext.facet#link", "uri": "https://a.example/x"}),
            facet(text, "#Tag", {"$type": "app.bsky.richtext.facet#tag", "tag": "Tag"}),
        ],
        "embed": {"$type": "app.bsky.embed.external", "external": {"uri": "https://b.example/", "title": "b"}},
    }
    counts = {"likeCount": 1, "replyCount": 2, "repostCount": 3, "quoteCount": 4, "bookmarkCount": 5}
    (row,) = feed(post("ann", text, counts=counts, **record)).posts
    assert row == (
        uri("ann"), did("ann"), AT, text, "pt-BR", uri("ann"), None, None, None,
        '["Tag","more"]', '["https://a.example/x","https://b.example/"]', 1, 2, 3, 4, 5, None, None,
    )  # fmt: skip


def test_mentions_are_the_dids_of_facets_in_the_order_of_their_bytes_whatever_the_text_says():
    text = "👩‍👩‍👧 żółw @bob.test and @cat.test and nobody"
    facets = [naming(text, "@cat.test", "cat"), naming(text, "@bob.test", "mallory"), naming(text, "nobody", "dan")]
    page = feed(post("ann", text, facets=facets))
    assert [(who, kind) for _, who, kind, *_ in page.mentions] == [
        (Who(did("mallory"), None), "mention"),
        (Who(did("cat"), None), "mention"),
        (Who(did("dan"), None), "mention"),
    ]


@given(st.lists(st.tuples(st.text(max_size=8), st.sampled_from("bcdefgh")), max_size=12), st.randoms())
@settings(deadline=None)
def test_whoever_a_text_names_is_mentioned_once_in_order_whatever_characters_stand_between(pieces, chance):
    text, facets, order = "", [], []
    for between, name in pieces:
        text += between.encode("utf-8", "replace").decode() + " "
        begin = len(text.encode())
        text += f"@{name}"
        index = {"byteStart": begin, "byteEnd": len(text.encode())}
        facets.append({"index": index, "features": [{"$type": "app.bsky.richtext.facet#mention", "did": did(name)}]})
        order.append(did(name))
        assert text.encode()[index["byteStart"] : index["byteEnd"]].decode() == f"@{name}"  # the facet is right
    chance.shuffle(facets)
    assert named(feed(post("ann", text, facets=facets))) == [(one, "mention") for one in dict.fromkeys(order)]


def test_a_reply_names_whom_it_answers_by_the_address_and_the_handle_by_what_is_shown():
    item = {"post": post("ann", "yes", reply=reply_to("bob")), "reply": {"parent": post("bob", "?", key="3kparent")}}
    page = feed(item)
    assert page.mentions[0][:3] == (0, Who(did("bob"), "bob.test"), "reply")
    row = page.posts[0]
    assert (row.reply_to, row.conversation_id) == (uri("bob", "3kparent"), uri("root"))
    bare = feed({"post": post("ann", "yes", reply=reply_to("bob"))})
    gone = {"$type": "app.bsky.feed.defs#notFoundPost", "uri": uri("bob", "3kparent"), "notFound": True}
    missing = feed({"post": post("ann", "yes", reply=reply_to("bob")), "reply": {"parent": gone}})
    for one in (bare, missing):
        assert one.mentions[0][:3] == (0, Who(did("bob"), None), "reply")


SHOWN = {
    "there": {"$type": "app.bsky.embed.record#viewRecord", "author": profile("bob")},
    "blocked": {"$type": "app.bsky.embed.record#viewBlocked", "blocked": True, "author": {"did": did("bob")}},
    "not found": {"$type": "app.bsky.embed.record#viewNotFound", "notFound": True},
    "detached": {"$type": "app.bsky.embed.record#viewDetached", "detached": True},
    "of another": {"$type": "app.bsky.embed.record#viewRecord", "author": profile("mallory")},
}


@pytest.mark.parametrize("media", [False, True], ids=["alone", "with media"])
@pytest.mark.parametrize("shown", SHOWN)
def test_a_quote_names_whose_post_it_shows_also_one_that_is_gone(shown, media):
    embed, view = quote("bob"), {"record": {"uri": uri("bob", "3kquoted"), **SHOWN[shown]}}
    if media:
        embed = {"$type": "app.bsky.embed.recordWithMedia", "record": embed, "media": {"images": []}}
        view = {"record": view, "media": {"images": []}}
    page = feed(post("ann", "look", embed=embed, view={"embed": view}))
    assert page.posts[0].quote_of == uri("bob", "3kquoted")
    assert page.mentions[0][:3] == (0, Who(did("bob"), "bob.test" if shown == "there" else None), "quote")


@pytest.mark.parametrize("kind", ["app.bsky.feed.generator", "app.bsky.graph.list", "app.bsky.graph.starterpack"])
def test_a_post_that_shows_a_feed_or_a_list_quotes_nobody(kind):
    page = feed(post("ann", "look", embed=quote("bob", kind=kind)))
    assert (page.posts[0].quote_of, page.mentions) == (None, [])


def test_a_link_card_beside_a_picture_is_an_address_too():
    card = {"external": {"uri": "https://x.example"}}
    embed = {"$type": "app.bsky.embed.recordWithMedia", "record": quote("bob"), "media": card}
    assert feed(post("ann", embed=embed)).posts[0].urls == '["https://x.example"]'


def test_of_several_ways_to_name_an_account_the_strongest_counts_once():
    text = "@bob @cat"
    both = {"facets": [naming(text, "@cat", "cat"), naming(text, "@bob", "bob")], "embed": quote("cat")}
    assert named(feed(post("ann", text, **both))) == [(did("bob"), "mention"), (did("cat"), "mention")]
    answer = {**both, "reply": reply_to("cat")}
    assert named(feed(post("ann", text, **answer))) == [(did("bob"), "mention"), (did("cat"), "reply")]
    shared = feed({"post": post("bob", text, **answer), "reason": repost("ann")})
    assert named(shared) == [(did("bob"), "repost"), (did("cat"), "mention")]  # the answer is not the reposter's


def test_a_repost_is_a_post_of_who_reposts_that_names_whose_post_it_is():
    seen = []
    text = "original @cat"
    original = post("bob", text, langs=["en"], facets=[naming(text, "@cat", "cat")], counts={"likeCount": 9})
    later = "2026-02-01T00:00:00.000Z"
    page = feed({"post": original, "reason": repost("ann", later)}, hits=lambda *told: seen.append(told) or 2)
    (row,) = page.posts
    assert row.id == f"at://{did('ann')}/app.bsky.feed.repost/3krepost"
    assert row[1:9] == (did("ann"), later, f"RT @bob.test: {text}", "en", None, None, uri("bob"), None)
    assert row.likes is None
    assert page.mentions[0].who == Who(did("bob"), "bob.test")
    assert named(page) == [(did("bob"), "repost"), (did("cat"), "mention")]
    assert (page.hits, seen) == ([2], [(f"RT @bob.test: {text}", "en", later, None)])
    (bare,) = feed({"post": original, "reason": repost("ann", key=None)}).posts
    assert bare.id == f"repost:{did('ann')}:{uri('bob')}"


def test_posts_of_others_in_a_feed_are_not_the_accounts():
    thread = [
        {"post": post("bob", "parent")},
        {"post": post("ann", "mine")},
        {"post": post("ann"), "reason": repost("bob")},
    ]
    for actor in (did("ann"), "ann.test", "Ann.Test"):
        page = parse.parse_feed({"feed": thread}, actor, no_topic)
        assert [row.text for row in page.posts] == ["mine"]


def test_a_feed_tells_the_handle_of_its_owner_where_there_is_one():
    assert feed(post("ann"), {"post": post("bob"), "reason": repost("ann")}).answered == [Who(did("ann"), "ann.test")]
    assert feed({"post": post("bob"), "reason": repost("ann")}).answered == [Who(did("ann"), "ann.test")]
    nameless = post("ann")
    nameless["author"]["handle"] = "handle.invalid"
    assert feed(nameless).answered == [Who(did("ann"), None)]
    assert feed().answered == feed(post("bob")).answered == []


def test_a_pinned_post_is_a_post_like_others_and_each_post_comes_once():
    pinned = post("ann", "old @bob", key="3kold", facets=[naming("old @bob", "@bob", "bob")])
    item = {"post": pinned, "reason": {"$type": "app.bsky.feed.defs#reasonPin"}}
    page = feed(item, post("ann", "new", key="3knew"), pinned)
    assert [row.id for row in page.posts] == [uri("ann", "3kold"), uri("ann", "3knew")]
    assert [(mention.post, mention.who.id) for mention in page.mentions] == [(0, did("bob"))]
    assert len(page.hits) == 2


@pytest.mark.parametrize(
    ("written", "indexed", "expected"),
    [
        ("2023-07-20T10:17:40.298101", "2023-07-20T10:17:41.000Z", "2023-07-20T10:17:40.298Z"),  # no zone: UTC
        ("2026-01-31T14:00:00+02:00", AT, AT),
        ("2026-01-31T12:00:00.123456789Z", "2026-01-31T12:00:01Z", "2026-01-31T12:00:00.123Z"),
        ("2031-01-01T00:00:00Z", AT, AT),  # not later than it was seen
        ("1998-01-01T00:00:00Z", AT, "1998-01-01T00:00:00.000Z"),  # brought along from elsewhere
        ("yesterday", AT, AT),
        ("0001-01-01T00:00:00+14:00", AT, AT),
        (7, AT, AT),
        (None, None, None),
    ],
)
def test_times_are_told_in_one_way(written, indexed, expected):
    one = post("ann")
    one["record"]["createdAt"], one["indexedAt"] = written, indexed
    assert feed(one).posts[0].created_at == expected


def test_the_original_is_kept_where_it_is_wanted():
    one = post("ann", "text")
    assert orjson.loads(feed(one, keep=True).posts[0].original) == one
    reason = repost("ann")
    shared = feed({"post": post("bob"), "reason": reason}, keep=True).posts[0]
    assert orjson.loads(shared.original) == {"post": post("bob"), "reason": reason}


def test_a_search_answers_with_authors_in_order_and_counts_the_topic():
    found = [post("bob", "yes yes", key="1"), post("ann", "yes", key="2"), post("bob", "no", key="3")]
    page = parse.parse_search({"posts": found}, lambda text, *_: text.count("yes"))
    assert page.hits == [2, 1, 0]
    assert page.answered == [Who(did("bob"), "bob.test"), Who(did("ann"), "ann.test")]
    assert [row.author for row in page.posts] == [did("bob"), did("ann"), did("bob")]


def test_profiles_become_accounts_and_who_is_left_out_is_unknown():
    full = profile(
        "ann", displayName="Ann", description="d", createdAt="2023-04-26T19:05:34.249Z", followersCount=1,
        followsCount=2, postsCount=3, verification={"verifiedStatus": "valid"}, website="https://ann.example",
    )  # fmt: skip
    payload = {"profiles": [full, {"did": did("bob"), "handle": "handle.invalid"}]}
    page = parse.parse_profiles(payload, ["Ann.test", did("bob"), did("cat"), "dan.test"])
    assert page.accounts[0] == (
        did("ann"), "ann.test", "Ann", "d", "2023-04-26T19:05:34.249Z", 1, 2, 3, None, None, True, "https://ann.example",
    )  # fmt: skip
    assert page.accounts[1].username == "handle.invalid"
    assert page.accounts[1].verified is None
    assert page.answered == [Who(did("ann"), "ann.test"), Who(did("bob"), None)]
    assert page.missing == [(Who(did("cat"), None), "unknown"), (Who(None, "dan.test"), "unknown")]


def test_members_actors_and_follows_are_accounts_in_order_each_once():
    views = [profile("cat"), profile("ann"), profile("cat")]
    expected = [Who(did("cat"), "cat.test"), Who(did("ann"), "ann.test")]
    assert parse.parse_actors({"actors": views}) == Page(answered=expected)
    assert parse.parse_members({"items": [{"subject": view} for view in views]}) == Page(answered=expected)
    assert parse.parse_follows({"follows": views, "subject": profile("bob")}) == Page(follows=expected)
    assert parse.parse_resolved({"did": did("ann")}, "ann.test") == Page(answered=expected[1:])


def test_a_feed_is_read_to_the_bound_by_what_the_account_wrote_or_reposted():
    def reaches(*items, begin="2026-01-10T00:00:00Z"):
        whole = [item if "post" in item else {"post": item} for item in items]
        return parse.reaches({"feed": whole}, did("ann"), parse.parse_moment(begin).timestamp())

    old, new = "2026-01-01T00:00:00Z", "2026-01-20T00:00:00Z"
    assert reaches(post("ann", at=new), post("ann", at=old))
    assert not reaches(post("ann", at=new))
    assert not reaches()
    assert not reaches(post("ann", at=new), post("bob", at=old))  # a thread's beginning
    assert not reaches({"post": post("bob", at=old), "reason": repost("ann", new)})  # reposted later
    assert reaches({"post": post("bob", at=old), "reason": repost("ann", old)})
    assert not reaches({"post": post("ann", at=old), "reason": {"$type": "app.bsky.feed.defs#reasonPin"}})
    brought = post("ann", at=new)
    brought["record"]["createdAt"] = old  # written elsewhere long ago: others written later may follow
    assert not reaches(brought)


def test_the_end_of_a_list_has_no_cursor():
    assert [parse.find_cursor(body) for body in ({}, {"cursor": ""}, {"cursor": None}, {"cursor": "c"})] == [
        None
    ] * 3 + ["c"]
    with pytest.raises(TypeError):
        parse.find_cursor({"cursor": 7})


@pytest.mark.parametrize(
    ("text", "did_like", "handle_like"),
    [
        ("did:plc:z72i7hdynmk6r22z27h6tvur", True, False), ("did:web:localhost%3A1234", True, False),
        ("did:method:val-two", True, False), ("did:METHOD:val", False, False), ("did:m123:val", False, False),
        ("did:method:val/two", False, False), ("did:method:", False, False), ("did:plc:x,did:plc:y", False, False),
        ("jay.bsky.social", False, True), ("8.cn", False, True), ("XX.LCS.MIT.EDU", False, True),
        ("jo@hn.test", False, False), ("john..test", False, False), ("john.0", False, False), ("john", False, False),
        ("-a.test", False, False), ("a-.test", False, False), ("a.test\n", False, False), ("", False, False),
        ("did:plc:" + "a" * 2041, False, False), (".".join(["a" * 60] * 5), False, False),
    ],
)  # fmt: skip
def test_dids_and_handles_have_the_forms_of_the_protocol(text, did_like, handle_like):
    """The examples of https://atproto.com/specs/did and https://atproto.com/specs/handle."""
    assert (is_did(text), is_handle(text)) == (did_like, handle_like)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from([did("bob"), uri("bob"), AT]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def bent(draw):
    """A feed, somewhere in which something stands that does not belong there, or lacks."""
    text = "@bob.test"
    whole = {
        "feed": [
            {
                "post": post("ann", text, facets=[naming(text, "@bob", "bob")], reply=reply_to("bob"),
                             embed=quote("cat"), langs=["en"], tags=["t"],
                             view={"embed": {"record": {"author": profile("cat")}}}),
                "reply": {"parent": post("bob")},
            },
            {"post": post("bob", text), "reason": repost("ann")},
        ]
    }  # fmt: skip
    place, inner = whole, "feed"
    while draw(st.integers(0, 6)) and isinstance(place[inner], dict | list) and place[inner]:
        place = place[inner]
        inner = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    if draw(st.booleans()):
        place[inner] = draw(JSON)
    else:
        del place[inner]
    return whole


@given(bent())
@settings(deadline=None, max_examples=many(120))
def test_odd_json_is_a_page_that_a_store_can_hold_or_a_typed_error(payload):
    try:
        page = parse.parse_feed(payload, did("ann"), lambda text, lang, at, urls=None: len(text), keep=True)
        parse.reaches(payload, did("ann"), 1e9)
    except HOSTILE:
        return
    for row in page.posts:
        assert all(value is None or isinstance(value, str) for value in (*row[:11], row.original))
        assert all(value is None or type(value) is int for value in row[11:17])
        assert row.author == did("ann")
    assert all(is_did(mention.who.id) for mention in page.mentions)
    assert len(page.hits) == len(page.posts) == len({row.id for row in page.posts})


def snapshots(name):
    """The recorded answers of a snapshot file, its placeholders in the forms of the protocol."""
    text = needed(f"reference/samples/{name}").read_text("utf-8")
    for body in re.findall(r"^exports\[.*?\] = `\n(.*?)\n`;$", text, re.MULTILINE | re.DOTALL):
        plain = re.sub(r",(\s*[}\]])", r"\1", body.replace("\\\\", "\\"))
        plain = re.sub(r'"user\((\d+)\)"', lambda m: f'"{did("u" + m[1] + "z")}"', plain)
        yield orjson.loads(plain)


def test_recorded_feeds_are_read_to_the_last_post():
    kinds, rows = set(), 0
    for whole in snapshots("bsky_appview_author-feed.snap"):
        theirs = {}
        for item in whole:
            reason = item.get("reason", {})
            own = theirs.setdefault(reason.get("by", item["post"]["author"])["did"], {})
            own[reason.get("uri", item["post"]["uri"])] = item["post"]["record"]["text"]
        for actor, texts in theirs.items():
            page = parse.parse_feed({"feed": whole}, actor, no_topic, keep=True)
            assert {row.id: row.text.split(": ", 1)[1] if row.repost_of else row.text for row in page.posts} == texts
            assert all(row.created_at and row.author == actor for row in page.posts)
            rows += len(page.posts)
            kinds |= {mention.kind for mention in page.mentions}
    assert rows > 10
    assert {"reply", "repost"} <= kinds


def test_recorded_profiles_and_follows_are_read():
    for whole in snapshots("bsky_appview_profile.snap"):
        profiles = whole if isinstance(whole, list) else [whole]
        if not all("did" in one for one in profiles):
            continue
        page = parse.parse_profiles({"profiles": profiles}, [one["did"] for one in profiles])
        assert [(row.id, row.followers) for row in page.accounts] == [
            (p["did"], p.get("followersCount")) for p in profiles
        ]
        assert page.missing == []
    body = orjson.loads(needed("reference/samples/bsky_get_follows.json").read_bytes())
    page = parse.parse_follows(body)
    assert [who.username for who in page.follows] == [one["handle"] for one in body["follows"]]
    assert all(is_did(who.id) and is_handle(who.username) for who in page.follows)


def test_a_recorded_post_with_media_and_a_quote_is_read():
    body = orjson.loads(needed("reference/samples/bsky_thread_view_post_with_embed_media.json").read_bytes())
    recorded = body["thread"]["post"]
    author = recorded["author"]["did"]
    page = parse.parse_feed({"feed": [{"post": recorded}]}, author, no_topic)
    assert page.posts[0].quote_of == recorded["record"]["embed"]["record"]["record"]["uri"]
    assert page.mentions[0][:3] == (0, Who(author, "test.marshal.dev"), "quote")
    assert (page.posts[0].lang, page.posts[0].created_at) == ("en", "2023-09-28T12:49:36.735Z")
