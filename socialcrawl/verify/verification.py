"""A whole verification: every campaign of a database, check by check."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from socialcrawl.crawls.base import Crawling
from socialcrawl.engine.model import Node
from socialcrawl.errors import StoreError
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.ledger.request_log import sum_bills
from socialcrawl.storage.queries.snapshots import SampledRow, StandingRow
from socialcrawl.storage.queries.summary import list_campaigns
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.verify.billing import BillingCheck
from socialcrawl.verify.budgets import check_settings
from socialcrawl.verify.findings import ACCOUNT, MALFORMED, Check, CheckResults
from socialcrawl.verify.integrity import check_order, check_references, check_shared
from socialcrawl.verify.outcomes import OutcomeCheck
from socialcrawl.verify.replay import DecisionReplay
from socialcrawl.verify.story import CampaignRecord, read_story

OLDER = "written before the last visits of the campaign: a run writes them again"

Watch = Callable[[str, int, int | None], None]


def verify(connection: Opened, campaign: str | None = None, watch: Watch = lambda *_: None) -> Iterator[CheckResults]:
    """Yield what the checks of each campaign found, the oldest campaign first.

    Args:
        connection: the database, in a transaction that only reads.
        campaign: the name of one; None: all.
        watch: told what is done, and how much of it.

    Raises:
        StoreError: there is no such campaign, or its settings are not understood.
    """
    names = [name for _, name in list_campaigns(connection)] if campaign is None else [campaign]
    for name in names:
        yield _verify_campaign(connection, name, watch)
    yield CheckResults(None, "all campaigns", check_shared(connection))


def _verify_campaign(connection: Opened, name: str, watch: Watch) -> CheckResults:
    try:
        story = read_story(connection, name)
    except MALFORMED as error:
        raise StoreError(
            f"The settings or accounts of campaign {name!r} are not as socialcrawl stores them ({error}): something "
            "else has written to the database. Verify a copy from before."
        ) from error
    decisions = check_decisions(connection, story, watch)
    outcomes = OutcomeCheck(connection, story)
    _run_check(outcomes.outcomes, outcomes, watch)
    bills = BillingCheck(connection, story)
    _run_check(bills.costs, bills, watch)
    rows = [check_order(connection, story.begun.id), check_references(connection, story.begun.id)]
    checks = [
        *decisions,
        *outcomes.checks,
        bills.costs,
        bills.pages,
        bills.budgets,
        check_settings(connection, story),
        *rows,
    ]
    requests, mills = sum_bills(connection, story.begun.id)
    cost = f"{requests:,} requests, {format_dollars(mills)} by the price table"
    about = f"{story.kind.facts.name}, {story.begun.platform}; {cost}"
    added = any(stage.settings.crawl.runs_added for stage in story.stages)
    return CheckResults(name, about, checks, added, outcomes.missing)


def check_decisions(connection: Opened, story: CampaignRecord, watch: Watch = lambda *_: None) -> list[Check]:
    """Replay the decisions of a campaign: its picks, their scores, and what it wrote down of accounts.

    Args:
        connection: the database, in a transaction.
        story: the campaign.
        watch: told what is done, and how much of it.
    """
    replay = DecisionReplay(connection, story)
    crawl = _run_check(replay.picks, replay, watch)
    checks = [replay.picks, replay.scores, *check_standings(connection, story, crawl)]
    _name_accounts(CampaignTraces(connection), checks)
    return checks


def _run_check(check: Check, part: DecisionReplay | OutcomeCheck | BillingCheck, watch: Watch) -> Crawling | None:
    """Run a part of the verification, to its end or to rows that no campaign has stored, which is a difference."""
    try:
        return part.run(watch)
    except MALFORMED as error:
        check.differ(part.place, "rows", f"{error} ({type(error).__name__})", "rows that can be read")
        return None


def _name_accounts(traces: CampaignTraces, checks: Sequence[Check]) -> None:
    """Say of accounts that differ what they are called."""
    for check in checks:
        for place, one in enumerate(check.differences):
            if one.column == ACCOUNT:
                stored, recomputed = (_find_name(traces, node) for node in (one.stored, one.recomputed))
                check.differences[place] = replace(one, stored=stored, recomputed=recomputed)


def _find_name(traces: CampaignTraces, node: Node | None) -> str:
    if node is None:
        return "nobody"
    if node < 0:
        return f"search {-node}"
    name = traces.read_names([node])[node]
    return name if name == f"account {node}" else f"{name} (account {node})"


def check_standings(connection: Opened, story: CampaignRecord, crawl: Crawling | None) -> list[Check]:
    """Compare the stored standings, or the weights of a sample, with those of a crawl that replayed the whole history.

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
        check.leave(OLDER, len(kept))
    else:
        _compare_rows(check, kept, made)
    return [check]


def _compare_rows(
    check: Check, kept: Mapping[int, StandingRow | SampledRow], made: Mapping[int, StandingRow | SampledRow]
) -> None:
    """Compare row by row."""
    for node in kept.keys() | made.keys():
        stored, computed = kept.get(node), made.get(node)
        if stored is None or computed is None:
            check.differ(f"account {node}", "row", stored and "there", computed and "there")
            continue
        pairs = zip(stored._fields, stored, computed, strict=True)
        wrong = [name for name, one, other in pairs if not check.compare(f"account {node}", name, one, other)]
        check.prove(not wrong)
