"""The first lines of a report: posts and accounts on topic, their time span, requests and cost."""

from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.storage.queries.summary import Summary
from socialcrawl.text.wording import pluralize

WORDS = 6  # keywords that are named


def list_headlines(found: Summary, *, billed: bool, focused: bool = True) -> list[tuple[str, str]]:
    """Return what a campaign found and what it took, as (name, sentence).

    Args:
        found: the counts of a campaign.
        billed: whether its server charges.
        focused: whether it looks for accounts on topic: else their number is left to the report of its kind.
    """
    on_topic = found.on_topic
    lines = [("campaign", f"{found.name}, on {find_platform_facts(found.platform).title}")]
    if found.topic:
        more = f" and {len(found.topic) - WORDS:,} more" if len(found.topic) > WORDS else ""
        lines.append(("topic", f"{', '.join(found.topic[:WORDS])}{more}"))
    if on_topic.posts or focused:
        posts = pluralize(on_topic.posts, "post")
        lines.append(("posts on topic", f"{posts} by {pluralize(on_topic.authors, 'account')}"))
    if on_topic.first and on_topic.last:
        days = f"{(on_topic.last - on_topic.first).days + 1:,}"
        lines.append(("time span", f"{on_topic.first} to {on_topic.last} (UTC, {days} days), of posts on topic"))
    if focused:
        lines.append(("accounts on topic", _describe_accounts(found)))
    returned = f"{pluralize(found.sent, 'request')}, which returned {pluralize(found.posts, 'post')} (repeats included)"
    lines.append(("requests", returned))
    cost = (
        f"{format_dollars(found.cost)} at most, by the price table" if billed else "nothing: the server does not charge"
    )
    return [*lines, ("cost", cost)]


def _describe_accounts(found: Summary) -> str:
    counts = found.on_topic
    discovered, seeds = counts.discovered_on_topic, counts.seeds_on_topic
    read = pluralize(counts.discovered + counts.seeds, "account")
    return (
        f"{discovered + seeds:,} of {read} read: {discovered:,} discovered, {pluralize(seeds, 'seed')}; "
        f"{found.known:,} accounts known"
    )
