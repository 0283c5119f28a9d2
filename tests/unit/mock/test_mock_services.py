"""Several platforms at one mock: routes, windows of any shape, and a toy service behind the common gate."""

import json
from email.utils import parsedate_to_datetime

import httpx
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from test_mock_limits import ARRIVALS, IN_THE_WAY, eighths
from test_mock_world import synthetic

from socialcrawl.errors import MockError
from socialcrawl.mock.app import Routes
from socialcrawl.mock.gated_service import ServicePlatform
from socialcrawl.mock.names import DELETED, HERE, SUSPENDED
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.service import Guest, MockResponse, WindowSpec
from socialcrawl.mock.window_counts import WindowCounts
from socialcrawl.mock.world import build_world
from socialcrawl.mock.world_changes import Lifetime, WorldChanges

BEARER = {"Authorization": "Bearer x"}


def routes_of(*templates):
    routes = Routes()
    for template in templates:
        routes.add("GET", template, template)
    return routes


@pytest.mark.parametrize(
    ("path", "template", "names"),
    [
        ("/a/b", "/a/b", []),
        ("/a/c", "/a/:id", ["c"]),
        ("/a/b/c", "/a/:id/c", ["b"]),
        ("/a/b/d", "/a/*rest", ["b/d"]),
        ("/a/x/y/z", "/a/*rest", ["x/y/z"]),
        ("/a/", "/a/*rest", [""]),
        ("/", "/", []),
        ("/:id", "/*rest", [":id"]),
        ("/b/2/3/4", "/b/:one/3/:two", ["2", "4"]),
    ],
)
def test_a_path_goes_to_the_template_that_fits_it_best(path, template, names):
    routes = routes_of("/", "/a/b", "/a/:id", "/a/:id/c", "/a/*rest", "/*rest", "/b/:one/3/:two")
    assert routes.find("GET", path) == (template, names)


def test_a_path_that_nothing_fits_is_not_found_and_head_is_answered_where_get_is():
    routes = routes_of("/a/:id")
    assert routes.find("GET", "/b") is routes.find("GET", "/a/") is routes.find("POST", "/a/b") is None
    assert routes.find("GET", "/a") is routes.find("GET", "/a/b/c") is None
    assert routes.find("HEAD", "/a/b") == ("/a/:id", ["b"])
    with pytest.raises(MockError, match="have the endpoint GET /a/:name"):
        routes.add("GET", "/a/:name", "another")


def refereed(times, countings):
    """For each arrival: whether it is let in, and the windows (by position) that have no room for it."""
    counted, told = [[] for _ in countings], []
    for now in times:
        short = [j for j, one in enumerate(countings) if IN_THE_WAY[one.kind](counted[j], now, one.period) >= one.k]
        told.append((not short, short))
        for j, one in enumerate(countings):
            if not short or one.refused:
                counted[j].append(now)
    return told


COUNTINGS = st.lists(
    st.tuples(st.integers(1, 6), eighths(1, 40), st.sampled_from(sorted(IN_THE_WAY)), st.booleans()), max_size=4
).map(lambda rows: [WindowSpec((str(n),), *row) for n, row in enumerate(rows)])


@settings(deadline=None, max_examples=many(80))
@given(ARRIVALS, COUNTINGS)
def test_windows_of_services_decide_as_the_referee_who_looks_at_all_arrivals_again(times, countings):
    counts = WindowCounts()
    taken = [counts.take(countings, now) for now in times]
    told = refereed(times, countings)
    assert [not refused for _, refused in taken] == [passes for passes, _ in told]
    report = counts.report()
    assert report["over"] == sum(not passes for passes, _ in told)
    for j, one in enumerate(countings):
        windows = [window for window in report["windows"] if window["key"] == [str(j)]]
        assert sum(window["over"] for window in windows) == sum(j in short for _, short in told)
        if one.refused:
            assert sum(window["requests"] for window in windows) == len(times)


@settings(deadline=None, max_examples=many(50))
@given(ARRIVALS, st.integers(1, 5), eighths(1, 30), st.sampled_from(sorted(IN_THE_WAY)))
def test_who_is_told_that_something_is_left_gets_in_and_who_waits_until_the_end_too(times, k, period, kind):
    counting, counts = WindowSpec(("one",), k, period, kind, refused=False), WindowCounts()
    left = None
    for now in times:
        (slot,), refused = counts.take([counting], now)
        if left:
            assert not refused
        left = slot.standing().left
        last, ends = now, slot.standing().ends
    if times:
        assert ends > last
        assert not counts.take([counting], ends)[1]


