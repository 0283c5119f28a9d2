"""The posts that match a query, newest first: from the index, and read one by one where they are not in it.

So an index may be behind, or not there at all: what is found stays the same. Nothing is changed.
"""

# ruff: noqa: S608  (values are parameters, or numbers)

import heapq
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, text

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.post_search.index import (
    BITS,
    SECOND,
    UNDATED,
    find_moment,
    find_unread,
    has_index,
    match_ids,
    quote_word,
)
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.streams import stream_rows
from socialcrawl.text.post_query import Alternative, PostQuery, QueryTerm

SOME = 500  # rows that are fetched together
LATEST = 1 << 40  # a second after all others
INDEXED = """
select s.key >> {bits}, p.created_at, p.id from search_index f
cross join search_post s on s.key = f.rowid cross join post p on p.id = s.post
where f.search_index match :words and f.rowid between :low and :high
and not exists (select 1 from search_pending w where w.post = p.id) and {where} order by f.rowid desc
"""
# A server keeps no statistics of words, so its planner cannot tell rare ones from common ones. Few matches are read and
# sorted; where there are many, posts are read from the newest on.
FEW = """
with f as materialized (
  select s.post, s.at from search_post s where s.words @@ cast(:words as tsquery)
)
select f.at, p.created_at, p.id from f join post p on p.id = f.post
where f.at between :low and :high and {where} order by f.at desc
"""
MANY = """
select s.at, p.created_at, p.id from search_post s join post p on p.id = s.post
where s.words @@ cast(:words as tsquery) and s.at between :low and :high and {where} order by s.at desc
"""
COUNT = "select count(*) from (select 1 from search_post where words @@ cast(:words as tsquery) limit :most) f"
FEWEST = 5_000  # matches that are many


class PostKey(NamedTuple):
    """Where a post stands among all, by time: keys compare as posts do.

    Attributes:
        moment: when it was written, in microseconds of Unix time; UNDATED: not known.
        id: post.id.
    """

    moment: int
    id: str


