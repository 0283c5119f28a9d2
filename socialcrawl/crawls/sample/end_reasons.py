"""Why a sample ended or could not begin, in words."""

from collections import Counter
from collections.abc import Mapping

from socialcrawl.crawls.sample.walks import ALONE, IDLE, LENGTH, QUOTA, Walks
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Node
from socialcrawl.text.wording import pluralize


def explain_end(walks: Walks) -> str:
    """Return what ended the walks, a sentence, and what to do if it is too soon."""
    rules, whys = walks.rules, Counter(walker.why for walker in walks.walkers)
    words = {
        QUOTA: f"all {rules.samples or 0:,} samples are drawn",
        LENGTH: f"all {rules.length or 0:,} steps of each walk are done",
        IDLE: (
            f"the walks have met nobody new in {pluralize(rules.idle, 'step')}: what is in reach of their starts has "
            f"{pluralize(len(walks.lists), 'account')}, and all was read; for more, name other seeds or a softer focus"
        ),
        ALONE: "the walks are at accounts without neighbours to go to: name other seeds, or a softer focus",
    }
    return "; ".join(words[why] for why in (QUOTA, LENGTH, IDLE, ALONE) if why in whys)


def explain_missing_start(seeds: Seeds, missing: Mapping[Node, str]) -> str:
    """Return why no walk can start, and what to do."""
    if not missing:
        return seeds.complaint()
    reasons = ", ".join(f"{count:,} {why}" for why, count in sorted(Counter(missing.values()).items()))
    return f"none of the seeds can be a start ({reasons}): name seeds that can be read and are on topic"
