from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest
from test_mock_world import START, synthetic
from virtual_weeks import Virtual

from socialcrawl.errors import MockError
from socialcrawl.mock.rate_windows import TokenWindows, make_label
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.x.bill import XBill

DAY = 86_400
NO_ARCHIVE = {"archive_counts_requests": 0}


def test_a_window_opens_with_its_first_request_and_is_fixed():
    windows = TokenWindows(lambda endpoint: 2, 10.0)
    first = windows.take("t", "/e", 1000.5)
    assert not first.full
    assert first.headers() == {
        "x-rate-limit-limit": "2",
        "x-rate-limit-remaining": "1",
        "x-rate-limit-reset": "1010",
    }
    assert not windows.take("t", "/e", 1009).full
    assert windows.take("t", "/e", 1010.4).full
    assert first.headers()["x-rate-limit-remaining"] == "0"
    later = windows.take("t", "/e", 1033.0)
    assert not later.full
    assert later.headers()["x-rate-limit-reset"] == "1043"  # from the request on, not from the old grid


def test_windows_are_apart_by_token_and_endpoint():
    windows = TokenWindows({"/e": 1, "/f": 3}.__getitem__, 10.0)
    assert not windows.take("t", "/e", 0).full
    assert not windows.take("u", "/e", 0).full
    assert [windows.take("t", "/f", 1).full for _ in range(4)] == [False, False, False, True]
    assert windows.take("t", "/e", 1).full
    assert [(w["token"], w["endpoint"], w["requests"]) for w in windows.report()] == [
        ("t", "/e", 2),
        ("u", "/e", 1),
        ("t", "/f", 4),
    ]


def test_the_end_of_a_window_belongs_to_the_next():
    windows = TokenWindows(lambda endpoint: 1, 10.0)
    windows.take("t", "/e", 0)
    assert not windows.take("t", "/e", 10.0).full


def test_a_label_does_not_tell_the_token():
    assert make_label("secret") == make_label("secret") != make_label("secreT")
    assert "secret" not in make_label("secret")
    assert len(make_label("secret")) == 8


def test_a_resource_is_billed_once_a_utc_day():
    bill = XBill()
    noon = 20_000 * DAY + DAY // 2
    bill.charge(noon, [1, 2], [7])
    bill.charge(noon + 60, [2, 3], [7, 7])
    bill.charge(noon + DAY, [1], [], counts=1)
    bill.charge(noon + 3 * DAY, [], [])
    first, second = bill.report().values()
    assert first == {"posts": 3, "users": 1, "counts_requests": 0, **NO_ARCHIVE, "dollars": 0.025}
    assert second == {"posts": 1, "users": 0, "counts_requests": 1, **NO_ARCHIVE, "dollars": 0.01}
    assert list(bill.posts_by_day(noon + DAY, 3).values()) == [0, 3, 1]


def _bearer(token="one"):
    return {"Authorization": f"Bearer {token}"}


