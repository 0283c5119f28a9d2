"""Statements that are sent to a server together, and statements that all stores of a process share."""

import pytest
from postgres import a_place
from sqlalchemy.exc import DBAPIError, IntegrityError
from stores import a_database, opened

from socialcrawl.storage.database import connection as connection_module
from socialcrawl.storage.database.bulk import make_insert
from socialcrawl.storage.database.connection import send_together
from socialcrawl.storage.schema.tables import tombstone

NAMES = ("digest", "kind", "why", "at")
DATABASES = ("sqlite", "postgres")


def insert_each(connection, digests):
    statement = make_insert(connection, tombstone, NAMES)
    for digest in digests:
        statement.run([(digest, "post", "asked", "2026-01-01")])


def read_digests(connection):
    with connection.begin():
        return connection.exec_driver_sql("select digest from tombstone order by digest").scalars().all()


@pytest.mark.parametrize("kind", DATABASES)
def test_statements_that_are_sent_together_are_all_done_when_the_block_ends(kind):
    with a_database(kind) as connection:
        with connection.begin(), send_together(connection):
            insert_each(connection, "abcdefgh")
        assert read_digests(connection) == list("abcdefgh")


@pytest.mark.parametrize("kind", DATABASES)
@pytest.mark.parametrize("digests", ["aabcdefgh", "abcdefgha"])
def test_a_statement_that_fails_undoes_the_transaction_and_the_connection_goes_on(kind, digests, capfd):
    with a_database(kind) as connection:
        with pytest.raises(IntegrityError, match=r"(?i)unique"), connection.begin(), send_together(connection):
            insert_each(connection, digests)
        assert read_digests(connection) == []
        with connection.begin(), send_together(connection):
            insert_each(connection, "a")
        assert read_digests(connection) == ["a"]
    assert capfd.readouterr().err == ""


def test_a_server_that_ends_the_connection_meanwhile_is_an_error_of_the_database(capfd):
    with a_place("postgres") as place, opened(place) as connection, opened(place) as other:
        process = connection.connection.driver_connection.info.backend_pid
        with other.begin():
            other.exec_driver_sql(f"select pg_terminate_backend({process}, 60000)")
        with pytest.raises(DBAPIError) as failure, connection.begin(), send_together(connection):
            insert_each(connection, "a")
        assert failure.value.connection_invalidated
        assert read_digests(other) == []
    assert capfd.readouterr().err == ""


def test_a_process_that_hangs_while_it_writes_holds_up_the_others_for_a_while_only(monkeypatch, capfd):
    monkeypatch.setattr(connection_module, "HELD", 0.2)
    with a_place("postgres") as place, opened(place) as hung, opened(place) as other:
        hung.begin()
        insert_each(hung, "a")
        with other.begin():
            insert_each(other, "b")
        with pytest.raises(DBAPIError) as failure:
            insert_each(hung, "c")
        assert failure.value.connection_invalidated
        assert read_digests(other) == ["b"]
    assert capfd.readouterr().err == ""


def test_equal_statements_are_compiled_once_and_others_are_not_taken_for_them():
    with a_database("sqlite") as connection, a_database("sqlite") as second:
        first, ignoring, fewer = (
            make_insert(connection, tombstone, names, conflict).sql
            for names, conflict in ((NAMES, "error"), (NAMES, "ignore"), (NAMES[:3], "error"))
        )
        assert make_insert(second, tombstone, NAMES).sql is first
    assert [sql.count("?") for sql in (first, ignoring, fewer)] == [4, 4, 3]
    assert ["CONFLICT" in sql for sql in (first, ignoring, fewer)] == [False, True, False]
