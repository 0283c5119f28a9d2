"""Posts a second that the store takes in, on both databases, against a bare `executemany` of the same rows."""

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import select

from benchmarks.figure import Figure, sized
from benchmarks.server import a_server
from socialcrawl.engine.model import (
    Grant,
    Mention,
    Page,
    PostRow,
    Reply,
    ReplyKind,
    Request,
    Who,
    format_time,
    parse_time,
)
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.schema.tables import account, charge, hit, mention, post, request
from socialcrawl.storage.sql_store import SqlStore

TITLE = "Storing pages of 100 posts (all columns, a mention each, hits, ledger, day rule): a transaction a page"
PAGES, WARM, ROUNDS = sized(240, 4), sized(20, 1), sized(5, 1)
BEGIN = 1_700_000_000.0
ORDER = (account, request, post, mention, hit, charge)
TEXT = "the mount of this new tent drifts when it is cold outside and the clouds come in from the west, try again"
Rows = dict[str, list[tuple[Any, ...]]]


def measure() -> list[Figure]:
    """Wall time; the store and the bare loop take turns on fresh databases. Median of the rounds."""
    figures = []
    with tempfile.TemporaryDirectory() as folder, a_server() as server:
        for name, least in (("sqlite", 18_000), ("postgresql", 12_000)):
            ours, bare = [], []
            for number in range(ROUNDS):
                places = (_place(name, Path(folder), server, at) for at in (2 * number, 2 * number + 1))
                with next(places) as one, next(places) as two:
                    ours.append(_ours(one))
                    bare.append(_bare(two, _rows(one)))
            a, b = statistics.median(ours), statistics.median(bare)
            figures += [
                Figure(f"{name}: posts a second", f"{100 / a:,.0f}", f"at least {least:,}"),
                Figure(f"{name}: a page, ours", f"{a * 1e3:.2f} ms"),
                Figure(f"{name}: the same rows, bare executemany", f"{b * 1e3:.2f} ms"),
                Figure(f"{name}: ratio", f"{a / b:.2f}", "at most 1.5"),
            ]
    return figures


@contextmanager
def _place(name: str, folder: Path, server: Any, number: int) -> Iterator[DatabaseAddress]:
    if name == "sqlite":
        yield folder / f"{number}.db"
    else:
        with server(f"ingest{number}") as place:
            yield place


def _ours(where: DatabaseAddress) -> float:
    """Seconds a page, reservation included."""
    connection = connect(where)
    number = ensure_campaign(connection, {"name": "a", "seed": 1, "source": {"platform": "x"}}, {}, BEGIN)
    store = SqlStore(connection, number, "x", Tariff(500, 1000))
    pages = [_page(n) for n in range(PAGES)]
    begin = 0.0
    for n, page in enumerate(pages):
        if n == WARM:
            begin = time.perf_counter()
        at = BEGIN + n
        grant = Grant(Request((n, 1), "/2/users/:id/tweets", {"id": str(n)}, 100, 50_000), "main", at)
        store.reserve(grant)
        store.save(grant, Reply(ReplyKind.OK, at + 0.5, page, cost=50_000, status=200, date=at))
    took = (time.perf_counter() - begin) / (PAGES - WARM)
    store.close()
    return took


def _page(n: int) -> Page:
    """One account's page; it mentions accounts of which many have a hundred mentions, most one."""
    draw = random.Random(n)
    rows, mentions = [], []
    for i in range(100):
        key = str(1_600_000_000_000_000_000 + draw.randrange(10**17))
        other = int(200_000 * draw.random() ** 6)
        text = f"@person{other} {TEXT} {i}"
        rows.append(
            PostRow(key, str(10**9 + n), format_time(BEGIN - 60 * i), text, "en", key, None, None, None, '["sky"]',
                    '["https://example.org/a"]', 3, 1, 0, 0, 2, 140, None)
        )  # fmt: skip
        mentions.append(Mention(i, Who(str(2 * 10**9 + other), f"person{other}"), "mention"))
    return Page(rows, [int(i % 5 == 0) for i in range(100)], mentions)


def _rows(where: DatabaseAddress) -> list[Rows]:
    """Yield what the store wrote, page by page."""
    connection = connect(where)
    with connection.begin():
        whole = {table.name: connection.execute(select(table)).all() for table in ORDER}
    connection.close()
    connection.engine.dispose()
    of_post = {row.id: round(_at(row.fetched_at)) for row in whole["post"]}
    pages: list[Rows] = [{table.name: [] for table in ORDER} for _ in range(PAGES)]
    place: dict[str, Callable[[Any], int]] = {
        "account": lambda row: round(_at(row.first_seen_at)),
        "request": lambda row: row.n,
        "post": lambda row: of_post[row.id],
        "mention": lambda row: of_post[row.post],
        "hit": lambda row: of_post[row.post],
        "charge": lambda row: of_post[row.resource],
    }
    for name, rows in whole.items():
        for row in rows:
            pages[place[name](row)][name].append(tuple(row))
    return pages


def _at(text: str) -> float:
    return parse_time(text) - BEGIN - 0.5


def _bare(where: DatabaseAddress, pages: Sequence[Rows]) -> float:
    """Seconds a page of the driver's `executemany`, into the same tables with the same indexes."""
    connection = connect(where)
    ensure_campaign(connection, {"name": "a", "seed": 1, "source": {"platform": "x"}}, {}, BEGIN)
    raw: Any = connection.connection.driver_connection
    mark = "?" if isinstance(where, Path) else "%s"
    statements = {
        table.name: f"insert into {table.name} values ({', '.join([mark] * len(table.columns))})" for table in ORDER
    }
    begin = 0.0
    with closing(raw.cursor()) as cursor:
        for n, rows in enumerate(pages):
            if n == WARM:
                begin = time.perf_counter()
            if isinstance(where, Path):
                cursor.execute("begin immediate")
            for name, statement in statements.items():
                if rows[name]:
                    cursor.executemany(statement, rows[name])
            raw.commit()
    took = (time.perf_counter() - begin) / (PAGES - WARM)
    connection.close()
    connection.engine.dispose()
    return took
