"""What a Track crawl is after, and how it counts: the choices that the papers leave open, by name.

`invert_worth` is the inverse of f (`relevance.compute_worth`): totals are kept as occurrences, and f is applied to
totals, because f is not additive. A second visit moves values and weights by the difference of f of the totals.
"""

import math
from dataclasses import dataclass

from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import explain_unknown

TARGETS = ("indegree", "importance", "relevance")
"""In-links seen so far (Kumar et al.); OPIC's importance (Abiteboul et al.); relevance of those who link to it."""

PARALLEL = ("once", "visits", "each")
"""A pair (u, v) counts once for ever; once a visit that brought it; as often as alpha says (the laboratory)."""

MOST = 37.0  # f of more than 2^52 occurrences: more than there are


@dataclass(frozen=True, slots=True)
class Target:
    """What expansions look for, and how links count.

    Attributes:
        name: one of TARGETS: the weight that expansions go by.
        topical: whether cash flows in proportion to alpha, so that importance is that among relevant links; else
            equally to all whom an account links to.
        parallel: one of PARALLEL: how often a link counts for in-degrees and "outlinks seen", which never expire.
        per_time: whether a link score is divided by the time since the visit before, as a yield is. The paper calls
            them analogous and prints no division.
        small: the weight of the small edge to OPIC's virtual page, an ordinary link having 1.
        cash: whether cash is kept also where neither target nor policy asks for it.
        memory: how much of OPIC's clock G importance looks back on (Abiteboul et al., section 3), in
            which a greedy visit of everybody takes about 2; None: the whole history.
        lean: what the virtual page and the small edges favour: 1 accounts that were never read, -1 those that were,
            0 neither.
        extra: what the virtual page adds to each unit of cash that goes along links with the topic, as long as it has
            any.

    Raises:
        SettingsError: an unknown name, or a number out of range.
    """

    name: str = "indegree"
    topical: bool = False
    parallel: str = "once"
    per_time: bool = False
    small: float = 1.0
    cash: bool = False
    memory: float | None = None
    lean: float = 0.0
    extra: float = 0.0

    def __post_init__(self) -> None:
        for given, known, what in ((self.name, TARGETS, "target"), (self.parallel, PARALLEL, "way to count links")):
            if given not in known:
                raise SettingsError(explain_unknown(what, given, known))
        if self.memory is not None and not 0 < self.memory < math.inf:
            raise SettingsError(f"memory = {self.memory}: what importance looks back on is above 0, or all there is.")
        if not -1 <= self.lean <= 1:
            raise SettingsError(f"lean = {self.lean}: it must be between -1 (refresh) and 1 (discovery).")
        if not 0 <= self.extra < math.inf:
            raise SettingsError(f"extra = {self.extra}: what links with the topic bring besides is 0 or more.")

    @property
    def column(self) -> str:
        """The column of the graph that expansions go by."""
        return "cash" if self.name == "importance" else self.name


def invert_worth(worth: float) -> int:
    """Return the occurrences whose worth f is `worth`: the inverse of `relevance.compute_worth`, 0 for no worth."""
    return round(math.exp(min(worth, MOST) - 1.0)) if worth > 0 else 0
