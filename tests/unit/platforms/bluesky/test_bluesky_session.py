import base64
import json
import logging
import stat
import threading

import hostile_servers
import pytest
from bluesky_posts import Sky, did, no_topic

from socialcrawl.engine.model import Grant, Limit, Reply, Request
from socialcrawl.errors import StoreError
from socialcrawl.platforms import http_client
from socialcrawl.platforms.bluesky import session_file
from socialcrawl.platforms.bluesky.session import AccessToken, Session, find_sign_in_server
from socialcrawl.platforms.bluesky.source import FEED
from socialcrawl.platforms.bluesky.wire import BlueskyWire

PASSWORD = "abcd-efgh-ijkl-mnop"
LIFE = 7_200


def jwt(number, **claims):
    def part(told):
        return base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")

    return f"{part({'typ': 'at+jwt'})}.{part({'jti': number, **claims})}.signature-{number}"


class Door:
    """The part of a server that signs in and renews: it counts, and takes what it gave out last only."""

    def __init__(self, clock):
        self.clock, self.signed, self.renewed, self.number = clock, 0, 0, 0
        self.says, self.refuses, self.life, self.more, self.skew = None, False, LIFE, {}, 0.0
        self.access = self.refresh = ""

    def __call__(self, path, _, headers, body):
        if self.says is not None:
            return self.says
        if path.endswith("createSession"):
            if json.loads(body) != {"identifier": "ann.test", "password": PASSWORD}:
                return 401, {}, {"error": "AuthenticationRequired", "message": "Invalid identifier or password"}
            self.signed += 1
        elif path.endswith("refreshSession"):
            if self.refuses or headers["Authorization"] != f"Bearer {self.refresh}":
                return 400, {}, {"error": "ExpiredToken", "message": "Token has expired"}
            self.renewed += 1
        elif headers.get("Authorization") != f"Bearer {self.access}":
            return 400, {}, {"error": "ExpiredToken", "message": "Token has expired"}
        else:
            return 200, {}, {"feed": []}
        self.number += 1
        began = int(self.clock.at + self.skew)
        self.access, self.refresh = jwt(self.number, iat=began, exp=began + self.life), jwt(f"r{self.number}")
        return (
            200,
            {},
            {
                "accessJwt": self.access,
                "refreshJwt": self.refresh,
                "did": did("ann"),
                "handle": "ann.test",
                **self.more,
            },
        )


class Clock:
    at = 1_763_726_400.0

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def door(clock):
    made = Door(clock)
    with Sky(made) as sky:
        made.url, made.asked = sky.url, sky.asked
        yield made


@pytest.fixture
def session(door, clock, tmp_path):
    """A way to make sessions of one account on that server, in one folder."""
    made = []

    def make(password=PASSWORD, identifier="ann.test"):
        made.append(Session(door.url, identifier, password, tmp_path / "sessions", now=clock, timeout=5.0))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_an_account_signs_in_once_and_goes_on_with_its_token(session, door):
    mine = session()
    assert not door.asked  # not before it is needed
    assert [mine.get_token() for _ in range(3)] == [AccessToken(door.access, door.url)] * 3
    assert (door.signed, door.renewed) == (1, 0)


def test_the_next_process_goes_on_with_the_session_that_was_kept(session, door):
    first = session().get_token()
    assert session().get_token() == first
    assert (door.signed, door.renewed) == (1, 0)


@pytest.mark.parametrize("spelling", ["@ann.test", "Ann.Test", " ann.test "])
def test_spellings_of_one_account_share_its_session(session, door, spelling):
    first = session(identifier=spelling).get_token()  # the door takes ann.test only
    assert session().get_token() == first
    assert (door.signed, door.renewed) == (1, 0)


def test_a_did_signs_in_as_it_is_written(session, door):
    session(identifier="did:web:example.org:Ann").get_token()
    assert json.loads(door.asked[0][3])["identifier"] == "did:web:example.org:Ann"


def test_tokens_are_kept_for_their_owner_only_under_names_that_tell_nothing(session, door, tmp_path):
    session().get_token()
    folder = tmp_path / "sessions"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "ann" not in file.name
        assert PASSWORD.encode() not in file.read_bytes()
    (file,) = folder.glob("*.json")
    assert door.access in file.read_text()


