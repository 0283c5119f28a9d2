"""X's two official documents as judges of the mock: of every page, every refusal, and what may be asked.

`test_mock_answers` checks single answers; here are whole lists of a harder town, held against schemas that forbid what
they do not name, and the documents' own bounds of the parameters. The twin by hand never skips.
"""

import json
from functools import cache

import httpx
import jsonschema
import pytest
from mock_judges import (
    MISSING,
    POST_EXPANSIONS,
    POST_FIELDS,
    PROTECTED,
    SUSPENDED,
    TWEET_EXPANSIONS,
    TWEET_FIELDS,
    UNHEARD,
    Clock,
    Town,
)
from shared_data import needed

from socialcrawl.mock.server import serve_in_thread

TOWN = Town()
DOCUMENTS = {"tweet": "x-openapi-2.166-tweet-fields.json", "post": "x-openapi-2.167-post-fields.json"}
KINDS = pytest.mark.parametrize("kind", ["tweet", "post"])
USER_FIELDS = "created_at,protected,public_metrics,verified"
SHOWN = {
    "tweet": {"tweet.fields": ",".join(TWEET_FIELDS), "expansions": ",".join(TWEET_EXPANSIONS)},
    "post": {"post.fields": ",".join(POST_FIELDS), "expansions": ",".join(POST_EXPANSIONS)},
}
WORDS = {"tweet": {"tweet.fields": "id"}, "post": {"post.fields": "id"}}
COUNTED = {kind: {"search_count.fields": f"start,end,{kind}_count"} for kind in DOCUMENTS}
COUNTS, COUNTS_OF_ALL = "/2/tweets/counts/recent", "/2/tweets/counts/all"
SEARCHES = ("/2/tweets/search/recent", "/2/tweets/search/all")
PATHS = [
    *("/2/users", "/2/users/by", "/2/users/by/username/{username}", "/2/users/{id}"),
    *("/2/users/{id}/tweets", "/2/users/{id}/mentions", *SEARCHES, COUNTS, COUNTS_OF_ALL, "/2/usage/tweets"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return TOWN.file(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def client(file):
    with serve_in_thread(file, limit=100_000, missing=MISSING) as mock, client_of(mock) as client:
        yield client


@pytest.fixture(scope="module")
def answers(client):
    """What is answered to each kind of words: [(path in the documents, answer)]."""
    return {kind: [*_lists(client, kind), *_lookups(client, kind)] for kind in DOCUMENTS}


@pytest.fixture(scope="module")
def refusals(file):
    """One of each refusal for each kind of words: [(its key in REFUSALS, answer)]."""
    return {kind: list(_refusals(file, kind)) for kind in DOCUMENTS}


def client_of(mock, token="TOKEN"):
    return httpx.Client(base_url=mock.url, headers={"Authorization": f"Bearer {token}"}, timeout=20)


def _id(client, name):
    return client.get(f"/2/users/by/username/{name}").json()["data"]["id"]


def _lists(client, kind):
    """Every page of every list of posts: (path in the documents, answer)."""
    ids = [_id(client, name) for name in ("eve", "bob", "cy", "kim", PROTECTED)]
    lists = [(f"/2/users/{number}/{name}", name, 20) for number in ids for name in ("tweets", "mentions")]
    for path, name, size in [*lists, *((path, "search", 30) for path in SEARCHES)]:
        asked = {"max_results": size, "user.fields": USER_FIELDS, **SHOWN[kind]}
        if name == "search":
            asked["query"] = "harvest OR from:bob OR cats"
        while True:
            answer = client.get(path, params=asked)
            yield path if name == "search" else "/2/users/{id}/" + name, answer
            if not (token := answer.json().get("meta", {}).get("next_token")):
                break
            asked["pagination_token"] = token


def _lookups(client, kind):
    """The other endpoints: (path in the documents, answer)."""
    names = {"usernames": f"EVE,kim,{PROTECTED},{SUSPENDED},{UNHEARD}"}
    asked = {"user.fields": USER_FIELDS, **WORDS[kind]}
    yield "/2/users/by", (found := client.get("/2/users/by", params={**asked, **names}))
    ids = ",".join(user["id"] for user in found.json()["data"])
    yield "/2/users", client.get("/2/users", params={**asked, "ids": ids + ",17"})
    for name in ("eve", SUSPENDED, UNHEARD):
        yield "/2/users/by/username/{username}", client.get(f"/2/users/by/username/{name}", params=asked)
    for number in (*ids.split(","), "17"):
        yield "/2/users/{id}", client.get(f"/2/users/{number}", params=asked)
    for step in ("day", "hour"):
        for path, since in ((COUNTS, {}), (COUNTS_OF_ALL, {"start_time": "2023-09-01T00:00:00Z"})):
            asked = {"query": "harvest", "granularity": step, **since, **COUNTED[kind]}
            yield path, client.get(path, params=asked)
    yield "/2/usage/tweets", client.get("/2/usage/tweets", params=WORDS[kind] if kind == "post" else {})


def _plain(node):
    """An OpenAPI 3.0 node as JSON Schema; without `nullable`, as the mock never sends a null."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {key: _plain(one) for key, one in node.items() if key not in ("format", "example", "nullable")}


def _strict(node, *, part=False):
    """The same node where objects have no members but those they name; a part of an `allOf` does not name all."""
    if isinstance(node, list):
        return [_strict(one, part=part) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: _strict(one, part=key == "allOf") for key, one in node.items()}
    if isinstance(made.get("properties"), dict) and not part:
        made.setdefault("additionalProperties", False)
    return made


def _parts(node):
    """The names of the schemas that are parts of an `allOf`."""
    if isinstance(node, list):
        return {name for one in node for name in _parts(one)}
    if not isinstance(node, dict):
        return set()
    own = {one["$ref"].rsplit("/", 1)[1] for one in node.get("allOf", ()) if "$ref" in one}
    return own.union(*(_parts(one) for one in node.values()))


@cache
def _document(kind):
    return _plain(json.loads(needed(f"reference/{DOCUMENTS[kind]}").read_text(encoding="utf-8")))


@cache
def _validator(kind, path):
    """The validator of the answers of a path, strict but for problems, which are checked by their own type."""
    document = _document(kind)
    schemas = document["components"]["schemas"]
    parts = _parts(schemas)
    strict = {name: _strict(one, part=name in parts) for name, one in schemas.items()}
    strict["Problem"] = {"type": "object", "required": ["type", "title"]}
    schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    return jsonschema.Draft7Validator({**_strict(schema), "components": {"schemas": strict}})


@KINDS
def test_every_page_to_the_end_fits_the_official_document_and_has_no_other_member(answers, kind):
    seen = set()
    for path, answer in answers[kind]:
        seen.add(path)
        assert answer.status_code == 200, answer.text
        _validator(kind, path).validate(answer.json())
        assert all(_judged(kind, problem) for problem in answer.json().get("errors", []))
    assert seen == set(PATHS)


def _judged(kind, problem):
    """A problem against the schema that the document names for its type; whether it names one."""
    schemas = _document(kind)["components"]["schemas"]
    assert {"type", "title"} <= problem.keys()
    named = schemas["Problem"]["discriminator"]["mapping"].get(problem["type"])
    if named:
        jsonschema.Draft7Validator({"$ref": named, "components": {"schemas": schemas}}).validate(problem)
    return bool(named)


# What each refusal is: status, title, whether limits are told, and whether the documents of both kinds name its type.
REFUSALS = {
    400: ("Invalid Request", True, {"tweet", "post"}),
    401: ("Unauthorized", False, {"tweet"}),
    402: ("CreditsDepleted", False, set()),
    403: ("Unsupported Authentication", False, {"tweet"}),
    404: ("Not Found", False, {"tweet"}),
    429: ("Too Many Requests", True, {"tweet"}),
    4290: ("UsageCapExceeded", True, {"tweet"}),
}


def _refusals(file, kind):
    words = WORDS[kind]
    tokens = {"tokens": frozenset({"TOKEN"}), "user_tokens": frozenset({"USER"})}
    with serve_in_thread(file, time=Clock().time, limit=2, **tokens) as mock, client_of(mock) as client:
        number = _id(client, "eve")
        yield 400, client.get(f"/2/users/{number}/tweets", params={**words, "max_results": 101})
        yield 404, client.get("/2/lists/1", params=words)
        client.get(f"/2/users/{number}/tweets", params=words)
        yield 429, client.get(f"/2/users/{number}/tweets", params=words)
        with client_of(mock, "USER") as user, client_of(mock, "NOBODY") as nobody:
            yield 401, nobody.get(f"/2/users/{number}/tweets", params=words)
            yield 403, user.get(COUNTS, params={"query": "harvest", **COUNTED[kind]})
    with serve_in_thread(file, cap=0, credits=0.0) as mock, client_of(mock) as client:
        yield 402, client.get("/2/users/by/username/eve", params=words)
    with serve_in_thread(file, cap=0) as mock, client_of(mock) as client:
        yield 4290, client.get("/2/tweets/search/recent", params={"query": "harvest", **words})


def _check_refusal(key, answer):
    title, limited, _ = REFUSALS[key]
    body = answer.json()
    assert (answer.status_code, body["title"]) == (key if key < 1000 else key // 10, title)
    assert body.get("status", answer.status_code) == answer.status_code
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert ("x-rate-limit-reset" in answer.headers) == limited
    assert {"date", "api-version", "x-access-level"} <= set(answer.headers)


@KINDS
def test_every_refusal_fits_the_official_document(refusals, kind):
    seen = set()
    for key, answer in refusals[kind]:
        seen.add(key)
        _check_refusal(key, answer)
        assert _judged(kind, answer.json()) == (kind in REFUSALS[key][2])
    assert seen == set(REFUSALS)


# The twin by hand: the shapes that the documents have in common, in the words of either.

TEXT, ID, NUMBER = {"type": "string"}, {"type": "string", "pattern": "^[0-9]{1,19}$"}, {"type": "integer", "minimum": 0}
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}


def _object(needed_members, **others):
    return {
        "type": "object",
        "properties": {**needed_members, **others},
        "required": list(needed_members),
        "additionalProperties": False,
    }


def _several(items):
    return {"type": "array", "minItems": 1, "items": items}


SPAN = {"start": NUMBER, "end": NUMBER}
ENTITIES = {
    **_object(
        {},
        mentions=_several(_object({**SPAN, "username": TEXT}, id=ID)),
        hashtags=_several(_object({**SPAN, "tag": TEXT})),
        urls=_several(_object({**SPAN, "url": TEXT, "expanded_url": TEXT, "display_url": TEXT})),
    ),
    "minProperties": 1,
}
PROBLEM = {"type": "object", "required": ["type", "title", "detail"]}


def _post(kind):
    history, references, note = f"edit_history_{kind}_ids", f"referenced_{kind}s", f"note_{kind}"
    counts = ["reply_count", "like_count", "quote_count", "bookmark_count", "impression_count"]
    kinds = {"enum": ["retweeted", "replied_to", "quoted"]}
    return _object(
        {
            history: _several(ID),
            "id": ID,
            "text": {**TEXT, "maxLength": 280},
            "author_id": ID,
            "created_at": TIME,
            "conversation_id": ID,
            "lang": TEXT,
            "public_metrics": _object(
                dict.fromkeys(["retweet_count" if kind == "tweet" else "repost_count", *counts], NUMBER)
            ),
        },
        **{"entities": ENTITIES, note: _object({"text": TEXT}, entities=ENTITIES), "in_reply_to_user_id": ID},
        **{references: _several(_object({"type": kinds, "id": ID}))},
    )


def _user(kind):
    counts = ("followers_count", "following_count", f"{kind}_count", "listed_count")
    return _object(
        {"id": ID, "name": TEXT, "username": {**TEXT, "pattern": "^[A-Za-z0-9_]{1,15}$"}},
        created_at=TIME,
        protected={"type": "boolean"},
        verified={"type": "boolean"},
        public_metrics=_object(dict.fromkeys(counts, NUMBER)),
    )


@cache
def _twin(path, kind):
    return jsonschema.Draft7Validator(_shape(path, kind))


def _shape(path, kind):
    post, user, errors = _post(kind), _user(kind), _several(PROBLEM)
    if path in (COUNTS, COUNTS_OF_ALL):
        bucket = _object({"start": TIME, "end": TIME, f"{kind}_count": NUMBER})
        more = {} if path == COUNTS else {"next_token": TEXT}
        return _object({"data": _several(bucket), "meta": _object({f"total_{kind}_count": NUMBER}, **more)})
    if path == "/2/usage/tweets":
        number = NUMBER if kind == "tweet" else {**TEXT, "pattern": "^[0-9]+$"}
        days = {"type": "array", "items": _object({"date": TIME, "usage": number})}
        app = _object({"client_app_id": TEXT, "usage": days, "usage_result_count": NUMBER})
        project = _object({"project_id": number, "usage": days})
        caps = {"project_cap": number, "project_usage": number, "project_id": ID, "cap_reset_day": NUMBER}
        shown = {**caps, "daily_client_app_usage": _several(app), "daily_project_usage": project}
        return _object({"data": _object(shown)})
    if path in ("/2/users/by", "/2/users"):
        return _object({}, data=_several(user), errors=errors)
    if path.endswith(("username}", "/{id}")):
        return {**_object({}, data=user, errors=errors), "minProperties": 1}
    tokens = {"newest_id": ID, "oldest_id": ID, "next_token": TEXT}
    if path not in SEARCHES:  # a search is not read backwards
        tokens["previous_token"] = TEXT
    return _object(
        {},
        data=_several(post),
        meta=_object({"result_count": NUMBER}, **tokens),
        errors=errors,
        includes=_object({}, **{"users": _several(user), f"{kind}s": _several(post)}),
    )


@KINDS
def test_every_page_and_refusal_fits_the_twin_by_hand(answers, refusals, kind):
    for path, answer in answers[kind]:
        _twin(path, kind).validate(answer.json())
        assert ("data" in answer.json()) or answer.json().get("errors") or answer.json()["meta"] == {"result_count": 0}
    for key, answer in refusals[kind]:
        _check_refusal(key, answer)
        jsonschema.validate(answer.json(), {"type": "object", "required": ["type", "title", "detail"]})


@pytest.mark.parametrize(
    ("path", "name", "allowed", "forbidden"),
    [
        ("/2/tweets/search/recent", "sort_order", ["recency", "relevancy"], ["oldest", "recency,relevancy"]),
        ("/2/tweets/search/recent", "max_results", [10, 100], [9, 101]),
        ("/2/tweets/search/all", "max_results", [10, 500], [9, 501]),
        (COUNTS, "granularity", ["minute", "hour", "day"], ["week", "hour,day"]),
        (COUNTS_OF_ALL, "granularity", ["minute", "hour", "day"], ["week", "hour,day"]),
        ("/2/usage/tweets", "days", [1, 90], [0, 91]),
    ],
)
def test_words_and_numbers_beyond_the_bounds_are_refused_by_hand_as_well(client, path, name, allowed, forbidden):
    query = {} if name == "days" else {"query": "harvest"}
    statuses = [client.get(path, params={**query, name: value}).status_code for value in (*allowed, *forbidden)]
    assert statuses == [200] * len(allowed) + [400] * len(forbidden)


# What the documents say of the parameters, asked at the edge and beyond it.


@cache
def _parameters(kind, path):
    components = _document(kind)["components"]
    found = {}
    for one in _document(kind)["paths"][path]["get"]["parameters"]:
        parameter = components["parameters"][one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one
        schema = parameter["schema"]
        if "$ref" in schema:
            schema = components["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if parameter["in"] == "query":
            found[parameter["name"]] = schema
    return found


def _edges(name, schema):
    """Values that a schema allows, and values that it forbids."""
    if "minimum" in schema:
        low, high = schema["minimum"], schema["maximum"]
        return [low, high], [low - 1, high + 1, "many"]
    if name in ("start_time", "end_time"):
        return [], ["yesterday", "2023-11-14"]
    if "enum" in schema:
        return schema["enum"], ["nonsense", ",".join(schema["enum"])]
    if schema.get("pattern") == "^[0-9]{1,19}$":
        return ["1", "9" * 19], ["1" * 20, "x", "-1"]
    items = schema.get("items", {})
    if name == "exclude":
        return [*items["enum"], ",".join(items["enum"])], ["nonsense"]
    if "enum" in items:
        return [",".join(items["enum"])], []  # fields of the other words or unknown ones are dropped without a word
    if "maxItems" in schema:
        return [",".join(map(str, range(100)))], [",".join(map(str, range(101))), "a-b", ""]
    return [], []


REQUIRED = {"ids": "17", "usernames": "eve", "query": "harvest"}


@KINDS
@pytest.mark.parametrize("path", PATHS)
def test_what_the_document_allows_is_answered_and_what_it_forbids_is_refused(client, kind, path):
    place = path.replace("{username}", "eve").replace("{id}", _id(client, "eve"))
    parameters = _parameters(kind, path)
    needed_here = {name: value for name, value in REQUIRED.items() if name in parameters}
    tried = 0
    for name, schema in parameters.items():
        allowed, forbidden = _edges(name, schema)
        if (path, name) == ("/2/tweets/search/recent", "since_id"):
            allowed, forbidden = allowed[1:], [*forbidden, allowed[0]]  # of more than seven days ago, as X was seen to
        for value in allowed:
            answer = client.get(place, params={**needed_here, name: value})
            assert answer.status_code == 200, (name, value, answer.text)
        for value in forbidden:
            answer = client.get(place, params={**needed_here, name: value})
            assert answer.status_code == 400, (name, value)
            assert name in answer.json()["errors"][0]["parameters"]
        tried += len(allowed) + len(forbidden)
    assert tried >= 3
    assert client.get(place, params={**needed_here, "nonsense": "1"}).status_code == 400
