"""Checks of stored posts by look-ups, as they are stored: rows of `compliance_job` that posts move between.

Column `checked_at` of table `post_check` is the begin of the row that a post is in. The first part of the name of a row
says what that is:

    round        one round of a campaign through all posts: begun, or done. Posts that the platform showed are in it.
    absent       posts that did not come, once: begun, and done when all have left it. They are looked up again later.
    gone         posts that did not come twice: ready, and then as the result of any other job (applied, done).
    unanswered   posts of which an answer, or none, was no evidence: failed. They are looked up again in the next round.

Each function is one transaction, unless it says otherwise.
"""

import secrets
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from sqlalchemy import Connection, exists, func, insert, select, update

from socialcrawl.engine.model import FAILED as FAILED_KINDS
from socialcrawl.engine.model import OF_NOBODY, format_time
from socialcrawl.storage.database.bulk import make_insert, select_by_keys
from socialcrawl.storage.database.connection import read_unlocked
from socialcrawl.storage.database.trouble import convert_errors
from socialcrawl.storage.schema.tables import account, campaign, compliance_job, post, post_check, request
from socialcrawl.storage.stored_checks import (
    APPLIED,
    BEGUN,
    DONE,
    FAILED,
    POSTS,
    READY,
    StoredJob,
    find_free_instant,
    make_job,
    select_jobs,
)

ROUND, ABSENT, GONE, UNANSWERED = "round", "absent", "gone", "unanswered"
STATUSES = {ROUND: BEGUN, ABSENT: BEGUN, GONE: READY, UNANSWERED: FAILED}  # with which a row begins
ROWS_AT_ONCE = 10_000
WITNESSES_ALONE = '{"posts":"0"}'  # request.params of a look-up for no post that is due
COLUMNS = (post.c.id, post.c.repost_of, post.c.created_at, post.c.fetched_at, post_check.c.checked_at)


class StoredPost(NamedTuple):
    """A post, when it was written and fetched, and when it was last looked up: its row's begin; None: never."""

    id: str
    repost_of: str | None
    created: str | None
    fetched: str
    checked: str | None


class RowStart(NamedTuple):
    """What a row begins with: whose it is (campaign.id), the begin of the round, and now (Unix seconds)."""

    campaign: int
    role: str
    since: float
    now: float


def find_round(connection: Connection, platform: str, name: str) -> StoredJob | None:
    """Return the latest round of a campaign, by its name; None: there was none."""
    query = _select_rows(platform, ROUND).where(campaign.c.name == name)
    with convert_errors(connection), read_unlocked(connection):
        row = connection.execute(query.order_by(compliance_job.c.id.desc()).limit(1)).first()
    return None if row is None else make_job(row)


def list_rounds(connection: Connection, platform: str) -> list[StoredJob]:
    """Return the rounds of all campaigns, oldest first."""
    with convert_errors(connection), read_unlocked(connection):
        rows = connection.execute(_select_rows(platform, ROUND).order_by(compliance_job.c.id)).all()
    return [make_job(row) for row in rows]


def list_rows(connection: Connection, platform: str, role: str) -> list[StoredJob]:
    """Return the rows of a role that have posts to be dealt with, oldest first."""
    query = _select_rows(platform, role).where(compliance_job.c.status.in_((BEGUN, READY, APPLIED)))
    with convert_errors(connection), read_unlocked(connection):
        return [make_job(row) for row in connection.execute(query.order_by(compliance_job.c.id)).all()]


def begin_row(connection: Connection, start: RowStart) -> StoredJob:
    """Return a row that was begun, with no post in it."""
    with convert_errors(connection), connection.begin():
        began = find_free_instant(connection, start.now)
        at, name = format_time(began), f"{start.role}-{secrets.token_hex(8)}"
        ended = at if start.role == UNANSWERED else None
        connection.execute(
            insert(compliance_job).values(
                campaign=start.campaign,
                kind=POSTS,
                name=name,
                status=STATUSES[start.role],
                ids=0,
                last=False,
                since=format_time(start.since),
                began_at=at,
                ended_at=ended,
            )
        )
        platform = select(campaign.c.platform).where(campaign.c.id == start.campaign)
        query = select_jobs(connection.execute(platform).scalar_one()).where(compliance_job.c.name == name)
        return make_job(connection.execute(query).one())


