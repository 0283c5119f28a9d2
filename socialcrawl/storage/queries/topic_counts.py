"""Posts and accounts of a campaign that are on topic: how many, when the posts were written, what they say, in SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from socialcrawl.engine.model import Act

# What is no day is left out of the days: who imported a post claims when it was written.
DAYS = """
select substr(p.created_at, 1, 10) as day, count(*), count(case when p.author in (
    select o.node from outcome o join pick k on k.campaign = o.campaign and k.n = o.n
    where o.campaign = :campaign and o.missing is null and o.node >= 0
      and k.act in ('seed', 'expand', 'match', 'page', 'recrawl', 'walk', 'import')) then 1 end), count(p.repost_of)
from hit h join post p on p.id = h.post where h.campaign = :campaign group by 1 order by 1
"""
AUTHORS = """
select count(*), count(case when was_read = 1 then 1 end), count(case when was_read = 1 and posts = 1 then 1 end) from (
  select p.author, count(*) as posts, case when exists (
      select 1 from outcome o join pick k on k.campaign = o.campaign and k.n = o.n
      where o.campaign = :campaign and o.node = p.author and o.missing is null
        and k.act in ('seed', 'expand', 'match', 'page', 'recrawl', 'walk', 'import')) then 1 else 0 end as was_read
  from hit h join post p on p.id = h.post where h.campaign = :campaign group by p.author) a
"""
UNREAD_AUTHORS = """
select distinct p.author from hit h join post p on p.id = h.post where h.campaign = :campaign
  and p.author not in (
    select o.node from outcome o join pick k on k.campaign = o.campaign and k.n = o.n
    where o.campaign = :campaign and o.missing is null
      and k.act in ('seed', 'expand', 'match', 'page', 'recrawl', 'walk', 'import'))
"""
# An account on the wider topic only is worth less than 1 in a walk.
ACCOUNTS = """
select case when p.act in ('seed', 'import') or (p.act = 'page' and exists (
    select 1 from pick s where s.campaign = o.campaign and s.node = o.node and s.act in ('seed', 'import')))
  then 0 else 1 end as discovered, count(distinct o.node),
  count(distinct case when o.value > 0 and not (p.act = 'walk' and o.value < 1) then o.node end)
from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where o.campaign = :campaign and o.missing is null and o.node >= 0
  and p.act in ('seed', 'expand', 'match', 'page', 'recrawl', 'walk', 'import') group by 1
"""

TEXTS = """
select coalesce('@' || a.username, a.platform_id) as account, p.created_at as at, h.occurrences, p.text
from hit h join post p on p.id = h.post join account a on a.node = p.author
where h.campaign = :campaign order by h.occurrences desc, p.created_at desc, p.id limit :most
"""

FIRST = "select act from pick where campaign = :campaign and act not in ('import', 'count') order by n limit 1"
EMPTY = """
select count(distinct o.node) from outcome o join pick p on p.campaign = o.campaign and p.n = o.n
where o.campaign = :campaign and o.missing is null and o.node >= 0 and o.posts = 0
  and p.act in ('seed', 'expand', 'walk')
  and not exists (select 1 from pick m where m.campaign = :campaign and m.act in ('match', 'page'))
