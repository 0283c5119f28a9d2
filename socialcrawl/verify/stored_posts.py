"""The posts and mentions of a campaign, held against the pages of its ledger that brought them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from socialcrawl.engine.model import Node, ReplyKind, RequestPart
from socialcrawl.storage.answer_packing import StoredPage
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.erasure.tombstones import read_reasons
from socialcrawl.storage.reread import PickReadings
from socialcrawl.verify.findings import Check
from socialcrawl.verify.story import CampaignRecord

ERASED = "erased, on request or by age: nobody can count them again"
MOST = 100  # posts with more mentions than a page that brought them, whose other pages are looked for
Page = tuple[Any, StoredPage | None]


class PostCheck:
    """Whether each post that the ledger lists is stored, with those whom it mentions and nobody else.

    Args:
        connection: the database, in a transaction.
        story: the campaign.

    Attributes:
        posts, mentions: what came of it.
    """

    def __init__(self, connection: Opened, story: CampaignRecord) -> None:
        self.connection, self.story = connection, story
        self.posts, self.mentions = Check("posts of the ledger"), Check("mentions")
        self._more: dict[str, set[int]] = {}  # whom posts mention beside those of a page

    def check(
        self,
        reread: PickReadings,
        pages: Sequence[Page],
        authors: Mapping[str, int],
        doubts: Mapping[str, str],
        asked: Mapping[int, int | None],
    ) -> None:
        """Check pages.

        Args:
            reread: the picks of the campaign.
            pages: their rows of the ledger, and what each brought; held answers are of other pages.
            authors: of the posts that are stored.
            doubts: why posts may have been others when they came.
            asked: by pick.n, the account whose own posts were asked for; None: whoever wrote some was.
        """
        own = [(row, came) for row, came in pages if came is not None and row.kind != ReplyKind.HELD]
        gone = [key for _, came in own for key in came.ids if key not in authors]
        erased = read_reasons(self.connection, self.story.begun.platform, "post", dict.fromkeys(gone))
        named = reread.read_mentions([key for _, came in own for key in came.ids])
        for row, came in own:
            theirs = {key: authors[key] for key in came.ids if key in authors}
            others: set[str] = set()
            if row.part >= RequestPart.MATCHED:
                pass  # of many accounts, each of which has its own part
            elif (node := asked.get(row.n)) is not None:
                others = self._find_others([node], theirs)
            elif row.n in asked:
                others = self._find_others(came.found, theirs)
                if len(came.ids) == row.posts:  # else some were erased, and an author may stand further back now
                    self._check_order(row, came.found, theirs)
            self._check_present(row, came, authors, erased, others)
            self._check_mentions(row, came, named, doubts, authors)
        for row, part in pages:
            if row.part >= RequestPart.MATCHED or part is None or row.kind != ReplyKind.HELD:
                continue
            if (node := asked.get(row.n)) is not None:
                self._find_others([node], {key: authors[key] for key in part.ids if key in authors})

    def finish(self, reread: PickReadings) -> None:
        """Look for what brought mentions that a page of their post does not have."""
        for key, nodes in list(self._more.items())[:MOST]:
            for came in reread.read_listing(key):
                nodes -= {node for place, node in came.pairs if came.ids[place] == key}
            for node in nodes:
                self.mentions.differ(
                    f"post {key}", f"mention of account {node}", "a mention", "none on the pages that brought it"
                )

    def _check_present(
        self, row: Any, came: StoredPage, stored: Collection[str], erased: Collection[str], others: Collection[str]
    ) -> None:
        """Hold a page against the posts: each that came is stored, or was erased; those of `others` are none of it."""
        there = sum(key in stored for key in came.ids)
        self.posts.prove(sum(key in stored and key not in others for key in came.ids))
        if row.n < self.story.erased:  # what was erased is in the number of posts, and no longer in the list
            self.posts.leave(ERASED, max(0, (row.posts or 0) - len(came.ids)))
        for key in came.ids if there < len(came.ids) else ():
            if key in erased:
                self.posts.leave(ERASED)
            elif key not in stored:
                self.posts.differ(f"request {row.id}", f"post {key}", None, f"read by pick {row.n}")

    def _find_others(self, nodes: Sequence[int], authors: Mapping[str, int]) -> set[str]:
        """Hold authors against those whom a page told; the posts of others.

        They are the account whose posts were asked for, also of reposts, or all whom a search found.
        """
        there = {*nodes, *(self.story.resolve_node(Node(one)) for one in nodes)}
        wrong = {one for one in {*authors.values()} - there if self.story.resolve_node(Node(one)) not in there}
        others = {key for key, one in authors.items() if one in wrong} if wrong else set()
        for key in sorted(others):
            expected = f"account {nodes[0]}, which was read" if len(nodes) == 1 else "one of those who were found"
            self.posts.differ(f"post {key}", "author", f"account {authors[key]}", expected)
        return others

    def _check_order(self, row: Any, nodes: Sequence[int], authors: Mapping[str, int]) -> None:
        """Hold the order of authors against that in which a page found them; of some of them no post is left."""
        orders = [
            dict.fromkeys(self.story.resolve_node(Node(one)) for one in some) for some in (nodes, authors.values())
        ]
        left = iter(orders[0])
        if orders[1].keys() <= orders[0].keys() and not all(one in left for one in orders[1]):
            self.posts.differ(f"request {row.id}", "order of authors", [*orders[1]], [*orders[0]])

    def _check_mentions(
        self,
        row: Any,
        came: StoredPage,
        named: Mapping[str, list[int]],
        doubts: Mapping[str, str],
        here: Collection[str],
    ) -> None:
        """Hold a page against the mentions of its posts."""
        pairs: dict[str, set[int]] = {key: set() for key in came.ids if key in here}
        for place, node in came.pairs:
            if (key := came.ids[place]) in pairs:
                pairs[key].add(node)
        for key, nodes in pairs.items():
            there = {*named.get(key, ())}
            self.mentions.prove(len(nodes & there))
            if nodes != there and key in doubts:
                self.mentions.leave(doubts[key], len(nodes - there))
                continue
            for node in nodes - there:
                self.mentions.differ(f"post {key}", f"mention of account {node}", None, f"read with request {row.id}")
            if there - nodes:
                self._more[key] = self._more.get(key, there) & (there - nodes)
