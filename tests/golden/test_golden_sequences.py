r"""Golden sequences: on four graphs that fit into a drawing, the order of steps of every estimator and strategy.

The orders are part of the test kit (`socialcrawl.testing`). They are written out, not computed: they come from the
definitions (Gouriten et al., sections 4 and 5) by the referee at the end of this file, which knows nothing of the
package, does all sums in fractions, and rescans the whole known graph at every step; some were followed by hand, in the
docstrings of the graphs.
"""

import math
import zlib
from fractions import Fraction

import numpy as np
import pytest

from socialcrawl.crawls.collect.estimators import NAMES
from socialcrawl.crawls.collect.strategies import STRATEGIES
from socialcrawl.lab.simulation import ReplaySetup, simulate
from socialcrawl.testing.golden_sequences import DIGITS, GOLDEN_SEQUENCES, WAYS
from socialcrawl.testing.known_graphs import KNOWN_GRAPHS, DrawnGraph

GRAPHS, TABLE = KNOWN_GRAPHS, GOLDEN_SEQUENCES
EVERYBODY = (*NAMES, "oracle")


def replayed(graph: str, name: str, way, rate: int, budget: int = 12, **more):
    drawn = GRAPHS[graph]
    setup = ReplaySetup(name, budget, refresh_rate=rate, seed=1, switch_after=3, **way, **more)
    return simulate(drawn.make_known(), drawn.seeds, setup)


def spelled(nodes) -> str:
    return "".join(DIGITS[node] for node in nodes)


def test_the_table_holds_every_estimator_and_every_strategy_on_every_graph():
    assert set(TABLE) == {(graph, name) for graph in GRAPHS for name in EVERYBODY}
    assert {len(row) for row in TABLE.values()} == {len(WAYS)}
    assert {way["strategy"] for way, _ in WAYS} == set(STRATEGIES)
    reachable = {"market": DIGITS[1:10], "towns": "12456789", "even": DIGITS[1:11], "detour": DIGITS[1:]}
    assert all("".join(sorted(order)) == reachable[graph] for (graph, _), row in TABLE.items() for order in row)


def test_no_two_estimators_agree_everywhere():
    rows = {name: tuple(order for graph in GRAPHS for order in TABLE[graph, name]) for name in EVERYBODY}
    assert len(set(rows.values())) == len(EVERYBODY)
    assert all(len({TABLE[graph, name][0] for name in EVERYBODY}) >= 15 for graph in GRAPHS)


@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_replay_takes_the_golden_steps(graph, name):
    orders = [spelled(replayed(graph, name, way, rate).steps) for way, rate in WAYS]
    assert orders == TABLE[graph, name]


@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_golden_steps_are_those_of_the_definitions(graph, name):
    orders = [spelled(referee(GRAPHS[graph], name, way, rate)) for way, rate in WAYS]
    assert orders == TABLE[graph, name]


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("objective", ["sum", "count"])
def test_the_curve_adds_up_the_golden_steps_without_the_seeds_and_is_held_at_the_end(graph, objective):
    drawn = GRAPHS[graph]
    for place, (way, rate) in enumerate(WAYS):
        order = TABLE[graph, "nh-ne-sum"][place]
        worth = [drawn.beta[DIGITS.index(node)] for node in order]
        if objective == "count":
            worth = [int(value > 0) for value in worth]
        replay = replayed(graph, "nh-ne-sum", way, rate, budget=14, objective=objective)
        wanted = [sum(worth[: step + 1]) for step in range(14)]
        assert replay.curve.tolist() == wanted
        assert wanted[-1] == wanted[len(order) - 1]


@pytest.mark.parametrize("budget", range(1, 9))
def test_a_smaller_budget_takes_the_first_of_the_golden_steps_also_within_a_batch(budget):
    for (graph, name), orders in TABLE.items():
        if name in ("opic-n", "lnh-max", "hybrid-sum"):
            assert spelled(replayed(graph, name, *WAYS[1], budget=budget).steps) == orders[1][:budget]


@pytest.mark.parametrize(
    ("start", "h", "order"),
    [
        ("bfs", "sum", "123546789ab"),
        ("bfs", "max", "123589a4b67"),
        ("opic", "sum", "125346789ab"),
        ("opic", "max", "125389a4b67"),
        ("nh-e-max", "sum", "15342689ab7"),
        ("nh-e-max", "max", "15342689a7b"),
    ],
)
def test_a_hybrid_takes_the_first_three_steps_of_the_start_that_is_named(start, h, order):
    assert spelled(replayed("detour", f"hybrid-{h}", *WAYS[0], start=start).steps) == order
    assert order[:3] == TABLE["detour", start][0][:3]
    assert spelled(referee(GRAPHS["detour"], f"hybrid-{h}", *WAYS[0], start=start)) == order


def test_with_even_weights_the_estimators_that_differ_by_weights_are_the_same():
    for one, other in [("opic", "opic-e"), ("opic-n", "opic-ne"), *((f"nh-n-{h}", f"nh-ne-{h}") for h in H)]:
        assert TABLE["even", one] == TABLE["even", other]
        assert TABLE["market", one] != TABLE["market", other]


