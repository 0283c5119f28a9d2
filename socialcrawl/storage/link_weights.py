"""What is counted of stored posts when pages are counted anew.

Of a post these are its text, language, time and links, and whom it names where texts do not say so. A mention counts
for its link by its kind, in its part of the post.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Text, cast, func, literal_column, select

from socialcrawl.graph.recount import Link, Recount, find_repeats
from socialcrawl.graph.relevance import Hits, Links, count_within
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage.answer_packing import StoredPage
from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.schema.tables import account, mention, post


def select_hit_columns(connection: Connection, platform: str) -> tuple[ColumnElement[str], ...]:
    """Return the columns of table post that `Topic.hits` takes, in its order.

    Args:
        connection: the database.
        platform: of the posts.
    """
    columns = (post.c.text, post.c.lang, post.c.created_at, post.c.urls)
    if not find_platform_facts(platform).federated:
        return columns  # its texts show names as they are
    together = func.json_group_array if connection.dialect.name == "sqlite" else func.json_agg
    names = select(cast(together(func.coalesce(account.c.platform_id, account.c.username)), Text))
    mine = names.join_from(mention, account, account.c.node == mention.c.node).where(mention.c.post == post.c.id)
    others = mine.where(mention.c.kind != literal_column("'quote'"), mention.c.node != post.c.author)
    return (*columns, others.scalar_subquery().label("names"))


def read_link_settings(settings: str) -> Links:
    """Return what makes a link in a campaign, from its settings as the database has them (JSON)."""
    values = orjson.loads(settings)
    return Links.of(values.get("crawl", {}).get("links", {}))


class LinkWeigher:
    """The links of one campaign, made from the tables as `answer_packing.weigh_mentions` makes them.

    Args:
        connection: the database.
        links: what makes a link.
        platform: of the campaign.
        hits: the occurrences of its topic in a post, by its text, its language and when it was written.
    """

    def __init__(self, connection: Connection, links: Links, platform: str, hits: Hits | None = None) -> None:
        self.links, self.hits, self.partial = links, hits, find_platform_facts(platform).partial_mentions
        self.plain = links.plain and not self.partial
        kinds = select(mention.c.post, mention.c.node, mention.c.kind, mention.c.spans)
        self._kinds = Lookup(connection, kinds.where(match_keys(connection, mention.c.post)))
        texts = select(post.c.id, post.c.text, post.c.lang, post.c.created_at)
        self._texts = Lookup(connection, texts.where(match_keys(connection, post.c.id)))

    def add(self, count: Recount, page: StoredPage, counts: Mapping[str, int], part: int = 0) -> None:
        """Add page number `part` of a pick to its `count`; posts that are not in `counts` have no occurrences."""
        hits = [counts.get(key, 0) for key in page.ids]
        count.add_posts(hits, self.weigh(page, hits), find_repeats(count.first, page.ids, part))
        count.add_links((node, self.links.follows) for node in page.follows if self.links.follows)
        count.found |= dict.fromkeys(page.found)

    def weigh(self, page: StoredPage, hits: Sequence[int]) -> Iterator[Link]:
        """Yield the mentions of a page that make a link, in order; `hits` are the occurrences in each of its posts."""
        ids, pairs = page.ids, page.pairs
        if self.plain:
            yield from ((place, node, hits[place]) for place, node in pairs)
            return
        wanted = list(dict.fromkeys(ids[place] for place, _ in pairs))
        rows = {(row.post, row.node): row for row in self._kinds.fetch_rows(wanted)}
        parted = list(dict.fromkeys(row.post for row in rows.values() if row.spans is not None))
        texts = {row.id: row for row in self._texts.fetch_rows(parted)}
        for place, node in pairs:
            row = rows.get((ids[place], node))
            if weight := self.links.get_weight("mention" if row is None else row.kind):
                parts = row.spans is not None if row is not None else self.partial  # the page has it no more
                yield place, node, weight * (self._count_within(row, texts) if parts else hits[place])

    def _count_within(self, row: Any, texts: Mapping[str, Any]) -> int:
        text = None if row is None else texts.get(row.post)
        if text is None or self.hits is None:
            return 0
        hits, lang, at = self.hits, text.lang, text.created_at
        return count_within(text.text, orjson.loads(row.spans), lambda part: hits(part, lang, at))
