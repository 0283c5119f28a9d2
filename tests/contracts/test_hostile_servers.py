"""A matrix: what a hostile server does, by platform. Each answer ends as a reply, within bounds; the next is read."""

import json
import subprocess
import sys
from contextlib import ExitStack
from functools import cache

import hostile_servers
import pytest
from hostile_servers import DRIPPING, GOOD, ROOM, ROWS, framed, server

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Grant, Node, Pick, Who

DEADLINE, LONG = 0.5, 100.0  # seconds: for answers that drip, and for all others
MOST = 54_321  # mills that a request to X costs at most
PAGES = ("web", "robots")  # platforms whose answers are no JSON: they are cut where they are too long
CUT = (
    "a small body that unpacks to 300 MB",
    "a body without an end",
    "a body of chunks without an end",
    "a length beyond all",
    "a chunk beyond all",
    "a length and chunks",
)
POSTS = (  # what is odd in these, posts may be
    "half a character",
    "the character 0",
    "a text of nine million letters",
    "bold nine million deep",
    "paragraphs in bold links",
    "a tag of 100,000 attributes",
    "attributes of 200,000 names",
    "a million tags",
    "a text of nothing but marks",
    "a link to a host of marks",
    "a hundred thousand links",
)
JSON = (
    "millions of empty objects",
    "millions of small objects",
    "brackets nine million deep",
    "brackets a hundred thousand deep",
    "a number of a million digits",
    "a number that is none",
)
ERROR, TOO_MANY = "an error with millions of objects", "too many requests with millions of objects"


def expected(row, platform):
    """The kind of reply that a row comes to."""
    if row == TOO_MANY:
        return "backoff"
    if row == ERROR:
        return {"web": "missing", "robots": "ok"}.get(platform, "broken")
    if row in POSTS:
        return "ok"
    if platform in PAGES and row in JSON:
        return "ok"
    if platform in PAGES and row in CUT:
        return "missing" if platform == "web" else "ok"  # zeros of no known type are no page
    return "lost"


@cache
def outcomes(platform):
    """What came of each row, by row: from one process that sends to all of these servers."""
    with ExitStack() as stack:
        warm = stack.enter_context(server(hostile_servers.typed(lambda p: GOOD[p][1]), platform))
        ports = [stack.enter_context(server(behave, platform)) for behave in ROWS.values()]
        rows = [[row, port, DEADLINE if row in DRIPPING else LONG] for row, port in zip(ROWS, ports, strict=True)]
        child = subprocess.run(
            [sys.executable, hostile_servers.__file__, platform],
            input=json.dumps([["warm", warm, LONG], *rows]),
            capture_output=True,
            text=True,
            timeout=800,
            check=False,
        )
    assert child.returncode == 0, child.stderr[-3000:]
    return {told["row"]: told for told in map(json.loads, child.stdout.splitlines())}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux tells it")
@pytest.mark.parametrize("platform", GOOD)
def test_whatever_a_server_does_is_a_reply_within_bounds_and_the_next_answer_is_read(platform):
    told = outcomes(platform)
    assert list(told) == list(ROWS)
    assert {row: one["kind"] for row, one in told.items()} == {row: expected(row, platform) for row in ROWS}
    assert {row for row, one in told.items() if one["after"] != "ok"} == set()
    assert {row for row, one in told.items() if not one["reached"]} == set(), "windows count what a server received"
    assert {row: one["peak"] for row, one in told.items() if one["peak"] > ROOM} == {}
    assert {row for row, one in told.items() if one["kind"] in ("lost", "broken") and not one["why"]} == set()
    if platform == "x":  # what may have been billed counts as billed
        costs = {"lost": MOST, "ok": load_policy("x").compute_price("post", 1)}
        assert {row for row, one in told.items() if one["cost"] != costs.get(one["kind"], 0)} == set()


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon", "web"])
def test_where_nobody_listens_the_request_has_not_reached_a_server_and_where_the_line_is_cut_it_may_have(platform):
    with server(hostile_servers.cut_off, platform) as port:
        first, _ = hostile_servers.sent(platform, port, LONG)
        assert (first.kind, first.reached) == ("lost", True)
    made, request = hostile_servers.asking(platform, f"http://127.0.0.1:{port}", LONG)  # nobody listens there any more
    refused = made.send(Grant(request, "main", 0.0))
    made.close()
    assert (refused.kind, refused.status, refused.reached) == ("broken", 0, False)


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon", "web"])
def test_nobody_who_is_named_by_a_redirection_hears_of_the_request_or_its_token(platform):
    heard = []

    def note(connection, _):
        heard.append(connection)

    with server(note, platform) as elsewhere:
        away = hostile_servers.saying(b"", f"Location: http://127.0.0.1:{elsewhere}/x", status="307 Temporary Redirect")
        with server(away, platform) as port:
            first, after = hostile_servers.sent(platform, port, LONG)
    assert heard == []
    assert after.kind == "ok"
    assert first.kind == {"web": "ok", "x": "invalid"}.get(platform, first.kind)