# -- the referee: definitions, fractions, no memory from step to step

H = {"sum": sum, "max": max, "avg": lambda xs: Fraction(sum(xs), len(xs))}
WIDE = ("links", "n-sum", "n-max", "e-sum", "e-max", "ne-sum", "ne-max")


def referee(graph: DrawnGraph, name: str, way, rate: int, start: str | None = None) -> list[int]:
    done, rows = list(graph.seeds), []
    while (n := len(rows)) < 12:
        known = dict.fromkeys([*graph.seeds, *(v for u in done for v in graph.links[u])])
        into = {v: [(graph.beta[u], graph.links[u][v]) for u in done if v in graph.links[u]] for v in known}
        into = {v: links for v, links in into.items() if v not in done}
        if not into:
            break
        turn = name
        if name.startswith("hybrid"):
            h = name.removeprefix("hybrid-")
            turn = (start or f"nh-ne-{h}") if n < 3 else f"lnh-{h}"
        scores = scored(graph, turn, done, rows, into)
        picked = [*chosen(scores, way, min(rate, 12 - n), n)]
        rows += [(into[v], graph.beta[v]) for v in picked]
        done += picked
    return done[len(graph.seeds) :]


def scored(graph: DrawnGraph, name: str, done, rows, into) -> dict[int, Fraction]:
    """The score of each frontier node, by the known in-links (value, weight) of each, in order of discovery."""
    family, _, rest = name.partition("-")
    if family == "random":
        return dict(zip(into, map(Fraction, draws("random estimator", len(rows), len(into))), strict=True))
    if family == "bfs":
        return {v: Fraction(1, distance(graph, done, v) + 1) for v in into}
    if family == "adaptive":
        return hoped(graph, done, rows, into)
    if family == "nh":
        return {v: features(links, [rest])[0] for v, links in into.items()}
    if family == "lnh":
        which = WIDE if rest == "wide" else (f"n-{rest}", f"e-{rest}", f"ne-{rest}")
        plane = fitted([features(links, which) for links, _ in rows], [value for _, value in rows])
        return {v: plane(features(links, which)) for v, links in into.items()}
    if family in ("opic", "nr"):
        everybody = opic(graph, done, rest) if family == "opic" else navigational(graph, done, list(into))
        return {v: everybody[v] for v in into}
    return {v: Fraction(graph.beta[v]) for v in into}


def hoped(graph: DrawnGraph, done, rows, into) -> dict[int, Fraction]:
    """What the adaptive estimator scores before its first fit (10 rows), to nine digits."""
    # A record is of a node and a kind of its links: the sum of the values of its fetched targets, and their number.
    now, told, seeds, mu = {}, {}, len(graph.seeds), [0.0, 0.0]
    for i, u in enumerate(done):
        for kind in (False, True):
            before = [graph.beta[v] for v in done[:i] if v in graph.links[u] and (graph.links[u][v] > 0) == kind]
            now[u, kind] = told[u, kind] = sum(before), len(before)
        for v in done[:i]:
            if u in graph.links[v]:
                record = v, graph.links[v][u] > 0
                now[record] = now[record][0] + graph.beta[u], now[record][1] + 1
                told[record] = now[record] if now[record][1] + 3 >= 1.25 * (told[record][1] + 3) else told[record]
        if i + 1 - seeds in (1, 2, 4, 8):  # rows that were learned
            mean = sum(graph.beta[v] for v in done[: i + 1]) / (i + 1)
            by_kind = [[now[v, kind] for v in done[: i + 1]] for kind in (False, True)]
            mu = [(sum(a for a, _ in some) + 3 * mean) / (sum(b for _, b in some) + 3) for some in by_kind]

    def log(x):
        two = math.floor(math.log2(1 + x))
        return (two + (1 + x) / 2**two - 1) * math.log(2)

    def hope(v, links):
        of = [u for u in done if v in graph.links[u]]
        flow = sum(graph.beta[u] / math.sqrt(len(graph.links[u])) for u in of)
        records = [(mu[graph.links[u][v] > 0], *told[u, graph.links[u][v] > 0]) for u in of]
        known = sum(total / (count + 3) for _, total, count in records)
        record = sum((total + 3 * mean) / (count + 3) for mean, total, count in records) / len(of)
        n, e, ne = (float(x) for x in features(links, ["n-sum", "e-sum", "ne-sum"]))
        seen = 0.75 * (log(n) + log(e) + log(ne)) + 0.5 * log(len(of)) + 0.25 * log(flow)
        return seen + 0.5 * log(known) + 1.5 * record

    return {v: Fraction(round(hope(v, links), 9)) for v, links in into.items()}


def draws(purpose: str, n: int, size: int) -> list[float]:
    return np.random.default_rng([1, zlib.crc32(purpose.encode()), n]).random(size).tolist()


