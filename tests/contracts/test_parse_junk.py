import json

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import needed
from test_parse import BOTH, long, post_of, problem

from socialcrawl.platforms.x import parse
from socialcrawl.platforms.x.vocabulary import TWEET

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["mentions", "type", "id", "text", "tag", "users", "entities"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
WRONG = (KeyError, TypeError, AttributeError, parse.FieldsMissingError)  # what the wire makes `lost` or `invalid`
PLAIN = (str, int, bool, type(None))


def storable(value):
    return type(value) in PLAIN and not (type(value) is int and value >= 2**63)


@BOTH
@given(data=st.data())
@settings(max_examples=many(150), deadline=None)
def test_junk_in_a_post_is_refused_as_such_or_can_be_stored(words, data):
    names = ["id", "text", "author_id", "lang", "created_at", "conversation_id", "public_metrics", "entities"]
    names += ["in_reply_to_user_id", words.references, words.note]
    given = post_of(words) | data.draw(st.dictionaries(st.sampled_from(names), JUNK, max_size=3))
    payload = {"data": [given]} | data.draw(st.dictionaries(st.sampled_from(["data", "includes", "meta"]), JUNK))
    author = data.draw(st.sampled_from([None, "1"]))
    try:
        page = parse.parse_posts(
            payload, words, lambda text, lang, created_at, urls=None: len(text.lower()), author=author, keep=True
        )
        parse.find_cursor(payload)
    except WRONG:
        return
    assert all(storable(value) for row in [*page.posts, *page.accounts] for value in row)
    assert all(type(row.id) is str and type(row.author) is str for row in page.posts)
    assert all(type(name) in (str, type(None)) for mention in page.mentions for name in mention.who)


@given(data=st.data())
@settings(max_examples=many(100), deadline=None)
def test_junk_in_a_profile_or_an_error_is_refused_as_such_or_can_be_stored(data):
    fields = ["id", "username", "name", "description", "public_metrics", "protected", "verified", "url"]
    user = {"id": "1", "username": "ann"} | data.draw(st.dictionaries(st.sampled_from(fields), JUNK, max_size=3))
    parts = ["resource_type", "section", "resource_id", "value", "detail", "type", "parameter"]
    error = problem() | data.draw(st.dictionaries(st.sampled_from(parts), JUNK, max_size=3))
    payload = {"data": [user], "errors": [error]} | data.draw(
        st.dictionaries(st.sampled_from(["data", "errors"]), JUNK, max_size=1)
    )
    try:
        page = parse.parse_users(payload, TWEET)
    except WRONG:
        return
    assert all(storable(value) for row in page.accounts for value in row)
    assert all(type(name) in (str, type(None)) for who, _ in page.missing for name in who)


SAMPLES = ["x_v2_users_id_tweets", "x_v2_users_id_tweets_async", "x_v2_users_id_mentions", "x_v2_search_recent"]


def recorded(name):
    body = json.loads(needed(f"reference/samples/{name}.json").read_text())["response"]["body"]
    text = body.get("string", body) if isinstance(body, dict) else body
    return json.loads(text) if isinstance(text, str) else text


@pytest.mark.parametrize("name", [*SAMPLES, "x_v2_search_all", "x_v2_home_timeline"])
def test_recorded_posts_parse_once_the_fields_are_there(name):
    payload = recorded(name)
    with pytest.raises(parse.FieldsMissingError):  # they were recorded without asking for fields
        parse.parse_posts(payload, TWEET, long)
    asked = {"author_id": "1", "conversation_id": "1", "created_at": "2026", "public_metrics": {}}
    page = parse.parse_posts({**payload, "data": [{**asked, **post} for post in payload["data"]]}, TWEET, long)
    assert [row.id for row in page.posts] == [post["id"] for post in payload["data"]]
    assert parse.find_cursor(payload) == payload.get("meta", {}).get("next_token")


def test_recorded_users_and_partial_errors_parse():
    payload = recorded("x_v2_users_by")
    assert [row.id for row in parse.parse_users(payload, TWEET).accounts] == [user["id"] for user in payload["data"]]
    shapes = json.loads(needed("reference/samples/x_error_envelopes.json").read_text())
    reasons = {
        name: parse.list_missing(shape["body"]["errors"]) for name, shape in shapes.items() if name.startswith("200_u")
    }
    assert {name: found[0][1] for name, found in reasons.items()} == {
        "200_user_not_found": "unknown",
        "200_user_suspended": "suspended",
    }
    assert parse.explain_missing(shapes["200_protected_timeline"]["body"]["errors"]) == "protected"


def test_the_same_shapes_made_up_parse_too():
    bare = {"data": [{"id": "12", "text": "hi", "edit_history_tweet_ids": ["12"]}], "meta": {"next_token": "b26v"}}
    with pytest.raises(parse.FieldsMissingError):
        parse.parse_posts(bare, TWEET, long)
    full = [{**post_of(TWEET), **bare["data"][0]}]
    assert parse.parse_posts({**bare, "data": full}, TWEET, long).posts[0].id == "12"
    assert parse.find_cursor(bare) == "b26v"
    users = {"data": [{"id": "783214", "name": "Somebody", "username": "somebody"}]}
    assert parse.parse_users(users, TWEET).accounts[0][:3] == ("783214", "somebody", "Somebody")
