"""Faults on request: scenarios as files and at the mock's own address, and what a client meets."""

import re
import time
import tomllib
from email.utils import parsedate_to_datetime
from itertools import chain, pairwise
from pathlib import Path

import httpx
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from test_mock_world import synthetic
from virtual_weeks import Virtual

from socialcrawl.errors import MockError
from socialcrawl.mock.scenario import FATES, KINDS, LASTING, PAGING, REAL, WHEN, WHOLE, Scenario, read_scenario
from socialcrawl.mock.server import serve_in_thread

DOC = (Path(__file__).parents[3] / "docs/how-to/faults.md").read_text("utf-8")
BEARER = {"Authorization": "Bearer x"}
BY_NAME = "/2/users/by/username/:username"
ANN = "/2/users/by/username/ann"
SKY = "/xrpc/app.bsky.actor.getProfile?actor=ann.mock.social"
TOOT = "/api/v1/accounts/lookup?acct=ann"
HOME = {"host": "home.example"}


def struck(rule, n, *, seed=0, platform="x", endpoint="/e", paged=False, since=0.0):
    """Which of n equal requests, counted from 1, one rule strikes."""
    made = Scenario({"seed": seed, "fault": [rule]})
    return [i for i in range(1, n + 1) if list(made.strike(platform, endpoint, paged=paged, since=since))]


# The file


def test_the_page_has_every_kind_with_an_example_that_can_be_and_every_key():
    examples = re.findall(r"```toml\n(.*?)```", DOC, re.DOTALL)
    tables = [table for example in examples for table in tomllib.loads(example)["fault"]]
    Scenario({"fault": tables})
    assert {table["kind"] for table in tables} == set(KINDS)
    assert re.findall(r"\*\*`([a-z-]+)`\*\*", DOC) == list(KINDS)
    rows = re.findall(r"^\| (`.*?) \|", DOC, re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == {"kind", *WHEN}
    for needs, may in KINDS.values():
        assert all(f"`{key}`" in DOC for key in (*needs, *may))
    used = {key for table in tables for key in table}
    assert used >= {key for needs, may in KINDS.values() for key in (*needs, *may)}
    assert used >= set(WHEN) - {"to"}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({}, "Fault 1: Unknown kind None. Choose one of: too-many"),
        ({"kind": "rain"}, "kind 'rain'"),
        ({"kind": "slow"}, "says nothing of `seconds`"),
        ({"kind": "rename", "account": "ann"}, "says nothing of `name`"),
        ({"kind": "expire"}, "give `seconds` or `requests`"),
        ({"kind": "cut", "seconds": 3}, "has no `seconds`; it may have platform"),
        ({"kind": "cut", "from": 0}, "`from` of fault 1 .cut. is 0; give a whole number from 1"),
        ({"kind": "cut", "every": 1.5}, "`every` .* is 1.5; give a whole number"),
        ({"kind": "cut", "times": True}, "`times` .* is True; give a whole number"),
        ({"kind": "cut", "probability": 1.5}, "give a number from 0 to 1"),
        ({"kind": "cut", "after": float("nan")}, "`after` .* is nan; give a number from 0"),
        ({"kind": "cut", "platform": 3}, "`platform` .* is 3; give a text"),
        ({"kind": "slow", "seconds": -1}, "`seconds` .* is -1; give a number from 0"),
        ({"kind": "skew", "seconds": float("inf")}, "`seconds` .* is inf; give a number"),
        ({"kind": "html", "status": 99}, "give a whole number from 200 to 599"),
        ({"kind": "error", "status": 404}, "give one from 500 to 599"),
        ({"kind": "delete"}, "give one of `account`, `post` and `share`"),
        ({"kind": "delete", "post": "1", "share": 0.5}, "give one of `account`, `post` and `share`"),
        ({"kind": "delete", "account": "a", "seconds": 3.0}, "`seconds` is for posts"),
        ({"kind": "delete", "share": 2}, "`share` .* is 2; give a number from 0 to 1"),
        ({"kind": "silence"}, "says nothing of `seconds`"),
        ({"kind": "too-many", "headers": "no"}, "Choose one of: spent, window, none"),
    ],
)
def test_a_rule_that_cannot_be_is_a_sentence(rule, said):
    with pytest.raises(MockError, match=said):
        Scenario({"fault": [rule]})


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"faults": []}, "has no 'faults'; give `seed`"),
        ({"seed": -1}, "seed of the scenario is -1"),
        ({"fault": {}}, "a list of tables"),
        ({"fault": [3]}, "a list of tables"),
    ],
)
def test_a_scenario_that_cannot_be_is_a_sentence(tables, said):
    with pytest.raises(MockError, match=said):
        Scenario(tables)


