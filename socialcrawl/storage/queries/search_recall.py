"""How many matching posts the searches of a campaign missed: counted on timelines that were read after them."""

from typing import NamedTuple

import orjson
from sqlalchemy import Connection, text

from socialcrawl.engine.model import RequestPart

PAGES = """
select r.part, r.post_ids from request r join pick p on p.campaign = r.campaign and p.n = r.n
where r.campaign = :campaign and r.post_ids is not null
  and (r.part >= :matched or (p.act = 'page' and r.endpoint not like '%?%'))
"""
# What was written while the campaign ran may be younger than the search.
MATCHING = """
select p.id, p.repost_of from hit h join post p on p.id = h.post
where h.campaign = :campaign and p.created_at < (select min(sent_at) from request where campaign = :campaign)
"""


class SearchRecall(NamedTuple):
    """Matching posts on timelines that were read besides, each once.

    Attributes:
        posts: how many there are.
        found: those of them that a search had returned.
        reposts: those of the others that repeat a post of another account.
    """

    posts: int
    found: int
    reposts: int

    @property
    def sentence(self) -> str:
        """What was counted, as a sentence; where there are any posts."""
        missed = self.posts - self.found
        which = f"; {self.reposts:,} of the other {missed:,} are reposts" if missed else ""
        return (
            f"Of {self.posts:,} matching posts on timelines that were read, searches had returned {self.found:,} "
            f"({self.found / self.posts:.0%}){which}."
        )


def count_search_recall(connection: Connection, campaign: int) -> SearchRecall:
    """Return what searches had found of the matching posts on timelines; called in a transaction."""
    searched, paged = set[str](), set[str]()
    rows = connection.execute(text(PAGES), {"campaign": campaign, "matched": RequestPart.MATCHED})
    for part, ids in rows:
        (searched if part >= RequestPart.MATCHED else paged).update(orjson.loads(ids))
    matching = {key: of for key, of in connection.execute(text(MATCHING), {"campaign": campaign}) if key in paged}
    missed = [of for key, of in matching.items() if key not in searched]
    return SearchRecall(len(matching), len(matching) - len(missed), sum(of is not None for of in missed))
