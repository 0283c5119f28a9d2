"""Every answer of the mock in both vocabularies, against a hand-written schema and against X's own documents."""

import json
from functools import cache
from itertools import pairwise

import httpx
import jsonschema
import pytest
from shared_data import needed
from test_mock_world import START, posts_of, synthetic

from socialcrawl.mock.server import serve_in_thread

DOCUMENTS = {"tweet": "x-openapi-2.166-tweet-fields.json", "post": "x-openapi-2.167-post-fields.json"}
ALL = {
    "tweet": {
        "tweet.fields": "created_at,author_id,entities,referenced_tweets,conversation_id,lang,public_metrics,"
        "in_reply_to_user_id,note_tweet",
        "expansions": "author_id,entities.mentions.username,entities.note.mentions.username,referenced_tweets.id,"
        "referenced_tweets.id.author_id,in_reply_to_user_id",
        "user.fields": "created_at,protected,public_metrics,verified",
    },
    "post": {
        "post.fields": "created_at,entities,conversation_id,lang,public_metrics,note_post",
        "expansions": "author_id,entities.mentions.username,referenced_posts,in_reply_to_user_id",
        "user.fields": "created_at,protected,public_metrics,verified",
    },
}
OLD_PROBLEMS, NEW_PROBLEMS = "https://api.twitter.com/2/problems/", "https://api.x.com/2/problems/"


@pytest.fixture(scope="module")
def client():
    with (
        serve_in_thread(synthetic(), limit=100_000) as mock,
        httpx.Client(base_url=mock.url, headers={"Authorization": "Bearer x"}) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def ruined():
    """A mock where about half of 60 accounts is missing, each of which mentions and answers the next."""
    rows = [(f"n{i}", START + i, f"hi @n{i + 1} " + "long " * 60 * (i % 2), (f"n{i + 1}",)) for i in range(60)]
    rows += [(f"n{i}", START + 100 + i, f"RT @n{i + 1}: hi @n{i + 2}", (f"n{i + 1}",)) for i in range(58)]
    replies = [None, *(f"p{i}" for i in range(59)), *[None] * 58]
    posts = posts_of(rows, ids=[f"p{i}" for i in range(118)], reply_to=replies)
    with (
        serve_in_thread(posts, limit=100_000, missing=0.5) as mock,
        httpx.Client(base_url=mock.url, headers={"Authorization": "Bearer x"}) as client,
    ):
        yield client


def _id(client, name):
    return client.get(f"/2/users/by/username/{name}").json()["data"]["id"]


def _sweep(client, names, kind):
    """Answers of every endpoint: (path in the documents, answer)."""
    ask = ALL[kind]
    user = {"user.fields": ask["user.fields"], **({"post.fields": "id"} if kind == "post" else {})}
    lookup = client.get("/2/users/by", params={"usernames": ",".join(names), **user})
    yield "/2/users/by", lookup
    numbers = [user["id"] for user in lookup.json().get("data", [])]
    numbers += [e["value"] for e in client.get("/2/users", params={"ids": "1,2"}).json()["errors"]]
    yield "/2/users", client.get("/2/users", params={"ids": ",".join(numbers), **user})
    for name in names:
        yield "/2/users/by/username/{username}", client.get(f"/2/users/by/username/{name}", params=user)
    for number in numbers:
        yield "/2/users/{id}", client.get(f"/2/users/{number}", params=user)
        for kind_of_list in ("tweets", "mentions"):
            path = f"/2/users/{number}/{kind_of_list}"
            yield "/2/users/{id}/" + kind_of_list, client.get(path, params={"max_results": 100, **ask})
    # every word there is
    everything = "from:ann OR from:bob OR hi OR long OR rust"
    yield "/2/tweets/search/recent", client.get("/2/tweets/search/recent", params={"query": everything, **ask})
    buckets = {"search_count.fields": f"end,start,{kind}_count", "query": everything}
    yield "/2/tweets/counts/recent", client.get("/2/tweets/counts/recent", params=buckets)
    usage = {"post.fields": "id"} if kind == "post" else {}
    yield "/2/usage/tweets", client.get("/2/usage/tweets", params=usage)


NAMES = {"client": ["ann", "bob", "cy", "nobody", "unheard_of"], "ruined": [f"n{i}" for i in range(60)]}

_TEXT_ID = {"type": "string", "pattern": "^[0-9]{1,19}$"}
_ITEMS = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "object", "required": ["id"], "properties": {"id": _TEXT_ID}},
}
_PROBLEMS = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["type", "title", "detail", "value", "resource_id", "resource_type", "parameter"],
        "additionalProperties": {"type": "string", "minLength": 1},
    },
}


