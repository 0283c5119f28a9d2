"""How a campaign that refreshes ordered the accounts that it checked, in the words of a datasheet."""

from collections.abc import Iterator, Mapping
from typing import Any

from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.text.wording import pluralize

RANKS = {
    "random": "at random",
    "indegree": "most links from the dataset first",
    "pagerank": "by PageRank in the dataset",
    "pa": "by PageRank that starts from the accounts of the training set that were active",
    "pa+-": "by PageRank that starts from active accounts, divided by PageRank that starts from inactive ones",
    "asf": "by the share of accounts on the same site that were active",
    "bfs": "first the accounts to which active accounts link, in the order in which these were found",
    "ai": "by the number of active accounts that link to them",
    "dpr": "by PageRank that starts from the best active accounts, computed again as results arrive",
}


def tell_choice(refresh: Mapping[str, Any], platform: str) -> Iterator[str]:
    """Yield sentences on the settings under [refresh]; nothing of those that are not there."""
    if active := refresh.get("active"):
        rule = _describe_active(active, platform)
        more = "; protected accounts count as active" if refresh.get("protected") else ""
        yield f"counted as active: {rule}{more}"
    if check := refresh.get("check"):
        yield f"checked first: {pluralize(check, 'account')} drawn at random, to estimate how many are active"
    if {"rank", "training", "z"} <= refresh.keys():
        rank, training = find_steering(refresh, platform)
        first = pluralize(refresh["z"], "account")
        yield f"checked then, as the training set: {first} in the order {training}, {RANKS[training]}"
        yield f"checked after those: all others in the order {rank}, {RANKS[rank]}"
    if fraction := refresh.get("fraction"):
        if refresh.get("stop") == "bound":  # of older programs, that knew nothing else, it is the estimate
            yield f"it ends when at least {fraction:.0%} of the active ones are found (95% interval)"
            yield "accounts drawn at random are checked too, to estimate that share"
        else:
            yield f"it ends when {fraction:.0%} of the active ones, as estimated, are found"


def find_steering(refresh: Mapping[str, Any], platform: str) -> tuple[str, str]:
    """Return the rank and the training set of a refresh, where they are left to us; see `RefreshSection.steering`."""
    facts = find_platform_facts(platform)
    counted = refresh.get("fraction") is not None and not refresh.get("check")
    usual = facts.rank, "random" if counted else facts.training
    given = refresh["rank"], refresh["training"]
    return tuple(own if value == "auto" else value for value, own in zip(given, usual, strict=True))  # type: ignore[return-value]


def _describe_active(active: str, platform: str) -> str:
    """Return which accounts are active by a rule; see `RefreshSection.rule` for what is left to us."""
    facts = find_platform_facts(platform)
    span = facts.active if active == "auto" else active
    if span == "exists":
        return "all accounts that exist"
    if facts.pages:
        return f"pages that changed within {span} before the check, or have no date of a change"
    return f"accounts that posted within {span} before the check"
