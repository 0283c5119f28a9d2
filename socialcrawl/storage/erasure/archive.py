"""Original answers without those that name the forgotten; `naming` says what counts as naming them."""

import zlib
from collections import Counter
from collections.abc import Collection, Iterator

import orjson
from sqlalchemy import Connection, bindparam, delete, select

from socialcrawl.ratelimit.policy import parse_host
from socialcrawl.storage.database.bulk import Statement
from socialcrawl.storage.erasure.dry_run import write_rows
from socialcrawl.storage.erasure.naming import OriginalAnswer, SearchKeys, find_match, find_numbers
from socialcrawl.storage.erasure.rows import read_chunks
from socialcrawl.storage.erasure.targets import ErasureTargets
from socialcrawl.storage.schema.tables import campaign, request, response

CHUNK = 200  # answers read at a time


def find_known_numbers(connection: Connection, gone: ErasureTargets) -> set[tuple[str, str]]:
    """Return the (server, number) by which questions asked about the forgotten; called before those are cleaned."""
    if not gone.facts.federated or connection.execute(select(response.c.request).limit(1)).first() is None:
        return set()
    query = select(request.c.id, request.c.endpoint, request.c.params)
    found: set[tuple[str, str]] = set()
    for rows in read_chunks(connection, query.where(request.c.params.contains('"acct"')), request.c.id):
        for row in rows:
            params, at = orjson.loads(row.params), parse_host(row.endpoint)
            name = str(params.get("acct") or "").lower()
            if "id" in params and not gone.names.keys().isdisjoint((name, f"{name}@{at}")):
                found.add((at, str(params["id"])))
    return found


def remove_answers(
    connection: Connection, gone: ErasureTargets, scrubbed: Collection[str], known: Collection[tuple[str, str]] = ()
) -> Counter[str]:
    """Remove the original answers that name what goes; return how many by the kind of their first match.

    Args:
        connection: the database, in a transaction.
        gone: what goes.
        scrubbed: ids of posts whose places go.
        known: the (server, number) by which the servers of a federated platform know the forgotten.
    """
    posts = frozenset((*gone.posts, *scrubbed))
    sought = SearchKeys(gone.platform, frozenset(gone.ids), frozenset(gone.names), posts, frozenset(known))
    if gone.facts.federated:
        more = {number for _, answer in _read_answers(connection) for number in find_numbers(answer, sought)}
        sought = SearchKeys(gone.platform, sought.ids, sought.names, posts, frozenset({*known, *more}))
    found: dict[int, str] = {}
    for key, answer in _read_answers(connection):
        if (kind := find_match(answer, sought)) is not None:
            found[key] = kind
    removal = Statement(connection, delete(response).where(response.c.request == bindparam("the_key")), ("the_key",))
    write_rows(removal, [(key,) for key in found])
    return Counter(found.values())


def _read_answers(connection: Connection) -> Iterator[tuple[int, OriginalAnswer]]:
    """Yield all original answers, by request.id."""
    query = select(
        response.c.request, response.c.url, response.c.headers, response.c.body, request.c.endpoint, campaign.c.platform
    )
    joined = query.outerjoin(request, request.c.id == response.c.request).outerjoin(
        campaign, campaign.c.id == request.c.campaign
    )
    for rows in read_chunks(connection, joined, response.c.request, CHUNK):
        for row in rows:
            body = zlib.decompress(row.body).decode(errors="replace")
            at = parse_host(row.endpoint) if row.endpoint else ""
            yield row.request, OriginalAnswer(row.url, row.headers, body, row.platform, at or "")