"""
SEARCHES = """
select coalesce(sum(g.size), 0) from coverage_gap g join campaign c on c.name = g.campaign
where c.id = :campaign and g.gap = 'search' and g.why = 'more pages'
"""


class TopicText(NamedTuple):
    """A post on topic: its author (@ and username, or the id), when it was written, occurrences of the topic, text."""

    account: str | None
    at: str | None
    occurrences: int
    text: str | None


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """What a campaign holds on its topic.

    Attributes:
        posts: posts that match the topic.
        authors: accounts that wrote them, read or not.
        unread_posts: those of them whose authors were not read: a search found them.
        unread_authors: these authors.
        mentioned_authors: those of them that accounts read mention.
        reposts: posts that match and repeat a post of another account.
        single: accounts read that have one matching post.
        first: the UTC day of the oldest post that matches; None: there is none, or nobody knows.
        last: the UTC day of the newest one.
        days: (day, matching posts of accounts read) of each UTC day with such posts, oldest first. A search returns the
            newest posts only, so its posts would make the last days look busy.
        seeds: seeds, and accounts of an imported history, that were read.
        seeds_on_topic: those of them that are on topic.
        discovered: accounts that were read after the seeds.
        discovered_on_topic: those of them that are on topic.
        captured: whether they are those of a capture, which reads no accounts: all its posts and authors count as read.
    """

    posts: int = 0
    authors: int = 0
    unread_posts: int = 0
    unread_authors: int = 0
    reposts: int = 0
    single: int = 0
    first: date | None = None
    last: date | None = None
    days: Sequence[tuple[date, int]] = ()
    seeds: int = 0
    seeds_on_topic: int = 0
    discovered: int = 0
    discovered_on_topic: int = 0
    mentioned_authors: int = 0
    captured: bool = False

    @property
    def source(self) -> str:
        """Of whom the posts of `days` are, as the end of "matching posts ..."."""
        return "" if self.captured else " of accounts read"

    def fill_days(self, most: int) -> tuple[int, list[tuple[date, int]]]:
        """Return all days from the first to the last, also those without posts, in spans of equal length.

        Args:
            most: the number of spans that are returned at most, at least 1.

        Returns:
            the days of a span, and (its first day, its posts) of each; the last span may reach beyond the last day.
        """
        if not self.days:
            return 1, []
        first, last = self.days[0][0], self.days[-1][0]
        length = -(-((last - first).days + 1) // most)
        spans = [0] * (-(-((last - first).days + 1) // length))
        for day, posts in self.days:
            spans[(day - first).days // length] += posts
        return length, [(first + timedelta(days=length * place), posts) for place, posts in enumerate(spans)]


CAPTURES = (Act.SLICE, Act.LIVE, Act.HYDRATE)
"""Acts with which captures begin, besides counts and imports."""


def count_on_topic(connection: Connection, campaign: int, linked: NDArray[np.bool_]) -> TopicCounts:
    """Return what a campaign holds on its topic; called in a transaction.

    Args:
        connection: to the database.
        campaign: campaign.id.
        linked: whether accounts that were read link to each account, as `linked.find_linked` returns it.
    """
    rows = [tuple(row) for row in connection.execute(text(DAYS), {"campaign": campaign})]
    accounts = {row[0]: row[1:] for row in connection.execute(text(ACCOUNTS), {"campaign": campaign})}
    (seeds, seeds_on_topic), (discovered, discovered_on_topic) = (accounts.get(which, (0, 0)) for which in (0, 1))
    authors, read, single = connection.execute(text(AUTHORS), {"campaign": campaign}).one()
    unread = np.array(connection.execute(text(UNREAD_AUTHORS), {"campaign": campaign}).scalars().all(), np.int64)
    mentioned = int(linked[unread[unread < len(linked)]].sum())
    captured = connection.execute(text(FIRST), {"campaign": campaign}).scalar() in CAPTURES
    if captured:  # a search returned them all, in each span of time alike
        rows, read, mentioned = [(day, every, every, reposts) for day, every, _, reposts in rows], authors, 0
    dated = [(found, own) for day, _, own, _ in rows if (found := _parse_day(day)) is not None]
    return TopicCounts(
        posts=sum(row[1] for row in rows),
        authors=authors,
        unread_posts=sum(row[1] - row[2] for row in rows),
        unread_authors=authors - read,
        reposts=sum(row[3] for row in rows),
        single=single,
        first=dated[0][0] if dated else None,
        last=dated[-1][0] if dated else None,
        days=[(day, own) for day, own in dated if own],
        seeds=seeds,
        seeds_on_topic=seeds_on_topic,
        discovered=discovered,
        discovered_on_topic=discovered_on_topic,
        mentioned_authors=mentioned,
        captured=captured,
    )


def count_unseen(connection: Connection, campaign: int) -> tuple[int, int]:
    """Return what a campaign did not see without any failure; called in a transaction.

    Returns:
        the accounts that were read and returned no posts; the searches that were stopped before their last page.
    """
    return tuple(int(connection.execute(text(sql), {"campaign": campaign}).scalar_one()) for sql in (EMPTY, SEARCHES))  # type: ignore[return-value]


def read_texts(connection: Connection, campaign: int, most: int) -> list[TopicText]:
    """Return the posts in which the topic occurs most often; called in a transaction."""
    rows = connection.execute(text(TEXTS), {"campaign": campaign, "most": most})
    return [TopicText(*row) for row in rows]


def _parse_day(given: str | None) -> date | None:
    try:
        return date.fromisoformat(given or "")
    except ValueError:
        return None
