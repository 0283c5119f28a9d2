"""What the pages of a pick add up to: posts, occurrences of the topic, and occurrences for each target. Pure.

Everything that counts pages adds them up here: a running crawl, the reuse of stored answers, a changed topic, a
verification and an erasure. So a replay finds what was found at first (section 2.3).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from socialcrawl.engine.model import Answer

Link = tuple[int, int, int]
"""A mention that makes a link: place of its post in the page, node, occurrences that count (weighed by its kind)."""


@dataclass(slots=True)
class Recount:
    """The sum of some pages.

    Attributes:
        posts: how many there are, with those that came on several pages.
        hits: the occurrences in all of them; a post that came again has none.
        targets: the occurrences for each node that is linked to, in order of first mention.
        found: the nodes that the pages are about, in order.
        first: by the id of a post, the first page that had it; empty if pages are added without their ids.
        ordered: whether `targets` are in that order. They are not where the ledger does not list the posts.
    """

    posts: int = 0
    hits: int = 0
    targets: dict[int, int] = field(default_factory=dict)
    found: dict[int, None] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    ordered: bool = True

    def add_posts(self, hits: Sequence[int], links: Iterable[Link], repeats: Collection[int] = ()) -> None:
        """Add the posts of a page.

        Args:
            hits: the occurrences in each post.
            links: the mentions that make a link, in order.
            repeats: the places of posts that were read before. They count as posts and bring no occurrences.
        """
        self.posts += len(hits)
        self.hits += sum(many for place, many in enumerate(hits) if place not in repeats) if repeats else sum(hits)
        self.add_links((node, 0 if place in repeats else many) for place, node, many in links)

    def add_links(self, links: Iterable[tuple[int, int]]) -> None:
        """Add (node, occurrences) of links, in order."""
        targets = self.targets
        for node, many in links:
            targets[node] = targets.get(node, 0) + many

    def add_answer(self, answer: Answer, follow: int = 0) -> None:
        """Add a page that was added up before; following an account is worth `follow` occurrences (0: no link)."""
        self.posts += answer.posts
        self.hits += answer.hits
        self.found |= dict.fromkeys(answer.found)
        self.add_links(zip(answer.targets, answer.target_hits, strict=True))
        self.add_links((node, follow) for node in answer.follows if follow)

    def make_answer(self, **rest: Any) -> Answer:
        """Return the sum as the answer that a conversation goes on from; `rest` are its other fields."""
        return Answer(self.posts, self.hits, list(self.targets), list(self.targets.values()), **rest)

    def find_hits(self, nodes: Sequence[int]) -> list[int]:
        """Return the occurrences for each of `nodes`, the stored targets of what was added up.

        A held answer may call an account by another number than the page that it was made of: order tells which.
        """
        if self.ordered and len(nodes) == len(self.targets) and any(node not in self.targets for node in nodes):
            return list(self.targets.values())
        return [self.targets.get(node, 0) for node in nodes]


def find_repeats(first: dict[str, int], ids: Sequence[str], part: int) -> frozenset[int]:
    """Return the places of a page whose posts another page of the pick had, or the page itself before.

    Pages may overlap, as new posts move the old ones on, and a post counts once, in whatever order pages are added.

    Args:
        first: by the id of a post, the page of the pick that had it first. The posts of this page are added.
        ids: the posts of the page.
        part: the number of the page. One that is asked for again, as its answer was lost, is no repetition of itself.
    """
    if not first:
        first.update(dict.fromkeys(ids, part))
        if len(first) == len(ids):
            return frozenset()  # as pages mostly are
        first.clear()
    here: set[str] = set()
    found = []
    for place, key in enumerate(ids):
        if first.setdefault(key, part) != part or key in here:
            found.append(place)
        here.add(key)
    return frozenset(found)
