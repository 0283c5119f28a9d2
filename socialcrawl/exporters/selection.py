"""What an export takes: a view of the database that stands still, and the posts and accounts that belong to it.

The reader is a transaction of its own that neither waits for a campaign that is running nor lets it wait.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    create_engine,
    event,
    func,
    select,
    text,
)

from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.crawls.registry import find_kind
from socialcrawl.engine.model import ANSWERED, ReplyKind
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.answer_packing import parse_page
from socialcrawl.storage.database import address
from socialcrawl.storage.database.bulk import make_insert
from socialcrawl.storage.database.connection import make_server_engine
from socialcrawl.storage.queries.summary import list_campaigns
from socialcrawl.storage.schema.tables import request

Pairs = list[tuple[int, int]]
SOME = 2_000  # rows that are read, worked on and written together

_metadata = MetaData()
posts = Table(
    "export_post",
    _metadata,
    Column("id", Text, primary_key=True),
    Column("asked", Integer, nullable=False),
    prefixes=["temporary"],
)
places = Table(
    "export_place",
    _metadata,
    Column("post", Text, primary_key=True),
    Column("node", BigInteger, primary_key=True, autoincrement=False),
    Column("position", Integer, nullable=False),
    prefixes=["temporary"],
)
accounts = Table(
    "export_account",
    _metadata,
    Column("node", BigInteger, primary_key=True, autoincrement=False),
    prefixes=["temporary"],
)

IMPORTED = """
insert into export_post select p.id, 0 from post p join pick k on k.node = p.author
where k.campaign = :campaign and k.act in ('import', 'captured') on conflict do nothing
"""
HITS = "insert into export_post select post, 0 from hit where campaign = :campaign on conflict do nothing"
WANTED = "select 1 from wanted_post where campaign = :campaign limit 1"
GONE = "delete from export_post where not exists (select 1 from post where post.id = export_post.id)"
EVERY_POST = "insert into export_post select id, 0 from post where true on conflict do nothing"
EVERYONE = "insert into export_account select node from account where forgotten_at is null"
# Of a campaign that refreshes an old dataset: the accounts found active, and no others.
DEAD = """
delete from export_account where node not in (
  select l.node from liveness l join campaign c on c.name = l.campaign where c.id = :campaign and l.active = 1)
"""
SILENT = """
delete from export_post where id in (select p.id from post p where p.author not in (select node from export_account))
"""
KIND = "select identity from campaign where id = :campaign"
PEOPLE = """
insert into export_account select a.node from account a where a.forgotten_at is null and a.node in (
  select node from pick where campaign = :campaign
  union select node from link where campaign = :campaign
  union select p.author from post p join export_post e on e.id = p.id
  union select m.node from mention m join export_post e on e.id = m.post)
"""


class LedgerPosition(NamedTuple):
    """A moment of the ledger: the last request.id, and those up to it that had no answer then."""

    last: int
    unanswered: tuple[int, ...]


@dataclass(frozen=True)
class ExportSelection:
    """What is exported: (id, name) of campaigns, oldest first; `whole`: everything there is in the database.

    `active`: of a campaign that refreshes an old dataset only accounts found active, and links between them.

    `reader` is a connection in a transaction that stands still. Its temporary tables `posts` (`asked`: 1 for those that
    a request brought, by the ledger, else 0), `accounts` and `places` (of each mention in its post, from 0, where the
    ledger knows it) hold what was chosen.
    """

    reader: Connection
    campaigns: list[tuple[int, str]]
    whole: bool = False
    active: bool = False

    @property
    def numbers(self) -> list[int]:
        """The campaign.ids."""
        return [number for number, _ in self.campaigns]

    @property
    def name(self) -> str | None:
        """The campaign's name; None for everything."""
        return None if self.whole else self.campaigns[0][1]

    @property
    def refreshes(self) -> bool:
        """Whether it is one campaign that refreshes an old dataset: that is its network."""
        if self.whole:
            return False
        (row,) = self.read_rows(KIND, campaign=self.numbers[0])
        return find_kind(orjson.loads(row.identity).get("kind", DEFAULT.name)).dataset

    def order_by_text(self, column: Any) -> Any:
        """Return a column of text in the order of its code points, whatever the database's language."""
        return column.collate("C") if self.reader.dialect.name == "postgresql" else column

    def order_by_id(self, column: Any) -> tuple[Any, Any]:
        """Return the order of ids of posts: for numbers, that of time."""
        return func.length(column), self.order_by_text(column)

    def stream(self, query: Select[Any], **values: Any) -> Iterator[Any]:
        """Return the rows of a query, some at a time."""
        return iter(self.reader.execute(query.execution_options(yield_per=SOME), values))

    def read_rows(self, sql: str, **values: Any) -> Sequence[Any]:
        """Return the rows of a small question in SQL."""
        return self.reader.execute(text(sql), values).all()


@contextmanager
def open_selection(
    connection: Connection,
    name: str | None = None,
    *,
    whole: bool = False,
    active: bool = False,
    filled: bool = True,
) -> Iterator[ExportSelection]:
    """Open what belongs to the campaign `name`, or to the newest; or, with `whole`, everything.

    Args:
        connection: the database.
        name: of the campaign.
        whole: whether everything is chosen.
        active: whether only those are that the campaign has found active.
        filled: whether the temporary tables are; else they are empty.

    Raises:
        StoreError: there is no such campaign; the message names those there are.
        SettingsError: it tests no accounts.
    """
    engine = _make_engine(connection)
    try:
        with engine.connect() as reader, reader.begin():
            choice = ExportSelection(reader, _find_campaigns(connection, name, whole=whole), whole, active)
            if active and not choice.refreshes:
                raise SettingsError(f"The campaign {choice.name!r} tests no accounts: remove --only-active.")
            _metadata.create_all(reader, checkfirst=False)
            if filled:
                _fill_tables(choice)
            yield choice
    finally:
        engine.dispose()


