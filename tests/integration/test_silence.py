"""A PostgreSQL server that hangs is told from a statement that takes long."""

import pytest
from postgres import a_server_database, ask, stopped

from socialcrawl.errors import StoreError
from socialcrawl.storage.database import connection as database
from socialcrawl.storage.database import silent_server
from socialcrawl.storage.database.connection import close_connection, connect, open_database, read_unlocked
from socialcrawl.storage.database.trouble import convert_errors


@pytest.fixture
def place(monkeypatch):
    monkeypatch.setattr(database, "SILENCE", 0.3)
    monkeypatch.setattr(database, "CONNECTING", 2)
    with a_server_database() as found:
        yield found


def query(connection, sql="select 1"):
    with convert_errors(connection), read_unlocked(connection):
        return connection.exec_driver_sql(sql).scalar()


def test_a_statement_on_a_server_that_hangs_fails_and_the_next_connection_works_when_it_is_back(place):
    connection = connect(place)
    assert query(connection) == 1
    with stopped(), pytest.raises(StoreError, match=r"no answer for 0\.3 s, nor to a second connection"):
        query(connection)
    close_connection(connection)
    with open_database(place) as again:
        assert query(again) == 1


def test_nobody_gets_into_a_server_that_hangs_and_that_is_said_in_time(place):
    with stopped(), pytest.raises(StoreError, match=r"cannot be reached.*timeout expired"):
        connect(place)


def test_a_long_statement_is_left_alone_however_often_the_server_is_asked_whether_it_is_there(place, monkeypatch):
    checked = []
    is_hung = silent_server._is_hanging

    def hangs(*given):
        checked.append(is_hung(*given))
        return checked[-1]

    monkeypatch.setattr(silent_server, "_is_hanging", hangs)
    with open_database(place) as connection:
        assert query(connection, "select 3 from pg_sleep(2)") == 3
    assert checked[:2] == [False, False]


def test_a_server_that_refuses_a_second_connection_does_not_hang(place):
    """It has no room for more, or is about to stop: it says so."""
    name = place.url.split("?")[0].rsplit("/", 1)[1]
    with open_database(place) as connection:
        query(connection)
        ask(f"alter database {name} allow_connections false")
        assert query(connection, "select 4 from pg_sleep(1)") == 4


def test_time_outs_of_the_network_are_set_unless_the_address_has_its_own(place):
    own = type(place)(f"{place.url}&tcp_user_timeout=7000")
    for where, expected in ((place, "30000"), (own, "7000")):
        with open_database(where) as connection:
            told = connection.connection.driver_connection.info.get_parameters()
        assert told["tcp_user_timeout"] == expected
        assert (told["keepalives_idle"], told["keepalives_interval"], told["keepalives_count"]) == ("30", "10", "3")
