"""Posts of a topic: those that match it, as table `hit` has them, and those to learn it from.

Posts to learn from are those that the search of the platform found, and those that were read and do not match; posts
that a person judges are any that the campaign has stored. Modules
that read them change nothing. What was forgotten is in no table, and so in no example. Called in a transaction.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, literal_column, select, text

from socialcrawl.storage.database.bulk import Lookup, match_keys
from socialcrawl.storage.schema.tables import hit

SOME = 5_000  # rows that are read together


def read_matches(connection: Connection, campaign: int) -> Iterator[Sequence[Any]]:
    """Yield (post, occurrences) of all matches, some at a time."""
    query = select(hit.c.post, hit.c.occurrences).where(hit.c.campaign == campaign).order_by(hit.c.post)
    last = ""
    while rows := connection.execute(query.where(hit.c.post > last).limit(SOME)).all():
        yield rows
        last = rows[-1].post


class Matches:
    """The posts that match, by their ids.

    Args:
        connection: the database.
        campaign: campaign.id.
    """

    def __init__(self, connection: Connection, campaign: int) -> None:
        mine = hit.c.campaign == literal_column(str(int(campaign)))  # keys are all that a Lookup is given
        found = select(hit.c.post, hit.c.occurrences).where(mine, match_keys(connection, hit.c.post))
        self._found = Lookup(connection, found)

    def find_counts(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the occurrences in those of some posts that match."""
        return {row.post: row.occurrences for row in self._found.fetch_rows(ids)}


# An answer that the database had is the platform's own to the same question: the newest there was by then.
SEARCHED = """
select o.post_ids from request r join pick p on p.campaign = r.campaign and p.n = r.n
join request o on o.id = case when r.kind = 'held' then (
    select max(e.id) from request e where e.digest = r.digest and e.id < r.id and e.post_ids is not null and r.posts > 0
) else r.id end
where r.campaign = :campaign and p.act = 'search' and o.post_ids is not null order by r.id
"""
POSTS = "select id, text from post where id in (select value from json_each(:ids))"
ON_SERVER = "select id, text from post where id in (select jsonb_array_elements_text(cast(:ids as jsonb)))"
QUIET = """
from post s where s.author in (select node from outcome where campaign = :campaign)
and not exists (select 1 from hit h where h.campaign = :campaign and h.post = s.id)
"""
# Posts of the accounts that a campaign read, those that its answers listed, and those that match its topic.
LISTED = "select j.value from request r, json_each(r.post_ids) j where r.campaign = :campaign"
LISTED_ON_SERVER = """
select jsonb_array_elements_text(cast(post_ids as jsonb)) from request where campaign = :campaign
and post_ids is not null
"""
STORED = """
select {columns} from post p
where (p.author in (select node from outcome where campaign = :campaign)
or p.id in (select post from hit where campaign = :campaign) or p.id in ({listed})){authors}
"""
STORED_COLUMNS = (
    "p.id, p.text, exists (select 1 from hit h where h.campaign = :campaign and h.post = p.id), "
    "p.lang, p.created_at, p.author"
)
COUNT = f"select count(*) {QUIET}"
READ = f"select s.id, s.text {QUIET} order by s.id"


def read_found_posts(connection: Connection, campaign: int, most: int) -> list[str]:
    """Return the texts of the posts that the platform's search found for a campaign, as it ranked them.

    Where the campaign was given what an earlier one of the database had been answered, these are its posts too.

    Args:
        connection: the database.
        campaign: campaign.id.
        most: how many at most.
    """
    with connection.begin():
        ids = _find_ids(connection, campaign)[:most]
        sql = POSTS if connection.dialect.name == "sqlite" else ON_SERVER
        rows = connection.execute(text(sql), {"ids": orjson.dumps(ids).decode()})
        texts = {str(row[0]): str(row[1]) for row in rows}
    return [texts[one] for one in ids if one in texts]


def read_off_topic_posts(connection: Connection, campaign: int, most: int) -> list[str]:
    """Return texts of posts that a campaign read, that do not match its topic and that no search found, by their ids.

    Of more than are wanted, every so-manieth is taken.

    Args:
        connection: the database.
        campaign: campaign.id.
        most: how many at most.
    """
    with connection.begin():
        searched = set(_find_ids(connection, campaign))
        count = connection.execute(text(COUNT), {"campaign": campaign}).scalar_one()
        rows = connection.execution_options(yield_per=1000).execute(text(READ), {"campaign": campaign})
        return list(_select_evenly(((str(row[0]), str(row[1])) for row in rows), searched, most, int(count)))


class CampaignPost(NamedTuple):
    """A stored post of a campaign.

    Attributes:
        id, text, lang, created_at: as table post has them.
        matches: whether it matches the topic of the campaign.
        author: account.node of its author; None: not known.
    """

    id: str
    text: str
    matches: bool
    lang: str | None
    created_at: str | None
    author: int | None


def read_stored_posts(connection: Connection, campaign: int, authors: str = "") -> Iterator[CampaignPost]:
    """Yield the stored posts of a campaign, by their ids.

    Args:
        connection: the database.
        campaign: campaign.id.
        authors: whose posts, as `match_authors` says it; "": all.
    """
    sql = f"{_select_stored(connection, STORED_COLUMNS, authors)} order by p.id"
    with connection.begin():
        for row in connection.execution_options(yield_per=1000).execute(text(sql), {"campaign": campaign}):
            yield CampaignPost(str(row[0]), str(row[1]), bool(row[2]), *row[3:])


def count_stored_posts(connection: Connection, campaign: int, authors: str = "") -> int:
    """Return how many posts `read_stored_posts` yields, of the same arguments."""
    with connection.begin():
        counted = connection.execute(text(_select_stored(connection, "count(*)", authors)), {"campaign": campaign})
        return int(counted.scalar_one())


def _select_stored(connection: Connection, columns: str, authors: str) -> str:
    """Return the SELECT of columns of the stored posts of a campaign."""
    listed = LISTED if connection.dialect.name == "sqlite" else LISTED_ON_SERVER
    return STORED.format(columns=columns, listed=listed, authors=authors)


def _select_evenly(rows: Iterator[tuple[str, str]], without: set[str], most: int, count: int) -> Iterator[str]:
    """Return `most` of `count` rows, evenly spread."""
    for i, (key, text_) in enumerate(rows):
        if (i + 1) * most // max(count, most) > i * most // max(count, most) and key not in without:
            yield text_


def _find_ids(connection: Connection, campaign: int) -> list[str]:
    """Return the ids of the posts that searches of a campaign found, each once, in their order."""
    pages = connection.execute(text(SEARCHED), {"campaign": campaign}).scalars()
    return list(dict.fromkeys(str(one) for page in pages for one in orjson.loads(page)))
