"""What the campaigns of a database have found on a topic for their money, by the way in which they read accounts."""

from math import inf

import numpy as np

from socialcrawl.campaign.sections.access import AUTO, MATCH, SEARCH, TIMELINE
from socialcrawl.campaign.settings import Settings, load_stored
from socialcrawl.crawls.collect.explain import rebuild_collect
from socialcrawl.crawls.collect.make import makes_searches_only, plan_searches
from socialcrawl.crawls.collect.searched_time import measure_searched_time
from socialcrawl.engine.model import Act, Stop, StopKind
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.reading_curve import ReadingRecord, SearchYield
from socialcrawl.storage.queries.paid_decisions import PaidDecisions, read_paid_decisions
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign


def find_way(settings: Settings) -> str:
    """Return how a campaign reads accounts: "search", "match" or "timeline"; "auto" where it does so in two ways."""
    plan = plan_searches(settings)
    if plan is not None:
        return SEARCH if makes_searches_only(settings, plan) and plan.back == inf else AUTO
    return MATCH if settings.source.read == MATCH else TIMELINE


def read_reading_records(traces: CampaignTraces, settings: Settings, post_price: int) -> dict[str, ReadingRecord]:
    """Return what was found on the topic of a campaign by each way of reading that its database has.

    Of several campaigns that read in the same way, on the same server, the one that spent most counts.

    Args:
        traces: the database.
        settings: those of the campaign.
        post_price: of a post, in mills.
    """
    found: dict[str, ReadingRecord] = {}
    for name in traces.list_campaigns():
        stored = traces.read_campaign(name)
        try:
            own = load_stored(traces.read_versions(stored)[-1].settings, f"the campaign {name!r}")
        except SettingsError:  # of a kind or platform that is not installed here
            continue
        same = own.topic == settings.topic and own.kind == settings.kind
        place = (own.source.platform, own.source.base_url) == (settings.source.platform, settings.source.base_url)
        way = find_way(own) if same and place else AUTO
        if way == AUTO:
            continue
        record = _read_record(traces, stored, own, way, post_price)
        if len(record.spent) and (way not in found or record.dollars > found[way].dollars):
            found[way] = record
    return found


def make_reading_record(campaign: str, way: str, gains: PaidDecisions, *, is_complete: bool = False) -> ReadingRecord:
    """Return what a campaign found, from its decisions.

    Args:
        campaign: its name.
        way: how it read accounts, see `find_way`.
        gains: its decisions.
        is_complete: whether it searched all of the time.
    """
    searches = _collect_yield(gains) if way == SEARCH else None
    relevance = np.cumsum(gains.gain)
    return ReadingRecord(campaign, way, gains.before, gains.spent, relevance, searches, is_complete)


def _read_record(
    traces: CampaignTraces, stored: StoredCampaign, settings: Settings, way: str, post_price: int
) -> ReadingRecord:
    if way == SEARCH:
        searched = measure_searched_time(traces, stored)
        complete = searched is not None and not (searched.left or searched.failed)
    else:
        complete = _is_exhausted(traces, stored, settings)
    gains = read_paid_decisions(traces.connection, stored.id, post_price)
    return make_reading_record(stored.name, way, gains, is_complete=complete)


def _is_exhausted(traces: CampaignTraces, stored: StoredCampaign, settings: Settings) -> bool:
    """Return whether a campaign has read everything in reach, whatever its number of steps."""
    names = traces.read_seeds(stored.platform, stored.identity["seeds"]["usernames"])
    unnamed = settings.seeds.model_copy(update={"file": None, "usernames": []})  # all have a slot in the identity
    settings = settings.model_copy(update={"seeds": unnamed})
    crawl = rebuild_collect(settings, names, traces.read_topics(stored.id))
    crawl.fold(traces.read_history(stored))
    crawl.steps = None
    ahead = crawl.choose(1, 0.0)
    return isinstance(ahead, Stop) and ahead.kind == StopKind.DONE


def _collect_yield(gains: PaidDecisions) -> SearchYield:
    """Return what each search returned of each author."""
    searches = np.array([act == Act.SEARCH for act in gains.act], np.bool_) & (gains.posts > 0)
    numbers = gains.search[searches]
    read = np.array([act != Act.SEARCH for act in gains.act], np.bool_) & np.isin(gains.search, numbers)
    _, account = np.unique(gains.account[read], return_inverse=True)
    place = np.searchsorted(numbers, gains.search[read])
    return SearchYield(gains.posts[searches], place, account.astype(np.int64), gains.occurrences[read])
