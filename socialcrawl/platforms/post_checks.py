"""What a platform offers to look up whether it still shows posts that are stored. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from socialcrawl.engine.model import Page, Reason, Reply, ReplyKind, Request


class SoughtCopy(NamedTuple):
    """A post as a server is asked for it.

    Attributes:
        server: the host that is asked; "" where the platform is one server.
        key: the id by which that server knows the post.
        post: post.id of the post that it is: of a repost, where reposts cannot be looked up, the post that it repeats.
    """

    server: str
    key: str
    post: str


@dataclass(frozen=True, slots=True)
class StoredPostLookUp:
    """How stored posts are looked up.

    Attributes:
        width: how many posts one request can name.
        find: returns how a stored post is looked up, of its id and of the id of the post that it reposts; None: the
            campaign knows no id of it on a server that it asks.
        make_request: returns the request for posts of one server.
        home: the campaign's own server: where it fails, the check waits; where another one does, it is passed over.
    """

    width: int
    find: Callable[[str, str | None], SoughtCopy | None]
    make_request: Callable[[tuple[int, int], Sequence[SoughtCopy]], Request]
    home: str = ""


class ShownPosts(NamedTuple):
    """What an answer says of the posts that were asked for: those that it shows, and those that it says are gone."""

    shown: list[SoughtCopy]
    absent: list[SoughtCopy]


ABSENT = (200, 404, 410)  # the answers that can say that a post is gone


def read_shown(asked: Sequence[SoughtCopy], reply: Reply) -> ShownPosts:
    """Return what an answer says of posts; nothing of those of which it is no evidence, as where another one came."""
    found = ShownPosts([], [])
    if reply.kind not in (ReplyKind.OK, ReplyKind.MISSING) or not isinstance(reply.rows, Page):
        return found
    said = {one.asked: one for one in reply.rows.sought}
    for copy in asked:
        one = said.get(copy.post)
        if one is None:
            continue
        if one.post is None and one.why == Reason.DELETED:
            if reply.status in ABSENT:
                found.absent.append(copy)
        elif reply.status == 200 and one.post in (None, copy.post):  # None: it came, and is of nobody whom we collect
            found.shown.append(copy)
    return found
