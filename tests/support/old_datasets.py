"""Old datasets for tests of Refresh, what drives a crawl through them, and histories as columns."""

import numpy as np

from socialcrawl.crawls.refresh.crawl import Refresh
from socialcrawl.crawls.refresh.old_dataset import OldDataset
from socialcrawl.crawls.refresh.rules import RefreshRules
from socialcrawl.engine.model import Node, Outcome, Pick, Stop
from socialcrawl.engine.protocols import Columns


def web(size, links, seed=0, sites=5):
    """An old dataset in which some rows have many links in, others none, and who is active (death by site and link)."""
    g = np.random.default_rng(seed)
    where = g.integers(-1, sites, size)
    old = OldDataset.of(g.integers(0, size, links), (size * g.random(links) ** 2).astype(int), size, sites=where)
    active = g.random(size) < np.array([0.9, 0.1, 0.5, 0.3, 0.05, 0.4])[where]
    return old, active


def said(pick, value=0.0, *, missing=None, targets=(), mark=""):
    targets = np.array(targets, np.int64)
    return Outcome(pick.n, pick.node, 0.0, value, targets, np.ones(len(targets)), missing, mark=mark)


def bring(crawl, lines):
    """The batch of an import that a crawl absorbed; `lines`: node, targets, site, why it is not there or None."""
    batch = tuple(Pick(crawl.picks + i, Node(line[0]), "import") for i, line in enumerate(lines))
    outcomes = [
        said(pick, targets=line[1], mark=line[2], missing=line[3]) for pick, line in zip(batch, lines, strict=True)
    ]
    crawl.absorb(batch, outcomes)
    return batch, outcomes


def lines_of(old, *, sites=True):
    """The lines that bring a whole dataset."""
    marks = ["" if not sites or site < 0 else f"site{site}" for site in old.sites.tolist()]
    return [
        (int(old.nodes[u]), [int(old.nodes[v]) for v in old.list_targets(u)], marks[u], None) for u in range(old.size)
    ]


def drive(crawl, active, size=1, most=10**9, odd=lambda pick: None):
    """The history of a crawl to its end, or to so many picks; `odd` says of a pick what else is said than the truth."""
    history = []
    while crawl.picks < most:
        batch = crawl.choose(size, 0.0)
        assert batch == crawl.choose(size, 0.0)
        if isinstance(batch, Stop):
            break
        outcomes = [odd(pick) or said(pick, float(active[pick.node])) for pick in batch]
        crawl.absorb(batch, outcomes)
        history.append((batch, outcomes))
    return history


def order_of(history):
    return [pick.node for batch, _ in history for pick in batch if pick.act == "probe"]


def refresh(old=None, seed=1, steps=None, width=1, **how):
    return Refresh(RefreshRules(**how), seed, steps, lambda act: width if act == "probe" else 1, old=old)


class InColumns:
    """A history that is read as columns, `some` picks at a time."""

    def __init__(self, history, some=7):
        self.history, self.some = history, some

    def __iter__(self):
        return iter(self.history)

    def columns(self, *, features=True, rest=True):
        held = []
        for entry in self.history:
            held.append(entry)
            if sum(len(batch) for batch, _ in held) >= self.some:
                yield columns(held, rest)
                held = []
        if held:
            yield columns(held, rest)


def columns(held, rest):
    picks = [pick for batch, _ in held for pick in batch]
    outcomes = [outcome for _, some in held for outcome in some]
    return Columns(
        np.array([pick.n for pick in picks]),
        np.array([batch[0].n for batch, _ in held for _ in batch]),
        np.array([pick.node for pick in picks]),
        np.array([pick.act for pick in picks]),
        np.array([outcome.value for outcome in outcomes]),
        np.array([str(outcome.missing or "") for outcome in outcomes]),
        np.cumsum([0, *(len(outcome.targets) for outcome in outcomes)]),
        np.concatenate([outcome.targets for outcome in outcomes]),
        np.concatenate([outcome.alpha for outcome in outcomes]),
        mark=np.array([outcome.mark for outcome in outcomes]) if rest else None,
    )
