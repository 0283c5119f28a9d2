"""The wire to the web against a small server that says what a test wants: kinds, reasons, alphabets, limits."""

import socket
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson
import pytest
from example_counts import many
from http_server import QuietHandler, serving
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import Grant, Page, Request, Who
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.service import MockRequest, MockResponse
from socialcrawl.platforms.web.wire import WebWire

MUSIC = Topic(["music"])
HTML = "text/html; charset=utf-8"


@contextmanager
def plays(answer):
    """A server in a thread that says `answer(method, host, target)`, a Told; its address, and what was asked."""
    asked = []

    class Door(QuietHandler):
        def answer(self):
            asked.append((self.command, self.headers["Host"], self.path, dict(self.headers)))
            told = answer(self.command, self.headers["Host"], self.path)
            content = {"Content-Type": told.content_type} if told.content_type else {}
            self.send(told.status, {**content, **told.headers}, told.body)

    with serving(Door) as server:
        yield server.url, asked


def of_service(service, now=lambda: 1_700_000_000.0):
    """A service of the mock as such an answer: its endpoints, nothing else."""
    templates = {template.rsplit("*", 1)[0]: template for _, template in service.endpoints()}

    def answer(method: str, host: str, target: str) -> MockResponse:
        parts = urlsplit(target)
        path = unquote(parts.path)
        head = (
            path if path in templates else next((one for one in templates if one != "/" and path.startswith(one)), "")
        )
        if not head:
            return MockResponse(404, b"<h1>Not found</h1>", {}, HTML)
        template = templates[head]
        names: Mapping[str, str] = {template.rpartition("*")[2]: path.removeprefix(head)} if "*" in template else {}
        query = parse_qsl(parts.query)
        asked = MockRequest(method, template, names, query, {}, now(), host.partition(":")[0])
        return service.answer(asked, service.guest(asked))

    return answer


def wire(base, **more):
    more = {"hits": MUSIC.hits, "now": lambda: 5.0, "timeout": 5.0, **more}
    return WebWire(base, **more)


def page(url="http://h.example/a", method=None, *, robots=False):
    params = {"url": url} | ({"method": method} if method else {})
    host = urlsplit(url).netloc
    return Grant(Request((0, 0), f"{host}/robots.txt" if robots else f"{host}/*", params, 1), "", 0.0)


@pytest.fixture(scope="module")
def says():
    """The reply of a server that gives one answer to everything."""
    chosen, wires = [], {}
    with plays(lambda *_: chosen[0]) as (url, _):

        def reply(told, grant=None, **more):
            chosen[:] = [told]
            made = wires.setdefault(repr(more), wires.get(repr(more)) or wire(url, **more))
            return made.send(grant or page())

        yield reply
        for made in wires.values():
            made.options.http.close()


def reason(reply):
    assert reply.kind == "missing"
    ((who, why),) = reply.rows.missing
    assert who == Who("http://h.example/a", "http://h.example/a")
    assert not reply.rows.posts
    return why


def test_a_page_is_a_post_of_itself_and_its_links_are_mentions_with_their_windows(says):
    far = "far " * 20
    body = f"""<html lang="en"><title>The  band</title><meta name=description content="All of it">
        <nav><a href="/menu">music</a></nav>
        <p>Music by <a href="b#part">the other</a> {far} music {far} <a href="c">C</a> and <a href="/a#x">me</a>
        <p>music {far}<a href="B/../b">again</a>."""
    reply = says(MockResponse(200, body.encode(), {"Date": "Tue, 14 Nov 2023 22:13:20 GMT"}, HTML), keep=True)
    assert (reply.kind, reply.status, reply.date, reply.cost, reply.at) == ("ok", 200, 1_700_000_000.0, 0, 5.0)
    (post,), (account,) = reply.rows.posts, reply.rows.accounts
    assert (post.id, post.author, post.lang, post.created_at) == (page().request.params["url"],) * 2 + ("en", None)
    assert orjson.loads(post.original) == {"url": post.id, "html": body}
    assert post.text == " ".join(
        ["Music by the other", *["far"] * 20, "music", *["far"] * 20, "C and me"]
    ) + "\n" + " ".join(["music", *["far"] * 20, "again."])
    assert (account.id, account.username, account.name, account.description) == (
        post.id,
        post.id,
        "The band",
        "All of it",
    )
    assert (reply.rows.hits, reply.rows.answered) == ([3], [Who(post.id, post.id)])
    told = {mention.who.id.removeprefix("http://h.example/"): mention for mention in reply.rows.mentions}
    assert list(told) == ["menu", "b", "c"]
    assert [told[key].hits for key in told] == [0, 1, 1]
    assert told["menu"].spans == ((0, 0),)
    texts = [post.text[start:end] for start, end in told["b"].spans]
    assert texts[0].startswith("Music by the other far")
    assert texts[1].endswith("far again.")
    assert all(mention.who.id == mention.who.username and mention.kind == "mention" for mention in told.values())


