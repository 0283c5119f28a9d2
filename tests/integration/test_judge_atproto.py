"""The real `atproto` client reads the mock's Bluesky: what its models accept equals the file, and the recorded answers.

Its pydantic models are made from the official lexicons: they check every answer, and so are a schema here.
"""

import asyncio
import re
from datetime import UTC, datetime

import atproto
import httpx
import orjson
import pytest
from atproto import models
from atproto.exceptions import BadRequestError, RateLimitExceededError, UnauthorizedError
from bluesky_mock import BY_ID, NOW, ROWS, Row, Sky, serving, town
from pydantic import BaseModel
from shared_data import needed

from socialcrawl.mock.bluesky.service import SIGN_INS
from socialcrawl.mock.names import DELETED, PROTECTED, SUSPENDED

MISSING = {"dave": SUSPENDED, "nobody": DELETED, "gone": PROTECTED}


@pytest.fixture(scope="module")
def sky():
    made = Sky()
    for name, fate in MISSING.items():
        made.changes.become(made.row(name), fate)
    return made


@pytest.fixture(scope="module")
def url(sky):
    with serving(sky) as address:
        yield address


def client_of(url, **kwargs):
    return atproto.Client(base_url=url, request=atproto.Request(timeout=30, **kwargs))


@pytest.fixture(scope="module")
def client(url):
    made = client_of(url)
    made.login("bob.mock.social", "app-password")
    yield made
    made.request.close()


def paged(ask, kind, **query):
    """All entries of a list, page by page to the end."""
    found, cursor = [], None
    while True:
        page = ask({**query, **({"cursor": cursor} if cursor else {})})
        found += getattr(page, kind)
        cursor = page.cursor
        if cursor is None:
            return found


def second(text):
    return int(datetime.fromisoformat(text).timestamp())


def told(sky, item):
    """An item of a feed as a row of the file; ids stay behind, as a feed tells addresses."""
    record = item.post.record
    keys = {sky.did(key): key for key in sky.world.accounts.keys}
    named = [
        keys[feature.did]
        for facet in record.facets or ()
        for feature in facet.features
        if feature.py_type == "app.bsky.richtext.facet#mention"
    ]
    author = keys[item.post.author.did]
    if item.reason is not None:
        by = keys[item.reason.by.did]
        return Row("", by, second(item.reason.indexed_at), record.text, tuple(sorted({author, *named})), None), author
    answers = None if record.reply is None else keys[record.reply.parent.uri.split("/")[2]]
    return Row("", author, second(record.created_at), record.text, tuple(sorted(named)), answers), None


def written(row):
    """The same from the file: the author whom a reply answers, and the account whom a retweet repeats."""
    answers = BY_ID[row.answers].author.lower() if row.answers in BY_ID else row.answers
    match = re.match(r"RT @(\w+): (.*)", row.text)
    repeats = match[1].lower() if match and match[1].lower() in row.names else None
    text = match[2] if repeats else row.text
    return Row("", row.author.lower(), row.at, text, tuple(sorted(row.names)), answers), repeats


@pytest.mark.parametrize("size", [3, 100])
@pytest.mark.parametrize("name", ["ann", "bob", "cy", "the.long-named_one_of_all"])
def test_author_feeds_to_the_end_equal_the_file(sky, client, name, size):
    items = paged(client.app.bsky.feed.get_author_feed, "feed", actor=sky.did(name), limit=size)
    own = [written(row) for row in reversed(ROWS) if row.author.lower() == name]
    assert [told(sky, item) for item in items] == [one for one in own if one[1] not in MISSING]


def test_posts_are_fetched_by_their_addresses_and_those_that_are_gone_are_left_out(sky, client):
    shown = [item.post for item in client.get_author_feed(sky.did("ann"), limit=20).feed]
    gone = [f"at://{sky.did('dave')}/app.bsky.feed.post/3k2222222222a", f"{shown[0].uri[:-1]}z"]
    posts = client.get_posts([*gone, *(post.uri for post in shown)]).posts
    assert [post.model_dump() for post in posts] == [post.model_dump() for post in shown]
    assert client.get_posts(gone).posts == []


