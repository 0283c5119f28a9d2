"""What one query may take: memory on SQLite, and the rights of the role that asks on PostgreSQL."""

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from commands import COMMAND, ENVIRONMENT, socialcrawl
from postgres import a_role, a_server_database, as_role, ask

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.readonly import run_query
from socialcrawl.storage.schema.tables import metadata


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A small file of SQLite that no campaign wrote: the bounds are those of the query."""
    path = tmp_path_factory.mktemp("bounds") / "a.db"
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("create table post (id text, text text)")
        raw.executemany("insert into post values (?, ?)", [(str(i), "a post") for i in range(100)])
    return path


LAUNCHER = """
import json, resource, subprocess, sys
child = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
print(json.dumps([child.returncode, child.stderr, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024]))
"""


def peak(*words, program=COMMAND):
    """(the exit code, what was said on stderr, peak resident MB as the kernel counts it) of one command.

    It is started by a small process: a child's peak begins with the size of whoever forked it.
    """
    launched = [sys.executable, "-c", LAUNCHER, *program, *map(str, words)]
    return json.loads(subprocess.run(launched, env=ENVIRONMENT, capture_output=True, check=True).stdout)


def count_of(database, query):
    with run_query(Path(database), query, 20.0, time.monotonic) as (_, rows):
        return sum(1 for _ in rows)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select hex(zeroblob(4e8))", "larger than 64 MB"),
        ("select " + ", ".join(f"zeroblob(6e7 - {i}) as b{i}" for i in range(30)), "more than 512 MB of memory"),
    ],
    ids=["one value of 800 MB", "a row of 30 values of 60 MB"],
)
def test_a_query_for_huge_values_is_refused_in_a_sentence_before_it_takes_a_gigabyte(database, query, words):
    code, said, megabytes = peak("sql", "--db", database, "--format", "csv", query)
    assert (code, "Traceback" in said) == (1, False)
    assert words in said
    assert "WHERE and LIMIT" in said
    assert megabytes < 1000


def test_values_below_the_bound_are_still_read_whole(database):
    with run_query(database, "select hex(zeroblob(3e7)) as h", 20.0, time.monotonic) as (_, rows):
        ((text,),) = rows
    assert text == "00" * 30_000_000


def test_many_large_rows_are_fetched_a_few_at_a_time(database):
    reading = (
        "import sys, time; from pathlib import Path; from socialcrawl.storage.database.readonly import run_query\n"
        "with run_query(Path(sys.argv[1]), 'select zeroblob(2e7) from post', 60.0, time.monotonic) as (_, rows):\n"
        "    assert sum(len(blob) for (blob,) in rows) == 100 * 20_000_000"  # 2 GB: the file has 100 rows
    )
    code, said, megabytes = peak("-c", reading, database, program=[sys.executable])
    assert (code, said) == (0, "")
    assert megabytes < 500  # all rows at once are 2 GB


def test_many_large_rows_of_a_server_are_fetched_a_few_at_a_time():
    reading = (
        "import sys, time; from socialcrawl.storage.database.address import parse_address\n"
        "from socialcrawl.storage.database.readonly import run_query\n"
        "query = \"select repeat('x', 20000000) from generate_series(1, 60)\"\n"
        "with run_query(parse_address(sys.argv[1]), query, 60.0, time.monotonic, allow_superuser=True) as (_, rows):\n"
        "    assert sum(len(text) for (text,) in rows) == 60 * 20_000_000"  # 1.2 GB
    )
    with a_server_database() as server:
        code, said, megabytes = peak("-c", reading, server.url, program=[sys.executable])
    assert (code, said) == (0, "")
    assert megabytes < 600  # all rows at once are 1.2 GB


@pytest.mark.parametrize(
    ("query", "rows", "said"),
    [
        ("select zeroblob(20000) as b from post a, post b", 400, "a table has at most 16 million characters"),
        (
            "select iif(a.id = '0', hex(zeroblob(5e4)), 'x') as c, b.id from post a, post b",
            160,
            "at most 16 million",
        ),
        ("select hex(zeroblob(3e7)) as c", 2, "cells cut to 100,000 characters: 1."),
        ("select substr('abc', 1, 2) as c from post", 101, ""),
    ],
    ids=["many wide rows", "one wide row that widens all", "one huge cell", "rows that fit"],
)
def test_a_table_holds_what_fits_and_says_what_does_not(database, query, rows, said):
    child = socialcrawl("sql", "--db", database, query)
    assert child.returncode == 0
    assert said in child.stderr
    assert bool(child.stderr) == bool(said)
    assert abs(len(child.stdout.splitlines()) - rows) <= 2
    assert len(child.stdout) <= 16_100_000


def test_a_table_of_many_wide_rows_takes_a_bounded_memory(database):
    code, said, megabytes = peak("sql", "--db", database, "select zeroblob(20000) as b from post a, post b")
    assert (code, "--format csv or json shows all" in said) == (0, True)
    assert megabytes < 600


def test_after_a_query_that_was_too_large_others_are_answered(database):
    for size in ("4e8", "5e8"):
        with pytest.raises(StoreError, match="larger than 64 MB"):
            count_of(database, f"select hex(zeroblob({size}))")
    assert count_of(database, "select * from post") == 100


def test_a_query_that_is_not_unicode_is_refused_in_a_sentence(database):
    child = socialcrawl("sql", "--db", database, b"select '\xff'".decode(errors="surrogateescape"))
    assert (child.returncode, "not valid UTF-8" in child.stderr) == (1, True)


def answer_of(place, query, role=None, warn=None, **more):
    with run_query(
        place if role is None else as_role(place, role), query, 20.0, time.monotonic, warn=warn, **more
    ) as found:
        return list(found.rows)


POWERS = [
    ("superuser", (), "it is a superuser, so a query could read and write files of the server"),
    ("replication", (), "it has the attribute REPLICATION, so a query could leave a replication slot"),
    ("", ["pg_read_server_files"], "it is a member of pg_read_server_files, so a query could read files"),
    ("noinherit", ["pg_write_server_files"], "it is a member of pg_write_server_files, so a query could write files"),
    ("", ["pg_execute_server_program"], "it is a member of pg_execute_server_program, so a query could run programs"),
    ("noinherit", ["postgres"], "it is a member of postgres, which is a superuser, so a query could"),
]


@pytest.mark.parametrize(("attributes", "grants", "reason"), POWERS)
def test_a_role_that_can_do_harm_outside_of_the_tables_is_refused_unless_it_is_allowed(attributes, grants, reason):
    with a_role(attributes, grants=grants) as role, a_server_database() as server:
        with pytest.raises(StoreError) as refused:
            answer_of(server, "select 1", role)
        assert f"was refused for the role {role}: {reason}" in str(refused.value)
        assert "--allow-superuser" in str(refused.value)
        assert answer_of(server, "select 1", role, allow_superuser=True) == [(1,)]


def test_what_is_refused_is_what_reads_files_and_leaves_slots_behind():
    with a_server_database() as server:
        for query in ("select pg_read_file('PG_VERSION')", "select pg_create_physical_replication_slot('left')"):
            with pytest.raises(StoreError, match="is a superuser"):
                answer_of(server, query)
        slots = "select count(*) from pg_replication_slots"
        assert answer_of(server, slots, allow_superuser=True) == [(0,)]
        ((version,),) = answer_of(server, "select pg_read_file('PG_VERSION')", allow_superuser=True)
        assert int(version) >= 12


def test_the_sql_in_the_refusal_makes_a_role_that_reads_all_tables_and_nothing_else():
    with a_server_database() as server:
        with pytest.raises(StoreError) as refused:
            answer_of(server, "select 1")
        statements = [line for line in str(refused.value).splitlines() if line.endswith(";")]
        assert [line.split()[0] for line in statements] == ["CREATE", "GRANT", "GRANT", "GRANT", "ALTER"]
        with psycopg.connect(server.url, autocommit=True) as raw:
            for statement in statements:
                raw.execute(statement)
            raw.execute("create table later (x int)")
        warned = []
        for table in (*metadata.tables, "later"):
            assert answer_of(server, f"select count(*) from {table}", "socialcrawl_reader", warned.append) == [(0,)]
        assert warned == []
        for query in ("select pg_read_file('PG_VERSION')", "select pg_create_physical_replication_slot('left')"):
            with pytest.raises(StoreError, match=r"permission|superuser|replication"):
                answer_of(server, query, "socialcrawl_reader")
    ask("drop role socialcrawl_reader")


def test_a_role_that_may_write_is_told_so_and_answered():
    with a_role() as role, a_server_database() as server, psycopg.connect(server.url, autocommit=True) as raw:
        raw.execute(f"grant usage on schema public to {role}")
        raw.execute(f"grant select on all tables in schema public to {role}")
        warned = []
        assert answer_of(server, "select count(*) from post", role, warned.append) == [(0,)]
        assert warned == []
        raw.execute(f"grant delete on post, pick to {role}")
        raw.execute(f"alter table account owner to {role}")
        assert answer_of(server, "select count(*) from post", role, warned.append) == [(0,)]
        (line,) = warned
        assert line.startswith(f"warning: the role {role} may change 3 of {len(metadata.tables) + 1} tables")
        raw.execute(f"alter table account owner to postgres; drop owned by {role}")


def test_the_command_refuses_a_superuser_and_warns_on_stderr_when_it_is_allowed():
    with a_server_database() as server:
        refused = socialcrawl("sql", "select 7 as c", "--db", server.url, "--format", "csv")
        assert (refused.returncode, refused.stdout, "CREATE ROLE" in refused.stderr) == (1, "", True)
        words = ("sql", "select 7 as c", "--db", server.url, "--format", "csv", "--allow-superuser")
        allowed = socialcrawl(*words)
        assert (allowed.returncode, allowed.stdout) == (0, "c\n7\n")
        assert "may change" in allowed.stderr
