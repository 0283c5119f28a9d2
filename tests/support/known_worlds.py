"""A world that is known from the start, the doors that answer from it, and a referee that rescans all of it.

`World.hits[u]` counts the occurrences in u's posts, `World.links[u][v]` those in its posts that mention v, in order of
first appearance; `beta` and `alpha` follow from them. `missing[u]` lists what goes wrong, one reason an attempt (the
last one for ever; None: it is answered).
"""

from dataclasses import dataclass, field

import numpy as np

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import draw_uniform
from socialcrawl.engine.loop import Parts
from socialcrawl.engine.model import Answer, Grant, Outcome, Reply, Request, Stop
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.lab.instant import ImmediateExecutor, NullMonitor
from socialcrawl.storage.memory_store import MemoryStore


@dataclass
class World:
    hits: dict[int, int]
    links: dict[int, dict[int, int]] = field(default_factory=dict)
    missing: dict[int, list[str | None]] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)

    def ask(self, node: int) -> Answer:
        reasons = self.missing.get(node, [None])
        reason = reasons[min(self.asked.count(node), len(reasons) - 1)]
        self.asked.append(node)
        if reason is not None:
            return Answer(missing={node: reason})
        to = self.links.get(node, {})
        return Answer(1, self.hits[node], list(to), list(to.values()), {node: str(node)})


def diamond() -> World:
    r"""Occurrences beside the nodes; every link has one occurrence.

            0 (1)
           /     \
        1 (0)   2 (5)
        /  \    /  \
    3 (9)  4 (2)   5 (0)
             \     /
              6 (1)
    """
    to = {0: (1, 2), 1: (3, 4), 2: (4, 5), 4: (6,), 5: (6,)}
    return World({0: 1, 1: 0, 2: 5, 3: 9, 4: 2, 5: 0, 6: 1}, {u: dict.fromkeys(vs, 1) for u, vs in to.items()})


def outcome(pick, answer: Answer, at: float = 0.0) -> Outcome:
    """What an answer means: beta and alpha of section 2.3."""
    if pick.node in answer.missing:
        return Outcome(pick.n, pick.node, at, missing=answer.missing[pick.node])
    alpha = np.array([compute_worth(hits) for hits in answer.target_hits], np.float64)
    targets = np.array(list(answer.targets), np.int64)
    return Outcome(pick.n, pick.node, at, compute_worth(answer.hits), targets, alpha, None, answer.posts, answer.hits)


def collect(name: str, seeds, steps=None, *, seed=7, switch_after=3, start=None) -> Collect:
    """A fresh crawl; the seeds are put straight in line, as if they had been looked up."""
    line = Seeds()
    line.ready = list(seeds)
    return Collect(line, make_estimator(name, seed=seed, switch_after=switch_after, start=start), steps)


def crawl(world: World, by: Collect, size: int = 1, at_most: int = 10_000):
    """Drive a crawl by hand: its history, and why it ended."""
    history = []
    while sum(len(batch) for batch, _ in history) < at_most:
        batch = by.choose(size, 0.0)
        if isinstance(batch, Stop):
            return history, batch
        outcomes = [outcome(pick, world.ask(pick.node)) for pick in batch]
        by.absorb(batch, outcomes)
        history.append((batch, outcomes))
    return history, None


def sequence(history) -> list[int]:
    return [pick.node for batch, _ in history for pick in batch]


class KnownSource:
    """One request a node."""

    def width(self, act):
        return 1

    def start_conversations(self, batch, accounts):
        return [self._talk(pick) for pick in batch]

    def _talk(self, pick):
        reply = yield Request((pick.n, 0), "known", {"node": str(pick.node)}, 1, 0)
        return {pick.n: outcome(pick, reply.rows, reply.at)}


class KnownWire:
    def __init__(self, world: World) -> None:
        self.world = world

    def send(self, grant):
        answer = self.world.ask(int(grant.request.params["node"]))
        return Reply("missing" if answer.missing else "ok", grant.at, rows=answer)


class Freely:
    """A planner that allows everything."""

    def take(self, request, now):
        return Grant(request, "main", now)

    def abandon(self, grant):
        pass

    def settle(self, grant, reply, now):
        return None

    def fold(self, ledger, now):
        self.folded = len(list(ledger))


class Ticking:
    """A clock that moves one second whenever somebody looks at it, and interrupts after `until` looks."""

    def __init__(self, until: float = float("inf")) -> None:
        self.time, self.until = 0.0, until

    def now(self):
        self.time += 1.0
        return self.time

    def sleep(self, until):
        self.time = max(self.time, until)

    def interrupted(self):
        return self.time >= self.until


def parts(world: World, by: Collect, store=None, clock=None) -> Parts:
    """Everything `run` needs, answered from the known world."""
    doors = (store or MemoryStore(), KnownWire(world), Freely(), clock or Ticking(), ImmediateExecutor(), NullMonitor())
    return Parts(by, KnownSource(), *doors)


def added(numbers):
    """Their sum, one after the other: since Python 3.12 `sum` compensates for rounding."""
    total = 0.0
    for number in numbers:
        total += number
    return total