def test_a_file_that_cannot_be_read_is_a_sentence_with_its_name(tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text("[[fault]", encoding="utf-8")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[[fault]]\nkind = 'rain'", encoding="utf-8")
    for path, said in (
        (tmp_path / "none.toml", "cannot be read"),
        (bad, "is not valid TOML"),
        (wrong, "wrong.toml: Fault 1"),
    ):
        with pytest.raises(MockError, match=said):
            read_scenario(path)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"kind": "cut", "platform": "myspace"}, "platform 'myspace'; the mock serves x, bluesky, mastodon"),
        ({"kind": "delete", "account": "zoe"}, "no account of the posts is named zoe"),
        ({"kind": "rename", "account": "ann", "name": "Bob"}, "'Bob' is taken or no username"),
        ({"kind": "rename", "account": "ann", "name": "a b"}, "'a b' is taken or no username"),
    ],
)
def test_a_mock_does_not_start_with_a_scenario_of_what_it_has_not(tmp_path, rule, said):
    path = tmp_path / "s.toml"
    path.write_text("[[fault]]\n" + "\n".join(f"{key} = '{value}'" for key, value in rule.items()), encoding="utf-8")
    with pytest.raises(MockError, match=said), serve_in_thread(synthetic(), scenario=path):
        pytest.fail("the block must not be entered")


# When


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({}, list(range(1, 13))),
        ({"from": 3, "to": 5}, [3, 4, 5]),
        ({"from": 2, "every": 4}, [2, 6, 10]),
        ({"every": 5, "burst": 2}, [1, 2, 6, 7, 11, 12]),
        ({"from": 4, "every": 3, "times": 2}, [4, 7]),
        ({"from": 2, "to": 2, "burst": 3}, [2, 3, 4]),
        ({"platform": "bluesky"}, []),
        ({"endpoint": "/e*"}, list(range(1, 13))),
        ({"endpoint": "/f"}, []),
        ({"after": 0.5}, []),
        ({"before": 0.0}, []),
    ],
)
def test_a_rule_strikes_when_all_that_it_says_holds(when, expected):
    assert struck({"kind": "cut", **when}, 12) == expected


def test_times_are_seconds_since_the_start_and_the_end_is_not_in():
    rule = {"kind": "cut", "after": 2.0, "before": 4.0}
    assert [t for t in (0, 1.9, 2.0, 3.9, 4.0) if struck(rule, 1, since=t)] == [2.0, 3.9]


def test_what_lasts_happens_once_and_paged_faults_count_later_pages_only():
    for kind in LASTING:
        keys = {"account": "a", "name": "b", "seconds": 1.0, "post": "1", "text": "c"}
        rule = {"kind": kind, **{key: keys[key] for key in KINDS[kind][0]}}
        if kind == "expire":
            rule["seconds"] = 1.0
        if kind == "delete":
            rule["account"] = "a"
        assert struck(rule, 5) == [1]
    assert struck({"kind": "repeat"}, 3) == []
    assert struck({"kind": "repeat", "from": 2}, 3, paged=True) == [2, 3]


