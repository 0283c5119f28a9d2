"""A PostgreSQL server as people have it: other schemas, other encodings, other writers, few rights, two machines."""

import os
import subprocess
import sys
import threading

import psycopg
import pytest
from postgres import a_server_database, address, ask
from rich.console import Console
from stores import opened
from tiny_town import close, stored
from x_crawls import campaign_of, crawl, posts

from socialcrawl.campaign.cost_outlook import make_campaign_quote, read_progress
from socialcrawl.campaign.plan import make_plan
from socialcrawl.cli.commands.doctor import run_checks
from socialcrawl.errors import StoreError
from socialcrawl.forecast.shape import CampaignProgress
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.address import PostgresAddress
from socialcrawl.storage.database.connection import OURS, connect, read_unlocked
from socialcrawl.storage.database.health import find_server_faults, open_existing, open_readable
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.queries.summary import summarize_campaign

HOLD = """
import sys
from socialcrawl.storage.database.address import parse_address
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.database.lease import Lease
connection = connect(parse_address(sys.argv[1])); lease = Lease(connection, "mine"); print("held", flush=True)
for line in sys.stdin:
    with connection.begin():
        connection.exec_driver_sql("insert into tombstone values ('" + line.strip() + "', 'user', 'x', 'y')")
    print("written", flush=True)
"""


@pytest.fixture
def server():
    with a_server_database() as place:
        yield place


def scalar(place, sql):
    with opened(place) as connection, connection.begin():
        return connection.exec_driver_sql(sql).scalar()


@pytest.mark.parametrize("usernames", [[], ["ann"]])
def test_a_quote_and_what_is_spent_are_read_from_a_server(server, usernames):
    with serve_in_thread(posts()) as mock:
        settings = campaign_of(mock.url, server, seeds={"usernames": usernames}, crawl={"steps": 5})
        meant = make_plan(settings)
        assert read_progress(meant) == CampaignProgress()
        before = make_campaign_quote(meant)
        crawl(settings)
        spent = read_progress(meant)
        assert spent.steps == 5
        assert spent.requests == sum(mock.report()["received"].values())
        assert make_campaign_quote(meant) != before


def test_a_campaign_that_runs_elsewhere_goes_on_while_somebody_tries_to_run_it_again(server):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, server.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as runner:
        assert runner.stdout.readline() == "held\n"
        said = []

        def again():
            with opened(server) as connection:
                try:
                    Lease(connection, "mine")
                except StoreError as error:
                    said.append(str(error))

        second = threading.Thread(target=again)
        second.start()
        for number in range(40):  # the runner writes all the while
            runner.stdin.write(f"{number:032}\n")
            runner.stdin.flush()
            assert runner.stdout.readline() == "written\n"
        second.join()
        runner.stdin.close()
        assert runner.wait(20) == 0
    (one,) = said
    assert one.startswith("Another process is running the campaign 'mine' of this database: wait for it, or stop it")
    assert scalar(server, "select count(*) from tombstone") == 40


def test_readers_do_not_wait_for_a_writer(server):
    close(stored(server))
    with psycopg.connect(server.url) as raw:
        raw.execute(f"select pg_advisory_xact_lock({OURS}, 0)")
        with open_readable(server) as connection:
            assert summarize_campaign(connection, "tiny").sent == 0
        raw.rollback()


def test_tables_go_where_the_search_path_leads(server):
    ask_in(server, "create schema mine")
    theirs = PostgresAddress(f"{server.url}&options=-csearch_path%3Dmine")
    with opened(theirs) as connection, connection.begin():
        assert connection.exec_driver_sql("select current_schema()").scalar() == "mine"
        here = "select count(*) from information_schema.tables where table_schema = 'mine' and table_name = 'post'"
        assert connection.exec_driver_sql(here).scalar() == 1


def ask_in(place, sql):
    with psycopg.connect(place.url, autocommit=True) as raw:
        raw.execute(sql)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_in_which_not_every_text_can_be_written_is_refused(encoding):
    name = f"other_{encoding.lower()}_{os.getpid()}"
    ask(f"create database {name} encoding '{encoding}' template template0 locale 'C'")
    try:
        with pytest.raises(StoreError, match=f"keeps texts as {encoding}.*createdb -E UTF8"):
            connect(address(name))
        with open_existing(address(name)) as connection:
            assert "createdb -E UTF8" in find_server_faults(connection)[0]
    finally:
        ask(f"drop database {name} with (force)")


def test_the_clients_encoding_does_not_matter(server, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    ask_in(server, "insert into tombstone values ('1', 'x', 'x', '')")
    with opened(server) as connection, connection.begin():
        connection.exec_driver_sql("update tombstone set why = %(why)s", {"why": "dark sky \U0001f52d"})
    assert scalar(server, "select why from tombstone") == "dark sky \U0001f52d"


def test_the_doctor_says_what_a_user_may_not_do(server, tmp_path):
    role = f"reader_{os.getpid()}"
    ask(f"create role {role} login")
    try:
        ask_in(server, f"grant select on all tables in schema public to {role}")
        theirs = server.url.replace("postgres:@", f"{role}@").replace("postgres@", f"{role}@")
        file = tmp_path / "c.toml"
        file.write_text(
            f'name = "c"\ndatabase = "{theirs}"\n[topic]\nkeywords = ["sky"]\n[crawl]\nsteps = 3\n', "utf-8"
        )
        console = Console(record=True, width=400)
        assert run_checks(file, console, offline=True) == 1
        assert "its user may not write into" in console.export_text()
    finally:
        ask_in(server, f"drop owned by {role}")
        ask(f"drop role {role}")


def test_a_server_that_is_not_there_a_wrong_user_and_a_wrong_name_are_told_apart(server):
    for url, said in (
        ("postgresql://127.0.0.1:1/db", "is the server running"),
        (server.url.replace(server.name, "nowhere"), "make it with createdb"),
        (server.url.replace("postgres:@", "nobody@").replace("postgres@", "nobody@"), "createuser"),
    ):
        with pytest.raises(StoreError, match=said):
            connect(PostgresAddress(url))


def test_looking_takes_no_writers_lock(server):
    with opened(server) as connection:
        held = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"
        with read_unlocked(connection):
            assert connection.exec_driver_sql(held).scalar() == 0
        with connection.begin():
            assert connection.exec_driver_sql(held).scalar() == 1
