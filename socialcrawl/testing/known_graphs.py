"""Known graphs that fit into a drawing, and random ones: what crawls of tests read instead of a platform.

In the drawings nodes are 0 .. 9, a, b; values stand in round brackets, weights on the arrows, seeds in square brackets
where there are two.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import compute_worth


class DrawnGraph(NamedTuple):
    """A small graph.

    Attributes:
        seeds: the nodes that a crawl starts with, in order.
        beta: the relevance of each node.
        links: {node: {the node that it mentions: the weight of the link}}.
    """

    seeds: Sequence[int]
    beta: Sequence[float]
    links: Mapping[int, Mapping[int, float]]

    def make_known(self) -> KnownGraph:
        """Return the same as a graph that crawls can be replayed on."""
        rows = [self.links[u] for u in range(len(self.beta))]
        return KnownGraph(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            np.array([v for row in rows for v in row], np.int64),
            np.array([a for row in rows for a in row.values()], np.float64),
            np.array(self.beta, np.float64),
        )


def draw_random(size: int = 60, links: int = 5, seed: int = 1) -> DrawnGraph:
    """Return a random graph whose seeds are 0 and 1; the weights of its links and values are f of small counts.

    Args:
        size: the number of nodes, at least 2.
        links: the links of a node on average, about.
        seed: of the random draws.
    """
    draw = np.random.default_rng([seed, size])
    beta = [compute_worth(int(hits)) for hits in draw.integers(0, 6, size)]
    rows = {
        u: {
            int(v): compute_worth(int(draw.integers(0, 4)))
            for v in draw.permutation(size)[: draw.integers(0, 2 * links)]
            if v != u
        }
        for u in range(size)
    }
    return DrawnGraph([0, 1], beta, rows)


def draw_market() -> DrawnGraph:
    r"""Return a hub without value (1), ties, dead ends (4 and 8), links back to nodes that were fetched.

    0 (1) --2--> 1 (0) --3--> 4 (2)
      |            |-----4--> 5 (5) --1--> 9 (2) --1--> 2
      |            |-----3--> 6 (1) --4--> 9,  6 --1--> 0
      |            `-----3--> 7 (4) --2--> 9
      |---1--> 2 (3) --1--> 6,  2 --2--> 7
      `---2--> 3 (3) --1--> 7,  3 --2--> 8 (6)

    nh-n-sum, greedy: 1, 2, 3 tie at w(0) = 1: 1 was discovered first. It is worth nothing, so 4 .. 7 have 0, 2 and 3
    still 1: 2 comes before 3. Its 3 go to 6 and 7 (0 + 3 each): 6, known before 7, then 7 (3 > 1). 9 has 1 + 4: 9. Then
    3 (1), 8 (3), and 4 and 5 with nothing, in order of discovery: 1 2 6 7 9 3 8 4 5.

    nh-e-sum, greedy: 1 and 3 tie at 2: 1. Then 5 by 4; 4, 6, 7 tie at 3: 4, a dead end, then 6, which lifts 9 to 1 + 4:
    9, which lifts 2 to 1 + 1. 7 has 3: 7. 2 and 3 tie at 2: 2, 3, and 8 is last: 1 5 4 6 9 7 2 3 8.

    opic, greedy: 1, 2, 3 hold 1/3 each: 1, which pays 1/12 to each of four; 2, which pays 1/6 to 6 and 7 (1/4 each); 3
    (1/3) before them. 7 has 1/4 + 1/6 then, pays it all to 9: 7, 9. What 9 pays to 2 stays there. 6 has 1/4, 8 1/6,
    4 and 5 1/12: 1 2 3 7 9 6 8 4 5.

    lnh-sum, greedy: without rows all have 0: 1. Its row (n, e, ne) = (1, 2, 2) with value 0 says 0 of everybody: 2,
    with row (1, 1, 1) and value 3. The least slopes through both are (0, -3/2, -3/2): 6 - 3/2 (e + ne). 3 with row
    (1, 2, 2) has 0; 4 with (0, 3, 0) 3/2; 5 with (0, 4, 0) 0; 6 and 7 are below: 4 is next. 1 2 4 ...
    """
    return DrawnGraph(
        [0],
        [1, 0, 3, 3, 2, 5, 1, 4, 6, 2],
        {
            0: {1: 2, 2: 1, 3: 2},
            1: {4: 3, 5: 4, 6: 3, 7: 3},
            2: {6: 1, 7: 2},
            3: {7: 1, 8: 2},
            4: {},
            5: {9: 1},
            6: {9: 4, 0: 1},
            7: {9: 2},
            8: {},
            9: {2: 1},
        },
    )


def draw_towns() -> DrawnGraph:
    r"""Return two seeds, 3 asked before 0, that are linked with each other; a and b, worth most, cannot be reached.

    [3] (1) --1--> 0, [0] (2) --2--> 3
      |                |---1--> 1 (1) --1--> 4 (0) --5--> 8 (2) --1--> 9 (6)
      |                |          `-----2--> 5 (3) --1--> 8,  5 --1--> 0
      |                `---3--> 2 (4) --1--> 5,  2 --1--> 6
      |---4--> 6 (3) --1--> 9,  6 --1--> 3
      `---1--> 7 (5) --2--> 9,  7 --1--> 1               a (9) --1--> b (9) --1--> a --5--> 0

    bfs, greedy: 6 and 7 were discovered by 3, then 1 and 2 by 0, all at distance 1 (both seeds are at 0, and never in
    the frontier): 6 7 1 2. Then 9 (by 6), 4 and 5 (by 1), at last 8, at distance 3: 6 7 1 2 9 4 5 8.

    opic, greedy: 3 pays its 1/2 to 0, 6, 7: 1/6 each. 0 pays 1/2 + 1/6 to 3, 1, 2: 2/9 each. So 1, then 2 (2/9): 1 paid
    4 and 5 1/9 each, 2 pays 1/9 to 5 and 6: 6 has 1/6 + 1/9 = 5/18, 5 2/9: 6, which pays 5/36 to 9 and 3. 1 2 6 5 ...

    opic-e, greedy: 3 pays 1/12, 1/3, 1/12 to 0, 6, 7; 0 pays 7/12 by 2 : 1 : 3 to 3, 1, 2. 6 has 1/3, 2 has 7/24: 6,
    which pays 9 and 3 1/6 each; 2 is next, then 9 (1/6) beats 5 (7/48) and 1 (7/72): 6 2 9 5 1 ...

    oracle, greedy: 7 (5), 9 (6), 2 (4), 6 and 5 tie at 3 and 6 was discovered by a seed, 5, 8 (2), 1 (1), 4 (0).
    """
    return DrawnGraph(
        [3, 0],
        [2, 1, 4, 1, 0, 3, 3, 5, 2, 6, 9, 9],
        {
            0: {3: 2, 1: 1, 2: 3},
            1: {4: 1, 5: 2},
            2: {5: 1, 6: 1},
            3: {0: 1, 6: 4, 7: 1},
            4: {8: 5},
            5: {8: 1, 0: 1},
            6: {9: 1, 3: 1},
            7: {9: 2, 1: 1},
            8: {9: 1},
            9: {},
            10: {11: 1, 0: 5},
            11: {10: 1},
        },
    )


def draw_even() -> DrawnGraph:
    r"""Return links that all weigh 1: f_ne = f_n, every regression is singular, nh-n-* is nh-ne-*, opic is opic-e.

    0 (2) --> 1 (1) --> 4 (3) --> 2,  4 --> 8
      |         `-----> 5 (5) --> 9 (0) --> 3
      |-----> 2 (3) --> 5,  2 --> 6
      `-----> 3 (0) --> 6 (1) --> 9,  6 --> a (1)
                |-----> 7 (2) --> a
                `-----> 8 (5) --> 1

    lnh-avg, greedy: 1 without rows. 1, 2, 3 have the same row (2, 1, 2), with values 1, 3, 0: no slope at all, the mean
    for everybody, so that the order is that of discovery. So is 4, with row (1, 1, 1) and value 3, the first that
    differs. The least slopes (-5/6, 0, -5/6) share between n and ne what either could say: the less n the better. 5
    has 2, 6 has 3/2, 7 has 0, 8 (0 + 3)/2: 7. Its value 2 leaves the slope below 0: 6 and 8 tie, 6 was discovered
    first: 1 2 3 4 7 6 ...

    nh-n-sum, greedy: 1 (three tie at 2), 2 (2 > 1), 5 (1 + 3), 9 (5), 6 (3), 3 (2 + 0), 4 and a tie at 1: 4 was
    discovered first and brings 8 to 0 + 3: 8, then a (1), then 7 (0): 1 2 5 9 6 3 4 8 a 7.

    bfs, proportional: three equal shares and a draw of 0.956: the third, 3. bfs, altered greedy with q = 0, zeta = 0.3:
    1, 2, 3 tie, all are near the best, and the draw is 0.344: the second, 2.
    """
    return DrawnGraph(
        [0],
        [2, 1, 3, 0, 3, 5, 1, 2, 5, 0, 1],
        {
            0: {1: 1, 2: 1, 3: 1},
            1: {4: 1, 5: 1},
            2: {5: 1, 6: 1},
            3: {6: 1, 7: 1, 8: 1},
            4: {2: 1, 8: 1},
            5: {9: 1},
            6: {9: 1, 10: 1},
            7: {10: 1},
            8: {1: 1},
            9: {3: 1},
            10: {},
        },
    )


def draw_detour() -> DrawnGraph:
    r"""Return two ways to 4: 0 2 8 9 4 and the shorter 0 3 4. A dead end without value (5).

    0 (4) --2--> 1 (1) --3--> 5 (0)
      |---1--> 2 (4) --1--> 5
      |          `-----3--> 8 (4) --4--> 2
      |                       `-----4--> 9 (3) --2--> a (5) --1--> b (2)
      |                                    `-----4--> 4     `-----3--> 3
      `---2--> 3 (2) --4--> 4 (1) --4--> 6 (1) --1--> 7 (5)
                                           `-----1--> 8

    bfs, altered greedy with q = 0.5: 2 is drawn, 1 is the best, 5 8 9 4 are drawn: 4 was found as 0 2 8 9 4 at distance
    4, and brings 6 at 5. Then the best, 3 at 1: now 4 is at distance 2 and 6, through 4 (fetched before), at 3.
    6 (which brings 7 at 4) and a (which brings b at 5) are drawn. Then the best: 7. Had the distances of 4 and 6 stayed
    as they were found, 7 would be at 6, and b before it.

    oracle, greedy: 2 (4), 8 (4), 9 (3), a (5), then 3 and b, both 2: 3 was discovered by the seed. 1, 4, 6 are
    worth 1 and come in order of discovery, then 7 (5), which 6 shows, and 5 (0) at the end: 2 8 9 a 3 b 1 4 6 7 5.
    """
    return DrawnGraph(
        [0],
        [4, 1, 4, 2, 1, 0, 1, 5, 4, 3, 5, 2],
        {
            0: {1: 2, 2: 1, 3: 2},
            1: {5: 3},
            2: {5: 1, 8: 3},
            3: {4: 4},
            4: {6: 4},
            5: {},
            6: {7: 1, 8: 1},
            7: {},
            8: {2: 4, 9: 4},
            9: {10: 2, 4: 4},
            10: {11: 1, 3: 3},
            11: {},
        },
    )


KNOWN_GRAPHS = {"market": draw_market(), "towns": draw_towns(), "even": draw_even(), "detour": draw_detour()}
"""The graphs of the drawings, by name."""