@settings(deadline=None, max_examples=many(30))
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_chance_is_drawn_by_seed_rule_and_number_alone(seed, probability):
    rule = {"kind": "cut", "probability": probability}
    first = struck(rule, 40, seed=seed)
    assert struck(rule, 40, seed=seed) == first
    made = Scenario({"seed": seed, "fault": [{"kind": "half", "to": 20}, rule]})
    second = [i for i in range(1, 41) if "cut" in [one.kind for one in made.strike("x", "/e", paged=False, since=0)]]
    if probability in (0.0, 1.0):
        assert first == second == (list(range(1, 41)) if probability else [])


def test_chance_is_about_as_large_as_said():
    assert 400 < len(struck({"kind": "cut", "probability": 0.25}, 2000)) < 600


# What


@pytest.fixture
def clock():
    return Virtual()


@pytest.fixture
def mock(clock):
    with serve_in_thread(synthetic(), time=clock.now) as made:
        yield made


@pytest.fixture
def client(mock):
    with httpx.Client(base_url=mock.url, headers=BEARER, timeout=10) as made:
        yield made


def order(client, *rules, seed=0):
    answer = client.post("/_mock/faults", json={"seed": seed, "fault": list(rules)})
    assert answer.status_code == 200, answer.text
    return answer.json()


def ask(client, path):
    """The answer of any platform; Bluesky and Mastodon without a token."""
    headers = {"authorization": ""} if path.startswith(("/xrpc", "/api")) else {}
    return client.get(path, headers={**headers, **(HOME if path.startswith("/api") else {})})


def test_a_scenario_is_set_shown_and_cleared_and_a_wrong_one_leaves_it(client):
    told = order(client, {"kind": "html", "status": 500, "from": 2})
    assert told == {"seed": 0, "fault": [{"kind": "html", "status": 500, "from": 2, "seen": 0, "done": 0}]}
    assert [client.get(ANN).status_code for _ in range(3)] == [200, 500, 500]
    for body in (b"{", b"[]", b'{"fault": [{"kind": "rain"}]}', b'{"fault": [{"kind": "delete", "account": "zoe"}]}'):
        wrong = client.post("/_mock/faults", content=body)
        assert wrong.status_code == 400
        assert wrong.json()["error"].endswith(".")
    shown = client.get("/_mock/faults").json()["fault"][0]
    assert (shown["seen"], shown["done"]) == (3, 2)
    assert client.delete("/_mock/faults").json() == {"seed": 0, "fault": []}
    assert client.get(ANN).status_code == 200
    assert client.put("/_mock/faults").status_code == client.get("/_mock/else").status_code == 404


