"""What a campaign wrote down of accounts beside its history: standings of one that tracks, weights of a sample."""

from collections.abc import Mapping

from socialcrawl.crawls import Crawling
from socialcrawl.sample.crawl import Sample
from socialcrawl.standings import drawn, standings
from socialcrawl.store.database import Opened
from socialcrawl.store.sampled import Sampled, read_sampled
from socialcrawl.store.standing import Standing, read_standings
from socialcrawl.track.crawl import Track
from socialcrawl.verify.findings import Check

EARLIER = "written before the last visits of the campaign: a run writes them anew"


def check_standings(connection: Opened, campaign: int, crawl: Crawling | None) -> list[Check]:
    """Hold the standings, or the weights of a sample, against those of a crawl that was told the whole history.

    Args:
        connection: the database, in a transaction.
        campaign: campaign.id.
        crawl: its crawl, as it is after its last decision; None: its history cannot be replayed.

    Returns:
        one check; none for campaigns that write down neither.
    """
    if isinstance(crawl, Track):
        kept: Mapping[int, Standing | Sampled] = read_standings(connection, campaign)
        return [_compared(Check("standings"), kept, {one.node: one for one in standings(crawl)})]
    if isinstance(crawl, Sample):
        return [_compared(Check("sampled"), read_sampled(connection, campaign), _sampled(crawl))]
    return []


def _sampled(crawl: Sample) -> dict[int, Sampled]:
    return {one.node: one for one in drawn(crawl)} if crawl.begun else {}


def _compared(check: Check, kept: Mapping[int, Standing | Sampled], made: Mapping[int, Standing | Sampled]) -> Check:
    """Compare row by row; rows that count fewer visits than there were are of an earlier moment."""
    if sum(one.visits for one in kept.values()) != sum(one.visits for one in made.values()):
        check.leave(EARLIER, len(kept))
        return check
    for node in kept.keys() | made.keys():
        stored, told = kept.get(node), made.get(node)
        if stored is None or told is None:
            check.differ(f"account {node}", "row", stored and "there", told and "there")
            continue
        pairs = zip(stored._fields, stored, told, strict=True)
        wrong = [name for name, one, other in pairs if not check.compare(f"account {node}", name, one, other)]
        check.prove(not wrong)
    return check
