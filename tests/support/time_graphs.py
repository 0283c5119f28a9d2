"""Time graphs for tests of Track, and what drives a crawl through them."""

import math

import numpy as np

from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.visit_policies import PolicyMixture
from socialcrawl.engine.model import Node, Outcome, Pick

TICK = 20.0  # seconds a visit takes


def track(*seeds, choice=None, steps=None, **more):
    line = Seeds()
    line.ready = [Node(seed) for seed in seeds or (0,)]
    return Track(line, choice or PolicyMixture(), steps, **more)


def answer(pick, at=0.0, links=(), *, value=0.0, missing=None, mark=""):
    """An outcome: `links` are targets, or pairs of target and alpha."""
    pairs = [link if isinstance(link, tuple) else (link, 1.0) for link in links]
    targets, alpha = np.array([v for v, _ in pairs], np.int64), np.array([a for _, a in pairs], np.float64)
    return Outcome(pick.n, pick.node, at, value, targets, alpha, missing, mark=mark)


def tell(crawl, node, act="expand", since="", **said):
    """Let a crawl absorb one visit."""
    pick = Pick(crawl.picks, Node(node), act, since=since)
    crawl.absorb((pick,), [answer(pick, **said)])


class Timed:
    """A time graph: the links (u, v, t) of the last `window` seconds are seen, those after `since` if that is given."""

    def __init__(self, size, links, end, seed=0, window=math.inf):
        g = np.random.default_rng(seed)
        self.size, self.window = size, window
        rank = lambda power: (size * g.random(links) ** power).astype(int)  # noqa: E731 (two lines, used at once)
        us, vs = rank(2), rank(3)
        us[: size - 1], vs[: size - 1] = np.arange(size - 1), np.arange(1, size)  # all can be reached
        ts = g.random(links) * end
        ts[: size - 1] = 0.0
        order = np.argsort(ts, kind="stable")
        self.links = [(int(u), int(v), float(t)) for u, v, t in zip(us[order], vs[order], ts[order], strict=True)]
        self.of = {u: [(v, t) for w, v, t in self.links if w == u] for u in set(us.tolist())}

    def visit(self, pick, now, value=0.0):
        since = float(pick.since) if pick.since else -math.inf
        seen = [v for v, t in self.of.get(pick.node, ()) if since < t <= now and t >= now - self.window]
        counts = {v: seen.count(v) for v in dict.fromkeys(seen)}
        return answer(pick, now, list(counts.items()), value=value, mark=repr(now))


def drive(crawl, world, picks, size=1, failing=lambda pick: None):
    """The history of a crawl of at most so many picks; `failing` says why a pick is not answered."""
    history, now = [], 0.0
    while crawl.picks < picks:
        batch = crawl.choose(size, now)
        if not isinstance(batch, tuple):
            break
        outcomes = []
        for pick in batch:
            now += TICK
            why = failing(pick)
            outcomes.append(answer(pick, now, missing=why) if why else world.visit(pick, now))
        crawl.absorb(batch, outcomes)
        history.append((batch, outcomes))
    return history