def test_k_requests_pass_and_the_next_is_refused_until_the_window_ends():
    clock = Virtual()
    with (
        serve_in_thread(synthetic(), time=clock.now, limit=3, window=1.2) as mock,
        httpx.Client(base_url=mock.url, headers=_bearer()) as client,
    ):
        answers = [client.get("/2/users/by/username/bob") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert [answer.headers["x-rate-limit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
        assert len({answer.headers["x-rate-limit-reset"] for answer in answers}) == 1
        assert answers[3].json() == {
            "title": "Too Many Requests",
            "detail": "Too Many Requests",
            "type": "about:blank",
            "status": 429,
        }
        assert client.get("/2/users/by/username/bob", headers=_bearer("two")).status_code == 200
        assert client.get("/2/users/by", params={"usernames": "bob"}).status_code == 200
        opened = mock.report()["windows"][0]
        clock.at = opened["ends"]
        assert client.get("/2/users/by/username/bob").status_code == 200
        report = mock.report()
    assert [(w["requests"], w["answers"]) for w in report["windows"]] == [
        (4, {"200": 3, "429": 1}),
        (1, {"200": 1}),
        (1, {"200": 1}),
        (1, {"200": 1}),
    ]
    assert report["windows"][3]["opened"] >= opened["ends"] == pytest.approx(opened["opened"] + 1.2)
    assert "one" not in str(report)


def test_every_answer_carries_the_headers_of_its_window():
    clock = Virtual()
    with (
        serve_in_thread(synthetic(), time=clock.now, limit=2) as mock,
        httpx.Client(base_url=mock.url, headers=_bearer()) as client,
    ):
        answers = [client.get("/2/users/by", params={"usernames": name}) for name in ("bob", "not-a-name", "bob")]
    assert [answer.status_code for answer in answers] == [200, 400, 429]
    for answer in answers:
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.headers["x-rate-limit-limit"] == "2"
        assert "api-version" in answer.headers
        ahead = int(answer.headers["x-rate-limit-reset"]) - parsedate_to_datetime(answer.headers["date"]).timestamp()
        assert ahead == 900
        assert parsedate_to_datetime(answer.headers["date"]).timestamp() == clock.now()


def test_a_request_without_a_known_token_is_refused_and_opens_no_window():
    with serve_in_thread(synthetic(), tokens=frozenset({"one"})) as mock, httpx.Client(base_url=mock.url) as client:
        headers = ({}, {"Authorization": "Bearer"}, {"Authorization": "Basic one"}, _bearer("two"))
        answers = [client.get("/2/users/by/username/bob", headers=header) for header in headers]
        assert client.get("/2/users/by/username/bob", headers=_bearer()).status_code == 200
        report = mock.report()
    assert [answer.status_code for answer in answers] == [401] * 4
    body = {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}
    assert all(answer.json() == body for answer in answers)
    assert not any("x-rate-limit-limit" in answer.headers for answer in answers)
    assert [window["requests"] for window in report["windows"]] == [1]
    assert report["unauthorized"] == {"/2/users/by/username/:username": 4}


def test_limits_may_differ_by_endpoint():
    settings = MockSettings(limit={"/2/users/by": 7})
    assert settings.limit_of("/2/users/by") == 7
    assert settings.limit_of("/2/users") == 300


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"window": 0}, "window is 0 s"),
        ({"limit": 0}, "limit of limit is 0"),
        ({"limit": {"/2/users": 0}}, "limit of /2/users is 0"),
        ({"limit": {"/2/nothing": 3}}, "Unknown endpoint '/2/nothing'"),
        ({"missing": 1.5}, "missing accounts is 1.5"),
        ({"report": Path("/nowhere/at/all.json")}, "no folder for the report"),
        ({"port": 70_000}, "port is 70000"),
        ({"host": "0.0.0.0"}, "0.0.0.0 is not this machine alone"),
        ({"host": "example.org"}, "is not this machine alone"),
        ({"report": Path("/")}, "is a folder"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_remedy(setting, said):
    with pytest.raises(MockError, match=said):
        MockSettings(**setting)


def test_hosts_of_this_machine_and_allowed_ones_are_taken():
    assert MockSettings(host="::1").host == "::1"
    assert MockSettings(host="localhost").host == "localhost"
    assert MockSettings(host="0.0.0.0", allow_remote=True).allow_remote
    assert "secret" not in repr(MockSettings(tokens=frozenset({"secret"})))


def test_reading_again_on_the_same_day_is_free_and_failures_cost_nothing():
    with serve_in_thread(synthetic()) as mock, httpx.Client(base_url=mock.url, headers=_bearer()) as client:
        bob = client.get("/2/users/by/username/bob").json()["data"]["id"]
        timeline = f"/2/users/{bob}/tweets"
        for _ in range(2):
            client.get(timeline, params={"max_results": 100})
        client.get(timeline, params={"max_results": 3})
        client.get("/2/users/by/username/unheard_of")
        client.get("/2/tweets/counts/recent", params={"query": "rust"})
        (day,) = mock.report()["billed"].values()
        assert day == {"posts": 3, "users": 1, "counts_requests": 1, **NO_ARCHIVE, "dollars": 0.03}
        client.get(timeline, params={"max_results": 100, "expansions": "author_id,entities.mentions.username"})
        (day,) = mock.report()["billed"].values()
        assert (day["posts"], day["users"]) == (3, 3)  # and Ann and nobody, from the includes
        client.get(timeline, params={"max_results": 100, "expansions": "referenced_tweets.id"})
        (day,) = mock.report()["billed"].values()
        assert (day["posts"], day["users"]) == (4, 3)  # and the post that Bob answers and repeats
        usage = client.get("/2/usage/tweets", params={"days": 2}).json()["data"]
        wanted = client.get("/2/usage/tweets", params={"usage.fields": "project_usage"}).json()["data"]
    assert usage["project_usage"] == 4
    assert [day["usage"] for day in usage["daily_project_usage"]["usage"]] == [0, 4]
    assert wanted == {"project_usage": 4}


def test_the_mock_stands_at_the_end_of_its_file_unless_told():
    counts = "/2/tweets/counts/recent"
    with serve_in_thread(synthetic()) as mock, httpx.Client(base_url=mock.url, headers=_bearer()) as client:
        assert client.get(counts, params={"query": "from:bob"}).json()["meta"] == {"total_tweet_count": 3}
    with (
        serve_in_thread(synthetic(), now=START + 5 * 3600) as mock,
        httpx.Client(base_url=mock.url, headers=_bearer()) as client,
    ):
        assert client.get(counts, params={"query": "from:bob"}).json()["meta"] == {"total_tweet_count": 2}
    just_after = {"now": START + 7 * 3600 + 20}  # the last post of Bob is not indexed yet
    with (
        serve_in_thread(synthetic(), **just_after) as mock,
        httpx.Client(base_url=mock.url, headers=_bearer()) as client,
    ):
        assert client.get(counts, params={"query": "from:bob"}).json()["meta"] == {"total_tweet_count": 2}
        found = client.get("/2/tweets/search/recent", params={"query": "from:bob"}).json()
    assert found["meta"]["result_count"] == 2
