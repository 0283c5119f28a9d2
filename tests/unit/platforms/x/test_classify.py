import math
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requests.structures import CaseInsensitiveDict

from socialcrawl.engine.model import FAILED, LARGEST, Limit
from socialcrawl.platforms.headers import parse_date
from socialcrawl.platforms.x import classify

NOW = 1_760_000_000.0
X = "https://api.twitter.com/2/problems/"
TOO_MANY = {"title": "Too Many Requests", "detail": "Too Many Requests", "type": "about:blank", "status": 429}
MONTH = {
    "title": "UsageCapExceeded",
    "detail": "Usage cap exceeded: Monthly product cap",
    "period": "Monthly",
    "scope": "Product",
    "type": X + "usage-capped",
}
DAY = MONTH | {"period": "Daily", "detail": "Usage cap exceeded: Daily cap"}
NO_CREDITS = {"title": "CreditsDepleted", "detail": "Your account has no credits.", "type": X + "credits"}
NOT_ENROLLED = {"title": "Client Forbidden", "detail": "Attach the app.", "reason": "client-not-enrolled"}
WRONG_KIND = {
    "title": "Unsupported Authentication",
    "detail": "It is forbidden.",
    "type": X + "unsupported-authentication",
}
HIDDEN = {"title": "Authorization Error", "type": X + "not-authorized-for-resource"}
INVALID = {
    "errors": [{"parameters": {"max_results": ["3"]}, "message": "The `max_results` value [3] is not valid"}],
    "title": "Invalid Request",
    "detail": "One or more parameters to your request was invalid.",
}

EMPTY = Limit(0, 300, NOW + 600)
EMPTY_BEFORE = Limit(0, 300, NOW - 1)
LEFT = Limit(49, 50, NOW + 600)
DAY_EMPTY = Limit(0, 25, NOW + 40_000, daily=True)
DAY_EMPTY_BEFORE = Limit(0, 25, NOW - 40_000, daily=True)
DAY_LEFT = Limit(3, 25, NOW + 40_000, daily=True)

