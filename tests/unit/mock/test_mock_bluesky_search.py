"""How far a search of the mock's Bluesky reaches: by cursors, by times, for who has not signed in, and version 2."""

import pytest
from bluesky_mock import ROWS, START, Row, Sky, town

SEARCH, SEARCH_V2 = "app.bsky.feed.searchPosts", "app.bsky.feed.searchPostsV2"
RUST = [row for row in reversed(ROWS) if "rust" in row.text and not row.text.startswith("RT")]


def stamp(post):
    return post["record"]["createdAt"]


def session(sky):
    body = {"identifier": "bob.mock.social", "password": "any"}
    return sky.ask("com.atproto.server.createSession", body=body)["accessJwt"]


def paged(sky, method, **query):
    found, cursor = [], {}
    while True:
        page = sky.ask(method, **query, **cursor)
        found += page["posts"]
        if "cursor" not in page:
            return found
        cursor = {"cursor": page["cursor"]}


@pytest.mark.parametrize(("depth", "reached"), [(10_000, 57), (57, 57), (40, 40), (35, 35)])
def test_cursors_reach_so_many_posts_and_until_goes_on_behind_them(depth, reached):
    sky = Sky(search_depth=depth)
    found = paged(sky, SEARCH, q="rust", limit=20)
    assert len(found) == reached
    assert [stamp(post) for post in found] == sorted(map(stamp, found), reverse=True)
    older = paged(sky, SEARCH, q="rust", limit=20, until=stamp(found[-1]))
    assert len(found) + len(older) == len(RUST)


def test_since_is_inclusive_and_until_is_not():
    sky, (first, last) = Sky(), ("2023-11-14T22:14:20Z", "2023-11-14T22:16:20.000Z")
    found = sky.ask(SEARCH, q="rust", since=first, until=last)["posts"]
    assert [stamp(post)[11:19] for post in found] == ["22:15:20", "22:14:20"]
    assert sky.error(SEARCH, q="rust", since="yesterday")[0] == "InvalidRequest"


def test_cursors_can_be_closed_to_who_has_not_signed_in():
    sky = Sky(closed_cursors=True)
    cursor = sky.ask(SEARCH, q="rust")["cursor"]
    assert sky.told(SEARCH, [("q", "rust"), ("cursor", cursor)]).status == 403
    assert sky.ask(SEARCH, q="rust", cursor=cursor, token=session(sky))["posts"]


def test_version_2_is_not_enabled_unless_it_is_said_so():
    assert Sky().error(SEARCH_V2, query="rust") == ("InvalidRequest", "Search v2 is not enabled")


def test_version_2_finds_posts_of_any_of_several_authors_within_the_last_days_or_all_of_them():
    rows = [*ROWS, Row("z", "dave", START + 30 * 86_400, "rust, late", ())]
    sky = Sky(town(rows), search_v2=True)
    assert [post["record"]["text"] for post in sky.ask(SEARCH_V2, query="rust")["posts"]] == ["rust, late"]
    every = sky.ask(SEARCH_V2, query="rust", allTime="true", limit=100)["posts"]
    assert len(every) == len(RUST) + 1
    both = [("authors", sky.did("bob")), ("authors", sky.handle("cy"))]
    found = sky.ask(SEARCH_V2, *both, allTime="true", limit=100)["posts"]
    assert {post["author"]["did"] for post in found} == {sky.did("bob"), sky.did("cy")}
    assert sky.ask(SEARCH_V2, query="rust", allTime="true", hashtags="rust", sort="recent", limit=1)["posts"]
    assert sky.error(SEARCH_V2)[0] == sky.error(SEARCH_V2, query="a", sort="latest")[0] == "InvalidRequest"


def test_version_2_refuses_cursors_to_who_has_not_signed_in():
    sky = Sky(search_v2=True)
    cursor = sky.ask(SEARCH_V2, query="rust", allTime="true")["cursor"]
    assert sky.error(SEARCH_V2, query="rust", cursor=cursor, status=403)[0] == "Forbidden"
    assert sky.ask(SEARCH_V2, query="rust", allTime="true", cursor=cursor, token=session(sky))["posts"]


def texts(sky, **query):
    found = sky.ask(SEARCH_V2, allTime="true", sort="recent", limit=100, **query)["posts"]
    return [post["record"]["text"] for post in found]


def test_version_2_leaves_out_what_is_excluded():
    sky = Sky(search_v2=True)
    own = [row for row in reversed(ROWS) if not row.text.startswith("RT")]
    assert texts(sky, query="*", excludeAuthors=sky.did("ann")) == [
        row.text for row in own if row.author.lower() != "ann"
    ]
    assert texts(sky, query="rust", excludeHashtags="rust") == []
    assert texts(sky, query="*", excludeReplies="true") == [row.text for row in own if row.answers is None]
    assert texts(sky, query="*", repliesOnly="true") == [row.text for row in own if row.answers is not None]
    assert texts(sky, query="rust", hasMedia="true") == []
    mentioned = texts(sky, query="*", excludeMentions=sky.handle("ann"))
    assert mentioned == [row.text for row in own if "ann" not in row.names]


def test_version_2_finds_the_answers_to_a_post():
    sky = Sky(search_v2=True)
    (first,) = (post for post in sky.ask(SEARCH_V2, query="cats", allTime="true")["posts"])
    (question,) = sky.ask(SEARCH_V2, query='"hey"', allTime="true")["posts"]
    assert texts(sky, replyParentUri=question["uri"]) == ["I agree"]
    assert texts(sky, replyParentUri=first["uri"]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"excludeReplies": "true", "repliesOnly": "true"},
        {"hasMedia": "1"},
        {"following": "true"},
        {"since": "yesterday"},
    ],
)
def test_version_2_refuses_what_it_does_not_know_or_serve(wrong):
    assert Sky(search_v2=True).error(SEARCH_V2, query="rust", **wrong)[0] == "InvalidRequest"


@pytest.mark.parametrize(("depth", "reached"), [(None, 57), (40, 40)])
def test_cursors_of_version_2_reach_all_posts_unless_it_is_said_so(depth, reached):
    sky = Sky(search_v2=True, search_v2_depth=depth, search_depth=20)
    token = session(sky)
    assert len(paged(sky, SEARCH_V2, query="rust", allTime="true", limit=20, token=token)) == reached
