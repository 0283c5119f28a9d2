import json
from urllib.parse import parse_qs, urlsplit

import pytest
from http_server import QuietHandler, serving
from mastodon_posts import account_of, status_of

from socialcrawl.engine.model import Grant, Limit, Page, Reply, Request, Who
from socialcrawl.platforms.http_client import HttpClient
from socialcrawl.platforms.mastodon.source import NO_INSTANCE
from socialcrawl.platforms.mastodon.wire import MastodonWire
from socialcrawl.system.bounds import MAX_ANSWER

TOKEN = "a-token-that-nobody-may-see"
LOOK_UP, STATUSES = "/api/v1/accounts/lookup", "/api/v1/accounts/:id/statuses"
TAG, SEARCH = "/api/v1/timelines/tag/:hashtag", "/api/v2/search"
ANN = Who("ann@home.example", "ann@home.example")
HEADERS = {
    "Date": "Sat, 11 Apr 2026 23:14:16 GMT",
    "X-RateLimit-Limit": "300",
    "X-RateLimit-Remaining": "286",
    "X-RateLimit-Reset": "2026-04-11T23:15:00.644391Z",
}


def length(text, lang=None, created_at=None, urls=None, names=None):
    return len(text)


@pytest.fixture(scope="module")
def house():
    """A server that notes what it was asked, and says what `house.says` holds."""

    class Answer(QuietHandler):
        def answer(self):
            server.asked.append((self.path, dict(self.headers)))
            status, headers, body = server.says
            self.send(status, headers, body if isinstance(body, bytes) else json.dumps(body).encode())

    with serving(Answer) as server:
        yield server


@pytest.fixture
def door(house):
    house.asked, house.says = [], (200, HEADERS, [])
    return house


@pytest.fixture(scope="module")
def wires(house):
    """The wires to that server: one that keeps answers as they came, and one that does not."""
    made = {
        whole: MastodonWire(
            house.url,
            "Home.Example",
            {"mine": TOKEN},
            hits=length,
            now=lambda: 100.0,
            timeout=5.0,
            contact="me@a.example",
            whole=whole,
        )
        for whole in (False, True)
    }
    yield made
    for wire in made.values():
        wire.close()


@pytest.fixture
def send(wires):
    def sent(endpoint, params, credential="public", *, whole=False):
        return wires[whole].send(Grant(Request((0, 1), endpoint, params, 40), credential, 99.0))

    return sent


def timeline(host="home.example", **more):
    return host + STATUSES, {"id": "11", "acct": "ann@" + host, "limit": "40", **more}


def look_up(host="home.example"):
    return host + LOOK_UP, {"acct": "ann"}


def test_a_page_comes_with_its_rows_cursor_limits_and_clock(door, send):
    link = {"Link": f'<{door.url}/api/v1/accounts/11/statuses?limit=40&max_id=6>; rel="next"'}
    door.says = (200, {**HEADERS, **link}, [status_of("8"), status_of("6")])
    reply = send(*timeline(max_id="9", begin="2020-01-01T00:00:00Z", end="2030-01-01T00:00:00Z", opt_outs="no"))
    assert (reply.kind, reply.status, reply.cursor, reply.cost, reply.at) == ("ok", 200, "6", 0, 100.0)
    assert reply.limits == [Limit(286, 300, 1_775_949_300.644391)]
    assert reply.date == 1_775_949_256.0
    assert [row.text for row in reply.rows.posts] == ["hello", "hello"]
    ((path, headers),) = door.asked
    assert urlsplit(path).path == "/api/v1/accounts/11/statuses"
    assert parse_qs(urlsplit(path).query) == {"limit": ["40"], "max_id": ["9"]}  # what is for us alone stays here
    assert headers["User-Agent"].startswith("socialcrawl/")
    assert "me@a.example" in headers["User-Agent"]
    assert "Authorization" not in headers


@pytest.mark.parametrize("host", ["home.example", "other.example"])
def test_all_instances_are_asked_at_a_mock_by_their_names(door, send, host):
    door.says = (200, HEADERS, account_of())
    reply = send(*look_up(host))
    assert (reply.kind, reply.cursor) == ("ok", "11")
    assert reply.rows.answered == [Who(f"ann@{host}", f"ann@{host}")]
    assert door.asked[0][1]["Host"] == host
    assert door.asked[0][0] == f"{LOOK_UP}?acct=ann"


def test_the_token_is_sent_home_and_nowhere_else(door, send):
    send(*timeline(), credential="mine")
    send(*timeline("other.example"), credential="mine")
    send(*timeline(), credential="public")
    told = [headers.get("Authorization") for _, headers in door.asked]
    assert told == [f"Bearer {TOKEN}", None, None]


