"""Checks whether a platform still shows what is stored: their jobs, what each of them checks, and what came of it.

A check goes through all stored posts (or accounts) of a platform in jobs, those first that were checked longest ago.
A job checks what has its begin as `checked_at`, so that its ids are the same again after a crash, and nothing but the
posts and accounts themselves holds them. Each function is one transaction, unless it says otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from socialcrawl.engine.model import format_time, parse_time
from socialcrawl.storage.database.bulk import make_insert, select_by_keys
from socialcrawl.storage.database.connection import read_unlocked
from socialcrawl.storage.database.trouble import convert_errors
from socialcrawl.storage.erasure.orders import ErasureOrder
from socialcrawl.storage.schema.tables import account, account_check, campaign, compliance_job, post, post_check
from socialcrawl.text.wording import pluralize

POSTS, USERS = "posts", "users"
BEGUN, CREATED, UPLOADED, READY, APPLIED, DONE = "begun", "created", "uploaded", "ready", "applied", "done"
FAILED, EXPIRED = "failed", "expired"
OVER = (DONE, FAILED, EXPIRED)


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A row of table `compliance_job`; instants in Unix seconds. `campaign` is the name of that."""

    id: int
    campaign: str
    kind: str
    name: str
    job: str | None
    status: str
    ids: int
    last: bool
    since: float
    began: float
    uploaded: float | None
    looked: float | None
    ended: float | None
    removed_posts: int | None
    removed_accounts: int | None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be done about it."""
        return self.status in OVER


class ComplianceSummary(NamedTuple):
    """The checks of a database: when the last job ended (ISO 8601), and what all of them have removed.

    `running`: the kinds (posts, users) of which a check is under way.
    """

    ended: str | None
    posts: int
    accounts: int
    running: list[str]

    def describe(self) -> str:
        """Return a sentence for people, without a full stop."""
        last = "not checked yet" if self.ended is None else f"last checked at {self.ended[:19]}Z"
        removed = f"{pluralize(self.posts, 'post')} and {pluralize(self.accounts, 'account')} removed so far"
        under_way = f" (a check of {' and '.join(self.running)} is under way)" if self.running else ""
        return f"what the platform no longer shows: {last}, {removed}{under_way}"


def read_latest(connection: Connection, platform: str, kind: str) -> StoredJob | None:
    """Return the latest job of a kind (posts | users) on a platform; None: there was none."""
    with convert_errors(connection), read_unlocked(connection):
        return _find_latest(connection, platform, kind)


class JobStart(NamedTuple):
    """What a job begins with.

    Attributes:
        campaign: campaign.id of the campaign that checks.
        kind: posts | users.
        since: when the check began (Unix seconds): what was checked before is due.
        now: the present instant (Unix seconds); a job that began at the same one makes it a microsecond later.
        most: how many ids it may have.
        name: what the platform is to call it.
    """

    campaign: int
    kind: str
    since: float
    now: float
    most: int
    name: str


def begin_job(connection: Connection, start: JobStart) -> StoredJob | None:
    """Return the next job of a check, begun; None: another one of the kind was begun meanwhile.

    Where nothing is left to check, the job has no ids and is over. Called without a transaction.
    """
    number, kind, since, now, most, name = start
    begin = format_time(since)
    with convert_errors(connection), connection.begin():
        at = format_time(find_free_instant(connection, now))
        platform = connection.execute(select(campaign.c.platform).where(campaign.c.id == number)).scalar_one()
        held = _find_latest(connection, platform, kind)
        if held is not None and not held.is_over:
            return None
        table, key = _find_table(kind)
        keys = connection.execute(_select_due(platform, kind, begin).limit(most)).scalars().all()
        connection.execute(
            insert(compliance_job).values(
                campaign=number,
                kind=kind,
                name=name,
                status=BEGUN if keys else DONE,
                ids=len(keys),
                last=len(keys) < most,
                since=begin,
                began_at=at,
                ended_at=None if keys else at,
                removed_posts=None if keys else 0,
                removed_accounts=None if keys else 0,
            )
        )
        make_insert(connection, table, (key.name, "checked_at"), {"checked_at": "new"}, key.name).run(
            [(one, at) for one in keys]
        )
        return _find_latest(connection, platform, kind)


def read_ids(connection: Connection, job: StoredJob) -> list[str]:
    """Return the platform's ids of what a job checks and is still stored."""
    at = format_time(job.began)
    if job.kind == POSTS:
        query = select(post_check.c.post).where(post_check.c.checked_at == at).order_by(post_check.c.post)
    else:
        query = select(account.c.platform_id).join(account_check, account_check.c.node == account.c.node)
        query = query.where(account_check.c.checked_at == at, account.c.platform_id.is_not(None))
        query = query.order_by(account.c.platform_id)
    with convert_errors(connection), read_unlocked(connection):
        return list(connection.execute(query).scalars())


