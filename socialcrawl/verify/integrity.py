"""Whether the rows of a database belong together."""

from collections.abc import Mapping

from socialcrawl.engine.model import parse_time
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.integrity import (  # fmt: skip
    ORDER,
    REFERENCES,
    SHARED,
    count_rows,
    find_gaps,
    find_last_answer,
    find_strays,
    find_unlisted,
)
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.verify.findings import Check
from socialcrawl.verify.story import ERASING

CLOCKS = 600.0  # seconds: what clocks of machines may be apart
FROM_FILES = "no request lists them: they came from files, or with an older program"
ROLLED_BACK = "numbers that the ledger skips: a server does so where a transaction failed"


def check_order(connection: Opened, campaign: int) -> Check:
    """Check that decisions are numbered without gaps, in batches, and that each finished one has its outcome.

    Requests are sent batch by batch.
    """
    tables = ("pick", "outcome", "request", "epoch", "version")
    check = _check_rows(
        "order of decisions", connection, ORDER, tables, campaign, expected="what the rows beside it say"
    )
    for number, first, began_at, why in CampaignTraces(connection).read_epochs(campaign):
        last = find_last_answer(connection, campaign, first) if ERASING & {*why.split(",")} else None
        if last is not None and not _is_before(last, began_at):
            check.differ(f"epoch {number}", "began_at", began_at, f"after {last}, before pick {first}")
    return check


def _is_before(one: str, other: str) -> bool:
    try:
        return parse_time(one) <= parse_time(other) + CLOCKS
    except ValueError:
        return False


def check_references(connection: Opened, campaign: int) -> Check:
    """Check that picks, links, requests and shadows refer to rows that are there."""
    tables = ("pick", "link", "request", "shadow")
    return _check_rows("references", connection, REFERENCES, tables, campaign, expected="a row that is there")


def check_shared(connection: Opened, *, whole: bool = True) -> list[Check]:
    """Check what the campaigns of a database share: posts and mentions, and the numbers of the ledger.

    Args:
        connection: the database, in a transaction.
        whole: whether it has the requests of all campaigns, so that their numbers have no gaps.
    """
    posts = _check_rows(
        "references of posts and mentions", connection, SHARED, ("post", "mention"), expected="a row that is there"
    )
    origins = Check("origins of posts")
    unlisted, wrong, some = find_unlisted(connection)
    for key in some:
        origins.differ(f"post {key}", "request that brought it", None, "a request that lists it")
    origins.differing = wrong
    origins.leave(FROM_FILES, unlisted - wrong)
    origins.prove(count_rows(connection, ("post",)) - unlisted)
    return [posts, origins, *([_check_numbers(connection)] if whole else [])]


def _check_numbers(connection: Opened) -> Check:
    numbers = Check("numbers of requests")
    gaps = find_gaps(connection)
    for number, last in gaps:
        if connection.dialect.name == "postgresql":
            numbers.leave(ROLLED_BACK)
        else:
            numbers.differ(f"request {number}", f"request {last}", None, "the request before it")
    numbers.prove(count_rows(connection, ("request",)) - len(gaps))
    return numbers


def _check_rows(
    name: str,
    connection: Opened,
    searches: Mapping[tuple[str, str], str],
    tables: tuple[str, ...],
    campaign: int | None = None,
    *,
    expected: str,
) -> Check:
    """Check that no row of some tables is found by searches for rows that do not belong there."""
    check = Check(name)
    for stray in find_strays(connection, searches, campaign):
        check.differ(f"{stray.table} {stray.number}", stray.column, stray.stored, expected)
    check.prove(count_rows(connection, tables, campaign) - check.differing)
    return check
