"""The first lines of a report: matching posts and their authors, their time span, requests and cost."""

from socialcrawl.campaign.policies import load_policy
from socialcrawl.crawls.collect.searched_time import SearchedTime
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.storage.queries.summary import Summary
from socialcrawl.storage.queries.topic_counts import TopicCounts
from socialcrawl.system.loopback import is_loopback
from socialcrawl.text.wording import pluralize

WORDS = 6  # keywords that are named


def list_headlines(
    found: Summary, *, billed: bool, focused: bool = True, searched: SearchedTime | None = None
) -> list[tuple[str, str]]:
    """Return what a campaign found and what it took, as (name, sentence).

    Args:
        found: the counts of a campaign.
        billed: whether its server charges.
        focused: whether it looks for accounts on topic: else their number is left to the report of its kind.
        searched: how much of the time of the topic was searched; None: it was not, span by span.
    """
    on_topic = found.on_topic
    lines = [("campaign", f"{found.name}, on {describe_server(found)}")]
    if found.topic:
        more = f" and {len(found.topic) - WORDS:,} more" if len(found.topic) > WORDS else ""
        lines.append(("topic", f"{', '.join(found.topic[:WORDS])}{more}"))
    if found.model:
        lines.append(("model", f"{found.model} decides which posts are on topic"))
    if on_topic.posts or focused:
        lines.append(("matching posts", describe_matches(on_topic)))
    if on_topic.first and on_topic.last:
        days = pluralize((on_topic.last - on_topic.first).days + 1, "day")
        lines.append(("time span", f"{on_topic.first} to {on_topic.last} (UTC, {days}), of matching posts"))
    if focused:
        lines.append(("accounts on topic", _describe_accounts(found)))
    if searched is not None:
        lines.append(("time searched", searched.sentence))
    returned = f"{pluralize(found.sent, 'request')}, which returned {pluralize(found.posts, 'post')} (repeats included)"
    lines.append(("requests", returned))
    return [*lines, ("cost", _describe_cost(found, billed=billed))]


def describe_server(found: Summary) -> str:
    """Return what a campaign asked: the platform, or a server on this machine that stands in for it."""
    title = find_platform_facts(found.platform).title
    if found.invented:
        return f"a mock of {title}: invented people and posts"
    if is_loopback(found.base_url):
        return f"a test server on this machine in place of {title}"
    return title


def describe_matches(counts: TopicCounts) -> str:
    """Return how many posts match, by whom, and how many of them repeat posts of others."""
    read, authors = counts.posts - counts.unread_posts, counts.authors - counts.unread_authors
    said = f"{pluralize(counts.posts, 'post')} by {pluralize(counts.authors, 'account')}"
    if counts.unread_posts:
        said = f"{pluralize(counts.posts, 'post')}: {read:,} by {pluralize(authors, 'account')} read, "
        unread = pluralize(counts.unread_authors, "account")
        said += f"{counts.unread_posts:,} by {unread} not read, which a search returned"
    if counts.posts:
        said += f"; {'1 is a repost' if counts.reposts == 1 else f'{counts.reposts:,} are reposts'}"
    return said


def describe_accounts(counts: TopicCounts) -> str:
    """Return how many of the accounts read have matching posts."""
    on_topic = counts.discovered_on_topic + counts.seeds_on_topic
    read = pluralize(counts.discovered + counts.seeds, "account")
    # Where posts were deleted since, nobody knows how many there were.
    agree = on_topic == counts.authors - counts.unread_authors
    single = f" ({counts.single:,} exactly one)" if agree and counts.single else ""
    return f"{on_topic:,} of {read} read {'has' if on_topic == 1 else 'have'} at least one matching post{single}"


def _describe_accounts(found: Summary) -> str:
    counts = found.on_topic
    discovered, seeds = counts.discovered_on_topic, pluralize(counts.seeds_on_topic, "seed")
    return f"{describe_accounts(counts)}: {discovered:,} discovered, {seeds}; {found.known:,} accounts known"


def _describe_cost(found: Summary, *, billed: bool) -> str:
    if billed:
        return f"{format_dollars(found.cost)} at most, by the price table"
    if not is_loopback(found.base_url):
        return "nothing: the server does not charge"
    if not found.cost:
        return "nothing (test server)"
    prices = "its own price table"
    if not found.own_prices:
        prices = f"the price table of {load_policy(found.platform).as_of}"
    title = find_platform_facts(found.platform).title
    return f"nothing (test server); on {title} it would be {format_dollars(found.cost)} at most by {prices}"
