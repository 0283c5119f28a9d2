"""The mock's filtered stream of X: its rules, the one connection, and the posts that it sends, against the file."""

import json
import re
import time
from contextlib import contextmanager

import httpx
import pytest
from bluesky_mock import START, Row
from stream_clients import PATIENCE, SIGNED_IN, rows_of, streaming
from websockets.exceptions import InvalidStatus

STREAM, RULES, CONNECTIONS = "/2/tweets/search/stream", "/2/tweets/search/stream/rules", "/2/connections/all"
FIRST = START - 1.0
MORE = [
    Row("q1", "quoter", START + 650, "look https://x.com/author0/status/9000000", ()),
    Row("c1", "author2", START + 651, "a café about Rust, with marks"),
    Row("c2", "author2", START + 652, "a cafe about tea, without"),
]
NUMBERED = [
    row._replace(id=str(9_000_000 + n))
    for n, row in enumerate(sorted([*rows_of(60)[:-1], *MORE, rows_of(60)[-1]], key=lambda row: row.at))
]
ROWS = [row._replace(answers=None) for row in NUMBERED]


def add(live, *rules, **query):
    """The answer to rules that are added: texts, or (text, tag)."""
    added = [{"value": rule} if isinstance(rule, str) else {"value": rule[0], "tag": rule[1]} for rule in rules]
    return live.admin.post(RULES, json={"add": added}, params=query)


def listed(live):
    return live.admin.get(RULES).json().get("data", [])


@contextmanager
def connected(live, token="x", **query):
    """An open stream, as an iterator of its messages; None is a keep-alive."""
    headers = {"Authorization": f"Bearer {token}"}
    client = httpx.Client(base_url=live.url, timeout=PATIENCE, headers=headers)
    with client, client.stream("GET", STREAM, params=query) as answer:
        assert answer.status_code == 200, answer.read()
        yield (json.loads(line) if line else None for line in answer.iter_lines())


def read_until_the_end(source):
    """The messages to the last post of the file."""
    found = []
    while not found or found[-1]["data"]["text"] != ROWS[-1].text:
        message = next(source)
        found += [message] if message else []
    return found


def has_word(row, word):
    return word in re.findall(r"\w+", row.text.lower())


def test_posts_that_match_arrive_once_with_the_rules_that_they_match_and_are_billed_by_post():
    with streaming(ROWS, begin=FIRST) as live:
        made = add(live, ("rust", "about rust"), "from:author3", ("end", "last")).json()
        ids = {rule["value"]: rule["id"] for rule in made["data"]}
        with connected(live) as source:
            live.end()
            told = read_until_the_end(source)
        wanted = [row for row in ROWS if has_word(row, "rust") or row.author == "author3" or row.id == "9000000"]
        quoted = next(row for row in ROWS if row.author == "quoter")
        wanted = sorted({*wanted, quoted}, key=lambda row: int(row.id))
        assert [one["data"]["id"] for one in told] == [row.id for row in wanted]
        for one, row in zip(told, wanted, strict=True):
            matched = {rule["id"] for rule in one["matching_rules"]}
            assert (ids["rust"] in matched) == (has_word(row, "rust") or row is quoted)
            assert (ids["from:author3"] in matched) == (row.author == "author3")
        tags = {rule["id"]: rule["tag"] for one in told for rule in one["matching_rules"]}
        assert tags == {ids["rust"]: "about rust", ids["from:author3"]: "", ids["end"]: "last"}
        report = live.mock.report()
        assert (report["totals"]["posts"], report["totals"]["users"]) == (len(told), 0)
        assert report["totals"]["dollars"] == pytest.approx(0.005 * len(told))
        assert report["streamed"] == {STREAM: len(told)}


def test_reposts_match_and_diacritics_count():
    with streaming(ROWS, begin=FIRST) as live:
        add(live, "cafe", "from:fan2 note", "end")
        with connected(live) as source:
            live.end()
            texts = [one["data"]["text"] for one in read_until_the_end(source)]
    reposts = [row.text for row in ROWS if row.author == "fan2"]
    assert reposts
    assert texts == [*reposts, "a cafe about tea, without", ROWS[-1].text]


