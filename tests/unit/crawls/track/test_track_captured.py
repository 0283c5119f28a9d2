"""Track: authors whom a capture brings are in the frontier with what is held of them, until they are visited."""

import numpy as np
import pytest

from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.visit_policies import PolicyMixture
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reason, Stop
from socialcrawl.graph.relevance import compute_worth


def track(names=()):
    line = Seeds([], [Node(name) for name in names], known=True)
    return Track(line, PolicyMixture("gai", "u", 0.0, 1), None, target=Target("relevance", cash=True))


def bring(crawl, hits, *, missing=None):
    """Absorb a batch of authors with these occurrences in their posts, by node."""
    batch = tuple(Pick(crawl.picks + place, Node(node), Act.CAPTURED) for place, node in enumerate(hits))
    found = zip(batch, hits.values(), strict=True)
    crawl.absorb(
        batch,
        [Outcome(one.n, one.node, 1.0, 0.0 if missing else compute_worth(x), missing=missing) for one, x in found],
    )
    return batch


def visit(crawl, hits=0, links=()):
    """Absorb a visit to whom the crawl chooses; the account."""
    (pick,) = crawl.choose(1, 2.0)
    alpha = np.array([1.0] * len(links))
    crawl.absorb((pick,), [Outcome(pick.n, pick.node, 2.0, compute_worth(hits), np.array(links, np.int64), alpha)])
    return pick.act, pick.node


def relevance(crawl, node):
    return crawl.graph.at(crawl.graph.row(node), "relevance")


def test_the_author_with_most_evidence_is_visited_first():
    crawl = track()
    assert isinstance(crawl.choose(1, 0.0), Stop)
    bring(crawl, {0: 1, 1: 9, 2: 3})
    assert relevance(crawl, 1) == compute_worth(9) ** 2
    assert [visit(crawl)[1] for _ in range(3)] == [1, 2, 0]


def test_what_is_renewed_takes_the_place_of_what_was_known_and_a_visit_that_of_both():
    crawl = track()
    bring(crawl, {0: 2, 1: 1})
    bring(crawl, {0: 8})
    assert relevance(crawl, 0) == pytest.approx(compute_worth(8) ** 2)
    assert visit(crawl, 5, [1]) == (Act.EXPAND, 0)
    assert relevance(crawl, 0) == pytest.approx(0.0)
    assert crawl.relevance == compute_worth(5), "all that the visit found, also what was held before"
    assert relevance(crawl, 1) == compute_worth(1) ** 2 + compute_worth(5)
    assert crawl.graph.at(crawl.graph.row(1), "indegree") == 1.0, "nobody links to an author because of a capture"


def test_authors_share_the_cash_to_begin_with_unless_seeds_are_named():
    crawl = track()
    bring(crawl, {0: 1, 1: 1})
    bring(crawl, {2: 1})
    assert [crawl.graph.at(row, "cash") for row in range(3)] == [0.5, 0.5, 0.0]
    named = track([5])
    bring(named, {0: 1})
    assert named.graph.at(named.graph.row(0), "cash") == 0.0
    assert visit(named, links=[6]) == (Act.SEED, 5)
    cash = {node: named.graph.at(named.graph.row(node), "cash") for node in (0, 5, 6)}
    assert cash[0] == cash[5] < cash[6], "the seed had all of it, and paid"


def test_a_forgotten_author_is_not_visited():
    crawl = track()
    bring(crawl, {0: 1, 1: 1})
    bring(crawl, {1: 0}, missing=Reason.FORGOTTEN)
    assert visit(crawl) == (Act.EXPAND, 0)
    assert isinstance(crawl.choose(1, 2.0), Stop)


def test_a_fold_is_the_same_crawl():
    crawl, history = track(), []
    for hits in ({0: 2, 1: 1}, {0: 8, 3: 4}):
        batch = bring(crawl, hits)
        history.append(
            (batch, [Outcome(p.n, p.node, 1.0, compute_worth(x)) for p, x in zip(batch, hits.values(), strict=True)])
        )
    again = track()
    again.fold(history)
    assert again.captured == crawl.captured
    rows = range(crawl.graph.size)
    assert [again.graph.features(row) for row in rows] == [crawl.graph.features(row) for row in rows]
    assert again.choose(3, 2.0) == crawl.choose(3, 2.0)
