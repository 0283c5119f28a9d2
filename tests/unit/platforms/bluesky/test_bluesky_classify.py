import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import Limit
from socialcrawl.platforms.bluesky import classify

NOW = 1_763_700_000


def headers(left="7", most="3000", resets=str(NOW + 100), policy="3000;w=300"):
    told = {"RateLimit-Limit": most, "RateLimit-Remaining": left, "RateLimit-Reset": resets, "RateLimit-Policy": policy}
    return httpx.Headers({name: value for name, value in told.items() if value is not None})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [Limit(7, 3000, NOW + 100)]),
        ({"policy": "100;w=86400"}, [Limit(7, 3000, NOW + 100, daily=True)]),
        ({"policy": "5000;w=3600"}, [Limit(7, 3000, NOW + 100)]),
        ({"policy": None}, [Limit(7, 3000, NOW + 100)]),
        ({"left": "-3"}, [Limit(0, 3000, NOW + 100)]),
        ({"left": None}, []),
        ({"most": None}, []),
        ({"resets": None}, []),
        ({"resets": "soon"}, []),
        ({"resets": "nan"}, []),
        ({"resets": "1e400"}, []),
        ({"resets": "-1"}, []),
        ({"most": "9" * 30}, []),
        ({"most": "-1"}, []),
    ],
)
def test_limits_are_read_from_the_headers_or_left_out(given, expected):
    assert classify.parse_limits(headers(**given)) == expected


def test_the_names_of_headers_are_compared_without_case():
    assert classify.parse_limits(httpx.Headers({name.upper(): value for name, value in headers().items()}))


TOLD = {
    "AccountTakedown": "suspended",
    "AccountDeactivated": "deleted",
    "RepoTakendown": "suspended",
    "BlockedActor": "protected",
    "BlockedByActor": "protected",
}


@pytest.mark.parametrize("error", TOLD)
def test_errors_that_name_an_account_say_why_it_cannot_be_read(error):
    for by_id in (True, False):
        assert classify.explain_missing(400, {"error": error, "message": "x"}, by_id=by_id) == TOLD[error]
    assert classify.explain_missing(401, {"error": error, "message": "x"}, by_id=True) is None  # it speaks of who asks
    assert classify.explain_missing(500, {"error": error, "message": "x"}, by_id=True) is None


@pytest.mark.parametrize(
    ("message", "nobody"),
    [
        ("Profile not found", True),
        ("Actor not found: did:plc:x", True),
        ("Could not find user: ann.test", True),
        ("Unable to resolve handle", True),
        ("List not found", True),
        ("Error: actor must be a valid did or a handle", False),
        ("Malformed cursor", False),
        ("", False),
    ],
)
def test_an_account_that_is_not_found_was_there_once_if_it_is_asked_by_did(message, nobody):
    body = {"error": "InvalidRequest", "message": message}
    assert classify.explain_missing(400, body, by_id=True) == ("deleted" if nobody else None)
    assert classify.explain_missing(400, body, by_id=False) == ("unknown" if nobody else None)


@pytest.mark.parametrize(
    ("status", "error", "signed", "expected"),
    [
        (200, "", False, "ok"),
        (400, "ExpiredToken", True, "broken"),
        (400, "ExpiredToken", False, "refused"),
        (401, "InvalidToken", True, "broken"),
        (401, "AuthMissing", False, "refused"),
        (401, "AuthenticationRequired", True, "refused"),
        (403, "Forbidden", True, "refused"),
        (400, "BadQueryString", False, "invalid"),
        (400, "InvalidRequest", False, "invalid"),
        (413, "PayloadTooLarge", False, "invalid"),
        (404, "XRPCNotSupported", False, "invalid"),
        (501, "MethodNotImplemented", False, "invalid"),
        (500, "InternalServerError", False, "broken"),
        (502, "UpstreamFailure", False, "broken"),
        (503, "NotEnoughResources", False, "broken"),
        (408, "Timeout", False, "broken"),
        (302, "", False, "broken"),
        (302, "Moved", False, "invalid"),
        (401, "", False, "broken"),
        (401, "", True, "broken"),
    ],
)
def test_the_kind_of_a_reply_is_told_by_status_and_error(status, error, signed, expected):
    body = {"error": error, "message": "told"} if error else {}
    kind, why = classify.classify(status, body, [], NOW, signed=signed)
    assert kind == expected
    assert (why == "") == (kind == "ok")


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, "lost"), *((status, "broken") for status in (301, 302, 307, 400, 401, 403, 404, 502))],
)
def test_what_is_no_json_comes_from_a_proxy_or_a_server_in_trouble(status, expected):
    assert classify.classify(status, None, [], NOW, signed=False)[0] == expected


@pytest.mark.parametrize(("status", "word"), [(302, "sends us elsewhere"), (401, "wants callers to sign in")])
def test_a_page_of_something_in_between_is_tried_again_and_its_sentence_told(status, word):
    assert word in classify.classify(status, None, [], NOW, signed=False)[1]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([], "backoff"),
        ([Limit(0, 3000, NOW + 9.0)], "window"),
        ([Limit(0, 300, NOW + 9.0, daily=True)], "day"),
        ([Limit(3, 3000, NOW + 9.0)], "backoff"),
        ([Limit(0, 3000, NOW - 9.0)], "backoff"),
    ],
)
def test_a_429_waits_for_what_its_headers_say_if_they_say_it(known, expected):
    assert classify.classify(429, {"error": "RateLimitExceeded"}, known, NOW, signed=False)[0] == expected


ERRORS = st.fixed_dictionaries({"error": st.text() | st.integers() | st.none(), "message": st.text()})
BODIES = st.none() | st.dictionaries(st.text(), st.text()) | st.lists(st.integers()) | ERRORS


@given(st.integers(100, 599), BODIES, st.booleans())
@settings(deadline=None)
def test_whatever_comes_has_a_kind_and_a_sentence_on_one_line(status, body, signed):
    kind, why = classify.classify(status, body, [], NOW, signed=signed)
    assert kind in ("ok", "lost", "backoff", "broken", "refused", "invalid")
    assert "\n" not in why
    assert (kind == "ok") == (200 <= status < 300 and isinstance(body, dict))
    classify.explain_missing(status, body, by_id=signed)