def move_posts(connection: Connection, moves: Sequence[tuple[StoredJob, Sequence[str]]], counted: StoredJob) -> None:
    """Move posts into rows, as far as they are still stored.

    Args:
        connection: the database.
        moves: rows, each with the ids of posts.
        counted: the round, whose number of ids grows by that of the posts that were decided.
    """
    with convert_errors(connection), connection.begin():
        for row, keys in moves:
            found = select_by_keys(connection, select(post.c.id), post.c.id, list(keys))
            values = make_insert(connection, post_check, ("post", "checked_at"), {"checked_at": "new"}, "post")
            values.run([(one.id, format_time(row.began)) for one in found])
            _grow(connection, row, len(found))
            if row.id != counted.id and row.status != FAILED:
                _grow(connection, counted, len(found))


def end_round(connection: Connection, row: StoredJob, now: float) -> None:
    """Note that nothing is left to look up in a round."""
    values = {"status": DONE, "last": True, "ended_at": format_time(now), "removed_posts": 0, "removed_accounts": 0}
    with convert_errors(connection), connection.begin():
        connection.execute(update(compliance_job).where(compliance_job.c.id == row.id).values(values))


def end_empty_rows(connection: Connection, platform: str, now: float) -> None:
    """Note of rows of absent posts that all have left them: they came after all, or are gone."""
    ours = select(campaign.c.id).where(campaign.c.platform == platform)
    within = exists().where(post_check.c.checked_at == compliance_job.c.began_at)
    empty = update(compliance_job).where(
        compliance_job.c.name.startswith(f"{ABSENT}-"),
        compliance_job.c.status == BEGUN,
        compliance_job.c.campaign.in_(ours),
        ~within,
    )
    values = {"status": DONE, "ended_at": format_time(now), "removed_posts": 0, "removed_accounts": 0}
    with convert_errors(connection), connection.begin():
        connection.execute(empty.values(values))


def read_posts(connection: Connection, platform: str) -> Iterator[StoredPost]:
    """Yield all posts of a platform."""
    query = select(*COLUMNS).join(account, account.c.node == post.c.author)
    query = query.outerjoin(post_check, post_check.c.post == post.c.id)
    query = query.where(account.c.platform == platform).execution_options(yield_per=ROWS_AT_ONCE)
    with convert_errors(connection), read_unlocked(connection):
        for row in connection.execute(query):
            yield StoredPost(*row)


def read_row_posts(connection: Connection, row: StoredJob) -> list[StoredPost]:
    """Return the posts that are in a row."""
    query = select(*COLUMNS).join(post_check, post_check.c.post == post.c.id).order_by(post.c.id)
    with convert_errors(connection), read_unlocked(connection):
        found = connection.execute(query.where(post_check.c.checked_at == format_time(row.began))).all()
    return [StoredPost(*one) for one in found]


def count_unanswered(connection: Connection, platform: str, since: float) -> int:
    """Return how many posts were looked up in vain in the round that began then."""
    ours = select(campaign.c.id).where(campaign.c.platform == platform)
    query = select(func.coalesce(func.sum(compliance_job.c.ids), 0)).where(
        compliance_job.c.name.startswith(f"{UNANSWERED}-"),
        compliance_job.c.campaign.in_(ours),
        compliance_job.c.since == format_time(since),
    )
    with convert_errors(connection), read_unlocked(connection):
        return int(connection.execute(query).scalar_one())


def count_failures(connection: Connection, campaign: int, host: str) -> int:
    """Return how many look-ups the server has failed to answer in a row, up to the latest one.

    That it answered about witnesses alone does not end the row.

    Args:
        connection: the database.
        campaign: campaign.id.
        host: with which the endpoints of the server begin; "": there is one server.
    """
    latest = select(func.coalesce(func.max(request.c.id), 0) - ROWS_AT_ONCE).scalar_subquery()
    query = select(request.c.kind, request.c.params).where(
        request.c.id > latest,
        request.c.campaign == campaign,
        request.c.n == OF_NOBODY,
        request.c.endpoint.startswith(f"{host}/", autoescape=True),
        request.c.kind.is_not(None),
    )
    with convert_errors(connection), read_unlocked(connection):
        rows = connection.execute(query.order_by(request.c.id.desc())).all()
    counted = (one.kind in FAILED_KINDS for one in rows if one.kind in FAILED_KINDS or one.params != WITNESSES_ALONE)
    return sum(takewhile(bool, counted))


def _select_rows(platform: str, role: str) -> Any:
    return select_jobs(platform).where(compliance_job.c.name.startswith(f"{role}-"))


def _grow(connection: Connection, row: StoredJob, number: int) -> None:
    grown = update(compliance_job).where(compliance_job.c.id == row.id)
    connection.execute(grown.values(ids=compliance_job.c.ids + number))
