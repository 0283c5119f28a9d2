"""What the use cases share: a node is asked by its key, and answers with what it is worth and whom it points to.

An answer travels as a `Page`, so that every store can keep it: the node's own texts as posts that mention nobody, then
one empty post for each link, which alone mentions its target and whose hits are the link's count.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from socialcrawl.engine.model import (
    Act,
    Grant,
    Mention,
    Node,
    Outcome,
    Page,
    Pick,
    PostRow,
    Reason,
    Reply,
    ReplyKind,
    Request,
    Who,
)
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.platforms.node_reading import Reading

Own = tuple[str, str, int]
"""One text that an answer holds: its id, the text, and its count."""


class Asking:
    """A source that asks for each node by its key: `endpoint` with the parameters `key` and, from page 2 on, `cursor`.

    Args:
        endpoint: the name of the request.
        measure: the value of a count, for nodes and for links.
        pages: the most requests for one node.
    """

    def __init__(self, endpoint: str, measure: Callable[[int], float], pages: int = 1) -> None:
        self.endpoint, self.measure, self.pages = endpoint, measure, pages

    def width(self, act: Act) -> int:
        """Return one node a pick."""
        return 1

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return a conversation a pick."""
        return [self._talk(pick, str(accounts[pick.node].id)) for pick in batch]

    def mark(self, at: float) -> str:
        """None: a node answers with all that it holds."""
        return ""

    def _talk(self, pick: Pick, key: str) -> Conversation:
        reading, texts, cursor = Reading(pick), 0, None
        for part in range(self.pages):
            params = {"key": key} | ({} if cursor is None else {"cursor": cursor})
            reply = yield Request((pick.n, part), self.endpoint, params, 1)
            texts += reply.answer.posts - len(reply.answer.targets)
            cursor = reply.cursor
            if not reading.take(reply) or cursor is None:
                break
        return {pick.n: self._outcome(reading, texts)}

    def _outcome(self, reading: Reading, texts: int) -> Outcome:
        pick, counts = reading.pick, list(reading.targets.values())
        if reading.missing is not None:
            return Outcome(pick.n, pick.node, reading.at, missing=reading.missing)
        own = reading.hits - sum(counts)  # the store adds up all hits of a page, those of its links too
        alpha = np.array([self.measure(count) for count in counts], np.float64)
        targets = np.array(list(reading.targets), np.int64)
        return Outcome(pick.n, pick.node, reading.at, self.measure(own), targets, alpha, posts=texts, occurrences=own)


def answered(grant: Grant, own: Sequence[Own], links: Mapping[str, int], cursor: str | None = None) -> Reply:
    """Return the reply of a node that holds the texts `own` and points to the keys of `links`, with their counts."""
    key = grant.request.params["key"]
    posts = [_post(name, key, text) for name, text, _ in own]
    page = grant.request.params.get("cursor")  # a target may be pointed to from several pages
    posts += [_post(f"{key} -> {target}" + (f" ({page})" if page else ""), key, "") for target in links]
    hits = [*(count for _, _, count in own), *links.values()]
    mentions = [Mention(place, Who(target, None), "mention") for place, target in enumerate(links, len(own))]
    return Reply(ReplyKind.OK, grant.at, Page(posts, hits, mentions, answered=[Who(key, None)]), cursor)


def absent(grant: Grant) -> Reply:
    """Return the reply about a node that does not exist: its outcome is missing for good, `unknown`."""
    gone = [(Who(grant.request.params["key"], None), Reason.UNKNOWN)]
    return Reply(ReplyKind.MISSING, grant.at, Page(missing=gone))


def silent(grant: Grant, why: str) -> Reply:
    """Return the reply about a node that does not answer now: its outcome is `temporary`, and it is retried."""
    return Reply(ReplyKind.BROKEN, grant.at, status=504, why=why)  # it was asked, which its windows count


def _post(name: str, author: str, text: str) -> PostRow:
    unknown = dict.fromkeys(PostRow._fields[2:])
    return PostRow(**{**unknown, "id": name, "author": author, "text": text})  # type: ignore[arg-type]  # None fits