def test_a_session_is_renewed_before_its_token_ends(session, door, clock):
    mine = session()
    first = mine.get_token()
    clock.at += LIFE - 301
    assert mine.get_token() == first
    clock.at += 2
    assert mine.get_token() == AccessToken(door.access, door.url) != first
    assert (door.signed, door.renewed) == (1, 1)
    assert session().get_token() == mine.get_token()  # what was renewed is kept too


def test_a_token_of_a_short_life_is_used_for_half_of_it(session, door, clock):
    door.life = 10
    mine = session()
    mine.get_token()
    clock.at += 4.9
    mine.get_token()
    assert door.renewed == 0
    clock.at += 0.2
    mine.get_token()
    assert door.renewed == 1


@pytest.mark.parametrize("skew", [-86_400.0, 86_400.0])
def test_a_servers_clock_that_is_wrong_does_no_harm(session, door, clock, skew):
    door.skew = skew
    mine = session()
    mine.get_token()
    clock.at += LIFE - 301
    mine.get_token()
    assert (door.signed, door.renewed) == (1, 0)
    clock.at += 2
    mine.get_token()
    assert door.renewed == 1


def test_a_token_that_the_server_takes_no_more_is_renewed_once_for_all_who_had_it(session, door):
    mine = session()
    token = mine.get_token().token
    for _ in range(5):
        mine.refuse(token)
    assert mine.get_token().token != token
    mine.refuse(token)  # somebody who waited for an answer long
    assert (mine.get_token().token, door.renewed) == (door.access, 1)


def test_a_session_that_has_ended_for_good_signs_in_anew(session, door, clock):
    mine = session()
    mine.get_token()
    door.refuses = True
    clock.at += LIFE
    assert mine.get_token() == AccessToken(door.access, door.url)
    assert (door.signed, door.renewed) == (2, 0)


def test_a_server_in_trouble_is_no_reason_to_give_up_a_token_that_still_lasts(session, door, clock):
    mine = session()
    first = mine.get_token()
    door.says = 502, {}, b"bad gateway"
    clock.at += LIFE - 100
    assert mine.get_token() == first
    clock.at += 100
    assert mine.get_token().kind == "broken"
    door.says = None
    clock.at += 3
    assert mine.get_token() == AccessToken(door.access, door.url)
    assert door.signed == 1


def test_a_wrong_password_is_refused_with_what_to_do_and_tried_once(session, door):
    mine = session("wrong-wrong-wrong")
    replies = [mine.get_token() for _ in range(20)]
    assert {(reply.kind, reply.status) for reply in replies} == {("refused", 401)}
    assert "app password" in replies[0].why
    assert len(door.asked) == 1


@pytest.mark.parametrize(
    ("status", "error", "word"),
    [
        (401, "AuthFactorTokenRequired", "code"),
        (401, "AccountTakedown", "not active"),
        (400, "InvalidRequest", "app password"),
        (404, "XRPCNotSupported", "app password"),
    ],
)
def test_other_refusals_say_what_is_wrong(session, door, status, error, word):
    door.says = status, {}, {"error": error, "message": "told"}
    reply = session().get_token()
    assert reply.kind == "refused"
    assert word in reply.why


def too_many(clock, seconds, policy):
    head = {"RateLimit-Limit": "30", "RateLimit-Remaining": "0", "RateLimit-Policy": policy}
    told = {**head, "RateLimit-Reset": str(int(clock.at + seconds))}
    return 429, told, {"error": "RateLimitExceeded", "message": "Rate Limit Exceeded"}


def test_after_too_many_sign_ins_nothing_is_sent_before_their_window_ends(session, door, clock):
    mine, began = session(), clock.at
    door.says = too_many(clock, 200, "30;w=300")
    first = mine.get_token()
    assert (first.kind, first.status, first.date) == ("window", 429, clock.at)
    assert first.limits == [Limit(0, 0, began + 200.0)]  # of sign-ins, not of requests: no window is so small
    clock.at += 100
    again = mine.get_token()
    assert (again.kind, again.at) == ("window", clock.at)
    assert len(door.asked) == 1
    door.says = None
    clock.at = began + 202
    assert mine.get_token() == AccessToken(door.access, door.url)