class Toy:
    """A service with a window for every host and one for all, which needs the header `key`."""

    name = "toy"

    def endpoints(self):
        return [("GET", "/toy/:id"), ("POST", "/toy/:id"), ("GET", "/toy/files/*rest")]

    def guest(self, asked):
        if asked.headers.get("key") == "user":
            return MockResponse(403, b"not you")
        return Guest("g", "app") if asked.headers.get("key") else MockResponse(401, b"no key")

    def counted(self, asked, guest):
        return [WindowSpec(("host", asked.host), 2, 60.0), WindowSpec(("all", guest.label), 3, 60.0, "aligned")]

    def limits(self, asked, standing):
        return {"left": " ".join(str(one.left) for one in standing), "Shown": "limits"}

    def too_many(self, asked, standing):
        return MockResponse(429, b"slow down", {"retry-after": "60"}, "text/plain")

    def answer(self, asked, guest):
        told = {
            "endpoint": asked.endpoint,
            "path": dict(asked.path),
            "query": list(asked.query),
            "last": asked.one("a"),
            "body": asked.body.decode(),
            "host": asked.host,
            "method": asked.method,
        }
        return MockResponse(201, json.dumps(told).encode(), {"shown": "answer"})


def toy(**more):
    return serve_in_thread(synthetic(), more=[ServicePlatform(Toy(), None)], **more)


def test_a_service_is_asked_as_it_was_asked_and_its_answer_goes_out_with_limits_and_date():
    with toy() as mock, httpx.Client(base_url=mock.url, headers={"key": "k"}) as client:
        got = client.get("/toy/a%20b?a=1&b=&a=2", headers={"host": "one.example:8080"})
        posted = client.post("/toy/files", content=b"hello", headers={"host": "two.example"})
    told = got.json()
    assert got.status_code == 201
    assert told == {
        "endpoint": "/toy/:id", "path": {"id": "a b"}, "query": [["a", "1"], ["b", ""], ["a", "2"]], "last": "2",
        "body": "", "host": "one.example", "method": "GET",
    }  # fmt: skip
    assert (got.headers["left"], got.headers["content-type"]) == ("1 2", "application/json; charset=utf-8")
    assert "date" in got.headers
    assert parsedate_to_datetime(got.headers["date"]).year > 2000
    assert (posted.json()["body"], posted.json()["method"], posted.json()["host"]) == ("hello", "POST", "two.example")


def test_head_is_answered_as_get_without_the_body():
    with toy() as mock, httpx.Client(base_url=mock.url, headers={"key": "k"}) as client:
        head = client.head("/toy/1")
        none = client.head("/nothing")
    assert (head.status_code, head.content) == (201, b"")
    assert int(head.headers["content-length"]) > 0
    assert (none.status_code, none.content) == (404, b"")


def test_every_platform_has_its_own_count():
    with toy() as mock, httpx.Client(base_url=mock.url, headers={"key": "k"}) as client:
        statuses = [client.get("/toy/1", headers={"host": host}).status_code for host in "aaabbb"]
        client.get("/toy/1", headers={"key": ""})
        client.get("/toy/files/x/y", headers={"key": "user"})
        client.get("/2/users/by/username/ann", headers=BEARER)
        report = mock.report()
    # Host a uses up its 2, the third takes the last of all 3; host b is short of the common window.
    assert statuses == [201, 201, 429, 429, 429, 429]
    told = report["platforms"]["toy"]
    assert told["received"] == {"/toy/:id": 7, "/toy/files/*rest": 1}
    assert (told["unauthorized"], told["forbidden"]) == ({"/toy/:id": 1}, {"/toy/files/*rest": 1})
    assert told["answers"] == {"201": 2, "401": 1, "403": 1, "429": 4}
    windows = {tuple(one["key"]): (one["requests"], one["over"], one["answers"]) for one in told["windows"]}
    assert windows["host", "a"] == (3, 1, {"201": 2, "429": 1})
    assert windows["host", "b"] == (3, 1, {"429": 3})
    assert (told["over"], report["over"]) == (4, 0)
    assert report["received"] == {"/2/users/by/username/:username": 1}


def test_a_refusal_has_the_service_s_own_form():
    with toy() as mock, httpx.Client(base_url=mock.url, headers={"key": "k"}) as client:
        for _ in range(3):
            answer = client.get("/toy/1")
    assert (answer.status_code, answer.text, answer.headers["retry-after"]) == (429, "slow down", "60")
    assert (answer.headers["left"], answer.headers["content-type"]) == ("0 0", "text/plain")


def test_one_posts_file_is_served_as_x_bluesky_and_mastodon_at_once():
    with (
        serve_in_thread(synthetic(), bluesky_limit=7, mastodon_limit=9) as mock,
        httpx.Client(base_url=mock.url) as client,
    ):
        x = client.get("/2/users/by/username/ann", headers=BEARER)
        sky = client.get("/xrpc/app.bsky.feed.getAuthorFeed", params={"actor": "ann.mock.social", "limit": 100})
        toot = client.get("/api/v1/accounts/lookup", params={"acct": "ann"}, headers={"host": "home.example"})
        own = client.get(
            f"/api/v1/accounts/{toot.json()['id']}/statuses", params={"limit": 40}, headers={"host": "home.example"}
        )
        tweets = client.get(f"/2/users/{x.json()['data']['id']}/tweets", params={"max_results": 100}, headers=BEARER)
        report = mock.report()
    theirs = [item["post"]["record"]["text"] for item in sky.json()["feed"]]
    assert theirs == [post["text"] for post in tweets.json()["data"]]
    assert len(own.json()) == 40
    assert (sky.headers["ratelimit-limit"], own.headers["x-ratelimit-limit"]) == ("7", "9")
    assert report["received"]["/2/users/:id/tweets"] == 1
    assert {name: sum(one["received"].values()) for name, one in report["platforms"].items()} == {
        "bluesky": 1,
        "mastodon": 2,
    }


