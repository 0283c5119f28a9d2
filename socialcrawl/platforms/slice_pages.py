"""Where the next page of a slice of time begins in a search whose cursors count posts, and where it ends. Pure.

A cursor of the searches of Bluesky and Mastodon is the number of posts before the page: if one of them is deleted
meanwhile, the next page begins a post too late. On both they also end after about 10,000 posts, on Bluesky by
observation (https://github.com/medialab/minet/pull/1018), on Mastodon as Elasticsearch shows no more; and Bluesky
refuses them to callers who have not signed in (https://github.com/bluesky-social/bsky-docs/issues/296). So the next
page is asked for by an earlier `until`. A cursor is followed only where a page does not reach back beyond its last
second.
"""

from dataclasses import dataclass, replace

from socialcrawl.engine.model import Node, Reason, Reply, ReplyKind, parse_time
from socialcrawl.engine.time_spans import find_next_second

DEPTH = 10_000  # posts that cursors reach, about


@dataclass(slots=True)
class SlicePages:
    """How far the pages of a slice have come.

    Attributes:
        query: the node of the query.
        begin: when the slice begins, Unix seconds.
        until: before when the posts of the next page lie.
        size: posts of a page.
        followed: how many pages were asked for with this `until`.
    """

    query: Node
    begin: float
    until: float
    size: int
    followed: int = 0

    def place(self, reply: Reply) -> Reply:
        """Return the reply to the request for a page with the cursor of the next one.

        None: it was the last one; "": the next page has no cursor, but an earlier `until`. Where the search is closed,
        or has more posts in a second than cursors reach, the reply says that the query is missing, with the reason.
        """
        if reply.kind == ReplyKind.MISSING:
            return self._refuse(reply, Reason.PROTECTED)
        if reply.kind not in (ReplyKind.OK, ReplyKind.HELD):
            return reply
        mark = reply.answer.mark
        rest = find_next_second(parse_time(mark)) if mark else self.until
        self.followed += 1
        if reply.cursor is not None and self.begin < rest < self.until:
            self.until, self.followed = rest, 0
            return replace(reply, cursor="")
        if self.followed * self.size >= DEPTH:
            return self._refuse(reply, Reason.TEMPORARY)
        return reply

    def _refuse(self, reply: Reply, why: Reason) -> Reply:
        return replace(reply, kind=ReplyKind.OK, rows=replace(reply.answer, missing={self.query: why}), cursor=None)


def join_marks(first: Reply, shown: Reply) -> Reply:
    """Return the reply to the second request for a page of a slice, complete as far as both answers were.

    The first told the authors, who were looked up, the second the posts of those who do not mind. If posts went or came
    in between, one of the pages reaches further back, and what only that one has was left out. So the later mark holds,
    and there is a next page if one of them says so.
    """
    if shown.kind not in (ReplyKind.OK, ReplyKind.HELD) or not first.answer.mark:
        return shown
    mark = max(first.answer.mark, shown.answer.mark)
    cursor = first.cursor if shown.cursor is None else shown.cursor
    return replace(shown, rows=replace(shown.answer, mark=mark), cursor=cursor)
