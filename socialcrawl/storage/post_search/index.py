"""The full-text index of a database: made at the first search of a large one, and brought up to date by later ones.

It is filled in small transactions, between which campaigns write. The words of a post are those of `text.post_words`,
on SQLite (FTS5) and PostgreSQL (tsvector) alike. Storing posts takes no longer on SQLite for it, where the rows of
`post` are in the order in which they came; on PostgreSQL a trigger notes each post that is new.

- `search_post`: the posts that are in the index. On SQLite their keys are in the order of time, which FTS5 follows.
- `search_pending`: on SQLite posts that changed or went since, each with the text by which FTS5 has it; on PostgreSQL
  posts that are new or changed.
- `search_state`: one row. On SQLite up to which row of `post` all were taken in, and which post that is; on PostgreSQL
  up to which id those were that were there before the index, and whether that was the last.
"""

# ruff: noqa: S608  (the names are our own, and there are two databases)

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import SettingsError
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.text.post_words import PostWords, read_words
from socialcrawl.text.wording import parse_instant

TABLES = ("search_index", "search_post", "search_pending", "search_state")
LEAST = 20_000  # posts from which on an index is made: fewer are read as fast
CHUNK = 1_000  # posts of a transaction
BITS = 20  # of a key: the number of a post within its second
SECOND = 1_000_000  # microseconds
UNDATED = -SECOND  # the moment of posts without a time
# Before this version FTS5 only marks what is deleted, and its words stay in the file.
ERASES = sqlite3.sqlite_version_info >= (3, 42)

FILE_SCHEMA = (
    """create virtual table search_index using fts5(words, content='', columnsize=0,
  tokenize="ascii tokenchars '#@_'")""",
    "create table search_post (key integer primary key, post text not null unique)",
    "create table search_pending (post text primary key, old text not null) without rowid",
    "create table search_state (place integer not null, post text)",
    "insert into search_state values (0, null)",
    """create trigger search_update after update of text on post when old.text is not new.text begin
  insert or ignore into search_pending select old.id, old.text from search_post where post = old.id;
end""",
    """create trigger search_delete after delete on post begin
  insert or ignore into search_pending select old.id, old.text from search_post where post = old.id;
end""",
)
SERVER_SCHEMA = (
    "create table search_post (post text primary key, at bigint not null, words tsvector not null)",
    "alter table search_post alter column words set statistics 0",  # the planner would remember common words
    "create index ix_search_post_words on search_post using gin (words)",
    "create index ix_search_post_at on search_post (at)",
    "create table search_pending (n bigint generated always as identity primary key, post text not null)",
    """create function search_insert() returns trigger language plpgsql set search_path from current as $$ begin
  insert into search_pending (post) select id from fresh;
  return null;
end $$""",
    """create function search_remove() returns trigger language plpgsql set search_path from current as $$ begin
  delete from search_post where post = old.id;
  if tg_op = 'UPDATE' then
    insert into search_pending (post) values (old.id);
  end if;
  return null;
end $$""",
    """create trigger search_insert after insert on post referencing new table as fresh
  for each statement execute function search_insert()""",
    """create trigger search_update after update of text on post for each row
  when (old.text is distinct from new.text) execute function search_remove()""",
    "create trigger search_delete after delete on post for each row execute function search_remove()",
    "create table search_state (post text not null, done boolean not null)",
    "insert into search_state values ('', false)",
)
LAST_MADE = "search_delete"


def has_index(connection: Connection) -> bool:
    """Return whether a database has a full-text index, up to date or not, with the triggers that it needs."""
    with join_transaction(connection):
        if connection.dialect.name == "postgresql":
            return connection.exec_driver_sql("select to_regclass('search_pending') is not null").scalar_one() is True
        # A change of the table `post` may have dropped them.
        found = connection.execute(text("select count(*) from sqlite_master where type = 'trigger' and name = :name"),
                                   {"name": LAST_MADE})  # fmt: skip
        return bool(found.scalar_one())


def list_tables(connection: Connection) -> list[str]:
    """Return the names of the tables of the index, as far as a database has them."""
    with join_transaction(connection):
        return [name for name in TABLES if inspect(connection).has_table(name)]


def is_large(connection: Connection) -> bool:
    """Return whether a database has so many posts that an index pays."""
    with join_transaction(connection):
        found = connection.execute(text("select count(*) from (select 1 from post limit :least) p"), {"least": LEAST})
        return int(found.scalar_one()) >= LEAST


