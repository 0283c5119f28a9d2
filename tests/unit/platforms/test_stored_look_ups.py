"""Which stored posts can be looked up, where and by which id; and what an answer says of them."""

import pytest

from socialcrawl.engine.model import Page, Reason, Reply, ReplyKind, SoughtPost
from socialcrawl.platforms.bluesky.shown_records import find_copy, make_request
from socialcrawl.platforms.mastodon.shown_statuses import make_check
from socialcrawl.platforms.post_checks import SoughtCopy, read_shown

POST = "at://did:plc:abc/app.bsky.feed.post/3k2a"
REPOST = "at://did:plc:xyz/app.bsky.feed.repost/3k2b"
ONE, TWO = SoughtCopy("", "1", "one"), SoughtCopy("", "2", "two")


@pytest.mark.parametrize(
    ("post", "repost_of", "sought"),
    [
        (POST, None, POST),
        (REPOST, POST, POST),
        (f"repost:did:plc:xyz:{POST}", POST, POST),
        (REPOST, None, None),
        (REPOST, "at://did:plc:abc/app.bsky.feed.generator/x", None),
        ("at://alice.example/app.bsky.feed.post/3k2a", None, None),
        (f"{POST}?a,b", None, None),
    ],
)
def test_on_bluesky_a_repost_is_looked_up_by_the_post_that_it_repeats(post, repost_of, sought):
    copy = find_copy(post, repost_of)
    assert (copy and copy.post) == sought


def test_posts_of_bluesky_are_requested_by_their_addresses():
    request = make_request((-1, 4), [find_copy(POST, None)])
    assert (request.key, request.params) == ((-1, 4), {"wanted": POST, "uris": POST})


@pytest.mark.parametrize(
    ("post", "place"),
    [
        ("https://home.example/users/ann/statuses/112", ("home.example", "112")),
        ("https://social.home.example/users/ann/statuses/112", ("home.example", "112")),
        ("https://home.example/users/ann/statuses/112/activity", ("home.example", "112")),
        ("https://home.example/ap/users/7/statuses/112", ("home.example", "112")),
        ("https://NEAR.example/users/bob/statuses/5", ("near.example", "5")),
        ("https://far.example/users/cy/statuses/5", None),
        ("https://home.example/objects/3f2a", None),
        ("https://near.example/users/gt/statuses/01HZX", None),
        ("http://home.example/users/ann/statuses/112", None),
        ("https://a.internal/users/ann/statuses/112", None),
    ],
)
def test_on_mastodon_only_the_instance_that_a_post_is_from_is_asked_by_its_own_number(post, place):
    find = make_check("home.example", "social.home.example", ["near.example", "*.internal"]).find
    copy = find(post, None)
    assert (copy and (copy.server, copy.key)) == place


@pytest.mark.parametrize(
    ("status", "said", "shown", "absent"),
    [
        (200, [SoughtPost("one", "one"), SoughtPost("two", None, Reason.DELETED)], [ONE], [TWO]),
        (200, [SoughtPost("one", None, Reason.OPTED_OUT)], [ONE], []),
        (200, [SoughtPost("one", "another")], [], []),
        (404, [SoughtPost("one", None, Reason.DELETED)], [], [ONE]),
        (410, [SoughtPost("one", None, Reason.DELETED)], [], [ONE]),
        (403, [SoughtPost("one", None, Reason.PROTECTED)], [], []),
        (422, [SoughtPost("one", None, Reason.DELETED)], [], []),
        (0, [SoughtPost("one", None, Reason.DELETED)], [], []),
    ],
)
def test_an_answer_says_which_posts_are_shown_and_which_are_gone_and_else_nothing(status, said, shown, absent):
    kind = ReplyKind.OK if status == 200 else ReplyKind.MISSING
    reply = Reply(kind, 0.0, rows=Page(sought=said), status=status)
    assert read_shown([ONE, TWO], reply) == (shown, absent)


@pytest.mark.parametrize("kind", [ReplyKind.BROKEN, ReplyKind.LOST, ReplyKind.WINDOW, ReplyKind.BACKOFF])
def test_a_failure_says_nothing(kind):
    reply = Reply(kind, 0.0, rows=Page(sought=[SoughtPost("one", None, Reason.DELETED)]), status=404)
    assert read_shown([ONE], reply) == ([], [])
