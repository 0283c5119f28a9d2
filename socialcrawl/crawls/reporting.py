"""What is told of stored campaigns, each by its kind."""

from functools import partial
from typing import Any

from socialcrawl.campaign.settings import load_stored
from socialcrawl.crawls.base import CrawlKind, ReportRequest, remember_seeds
from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.crawls.kept_crawls import KeptCrawls
from socialcrawl.crawls.registry import find_kind
from socialcrawl.errors import SettingsError
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
from socialcrawl.storage.sql_store import SqlStore

ANYTHING = ReportRequest()


def find_stored_kind(campaign: StoredCampaign) -> CrawlKind:
    """Return the kind of a stored campaign.

    Raises:
        SettingsError: it is of a kind that no installed package has.
    """
    return find_kind(campaign.identity.get("kind", DEFAULT.name))


def report(traces: CampaignTraces, campaign: str | None = None, asked: ReportRequest = ANYTHING) -> Any:
    """Return what a campaign (the newest, if none is named) knows beside counts; None: nothing.

    Raises:
        StoreError: there is no such campaign.
        SettingsError: its settings, or what is asked, are not understood.
    """
    stored = traces.read_campaign(campaign)
    return find_stored_kind(stored).report(traces, stored, asked)


def explain(traces: CampaignTraces, user: str, campaign: str | None = None, crawls: KeptCrawls | None = None) -> Any:
    """Return when and why a campaign (the newest, if none is named) asked `user`, a username or id.

    Args:
        traces: the database.
        user: a username or id.
        campaign: its name.
        crawls: keeps crawls for a while; None: as much is rebuilt as the account needs, and nothing is kept.

    Raises:
        StoreError: there is no such campaign.
        SettingsError: its settings are not understood, or it does not know the account.
    """
    stored = traces.read_campaign(campaign)
    kind = find_stored_kind(stored)
    if crawls is None:
        return kind.explain(traces, stored, user)
    return kind.explain_from(traces, stored, user, partial(crawls.hold, traces, stored, kind))


def renew_snapshots(traces: CampaignTraces) -> None:
    """Write again what campaigns know of each account, where nothing of that is left: so it is after an erasure."""
    for name in traces.list_campaigns():
        stored_campaign = traces.read_campaign(name)
        try:
            kind = find_stored_kind(stored_campaign)
        except SettingsError:  # of a package that is not installed: it writes them when the campaign runs again
            continue
        snapshot = kind.snapshot()
        if snapshot is None or traces.has_snapshot(stored_campaign):
            continue
        settings = load_stored(
            traces.read_versions(stored_campaign)[-1].settings, f"the campaign {stored_campaign.name!r}"
        )
        names = traces.read_seeds(stored_campaign.platform, stored_campaign.identity["seeds"]["usernames"])
        crawl = kind.make_crawl(settings, remember_seeds(settings, names, traces.read_topics(stored_campaign.id)))
        crawl.fold(traces.read_history(stored_campaign, kind.features))
        snapshot.write(SqlStore(traces.connection, stored_campaign.id, stored_campaign.platform), crawl)