def is_behind(connection: Connection) -> bool:
    """Return whether so many posts are not in the index that taking them in pays; called without a transaction."""
    if not has_index(connection):
        return is_large(connection)
    unread = find_unread(connection)
    with join_transaction(connection):
        sql = text(f"select count(*) from (select 1 from post p where {unread} limit :least) p")
        return int(connection.execute(sql, {"least": LEAST}).scalar_one()) >= LEAST


def update_index(connection: Connection) -> Iterator[int]:
    """Make the index if there is none, and take in every post that is not in it.

    Yields the number of posts so far, after each transaction of CHUNK posts: the time for other writers to write.

    Args:
        connection: the database, without a transaction.

    Raises:
        StoreError: the database cannot be written.
    """
    count, read = 0, CHUNK
    while read:
        try:
            with connection.begin():
                if not has_index(connection):
                    _create(connection)
                read = _index_some(connection)
        except DBAPIError as error:
            raise convert_error(error, find_address(connection)) from error
        count += read
        yield count


def drop_index(connection: Connection) -> None:
    """Drop the index, with all that belongs to it; called in a transaction."""
    server = connection.dialect.name == "postgresql"
    for name in ("search_insert", "search_update", "search_delete"):
        connection.exec_driver_sql(f"drop trigger if exists {name}" + (" on post" if server else ""))
    for name in ("search_insert", "search_remove") if server else ():
        connection.exec_driver_sql(f"drop function if exists {name}()")
    for name in TABLES:
        connection.exec_driver_sql(f"drop table if exists {name}")


def erase_removed(connection: Connection) -> None:
    """Remove everything from the index that is of no stored post any more; called in the transaction that changed them.

    Where SQLite is too old to remove words, the index goes; the next search makes it anew.
    """
    if not has_index(connection):
        return
    if connection.dialect.name == "postgresql":  # where triggers have removed the words
        gone = "delete from search_pending w where not exists (select 1 from post p where p.id = w.post)"
        connection.exec_driver_sql(gone)
    elif connection.exec_driver_sql("select 1 from search_pending limit 1").first() is None:
        return
    elif not ERASES:
        drop_index(connection)
    else:
        _take_in(connection, connection.exec_driver_sql("select post, old from search_pending").all())


def find_moment(created_at: str | None) -> int:
    """Return when a post was written, in microseconds of Unix time; UNDATED where that is not known."""
    try:
        return UNDATED if created_at is None else max(0, round(parse_instant(created_at) * SECOND))
    except SettingsError:
        return UNDATED


def match_ids(connection: Connection) -> str:
    """Return the SELECT of the ids in the parameter `ids`, a JSON list."""
    if connection.dialect.name == "postgresql":
        return "select json_array_elements_text(cast(:ids as json))"
    return "select value from json_each(:ids)"


def find_unread(connection: Connection) -> str:
    """Return the condition for posts, of a table `p`, that the index does not have, or not as they are now."""
    if connection.dialect.name == "postgresql":
        with join_transaction(connection):
            done = connection.exec_driver_sql("select done from search_state").scalar()
        noted = "p.id = any (array(select post from search_pending))"  # by the key, where a join would read all posts
        return noted if done else f"({noted} or p.id > (select post from search_state))"
    with join_transaction(connection):
        place = _find_place(connection)
    later = "p.id not in (select post from search_post)" if place is None else f"p.rowid > {place}"
    return f"({later} or p.id in (select post from search_pending))"


def _find_place(connection: Connection) -> int | None:
    """Return up to which row of `post` all were taken in; None where SQLite has given the rows other numbers since."""
    found = "s.post is null or exists (select 1 from post p where p.rowid = s.place and p.id = s.post)"
    place, holds = connection.exec_driver_sql(f"select s.place, {found} from search_state s").one()
    return int(place) if holds else None


def _create(connection: Connection) -> None:
    drop_index(connection)
    server = connection.dialect.name == "postgresql"
    for statement in SERVER_SCHEMA if server else FILE_SCHEMA:
        connection.exec_driver_sql(statement)
    if not server and ERASES:
        connection.exec_driver_sql("insert into search_index (search_index, rank) values ('secure-delete', 1)")


