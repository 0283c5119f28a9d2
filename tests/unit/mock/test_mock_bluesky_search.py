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
