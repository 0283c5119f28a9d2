"""The HTTP API of campaign files: described, typed, and careful with what programs send."""

import json
import tomllib

import pytest
from campaign_forms import FILE, write_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from web_pages import TOKEN, serving

import socialcrawl as sc

BEARER = {"authorization": f"Bearer {TOKEN}"}
SECRET = "AAAAAAAAAAAAAAAAAAAAAMLheAAAAAAA0%2BuSeid%2BULvsea4JtiGRiSDSJSI"
JSON_BEARER = BEARER | {"content-type": "application/json"}
API = "/api/v1"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("edit")


@pytest.fixture(scope="module")
def client(place):
    write_file(place)
    with serving(place) as made:
        yield made


@pytest.fixture
def file(place, client):
    yield write_file(place)
    for path in place.glob("*.toml"):
        path.unlink()
    write_file(place)


def read_file(client, name="sky"):
    campaigns = client.get(f"{API}/campaigns").json()["campaigns"]
    key = next(one["key"] for one in campaigns if one["name"] == name)
    return f"{API}/campaigns/{key}/file", client.get(f"{API}/campaigns/{key}/file").json()


def test_settings_are_those_of_the_python_api(client):
    found = client.get(f"{API}/settings", params={"kind": "track", "platform": "bluesky"}).json()
    assert found["sections"] == sc.describe_settings("track", "bluesky")
    wrong = client.get(f"{API}/settings", params={"kind": "juggle"})
    assert (wrong.status_code, wrong.headers["content-type"]) == (422, "application/problem+json")


def test_a_file_is_read_changed_and_refused_when_somebody_else_has_changed_it(client, file):
    path, seen = read_file(client)
    assert seen["values"] == tomllib.loads(FILE)
    assert (seen["begun"], "source.platform" in seen["fixed"]) == (False, True)
    change = {"digest": seen["digest"], "values": {"budget": {"max_money": 9, "max_requests": 100}, "seed": 4}}
    done = client.patch(path, json=change, headers=BEARER).json()
    wanted = tomllib.loads(FILE)
    wanted["budget"] = {"max_money": 9, "max_requests": 100}
    assert done["values"] == wanted | {"seed": 4}
    assert "# as we agreed" in file.read_text("utf-8")
    late = client.patch(path, json=change, headers=BEARER)
    assert (late.status_code, late.headers["content-type"]) == (409, "application/problem+json")
    assert "was changed since you have seen it" in late.json()["detail"]
    again = {"digest": done["digest"], "values": {"seed": None}}
    assert "seed" not in client.patch(path, json=again, headers=BEARER).json()["values"]


def test_a_campaign_is_created_once(client, file, place):
    values = {"name": "moon", "topic": {"keywords": ["moon"]}, "source": {"platform": "bluesky"}}
    done = client.post(f"{API}/campaigns", json={"values": values}, headers=BEARER)
    assert (done.status_code, done.json()["campaign"]["name"]) == (201, "moon")
    assert sc.Campaign.load(place / "moon.toml").settings["topic"]["keywords"] == ["moon"]
    again = client.post(f"{API}/campaigns", json={"values": values}, headers=BEARER)
    assert (again.status_code, again.json()["problems"][0]["key"]) == (422, "name")


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"crawl": {"steps": -1}}, "crawl.steps"),
        ({"crawl": {"steps": "many"}}, "crawl.steps"),
        ({"topic": {"keywords": "moon"}}, "topic.keywords"),
        ({"topic": 3}, "topic"),
        ({"budget": {"max_money": float("nan")}}, "budget.max_money"),
        ({"name": "../moon"}, "name"),
        ({"nothing": 1}, "nothing"),
        ({"notify": {"command": ["rm"]}}, "notify.command"),
        ({"crawl": {"estimator": "os:system"}}, "crawl.estimator"),
        ({"seeds": {"file": "/etc/passwd"}}, "seeds.file"),
        ({"database": "postgresql://me@db.example/x"}, "database"),
        ({"source": {"token_env": SECRET}}, "source.token_env"),
        ({"source": {"contact": SECRET}}, "source.contact"),
    ],
)
def test_wrong_values_are_named_by_their_key_and_write_nothing(client, file, place, values, key):
    path, seen = read_file(client)
    new = {"name": "moon", "topic": {"keywords": ["moon"]}} | values
    answers = [
        client.post(f"{API}/campaigns", content=dump({"values": new}), headers=JSON_BEARER),
        client.post(f"{API}/quote", content=dump({"values": new}), headers=JSON_BEARER),
    ]
    if key != "name":
        answers.append(
            client.patch(path, content=dump({"digest": seen["digest"], "values": values}), headers=JSON_BEARER)
        )
    for answer in answers:
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        assert key in [one["key"] for one in answer.json()["problems"]]
        assert SECRET not in answer.text
    assert file.read_text("utf-8") == FILE
    assert [one.name for one in place.glob("*.toml")] == ["sky.toml"]