def test_pages_are_served_as_a_web_site_alone_or_beside_posts(tmp_path):
    path = tmp_path / "pages.csv"
    path.write_text('key,text,links\nAsia,"Asia has Japan.","[""Japan""]"\nJapan,"An island.","[]"\n', encoding="utf-8")
    for posts in (None, synthetic()):
        with serve_in_thread(posts, pages=path, site_limit=2, windows={"web": 60.0}) as mock:
            answers = [httpx.get(f"{mock.url}/wiki/Asia", headers={"host": "w.example"}) for _ in range(3)]
            other = httpx.get(f"{mock.url}/wiki/Japan", headers={"host": "v.example"})
            report = mock.report()
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert "/wiki/Japan" in answers[0].text
        assert other.status_code == 200
        assert report["platforms"]["web"]["over"] == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"platforms": ("x", "y")}, "cannot serve posts as x, y"),
        ({"platforms": ("x", "x")}, "each once"),
        ({"platforms": ()}, "nothing to serve"),
        ({"windows": {"sky": 1.0}}, "Unknown platform limit 'sky'"),
        ({"windows": {"paged": 0.0}}, "window of paged is 0.0 s"),
        ({"paged_limit": 0}, "paged_limit is 0"),
        ({"nobot": 1.5}, "share nobot is 1.5"),
    ],
)
def test_a_setting_that_cannot_be_is_a_sentence(wrong, said):
    with pytest.raises(MockError, match=said):
        MockSettings(**wrong)


def test_the_passwords_of_bluesky_stay_out_of_logs():
    assert "secret" not in repr(MockSettings(passwords={"ann": "secret"}))


def test_what_nothing_changed_is_as_in_the_world_and_a_change_is_one_platform_s():
    world = build_world(synthetic(), missing=0.3)
    changes, other = WorldChanges(world), WorldChanges(world)
    rows = range(len(world.accounts))
    assert [changes.find_fate(row) for row in rows] == world.accounts.fates.tolist()
    assert [changes.username(row) for row in rows] == world.accounts.usernames
    assert [changes.row(name) for name in world.accounts.usernames] == list(rows)
    assert changes.visible.tolist() == world.visible.tolist()
    ann = changes.row("ANN")
    changes.become(ann, SUSPENDED)
    changes.rename(ann, "Anna")
    assert (changes.find_fate(ann), changes.username(ann), changes.row("ann"), changes.row("anna")) == (
        SUSPENDED,
        "Anna",
        None,
        ann,
    )
    assert changes.visible.tolist() == [
        fate == HERE and row != ann
        for row, fate in zip(world.author.tolist(), world.accounts.fates[world.author].tolist(), strict=True)
    ]
    assert (other.row("ann"), other.find_fate(ann), other.version) == (ann, int(world.accounts.fates[ann]), 0)
    assert changes.version == 2
    changes.rename(ann, "ann")
    assert (changes.row("ann"), changes.row("anna"), changes.username(ann)) == (ann, None, "ann")
    changes.become(ann, DELETED)
    changes.become(ann, HERE)
    assert changes.visible[world.timelines.of(ann)].all()


def test_a_name_that_is_taken_or_none_is_refused():
    changes = WorldChanges(build_world(synthetic()))
    for name, said in (("bob", "belongs to another"), ("a b", "No account can be named"), ("x" * 16, "No account")):
        with pytest.raises(MockError, match=said):
            changes.rename(changes.row("ann"), name)


@settings(deadline=None, max_examples=many(50))
@given(
    st.lists(st.tuples(eighths(0, 3), st.sampled_from("abc"), st.booleans()), max_size=40),
    st.one_of(st.none(), eighths(0, 5)),
    st.one_of(st.none(), st.integers(0, 5)),
)
def test_a_cursor_is_old_after_its_seconds_or_requests_since_it_was_last_handed_out(steps, seconds, requests):
    changes, now, issued = WorldChanges(build_world(synthetic())), 1000.0, {}
    changes.tick(now)
    changes.expire(Lifetime(seconds, requests))
    for n, (gap, cursor, handed_out) in enumerate(steps, 1):
        now += gap
        changes.tick(now)
        when, nth = issued.get(cursor, (1000.0, 0))
        old = (seconds is not None and now - when > seconds) or (requests is not None and n - nth > requests)
        assert changes.has_expired(cursor) == old
        if handed_out:
            assert changes.issue(cursor) == cursor
            issued[cursor] = (now, n)
    changes.expire(None)
    assert not any(changes.has_expired(cursor) for cursor in "abc")
