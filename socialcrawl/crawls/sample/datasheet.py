"""How a campaign that samples chose the accounts that it read, in the words of a datasheet."""

from collections.abc import Iterator, Mapping
from typing import Any

from socialcrawl.crawls.sample.walk_laws import BUILT_IN, describe_walk
from socialcrawl.text.wording import pluralize

FOCUSES = {
    "none": "anywhere; accounts off topic are left out afterwards",
    "hard": "to accounts on topic only, and stays where it is if it draws another",
    "neighbourhood": "to accounts on topic and to those from which short walks of {k} links meet one",
    "trial": "to any account, and back after {k} accounts in a row off topic",
    "ancestor": "to accounts on topic and to those on a wider topic, which are left out afterwards",
}


def tell_choice(sample: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the settings under [sample]; nothing of those that are not there."""
    if "focus" in sample:
        goes = _describe_walk(sample)
        yield f"read: the account that a walk draws next, at random from the neighbours of its place; it goes {goes}"
    if (walk := sample.get("walk", BUILT_IN)) != BUILT_IN:
        yield f"walk: {describe_walk(walk)}; it stays where it is if it does not accept the account that was drawn"
        yield "the weight of a visit is that of this walk, so that all accounts count equally"
    if sample.get("inward"):
        yield "accounts that mention an account are neighbours too: the first 100 that the platform's search returns"
    if "walkers" in sample:
        dropped = (
            f"its first {pluralize(sample.get('burn_in', 0), 'visit')} on topic, because these depend on where it began"
        )
        yield f"{pluralize(sample['walkers'], 'walk')}; each drops {dropped}"
    if "weights" in sample and walk == BUILT_IN:
        weighed = (
            "1 divided by the number of its neighbours"
            if sample["weights"] == "degree"
            else "the time that a walk stays, as drawn"
        )
        yield f"the weight of a visit is {weighed}, so that all accounts count equally"
    if sample.get("tree") or sample.get("labels") or sample.get("patterns") or sample.get("expressions"):
        yield "names, labels or a decision tree also decide what is on topic; these are not published here"
    elif "least" in sample:
        least = pluralize(sample["least"] or 1, "occurrence")
        yield f"an account is on topic if its posts that were read have at least {least} of the topic"


def _describe_walk(sample: Mapping[str, Any]) -> str:
    return FOCUSES[sample["focus"]].format(k=sample.get("k") or (3 if sample["focus"] == "trial" else 1))
