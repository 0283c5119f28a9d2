"""The posts and mentions of a campaign, held against the pages of its ledger that brought them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from socialcrawl.model import Node
from socialcrawl.store.database import Opened
from socialcrawl.store.erasure.ledger import Came
from socialcrawl.store.erasure.tombstones import reasons
from socialcrawl.store.reread import Reread
from socialcrawl.verify.findings import Check
from socialcrawl.verify.story import Story

ERASED = "erased, on request or by age: nobody can count them again"
MOST = 100  # posts with more mentions than a page that brought them, whose other pages are looked for
Page = tuple[Any, Came | None]


class Posts:
    """Whether each post that the ledger lists is stored, with those whom it mentions and nobody else.

    Args:
        connection: the database, in a transaction.
        story: the campaign.

    Attributes:
        posts, mentions: what came of it.
    """

    def __init__(self, connection: Opened, story: Story) -> None:
        self.connection, self.story = connection, story
        self.posts, self.mentions = Check("posts of the ledger"), Check("mentions")
        self._more: dict[str, set[int]] = {}  # whom posts mention beside those of a page

    def check(
        self,
        reread: Reread,
        pages: Sequence[Page],
        authors: Mapping[str, int],
        doubts: Mapping[str, str],
        asked: Mapping[int, int],
    ) -> None:
        """Check pages.

        Args:
            reread: the picks of the campaign.
            pages: their rows of the ledger, and what each brought; held answers are of other pages.
            authors: of the posts that are stored.
            doubts: why posts may have been others when they came.
            asked: by pick.n, the account whose own posts were asked for.
        """
        own = [(row, came) for row, came in pages if came is not None and row.kind != "held"]
        gone = [key for _, came in own for key in came.ids if key not in authors]
        erased = reasons(self.connection, self.story.begun.platform, "post", dict.fromkeys(gone))
        named = reread.mentioned([key for _, came in own for key in came.ids])
        for row, came in own:
            theirs = {key: authors[key] for key in came.ids if key in authors} if row.n in asked else {}
            others = self._find_others(Node(asked.get(row.n, 0)), theirs)
            self._present(row, came, authors, erased, others)
            self._mentioned(row, came, named, doubts, authors)

    def finish(self, reread: Reread) -> None:
        """Look for what brought mentions that a page of their post does not have."""
        for key, nodes in list(self._more.items())[:MOST]:
            for came in reread.listing(key):
                nodes -= {node for place, node in came.pairs if came.ids[place] == key}
            for node in nodes:
                self.mentions.differ(
                    f"post {key}", f"mention of account {node}", "a mention", "none on the pages that brought it"
                )

    def _present(
        self, row: Any, came: Came, stored: Collection[str], erased: Collection[str], others: Collection[str]
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

    def _find_others(self, asked: Node, authors: Mapping[str, int]) -> set[str]:
        """Hold authors against the account on whose page the posts came, also of reposts; the posts of others."""
        meant = self.story.meant(asked)
        others = {key for key, one in authors.items() if one != asked and self.story.meant(Node(one)) != meant}
        for key in sorted(others):
            self.posts.differ(f"post {key}", "author", f"account {authors[key]}", f"account {asked}, who was asked")
        return others

    def _mentioned(
        self, row: Any, came: Came, named: Mapping[str, list[int]], doubts: Mapping[str, str], stored: Collection[str]
    ) -> None:
        """Hold a page against the mentions of its posts."""
        pairs: dict[str, set[int]] = {key: set() for key in came.ids if key in stored}
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
