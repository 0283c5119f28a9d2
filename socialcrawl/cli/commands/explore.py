"""`socialcrawl explore`: the database in a browser, by Datasette, read-only and on this machine only."""

import gc
import signal
import socket
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from socialcrawl.cli.browser import open_browser
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.system.host_names import AllowedHosts, HostGuard
from socialcrawl.text.terminal import write_error

HOST = "127.0.0.1"
PLUGIN = "socialcrawl_memory"  # Datasette's name for the hook that bounds its queries
ODD = set("?#%")  # Datasette reads them in the name of a file as those of an address


def explore(
    where: DatabaseAddress, port: int, seconds: float, *, browser: bool = True, allow_hosts: Iterable[str] = ()
) -> int:
    """Return the exit code of Datasette, which shows a database until Ctrl-C.

    Args:
        where: the database.
        port: on this machine; 0 takes a free one.
        seconds: how long a query may take.
        browser: whether a browser is opened.
        allow_hosts: names, besides those of this machine alone, by which the pages may be opened; see `AllowedHosts`.

    Raises:
        SettingsError: Datasette is not installed, the port is taken, the database is on a server, or one of
            `allow_hosts` is no host.
        StoreError: there is no such database, or it is not usable.
    """
    if not isinstance(where, Path):
        raise SettingsError(
            f"explore opens SQLite files, and {where} is on a server: query it with `socialcrawl sql` or psql, or "
            "write files with `socialcrawl export`."
        )
    allowed = AllowedHosts.of(allow_hosts, listening=HOST)
    try:
        datasette = import_module("datasette.app")  # an extra
    except ModuleNotFoundError as error:
        raise SettingsError("explore needs Datasette: pip install 'socialcrawl[explore]'.") from error
    _upgrade(where)
    _bound_memory()
    port = _reserve_port(port)
    path = where.resolve()
    shown = datasette.Datasette([str(path)], metadata=make_metadata(path.stem), settings=_make_settings(seconds))
    url = f"http://{HOST}:{port}/"
    write_error(f"{where} is at {url} until you press Ctrl-C; nothing can be changed there")
    if browser:
        open_browser(url, HOST, port)
    _serve(shown, allowed, port)
    _tidy_up(where)
    return 0


def _bound_memory() -> None:
    """Bound the memory of all queries in this process, as `socialcrawl sql` does."""
    from socialcrawl.storage.database.readonly import bound_memory  # noqa: PLC0415

    class Bounds:  # registered as it is: Datasette wants the name of each plugin
        @staticmethod
        @import_module("datasette").hookimpl  # type: ignore[untyped-decorator, unused-ignore]
        def prepare_connection(conn: Any) -> None:
            bound_memory(conn)

    plugins = import_module("datasette.plugins").pm
    if not plugins.has_plugin(PLUGIN):
        plugins.register(Bounds, PLUGIN)


def make_metadata(name: str) -> dict[str, Any]:
    """Return what Datasette shows beside the data of the database `name`: what tables, views and columns are.

    Questions.
    """
    from socialcrawl.storage.post_search.index import TABLES  # noqa: PLC0415
    from socialcrawl.storage.schema.questions import QUESTIONS  # noqa: PLC0415
    from socialcrawl.storage.schema.tables import metadata as schema  # noqa: PLC0415
    from socialcrawl.storage.schema.views import VIEWS  # noqa: PLC0415

    tables: dict[str, Any] = {
        table.name: {
            "description": table.comment,
            "columns": {column.name: column.comment for column in table.columns},
        }
        for table in schema.tables.values()
    }
    tables |= {view.name: {"description": view.comment, "columns": dict(view.columns)} for view in VIEWS}
    tables |= {name: {"hidden": True} for name in ("alembic_version", *TABLES)}
    asked = {q.name: {"title": q.words, "sql": q.sql, "description": q.note} for q in QUESTIONS}
    shown = {
        f"view_{view.name}": {
            "title": f"{view.name}: {view.comment}",
            "sql": f"select * from {view.name} where campaign = :campaign or :campaign = '' limit 1000",  # noqa: S608  (our own names)
        }
        for view in VIEWS
    }
    about = "One row a campaign is in the table campaign; most questions begin with a view."
    database = {"description": about, "tables": tables, "queries": asked | shown}
    return {"title": "socialcrawl", "databases": {name: database}}


def _make_settings(seconds: float) -> dict[str, object]:
    limit = max(1, int(1000 * seconds))
    return {
        "sql_time_limit_ms": limit,
        "suggest_facets": "off",  # they scan whole tables, unasked
        "allow_download": "off",
        "facet_time_limit_ms": min(limit, 1000),
    }


def _serve(shown: Any, allowed: AllowedHosts, port: int) -> None:
    """Serve until somebody interrupts, and let go of the database."""
    import uvicorn  # noqa: PLC0415

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.run(HostGuard(shown.app(), allowed), host=HOST, port=port, log_level="warning")
    finally:
        for database in shown.databases.values():
            database.close()


def _upgrade(where: Path) -> None:
    """Bring the database to the newest schema, so that it has the views."""
    from socialcrawl.storage.database.filetypes import require_database  # noqa: PLC0415
    from socialcrawl.storage.database.health import open_readable  # noqa: PLC0415

    require_database(where)
    if ODD & set(str(where.resolve())):
        raise SettingsError(f"Datasette cannot open {where}, for its ?, # or %: copy the database to another name.")
    with open_readable(where):
        pass


def _tidy_up(where: Path) -> None:
    """Remove what SQLite made beside the database to read it: Datasette's connections may not; ours, the last, does."""
    from socialcrawl.storage.database.readonly import run_query  # noqa: PLC0415

    gc.collect()  # the traceback of a query that failed keeps its connection open
    with suppress(StoreError), run_query(where, "select count(*) from campaign", 5.0, time.monotonic) as found:
        list(found.rows)


def _reserve_port(port: int) -> int:
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise SettingsError(
                f"Port {port} cannot be used ({error.strerror}): choose another with --port."
            ) from error
        return int(probe.getsockname()[1])
