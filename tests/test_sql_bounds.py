"""What one query may take: memory on SQLite, and the rights of the role that asks on PostgreSQL."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from commands import COMMAND, ENVIRONMENT, socialcrawl

from socialcrawl.errors import StoreError
from socialcrawl.store.readonly import asked


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A small file of SQLite that no campaign wrote: the bounds are those of the query."""
    path = tmp_path_factory.mktemp("bounds") / "a.db"
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("create table post (id text, text text)")
        raw.executemany("insert into post values (?, ?)", [(str(i), "a post") for i in range(100)])
    return path


def peak(*words, program=COMMAND):
    """(the exit code, what was said on stderr, peak resident MB as the kernel counts it) of one command."""
    child = subprocess.Popen([*program, *map(str, words)], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=-1)
    said = child.stderr.read().decode()
    child.stderr.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, said, usage.ru_maxrss // 1024


def count_of(database, query):
    with asked(Path(database), query, 20.0, time.monotonic) as (_, rows):
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
    with asked(database, "select hex(zeroblob(3e7)) as h", 20.0, time.monotonic) as (_, rows):
        ((text,),) = rows
    assert text == "00" * 30_000_000


def test_many_large_rows_are_fetched_a_few_at_a_time(database):
    reading = (
        "import sys, time; from pathlib import Path; from socialcrawl.store.readonly import asked\n"
        "with asked(Path(sys.argv[1]), 'select zeroblob(2e7) from post', 60.0, time.monotonic) as (_, rows):\n"
        "    assert sum(len(blob) for (blob,) in rows) == 100 * 20_000_000"  # 2 GB: the file has 100 rows
    )
    code, said, megabytes = peak("-c", reading, database, program=[sys.executable])
    assert (code, said) == (0, "")
    assert megabytes < 400


def test_after_a_query_that_was_too_large_others_are_answered(database):
    for size in ("4e8", "5e8"):
        with pytest.raises(StoreError, match="larger than 64 MB"):
            count_of(database, f"select hex(zeroblob({size}))")
    assert count_of(database, "select * from post") == 100


def test_a_query_that_is_not_unicode_is_refused_in_a_sentence(database):
    child = socialcrawl("sql", "--db", database, b"select '\xff'".decode(errors="surrogateescape"))
    assert (child.returncode, "not valid UTF-8" in child.stderr) == (1, True)
