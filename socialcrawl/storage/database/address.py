"""Where a database is: an SQLite file, or a PostgreSQL server by its URL. Nothing here shows a password."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from sqlalchemy import Connection

from socialcrawl.errors import SettingsError

PLAIN = ("host", "port", "dbname", "sslmode", "service")  # parts of a URL's query that may be shown
FORM = "postgresql://USER@HOST/NAME"
UNREAD = (
    "The URL of the database cannot be read: in its user and password write / as %2F, # as %23, ? as %3F, @ as %40, "
    "[ as %5B and % as %25; or leave the password out, and put it into PGPASSWORD or ~/.pgpass."
)
SECRETS = ("password", "sslpassword")
# What libpq would take for a server, and we for a file, whose name would show a password.
LIKE_A_SERVER = re.compile(r"^postgres(ql)?(\+\w+)?:|\b(host|hostaddr|dbname|password|user)\s*=", re.IGNORECASE)
SERVERS = ("postgresql", "postgres", "postgresql+psycopg")


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database of a PostgreSQL server. What its URL leaves out, libpq takes from PGHOST, PGPASSWORD, ~/.pgpass, ...

    `url` may hold a password; `str` and `repr` never show it.
    """

    url: str = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the database."""
        return unquote(urlsplit(self.url).path.lstrip("/")) or "postgres"

    @property
    def secret(self) -> bool:
        """Whether the URL holds a password."""
        parts = urlsplit(self.url)
        return bool(parts.password) or any(key in SECRETS for key, _ in parse_qsl(parts.query))

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        user, at, place = parts.netloc.rpartition("@")
        more = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] in PLAIN], safe="/")
        return f"postgresql://{user.split(':', maxsplit=1)[0]}{at}{place}{parts.path}{'?' if more else ''}{more}"


DatabaseAddress = Path | PostgresAddress


def parse_address(text: str) -> DatabaseAddress:
    """Return the database that `text` names: `postgresql://USER@HOST/NAME`, `sqlite:///FILE`, or a file.

    Raises:
        SettingsError: it is the URL of something else, or none. What may hold a password is not repeated.
    """
    scheme, mark, rest = text.partition("://")
    if not mark:
        if LIKE_A_SERVER.search(text):
            raise SettingsError(f"A database on a server is written as {FORM}; this is not.")
        return Path(text)
    if scheme.lower() == "sqlite" and rest.startswith("/"):
        return Path(rest[1:])
    if scheme.lower() not in SERVERS:
        raise SettingsError(f"A database is a file or {FORM}; what begins with {scheme}:// is neither.")
    return PostgresAddress(f"postgresql://{_strip_scheme(rest)}")


def _strip_scheme(rest: str) -> str:
    """Return the URL without its scheme, if nobody can take a part of it for another one."""
    try:
        parts = urlsplit(f"postgresql://{rest}")
    except ValueError:
        raise SettingsError(UNREAD) from None  # its own words may repeat the URL
    if "#" in rest or any("@" in part for part in (parts.path, parts.query)) or not rest.isprintable():
        raise SettingsError(UNREAD)
    if "," in parts.netloc.rpartition("@")[2]:
        raise SettingsError("The URL of the database names several hosts: name one.")
    try:
        known = parts.port is None or parts.port > 0
    except ValueError:
        known = False
    if not known:
        raise SettingsError(f"The URL of the database has no usable port: write {FORM} or postgresql://HOST:5432/NAME.")
    return rest


def find_address(connection: Connection) -> DatabaseAddress:
    """Return the database that a connection is to."""
    url = connection.engine.url
    if url.get_backend_name() == "sqlite":
        main = "select file from pragma_database_list where name = 'main'"  # readers have no file in their address
        if url.database:
            return Path(url.database)
        cursor = connection.connection.cursor()  # the driver's own: SQLAlchemy would begin a transaction
        return Path(str(cursor.execute(main).fetchone()[0]))
    return PostgresAddress(url.set(drivername="postgresql").render_as_string(hide_password=False))
