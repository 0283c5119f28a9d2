"""Graphs with the shape of the paper's Twitter data (Gouriten et al., section 2.3 and Table 1): who mentions whom.

    people      how much each writes, how famous, in which community, how many mentions    people.py
    topic       who uses the word how often, and in which mentions                         people.py
    mentions    who mentions whom                                                          mentions.py

Activity drives what a crawl lives on: who writes much mentions more people, uses the word more often and is mentioned
more. The word runs in communities, and those who use it seek each other. Replies are not modelled: a mention is
returned by chance only.
"""

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.generators.twitterlike.mentions import draw_mentions, make_pools
from socialcrawl.lab.generators.twitterlike.people import (
    compute_worths,
    count_most_links,
    draw_link_words,
    draw_occurrences,
    draw_profiles,
)

TOPICS = {"happy": (0.109, 0.020), "weird": (0.032, 0.0037), "jazz": (0.0062, 0.00054)}
"""The paper's topics (Table 1): name -> share of nodes with positive value, share of links with positive weight."""

FEWEST_USERS = 10
MOST_USERS = 2**31 - 1  # targets are int32

_DRAW_PEOPLE, _DRAW_TOPIC, _DRAW_POOLS, _DRAW_LINKS, _DRAW_WEIGHTS = 1, 2, 3, 4, 5


def generate_twitter_like(
    users: int,
    links: int,
    topic_share: float = TOPICS["happy"][0],
    link_share: float | None = None,
    seed: int = 0,
) -> KnownGraph:
    """Return a graph of mentions about one topic: a function of its arguments alone.

    Links are distinct and lead to others. Degrees are heavy-tailed (density powers about 2.2 in, 2.1 out, at most 3,000
    out), about half of the nodes mention nobody. A node's value is f(x) of x occurrences in what it writes, a link's
    weight f(y) of y occurrences in the mentions of that target: y <= x. Node numbers and the order of a node's links
    say nothing.

    Args:
        users: the number of nodes, from 10.
        links: the number of links, met exactly; on average at most half of what a node can have.
        topic_share: the share of nodes with positive value, met to the nearest node; at least one has it.
        link_share: the share of links with positive weight, met likewise; `estimate_link_share` when None.
        seed: any integer >= 0.

    The paper's happy is `twitter_like(17_000_000, 93_000_000)`: half a minute and some 2 GB. With `*TOPICS["jazz"]` as
    well, a crawl by `nh-ne-sum` soon runs out of positive scores, while millions of frontier nodes tie at 0.

    Raises:
        SettingsError: an argument is out of range, or the share of links is larger than those who use the word have.
    """
    _check("users", users, FEWEST_USERS, MOST_USERS)
    _check("links", links, 1, users * count_most_links(users) // 2, f" for {users:,} users")
    _check_share("topic_share", topic_share)
    if link_share is None:
        link_share = estimate_link_share(topic_share)
    else:
        _check_share("link_share", link_share)
    _check("seed", seed, 0, 2**63)
    carriers = max(1, round(link_share * links))
    people = draw_profiles(users, links, np.random.default_rng([seed, _DRAW_PEOPLE]))
    count = draw_occurrences(people, max(1, round(topic_share * users)), np.random.default_rng([seed, _DRAW_TOPIC]))
    indptr = np.concatenate([[0], np.cumsum(people.degree)])
    _check_carriers(carriers, int(people.degree[count > 0].sum()), links)
    pool = make_pools(people, count, np.random.default_rng([seed, _DRAW_POOLS]))
    del people  # as much memory as the finished graph
    indices = draw_mentions(indptr, pool, [seed, _DRAW_LINKS])
    del pool
    weights = draw_link_words(indptr, indices, count, carriers, np.random.default_rng([seed, _DRAW_WEIGHTS]))
    alpha = np.zeros(links)
    alpha[weights.place] = compute_worths(weights.occurrences)
    return KnownGraph(indptr, indices, alpha, compute_worths(count))


def estimate_link_share(topic_share: float) -> float:
    """Return the share of links with positive weight that goes with a share of nodes, from 0 (excluded) to 1.

    It lies on the line through the paper's three topics where both shares are logarithms, drawn on at both ends.
    """
    nodes, weighted = np.log(sorted(TOPICS.values())).T
    at = np.log(topic_share)
    part = 1 if at > nodes[1] else 0
    slope = (weighted[part + 1] - weighted[part]) / (nodes[part + 1] - nodes[part])
    return float(np.exp(weighted[1] + slope * (at - nodes[1])))


def _check(name: str, value: int, low: int, high: int, why: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise SettingsError(f"{name} = {value} is out of range; give a whole number from {low:,} to {high:,}{why}.")


def _check_share(name: str, share: float) -> None:
    if not 0 < share <= 1:  # also refuses NaN
        raise SettingsError(f"{name} = {share} is out of range; give a number above 0, up to 1.")


def _check_carriers(carriers: int, most: int, links: int) -> None:
    if carriers > most:
        remedy = f"give a link_share up to {most / links:.3g}, or a larger topic_share" if most else "raise topic_share"
        raise SettingsError(
            f"link_share = {carriers / links:.3g} asks for {carriers:,} links with positive weight, but those who use "
            f"the word have {most:,}: {remedy}."
        )
