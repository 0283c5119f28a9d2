"""Whole campaigns whose clock advances only while they wait."""

from contextlib import closing

from socialcrawl.campaign.build import ProcessContext, build
from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Stop
from socialcrawl.lab.instant import VirtualClock, VirtualExecutor
from socialcrawl.render.live_screen import CampaignView

LATENCY = 0.25  # seconds of an answer


def run_until_done(settings: Settings, clock: VirtualClock, view: CampaignView) -> None:
    """Run a campaign to its end.

    Raises:
        AssertionError: it stopped for another reason.
    """
    campaign = build(settings, view, ProcessContext(clock, pool=lambda _: VirtualExecutor(clock, LATENCY)))
    with closing(campaign):
        view.begin(campaign)
        reason = run(campaign.parts, size=campaign.together)
    assert isinstance(reason, Stop), reason
    assert reason.kind == "done", reason
