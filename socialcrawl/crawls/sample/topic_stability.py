"""How much of what on-topic nodes link to is on topic (Bar-Yossef, Kanungo, Krauthgamer, section 5.1): all their links.

The list of neighbours of a walk (neighbour_lists.py) lacks links: those to nodes that were read before and did not
know of them, unless the platform's search tells of all. Links to nodes that were read before are all known, whether
they are in the list or not, and so is where they lead. All others are in the list, from which a draw takes each alike:

all links of a node       = those back, to nodes read before      + those ahead
of them on topic          = those back that are on topic, counted + degree * (draw is one ahead, on topic), in the mean

Where a draw went is read whatever it is, so nothing hangs on who was read for other reasons. Links to nodes that cannot
be read are left out of both lines.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.estimates import CONFIDENCE, EXACT, Bar, Estimate, Series, list_tenths, make_histogram
from socialcrawl.crawls.sample.neighbour_lists import UNREAD
from socialcrawl.crawls.sample.visits import Visits
from socialcrawl.crawls.sample.walks import Walks

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TopicStability:
    """How much of what on-topic accounts link to is on topic.

    Attributes:
        staying: the share of their links that lead to on-topic accounts, all links alike.
        each: the mean, over the accounts that link to somebody, of the share of their own links. One of whose links
            some cannot be read counts by the rest.
        bars: how many of them have which share; () where not all of anybody's links were followed.
        lost: the share of their links that lead to accounts that cannot be read, which the others leave out.
    """

    staying: Estimate
    each: Estimate
    bars: tuple[Bar, ...]
    lost: Estimate


def measure_stability(walks: Walks, rows: Visits, weight: Floats, *, complete: bool = False) -> TopicStability:
    """Return the links of the nodes that a walk drew, or of all nodes.

    Args:
        walks: all walks.
        rows: what they drew.
        weight: float64[m], what each row counts; 0 where it is of a node off topic.
        complete: whether the rows are all nodes, of which all neighbours were read.
    """
    judged, confidence = walks.rules.exact or complete, EXACT if complete else CONFIDENCE
    back, on, outs = (
        np.array(column, np.float64)[rows.place] for column in (walks.lists.back, walks.lists.back_on, walks.lists.outs)
    )
    ahead, links, hits = _list_all(walks, rows) if judged else _list_drawn(walks, rows)
    many, every = back + links, np.maximum(outs, 1.0)
    part = np.divide(on + hits, many, out=np.zeros(len(many)), where=many > 0.0)
    gone = np.divide(ahead - links, back + ahead, out=np.zeros(len(many)), where=back + ahead > 0.0)
    own = weight * (many > 0.0 if judged else many / every)
    bars: tuple[Bar, ...] = ()
    if judged:
        bars = make_histogram(np.where(own > 0.0, part, np.nan), list_tenths(), own, rows.walker, confidence=confidence)

    def series(weights: Floats) -> Series:
        return Series.of(weights, rows.walker, None, confidence)

    alike = series(weight * many)
    tried = series(weight * (back + ahead)) if gone.any() else alike
    return TopicStability(
        alike.estimate_share(part), series(own).estimate_share(part), bars, tried.estimate_share(gone)
    )


def _list_drawn(walks: Walks, rows: Visits) -> tuple[Floats, Floats, Floats]:
    """Return unbiased estimates from each row: the number of links ahead, of them those read, of these on topic."""
    place = walks.lists.find_places(rows.proposal)
    ahead = rows.proposal_linked & ~((place >= 0) & (place < rows.place)) & (place != UNREAD)
    times = np.where(ahead, walks.lists.count_entries(rows.place), 0.0)
    return times, times * (rows.proposal_on_topic >= 0), times * (rows.proposal_on_topic > 0)


def _list_all(walks: Walks, rows: Visits) -> tuple[Floats, Floats, Floats]:
    """Return the same for each row, as it is: all neighbours of a node were read before the first draw."""
    lists = walks.lists
    owner, codes = lists.list_entries()
    owner, linked = owner[codes & 1 == 0], codes[codes & 1 == 0] >> 1
    place, topical = lists.find_places(linked), lists.find_topical(linked)
    ahead = ~((place >= 0) & (place < owner))
    lengths, links, hits = (
        np.bincount(owner[some], minlength=len(lists)).astype(np.float64)[rows.place]
        for some in (ahead, ahead & (topical >= 0), ahead & (topical > 0))
    )
    return lengths, links, hits
