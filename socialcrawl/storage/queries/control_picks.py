"""Which picks of a campaign were drawn for comparison (`[crawl] control`), from its seed and settings."""

import numpy as np

from socialcrawl.engine.draws import ARM_NAMES, STEERED, assign_arms
from socialcrawl.storage.queries.traces import CampaignTraces


def find_drawn(traces: CampaignTraces, campaign: str) -> dict[int, str]:
    """Return how the accounts of picks were drawn, as `draws.NAMES` calls it, by pick.n; none of the other picks.

    An account that is tried again was chosen before, so only the first pick of an account counts.
    """
    begun = traces.read_campaign(campaign)
    versions = traces.read_versions(begun)
    shares = [one.settings.get("crawl", {}).get("control", 0.0) for one in versions]
    if not any(shares):
        return {}
    steps = traces.read_steps(begun.id)
    once = np.zeros(len(steps.n), np.bool_)
    once[np.unique(steps.node, return_index=True)[1]] = True
    found: dict[int, str] = {}
    ends = [*(one.first for one in versions[1:]), np.inf]
    for one, share, end in zip(versions, shares, ends, strict=True):
        who = assign_arms(one.settings.get("seed", 0), share, 0, len(steps.n))
        ours = once & (steps.n >= one.first) & (steps.n < end) & (who != STEERED)
        found |= {n: ARM_NAMES[arm] for n, arm in zip(steps.n[ours].tolist(), who[ours].tolist(), strict=True)}
    return found