def _index_some(connection: Connection) -> int:
    """Take in some posts and return how many were read, 0 at the end; called in a transaction."""
    if connection.dialect.name == "postgresql":
        ids = connection.exec_driver_sql(
            "delete from search_pending where n in (select n from search_pending order by n limit %(most)s) "
            "returning post",
            {"most": CHUNK},
        ).scalars()
        if noted := list(ids):
            _add_vectors(connection, _read_posts(connection, noted))
            return len(noted)
        return _add_earlier(connection)
    changed = connection.execute(text("select post, old from search_pending limit :most"), {"most": CHUNK}).all()
    if changed:
        return _take_in(connection, changed)
    place = _find_place(connection)
    after = 0 if place is None else place
    rows = connection.execute(
        text("select rowid as place, id, created_at, text from post where rowid > :after order by rowid limit :most"),
        {"after": after, "most": CHUNK},
    ).all()
    if rows:
        _add(connection, rows)
        last = {"place": rows[-1].place, "post": rows[-1].id}
        connection.execute(text("update search_state set place = :place, post = :post"), last)
    return len(rows)


def _take_in(connection: Connection, changed: Sequence[Any]) -> int:
    """Take posts that changed or went out of an index of SQLite, and in again as they are now; return their number."""
    raw: Any = connection.connection.driver_connection
    for post, old in changed:
        (key,) = raw.execute("delete from search_post where post = ? returning key", (post,)).fetchone()
        delete = "insert into search_index (search_index, rowid, words) values ('delete', ?, ?)"
        raw.execute(delete, (key, _join_words(old)))
        raw.execute("delete from search_pending where post = ?", (post,))
    _add(connection, _read_posts(connection, [row.post for row in changed]))
    return len(changed)


def _read_posts(connection: Connection, ids: Sequence[str]) -> Sequence[Any]:
    sql = f"select id, created_at, text from post where id in ({match_ids(connection)})"
    return connection.execute(text(sql), {"ids": orjson.dumps(ids).decode()}).all()


def _add(connection: Connection, posts: Iterable[Any]) -> None:
    """Take those of some posts into an index of SQLite that are not in it."""
    raw: Any = connection.connection.driver_connection
    rows = []
    for second, key, written in sorted((find_moment(one.created_at) // SECOND, one.id, one.text) for one in posts):
        if (number := _take_key(raw, second, key)) is not None:
            rows.append((number, _join_words(written)))
    raw.executemany("insert into search_index (rowid, words) values (?, ?)", rows)


def _take_key(raw: sqlite3.Connection, second: int, post: str) -> int | None:
    """Return the next key of a second for a post, of the next second where that is full; None if the post has a key."""
    if raw.execute("select 1 from search_post where post = ?", (post,)).fetchone():
        return None
    while True:
        low, high = second << BITS, (second + 1 << BITS) - 1
        (last,) = raw.execute("select max(key) from search_post where key between ? and ?", (low, high)).fetchone()
        if last != high:
            key = low if last is None else int(last) + 1
            raw.execute("insert into search_post (key, post) values (?, ?)", (key, post))
            return key
        second += 1


def _join_words(written: str) -> str:
    """Return the words of a text as FTS5 is given them."""
    found = read_words(written)
    return " ".join((*found.words, *found.tags))


def _add_earlier(connection: Connection) -> int:
    """Take some posts into the index of a server that were there before it; return their number, 0 at the end."""
    done = text("select post from search_state where not done")
    if (after := connection.execute(done).scalar()) is None:
        return 0
    sql = text("select id, created_at, text from post where id > :after order by id limit :most")
    posts = connection.execute(sql, {"after": after, "most": CHUNK}).all()
    _add_vectors(connection, posts)
    last = {"post": posts[-1].id if posts else "", "done": not posts}
    connection.execute(text("update search_state set post = :post, done = :done"), last)
    return len(posts)


def _add_vectors(connection: Connection, posts: Iterable[Any]) -> None:
    """Take posts into the index of a server."""
    rows = [
        {"post": one.id, "at": find_moment(one.created_at) // SECOND, "words": _write_vector(read_words(one.text))}
        for one in posts
    ]
    connection.execute(
        text(
            "insert into search_post select post, at, cast(words as tsvector) from "
            "json_to_recordset(cast(:rows as json)) as given (post text, at bigint, words text) on conflict do nothing"
        ),
        {"rows": orjson.dumps(rows).decode()},
    )


def _write_vector(found: PostWords) -> str:
    """Return words as PostgreSQL writes a tsvector."""
    places: dict[str, list[str]] = {}
    for number, word in enumerate(found.words, 1):
        places.setdefault(word, []).append(str(number))
    words = [f"{quote_word(word)}:{','.join(numbers)}" for word, numbers in places.items()]
    return " ".join((*words, *map(quote_word, dict.fromkeys(found.tags))))


def quote_word(word: str) -> str:
    """Return a word as PostgreSQL reads it in a tsvector or tsquery."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