def test_the_limit_of_a_day_is_waited_out_too(session, door, clock):
    mine, began = session(), clock.at
    door.says = too_many(clock, 40_000, "300;w=86400")
    assert mine.get_token().kind == "day"
    door.says = None
    clock.at = began + 39_000
    assert mine.get_token().kind == "day"
    clock.at = began + 40_002
    assert isinstance(mine.get_token(), AccessToken)


def test_a_limit_that_does_not_say_until_when_is_waited_out_for_a_minute(session, door, clock):
    mine = session()
    door.says = 429, {}, {"error": "RateLimitExceeded"}
    assert mine.get_token().kind == "backoff"
    clock.at += 59
    mine.get_token()
    assert len(door.asked) == 1
    door.says = None
    clock.at += 2
    assert isinstance(mine.get_token(), AccessToken)


@pytest.mark.parametrize(
    "says",
    [
        (200, {}, b"<html>"),
        (200, {}, {}),
        (200, {}, {"accessJwt": "a b", "refreshJwt": "c"}),
        (500, {}, {}),
        (302, {}, b""),
        (401, {}, b"<html>Sign in to this network</html>"),
        (403, {}, b"<html>"),
        (404, {}, {}),
    ],
)
def test_an_answer_that_is_no_session_is_trouble(session, door, says):
    door.says = says
    reply = session().get_token()
    assert reply.kind == "broken"
    assert "signing in" in reply.why


def test_a_server_that_is_not_there_is_trouble(clock, tmp_path):
    mine = Session("http://127.0.0.1:1", "ann.test", PASSWORD, tmp_path, now=clock, timeout=1.0)
    assert mine.get_token().kind == "broken"
    mine.close()


@pytest.mark.parametrize(
    "token", ["opaque-token", "a.!!!.c", "a.e30.c", f"a.{base64.urlsafe_b64encode(b'[]').decode()}.c"]
)
def test_a_token_that_tells_no_end_is_used_until_it_is_refused(session, door, clock, token):
    door.more = {"accessJwt": token}
    mine = session()
    assert mine.get_token().token == token
    clock.at += 1e7
    assert mine.get_token().token == token
    assert session().get_token().token == token
    door.more = {}
    mine.refuse(token)
    assert mine.get_token().token == door.access


EMPTY = b'{"access": "a", "refresh": "", "base": "x", "at": 1, "ends": 2}'


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"access": 7}', EMPTY])
def test_a_file_that_holds_no_session_is_as_good_as_none(session, door, tmp_path, content):
    session().get_token()
    (file,) = (tmp_path / "sessions").glob("*.json")
    file.write_bytes(content)
    assert session().get_token() == AccessToken(door.access, door.url)
    assert door.signed == 2


def test_a_folder_that_cannot_be_used_is_said_to_a_person(clock, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        Session("http://127.0.0.1:1", "ann.test", PASSWORD, tmp_path / "file" / "sessions", now=clock)


def test_another_password_is_another_session(session, door, tmp_path):
    session().get_token()
    assert session("another-password").get_token().kind == "refused"
    assert len(list((tmp_path / "sessions").glob("*.json"))) == 1


def test_many_threads_and_sessions_sign_in_once_together(session, door):
    made, got = [session() for _ in range(4)], []
    threads = [threading.Thread(target=lambda one=one: got.append(one.get_token())) for one in made * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [AccessToken(door.access, door.url)] * 16
    assert door.signed == 1


def test_no_log_and_no_text_shows_a_token_or_a_password(session, door, caplog):
    caplog.set_level(logging.DEBUG)
    mine = session()
    signed = mine.get_token()
    logging.getLogger("test").warning("%s %s %s", PASSWORD, door.access, door.refresh)
    assert not [secret for secret in (PASSWORD, door.access, door.refresh) if secret in caplog.text]
    assert door.access not in f"{signed!r} {mine.__dict__!r}"
    assert door.refresh not in repr(mine.__dict__)


DOCUMENT = "https://pds.example"


@pytest.mark.parametrize(
    ("base", "endpoint", "expected"),
    [
        ("https://bsky.social", DOCUMENT, DOCUMENT),
        ("https://bsky.social", DOCUMENT + "/", DOCUMENT),
        ("http://127.0.0.1:8000", DOCUMENT, "http://127.0.0.1:8000"),
        ("https://bsky.social", "http://pds.example", "https://bsky.social"),  # a token does not travel in the clear
        ("https://bsky.social", "https://127.0.0.1", "https://bsky.social"),
        ("https://bsky.social", "https://[", "https://bsky.social"),
        ("https://bsky.social", 7, "https://bsky.social"),
    ],
)
def test_requests_go_to_the_accounts_own_server_unless_it_is_all_on_this_machine(base, endpoint, expected):
    services = [
        {"id": "#other", "serviceEndpoint": "https://x.example"},
        {"id": "#atproto_pds", "serviceEndpoint": endpoint},
    ]
    body = {"accessJwt": jwt(1), "refreshJwt": jwt(2), "didDoc": {"service": services}}
    assert session_file.parse_tokens(body, base, 1.0).base == expected
    for document in (None, {}, {"service": None}, {"service": [7]}, []):
        assert session_file.parse_tokens({**body, "didDoc": document}, base, 1.0).base == base


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://10.0.0.1",
        "https://192.168.1.1:8443",
        "https://169.254.169.254",
        "https://[fd00::1]",
        "https://[::ffff:10.0.0.1]",
        "https://2130706433",
        "https://pds.internal",
        "https://pds",
        "https://user@pds.example",
        "https://pds.example/?x=1",
        "http://pds.example",
    ],
)
def test_no_token_goes_to_a_private_or_unencrypted_server_that_an_answer_names(endpoint):
    service = {"id": "#atproto_pds", "serviceEndpoint": endpoint}
    body = {"accessJwt": jwt(1), "refreshJwt": jwt(2), "didDoc": {"service": [service]}}
    assert session_file.parse_tokens(body, "https://bsky.social", 1.0).base == "https://bsky.social"