def test_windows_that_overlap_count_an_occurrence_once(says):
    body = b"<p><a href=b>one</a> music <a href=b>two</a> music <a href=c>three</a>"
    rows = says(MockResponse(200, body, {}, HTML)).rows
    assert [(mention.spans, mention.hits) for mention in rows.mentions] == [
        (((0, len("one music two music three")),), 2)
    ] * 2


@pytest.mark.parametrize(
    ("status", "why"),
    [(404, "unknown"), (410, "deleted"), (401, "protected"), (403, "protected"), (451, "protected"), (400, "unknown"),
     (418, "unknown"), (204, "unknown"), (206, "unknown"), (300, "unknown"), (304, "unknown"), (301, "unknown")],
)  # fmt: skip
def test_a_page_that_is_not_there_is_missing_with_a_reason(says, status, why):
    assert reason(says(MockResponse(status, b"" if status in (204, 304) else b"<p>music</p>", {}, HTML))) == why


@pytest.mark.parametrize(
    ("title", "text", "gone"),
    [("404", "", True), ("Page not found | Example", "We are sorry", True), ("Seite nicht gefunden", "x", True),
     ("Fehler 404", "", True), ("Example", "The page you are looking for could not be found.", True),
     ("Example", "La página no existe. Volver", True), ("Area code 404", "Atlanta", False),
     ("Lost and not found: a film", "A film.", False), ("Unicorn", "It is not found in nature.", False),
     ("Page not found", "x" * 1_001, False)],
)  # fmt: skip
def test_a_page_that_says_that_it_is_none_is_deleted(says, title, text, gone):
    reply = says(MockResponse(200, f"<title>{title}</title><p>{text}".encode(), {}, HTML))
    assert reason(reply) == "deleted" if gone else reply.rows.posts[0].text == text


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_and_not_followed(says, status):
    reply = says(MockResponse(status, b"", {"Location": "//Other.example:80/%7Ex?q#f"}, HTML))
    assert (reply.kind, reply.cursor, reply.rows) == ("ok", "http://other.example/~x?q", Page())


@pytest.mark.parametrize(
    "target", ["mailto:a@b.example", "http://[x/", "ftp://h.example/", "http://h.example/" + "x" * 2_000]
)
def test_a_redirect_to_what_is_no_page_leads_nowhere(says, target):
    assert reason(says(MockResponse(302, b"", {"Location": target}, HTML))) == "unknown"


@pytest.mark.parametrize(
    ("headers", "meta", "follows"),
    [({"X-Robots-Tag": "noindex"}, "", None), ({"X-Robots-Tag": "otherbot: noindex"}, "", True),
     ({"X-Robots-Tag": "socialcrawl: none"}, "", None), ({"X-Robots-Tag": "max-snippet: 3, nofollow"}, "", False),
     ({}, '<meta content="NOINDEX" name="Robots">', None), ({}, '<META NAME=robots content="index, nofollow">', False),
     ({}, '<meta name="robots" content="all">', True), ({}, '<meta name="description" content="noindex">', True)],
)  # fmt: skip
def test_pages_that_opt_out_are_left_alone(says, headers, meta, follows):
    reply = says(MockResponse(200, f"<head>{meta}</head><p>music <a href=b>b</a>".encode(), headers, HTML))
    if follows is None:
        assert reason(reply) == "opted-out"
    else:
        assert (len(reply.rows.mentions), reply.rows.hits) == (int(follows), [1])


