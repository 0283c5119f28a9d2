"""The errors of a database in words that say what to do. No password is in them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, OperationalError

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import DatabaseAddress, find_address

SAFE = "everything that was stored is safe"


def convert_error(error: DBAPIError | sqlite3.DatabaseError, where: DatabaseAddress | str) -> StoreError:
    """Return the error of the database at `where` as one that says what to do."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    name = type(cause).__module__.split(".", maxsplit=1)[0]
    words = (
        _explain_server_error(cause, where)
        if name == "psycopg"
        else _explain_file_error(str(cause).lower(), cause, where)
    )
    if words is None:
        kind = "operational error" if isinstance(error, OperationalError) else "error"
        words = f"The database {where} reports an {kind}: {_shorten_cause(cause)}. {SAFE.capitalize()}."
    return StoreError(words)


@contextmanager
def convert_errors(connection: Connection) -> Iterator[None]:
    """Convert database errors in a block to errors that say what to do.

    Raises:
        StoreError: in place of the driver's error.
    """
    try:
        yield
    except DBAPIError as error:
        raise convert_error(error, find_address(connection)) from error


def _explain_file_error(text: str, cause: object, path: DatabaseAddress | str) -> str | None:
    if "full" in text or "disk i/o" in text:
        return f"The disk is full or failing: {path} could not be written ({cause}). Make room and run again; {SAFE}."
    if "locked" in text:
        return f"{path} is locked by another program for too long: close it and run again."
    if "not a database" in text or "malformed" in text:
        return f"{path} is not an SQLite database: choose another file, with --db or as database in the campaign file."
    if "unable to open" in text or "readonly" in text or "read-only" in text:
        return f"{path} cannot be written: check the permissions of the file and its folder."
    return None


def _explain_server_error(cause: object, where: DatabaseAddress | str) -> str | None:
    """Explain an error by its SQLSTATE, which has no language; without one, the server was not reached."""
    state, text = getattr(cause, "sqlstate", None), _shorten_cause(cause)
    if state is None or state.startswith(("08", "57P")):
        remedy = _suggest_remedy(text)
        return f"The database {where} cannot be reached, or was lost ({text}): {remedy} Run again then; {SAFE}."
    if state.startswith("53") or state == "58030":
        return f"The server of {where} has no room or resources left ({text}). Make room and run again; {SAFE}."
    if state == "40P01":
        return f"{where} was locked by another program that waited for us: run again; {SAFE}."
    if state == "55P03":
        return f"{where} is locked by another program for too long: close it and run again."
    if state == "25006":
        return f"{where} can only be read: it is a standby, or the transaction is read-only."
    if state == "42501":
        return f"The user of {where} may not do that ({text}): grant it the rights, or name another user."
    if state in ("28P01", "28000"):
        return f"The server of {where} refuses the user ({text}): check the user and PGPASSWORD or ~/.pgpass."
    return None


def _suggest_remedy(text: str) -> str:
    if "does not exist" in text:
        return "make it with createuser, or name another." if "role" in text else "make it with createdb."
    return "is the server running, are host, user and PGPASSWORD right?"


def _shorten_cause(cause: object) -> str:
    return str(cause).strip().splitlines()[0].rstrip(".") if str(cause).strip() else type(cause).__name__