def test_expansions_come_with_each_post_and_are_billed():
    with streaming(ROWS, begin=FIRST) as live:
        add(live, "from:author3", "end")
        shown = {"expansions": "author_id", "tweet.fields": "created_at,lang", "user.fields": "username"}
        with connected(live, **shown) as source:
            live.end()
            told = read_until_the_end(source)
        names = [one["includes"]["users"][0]["username"] for one in told]
        assert names == ["author3"] * (len(told) - 1) + ["zed"]
        assert {"created_at", "lang", "author_id"} <= told[0]["data"].keys()
        assert live.mock.report()["totals"]["users"] == 2


def test_rules_are_listed_tried_and_deleted_by_id_by_value_and_all():
    with streaming(ROWS) as live:
        assert live.admin.get(RULES).json()["meta"]["result_count"] == 0
        tried = add(live, "rust", dry_run="true")
        assert (tried.status_code, tried.json()["meta"]["summary"]["valid"], listed(live)) == (201, 1, [])
        answer = add(live, ("rust", "r"), "tea", "end", "café OR cafe")
        summary = {"created": 4, "not_created": 0, "valid": 4, "invalid": 0}
        assert (answer.status_code, answer.json()["meta"]["summary"]) == (201, summary)
        rules = listed(live)
        assert rules == answer.json()["data"]
        assert [rule["value"] for rule in rules] == ["rust", "tea", "end", "café OR cafe"]
        assert (rules[0]["tag"], "tag" in rules[1]) == ("r", False)
        one = live.admin.get(RULES, params={"ids": rules[1]["id"]}).json()
        assert one["data"] == [rules[1]]
        page = live.admin.get(RULES, params={"max_results": 3}).json()
        rest = live.admin.get(RULES, params={"pagination_token": page["meta"]["next_token"]}).json()
        assert [*page["data"], *rest["data"]] == rules
        gone = live.admin.post(RULES, json={"delete": {"ids": [rules[0]["id"], "17"]}})
        assert gone.json()["meta"]["summary"] == {"deleted": 1, "not_deleted": 1}
        assert gone.json()["errors"][0]["errors"][0]["message"] == "Rule does not exist"
        live.admin.post(RULES, json={"delete": {"values": ["tea"]}})
        assert [rule["value"] for rule in listed(live)] == ["end", "café OR cafe"]
        everything = live.admin.post(RULES, params={"delete_all": "true"})
        assert (everything.json()["meta"]["summary"]["deleted"], listed(live)) == (2, [])
        assert add(live, "end").json()["data"][0]["id"] not in {rule["id"] for rule in rules}


def test_rules_of_another_app_are_others():
    with streaming(ROWS) as live:
        add(live, "rust")
        assert (
            httpx.get(live.url + RULES, headers={"Authorization": "Bearer other"}).json()["meta"]["result_count"] == 0
        )


def test_duplicates_and_rules_that_cannot_be_are_told_beside_those_that_are_added():
    with streaming(ROWS) as live:
        first = add(live, "rust").json()["data"][0]["id"]
        answer = add(live, "rust", "tea", "list:17", "(a", "-a", "a" * 1_025).json()
        assert [rule["value"] for rule in answer["data"]] == ["tea"]
        assert answer["meta"]["summary"] == {"created": 1, "not_created": 5, "valid": 1, "invalid": 5}
        same, *wrong = answer["errors"]
        kind = "https://api.twitter.com/2/problems/"
        assert same == {"value": "rust", "id": first, "title": "DuplicateRule", "type": f"{kind}duplicate-rules"}
        assert {(one["title"], one["type"]) for one in wrong} == {("UnprocessableEntity", f"{kind}invalid-rules")}
        assert "list" in wrong[0]["details"][0]
        assert "1024" in wrong[3]["details"][0]
        full = add(live, *(f"from:a{i}" for i in range(999)))
        assert (full.status_code, full.json()["type"], len(listed(live))) == (422, f"{kind}rule-cap", 2)
        assert add(live, *(f"from:a{i}" for i in range(998))).status_code == 201
        assert len(listed(live)) == 1_000


