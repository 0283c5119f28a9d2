"""What a campaign wrote down of accounts beside its history: standings of one that tracks, weights of a sample."""

from collections.abc import Mapping

from socialcrawl.crawls.base import Crawling
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.sampled import SampledRow
from socialcrawl.storage.queries.standings import StandingRow
from socialcrawl.verify.findings import Check
from socialcrawl.verify.story import CampaignRecord

EARLIER = "written before the last visits of the campaign: a run writes them again"


def check_standings(connection: Opened, story: CampaignRecord, crawl: Crawling | None) -> list[Check]:
    """Hold the standings, or the weights of a sample, against those of a crawl that was told the whole history.

    Args:
        connection: the database, in a transaction.
        story: the campaign.
        crawl: its crawl, as it is after its last decision; None: its history cannot be replayed.

    Returns:
        one check; none for campaigns that write down neither.
    """
    snapshot = story.kind.snapshot()
    if snapshot is None or crawl is None:
        return []
    check, kept, made = Check(snapshot.title), snapshot.read(connection, story.begun.id), snapshot.rows(crawl)
    visits = (sum(one.visits for one in rows.values()) for rows in (kept, made))
    if len({*visits}) > 1:  # a process that is killed writes nothing more
        check.leave(EARLIER, len(kept))
    else:
        _compare_rows(check, kept, made)
    return [check]


def _compare_rows(
    check: Check, kept: Mapping[int, StandingRow | SampledRow], made: Mapping[int, StandingRow | SampledRow]
) -> None:
    """Compare row by row."""
    for node in kept.keys() | made.keys():
        stored, told = kept.get(node), made.get(node)
        if stored is None or told is None:
            check.differ(f"account {node}", "row", stored and "there", told and "there")
            continue
        pairs = zip(stored._fields, stored, told, strict=True)
        wrong = [name for name, one, other in pairs if not check.compare(f"account {node}", name, one, other)]
        check.prove(not wrong)
