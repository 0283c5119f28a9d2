"""Forgetting: content goes, tombstones stay, and what was derived from it is derived anew. In one transaction."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, select, text

from socialcrawl.platforms.facts import DEFAULT
from socialcrawl.storage import wanted_posts
from socialcrawl.storage.database.bulk import select_by_keys
from socialcrawl.storage.erasure import archive, derived, ledger, rows, seed_slots, targets, tombstones
from socialcrawl.storage.erasure.dry_run import is_dry_run
from socialcrawl.storage.erasure.orders import WHY, ErasureOrder
from socialcrawl.storage.erasure.stored_rows import StoredTable, read_stored
from socialcrawl.storage.erasure.targets import ErasureTargets
from socialcrawl.storage.post_search import index
from socialcrawl.storage.schema.tables import account, post, request
from socialcrawl.storage.versions import RUNNING, begin_epochs

OLDEST = ("select min(fetched_at) from post", "select min(profile_at) from account")
DELETED = "compliance:deleted"  # why somebody or something is forgotten of which the platform says that it is deleted
FEW = 20  # accounts and posts of which a dry run shows what is stored


@dataclass(slots=True)
class ErasureReport:
    """What was done.

    Attributes:
        counts: rows removed or changed, by table; `text` counts others' posts and profiles that were reworded.
        unheld: what was named and is not in the database, as `user:ID`, `@name`, `post:ID`; a tombstone keeps it out.
        before: what was named and had been forgotten before.
        answers: of the original answers removed, how many by the kind of match: see `naming.KINDS`.
        stored: of a dry run, what is stored about those who are named, by table; None: not looked up, as nobody asked
            for it or more than FEW are named.
    """

    counts: dict[str, int] = field(default_factory=dict)
    unheld: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    answers: dict[str, int] = field(default_factory=dict)
    stored: dict[str, StoredTable] | None = field(default=None, compare=False)

    @property
    def is_empty(self) -> bool:
        """Whether nothing had to change."""
        return not any(self.counts.values())


def forget(
    connection: Connection, order: ErasureOrder, now: str, platform: str = DEFAULT.name, shown: int = 0
) -> ErasureReport:
    """Return the report of an order that was carried out; called in a transaction, while no campaign runs.

    Args:
        connection: the database.
        order: who and what is to be forgotten.
        now: the instant, ISO 8601.
        platform: that of the ids and names.
        shown: of a dry run, how many rows of each table to return of what is stored about them; 0: nothing of it.
    """
    known = _find_forgotten(connection, order, platform)
    targets.create_key_tables(connection)
    places, scrubbed = rows.remove_places(connection, order, platform) if order.places else (0, set())
    gone = targets.find_order_targets(connection, order, platform)
    report = ErasureReport(*({}, *_find_absent(connection, order, gone, known)))
    if shown and is_dry_run(connection) and len(order.users) + len(order.names) + len(order.posts) <= FEW:
        report.stored = read_stored(connection, shown)
    report.counts, report.answers = _erase_named(connection, gone, now, WHY, scrubbed)
    report.counts["text"] += places
    return report


def forget_deleted(
    connection: Connection, posts: Sequence[str], accounts: Sequence[str], now: str, platform: str
) -> bool:
    """Forget what a stream says was deleted, as far as it is stored; called in a transaction, while campaigns run.

    A campaign that runs goes on with what it knows. Its choices are compared with what is stored only from the next
    time on that it is opened (`versions.RUNNING`).

    Args:
        connection: the database, in which `execution.prepare` was called before.
        posts: the ids of posts, of which most are probably not stored.
        accounts: the ids of accounts likewise.
        now: the instant, ISO 8601.
        platform: that of the ids.

    Returns:
        Whether anything was.
    """
    held = select_by_keys(connection, select(post.c.id), post.c.id, posts)
    ours = select(account.c.platform_id).where(account.c.platform == platform)
    known = select_by_keys(connection, ours, account.c.platform_id, accounts)
    order = ErasureOrder(users={row.platform_id: DELETED for row in known}, posts={row.id: DELETED for row in held})
    if not order.users and not order.posts:
        return False
    targets.create_key_tables(connection)
    gone = targets.find_order_targets(connection, order, platform)
    last = connection.execute(select(func.max(request.c.arrived_at))).scalar() or now
    _erase_named(connection, gone, max(now, last), RUNNING)
    return True


def retain(connection: Connection, before: str, now: str) -> ErasureReport:
    """Return the report after all that was fetched before an instant was forgotten; called in a transaction.

    Posts count by `fetched_at`; profiles by `profile_at`, of which id and username stay.

    Args:
        connection: the database.
        before: the instant, ISO 8601 as the database writes it.
        now: the present instant.
    """
    targets.create_key_tables(connection)
    gone = targets.find_older_posts(connection, before)

    def others() -> dict[str, int]:
        return {
            "account": rows.empty_profiles(connection, before),
            "response": rows.remove_old_answers(connection, before),
        }

    return ErasureReport(erase_rows(connection, gone, now, "retain", others))


def find_oldest(connection: Connection) -> str | None:
    """Return when the oldest content was fetched, in ISO 8601; None where there is none."""
    with connection.begin():
        dates = [connection.execute(text(sql)).scalar() for sql in OLDEST]
    return min(filter(None, dates), default=None)


def _erase_named(
    connection: Connection, gone: ErasureTargets, now: str, why: str, scrubbed: Collection[str] = ()
) -> tuple[dict[str, int], dict[str, int]]:
    """Erase who and what is named; return the counts by table, and the original answers removed by kind of match."""
    numbers, answers = archive.find_known_numbers(connection, gone), dict[str, int]()

    def others() -> dict[str, int]:
        counts = _clean_others(connection, gone, now)
        answers.update(archive.remove_answers(connection, gone, scrubbed, numbers))
        return counts | {"response": sum(answers.values())}

    return erase_rows(connection, gone, now, why, others), answers


def erase_rows(
    connection: Connection,
    gone: ErasureTargets,
    now: str,
    why: str,
    others: Callable[[], dict[str, int]] = dict,
    *,
    picks: Collection[ledger.Key] | None = None,
) -> dict[str, int]:
    """Return the counts after all of it was erased that is listed; called in a transaction.

    Args:
        connection: the database.
        gone: what goes; its lists of keys are filled, and dropped at the end.
        now: the instant, ISO 8601.
        why: why epochs begin.
        others: what else is to be changed before the rows go; it returns counts by table.
        picks: the only picks that can have read what goes; None: any can.
    """
    gone.asked = wanted_posts.find_asked(connection, gone)
    # What is derived comes first, as the posts are needed for it.
    read = ledger.scan_ledger(connection, gone) if picks is None else ledger.scan_picks(connection, gone, picks)
    made = derived.DerivedRows(connection, gone, read.read, picks)
    made.run()
    counts = {
        "request": ledger.write_changes(connection, read),
        "outcome": made.outcomes,
        "link": made.links,
        "text": 0,
    }
    counts |= others()
    counts["charge"] = rows.anonymize_charges(connection, gone)
    counts["wanted_post"] = wanted_posts.erase_wanted(connection, gone)
    counts |= rows.remove_rows(connection)
    cleared = seed_slots.clear_seeds(connection, gone) if gone.names else set()
    counts["campaign"] = len(cleared)
    found = any(counts.values())
    counts["tombstone"] = rows.put_tombstones(connection, gone, now)
    if found and not counts["tombstone"]:
        rows.renew_tombstones(connection, gone, now)
    changed = made.changed | read.reopened | cleared
    counts["epoch"] = len(changed) if is_dry_run(connection) else begin_epochs(connection, changed, why, now)
    targets.drop_key_tables(connection)
    if not is_dry_run(connection):
        index.erase_removed(connection)
    return counts


def _clean_others(connection: Connection, gone: ErasureTargets, now: str) -> dict[str, int]:
    """Return what others' rows hold of the forgotten, and the forgotten's own accounts."""
    cited = rows.cut_references(connection)
    reworded = rows.replace_in_rows(connection, gone) if gone.names or gone.ids or gone.posts else 0
    reworded += rows.replace_short_names(connection, gone)
    return {"text": cited + reworded, "account": rows.empty_accounts(connection, gone, now)}


def _find_forgotten(connection: Connection, order: ErasureOrder, platform: str) -> set[str]:
    """Return what of an order was forgotten before, as a person would write it.

    Posts that only became too old were not.
    """
    given = (("user", order.users, "user:"), ("name", order.names, "@"), ("post", order.posts, "post:"))
    return {
        f"{mark}{key}"
        for kind, keys, mark in given
        for key, why in tombstones.read_reasons(connection, platform, kind, keys).items()
        if why != tombstones.AGED
    }


def _find_absent(
    connection: Connection, order: ErasureOrder, gone: ErasureTargets, known: set[str]
) -> tuple[list[str], list[str]]:
    """Return what of an order is not here: never was, or was forgotten before."""
    held = {*(f"@{name}" for name in gone.owners), *targets.find_stored(connection, gone)}
    named = [*(f"user:{key}" for key in order.users), *(f"@{key}" for key in order.names)]
    absent = [key for key in (*named, *(f"post:{key}" for key in order.posts)) if key not in held]
    return [key for key in absent if key not in known], [key for key in absent if key in known]