def test_a_scenario_may_come_from_a_file(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[[fault]]\nkind = "error"\nplatform = "bluesky"\ntimes = 1\n', encoding="utf-8")
    with serve_in_thread(synthetic(), scenario=path) as mock, httpx.Client(base_url=mock.url, headers=BEARER) as client:
        assert [ask(client, path).status_code for path in (ANN, SKY, SKY, TOOT)] == [200, 503, 200, 200]


FORMS = [
    (ANN, "x-rate-limit-remaining", "title", "Too Many Requests"),
    (SKY, "ratelimit-remaining", "error", "RateLimitExceeded"),
    (TOOT, "x-ratelimit-remaining", "error", "Too many requests"),
]


@pytest.mark.parametrize(("path", "header", "key", "word"), FORMS)
def test_a_429_has_the_platform_s_form_with_what_headers_are_asked_for(client, path, header, key, word):
    order(
        client,
        *(
            {"kind": "too-many", "headers": how, "from": n, "to": n}
            for n, how in enumerate(("spent", "window", "none"), 1)
        ),
    )
    spent, window, none, good = (ask(client, path) for _ in range(4))
    assert [answer.status_code for answer in (spent, window, none, good)] == [429, 429, 429, 200]
    assert {answer.json()[key] for answer in (spent, window, none)} == {word}
    assert spent.headers[header] == "0"
    assert int(window.headers[header]) == int(good.headers[header]) + 2 > 0
    assert not [name for name in none.headers if "limit" in name or name == "retry-after"]


@pytest.mark.parametrize(("path", "key"), [(ANN, "title"), (SKY, "error"), (TOOT, "error")])
def test_an_error_of_the_servers_comes_in_bursts_and_in_the_platform_s_form(client, path, key):
    order(client, {"kind": "error", "status": 502, "from": 2, "every": 4, "burst": 2})
    answers = [ask(client, path) for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200, 502, 502, 200, 200, 502, 502]
    assert answers[1].json()[key]
    assert answers[1].headers["content-type"].startswith("application/json")


def test_html_half_cut_and_slow_answers_are_given_on_every_platform(client):
    for path in (ANN, SKY, TOOT):
        order(client, *({"kind": kind, "from": n, "to": n} for n, kind in enumerate(("html", "half", "cut"), 1)),
              {"kind": "slow", "seconds": 0.2, "from": 4, "times": 1})  # fmt: skip
        html = ask(client, path)
        assert (html.status_code, html.headers["content-type"]) == (503, "text/html; charset=utf-8")
        with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
            ask(client, path)
        with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
            ask(client, path)
        begun = time.monotonic()
        assert ask(client, path).status_code == 200
        assert time.monotonic() - begun >= 0.2
        assert client.get("/_mock/faults").json()["fault"][3]["done"] == 1
        assert ask(client, path).status_code == 200
        assert client.get("/_mock/faults").json()["fault"][3]["done"] == 1


def test_a_fault_is_counted_and_a_full_window_comes_before_it():
    with serve_in_thread(synthetic(), limit=3) as mock, httpx.Client(base_url=mock.url, headers=BEARER) as client:
        order(client, {"kind": "html", "from": 2})
        assert [client.get(ANN).status_code for _ in range(5)] == [200, 503, 503, 429, 429]
        (window,) = mock.report()["windows"]
    assert (window["requests"], window["over"]) == (5, 2)
    assert window["answers"] == {"200": 1, "429": 2, "503": 2}


def test_who_shows_no_good_token_meets_no_fault_and_is_not_counted_by_it(client):
    order(client, {"kind": "html", "from": 2})
    codes = [
        client.get(ANN, headers={"authorization": shown}).status_code for shown in ("", "Bearer x", "", "Bearer x")
    ]
    assert codes == [401, 200, 401, 503]


def test_the_clock_may_be_set_and_is_set_back(client, mock, clock):
    order(client, {"kind": "skew", "seconds": -3600.0, "from": 2})
    dates = [parsedate_to_datetime(client.get(ANN).headers["date"]).timestamp() for _ in range(3)]
    assert dates == [clock.now(), clock.now() - 3600, clock.now() - 3600]
    assert mock.report()["skew"] == -3600.0
    # An open window ends where it was to end: the reset does not move with the clock.
    client.delete("/_mock/faults")
    assert parsedate_to_datetime(client.get(ANN).headers["date"]).timestamp() == clock.now()


def test_an_account_is_renamed_for_everybody_and_keeps_its_id(client):
    before = client.get(ANN).json()["data"]
    order(client, {"kind": "rename", "account": "ann", "name": "anna"})
    gone, found = client.get(ANN), client.get("/2/users/by/username/anna").json()["data"]
    assert gone.json()["errors"][0]["detail"] == "Could not find user with username: [ann]."
    assert (found["id"], found["username"]) == (before["id"], "anna")
    by_id = client.get(f"/2/users/{before['id']}").json()["data"]
    assert by_id["username"] == "anna"
    lookups = [ask(client, path).status_code for path in (SKY, SKY.replace("ann.", "anna."), TOOT, TOOT + "a")]
    assert lookups == [400, 200, 404, 200]
    texts = {"query": "from:anna", "max_results": 100}
    assert len(client.get("/2/tweets/search/recent", params=texts).json()["data"]) == 58
    texts["query"] = "from:ann"
    assert client.get("/2/tweets/search/recent", params=texts).json()["meta"]["result_count"] == 0


def test_an_account_goes_and_comes_back_mid_crawl_on_one_platform_only(client):
    number = client.get(ANN).json()["data"]["id"]
    path = f"/2/users/{number}/tweets"
    order(
        client,
        {"kind": "suspend", "platform": "x", "account": "ann", "endpoint": "/2/users/:id/tweets", "from": 2},
        {"kind": "protect", "platform": "x", "account": "ann", "endpoint": "/2/users/:id/tweets", "from": 3},
        {"kind": "delete", "platform": "x", "account": "ann", "endpoint": "/2/users/:id/tweets", "from": 4},
        {"kind": "restore", "platform": "x", "account": "ann", "endpoint": "/2/users/:id/tweets", "from": 5},
    )
    told = [client.get(path).json() for _ in range(5)]
    details = [answer["errors"][0]["detail"] if "errors" in answer else None for answer in told]
    assert details == [
        None,
        f"User has been suspended: [{number}].",
        f"Sorry, you are not authorized to see the user with id: [{number}].",
        f"Could not find user with id: [{number}].",
        None,
    ]
    assert told[4] == told[0]
    assert ask(client, SKY).status_code == ask(client, TOOT).status_code == 200


def test_who_is_gone_is_in_no_search(client):
    params = {"query": "rust", "max_results": 100}
    found = []
    for rule in ({"kind": "cut", "times": 1, "endpoint": "/none"}, {"kind": "suspend", "account": "ann"}):
        order(client, rule)
        found.append(client.get("/2/tweets/search/recent", params=params).json()["meta"]["result_count"])
    assert found == [57, 0]  # Bob's retweet is not found by a word


def pages(client, path, params, most=30):
    """The posts of every page of a list, page by page."""
    read, params = [], dict(params)
    while len(read) < most:
        answer = client.get(path, params=params)
        if answer.status_code != 200:
            return [*read, answer]
        page = answer.json()
        read.append([post["id"] for post in page["data"]])
        if "next_token" not in page["meta"]:
            return read
        params["pagination_token"] = page["meta"]["next_token"]
    raise AssertionError("the list does not end")


def test_pages_overlap_and_the_list_still_ends_with_every_post(client):
    path = f"/2/users/{client.get(ANN).json()['data']['id']}/tweets"
    whole = pages(client, path, {"max_results": 10})
    order(client, {"kind": "overlap", "posts": 3})
    read = pages(client, path, {"max_results": 10})
    posts = [post for page in whole for post in page]
    assert all(later[:3] == page[-3:] for page, later in pairwise(read))
    assert list(dict.fromkeys(post for page in read for post in page)) == posts
    order(client, {"kind": "overlap", "posts": 99})
    assert (
        list(dict.fromkeys(post for page in pages(client, path, {"max_results": 5}, most=60) for post in page)) == posts
    )


def test_a_page_comes_twice_and_leads_to_the_one_that_was_asked_for(client):
    path = f"/2/users/{client.get(ANN).json()['data']['id']}/tweets"
    whole = pages(client, path, {"max_results": 20})
    order(client, {"kind": "repeat", "every": 2})
    assert pages(client, path, {"max_results": 20}) == [whole[0], whole[0], whole[1], whole[1], whole[2]]


def feed(client):
    """The pages of Ann's feed on Bluesky."""
    read, params = [], {"actor": "ann.mock.social", "limit": 20}
    while True:
        page = client.get("/xrpc/app.bsky.feed.getAuthorFeed", params=params, headers={"authorization": ""}).json()
        read.append([item["post"]["uri"] for item in page["feed"]])
        if "cursor" not in page:
            return read
        params["cursor"] = page["cursor"]


def statuses(client):
    """The pages of Ann's statuses on Mastodon, but for the empty one at the end."""
    read, url = [], f"/api/v1/accounts/{ask(client, TOOT).json()['id']}/statuses?limit=20"
    while url:
        answer = client.get(url, headers={"authorization": "", **HOME})
        read.append([status["id"] for status in answer.json()])
        following = answer.links.get("next", {}).get("url")
        url = following and "/" + following.split("/", 3)[3]
    return read if read[-1] else read[:-1]


@pytest.mark.parametrize("read", [feed, statuses])
def test_bluesky_and_mastodon_overlap_too(client, read):
    whole = read(client)
    order(client, {"kind": "overlap", "posts": 3})
    over = read(client)
    assert over[1][:3] == whole[0][-3:]
    assert list(dict.fromkeys(chain.from_iterable(over))) == list(chain.from_iterable(whole))


@pytest.mark.parametrize("read", [feed, statuses])
def test_bluesky_and_mastodon_repeat_a_page_too(client, read):
    whole = read(client)
    order(client, {"kind": "repeat", "times": 1})
    assert read(client) == [whole[0], *whole]


def test_an_old_cursor_is_refused_as_a_wrong_one_and_a_fresh_one_is_not(client):
    path = f"/2/users/{client.get(ANN).json()['data']['id']}/tweets"
    old = client.get(path, params={"max_results": 10}).json()["meta"]["next_token"]
    order(client, {"kind": "expire", "requests": 2})
    fresh = client.get(path, params={"max_results": 10}).json()["meta"]["next_token"]
    assert old == fresh
    assert client.get(path, params={"max_results": 10, "pagination_token": fresh}).status_code == 200
    assert client.get(ANN).status_code == 200
    refused = client.get(path, params={"max_results": 10, "pagination_token": fresh})
    wrong = client.get(path, params={"max_results": 10, "pagination_token": "x" * 24})
    assert refused.status_code == wrong.status_code == 400
    assert refused.json()["title"] == wrong.json()["title"] == "Invalid Request"
    client.delete("/_mock/faults")
    assert client.get(path, params={"max_results": 10, "pagination_token": fresh}).status_code == 200


def test_a_list_can_be_read_to_its_end_where_cursors_grow_old_slowly(client):
    path = f"/2/users/{client.get(ANN).json()['data']['id']}/tweets"
    whole = pages(client, path, {"max_results": 5})
    order(client, {"kind": "expire", "requests": 1, "seconds": 60.0})
    assert pages(client, path, {"max_results": 5}) == whole
    assert len(whole) > 10


def test_two_runs_of_one_scenario_meet_the_same_faults():
    rules = [{"kind": "html", "probability": 0.3}, {"kind": "error", "probability": 0.3, "platform": "x"}]
    met = []
    for _ in range(2):
        with serve_in_thread(synthetic()) as mock, httpx.Client(base_url=mock.url, headers=BEARER) as client:
            order(client, *rules, seed=7)
            met.append([client.get(ANN).headers["content-type"] for _ in range(40)])
    assert met[0] == met[1]
    assert len(set(met[0])) == 2


def test_every_key_of_a_kind_is_checked_as_a_number_or_a_text():
    texts = {"platform", "endpoint", "account", "name", "headers", "post", "reason", "text"}
    assert {key for needs, may in KINDS.values() for key in (*needs, *may)} | set(
        WHEN
    ) == texts | WHOLE.keys() | REAL.keys()
    assert set(FATES) <= set(LASTING) <= set(KINDS)
    assert {"cursor", "max_id", "pagination_token", "next_token"} <= PAGING


def test_a_world_in_which_everybody_goes_is_still_served(client):
    names = ["Ann", "bob", "cy"]
    order(client, *({"kind": "delete", "account": name} for name in names))
    answer = client.get("/2/users/by", params={"usernames": ",".join(names)}).json()
    assert len(answer["errors"]) == 3
    assert "data" not in answer
