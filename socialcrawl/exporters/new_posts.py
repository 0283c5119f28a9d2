"""What a dataset lacks of the posts in the database, and whether what it has may have changed since."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from sqlalchemy import Column, Index, MetaData, Table, Text, delete, func, select, text, update

from socialcrawl.errors import StoreError
from socialcrawl.exporters.selection import (
    EVERYONE,
    GONE,
    SOME,
    ExportSelection,
    LedgerPosition,
    accounts,
    analyze_tables,
    fill_posts,
    places,
    posts,
)
from socialcrawl.storage.database.bulk import make_insert
from socialcrawl.storage.schema.tables import epoch, post, request, tombstone

_metadata = MetaData()
candidates = Table(
    "export_candidate",
    _metadata,
    Column("id", Text, primary_key=True),
    Column("period", Text, nullable=False),
    Index(None, "period", "id"),
    prefixes=["temporary"],
)
PERIOD = re.compile(r"\d{4}(-\d\d){0,2}")
REACHED = """
insert into export_account select node from account where node in (
  select node from pick where campaign = :campaign union select node from link where campaign = :campaign)
on conflict do nothing
"""
UNMENTIONED = """
delete from export_place where not exists (
  select 1 from mention m where m.post = export_place.post and m.node = export_place.node)
"""
PLACE = ("post", "node", "position")
FORGOTTEN = "delete from export_account where node in (select node from account where forgotten_at is not null)"


def find_position(choice: ExportSelection) -> dict[str, Any]:
    """Return up to where a choice has what is in the database, as values of JSON.

    `last` and `unanswered` are a `LedgerPosition`. `erased` and `epochs` change whenever something that was exported
    may have changed: the number of tombstones and the time of the newest, and the epoch of each campaign.
    """
    run, mine = choice.reader.execute, request.c.campaign.in_(choice.numbers)
    waiting = select(request.c.id).where(mine, request.c.arrived_at.is_(None)).order_by(request.c.id)
    erased = run(select(func.count(), func.max(tombstone.c.at)).select_from(tombstone)).one()
    newest = select(epoch.c.campaign, func.max(epoch.c.number)).where(epoch.c.campaign.in_(choice.numbers))
    return {
        "last": run(select(func.max(request.c.id)).where(mine)).scalar() or 0,
        "unanswered": list(run(waiting).scalars()),
        "erased": list(erased),
        "epochs": {str(row[0]): row[1] for row in run(newest.group_by(epoch.c.campaign))},
    }


def has_changed(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return whether posts that were exported at one position may be others at a later one.

    Raises:
        StoreError: it is an earlier one.
    """
    if now["last"] < before["last"]:
        raise StoreError(
            "The database has fewer requests than when the dataset was last written, as an older backup has: write all "
            "of the dataset again, with --force and without --since-last."
        )
    epochs = before["epochs"]
    return before["erased"] != now["erased"] or any(now["epochs"].get(key) != epochs[key] for key in epochs)


def fill_candidates(choice: ExportSelection, before: dict[str, Any] | None, length: int, *, changed: bool) -> list[str]:
    """Note the posts that may be new since a position, by their period; return the periods, oldest first.

    Args:
        choice: what is chosen; its table `places` is filled, too.
        before: the position; None: nothing was exported yet.
        length: how many characters of the time a post was written name its period; "" if that time is not known.
        changed: see `has_changed`.
    """
    run = choice.reader.execute
    since = None if before is None or changed else LedgerPosition(before["last"], tuple(before["unanswered"]))
    _clear_tables(choice)
    fill_posts(choice, since)
    analyze_tables(choice)
    _metadata.create_all(choice.reader, checkfirst=False)
    period = func.coalesce(func.substr(post.c.created_at, 1, length), "")
    given = select(post.c.id, period).join(posts, posts.c.id == post.c.id)
    run(candidates.insert().from_select(["id", "period"], given))
    periods = list(run(select(candidates.c.period).distinct()).scalars())
    if odd := [name for name in periods if name and not (len(name) == length and PERIOD.fullmatch(name))]:
        run(update(candidates).where(candidates.c.period.in_(odd)).values(period=""))
    return sorted({"" if name in odd else name for name in periods})


def read_candidates(choice: ExportSelection, period: str, known: Container[str], most: int) -> Iterator[list[str]]:
    """Yield the ids of the candidates of a period without those that are known, at most so many at a time."""
    query = select(candidates.c.id).where(candidates.c.period == period)
    found: list[str] = []
    for (key,) in choice.reader.execute(query).all():
        if key not in known:
            found.append(key)
            if len(found) == most:
                yield found
                found = []
    if found:
        yield found


def choose_posts(choice: ExportSelection, keys: Iterable[str], known: Iterable[tuple[Any, ...]] | None = None) -> None:
    """Choose these posts and no others, as far as they are in the database.

    Args:
        choice: what to fill.
        keys: their ids.
        known: the places of mentions in them, as (post, node, place or None); None: `places` has them.
    """
    choice.reader.execute(delete(posts))
    _insert(choice, posts, ("id", "asked"), ((key, 1) for key in keys))
    choice.reader.execute(text(GONE))
    if known is not None:
        choice.reader.execute(delete(places))
        _insert(choice, places, PLACE, (row for row in known if row[2] is not None))
        if choice.reader.execute(text(UNMENTIONED)).rowcount:
            _number_places(choice)
    analyze_tables(choice)


def choose_accounts(choice: ExportSelection, nodes: Iterable[int]) -> None:
    """Choose the accounts of a dataset: these nodes and what the campaign picked or linked to; or everybody."""
    run = choice.reader.execute
    run(delete(accounts))
    if choice.whole:
        run(text(EVERYONE))
    else:
        _insert(choice, accounts, ("node",), ((node,) for node in nodes))
        run(text(REACHED), {"campaign": choice.numbers[0]})
        run(text(FORGOTTEN))
    analyze_tables(choice)


def _number_places(choice: ExportSelection) -> None:
    """Give the mentions that are left in each post places from 0."""
    columns = places.c.post, places.c.node
    rows = choice.reader.execute(select(*columns).order_by(places.c.post, places.c.position)).all()
    choice.reader.execute(delete(places))
    groups = (enumerate(group) for _, group in groupby(rows, itemgetter(0)))
    _insert(choice, places, PLACE, ((post, node, number) for group in groups for number, (post, node) in group))


def _clear_tables(choice: ExportSelection) -> None:
    for table in (posts, places):
        choice.reader.execute(delete(table))


def _insert(choice: ExportSelection, table: Table, names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    keep = make_insert(choice.reader, table, names, "ignore")
    left = iter(rows)
    while some := list(islice(left, SOME)):
        keep.run(some)
