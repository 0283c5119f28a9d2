"""The settings as data for forms: what is described can be written, and what has no effect is left out."""

import json

import pytest

import socialcrawl as sc
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.campaign.settings_schema import make_schema

KINDS = ("collect", "track", "refresh", "sample", "capture")
PLATFORMS = ("x", "bluesky", "mastodon", "web")


def describe(kind="collect", platform="x"):
    return {
        section["name"]: {key["name"]: key for key in section["keys"]}
        for section in sc.describe_settings(kind=kind, platform=platform)
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_that_is_described_can_be_written_with_its_default(kind):
    least = {"name": "a", "kind": kind} | ({"topic": {"keywords": ["sky"]}} if kind != "refresh" else {})
    given = {key: dict(value) if isinstance(value, dict) else value for key, value in least.items()}
    for section, keys in describe(kind).items():
        usual = {name: key["default"] for name, key in keys.items() if key["default"] is not None}
        own = given if not section else given.setdefault(section, {})
        own |= {name: value for name, value in usual.items() if name not in own}
    assert check_settings(given, "test").model_dump() == check_settings(least, "test").model_dump()


def test_the_kinds_together_describe_every_key_of_the_settings():
    found = {
        (section, name)
        for kind in KINDS
        for platform in PLATFORMS
        for section, keys in describe(kind, platform).items()
        for name in keys
    }
    known = set()
    for name, field in Settings.model_fields.items():
        inner = getattr(type(field.default), "model_fields", None)
        known |= {(name, one.alias or key) for key, one in inner.items()} if inner else {("", name)}
    assert found == known


def test_what_belongs_to_another_kind_or_platform_is_left_out_and_refused():
    assert "estimator" in describe()["crawl"]
    assert "estimator" not in describe("track")["crawl"]
    assert "topic" not in describe("refresh")
    assert "track" not in describe("sample")
    assert "search" in describe(platform="bluesky")["source"]
    assert "search" not in describe()["source"]
    given = {"name": "a", "topic": {"keywords": ["sky"]}, "source": {"search": "v2"}, "budget": {"max_money": 1}}
    with pytest.raises(sc.SettingsError, match="belongs to another platform"):
        make_plan(check_settings(given, "test"))


def test_types_bounds_and_choices_are_those_of_the_schema():
    keys = describe("capture")
    assert keys["capture"]["order"]["choices"] == ["newest", "oldest", "even"]
    assert keys["capture"]["parts"]["bounds"] == {"minimum": 1, "maximum": 10_000}
    assert keys["capture"]["ids"]["types"] == ["boolean"]
    keys = describe()
    assert (keys[""]["name"]["required"], keys[""]["seed"]["required"]) == (True, False)
    assert keys["crawl"]["refresh_rate"]["types"] == ["integer", "string"]
    assert keys["crawl"]["links"]["types"] == ["string", "array", "object"]
    assert keys["topic"]["languages"]["bounds"] == {"max_items": 10}
    assert {"adaptive", "bfs"} <= set(keys["crawl"]["estimator"]["suggestions"])
    assert keys["source"]["platform"]["suggestions"] == list(PLATFORMS)
    assert keys["source"]["tokens"]["schema"]["items"]["required"] == ["env"]
    assert keys["budget"]["max_money"]["in_template"]
    assert not keys["crawl"]["regressor"]["in_template"]


def test_every_description_is_that_of_the_schema_and_plain_json():
    schema = make_schema()
    described = sc.describe_settings(kind="track", platform="mastodon")
    assert json.loads(json.dumps(described)) == described
    assert "$ref" not in json.dumps(described)
    for section in described[1:]:
        keys = schema["$defs"][schema["properties"][section["name"]]["$ref"].rpartition("/")[2]]["properties"]
        for key in section["keys"]:
            assert (key["description"], key["default"]) == (
                keys[key["name"]].get("description", ""),
                keys[key["name"]].get("default"),
            )


@pytest.mark.parametrize("given", [{"kind": "wander"}, {"platform": "y"}, {"kind": 5}])
def test_an_unknown_kind_or_platform_is_refused(given):
    with pytest.raises(sc.SettingsError):
        sc.describe_settings(**given)