@pytest.mark.parametrize(
    "body", [b"no JSON", b"[]", b"{}", b'{"add": []}', b'{"add": [{"tag": "x"}]}', b'{"delete": {}}']
)
def test_a_body_that_names_no_rules_is_an_invalid_request(body):
    with streaming(ROWS[-1:]) as live:
        answer = live.admin.post(RULES, content=body)
        assert (answer.status_code, answer.json()["title"]) == (400, "Invalid Request")


def test_an_app_has_one_connection_and_can_end_it():
    with streaming(ROWS, begin=FIRST) as live:
        assert live.admin.get(STREAM).status_code == 409
        assert live.admin.get(STREAM).json()["connection_issue"] == "RuleConfigurationIssue"
        add(live, "rust")
        with connected(live) as source:
            second = live.admin.get(STREAM)
            assert (second.status_code, second.json()["connection_issue"]) == (429, "TooManyConnections")
            assert live.admin.delete(CONNECTIONS).json()["data"]["successful_kills"] == 1
            last = next(source)
            assert last["errors"][0]["disconnect_type"] == "ForceDisconnect"
            assert list(source) == []
        assert live.admin.delete(CONNECTIONS).json()["data"]["successful_kills"] == 0
        with connected(live) as source:
            live.end()
            assert next(source)["data"]["text"] == ROWS[0].text


def test_a_client_that_leaves_makes_room():
    with streaming(ROWS, begin=FIRST) as live:
        add(live, "rust")
        with connected(live):
            pass
        answer, deadline = None, time.monotonic() + PATIENCE
        while answer is None or answer.status_code == 429:
            assert time.monotonic() < deadline
            with live.admin.stream("GET", STREAM) as answer:
                pass
        assert answer.status_code == 200


def test_a_stream_says_that_it_is_open_and_why_it_ends():
    with streaming(ROWS, begin=FIRST, heartbeat=0.05) as live:
        add(live, "rust")
        with connected(live) as source:
            assert [next(source) for _ in range(3)] == [None] * 3
            live.fail({"kind": "disconnect", "reason": "UpstreamOperationalDisconnect", "times": 1})
            live.end()
            last = next(message for message in source if message)
            assert last["errors"][0]["disconnect_type"] == "UpstreamOperationalDisconnect"


def test_credits_that_run_out_end_the_stream_after_what_they_paid_for():
    with streaming(ROWS, begin=FIRST, credits=0.0125) as live:
        add(live, "rust")
        with connected(live) as source:
            live.end()
            told = [message for message in source if message]
        assert [one["data"]["text"] for one in told[:-1]] == [row.text for row in ROWS if has_word(row, "rust")][:3]
        assert "errors" in told[-1]
        assert live.mock.report()["totals"]["dollars"] == pytest.approx(0.015)
        assert live.admin.get(STREAM).status_code == 402


def test_what_is_not_served_is_refused():
    with streaming(ROWS, user_tokens=frozenset({"mine"})) as live:
        add(live, "rust")
        assert live.admin.get(STREAM, params={"backfill_minutes": 2}).status_code == 400
        for path in (STREAM, RULES):
            assert httpx.get(live.url + path, headers={"Authorization": "Bearer mine"}).status_code == 403
            assert httpx.get(live.url + path).status_code == 401


def test_a_stream_of_x_is_no_websocket():
    with streaming(ROWS, begin=FIRST) as live:
        add(live, "rust")
        with pytest.raises(InvalidStatus) as refusal, live.listen(STREAM, additional_headers=SIGNED_IN):
            pass
        assert refusal.value.response.status_code == 400
        with connected(live) as source:  # the one connection is free
            live.end()
            assert next(source)["data"]["text"] == ROWS[0].text


def test_connections_and_rules_have_windows_of_their_own():
    with streaming(ROWS[-1:], limit=300) as live:
        limits = {
            name: int(answer.headers["x-rate-limit-limit"])
            for name, answer in {
                "connect": live.admin.get(STREAM),
                "list": live.admin.get(RULES),
                "change": add(live, "rust"),
            }.items()
        }
        assert limits == {"connect": 50, "list": 450, "change": 100}