def test_redirects_are_not_followed_and_carry_no_token_away(door, send):
    door.says = (302, {"Location": f"{door.url}/elsewhere"}, b"")
    reply = send(*timeline(), credential="mine")
    assert (reply.kind, "base_url" in reply.why) == ("broken", True)
    assert send(*timeline("other.example")).kind == "broken"
    reply = send(*look_up("other.example"))
    assert (reply.kind, reply.rows, reply.cursor) == ("missing", Page(), NO_INSTANCE)
    assert len(door.asked) == 3


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (account_of(noindex=True), "opted-out"),
        (account_of(note="<p>#nobot</p>"), "opted-out"),
        (account_of(suspended=True), "suspended"),
    ],
)
def test_an_account_that_is_not_to_be_read_is_missing_and_its_answer_is_not_kept(door, send, body, reason):
    door.says = (200, HEADERS, body)
    reply = send(*look_up(), whole=True)
    assert (reply.kind, reply.rows.missing, reply.cursor) == ("missing", [(ANN, reason)], None)
    assert (reply.received is None) == (reason == "opted-out")


SILENT = status_of("5", account_of("bob@other.example", "22", note="<p>#nobot</p>"), content="<p>secret</p>")


@pytest.mark.parametrize(
    "shown",
    [{"reblog": SILENT}, {"quote": {"state": "accepted", "quoted_status": SILENT}}, None],
    ids=["repost", "quote", "post"],
)
def test_an_answer_that_shows_somebody_who_opted_out_is_not_kept_as_it_came(door, send, shown):
    door.says = (200, HEADERS, [status_of(), SILENT if shown is None else status_of("8", **shown)])
    endpoint, params = timeline()
    reply = send(endpoint, params, whole=True)
    assert (reply.kind, reply.received) == ("ok", None)
    assert send(endpoint, {**params, "opt_outs": "no"}, whole=True).received is not None


def test_opt_outs_are_overridden_by_the_request_alone(door, send):
    door.says = (200, HEADERS, account_of(noindex=True))
    endpoint, params = look_up()
    assert send(endpoint, {**params, "opt_outs": "no"}).kind == "ok"
    assert door.asked[0][0] == f"{LOOK_UP}?acct=ann"


@pytest.mark.parametrize("request_of", [look_up, timeline])
@pytest.mark.parametrize(("status", "reason"), [(404, "unknown"), (410, "deleted"), (401, "protected")])
def test_an_account_that_is_not_shown_is_missing_by_name(door, send, request_of, status, reason):
    door.says = (status, HEADERS, {"error": "told"})
    reply = send(*request_of())
    assert (reply.kind, reply.status, reply.rows.missing) == ("missing", status, [(ANN, reason)])
    assert reply.why


@pytest.mark.parametrize("request_of", [look_up, timeline])
@pytest.mark.parametrize("body", [{"error": "This API requires an authenticated user"}, b"<html>Forbidden</html>"])
@pytest.mark.parametrize("status", [401, 403])
def test_another_instance_that_is_closed_says_nothing_of_the_account(door, send, request_of, body, status):
    door.says = (status, HEADERS, body)
    reply = send(*request_of("other.example"))
    assert (reply.kind, reply.rows, reply.cursor) == ("missing", Page(), NO_INSTANCE)
    assert "closed to strangers" in reply.why
    endpoint, params = timeline("other.example", max_id="9")
    reply = send(endpoint + "?max_id", params)
    assert [reason for _, reason in reply.rows.missing] == ["protected"]


def test_a_page_for_people_in_the_place_of_statuses_is_trouble_on_the_way(door, send):
    door.says = (404, {}, b"<html>Not found</html>")
    assert send(*timeline("other.example")).kind == "broken"
    assert send(*look_up("other.example")).cursor == NO_INSTANCE


@pytest.mark.parametrize("home", ["127.0.0.1", "home.example"])
def test_the_server_at_base_url_is_called_by_its_address_with_the_port_where_that_is_home(door, home):
    door.says = (200, HEADERS, account_of())
    wire = MastodonWire(door.url, home, {}, hits=length, now=lambda: 1.0, timeout=2.0)
    for host in (home, "other.example"):
        wire.send(Grant(Request((0, 1), *look_up(host), 40), "public", 0.0))
    wire.close()
    here = home if home == "home.example" else f"{home}:{door.server_port}"
    assert [headers["Host"] for _, headers in door.asked] == [here, "other.example"]


def test_a_search_that_is_closed_is_a_reply_that_says_what_to_do(door, send):
    door.says = (401, HEADERS, {"error": "This method requires an authenticated user"})
    reply = send("home.example" + TAG, {"hashtag": "sky", "limit": "40"})
    assert (reply.kind, reply.rows.missing) == ("missing", ())
    assert "name seeds" in reply.why


