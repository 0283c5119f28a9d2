"""How a campaign that samples chose whom to read, in the words of a datasheet."""

from collections.abc import Iterator, Mapping
from typing import Any

from socialcrawl.text.wording import pluralize

FOCUSES = {
    "none": "anywhere, and those off topic are left out afterwards",
    "hard": "to accounts on topic only, and stays where it is when it draws another",
    "neighbourhood": "to accounts on topic and to those from which short walks of {k} links meet one",
    "trial": "to anybody, and back when {k} accounts in a row were off topic",
    "ancestor": "to accounts on topic and to those on a wider topic, which are left out afterwards",
}


def tell_choice(sample: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the settings under [sample]; nothing of those that are not there."""
    if "focus" in sample:
        goes = _describe_walk(sample)
        yield f"read: the account that a walk draws next, at random among the neighbours of where it is; it goes {goes}"
    if sample.get("inward"):
        yield "neighbours are also who mentions an account, as far as the platform's search tells: the first 100"
    if "walkers" in sample:
        dropped = f"its first {pluralize(sample.get('burn_in', 0), 'visit')} on topic, as these tell where it began"
        yield f"{pluralize(sample['walkers'], 'walk')}, of which each drops {dropped}"
    if "weights" in sample:
        weighed = "one over its neighbours" if sample["weights"] == "degree" else "the time that a walk stays, as drawn"
        yield f"each visit weighs {weighed}, so that all accounts count alike"
    if sample.get("tree") or sample.get("labels") or sample.get("patterns") or sample.get("expressions"):
        yield "names, labels or a decision tree also decide what is on topic: ask the maker of the sample"
    elif "least" in sample:
        least = pluralize(sample["least"] or 1, "occurrence")
        yield f"on topic is an account with {least} of the topic in what was read of it"


def _describe_walk(sample: Mapping[str, Any]) -> str:
    return FOCUSES[sample["focus"]].format(k=sample.get("k") or (3 if sample["focus"] == "trial" else 1))
