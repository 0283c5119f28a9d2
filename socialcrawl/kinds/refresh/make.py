"""The crawl of a campaign that tests an old dataset, made of its settings."""

from socialcrawl.kinds.base import Width, one_each
from socialcrawl.refresh.crawl import Refresh
from socialcrawl.refresh.how import How
from socialcrawl.settings import Settings


def make_refresh(settings: Settings, width: Width = one_each) -> Refresh:
    """Return the crawl of a campaign that tests an old dataset; `width` is its source's, where anybody is asked."""
    refresh = settings.refresh
    rank, training = refresh.steering(settings.source.platform)
    how = How(
        rank=rank,
        training=training,
        neighbours=refresh.neighbours,
        z=refresh.z,
        check=refresh.check,
        fraction=refresh.fraction,
        stop=refresh.stop,
        linked=refresh.linked,
        damping=refresh.damping,
        tolerance=refresh.tolerance,
        rounds=refresh.rounds,
        top=refresh.top,
        every=refresh.every,
        worker=(refresh.worker, refresh.workers) if refresh.workers > 1 else None,
    )
    return Refresh(how, settings.seed, settings.crawl.steps, width)
