"""What the tests of the stores share: pages to save, and stores to save them in."""

import shutil
import tempfile
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from postgres import a_place, emptied
from tiny_town import BEGIN, SETTINGS, close, stored

from socialcrawl.engine.model import AccountRow, Grant, Mention, Page, PostRow, Reply, Request, Who
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.memory_store import MemoryStore
from socialcrawl.storage.sql_store import SqlStore

AT = 1_700_000_000.25


@lru_cache
def _empty() -> Path:
    path = Path(tempfile.mkdtemp(prefix="socialcrawl-tests-")) / "empty.db"
    close(stored(path))
    return path


@contextmanager
def a_store(kind, tariff=None):
    """An empty store: "memory", "sqlite" or "postgres"."""
    if kind == "memory":
        yield MemoryStore(tariff)
        return
    if kind == "postgres":
        made = stored(emptied())
        try:
            yield SqlStore(made.connection, made.campaign, "x", tariff)
        finally:
            close(made)
        return
    assert kind == "sqlite"
    with tempfile.TemporaryDirectory() as folder:
        made = stored(Path(shutil.copy(_empty(), folder)))
        try:
            yield SqlStore(made.connection, made.campaign, "x", tariff)
        finally:
            close(made)


def reopened(store):
    """The store as a new process finds it."""
    return SqlStore(store.connection, store.campaign, "x", store.tariff) if isinstance(store, SqlStore) else store


def beside(store, name="second", tariff=None, reuse=None):
    """The store of the campaign `name` in the same database."""
    number = ensure_campaign(store.connection, SETTINGS | {"name": name}, {}, BEGIN)
    return SqlStore(store.connection, number, "x", tariff, reuse=reuse)


def timeline(n=0, part=0, key="1", cursor=None):
    params = {"id": key} | ({"pagination_token": cursor} if cursor else {})
    return Request((n, part), "/2/users/:id/tweets", params, 100, 50_000)


def save(store, page, n=0, at=AT, kind="ok", *, asked=None, credential="main", took=0.5, **more):
    grant = Grant(asked or timeline(n), credential, at - took)
    store.reserve(grant)
    return store.save(grant, Reply(kind, at, page, **more))


def rows(store, sql):
    with store.connection.begin():
        return store.connection.exec_driver_sql(sql).all()


def one(store, sql):
    ((value,),) = rows(store, sql)
    return value


def profile(key, username, **more):
    return AccountRow(key, username, *[None] * 10)._replace(**more)


def users(*rows):
    return Page(accounts=rows, answered=[Who(row.id, row.username) for row in rows])


def mentioning(*whos, post="1", author="900"):
    row = PostRow(post, author, None, "text", *[None] * 14)
    return Page([row], [1], [Mention(0, who, "mention") for who in whos])


@contextmanager
def opened(path, **more):
    connection = connect(path, **more)
    try:
        yield connection
    finally:
        connection.close()
        connection.engine.dispose()


@contextmanager
def a_database(kind):
    """A connection to an empty database with our tables: "sqlite" or "postgres"."""
    with a_place(kind) as place, opened(place) as connection:
        yield connection


@contextmanager
def failing(connection, table, event="insert"):
    """Meanwhile the database refuses to change a table: "insert" or "update"."""
    server = connection.dialect.name == "postgresql"
    no = "create function no() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$"
    then = "for each row execute function no()" if server else "begin select raise(abort, 'no'); end"
    with connection.begin():
        if server:
            connection.exec_driver_sql(no)
        connection.exec_driver_sql(f"create trigger no before {event} on {table} {then}")
    yield
    with connection.begin():
        connection.exec_driver_sql(f"drop trigger no{f' on {table}' if server else ''}")
        if server:
            connection.exec_driver_sql("drop function no")