def test_mentions_stand_at_their_bytes_for_the_client(sky, client):
    item = client.get_author_feed(sky.did("bob")).feed[-1]
    raw = item.post.record.text.encode()
    shown = [raw[facet.index.byte_start : facet.index.byte_end].decode() for facet in item.post.record.facets]
    assert shown == ["@ann", "@nobody", "https://example.org/a_b?c=1"]


def test_the_client_is_who_signed_in_and_its_session_can_be_brought_back(sky, url, client):
    assert (client.me.did, client.me.handle, client.me.posts_count) == (sky.did("bob"), "bob.mock.social", 3)
    again = client_of(url)
    assert again.login(session_string=client.export_session_string()).did == sky.did("bob")
    assert again.com.atproto.server.get_session().did == sky.did("bob")
    again.request.close()


def test_an_old_session_is_renewed_by_the_client_itself():
    # The client renews what ends within 15 minutes.
    sky = Sky(access_seconds=600)
    with serving(sky) as url:
        client = client_of(url)
        seen = []
        client.on_session_change(lambda event, session: seen.append((event.value, session.access_jwt)))
        client.login("ann.mock.social", "x")
        client.request.close()
    assert [event for event, _ in seen] == ["create", "refresh"]
    assert seen[0][1] != seen[1][1]


def test_profiles_follows_and_followers_equal_the_file(sky, client):
    profile = client.get_profile("cy.mock.social")
    assert (profile.display_name, profile.posts_count, profile.followers_count) == ("cy", 5, 0)
    there = client.get_profiles([sky.did(name) for name in ("ann", "bob", "nobody", "dave")]).profiles
    assert [one.handle for one in there] == ["ann.mock.social", "bob.mock.social"]
    follows = paged(client.app.bsky.graph.get_follows, "follows", actor=sky.did("cy"), limit=1)
    assert [one.did for one in follows] == [sky.did(name) for name in ("bob", "ann", "gone")]
    followers = paged(client.app.bsky.graph.get_followers, "followers", actor=sky.did("ann"), limit=1)
    assert [one.did for one in followers] == [sky.did("bob"), sky.did("cy")]
    assert client.resolve_handle("ann.mock.social").did == sky.did("ann")
    found = client.app.bsky.actor.search_actors({"q": "ann"}).actors
    assert [actor.did for actor in found] == [sky.did("ann")]
    listed = client.app.bsky.graph.get_list({"list": f"at://{sky.did('bob')}/app.bsky.graph.list/3k2222222222a"})
    assert [item.subject.did for item in listed.items] == [sky.did("ann")]


def test_search_to_the_end_equals_the_file(client):
    posts = paged(client.app.bsky.feed.search_posts, "posts", q="rust", limit=25)
    want = [row for row in ROWS if "rust" in row.text and row.author == "Ann"]
    assert [(post.record.text, second(post.record.created_at)) for post in posts] == [
        (row.text, row.at) for row in reversed(want)
    ]


@pytest.mark.parametrize(
    ("name", "error"), [("dave", "AccountTakedown"), ("gone", "BlockedByActor"), ("nobody", "InvalidRequest")]
)
def test_who_is_missing_is_a_bad_request_with_the_reason(sky, client, name, error):
    with pytest.raises(BadRequestError) as refusal:
        client.get_author_feed(sky.did(name))
    assert refusal.value.response.content.error == error


def test_a_wrong_password_is_unauthorized():
    with serving(Sky(passwords={"bob.mock.social": "right"})) as url:
        client = client_of(url)
        with pytest.raises(UnauthorizedError, match="AuthenticationRequired"):
            client.login("bob.mock.social", "wrong")
        client.request.close()


