"""OAuth 1.0a: what is signed is what is asked, checked by oauthlib's server side and by RFC 5849 written out."""

import hmac
import re
import threading
from base64 import b64encode
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pytest
from oauthlib.oauth1 import RequestValidator, ResourceEndpoint
from test_x_wire import TIMELINE, send, timeline, wire

from socialcrawl.engine.model import Grant, Request
from socialcrawl.platforms.x.wire import make_client

KEYS = ("a-consumer-key", "consumer/secret+&=", "123-an-access-token", "token secret's end")
SEARCH = "/2/tweets/search/recent"
QUERIES = [
    "telescope",
    "two words",
    'a "quoted phrase" OR #tag',
    "50% & more = ~less+",
    "crème brûlée 日本",
    "a/b?c:d@e;f,g",
]


class Known(RequestValidator):
    """One client and one user, whose secrets are KEYS."""

    enforce_ssl = False
    dummy_client = dummy_access_token = "nobody"
    check_client_key = check_access_token = check_nonce = lambda *_: True

    def validate_timestamp_and_nonce(self, *_, **__):
        return True

    def validate_client_key(self, key, request):
        return key == KEYS[0]

    def validate_access_token(self, client_key, token, request):
        return token == KEYS[2]

    def validate_realms(self, *_, **__):
        return True

    def get_client_secret(self, key, request):
        return KEYS[1]

    def get_access_token_secret(self, client_key, token, request):
        return KEYS[3]


def signed(address, authorization, consumer_secret=KEYS[1], token_secret=KEYS[3]):
    """Whether a GET of this address carries the signature of RFC 5849, section 3.4."""

    def percent(text):
        return quote(text, safe="-._~")

    given = {name: unquote(value) for name, value in re.findall(r'(oauth_\w+)="([^"]*)"', authorization)}
    signature = given.pop("oauth_signature")
    parts = urlsplit(address)
    pairs = [*given.items(), *parse_qsl(parts.query, keep_blank_values=True)]
    listed = "&".join(f"{name}={value}" for name, value in sorted((percent(n), percent(v)) for n, v in pairs))
    base = "&".join(map(percent, ("GET", f"{parts.scheme}://{parts.netloc}{parts.path}", listed)))
    key = f"{percent(consumer_secret)}&{percent(token_secret)}"
    return hmac.compare_digest(signature, b64encode(hmac.digest(key.encode(), base.encode(), sha1)).decode())


@pytest.fixture
def door():
    """A server that lets in who signed for it, and notes address and authorization."""
    endpoint = ResourceEndpoint(Known())

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            address = f"http://{self.headers['Host']}{self.path}"
            server.asked.append((address, self.headers["Authorization"]))
            valid, _ = endpoint.validate_protected_resource_request(address, "GET", None, dict(self.headers), [])
            content = b'{"data":[]}' if valid else b'{"title":"Unauthorized"}'
            self.send_response(200 if valid else 401)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    server.asked = []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("prefix", ["", "/x/api/"])
def test_a_request_is_signed_for_the_address_that_is_really_asked(door, prefix, query):
    asked = Request((0, 1), SEARCH, {"query": query, "max_results": "100", "tweet.fields": "lang,note_tweet"}, 100)
    assert send(door.url + prefix, asked, token=KEYS).kind == "ok"
    ((address, authorization),) = door.asked
    assert address.startswith(f"{door.url}{prefix.rstrip('/')}/2/tweets/search/recent?")
    assert dict(parse_qsl(urlsplit(address).query)) == dict(asked.params)
    assert authorization.startswith("OAuth ")
    assert signed(address, authorization)
    assert not signed(address.replace(door.url, "https://api.twitter.com"), authorization)


def test_every_request_has_a_nonce_of_its_own(door):
    made = wire(door.url, token=KEYS)
    assert [made.send(Grant(timeline(), "main", 0.0)).kind for _ in range(3)] == ["ok"] * 3
    assert len({re.search(r'oauth_nonce="(\w+)"', header)[1] for _, header in door.asked}) == 3


@pytest.mark.parametrize("place", range(4))
def test_a_wrong_secret_is_refused_with_what_to_look_at(door, place):
    wrong = tuple("wrong-key" if place == i else text for i, text in enumerate(KEYS))
    reply = send(door.url, timeline(), token=wrong)
    assert (reply.kind, reply.status) == ("refused", 401)
    assert "clock" in reply.why


def test_no_secret_travels(door):
    assert send(door.url, timeline(), token=KEYS).kind == "ok"
    sent = " ".join(f"{address} {header}" for address, header in door.asked)
    assert not [text for text in (KEYS[1], KEYS[3]) if text in sent or quote(text, safe="") in sent]


def test_a_bearer_token_is_not_signed_and_no_password_of_a_netrc_takes_its_place(door, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("default login ann password secret-of-ann\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = wire(door.url, token="a-bearer-token")
    made.send(Grant(timeline(), "main", 0.0))
    assert [header for _, header in door.asked] == ["Bearer a-bearer-token"]
    made.clients["main"].session.headers["Other"] = "as before"
    assert make_client(KEYS, "https://api.x.com").bearer_token is None


def test_an_id_cannot_lead_to_another_address(door):
    send(door.url, Request((0, 1), TIMELINE, {"id": "1/../../9?x=1#y", "max_results": "5"}), token=KEYS)
    ((address, _),) = door.asked
    assert urlsplit(address).path == "/2/users/1%2F..%2F..%2F9%3Fx%3D1%23y/tweets"