@pytest.mark.parametrize("server", ["http://192.0.2.1", "https://10.0.0.1", "https://["])
def test_a_session_kept_by_an_older_version_for_such_a_server_is_begun_anew(session, door, tmp_path, server):
    session().get_token()
    (file,) = (tmp_path / "sessions").glob("*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"base": server}))
    assert session().get_token() == AccessToken(door.access, door.url)
    assert (door.signed, door.renewed) == (2, 0)


def test_an_account_signs_in_at_its_own_server_or_at_blueskys_door():
    assert find_sign_in_server("https://public.api.bsky.app") == "https://bsky.social"
    assert find_sign_in_server("http://127.0.0.1:9") == "http://127.0.0.1:9"
    assert find_sign_in_server("https://pds.example.org") == "https://pds.example.org"


def test_a_wire_renews_a_session_that_the_server_ended_early(session, door, clock):
    mine = session()
    wire = BlueskyWire(door.url, hits=no_topic, now=clock, timeout=5.0, sessions={"me": mine})
    grant = Grant(Request((0, 1), FEED, {"id": did("ann")}), "me", 0.0)
    assert wire.send(grant).kind == "ok"
    door.access = "another"
    assert [wire.send(grant).kind for _ in range(3)] == ["broken", "ok", "ok"]
    assert (door.signed, door.renewed) == (1, 1)
    door.says = 500, {}, b""
    mine.refuse(mine.get_token().token)
    reply = wire.send(grant)
    assert isinstance(reply, Reply)
    assert (reply.kind, reply.rows) == ("broken", None)
    wire.close()


def test_a_page_of_a_network_in_between_ends_no_session(session, door, clock):
    mine = session()
    mine.get_token()
    clock.at += LIFE
    door.says = 401, {}, b"<html>Sign in to this network</html>"
    assert mine.get_token().kind == "broken"
    door.says = None
    clock.at += 3
    assert mine.get_token() == AccessToken(door.access, door.url)
    assert (door.signed, door.renewed) == (1, 1)


def test_signing_in_waits_for_no_other_answer_to_be_parsed(tmp_path):
    """Who parses may want the session, and who has it may sign in: they must not wait for each other."""
    large = b'{"error": "x", "message": "' + b"x" * 1_200_000 + b'"}'
    for body in (b'{"error": "x"}', large):
        with (
            hostile_servers.server(hostile_servers.saying(body, status="400 No"), "bluesky") as port,
            http_client._parsing,
        ):
            one = Session(f"http://127.0.0.1:{port}", "me.test", "app-pass", tmp_path, now=lambda: 0.0, deadline=60.0)
            assert isinstance(one.get_token(), Reply)
            one.close()