def source_of(platform, port):
    """A source that reads up to three pages of an account, with its wire, and the first account."""
    made, _ = hostile_servers.asking(platform, f"http://127.0.0.1:{port}", LONG)
    rules = load_policy(platform)
    if platform == "x":
        from socialcrawl.platforms.x.source import XSource
        from socialcrawl.platforms.x.vocabulary import TWEET

        return made, XSource(rules, TWEET, [], 3), Who("1", "ann")
    if platform == "bluesky":
        from socialcrawl.platforms.bluesky.source import BlueskySource

        return made, BlueskySource(rules, [], 3, opt_outs=False), Who("did:plc:aaaaaaaaaaaaaaaaaaaaaaaa", "a.test")
    if platform == "mastodon":
        from socialcrawl.platforms.mastodon.source import MastodonSource

        return made, MastodonSource(rules, [], "home.example", 3), Who("ann@home.example", "ann@home.example")
    from socialcrawl.platforms.web.source import WebSource

    return made, WebSource(rules, "socialcrawl", hosts=["*"]), Who("http://h.example/0", "http://h.example/0")


def going_on(platform):
    """A behaviour: each answer says that there is another page, or another place."""

    def behave(connection, _):
        number = 0
        while True:
            number += 1
            if platform == "x":
                answer = framed(b'{"data": [], "meta": {"next_token": "t%d"}}' % number)
            elif platform == "bluesky":
                answer = framed(b'{"feed": [], "cursor": "t%d"}' % number)
            elif platform == "mastodon":
                profile = b'{"id": "1", "acct": "ann", "username": "ann", "url": "https://home.example/@ann"}'
                answer = framed(
                    profile if number == 1 else b"[]", f'Link: <http://home.example/x?max_id={number}>; rel="next"'
                )
            else:
                answer = framed(b"", f"Location: http://h{number}.example/{number}", status="302 Found")
            connection.sendall(answer)
            if not hostile_servers.heard(connection):
                return

    return behave


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon", "web"])
def test_cursors_and_redirections_that_never_end_are_followed_as_often_as_was_allowed(platform):
    from socialcrawl.engine.model import Answer, Grant

    with server(going_on(platform), platform) as port:
        made, source, who = source_of(platform, port)
        (talk,) = source.start_conversations((Pick(0, Node(7), "expand"),), {Node(7): who})
        asked, reply = [], None
        try:
            while len(asked) < 100:
                asked.append(next(talk) if reply is None else talk.send(reply))
                came = made.send(Grant(asked[-1], "main", 0.0))
                found = {7: "1"} if came.rows is not None and came.rows.answered else {}
                reply = hostile_servers.replaced(came, Answer(found=found))
        except StopIteration:
            pass
        made.close()
    most = {"x": 3, "bluesky": 3, "mastodon": 4, "web": 50}[
        platform
    ]  # of web pages, each hop has a robots.txt that hops
    assert 1 < len(asked) <= most