def note_job(connection: Connection, row: StoredJob, /, **values: Any) -> None:
    """Write what became of a job; instants in Unix seconds. One that failed or expired leaves what it checked due."""
    times = {"uploaded_at", "looked_at", "ended_at"}
    written = {name: format_time(value) if name in times else value for name, value in values.items()}
    with convert_errors(connection), connection.begin():
        connection.execute(update(compliance_job).where(compliance_job.c.id == row.id).values(written))
        if values.get("status") in (FAILED, EXPIRED):
            table, _ = _find_table(row.kind)
            connection.execute(delete(table).where(table.c.checked_at == format_time(row.began)))


def note_applied(connection: Connection, job: StoredJob, posts: int, accounts: int, now: str) -> None:
    """Write, in the transaction that removes it, what a job's result has removed; `now` is ISO 8601."""
    values = {"status": APPLIED, "removed_posts": posts, "removed_accounts": accounts, "ended_at": now}
    connection.execute(update(compliance_job).where(compliance_job.c.id == job.id).values(values))


def keep_stored(connection: Connection, order: ErasureOrder, platform: str) -> ErasureOrder:
    """Return the part of an order by ids that is about what is stored."""
    theirs = select(post.c.id).join(account, account.c.node == post.c.author).where(account.c.platform == platform)
    ours = select(account.c.platform_id).where(account.c.platform == platform)

    def find(query: Select[Any], column: Column[Any], keys: Sequence[str]) -> set[str]:
        return {row[0] for row in select_by_keys(connection, query, column, keys)}

    with convert_errors(connection), read_unlocked(connection):
        posts = find(theirs, post.c.id, [*order.posts, *(key for kind, key in order.places if kind == "post")])
        users = find(
            ours, account.c.platform_id, [*order.users, *(key for kind, key in order.places if kind == "user")]
        )
    return ErasureOrder(
        users={key: why for key, why in order.users.items() if key in users},
        posts={key: why for key, why in order.posts.items() if key in posts},
        places={(kind, key) for kind, key in order.places if key in (posts if kind == "post" else users)},
        passed=order.passed,
    )


def summarize_checks(connection: Connection) -> ComplianceSummary | None:
    """Return the checks of a database; None: there were none. Called in a transaction."""
    totals = select(
        func.max(compliance_job.c.ended_at),
        func.sum(compliance_job.c.removed_posts),
        func.sum(compliance_job.c.removed_accounts),
        func.count(),
    )
    ended, posts, accounts, jobs = connection.execute(totals).one()
    if not jobs:
        return None
    open_kinds = select(compliance_job.c.kind).distinct().where(compliance_job.c.status.not_in(OVER))
    running = list(connection.execute(open_kinds.order_by(compliance_job.c.kind)).scalars())
    return ComplianceSummary(ended, int(posts or 0), int(accounts or 0), running)


def _find_latest(connection: Connection, platform: str, kind: str) -> StoredJob | None:
    query = select_jobs(platform).where(compliance_job.c.kind == kind)
    row = connection.execute(query.order_by(compliance_job.c.id.desc()).limit(1)).first()
    return None if row is None else make_job(row)


def select_jobs(platform: str) -> Select[Any]:
    """Return a SELECT of the jobs on a platform, for `make_job`."""
    columns = (column for column in compliance_job.c if column.name != "campaign")
    query = select(campaign.c.name.label("campaign"), *columns)
    return query.join(campaign, campaign.c.id == compliance_job.c.campaign).where(campaign.c.platform == platform)


def make_job(row: Any) -> StoredJob:
    """Return a job, of a row of `select_jobs`."""
    uploaded, looked, ended = (
        None if text is None else parse_time(text) for text in (row.uploaded_at, row.looked_at, row.ended_at)
    )
    return StoredJob(
        row.id, row.campaign, row.kind, row.name, row.job, row.status, row.ids, row.last, parse_time(row.since),
        parse_time(row.began_at), uploaded, looked, ended, row.removed_posts, row.removed_accounts,
    )  # fmt: skip


def find_free_instant(connection: Connection, now: float) -> float:
    """Return `now`, or a microsecond after the latest begin of a job: each is unique. Called in a transaction."""
    latest = connection.execute(select(func.max(compliance_job.c.began_at))).scalar()
    return now if latest is None else max(now, parse_time(latest) + 1e-6)


def _find_table(kind: str) -> tuple[Table, Column[Any]]:
    """Return the table of the checks of a kind, and its key."""
    return (post_check, post_check.c.post) if kind == POSTS else (account_check, account_check.c.node)


def _select_due(platform: str, kind: str, since: str) -> Select[Any]:
    """Return the keys of what was not checked since an instant, those first that were checked longest ago."""
    table, key = _find_table(kind)
    old: ColumnElement[bool] = or_(table.c.checked_at.is_(None), table.c.checked_at < since)
    if kind == POSTS:
        query = select(post.c.id).join(account, account.c.node == post.c.author)
        query = query.outerjoin(table, key == post.c.id).where(account.c.platform == platform, old)
        return query.order_by(table.c.checked_at.nulls_first(), post.c.id)
    known = account.c.platform_id.is_not(None), account.c.platform == platform, old
    query = select(account.c.node).outerjoin(table, key == account.c.node).where(*known)
    return query.order_by(table.c.checked_at.nulls_first(), account.c.node)
