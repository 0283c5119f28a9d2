"""Signing in at the mock's Bluesky: the tokens, their life, and who is refused."""

import base64
import hmac
import json

import pytest
from bluesky_mock import NOW, Sky
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.mock.names import DELETED, SUSPENDED

CREATE, REFRESH, GET = (f"com.atproto.server.{name}Session" for name in ("create", "refresh", "get"))
BOB = {"identifier": "bob.mock.social", "password": "app-password"}


@pytest.fixture
def sky():
    return Sky(secret=b"k" * 32)


def payload(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_signing_in_gives_a_pair_of_signed_tokens_and_no_document_that_leads_elsewhere(sky):
    session = sky.ask(CREATE, body=BOB)
    assert {name: session[name] for name in ("did", "handle", "active")} == {
        "did": sky.did("bob"),
        "handle": "bob.mock.social",
        "active": True,
    }
    assert "didDoc" not in session
    access, refresh = payload(session["accessJwt"]), payload(session["refreshJwt"])
    assert (access["exp"], refresh["exp"]) == (int(NOW) + 7_200, int(NOW) + 60 * 86_400)
    assert access["sub"] == refresh["sub"] == sky.did("bob")
    signed, _, signature = session["accessJwt"].rpartition(".")
    want = base64.urlsafe_b64encode(hmac.digest(b"k" * 32, signed.encode(), "sha256")).decode().rstrip("=")
    assert signature == want


def test_a_session_is_good_until_it_expires_and_can_be_renewed(sky):
    session = sky.ask(CREATE, body=BOB)
    who = {"did": sky.did("bob"), "handle": "bob.mock.social", "active": True}
    assert sky.ask(GET, token=session["accessJwt"], now=NOW + 7_199) == who
    expired = ("ExpiredToken", "Token has expired")
    assert sky.error(GET, token=session["accessJwt"], now=NOW + 7_200) == expired
    assert sky.error("app.bsky.actor.getProfile", token=session["accessJwt"], now=NOW + 7_200, actor="x.y") == expired
    again = sky.ask(REFRESH, token=session["refreshJwt"], now=NOW + 7_200)
    assert sky.ask(GET, token=again["accessJwt"], now=NOW + 14_000) == who
    assert again["refreshJwt"] != session["refreshJwt"]


def test_a_refresh_token_that_was_used_holds_two_hours_longer(sky):
    token = sky.ask(CREATE, body=BOB)["refreshJwt"]
    sky.ask(REFRESH, token=token, now=NOW + 10)
    sky.ask(REFRESH, token=token, now=NOW + 7_210)
    assert sky.error(REFRESH, token=token, now=NOW + 7_211) == ("ExpiredToken", "Token has been revoked")


def test_the_lives_of_tokens_can_be_set():
    sky = Sky(access_seconds=60, refresh_seconds=120)
    session = sky.ask(CREATE, body=BOB)
    assert sky.error(GET, token=session["accessJwt"], now=NOW + 60)[0] == "ExpiredToken"
    assert sky.error(REFRESH, token=session["refreshJwt"], now=NOW + 120)[0] == "ExpiredToken"


def test_tokens_of_the_other_kind_or_of_nobody_are_refused(sky):
    session = sky.ask(CREATE, body=BOB)
    assert sky.error(GET, token=session["refreshJwt"]) == ("InvalidToken", "Bad token scope")
    assert sky.error(REFRESH, token=session["accessJwt"]) == ("InvalidToken", "Bad token scope")
    assert sky.error(GET, status=401) == ("AuthMissing", "Authentication Required")
    assert sky.error(REFRESH, status=401) == ("AuthMissing", "Authentication Required")
    other = Sky().ask(CREATE, body=BOB)["accessJwt"]
    assert sky.error(GET, token=other) == ("InvalidToken", "Token could not be verified")


@given(st.text(max_size=30) | st.integers(0, 300))
@settings(deadline=None, max_examples=many(80))
def test_no_altered_token_is_let_in(change):
    sky = Sky(secret=b"k" * 32)
    token = TOKEN
    if isinstance(change, int):
        at = change % len(token)
        altered = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        # The last letter of the signature has bits that say nothing.
        altered = altered if at < len(token) - 1 else token[:-1]
    else:
        altered = change
    if altered.strip() and altered.strip() != token:
        assert sky.error(GET, token=altered)[0] == "InvalidToken"


TOKEN = Sky(secret=b"k" * 32).ask(CREATE, body=BOB)["accessJwt"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", {"identifier": "bob.mock.social"}, {"identifier": 1, "password": "x"}]
)
def test_a_sign_in_without_name_or_password_is_refused(sky, body):
    assert sky.error(CREATE, body=body)[0] == "InvalidRequest"


def test_who_may_sign_in_can_be_said_with_passwords():
    sky = Sky(passwords={"Bob.mock.social": "right", "me.example.org": "mine"})
    wrong = ("AuthenticationRequired", "Invalid identifier or password")
    assert sky.error(CREATE, body=BOB, status=401) == wrong
    assert sky.error(CREATE, body={"identifier": "ann.mock.social", "password": ""}, status=400)[0] == "InvalidRequest"
    assert sky.error(CREATE, body={"identifier": "ann.mock.social", "password": "x"}, status=401) == wrong
    assert sky.ask(CREATE, body={"identifier": "bob.mock.social", "password": "right"})["did"] == sky.did("bob")
    assert sky.ask(CREATE, body={"identifier": sky.did("bob"), "password": "right"})["did"] == sky.did("bob")
    mine = sky.ask(CREATE, body={"identifier": "@Me.example.org", "password": "mine"})
    assert mine["handle"] == "me.example.org"
    assert sky.ask(GET, token=mine["accessJwt"])["handle"] == "me.example.org"


def test_a_stranger_may_read_and_a_missing_account_may_not():
    sky = Sky()
    stranger = sky.ask(CREATE, body={"identifier": "reader.example.org", "password": "x"})
    assert sky.names.row(stranger["did"]) is None
    assert sky.ask("app.bsky.actor.getProfile", actor="ann.mock.social", token=stranger["accessJwt"])["viewer"]
    assert sky.error(CREATE, body={"identifier": "nobody-at-all", "password": "x"}, status=401)[0] == (
        "AuthenticationRequired"
    )
    sky.changes.become(sky.row("bob"), SUSPENDED)
    assert sky.error(CREATE, body=BOB, status=401)[0] == "AccountTakedown"
    sky.changes.become(sky.row("bob"), DELETED)
    assert sky.error(CREATE, body=BOB, status=401)[0] == "AuthenticationRequired"


def test_a_guest_is_known_by_did_and_no_token_is_in_the_label(sky):
    session = sky.ask(CREATE, body=BOB)
    guest = sky.service.guest(sky.asked("app.bsky.actor.getProfile", token=session["accessJwt"]))
    assert (guest.label, guest.kind) == (sky.did("bob"), "user")
    assert sky.service.guest(sky.asked("app.bsky.actor.getProfile")).kind == "public"
