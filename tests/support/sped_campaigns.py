"""Campaigns in child processes that can be killed, and whose time passes as fast as that of a mock's file."""

import time


class SpedTime:
    """A time that stood at `second` when this machine's clock stood at `since`, and passes at a speed."""

    def __init__(self, since, second, speed):
        self.since, self.second, self.speed = since, second, speed

    def now(self):
        return self.second + (time.time() - self.since) * self.speed

    def wait(self, stop, until):
        stop.wait(min(max(0.0, until - self.now()) / self.speed, 10.0))


def work(given, sped, ends, statement=0):
    """Run a campaign until its time is `ends`; see `killed_campaigns.work`. `sped` are the arguments of `SpedTime`."""
    import killed_campaigns

    from socialcrawl.campaign.build import build
    from socialcrawl.campaign.settings import check_settings
    from socialcrawl.engine.clock import InterruptibleClock
    from socialcrawl.engine.loop import run
    from socialcrawl.render.live_screen import CampaignView

    if statement:
        killed_campaigns.die_before(statement)
    clock = InterruptibleClock(SpedTime(*sped))
    campaign = build(check_settings(given, "test"), CampaignView(), clock=clock)
    clock.restart(ends)
    reason = run(campaign.parts, size=campaign.together)
    campaign.parts.pool.shutdown()
    campaign.close()
    return killed_campaigns.DONE if reason.kind == "interrupted" else killed_campaigns.TROUBLE