def _envelope(kind):
    """The envelope by hand: what may be there, and that nothing is empty or foreign."""
    own = {
        "users": {**_ITEMS, "items": {"type": "object", "required": ["id", "name", "username"]}},
        f"{kind}s": _ITEMS,
    }
    return {
        "type": "object",
        "minProperties": 1,
        "properties": {
            "data": {"anyOf": [{"type": "object", "minProperties": 1}, {"type": "array", "minItems": 1}]},
            "includes": {"type": "object", "minProperties": 1, "properties": own, "additionalProperties": False},
            "errors": _PROBLEMS,
            "meta": {
                "type": "object",
                "properties": {"result_count": {"type": "integer"}, f"total_{kind}_count": {"type": "integer"}},
                "additionalProperties": {"type": "string", "minLength": 1},
            },
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize("kind", ["tweet", "post"])
@pytest.mark.parametrize("town", ["client", "ruined"])
def test_every_answer_fits_the_envelope_and_speaks_one_vocabulary(request, town, kind):
    foreign = "post" if kind == "tweet" else "tweet"
    for _, answer in _sweep(request.getfixturevalue(town), NAMES[town], kind):
        assert answer.status_code == 200, answer.text
        jsonschema.validate(answer.json(), _envelope(kind))
        words = {word for key in _keys(answer.json()) for word in key.split("_")}
        assert not words & {foreign, foreign + "s", "retweet" if kind == "post" else "repost"}
        for problem in answer.json().get("errors", []):
            assert problem["type"].startswith(OLD_PROBLEMS if kind == "tweet" else NEW_PROBLEMS)


def _keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


@cache
def _official(kind):
    return _as_json_schema(json.loads(needed(f"reference/{DOCUMENTS[kind]}").read_text(encoding="utf-8")))


def _as_json_schema(node):
    """An OpenAPI 3.0 node as JSON Schema; without `nullable`, as the mock never sends a null."""
    if isinstance(node, list):
        return [_as_json_schema(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    return {key: _as_json_schema(inner) for key, inner in node.items() if key not in ("format", "example", "nullable")}


def _validator(kind, schema):
    document = _official(kind)
    return jsonschema.Draft7Validator({**schema, "components": document["components"]})


def _check_problem(kind, problem):
    """A problem against the very schema that the discriminator names for its type."""
    schema = _official(kind)["components"]["schemas"]["Problem"]
    _validator(kind, {"$ref": schema["discriminator"]["mapping"][problem["type"]]}).validate(problem)


@pytest.mark.parametrize("kind", ["tweet", "post"])
@pytest.mark.parametrize("town", ["client", "ruined"])
def test_every_answer_fits_the_official_document(request, town, kind):
    document, problems = _official(kind), set()
    for path, answer in _sweep(request.getfixturevalue(town), NAMES[town], kind):
        schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        _validator(kind, schema).validate(answer.json())
        _check_known_members(kind, schema, answer.json())
        for problem in answer.json().get("errors", []):
            _check_problem(kind, problem)
            problems.add(problem["title"])
    expected = {"Not Found Error"} if town == "client" else {"Not Found Error", "Forbidden", "Authorization Error"}
    assert problems == expected


def _check_known_members(kind, schema, value):
    """The documents forbid no members, so a misspelt one would pass: every posts' and users' member must be named."""
    schemas = _official(kind)["components"]["schemas"]
    includes = value.get("includes", {})
    data = value["data"] if isinstance(value.get("data"), list) else [value.get("data", {})]
    users = [*includes.get("users", []), *(item for item in data if "username" in item)]
    posts = [*includes.get("tweets", includes.get("posts", [])), *(item for item in data if "text" in item)]
    for items, name in ((users, "User"), (posts, "Tweet" if kind == "tweet" else "Post")):
        for item in items:
            assert set(item) <= set(schemas[name]["properties"])


@pytest.mark.parametrize("kind", ["tweet", "post"])
def test_a_refusal_fits_the_official_document(client, kind):
    ask = {"post.fields": "id"} if kind == "post" else {}
    answer = client.get("/2/users/1/tweets", params={"max_results": 3, **ask})
    assert answer.status_code == 400
    _check_problem(kind, answer.json())


def test_a_post_without_fields_is_id_text_and_history(client):
    path = f"/2/users/{_id(client, 'bob')}/tweets"
    old = client.get(path).json()["data"][0]
    assert set(old) == {"id", "text", "edit_history_tweet_ids"}
    assert old["edit_history_tweet_ids"] == [old["id"]]
    new = client.get(path, params={"post.fields": ""}).json()["data"][0]
    assert set(new) == {"id", "text", "edit_history_post_ids"}


def test_fields_of_the_other_vocabulary_and_unknown_ones_are_dropped_without_a_word(client):
    path = f"/2/users/{_id(client, 'bob')}/tweets"
    old = client.get(path, params={"tweet.fields": "lang,note_post,nonsense", "expansions": "referenced_posts"})
    assert set(old.json()["data"][0]) == {"id", "text", "lang", "edit_history_tweet_ids"}
    assert set(old.json()) == {"data", "meta"}
    new = client.get(
        path, params={"post.fields": "lang,author_id,referenced_posts", "expansions": "referenced_tweets.id"}
    )
    assert set(new.json()["data"][0]) == {"id", "text", "lang", "edit_history_post_ids"}


def test_in_the_new_vocabulary_authors_and_references_come_by_expansions(client):
    path = f"/2/users/{_id(client, 'bob')}/tweets"
    answer = client.get(path, params={"expansions": "author_id,referenced_posts,in_reply_to_user_id"}).json()
    _, retweet, reply = answer["data"]
    assert retweet["referenced_posts"][0]["type"] == "retweeted"
    assert reply["referenced_posts"] == [{"type": "replied_to", "id": retweet["referenced_posts"][0]["id"]}]
    assert reply["in_reply_to_user_id"] == _id(client, "ann")
    assert {user["username"] for user in answer["includes"]["users"]} == {"Ann", "bob"}
    assert [post["text"] for post in answer["includes"]["posts"]] == ["note 3 about rust #Rust"]


def test_long_texts_and_counts_have_the_names_of_their_vocabulary(client):
    path = f"/2/users/{_id(client, 'cy')}/tweets"
    old = client.get(path, params={"tweet.fields": "note_tweet,public_metrics", "max_results": 5}).json()["data"][1]
    new = client.get(path, params={"post.fields": "note_post,public_metrics", "max_results": 5}).json()["data"][1]
    assert old["note_tweet"] == new["note_post"]
    assert "retweet_count" in old["public_metrics"]
    assert "repost_count" in new["public_metrics"]
    count = {"query": "rust", "search_count.fields": "post_count"}
    assert client.get("/2/tweets/counts/recent", params=count).json()["meta"] == {"total_post_count": 57}
    user = {"user.fields": "public_metrics", "post.fields": "id"}
    assert client.get("/2/users/by/username/ann", params=user).json()["data"]["public_metrics"]["post_count"] == 58


def test_a_name_that_x_would_not_allow_is_shown_as_a_legal_one_everywhere(client):
    found = client.get("/2/tweets/search/recent", params={"query": "quite so", "expansions": "author_id"}).json()
    (user,) = found["includes"]["users"]
    assert user["name"] == "the.long-named_one_of_all"
    assert user["username"].startswith("thelongn_")
    again = client.get(f"/2/users/by/username/{user['username'].upper()}").json()["data"]
    assert again == user
    (post,) = client.get(f"/2/users/{user['id']}/tweets").json()["data"]
    assert post["text"] == "bob: quite so"


def test_missing_accounts_answer_as_on_x(ruined):
    found = {"suspended": [], "protected": [], "deleted": [], "here": []}
    for name in NAMES["ruined"]:
        answer = ruined.get(f"/2/users/by/username/{name}", params={"user.fields": "protected"}).json()
        if "data" in answer:
            found["protected" if answer["data"]["protected"] else "here"].append(answer["data"])
        else:
            (problem,) = answer["errors"]
            assert problem["value"] == problem["resource_id"] == name
            found["suspended" if problem["detail"] == f"User has been suspended: [{name}]." else "deleted"].append(
                problem
            )
    assert all(len(accounts) > 2 for accounts in found.values())
    assert {p["title"] for p in found["suspended"]} == {"Forbidden"}
    assert {p["detail"] for p in found["deleted"]} == {
        f"Could not find user with username: [{p['value']}]." for p in found["deleted"]
    }
    assert {p["type"] for p in found["suspended"] + found["deleted"]} == {OLD_PROBLEMS + "resource-not-found"}
    number = found["protected"][0]["id"]
    closed = ruined.get(f"/2/users/{number}/tweets").json()
    assert set(closed) == {"errors"}
    assert closed["errors"][0]["detail"] == f"Sorry, you are not authorized to see the user with id: [{number}]."
    assert closed["errors"][0]["type"] == OLD_PROBLEMS + "not-authorized-for-resource"
    unknown = ruined.get("/2/users/5/mentions").json()
    assert unknown["errors"][0]["detail"] == "Could not find user with id: [5]."
    names = ",".join(p["value"] for p in found["suspended"])
    assert {e["parameter"] for e in ruined.get("/2/users/by", params={"usernames": names}).json()["errors"]} == {
        "usernames"
    }


def test_the_posts_of_the_missing_are_not_among_mentions(ruined):
    world = {}
    for name in NAMES["ruined"]:
        user = ruined.get(f"/2/users/by/username/{name}", params={"user.fields": "protected"}).json().get("data")
        world[name] = user["id"] if user and not user["protected"] else None
    kept = lost = 0
    for before, name in pairwise(NAMES["ruined"]):
        if world[name]:
            page = ruined.get(f"/2/users/{world[name]}/mentions", params={"tweet.fields": "author_id"}).json()
            authors = {post["author_id"] for post in page.get("data", [])}
            assert authors == ({world[before]} if world[before] else set())
            kept, lost = kept + bool(authors), lost + (not authors)
    assert min(kept, lost) > 0


def test_a_page_with_missing_people_in_its_includes_is_still_a_page(ruined):
    seen = set()
    for name in NAMES["ruined"]:
        user = ruined.get(f"/2/users/by/username/{name}", params={"user.fields": "protected"}).json().get("data")
        if user is None or user["protected"]:
            continue
        page = ruined.get(f"/2/users/{user['id']}/tweets", params=ALL["tweet"]).json()
        assert page["meta"]["result_count"] == len(page["data"]) > 0
        assert {problem["section"] for problem in page.get("errors", [])} <= {"includes"}
        seen |= {problem["detail"].split(":")[0] for problem in page.get("errors", [])}
    assert seen == {
        "User has been suspended",
        "Could not find user with entities.mentions.username",
        "Could not find user with entities.note.mentions.username",
        "Could not find user with in_reply_to_user_id",
        "Could not find tweet with referenced_tweets.id",
        "Sorry, you are not authorized to see the tweet with referenced_tweets.id",
    }


TIMELINE, SEARCH, COUNTS = "/2/users/1/tweets", "/2/tweets/search/recent", "/2/tweets/counts/recent"


@pytest.mark.parametrize(
    ("path", "params", "said"),
    [
        (TIMELINE, {"max_results": 3}, "The `max_results` query parameter value [3] is not between 5 and 100"),
        (TIMELINE, {"max_results": "many"}, "The `max_results` query parameter value [many] is not between 5 and 100"),
        (TIMELINE, {"since_id": "x"}, "The `since_id` query parameter value [x] does not match ^[0-9]{1,19}$"),
        (TIMELINE, {"until_id": "-1"}, "The `until_id` query parameter value [-1] does not match ^[0-9]{1,19}$"),
        (TIMELINE, {"start_time": "2020-01-01"}, "The `start_time` query parameter value [2020-01-01] is not a valid RFC3339"),  # noqa: E501
        (TIMELINE, {"end_time": "soon"}, "The `end_time` query parameter value [soon] is not a valid RFC3339"),
        (
            TIMELINE,
            {"start_time": "2020-01-02T00:00:00Z", "end_time": "2020-01-01T00:00:00Z"},
            "The `start_time` query parameter value [2020-01-02T00:00:00Z] is not before `end_time`",
        ),
        (TIMELINE, {"exclude": "likes"}, "The `exclude` query parameter value [likes] is not one of [replies,retweets]"),  # noqa: E501
        (TIMELINE, {"pagination_token": "abcdefghijklmnop"}, "The `pagination_token` query parameter value [abcdefghijklmnop] is not valid"),  # noqa: E501
        (TIMELINE, {"next_token": "x"}, "The query parameter [next_token] is not one of ["),
        ("/2/users/abc/tweets", {}, "The `id` query parameter value [abc] does not match ^[0-9]{1,19}$"),
        ("/2/users/1,2", {}, "The `id` query parameter value [1,2] is not valid"),
        ("/2/users/by/username/a-b", {}, "The `username` query parameter value [a-b] does not match ^[A-Za-z0-9_]{1,15}$"),  # noqa: E501
        ("/2/users/by", {}, "The `usernames` query parameter can not be empty"),
        ("/2/users/by", {"usernames": "a,b-c"}, "The `usernames` query parameter value [b-c] does not match"),
        ("/2/users", {"ids": ",".join(map(str, range(101)))}, "has 101 values; the number must be between 1 and 100"),
        (SEARCH, {}, "The `query` query parameter can not be empty"),
        (SEARCH, {"query": "x" * 513}, "The `query` query parameter is longer than 512 characters"),
        (SEARCH, {"query": "cat", "max_results": 5}, "The `max_results` query parameter value [5] is not between 10 and 100"),  # noqa: E501
        (SEARCH, {"query": "(cat"}, "errors processing your request: Missing closing parenthesis (at position 5)"),
        (SEARCH, {"query": "cat", "next_token": "x"}, "The `next_token` query parameter value [x] is not valid"),
        (SEARCH, {"query": "cat", "start_time": "2010-01-01T00:00:00Z"}, "must be on or after 2023-"),
        (SEARCH, {"query": "cat", "end_time": "2030-01-01T00:00:00Z"}, "must be on or before 2023-"),
        (SEARCH, {"query": "cat", "start_time": "2030-01-01T00:00:00Z"}, "must be before 2023-"),
        (COUNTS, {"query": "cat", "granularity": "week"}, "The `granularity` query parameter value [week] is not one of"),  # noqa: E501
        ("/2/usage/tweets", {"days": 91}, "The `days` query parameter value [91] is not between 1 and 90"),
    ],
)  # fmt: skip
def test_an_invalid_parameter_is_named_in_the_official_shape(client, path, params, said):
    answer = client.get(path, params=params)
    assert answer.status_code == 400
    body = answer.json()
    assert (body["title"], body["type"]) == ("Invalid Request", OLD_PROBLEMS + "invalid-request")
    assert said in body["errors"][0]["message"]
    (name, values) = next(iter(body["errors"][0]["parameters"].items()))
    assert isinstance(values, list)
    assert name in {*params, "id", "username", "usernames", "query"}


def test_an_unknown_path_is_not_found(client):
    for answer in (client.get("/2/nothing"), client.post("/2/users")):
        assert answer.status_code == 404
        assert answer.json()["title"] == "Not Found"


@pytest.mark.parametrize(("granularity", "step"), [("minute", 60), ("hour", 3600), ("day", 86_400)])
def test_counts_fall_into_buckets_that_join(client, granularity, step):
    data = client.get(COUNTS, params={"query": "rust", "granularity": granularity}).json()["data"]
    assert [bucket["end"] for bucket in data[:-1]] == [bucket["start"] for bucket in data[1:]]
    assert sum(bucket["tweet_count"] for bucket in data) == 57
    assert 7 * 86_400 // step <= len(data) <= 7 * 86_400 // step + 1