def test_a_campaign_that_heeds_no_opt_outs_says_so_and_reads_all(says):
    body = b"<meta name=robots content='noindex, nofollow'><p>music <a href=b>b</a>"
    for method in (None, "HEAD"):
        grant = page(method=method)
        request = replace(grant.request, params={**grant.request.params, "opt_outs": "no"})
        rows = says(MockResponse(200, body, {"X-Robots-Tag": "none"}, HTML), replace(grant, request=request)).rows
        assert rows.answered == [Who("http://h.example/a", "http://h.example/a")]
        assert len(rows.mentions) == (method is None)


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "application/json", "text/css"])
def test_what_is_no_page_is_missing(says, kind):
    assert reason(says(MockResponse(200, b"<p>music</p>", {}, kind))) == "unknown"


def test_plain_text_is_a_page_and_a_type_that_is_not_told_is_seen(says):
    assert says(MockResponse(200, b" music \n <a> & music", {}, "Text/Plain")).rows.posts[0].text == "music <a> & music"
    assert says(MockResponse(200, b"\n <p>music", {}, "")).rows.posts[0].text == "music"
    assert reason(says(MockResponse(200, b"\x89PNG", {}, ""))) == "unknown"


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [("text/html; charset=ISO-8859-1", "caf\xe9 \x80".encode("latin-1"), "café €"),
     ('text/html; charset="Shift_JIS"', "日本".encode("shift_jis"), "日本"),
     ("text/html", b'<meta charset="koi8-r">' + "музыка".encode("koi8-r"), "музыка"),
     ("text/html", b"<meta http-equiv=x content='x; charset=windows-1251'>" + "да".encode("cp1251"), "да"),
     ("text/html", "é".encode(), "é"), ("text/html; charset=utf-8", b"a\xff", "a\ufffd"),
     ("text/html; charset=idna", "é".encode(), "é"), ("text/html; charset=unicode_escape", b"\\u0041", "\\u0041"),
     ("text/html; charset=iso-8859-1", b"\xef\xbb\xbf" + "é".encode(), "é"), ("text/html", "é".encode("utf-16"), "é"),
     ("text/html", b"a\0b", "a\ufffdb")],
)  # fmt: skip
def test_a_page_is_read_in_its_own_alphabet(says, kind, body, text):
    assert says(MockResponse(200, body, {}, kind)).rows.posts[0].text == text


def test_a_long_page_is_read_as_far_as_its_limit(says):
    body = b"<p>music " + b"x" * 500 + b" <a href=b>music</a> music"
    assert says(MockResponse(200, body, {}, HTML), most=300).rows.hits == [1]
    assert says(MockResponse(200, body, {}, HTML)).rows.hits == [3]


@pytest.mark.parametrize(
    ("told", "kind", "resets"),
    [(MockResponse(429, b"", {"Retry-After": "120"}), "window", 125.0), (MockResponse(429), "backoff", None),
     (MockResponse(503, b"", {"Retry-After": "Thu, 01 Jan 1970 00:01:40 GMT"}), "window", 100.0),
     (MockResponse(429, b"", {"Retry-After": "40", "Date": "Thu, 01 Jan 1970 00:01:00 GMT"}), "window", 100.0),
     (MockResponse(429, b"", {"Retry-After": "soon"}), "backoff", None), (MockResponse(503), "broken", None),
     (MockResponse(500), "broken", None)],
)  # fmt: skip
def test_a_server_that_wants_peace_gets_it(says, told, kind, resets):
    for grant in (page(), page("http://h.example/robots.txt", robots=True)):
        reply = says(told, grant)
        assert (reply.kind, reply.rows, [limit.resets for limit in reply.limits]) == (
            kind,
            None,
            [resets] if resets else [],
        )
        assert kind != "window" or (reply.limits[0].left == 0 and reply.date is not None)
        assert str(told.status) in reply.why


def test_headers_alone_say_whether_a_page_is_there(says):
    head = page(method="HEAD")
    me = Who("http://h.example/a", "http://h.example/a")
    assert says(MockResponse(200, b"music", {}, HTML), head).rows == Page(answered=[me])
    assert says(MockResponse(405, b"", {}, HTML), head).rows == Page(answered=[me])
    assert reason(says(MockResponse(200, b"", {}, "image/png"), head)) == "unknown"
    assert reason(says(MockResponse(404, b"", {}, HTML), head)) == "unknown"
    assert reason(says(MockResponse(200, b"", {"X-Robots-Tag": "noindex"}, HTML), head)) == "opted-out"
    assert says(MockResponse(301, b"", {"Location": "/b"}, HTML), head).cursor == "http://h.example/b"


