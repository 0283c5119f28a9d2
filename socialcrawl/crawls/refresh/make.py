"""The crawl of a campaign that tests an old dataset, made of its settings."""

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import Width, one_each
from socialcrawl.crawls.refresh.crawl import Refresh


def make_refresh(settings: Settings, width: Width = one_each) -> Refresh:
    """Return the crawl of a campaign that tests an old dataset; `width` is its source's, where anybody is asked."""
    return Refresh(settings.refresh.make_rules(settings.source.platform), settings.seed, settings.crawl.steps, width)
