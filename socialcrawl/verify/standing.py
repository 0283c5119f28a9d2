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
from socialcrawl.verify.story import Story

EARLIER = "written before the last visits of the campaign: a run writes them again"


def check_standings(connection: Opened, story: Story, crawl: Crawling | None) -> list[Check]:
    """Hold the standings, or the weights of a sample, against those of a crawl that was told the whole history.

    Args:
        connection: the database, in a transaction.
        story: the campaign.
        crawl: its crawl, as it is after its last decision; None: its history cannot be replayed.

    Returns:
        one check; none for campaigns that write down neither.
    """
    kept: Mapping[int, Standing | Sampled]
    if isinstance(crawl, Track):
        check, kept = Check("standings"), read_standings(connection, story.begun.id)
        made: Mapping[int, Standing | Sampled] = {one.node: one for one in standings(crawl)}
    elif isinstance(crawl, Sample):
        check, kept, made = Check("sampled"), read_sampled(connection, story.begun.id), _sampled(crawl)
    else:
        return []
    visits = (sum(one.visits for one in rows.values()) for rows in (kept, made))
    if len({*visits}) > 1 and not (kept and _has_ended(story, crawl)):
        check.leave(EARLIER, len(kept))
    else:
        _compare(check, kept, made)
    return [check]


def _has_ended(story: Story, crawl: Track | Sample) -> bool:
    """Return whether a campaign wrote down all when it ended: its last step is done, and nothing changed after it."""
    steps = (story.settings.get("crawl") or {}).get("steps")
    done = steps is not None and crawl.taken >= steps
    walked = isinstance(crawl, Sample) and crawl.begun and not crawl.needs
    return (done or walked) and not story.erased and not story.topics


def _sampled(crawl: Sample) -> dict[int, Sampled]:
    return {one.node: one for one in drawn(crawl)} if crawl.begun else {}


def _compare(check: Check, kept: Mapping[int, Standing | Sampled], made: Mapping[int, Standing | Sampled]) -> None:
    """Compare row by row."""
    for node in kept.keys() | made.keys():
        stored, told = kept.get(node), made.get(node)
        if stored is None or told is None:
            check.differ(f"account {node}", "row", stored and "there", told and "there")
            continue
        pairs = zip(stored._fields, stored, told, strict=True)
        wrong = [name for name, one, other in pairs if not check.compare(f"account {node}", name, one, other)]
        check.prove(not wrong)