AGGREGATES = {"sum": added, "max": max, "avg": lambda xs: added(xs) / len(xs)}


def referee(world: World, seeds, name: str, steps: int, *, seed=7, switch_after=3) -> list[int]:
    """The sequence that the paper prescribes at r = 1, computed anew from the whole known graph at every step."""
    done, rows, values = [], [], []
    for n in range(len(seeds) + steps):
        if n < len(seeds):
            done.append(seeds[n])
            continue
        known = [
            (u, v, compute_worth(world.hits[u]), compute_worth(x))
            for u in done
            for v, x in world.links.get(u, {}).items()
        ]
        known = [link for link in known if link[0] != link[1]]
        seen = dict.fromkeys(node for u in done for node in (u, *world.links.get(u, {})))
        frontier = [v for v in seen if v not in done]
        if not frontier:
            break
        far = dict.fromkeys(seeds, 0)
        for _ in seen:  # Bellman and Ford
            for u, v, _w, _a in known:
                far[v] = min(far.get(v, len(seen)), far.get(u, len(seen)) + 1)
        turn = name
        if name.startswith("hybrid"):
            turn = name.replace("hybrid", "nh-ne" if len(rows) < switch_after else "lnh")
        family, *rest = turn.split("-")
        h = AGGREGATES.get(rest[-1] if rest else "", added)
        x = {v: features([(w, a) for _, to, w, a in known if to == v], h) for v in frontier}
        if turn == "lnh-wide":
            x = {v: all_features([(w, a) for _, to, w, a in known if to == v]) for v in frontier}
        if family == "random":
            scores = draw_uniform(seed, "random estimator", n - len(seeds), len(frontier)).tolist()
        elif family == "bfs":
            scores = [1 / (far[v] + 1) for v in frontier]
        elif family in ("opic", "nr"):
            links = [(u, v) for u, v, _, _ in known]
            far_reaching = opic(world, seeds, done, "".join(rest)) if family == "opic" else nr(world, done, seen, links)
            scores = [far_reaching[v] for v in frontier]
        elif family == "nh":
            scores = [x[v][["n", "e", "ne"].index(rest[0])] for v in frontier]
        else:
            scores = linear(rows, values, [x[v] for v in frontier])
        best = frontier[scores.index(max(scores))]
        rows.append(x[best])
        values.append(compute_worth(world.hits[best]))
        done.append(best)
    return done


def features(into, h) -> tuple[float, float, float]:
    """n, e and ne of section 5.2, over the in-links (w(u), w(e))."""
    return h([w for w, _ in into]), h([a for _, a in into]), h([w * a for w, a in into])


def all_features(into) -> tuple[float, ...]:
    """How many, and sum and max of n, e and ne."""
    sums, highest = features(into, added), features(into, max)
    return (float(len(into)), *(x for both in zip(sums, highest, strict=True) for x in both))


def opic(world: World, seeds, done, by: str) -> dict[int, float]:
    """The cash of every node after `done` have paid out theirs, in that order; 1 in all, on the seeds at first."""
    cash, into = dict.fromkeys(seeds, 1.0 / len(seeds)), {}
    for place, u in enumerate(done):
        to = {v: compute_worth(hits) for v, hits in world.links.get(u, {}).items() if v != u}
        for v in to:
            into.setdefault(v, []).append(compute_worth(world.hits[u]))
        value = {v: compute_worth(world.hits[v]) if v in done[:place] else added(into[v]) / len(into[v]) for v in to}
        shares = {"": dict.fromkeys(to, 1.0), "e": to, "n": value, "ne": {v: to[v] * value[v] for v in to}}[by]
        if not sum(shares.values()):
            shares = dict.fromkeys(to, 1.0)
        paid, cash[u] = cash.get(u, 0.0), 0.0
        for v, share in shares.items():
            cash[v] = cash.get(v, 0.0) + paid * (share / added(shares.values()))
    return {v: round(amount, 12) for v, amount in cash.items()}


def nr(world: World, done, seen, links, d: float = 0.5) -> dict[int, float]:
    """NR2 of every known node, as the solution of two dense systems."""
    seen = list(seen)
    place = {v: i for i, v in enumerate(seen)}
    a = np.zeros((len(seen), len(seen)))
    for u, v in links:
        a[place[u], place[v]] = 1.0
    out, into = np.maximum(a.sum(axis=1), 1), np.maximum(a.sum(axis=0), 1)
    w = np.array([compute_worth(world.hits[v]) if v in done else 0.0 for v in seen])
    own = np.eye(len(seen))
    up = np.linalg.solve(own - (1 - d) * a / out[:, None] / into[None], d * w)
    down = np.linalg.solve(own - (1 - d) * a.T / into[:, None] / out[None], d * up)
    return {v: round(down[i], 9) for v, i in place.items()}


def linear(rows, values, wanted) -> list[float]:
    """Predictions of ordinary least squares by numpy, minimum norm, to nine digits (so that ties are ties)."""
    if not rows:
        return [0.0] * len(wanted)
    x, y = np.array(rows), np.array(values)
    weights = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=1e-6)[0]
    return np.round((np.array(wanted) - x.mean(axis=0)) @ weights + y.mean(), 9).tolist()
