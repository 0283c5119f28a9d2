"""Retention in small transactions, so that campaigns go on meanwhile: each erases what a few pages brought.

The ledger is read once, in the order of its requests. A post goes with the first page that has it; later pages that
have it are cleaned when they are reached, which its tombstone tells. So no step has to look through everything.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any

import orjson
from sqlalchemy import Connection, func, select

from socialcrawl.storage.database.bulk import select_by_keys
from socialcrawl.storage.database.connection import read_unlocked
from socialcrawl.storage.database.trouble import convert_errors
from socialcrawl.storage.erasure import rows, targets, tombstones
from socialcrawl.storage.erasure.execution import prepare
from socialcrawl.storage.erasure.forgetting import ErasureReport, erase_rows
from socialcrawl.storage.erasure.ledger import Key, find_copying_picks
from socialcrawl.storage.erasure.targets import ErasureReason
from socialcrawl.storage.schema.tables import account, campaign, outcome, post, request, response
from socialcrawl.storage.versions import RUNNING

PAGES = 20
"""Requests whose posts are looked at together."""
ROWS = 1_000
"""Posts, profiles or original answers that are erased in a transaction, where no request brought them."""
LOOKED = 50_000  # rows looked through at once
Posts = dict[str, ErasureReason]


def retain_while_running(
    connection: Connection,
    before: str,
    now: str,
    rest: Callable[[float], None],
    watch: Callable[[int], None] = lambda posts: None,
) -> ErasureReport:
    """Forget all that was fetched before an instant, in small transactions, while campaigns may run.

    If it is interrupted, what was done stays done, and the next call does the rest. Older copies of changed pages may
    remain in the file until an erasure runs alone (`execution.erase`).

    Args:
        connection: the database, without a transaction.
        before: the instant, ISO 8601 as the database writes it.
        now: the present instant.
        rest: waits so many seconds after each transaction, as long as it took: others take their turn meanwhile.
        watch: told how many posts were erased.

    Raises:
        StoreError: the database cannot be written.
    """
    counts: Counter[str] = Counter()
    with convert_errors(connection):
        _retain(connection, before, now, rest, watch, counts=counts)
    return ErasureReport(dict(counts))


def _retain(
    connection: Connection,
    before: str,
    now: str,
    rest: Callable[[float], None],
    watch: Callable[[int], None],
    *,
    counts: Counter[str],
) -> None:
    prepare(connection)

    def commit(work: Callable[[], Mapping[str, int]]) -> None:
        begin = monotonic()
        with connection.begin():
            counts.update(work())
        watch(counts["post"])
        rest(monotonic() - begin)

    def erase(posts: Posts, picks: set[Key]) -> None:
        if not posts:
            return

        def work() -> dict[str, int]:
            targets.create_key_tables(connection)
            return erase_rows(connection, targets.list_posts(connection, posts), now, RUNNING, picks=picks)

        commit(work)

    unanswered = _find_unanswered(connection)
    _erase_pages(connection, before, 0, erase)
    for keys in _walk(connection, post.c.id, post.c.fetched_at, before):
        erase(*_find_posts(connection, keys))
    _erase_pages(connection, before, unanswered - 1, erase)  # what came meanwhile may have posts that went since
    for keys in _walk(connection, account.c.node, account.c.profile_at, before):
        commit(partial(_count, "account", rows.empty_profiles, connection, before, keys))
    arrived = select(request.c.arrived_at).where(request.c.id == response.c.request).scalar_subquery()
    for keys in _walk(connection, response.c.request, arrived, before):
        commit(partial(_count, "response", rows.remove_old_answers, connection, before, keys))


def _count(table: str, change: Callable[..., int], *given: Any) -> dict[str, int]:
    return {table: change(*given)}


def _find_unanswered(connection: Connection) -> int:
    """Return the first request.id whose answer is not there yet, or will be the next."""
    with read_unlocked(connection):
        open_ = request.c.arrived_at.is_(None) & request.c.kind.is_(None)
        waiting = connection.execute(select(func.min(request.c.id)).where(open_)).scalar()
        return int(waiting or (connection.execute(select(func.max(request.c.id))).scalar() or 0) + 1)


def _erase_pages(connection: Connection, before: str, last: int, erase: Callable[[Posts, set[Key]], None]) -> None:
    """Erase the older posts of all requests after `last`, and what pages name that went before."""
    columns = (request.c.id, request.c.campaign, request.c.n, request.c.digest, request.c.post_ids)
    query = select(*columns, campaign.c.platform).join(campaign, campaign.c.id == request.c.campaign)
    named = query.where(request.c.post_ids.is_not(None)).order_by(request.c.id).limit(PAGES)
    while True:
        with read_unlocked(connection):
            pages = connection.execute(named.where(request.c.id > last)).all()
            posts, picks = _read_pages(connection, pages, before)
        if not pages:
            return
        last = pages[-1].id
        erase(posts, picks)


def _read_pages(connection: Connection, pages: Sequence[Any], before: str) -> tuple[Posts, set[Key]]:
    """Return the posts of pages that go or have gone, and the picks that may have read them."""
    listed = {row.id: orjson.loads(row.post_ids) for row in pages}
    platforms = {key: row.platform for row in pages for key in listed[row.id]}
    query = select(post.c.id, post.c.author, post.c.fetched_at)
    held = {row.id: row for row in select_by_keys(connection, query, post.c.id, list(platforms))}
    going = {key for key, row in held.items() if row.fetched_at < before}
    for name in sorted(set(platforms.values())):
        absent = [key for key, platform in platforms.items() if platform == name and key not in held]
        going |= tombstones.find_forgotten(connection, name, "post", absent)
    mine = [row for row in pages if not going.isdisjoint(listed[row.id])]
    picks = {(row.campaign, row.n) for row in mine}
    picks |= find_copying_picks(connection, {row.digest for row in mine})
    picks |= _find_picks(connection, {held[key].author for key in going & held.keys()})
    return {key: ErasureReason(platforms[key], tombstones.AGED) for key in sorted(going)}, picks


def _find_posts(connection: Connection, keys: Sequence[str]) -> tuple[Posts, set[Key]]:
    """Return posts by id as `_read_pages` does."""
    query = select(post.c.id, post.c.author, account.c.platform).join(account, account.c.node == post.c.author)
    with read_unlocked(connection):
        found = select_by_keys(connection, query, post.c.id, keys)
        picks = _find_picks(connection, {row.author for row in found})
    return {row.id: ErasureReason(row.platform, tombstones.AGED) for row in found}, picks


def _find_picks(connection: Connection, nodes: set[int]) -> set[Key]:
    """Return the picks that read these accounts: what no page lists is counted by its author."""
    query = select(outcome.c.campaign, outcome.c.n)
    return {(row.campaign, row.n) for row in select_by_keys(connection, query, outcome.c.node, sorted(nodes))}


def _walk(connection: Connection, key: Any, at: Any, before: str) -> Iterator[list[Any]]:
    """Yield the keys of rows whose time lies before an instant, some at a time, in their order."""
    rows, found = list[Any](), list[Any]()
    query = select(key, at).order_by(key).limit(LOOKED)
    while True:
        with read_unlocked(connection):
            rows = list(connection.execute(query.where(key > rows[-1][0]) if rows else query).all())
        found += [name for name, fetched in rows if fetched is not None and fetched < before]
        while len(found) >= ROWS or (found and not rows):
            yield found[:ROWS]
            del found[:ROWS]
        if not rows:
            return