@dataclass(frozen=True, slots=True)
class PostFilter:
    """Which posts are searched.

    Attributes:
        author: a username or id of who wrote them; None: everybody.
        campaign: campaign.id of the campaign whose topic they match, or do not; None: any post.
        since: the first moment, in microseconds of Unix time; None: from the beginning.
        until: the first moment that does not belong to it any more; None: to the end.
        after: the post after which the search goes on; None: from the newest on.
        off_topic: whether they do not match the topic.
    """

    author: str | None = None
    campaign: int | None = None
    since: int | None = None
    until: int | None = None
    after: PostKey | None = None
    off_topic: bool = False

    @property
    def seconds(self) -> tuple[int, int]:
        """The first and the last second in which posts can be."""
        ends = [LATEST, *(end // SECOND for end in (self.until, self.after and self.after.moment) if end is not None)]
        return (UNDATED if self.since is None else self.since) // SECOND, min(ends)

    def has(self, key: PostKey) -> bool:
        """Return whether a post is among them, by its time."""
        return (
            (self.since is None or key.moment >= self.since)
            and (self.until is None or key.moment < self.until)
            and (self.after is None or key < self.after)
        )


def parse_cursor(cursor: str) -> PostKey:
    """Return the post after which a search goes on: TIME/ID, without the time for a post that has none.

    Raises:
        SettingsError: it is no such text.
    """
    created_at, _, key = cursor.partition("/")
    moment = find_moment(created_at or None)
    if not key or (created_at and moment == UNDATED):
        raise SettingsError(
            f"{cursor!r} is no place in a search: give time and id of the last post shown, as "
            "2026-01-31T12:00:00.000Z/1234567890."
        )
    return PostKey(moment, key)


def find_posts(
    connection: Connection,
    query: PostQuery,
    among: PostFilter,
    most: int | None = None,
    check: Callable[[], None] = lambda: None,
) -> Generator[PostKey, None, None]:
    """Yield the posts that match, newest first; posts without a time come last.

    Args:
        connection: the database.
        query: what they have to match.
        among: which posts are searched.
        most: how many are wanted; None: all.
        check: called between texts that are read one by one, now and then; an error that it raises ends the search.

    Raises:
        StoreError: no account of the database has the author's name or id.
    """
    where = _make_condition(connection, among)
    indexed = has_index(connection)
    unread = f"{find_unread(connection)} and {where}" if indexed else where
    matches = _scan(connection, query, among, unread, check)
    read = sorted(matches, reverse=True) if most is None else heapq.nlargest(most, matches)
    if not indexed:
        yield from read
        return
    with closing(_read_index(connection, query, among, where)) as ordered:
        both = (key for key, _ in groupby(heapq.merge(read, ordered, reverse=True)))  # a post may be taken in meanwhile
        yield from both if most is None else islice(both, most)


def count_posts(
    connection: Connection, query: PostQuery | None, among: PostFilter, most: int, check: Callable[[], None]
) -> int:
    """Return how many posts match, at most `most`.

    Args:
        connection: the database.
        query: what they have to match; None: all posts that the filter leaves.
        among: which posts are counted.
        most: where counting ends.
        check: called now and then; an error that it raises ends the counting.

    Raises:
        StoreError: no account of the database has the author's name or id.
    """
    keys = _read_keys(connection, among, check) if query is None else find_posts(connection, query, among, most, check)
    count = 0
    with closing(keys):
        for count, _ in enumerate(islice(keys, most), 1):
            if count % SOME == 0:
                check()
    return count


def _read_keys(connection: Connection, among: PostFilter, check: Callable[[], None]) -> Generator[PostKey, None, None]:
    """Yield the posts that a filter leaves, in no order; told apart here, so that `check` is called in time."""
    on_topic = among.campaign is not None and not among.off_topic
    mine = f"h.campaign = {0 if among.campaign is None else int(among.campaign)}"
    join = f"join hit h on h.post = p.id and {mine}" if on_topic else ""
    hit = f"exists (select 1 from hit h where h.post = p.id and {mine})" if among.off_topic else "false"
    author = "" if among.author is None else match_authors(connection, among.author)
    sql = f"select p.created_at, p.id, {hit} from post p {join} where true{author}"
    dated = among.since is not None or among.until is not None
    for rows in stream_rows(connection, sql, {}, SOME):
        check()
        for created_at, key, is_hit in rows:
            found = PostKey(find_moment(created_at) if dated else UNDATED, key)
            if not is_hit and (not dated or among.has(found)):
                yield found


def read_rows(
    connection: Connection, sql: str, parameters: Mapping[str, Any], keys: Sequence[PostKey]
) -> list[Sequence[Any]]:
    """Return the rows of posts, in the order of their keys, without those that went meanwhile.

    Args:
        connection: the database.
        sql: a SELECT of posts, without a condition, from a table `p`; the first column is the id.
        parameters: its parameters.
        keys: the posts.
    """
    given = {**parameters, "ids": orjson.dumps([key.id for key in keys]).decode()}
    with join_transaction(connection):
        found = connection.execute(text(f"{sql} where p.id in ({match_ids(connection)})"), given)
        rows = {row[0]: row for row in found}
    return [rows[key.id] for key in keys if key.id in rows]


def _make_condition(connection: Connection, among: PostFilter) -> str:
    """Return the condition for the table `p` of what time does not tell."""
    where = "true"
    if among.author is not None:
        where += match_authors(connection, among.author)
    if among.campaign is not None:
        no = "not " if among.off_topic else ""
        where += f" and {no}exists (select 1 from hit h where h.campaign = {int(among.campaign)} and h.post = p.id)"
    return where


def match_authors(connection: Connection, author: str) -> str:
    """Return the condition, with its AND, for posts, of a table `p`, that somebody wrote, by username or id.

    Raises:
        StoreError: no account of the database has this username or id.
    """
    name = author.removeprefix("@")
    sql = "select node from account where handle = :handle or platform_id in (:name, :given) order by node"
    with join_transaction(connection):
        given = {"handle": name.lower(), "name": name, "given": author}
        found = [int(node) for node in connection.execute(text(sql), given).scalars()]
    if not found:
        raise StoreError(
            f"No account in this database has the username or id {author!r}: check how it is written "
            '(`socialcrawl sql "select username from account"` lists them).'
        )
    return f" and p.author in ({', '.join(map(str, found))})"


def _scan(
    connection: Connection, query: PostQuery, among: PostFilter, where: str, check: Callable[[], None]
) -> Iterator[PostKey]:
    """Yield the posts that match, in no order, of those for which a condition holds: by reading their texts."""
    sql = f"select p.created_at, p.id, p.text from post p where {where}"
    for rows in stream_rows(connection, sql, {}, SOME):
        check()
        for created_at, key, written in rows:
            if query.matches(written) and among.has(found := PostKey(find_moment(created_at), key)):
                yield found


def _read_index(
    connection: Connection, query: PostQuery, among: PostFilter, where: str
) -> Generator[PostKey, None, None]:
    """Yield the posts that match, newest first, as far as they are in the index."""
    first, last = among.seconds
    with join_transaction(connection):
        if connection.dialect.name == "postgresql":
            values: dict[str, Any] = {"words": write_tsquery(query), "low": first, "high": last}
            sql = _choose_way(connection, values["words"])
        else:
            values = {"words": write_match(query), "low": first << BITS, "high": (last + 1 << BITS) - 1}
            sql = INDEXED
        with closing(stream_rows(connection, sql.format(bits=BITS, where=where), values, SOME)) as rows:
            flat = (row for some in rows for row in some)
            for _, group in groupby(flat, key=lambda row: row[0]):
                keys = (PostKey(find_moment(created_at), key) for _, created_at, key in group)
                yield from sorted(filter(among.has, keys), reverse=True)


def _choose_way(connection: Connection, words: str) -> str:
    """Return the SELECT by which a server finds words sooner; called in a transaction, whose plans it changes."""
    found = connection.execute(text(COUNT), {"words": words, "most": FEWEST}).scalar_one()
    if found < FEWEST:
        return FEW
    connection.exec_driver_sql("set local enable_bitmapscan = off")
    return MANY


def write_match(query: PostQuery) -> str:
    """Return a query as FTS5 reads it."""
    return " OR ".join(f"({_match_alternative(one)})" for one in query.alternatives)


def _match_alternative(one: Alternative) -> str:
    wanted = " AND ".join(map(_match_term, one.wanted))
    return f"({wanted}) NOT ({' OR '.join(map(_match_term, one.unwanted))})" if one.unwanted else wanted


def _match_term(term: QueryTerm) -> str:
    parts = [f'"{tag}"' for tag in term.tags]
    if term.words:
        parts.append(f'"{" ".join(term.words)}"')
    return f"({' AND '.join(parts)}{' *' if term.prefix else ''})"


def write_tsquery(query: PostQuery) -> str:
    """Return a query as PostgreSQL reads a tsquery."""
    texts = []
    for one in query.alternatives:
        parts = [_write_term(term) for term in one.wanted] + [f"!{_write_term(term)}" for term in one.unwanted]
        texts.append(f"({' & '.join(parts)})")
    return " | ".join(texts)


def _write_term(term: QueryTerm) -> str:
    parts = [quote_word(tag) for tag in term.tags]
    if term.words:
        parts.append(" <-> ".join(map(quote_word, term.words)))
    parts[-1] += ":*" if term.prefix else ""
    return f"({' & '.join(f'({part})' for part in parts)})"