def _make_engine(connection: Connection) -> Engine:
    """Return an engine whose transactions see the database as it was when they began, and hold up nobody."""
    where = address.find_address(connection)
    if not isinstance(where, Path):
        return make_server_engine(where, "-c timezone=UTC").execution_options(isolation_level="REPEATABLE READ")
    made = create_engine(URL.create("sqlite", database=str(where)), connect_args={"timeout": 120.0})

    @event.listens_for(made, "connect")
    def prepare(raw: Any, _: Any) -> None:
        raw.isolation_level = None

    @event.listens_for(made, "begin")
    def begin(reader: Connection) -> None:
        reader.exec_driver_sql("begin")

    return made


def _find_campaigns(connection: Connection, name: str | None, *, whole: bool) -> list[tuple[int, str]]:
    known = list_campaigns(connection)
    if whole:
        return known
    if not known and name is None:
        raise StoreError("There is no campaign in this database yet: --all exports everything that is in it.")
    chosen = [pair for pair in known if name is None or pair[1] == name]
    if not chosen:
        names = ", ".join(pair[1] for pair in known) or "none yet"
        raise StoreError(f"There is no campaign {name!r} in this database; there are: {names}.")
    return chosen[-1:]


def _fill_tables(choice: ExportSelection) -> None:
    run = choice.reader.execute
    fill_posts(choice)
    if choice.whole:
        run(text(EVERYONE))
    else:
        (number,) = choice.numbers
        run(text(PEOPLE), {"campaign": number})
        if choice.active:
            run(text(DEAD), {"campaign": number})
            run(text(SILENT))
    analyze_tables(choice)


def analyze_tables(choice: ExportSelection) -> None:
    """Tell PostgreSQL what is in the temporary tables: its planner takes a new one for a small one."""
    if choice.reader.dialect.name == "postgresql":
        for table in _metadata.sorted_tables:
            choice.reader.execute(text(f"analyze {table.name}"))


def fill_posts(choice: ExportSelection, since: LedgerPosition | None = None) -> None:
    """Fill `posts` with the posts that belong to a choice, and `places` with the order in which each names people.

    Args:
        choice: what is chosen.
        since: only posts are needed that no page before it brought; others may be among them.
    """
    run = choice.reader.execute
    _read_places(choice, since)
    if choice.whole:
        run(text(EVERY_POST))
    else:
        (number,) = choice.numbers
        run(text(IMPORTED), {"campaign": number})
        # Of a campaign that asks for posts by id, some matches were stored before and are on no page.
        if since is None or run(text(WANTED), {"campaign": number}).first():
            run(text(HITS), {"campaign": number})
    run(text(GONE))


def _read_places(choice: ExportSelection, since: LedgerPosition | None) -> None:
    keep = make_insert(choice.reader, posts, ("id", "asked"), "ignore")
    place = make_insert(choice.reader, places, ("post", "node", "position"), "ignore")
    for chunk in read_pages(choice, since):
        keep.run([(key, 1) for _, ids, _ in chunk for key in ids])
        place.run([found for _, ids, pairs in chunk for found in _iterate_places(ids, pairs)])


def read_pages(
    choice: ExportSelection, since: LedgerPosition | None = None
) -> Iterator[list[tuple[Any, list[str], Pairs]]]:
    """Yield the requests that brought posts, oldest first, in parts: (row, ids of the posts, `StoredPage.pairs`).

    `since`: only those whose answers were not there at that position.
    """
    columns = (request.c.id, request.c.kind, request.c.digest, request.c.post_ids, request.c.nodes)
    ours = select(*columns).where(request.c.campaign.in_(choice.numbers))
    if since is not None:
        ours = ours.where((request.c.id > since.last) | request.c.id.in_(since.unanswered))
    came = ours.where(request.c.post_ids.is_not(None) | (request.c.kind == ReplyKind.HELD)).order_by(request.c.id)
    for rows in choice.reader.execute(came.execution_options(yield_per=200)).partitions(200):
        yield [(row, *read_page(choice, row)) for row in rows]


def read_page(choice: ExportSelection, row: Any) -> tuple[list[str], Pairs]:
    """Return the ids of the posts that a request brought and `StoredPage.pairs`; of one held, from where it came."""
    found = row
    if row.kind == ReplyKind.HELD and row.nodes is None and row.digest is not None:
        same = select(request.c.post_ids, request.c.nodes).where(
            request.c.digest == row.digest, request.c.id < row.id, request.c.kind.in_(ANSWERED)
        )
        newest = same.order_by(request.c.arrived_at.desc(), request.c.id.desc()).limit(1)
        found = choice.reader.execute(newest).one_or_none()
    page = None if found is None else parse_page(found)
    return (orjson.loads((found and found.post_ids) or "[]"), []) if page is None else (page.ids, page.pairs)


def _iterate_places(ids: list[str], pairs: Pairs) -> Iterator[tuple[str, int, int]]:
    count: dict[int, int] = {}
    for place, node in pairs:
        if place < len(ids):
            yield ids[place], node, count.get(place, 0)
            count[place] = count.get(place, 0) + 1