def test_the_client_meets_a_429_with_all_its_headers(sky):
    with serving(Sky(limit=3, window=200.0)) as url:
        client = client_of(url)
        before = datetime.now(UTC).timestamp()
        for _ in range(3):
            client.get_profile("ann.mock.social")
        with pytest.raises(RateLimitExceededError, match="RateLimitExceeded: Rate Limit Exceeded") as refusal:
            client.get_profile("ann.mock.social")
        after = datetime.now(UTC).timestamp()
        client.request.close()
    met = refusal.value
    assert (met.limit, met.remaining, met.policy) == (3, 0, "3;w=200")
    assert int(before + 200) <= met.reset_at.timestamp() <= after + 200
    assert 200 - (after - before) <= met.retry_after <= 200
    assert abs(met.retry_after - (met.reset_at.timestamp() - after)) < 2 + (after - before)


def test_sign_ins_are_limited_per_account(sky):
    with serving(Sky()) as url:
        most, period = SIGN_INS[0]
        address = f"{url}/xrpc/com.atproto.server.createSession"
        with httpx.Client() as session:
            bodies = [{"identifier": "ann.mock.social", "password": "x"}] * (most + 1)
            answers = [session.post(address, json=body) for body in bodies]
            other = session.post(address, json={"identifier": "bob.mock.social", "password": "x"})
    assert [answer.status_code for answer in answers] == [200] * most + [429]
    assert answers[-1].headers["ratelimit-policy"] == f"{most};w={period:g}"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= period
    assert other.status_code == 200


def test_the_asynchronous_client_reads_the_same(sky, url):
    async def read():
        client = atproto.AsyncClient(base_url=url)
        await client.login("cy.mock.social", "app-password")
        items, cursor = [], None
        while True:
            page = await client.get_author_feed(sky.did("ann"), cursor=cursor, limit=20)
            items += page.feed
            cursor = page.cursor
            if cursor is None:
                break
        found = await client.app.bsky.feed.search_posts({"q": "cats"})
        follows = await client.get_follows(sky.did("bob"))
        await client.request.close()
        return items, found.posts, follows.follows

    items, found, follows = asyncio.run(read())
    assert [told(sky, item) for item in items] == [
        written(row) for row in reversed(ROWS) if row.author.lower() == "ann"
    ]
    assert [post.record.text for post in found] == [BY_ID["b2"].text]
    assert [one.did for one in follows] == [sky.did("ann")]


# The shapes of recorded answers.


def recorded(name):
    """The JSON values in a recorded answer, or in a file of such (as the official tests keep them)."""
    text = needed(f"reference/samples/{name}").read_text(encoding="utf-8")
    if name.endswith(".json"):
        return [orjson.loads(text)]
    cells = re.findall(r"^exports\[.*?\] = `\n(.*?)\n`;$", text, re.DOTALL | re.MULTILINE)
    return [orjson.loads(re.sub(r",(\s*[\]}])", r"\1", cell.replace("\\\\", "\\"))) for cell in cells]


def kinds(value, path="", found=None):
    """The types of all that is in a JSON value, by path; entries of lists share one."""
    found = {} if found is None else found
    found.setdefault(path, set()).add(type(value).__name__)
    if isinstance(value, dict):
        for key, inner in value.items():
            kinds(inner, f"{path}.{key}", found)
    elif isinstance(value, list):
        for inner in value:
            kinds(inner, f"{path}[]", found)
    return found


def shapes(values):
    found = {}
    for value in values:
        kinds(value, "", found)
    return found


def always(values):
    """The keys that every one of these objects has."""
    return set.intersection(*(set(value) for value in values))


def own(value, known):
    """The types in a mock's answer at paths that the recorded ones have, and the paths that they lack."""
    mine = kinds(value)
    return {path: mine[path] - known[path] for path in mine.keys() & known.keys()}, sorted(mine.keys() - known.keys())


