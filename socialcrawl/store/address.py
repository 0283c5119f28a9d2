"""Where a database is: an SQLite file, or a PostgreSQL server by its URL. Nothing here shows a password."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from sqlalchemy import Connection

from socialcrawl.errors import SettingsError

PLAIN = ("host", "port", "dbname", "sslmode", "service")  # parts of a URL's query that may be shown
SERVERS = ("postgresql", "postgres", "postgresql+psycopg")


@dataclass(frozen=True, slots=True)
class Server:
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
        return bool(parts.password) or any(key == "password" for key, _ in parse_qsl(parts.query))

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        user, at, place = parts.netloc.rpartition("@")
        more = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] in PLAIN], safe="/")
        return f"postgresql://{user.split(':', maxsplit=1)[0]}{at}{place}{parts.path}{'?' if more else ''}{more}"


Where = Path | Server


def where(text: str) -> Where:
    """The database that `text` names: `postgresql://USER@HOST/NAME`, `sqlite:///FILE`, or a file.

    Raises:
        SettingsError: it is the URL of something else, or none.
    """
    scheme, mark, rest = text.partition("://")
    if not mark:
        return Path(text)
    if scheme == "sqlite" and rest.startswith("/"):
        return Path(rest[1:])
    try:
        known = scheme in SERVERS and (urlsplit(text).port or 1)
    except ValueError:
        known = False
    if not known:
        raise SettingsError(
            f"A database is a file or postgresql://USER@HOST/NAME; what begins with {scheme}:// is neither."
        )
    return Server(f"postgresql://{rest}")


def of(connection: Connection) -> Where:
    """The database that a connection is to."""
    url = connection.engine.url
    if url.get_backend_name() == "sqlite":
        return Path(url.database or "")
    return Server(url.set(drivername="postgresql").render_as_string(hide_password=False))