def features(links, which) -> list[Fraction]:
    kinds = {"n": [w for w, _ in links], "e": [a for _, a in links], "ne": [w * a for w, a in links]}
    pairs = [x.split("-") for x in which if x != "links"]
    return [Fraction(len(links))] * ("links" in which) + [Fraction(H[h](kinds[of])) for of, h in pairs]


def distance(graph: DrawnGraph, done, node: int) -> int:
    """Rings around the seeds, over all links that are known by now."""
    far, ring = 0, set(graph.seeds)
    while node not in ring:
        far, ring = far + 1, ring | {v for u in ring if u in done for v in graph.links[u]}
    return far


def opic(graph: DrawnGraph, done, by: str) -> dict[int, Fraction]:
    """The cash of all nodes after those of `done` have paid out theirs, one after the other."""
    cash = {v: Fraction(1, len(graph.seeds)) for v in graph.seeds}
    for i, u in enumerate(done):
        share = {}
        for v, a in graph.links[u].items():
            parents = [graph.beta[t] for t in done[: i + 1] if v in graph.links[t]]
            value = graph.beta[v] if v in done[:i] else Fraction(sum(parents), len(parents))
            share[v] = Fraction({"": 1, "e": a, "n": value, "ne": a * value}[by])
        if not sum(share.values()):
            share = dict.fromkeys(share, Fraction(1))
        paid = cash.pop(u)
        for v, part in share.items():
            cash[v] = cash.get(v, Fraction(0)) + paid * part / sum(share.values())
    return cash


def navigational(graph: DrawnGraph, done, frontier) -> dict[int, Fraction]:
    """NR2 with d = 1/2: two systems of equations, solved."""
    nodes, half = [*done, *frontier], Fraction(1, 2)
    out = {u: list(graph.links[u]) if u in done else [] for u in nodes}
    into = {v: [u for u in done if v in graph.links[u]] for v in nodes}

    def rank(own, near, other):
        share = {v: {u: half / len(near[v]) / len(other[u]) for u in near[v]} for v in nodes}
        matrix = [[int(u == v) - share[v].get(u, 0) for u in nodes] for v in nodes]
        return dict(zip(nodes, solved(matrix, [half * own[v] for v in nodes]), strict=True))

    return rank(rank({v: graph.beta[v] if v in done else 0 for v in nodes}, out, into), into, out)


def fitted(x, y):
    """Least squares about the means. A slope G z with G G z = X'y lies in the span of the rows: the least one."""
    if not y:
        return lambda wanted: Fraction(0)
    means, mean = [Fraction(sum(column), len(y)) for column in zip(*x, strict=True)], Fraction(sum(y), len(y))
    columns = [[a - m for a in column] for column, m in zip(zip(*x, strict=True), means, strict=True)]
    gram = [[dot(one, other) for other in columns] for one in columns]
    z = solved([[dot(one, other) for other in gram] for one in gram], [dot(c, [v - mean for v in y]) for c in columns])
    slopes = [dot(line, z) for line in gram]
    return lambda wanted: mean + dot(slopes, [a - m for a, m in zip(wanted, means, strict=True)])


def dot(one, other) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def solved(matrix, right) -> list[Fraction]:
    """A solution by Gauss and Jordan, with 0 for unknowns that nothing settles."""
    lines, settled = [[*map(Fraction, line), Fraction(b)] for line, b in zip(matrix, right, strict=True)], []
    for k in range(len(right)):
        i = len(settled)
        pivot = next((j for j in range(i, len(lines)) if lines[j][k]), None)
        if pivot is None:
            continue
        lines[i], lines[pivot] = lines[pivot], lines[i]
        first = lines[i] = [a / lines[i][k] for a in lines[i]]
        lines = [ln if ln is first else [a - ln[k] * b for a, b in zip(ln, first, strict=True)] for ln in lines]
        settled.append(k)
    solution = dict(zip(settled, [line[-1] for line in lines], strict=False))
    return [solution.get(k, Fraction(0)) for k in range(len(right))]


def chosen(scores: dict[int, Fraction], way, size: int, n: int):
    """Definitions 7 and 8, and shares: one after the other, each from what the others left."""
    left = dict(scores)
    for i in range(min(size, len(left))):
        node = max(left, key=lambda v: left[v])  # the first of equals
        if way["strategy"] == "altered-greedy":
            coin, place = draws("altered greedy", n + i, 2)
            near = [v for v in left if left[node] - left[v] <= Fraction(way["zeta"]) * left[node]]
            if coin >= way["q"] and near:
                node = near[int(place * len(near))]
        elif way["strategy"] == "proportional":
            weights = {v: max(score, Fraction(0)) for v, score in left.items()}
            if not any(weights.values()):
                weights = dict.fromkeys(left, Fraction(1))
            point = Fraction(draws("proportional", n + i, 1)[0]) * sum(weights.values())
            reached = dict(zip(weights, np.cumsum(list(weights.values())), strict=True))
            node = next(v for v in weights if point < reached[v])
        del left[node]
        yield node