def test_items_of_feeds_have_the_keys_and_types_of_the_recorded_ones(sky):
    items = [item for cell in recorded("bsky_appview_author-feed.snap") if isinstance(cell, list) for item in cell]
    items = [item for item in items if isinstance(item, dict) and "post" in item]
    assert len(items) > 10
    known = shapes(items)
    body = {"identifier": "bob.mock.social", "password": "x"}
    token = sky.ask("com.atproto.server.createSession", body=body)["accessJwt"]
    for name in ("ann", "bob", "cy"):
        for item in sky.ask("app.bsky.feed.getAuthorFeed", actor=sky.did(name), limit=100, token=token)["feed"]:
            other, lacking = own(item, known)
            assert not any(other.values()), other
            # The recorded posts lack what only some posts have, and their reposter no profile; the lexicons have it.
            lacking = [path.replace(".reason.by", ".post.author") for path in lacking]
            assert [
                path for path in lacking if path not in known and not re.search("facets|langs|notFound", path)
            ] == []
            posts = [one["post"] for one in items]
            assert always(posts) <= item["post"].keys()
            assert always([one["author"] for one in posts]) - {"avatar"} <= item["post"]["author"].keys()
            assert always([one["record"] for one in posts]) <= item["post"]["record"].keys()


def test_profiles_and_follows_have_the_keys_and_types_of_the_recorded_ones(sky):
    session = sky.ask("com.atproto.server.createSession", body={"identifier": "bob.mock.social", "password": "x"})
    token = session["accessJwt"]
    cells = recorded("bsky_appview_profile.snap")
    profiles = [one for cell in cells for one in (cell if isinstance(cell, list) else [cell]) if "did" in one]
    mine = sky.ask("app.bsky.actor.getProfile", actor=sky.did("ann"), token=token)
    other, lacking = own(mine, shapes(profiles))
    assert (any(other.values()), lacking) == (False, [])
    assert always(profiles) - {"avatar"} <= mine.keys()
    follows = [
        cell for cell in recorded("bsky_appview_follows.snap") + recorded("bsky_get_follows.json") if "follows" in cell
    ]
    mine = sky.ask("app.bsky.graph.getFollows", actor=sky.did("cy"), token=token)
    other, lacking = own(mine, shapes(follows))
    assert (any(other.values()), lacking) == (False, [])
    people = [one for cell in follows for one in cell["follows"]]
    assert always(people) - {"avatar"} <= mine["follows"][0].keys()


