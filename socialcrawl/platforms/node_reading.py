"""What a conversation has read of one node so far, a probe's sign of life too, and the outcome it adds up to. Pure."""

import numpy as np

from socialcrawl.engine.mark_order import find_newest
from socialcrawl.engine.model import PUT_OFF, Outcome, Pick, Reason, Reply, ReplyKind, Unavailable
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.recount import Recount
from socialcrawl.graph.relevance import compute_worth


class Reading(Recount):
    """The pages of one pick, added up: beta from all its posts, alpha from the posts that mention each target.

    Args:
        pick: whose pages they are.
        follow: the occurrences that it is worth to be followed by the account.
    """

    def __init__(self, pick: Pick, follow: int = 0) -> None:
        super().__init__()
        self.pick, self.follow = pick, follow
        self.at = 0.0
        self.missing: Unavailable | None = None
        self.mark = pick.since  # which a visit keeps that brings nothing new
        self._anew = False

    def is_expired(self, reply: Reply, cursor: str | None) -> bool:
        """Return whether the cursor that was asked with is refused, and the list is to be read from its start: once.

        Posts of pages that come again count once: the store knows which the pick has read.
        """
        if reply.kind != ReplyKind.INVALID or cursor is None or self._anew:
            return False
        self._anew = True
        return True

    def take(self, reply: Reply) -> bool:
        """Add a page; False if there is nothing more to ask."""
        self.at = reply.at
        answer = reply.answer
        if reply.kind == ReplyKind.INVALID and self.posts:
            return False  # a later page that cannot be had at all: what was read stays
        if reply.kind in PUT_OFF:
            self.missing = Reason.TEMPORARY
            return False
        if reply.kind == ReplyKind.MISSING and self.posts:
            return False  # gone between two pages: what was read stays
        self.missing = answer.missing.get(self.pick.node)
        self.mark = find_newest(self.mark, answer.mark)
        self.add_answer(answer, self.follow)
        return self.missing is None

    def make_outcome(self) -> Outcome:
        """Return everything that was read of the node.

        A missing one has no value, no links and the mark that it had.
        """
        if self.missing is not None:
            pick = self.pick
            return Outcome(pick.n, pick.node, self.at, missing=self.missing, posts=self.posts, mark=pick.since)
        return Outcome(
            self.pick.n,
            self.pick.node,
            self.at,
            compute_worth(self.hits),
            np.array(list(self.targets), np.int64),
            np.array([compute_worth(hits) for hits in self.targets.values()], np.float64),
            posts=self.posts,
            occurrences=self.hits,
            mark=self.mark,
        )

    def make_search_outcome(self) -> Outcome:
        """Return the outcome of a search: the authors found, in order, as targets without weight."""
        nodes = np.array(list(self.found), np.int64)
        return Outcome(
            self.pick.n,
            self.pick.node,
            self.at,
            targets=nodes,
            alpha=np.zeros(len(nodes)),
            missing=None if self.found else self.missing,
            posts=self.posts,
        )


class ProbeReading(Reading):
    """The answers to one probe, and what they come to."""

    def __init__(self, pick: Pick) -> None:
        super().__init__(pick)
        self.last = ""  # when the node was last seen to act, ISO 8601

    def take(self, reply: Reply) -> bool:
        """Add an answer; False if there is nothing more to ask."""
        self.last = reply.answer.active.get(self.pick.node, self.last)
        return super().take(reply)

    def judge(self, activity: Activity) -> Outcome:
        """Return the outcome of the probe by the campaign's rule."""
        return activity.make_outcome(self.pick, self.at, self.last, self.missing)