def dump(value):
    """JSON as Python writes it, which takes numbers that are none."""
    return json.dumps(value)


def test_a_quote_is_that_of_the_python_api(client, file):
    path, _ = read_file(client)
    key = path.split("/")[-2]
    asked = {"campaign": key, "values": {"crawl": {"steps": 90}}}
    found = client.post(f"{API}/quote", json=asked, headers=BEARER).json()
    changed = sc.CampaignFile.load(file)
    changed.set("crawl", "steps", 90)
    wanted = changed.to_campaign().quote(curve=True)
    assert (found["text"], found["values"]) == (wanted.text, wanted.to_dict())
    assert found["variables"] == changed.to_campaign().variables
    assert file.read_text("utf-8") == FILE


def test_a_preview_says_where_texts_match(client, file):
    asked = {"texts": ["The Moon!", "Rain", "Im Café: MOON"], "keywords": ["moon"], "patterns": ["caf."]}
    found = client.post(f"{API}/preview", json=asked, headers=BEARER).json()
    assert (found["matching"], found["examined"]) == (2, 3)
    assert [one["spans"] for one in found["matches"]] == [[[4, 8]], [[3, 7], [9, 13]]]
    path, _ = read_file(client)
    none = client.post(f"{API}/preview", json={"campaign": path.split("/")[-2], "keywords": ["a"]}, headers=BEARER)
    assert (none.status_code, "has not begun" in none.json()["detail"]) == (409, True)
    for wrong in ({}, {"texts": ["a"]}, {"texts": ["a"], "patterns": ["("]}, {"texts": ["a"] * 21, "keywords": ["a"]}):
        assert client.post(f"{API}/preview", json=wrong, headers=BEARER).status_code == 422
    assert client.post(f"{API}/preview", json={"campaign": "none-0"}, headers=BEARER).status_code == 404


def test_without_the_token_nothing_is_done(client, file):
    path, seen = read_file(client)
    change = {"digest": seen["digest"], "values": {"seed": 4}}
    for method, where, body in (
        ("PATCH", path, change), ("POST", f"{API}/campaigns", {"values": {"name": "moon"}}),
        ("POST", f"{API}/quote", {}), ("POST", f"{API}/preview", {}),
    ):  # fmt: skip
        assert client.request(method, where, json=body).status_code == 401
        assert client.request(method, where, json=body, headers={"x-csrf-token": "0"}).status_code == 401
    assert file.read_text("utf-8") == FILE


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["topic", "budget", "source", "notify", "crawl", "seeds", "name", "seed", "keywords", "a.b", ""]
)
VALUES = st.dictionaries(NAMES, JSON | st.dictionaries(NAMES | st.text(max_size=8), JSON, max_size=3), max_size=3)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(values=VALUES)
def test_whatever_values_are_sent_the_answer_is_one_of_those_that_are_described(client, file, values):
    path, seen = read_file(client)
    for method, where, body in (
        ("POST", f"{API}/quote", {"values": {"name": "moon", "topic": {"keywords": ["moon"]}} | values}),
        ("PATCH", path, {"digest": seen["digest"], "values": values}),
    ):
        answer = client.request(method, where, content=dump(body), headers=JSON_BEARER)
        assert answer.status_code in (200, 409, 422), answer.text
    tomllib.loads(file.read_text("utf-8"))
    write_file(file.parent)