def strangers(value):
    """The fields that the lexicons do not know, of models within models."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or ()
        value = [getattr(value, name) for name in type(value).model_fields]
    if isinstance(value, list):
        for inner in value:
            yield from strangers(inner)


@pytest.mark.parametrize("signed_in", [False, True])
def test_every_answer_satisfies_the_lexicons_in_full(sky, signed_in):
    """The twin of the two above that needs no recorded answer: the models, told to check formats too."""
    from atproto_client.models.string_formats import _OPT_IN_KEY

    body = {"identifier": "bob.mock.social", "password": "x"}
    token = sky.ask("com.atproto.server.createSession", body=body)["accessJwt"] if signed_in else None
    uri = f"at://{sky.did('bob')}/app.bsky.graph.list/3k2222222222a"
    asked = [
        *(
            ("app.bsky.feed.getAuthorFeed", "AppBskyFeedGetAuthorFeed", {"actor": sky.did(n)})
            for n in ("ann", "bob", "cy")
        ),
        ("app.bsky.feed.searchPosts", "AppBskyFeedSearchPosts", {"q": "rust OR hey"}),
        ("app.bsky.feed.getPosts", "AppBskyFeedGetPosts", {"uris": f"at://{sky.did('ann')}/app.bsky.feed.post/x"}),
        ("app.bsky.actor.getProfiles", "AppBskyActorGetProfiles", {"actors": sky.did("gone")}),
        ("app.bsky.actor.searchActors", "AppBskyActorSearchActors", {"q": "o"}),
        ("app.bsky.graph.getFollows", "AppBskyGraphGetFollows", {"actor": sky.did("cy")}),
        ("app.bsky.graph.getFollowers", "AppBskyGraphGetFollowers", {"actor": sky.did("ann")}),
        ("app.bsky.graph.getList", "AppBskyGraphGetList", {"list": uri}),
        ("com.atproto.identity.resolveHandle", "ComAtprotoIdentityResolveHandle", {"handle": "ann.mock.social"}),
    ]
    for method, model, query in asked:
        answer = sky.ask(method, token=token, **query)
        read = getattr(models, model).Response.model_validate(answer, context={_OPT_IN_KEY: True})
        assert not list(strangers(read))


def test_formats_and_fields_are_checked_by_that_schema(sky):
    """So that the test above can fail."""
    from atproto_client.models.string_formats import _OPT_IN_KEY

    feed = sky.ask("app.bsky.feed.getAuthorFeed", actor=sky.did("bob"))
    feed["feed"][0]["post"]["author"]["nickname"] = "b"
    assert list(strangers(models.AppBskyFeedGetAuthorFeed.Response.model_validate(feed))) == ["nickname"]
    wrong = {"did": "did plc x"}
    with pytest.raises(ValueError, match="DID"):
        models.ComAtprotoIdentityResolveHandle.Response.model_validate(wrong, context={_OPT_IN_KEY: True})


def test_a_file_of_another_town_is_served_alike(tmp_path):
    sky = Sky(town([Row("1", "Żółw", 1_600_000_000, "RT @żółw: again, from 🐢", ("żółw",))]))
    with serving(sky) as url:
        client = client_of(url)
        (item,) = client.get_author_feed(sky.did("żółw")).feed
        client.request.close()
    assert (item.reason.by.did, item.post.author.did, item.post.record.text) == (
        sky.did("żółw"),
        sky.did("żółw"),
        "again, from 🐢",
    )
    assert NOW > second(item.reason.indexed_at) == 1_600_000_000


def test_the_client_searches_within_times_page_by_page_and_finds_version_2_only_where_it_is_enabled():
    sky = Sky(search_depth=40, search_v2=True)
    since, until = "2023-11-14T22:23:20Z", "2023-11-14T23:00:20Z"
    with serving(sky) as url, serving(Sky()) as without:
        client, other = client_of(url), client_of(without)
        client.login("bob.mock.social", "app-password")
        search = client.app.bsky.feed.search_posts
        found = paged(search, "posts", q="rust", sort="latest", since=since, until=until, limit=20)
        later = paged(search, "posts", q="rust", sort="latest", limit=20)
        newer = paged(
            client.app.bsky.feed.search_posts_v2, "posts", query="rust", all_time=True, sort="recent", limit=20
        )
        others = client.app.bsky.feed.search_posts_v2(
            {"query": "*", "all_time": True, "sort": "recent", "limit": 100, "exclude_authors": [sky.did("ann")]}
        )
        answers = client.app.bsky.feed.search_posts_v2({"query": "*", "all_time": True, "replies_only": True})
        with pytest.raises(BadRequestError) as refused:
            other.app.bsky.feed.search_posts_v2({"query": "rust"})
        client.request.close()
        other.request.close()
    times = [second(post.record.created_at) for post in found]
    wanted = [row.at for row in reversed(ROWS) if "rust" in row.text and second(since) <= row.at < second(until)]
    assert times == wanted
    assert (len(later), len(newer)) == (40, 57), "no bound is documented for cursors of version 2"
    own = [row for row in reversed(ROWS) if not row.text.startswith("RT")]
    assert [post.record.text for post in others.posts] == [row.text for row in own if row.author.lower() != "ann"]
    assert others.hits_total == len(others.posts)
    assert [post.record.text for post in answers.posts] == [row.text for row in own if row.answers is not None]
    assert refused.value.response.content.message == "Search v2 is not enabled"