@pytest.mark.parametrize(
    ("told", "cursor"),
    [(MockResponse(200, b"\xef\xbb\xbfUser-agent: *\0", {}, "text/plain"), "=User-agent: *\ufffd"),
     (MockResponse(404), ""), (MockResponse(403), ""), (MockResponse(204), ""),
     (MockResponse(301, b"", {"Location": "https://h.example/robots.txt"}), ">https://h.example/robots.txt"),
     (MockResponse(200, b"#" * 600_000, {}, "text/plain"), "=" + "#" * 512_000)],
)  # fmt: skip
def test_the_rules_of_a_host_come_as_a_cursor(says, told, cursor):
    reply = says(told, page("http://h.example/robots.txt", robots=True))
    assert (reply.kind, reply.rows, reply.cursor) == ("ok", Page(), cursor)


def test_all_hosts_are_asked_at_a_server_on_this_machine():
    with plays(lambda *_: MockResponse(200, b"<p>music", {}, HTML)) as (url, asked):
        made = wire(url + "/", contact="me@example.org", whole=True)
        reply = made.send(page("https://Far.example:8443/a%20b/?q=%C3%A9&r=1"))
        made.send(page("http://169.254.169.254/x"))
        made.options.http.close()
    (method, host, target, headers), second = asked
    assert (method, host, target) == ("GET", "Far.example:8443", "/a%20b/?q=%C3%A9&r=1")
    assert headers["User-Agent"].startswith("socialcrawl/")
    assert headers["User-Agent"].endswith("(+me@example.org)")
    assert second[1] == "169.254.169.254"
    assert reply.received.body == b"<p>music"


@pytest.mark.parametrize("robots", [False, True])
@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0", "10.0.0.1",
     "192.168.1.1",
     "172.16.0.1", "169.254.169.254", "[::1]", "[fe80::1]", "[::ffff:127.0.0.1]", "intranet", "db.local", "x.internal",
     "0300.0250.1.1", "100.64.0.1"],
)  # fmt: skip
def test_nothing_of_this_machine_or_its_neighbourhood_is_ever_asked(monkeypatch, host, robots):
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection"))
    made = wire(None)
    reply = made.send(page(f"http://{host}/a", robots=robots))
    made.options.http.close()
    assert reply.kind == "missing"
    assert [why for _, why in reply.rows.missing] == ([] if robots else ["excluded"])


@pytest.mark.parametrize("place", ["127.0.0.1", "10.0.0.1", "fe80::1%eth0", "169.254.169.254"])
def test_a_name_that_stands_for_a_place_in_the_neighbourhood_is_not_asked_either(monkeypatch, place):
    looked_up = []

    def resolver(host, port, **_):
        looked_up.append((host, port))
        return [(2, 1, 6, "", ("93.184.215.14", port)), (2, 1, 6, "", (place, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection"))
    made = wire(None)
    reply = made.send(page("https://rebound.example/a"))
    made.options.http.close()
    assert [why for _, why in reply.rows.missing] == ["excluded"]
    assert looked_up == [("rebound.example", 443)]


def test_a_server_that_is_not_there_is_broken_and_one_that_is_silent_is_lost():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        made = wire(url)
        assert made.send(page()).kind == "broken"
        made.options.http.close()
        closed.listen()
        made = wire(url, timeout=0.05)
        assert made.send(page()).kind == "lost"
        made.options.http.close()


@settings(deadline=None, max_examples=many(40))
@given(st.integers(200, 599), st.binary(max_size=300), st.dictionaries(
    st.sampled_from(["Location", "Retry-After", "Date", "X-Robots-Tag", "Content-Encoding", "Content-Type"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)), st.booleans())  # fmt: skip
def test_no_answer_makes_the_wire_raise(says, status, body, headers, robots):
    body = b"" if status in (204, 304) else body
    headers = {name: value.strip() for name, value in headers.items()}
    reply = says(
        MockResponse(status, body, headers, ""), page("http://h.example/robots.txt", robots=robots) if robots else None
    )
    assert reply.kind in ("ok", "missing", "window", "backoff", "broken", "lost")
    assert reply.kind not in ("ok", "missing") or isinstance(reply.rows, Page)