def test_a_429_says_until_when_by_the_clock_of_the_server(door, send):
    door.says = (429, {**HEADERS, "X-RateLimit-Remaining": "0"}, {"error": "Too many requests"})
    assert send(*timeline()).kind == "window"
    door.says = (429, {}, {"error": "Too many requests"})
    reply = send(*timeline())
    assert (reply.kind, reply.limits) == ("backoff", [])
    door.says = (429, {"X-RateLimit-Limit": "9", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "130"}, {})
    reply = send(*timeline())
    assert (reply.kind, reply.date) == ("window", 100.0)  # without the server's clock, ours


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>maintenance</html>", "lost"),
        (200, b'[{"id": "1", "acc', "lost"),
        (200, {"error": "odd"}, "lost"),
        (200, [{"uri": 5, "account": account_of()}], "lost"),
        (200, [7], "lost"),
        (500, b"<html>oops</html>", "broken"),
        (503, {"error": "later"}, "broken"),
    ],
)
def test_trouble_is_told_apart_from_answers(door, send, status, body, kind):
    door.says = (status, {}, body)
    reply = send(*timeline())
    assert (reply.kind, reply.rows, reply.cost) == (kind, None, 0)
    assert reply.why


def test_a_token_that_is_refused_appears_nowhere(door, send):
    door.says = (401, HEADERS, {"error": f"The access token {TOKEN} is invalid"})
    reply = send(*timeline(), credential="mine", whole=True)
    assert reply.kind == "refused"
    assert TOKEN not in repr(reply)
    assert TOKEN not in reply.received.body.decode()


def test_a_server_that_is_not_there_is_broken_and_a_half_answer_lost(door, send):
    door.says = (200, {"Content-Length": "500", "Connection": "close"}, b"[")
    assert send(*timeline()).kind == "lost"
    wire = MastodonWire("http://127.0.0.1:9", "home.example", {}, hits=length, now=lambda: 1.0, timeout=2.0)
    reply = wire.send(Grant(Request((0, 1), *timeline(), 40), "public", 0.0))
    wire.close()
    assert reply.kind == "broken"


def test_an_answer_that_is_too_long_is_not_read_to_its_end(door, send):
    door.says = (200, {}, [{**status_of("1"), "content": "x" * MAX_ANSWER}])
    reply = send(*timeline())
    assert (reply.kind, reply.why) == ("lost", "the answer is longer than 10 MB")


@pytest.mark.parametrize("kind", ["invalid", "missing"])
def test_a_name_that_no_address_can_hold_or_that_is_of_our_neighbourhood_ends_nothing(send, monkeypatch, kind):
    refused = Reply(kind, 100.0, why="the address cannot be asked")
    monkeypatch.setattr(HttpClient, "fetch", lambda *_, **__: refused)
    reply = send(*look_up("other.example"))
    assert (reply.kind, reply.rows.missing[0][1], reply.why) == ("missing", "unknown", refused.why)


def test_what_the_path_names_cannot_leave_it(door, send):
    send("home.example" + TAG, {"hashtag": "../../evil?x=1#", "limit": "40"})
    assert door.asked[0][0] == "/api/v1/timelines/tag/..%2F..%2Fevil%3Fx%3D1%23?limit=40"


def test_a_search_goes_on_by_offset_until_a_page_is_not_full(door, send):
    given = [status_of(str(n)) for n in range(3)]
    door.says = (200, HEADERS, {"accounts": [], "statuses": given, "hashtags": []})
    asked = {"q": "sky", "type": "statuses", "limit": "3"}
    first = send("home.example" + SEARCH, asked, credential="mine")
    assert (first.cursor, len(first.rows.posts), first.rows.answered) == ("3", 3, [ANN])
    assert send(f"home.example{SEARCH}?offset", {**asked, "offset": "3"}).cursor == "6"
    assert send("home.example" + SEARCH, {**asked, "limit": "4"}).cursor is None
    assert door.asked[0][0] == f"{SEARCH}?q=sky&type=statuses&limit=3"


def test_follows_come_with_their_cursor(door, send):
    door.says = (200, {"Link": '<https://h.example/x?max_id=5>; rel="next"'}, [account_of("bob@other.example", "22")])
    reply = send("home.example/api/v1/accounts/:id/following", {"id": "11", "acct": "ann@home.example", "limit": "80"})
    assert [who.id for who in reply.rows.follows] == ["bob@other.example"]
    assert reply.cursor == "5"


def test_paging_ends_where_posts_were_written_before_the_bound(door, send):
    door.says = (200, {"Link": '<https://h.example/x?max_id=5>; rel="next"'}, [status_of()])
    assert send(*timeline(begin="2026-01-01T00:00:00Z")).cursor == "5"
    reply = send(*timeline(begin="2026-02-01T00:00:00Z"))
    assert (reply.cursor, reply.rows.posts) == (None, [])


def test_the_answer_is_kept_as_it_came_on_request(door, send):
    door.says = (200, HEADERS, [status_of()])
    assert send(*timeline()).received is None
    received = send(*timeline(), whole=True).received
    assert json.loads(received.body) == [status_of()]
    assert received.url == f"{door.url}/api/v1/accounts/11/statuses?limit=40"