CASES = {
    "a good answer": (200, {"data": []}, [LEFT], "ok", ""),
    "created": (201, {}, [], "ok", ""),
    "a good answer of HTML": (200, None, [], "lost", "not JSON"),
    "a good answer that is a list": (200, [1], [], "lost", "base_url"),
    "the window is used up": (429, TOO_MANY, [EMPTY], "window", "used up"),
    "the window is used up, the old words": (429, {"errors": [{"code": 88}]}, [EMPTY], "window", ""),
    "the window ends this second": (429, TOO_MANY, [Limit(0, 300, NOW)], "window", ""),
    "a 429 of HTML": (429, None, [EMPTY], "window", ""),
    "the month is used up": (429, MONTH, [LEFT], "month", "billing cycle"),
    "the month goes before the window": (429, MONTH, [EMPTY, DAY_EMPTY], "month", "Monthly product cap"),
    "the day's cap, until when is known": (429, DAY, [LEFT, DAY_EMPTY], "day", "24-hour"),
    "the day's cap, until when is not known": (429, DAY, [EMPTY], "day", "daily cap"),
    "a bucket of 24 hours is empty": (429, TOO_MANY, [LEFT, DAY_EMPTY], "day", "24-hour"),
    "both are empty": (429, TOO_MANY, [EMPTY, DAY_EMPTY], "day", ""),
    "the bucket of 24 hours has some left": (429, TOO_MANY, [EMPTY, DAY_LEFT], "window", ""),
    "the bucket of 24 hours is long over": (429, TOO_MANY, [DAY_EMPTY_BEFORE], "backoff", ""),
    "requests are left and yet 429": (429, TOO_MANY, [LEFT], "backoff", "not until when"),
    "the month is used up, by its title": (429, {"title": "UsageCapExceeded"}, [EMPTY], "month", "billing cycle"),
    "the month is used up, as a 403": (403, MONTH, [LEFT], "month", "Monthly product cap"),
    "one window is empty and another full": (429, TOO_MANY, [LEFT, EMPTY], "window", ""),
    "a 429 without headers": (429, TOO_MANY, [], "backoff", "too many requests"),
    "a reset in the past": (429, TOO_MANY, [EMPTY_BEFORE], "backoff", ""),
    "resets in the past, of both": (429, TOO_MANY, [EMPTY_BEFORE, DAY_EMPTY_BEFORE], "backoff", ""),
    "a token that is not accepted": (401, {"title": "Unauthorized"}, [], "refused", "token_env"),
    "no credits": (402, NO_CREDITS, [LEFT], "money", "buy credits"),
    "no credits, in HTML": (402, None, [], "money", "buy credits"),
    "an app without access": (403, NOT_ENROLLED, [], "refused", "Attach the app."),
    "a 403 of HTML": (403, None, [], "broken", "HTTP 403"),
    "an app that is in no project": (403, NOT_ENROLLED | {"type": X + "client-forbidden"}, [], "refused", "project"),
    "the wrong kind of token": (403, WRONG_KIND, [], "refused", "OAuth 1.0a"),
    "an old refusal": (403, {"errors": [{"code": 453, "message": "a subset"}]}, [], "refused", "a subset"),
    "an old refusal of nothing": (403, {"errors": [1, {}]}, [], "refused", "HTTP 403"),
    "a spend cap": (403, {"title": "SpendCapReached", "detail": "Billing cycle."}, [LEFT], "money", "spending limit"),
    "a spending limit": (403, {"title": "Forbidden", "detail": "Your spending limit was hit."}, [], "money", ""),
    "a limit on spending": (403, {"detail": "You reached the limit on spending."}, [], "money", "buy credits"),
    "no credits, as a 403": (403, NO_CREDITS, [], "money", "no credits"),
    "no credits, by the type alone": (403, {"type": X + "credits"}, [], "money", "HTTP 403"),
    "credentials are no credits": (403, {"detail": "Check your credentials."}, [], "refused", "access level"),
    "a user with a telling name": (403, HIDDEN | {"detail": "You may not see [credit_cap]."}, [], "missing", ""),
    "a user who is withheld": (403, {"type": X + "disallowed-resource"}, [], "missing", ""),
    "a user who is not there": (404, {"title": "Not Found Error", "type": X + "resource-not-found"}, [], "missing", ""),
    "an address that is not there": (404, None, [], "broken", "base_url"),
    "a wrong parameter": (400, INVALID, [], "invalid", "max_results"),
    "a wrong request": (400, {"title": "Invalid Request"}, [], "invalid", "Invalid Request"),
    "a 400 of HTML": (400, None, [], "broken", "HTTP 400"),
    "a redirection": (301, None, [], "invalid", "base_url"),
    "a redirection that says more": (302, {"title": "Found"}, [], "invalid", "base_url"),
    "a server that waited for us": (408, {"title": "Request Timeout"}, [], "broken", "408"),
    "a server in trouble": (503, {"title": "Service Unavailable"}, [], "broken", "503"),
    "an edge in trouble": (502, None, [], "broken", "502"),
    "trouble that is a list": (500, [], [], "broken", "500"),
    "a strange status": (418, {"detail": "teapot"}, [], "invalid", "teapot"),
}


@pytest.mark.parametrize(("status", "body", "known", "kind", "said"), CASES.values(), ids=CASES)
def test_an_answer_means(status, body, known, kind, said):
    found, why = classify.classify(status, body, known, NOW)
    assert found == kind
    assert said in why
    assert (kind == "ok") == (why == "")


@settings(deadline=None)
@given(
    st.integers(200, 599),
    st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)),
    st.sampled_from(["errors", "type", "detail", "title", "period"]),
)
def test_any_json_with_any_status_is_of_some_kind(status, junk, key):
    for body in (junk, {key: junk}):
        kind, why = classify.classify(status, body, [], NOW)
        assert kind in ("ok", "window", "day", "month", "money", "backoff", "refused", "invalid", "missing", *FAILED)
        assert len(why) < 1000
        assert why.isprintable()


def headers(**given):
    return CaseInsensitiveDict({name.replace("_", "-"): value for name, value in given.items()})


def window(most="300", left="299", reset="1760000600"):
    return headers(x_rate_limit_limit=most, X_Rate_Limit_Remaining=left, x_rate_limit_reset=reset)


def test_the_headers_of_all_families_are_read_without_regard_to_case():
    given = window()
    given.update(
        headers(**{f"x_app_limit_24hour_{k}": v for k, v in (("limit", 9), ("remaining", "8"), ("reset", "7"))})
    )
    given.update(
        headers(**{f"X_User_Limit_24hour_{k}": v for k, v in (("limit", 25), ("remaining", "0"), ("reset", "5"))})
    )
    assert classify.parse_limits(given) == [
        Limit(299, 300, 1_760_000_600.0),
        Limit(8, 9, 7.0, daily=True),
        Limit(0, 25, 5.0, daily=True),
    ]


