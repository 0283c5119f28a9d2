"""What a campaign can cost at most, before its first request. Pure."""

from socialcrawl.limits.budget import Caps
from socialcrawl.limits.policy import Policy


def ceiling(policy: Policy, caps: Caps, *, posts: int | None, users: int) -> int | None:
    """The most a campaign can cost in mills of a cent; None if nothing bounds it.

    Args:
        policy: the prices.
        caps: the campaign's budget.
        posts: the most posts that its steps, seeds and searches can return; None without a number of steps.
        users: the most profiles that its look-ups can return.
    """
    read = caps.posts if posts is None else posts if caps.posts is None else min(posts, caps.posts)
    bounds = [caps.money] if caps.money is not None else []
    if read is not None:
        bounds.append(policy.price("post", read) + policy.price("user", users))
    return min(bounds, default=None)
