"""The crawl of a campaign that tests an old dataset, made of its settings."""

from dataclasses import fields

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import Width, one_each
from socialcrawl.crawls.refresh.crawl import Refresh
from socialcrawl.crawls.refresh.rules import RefreshRules


def make_refresh(settings: Settings, width: Width = one_each) -> Refresh:
    """Return the crawl of a campaign that tests an old dataset; `width` is its source's, where anybody is asked."""
    refresh = settings.refresh
    rank, training = refresh.steering(settings.source.platform)
    shared = {one.name: getattr(refresh, one.name) for one in fields(RefreshRules) if one.name != "worker"}
    worker = (refresh.worker, refresh.workers) if refresh.workers > 1 else None
    rules = RefreshRules(**{**shared, "rank": rank, "training": training, "worker": worker})
    return Refresh(rules, settings.seed, settings.crawl.steps, width)
