import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import Limit, parse_time
from socialcrawl.platforms.mastodon.classify import RequestContext, classify, parse_limits
from socialcrawl.platforms.mastodon.source import NO_INSTANCE

NOW = 1_775_949_256.0  # 2026-04-11 23:14:16 UTC
HOME, ELSEWHERE = RequestContext(True, False, True), RequestContext(False, False, True)
THERE = RequestContext(False, False, True, look_up=True)
SIGNED_IN, SEARCH = RequestContext(True, True, True), RequestContext(True, False, False)


def headers(limit="300", remaining="286", reset=None, **more):
    told = {"x-ratelimit-limit": limit, "x-ratelimit-remaining": remaining, "x-ratelimit-reset": reset, **more}
    return {name.replace("_", "-"): value for name, value in told.items() if value is not None}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (headers(reset="2026-04-11T23:15:00.644391Z"), Limit(286, 300, 1_775_949_300.644391)),
        (headers(reset="2026-04-12T01:15:00.5+02:00"), Limit(286, 300, 1_775_949_300.5)),
        (headers(reset="2026-04-11T23:15:00"), Limit(286, 300, 1_775_949_300.0)),
        (headers(reset="1775949300"), Limit(286, 300, 1_775_949_300.0)),
        (headers(remaining="-2", reset="1775949300"), Limit(0, 300, 1_775_949_300.0)),
        (headers(remaining="0", retry_after="30"), Limit(0, 300, NOW + 30)),
    ],
    ids=["mastodon", "zone", "no zone", "gotosocial", "overdrawn", "pixelfed"],
)
def test_limits_are_read_as_all_kinds_of_servers_send_them(given, expected):
    assert parse_limits(given, NOW) == [expected]


@pytest.mark.parametrize(
    "given",
    [
        {},
        headers(),
        headers(reset=""),
        headers(reset="soon"),
        headers(reset="-5"),
        headers(reset="nan"),
        headers(reset="1e30"),
        headers(limit="many", reset="1775949300"),
        headers(limit=str(2**70), reset="1775949300"),
        headers(remaining=None, reset="1775949300"),
    ],
)
def test_limits_that_cannot_be_used_are_none(given):
    assert parse_limits(given, NOW) == []


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional={name: st.text() for name in [*headers(reset=""), "retry-after"]}))
def test_no_headers_are_too_odd_to_be_read(given):
    for limit in parse_limits(given, NOW):
        assert limit.left >= 0
        assert 0 <= limit.resets < 2**40


def kind_of(status, body=None, asked=HOME, known=()):
    found = classify(status, body, known, NOW, asked)
    return (found.kind, found.missing) if found.missing else found.kind


ERROR = {"error": "told"}


@pytest.mark.parametrize(
    ("status", "body", "asked", "kind"),
    [
        (200, [], HOME, "ok"),
        (200, {}, ELSEWHERE, "ok"),
        (200, None, HOME, "lost"),
        (200, None, THERE, ("missing", NO_INSTANCE)),
        (200, None, ELSEWHERE, "lost"),
        (404, {"error": "Record not found"}, HOME, ("missing", "unknown")),
        (410, {"error": "gone"}, HOME, ("missing", "deleted")),
        (410, ERROR, ELSEWHERE, ("missing", "deleted")),
        (404, None, HOME, "broken"),
        (404, None, THERE, ("missing", NO_INSTANCE)),
        (404, None, ELSEWHERE, "broken"),
        (404, {"detail": "Not Found"}, HOME, ("missing", "unknown")),
        (404, ERROR, THERE, ("missing", "unknown")),
        (404, ERROR, ELSEWHERE, ("missing", "unknown")),
        (422, ERROR, HOME, ("missing", "unknown")),
        (422, ERROR, SEARCH, "invalid"),
        (405, ERROR, HOME, "invalid"),
        (418, ERROR, ELSEWHERE, ("missing", "unknown")),
        (301, None, HOME, "broken"),
        (301, ERROR, HOME, "invalid"),
        (302, None, THERE, ("missing", NO_INSTANCE)),
        (302, None, ELSEWHERE, "broken"),
        (401, {"error": "This method requires an authenticated user"}, HOME, ("missing", "protected")),
        (401, {"error": "This method requires an authenticated user"}, SIGNED_IN, ("missing", "protected")),
        (401, {"error": "This API requires an authenticated user"}, ELSEWHERE, ("missing", NO_INSTANCE)),
        (403, {"error": "This action is not allowed"}, THERE, ("missing", NO_INSTANCE)),
        (403, None, ELSEWHERE, ("missing", NO_INSTANCE)),
        (403, None, THERE, ("missing", NO_INSTANCE)),
        (403, None, HOME, "broken"),
        (401, {"error": "The access token is invalid"}, SIGNED_IN, "refused"),
        (401, {"error": "The access token was revoked"}, SIGNED_IN, "refused"),
        (403, {"error": "This action is outside the authorized scopes"}, SIGNED_IN, "refused"),
        (403, {"error": "Your login is currently disabled"}, SIGNED_IN, "refused"),
        (401, {"error": "The access token is invalid"}, HOME, ("missing", "protected")),
        (401, ERROR, SEARCH, ("missing", "protected")),
        (500, ERROR, HOME, "broken"),
        (502, None, ELSEWHERE, "broken"),
        (503, None, HOME, "broken"),
        (408, None, ELSEWHERE, "broken"),
        (429, {"error": "Too many requests"}, HOME, "backoff"),
    ],
)
def test_an_answer_is_understood(status, body, asked, kind):
    assert kind_of(status, body, asked) == kind


def test_a_window_that_is_used_up_says_until_when():
    reset = parse_time("2026-04-11T23:15:00.644391Z")
    assert kind_of(429, ERROR, known=[Limit(0, 300, reset)]) == "window"
    assert kind_of(429, ERROR, known=[Limit(0, 300, NOW - 1)]) == "backoff"
    assert kind_of(429, ERROR, known=[Limit(9, 300, reset)]) == "backoff"


@pytest.mark.parametrize("asked", [HOME, SEARCH])
def test_a_server_that_is_no_mastodon_is_told_so(asked):
    told = classify(404, {"detail": "Not Found"}, (), NOW, asked).why
    assert "HTTP 404: is base_url a Mastodon instance?" in told
    assert told.count("404") == 1
    assert "base_url" not in classify(404, {"error": "Record not found"}, (), NOW, asked).why
    assert "sends us elsewhere (HTTP 301): is base_url right" in classify(301, None, (), NOW, asked).why


@settings(deadline=None)
@example(status=404, body={"error": " "}, asked=RequestContext(False, False, False, False))
@given(
    st.integers(100, 599),
    st.none() | st.lists(st.integers()) | st.dictionaries(st.just("error"), st.text() | st.integers()),
    st.builds(RequestContext, st.booleans(), st.booleans(), st.booleans(), st.booleans()),
)
def test_no_answer_about_another_instance_ends_the_run(status, body, asked):
    found = classify(status, body, (), NOW, asked)
    assert found.why or found.kind == "ok"
    assert found.why.isprintable()
    assert (found.kind == "missing") == (found.missing is not None)
    if not asked.home and not asked.token:
        assert found.kind in ("ok", "missing", "broken", "lost", "backoff")