@pytest.mark.parametrize("broken", ["", "soon", "nan", "inf", "-inf", "1e999", "12:00"])
def test_a_family_of_headers_that_is_not_numbers_is_left_out(broken):
    assert classify.parse_limits(window(reset=broken)) == []
    assert classify.parse_limits(window(left=broken)) == []
    assert classify.parse_limits(window(most=broken)) == []


@pytest.mark.parametrize("huge", [str(2**63), "9" * 400, "9" * 5000])
def test_a_family_of_headers_that_no_database_and_no_calendar_can_hold_is_left_out(huge):
    assert classify.parse_limits(window(reset=huge)) == []
    assert classify.parse_limits(window(left=huge)) == []
    assert classify.parse_limits(window(most=huge)) == []
    assert classify.parse_limits(window(reset="-1")) == []
    assert classify.parse_limits(window(most="-1")) == []
    datetime.fromtimestamp(classify.LAST - 1, UTC)
    with pytest.raises(ValueError, match="year"):
        datetime.fromtimestamp(classify.LAST, UTC)


@pytest.mark.parametrize("left", ["-1", "-0", "0", "-9999999999999999999999"])
def test_fewer_than_none_remaining_is_none(left):
    known = classify.parse_limits(window(left=left))
    assert known == [Limit(0, 300, 1_760_000_600.0)]
    assert classify.classify(429, TOO_MANY, known, NOW)[0] == "window"


@settings(deadline=None)
@given(*[st.text(st.characters(max_codepoint=255)) | st.integers().map(str) | st.floats().map(str)] * 3)
def test_any_headers_are_limits_that_can_be_kept_or_left_out(most, left, reset):
    for limit in classify.parse_limits(window(most, left, reset)):
        assert 0 <= limit.left <= LARGEST
        assert 0 <= limit.most <= LARGEST
        assert datetime.fromtimestamp(limit.resets, UTC).year <= 9999
        assert classify.classify(429, TOO_MANY, [limit], NOW)[0] in ("window", "backoff")


def test_what_a_server_says_fits_on_a_line_and_moves_no_cursor():
    problem = {"detail": "\x1b[2J go\n\naway\r" + "a" * 100_000}
    for status in (400, 401, 402, 403, 404, 429):
        why = classify.classify(status, problem, [], NOW)[1]
        assert why.isprintable()
        assert len(why) < 1000
        assert "go away" in why or status == 429


def test_headers_that_are_missing_are_left_out():
    assert classify.parse_limits({}) == []
    assert classify.parse_limits({"x-rate-limit-limit": "300"}) == []
    assert classify.parse_limits({"x-rate-limit-remaining": "0", "x-rate-limit-reset": "9"}) == []


@pytest.fixture
def far_from_greenwich(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Auckland")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_from_greenwich")
@pytest.mark.parametrize("zone", ["UTC", "GMT", "+0000", "-0000", "", "Z"])
def test_the_servers_clock_is_read_in_every_zone_that_means_utc(zone):
    expected = datetime(2021, 10, 7, 7, 41, 19, tzinfo=UTC).timestamp()
    assert parse_date({"Date": f"Thu, 07 Oct 2021 07:41:19 {zone}".rstrip()}) == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "Thu, 99 Oct 2021 07:41:19 GMT", "2021", "Thu, 07 Oct 99999 07:41:19 GMT"]
)
def test_a_clock_that_says_nothing_is_none(text):
    assert parse_date({"Date": text}) is None
    assert parse_date({}) is None


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=255)))
def test_any_date_is_a_number_or_nothing(text):
    found = parse_date({"Date": text})
    assert found is None or math.isfinite(found)


def test_a_403_for_one_account_is_that_account_missing_and_not_the_end_of_the_campaign():
    problem = {
        "title": "Authorization Error",
        "type": "https://api.x.com/2/problems/not-authorized-for-resource",
        "detail": "Sorry, you are not authorized to see the user with id: [1].",
    }
    assert classify.classify(403, problem, [], 0.0)[0] == "missing"
    assert classify.classify(403, problem | {"type": "about:blank"}, [], 0.0)[0] == "refused"
