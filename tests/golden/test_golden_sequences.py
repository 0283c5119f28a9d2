r"""Golden sequences: on four graphs that fit into a drawing, the order of steps of every estimator and strategy.

The orders below are written out, not computed: they come from the definitions (Gouriten et al., sections 4 and 5) by
the referee at the end of this file, which knows nothing of the package, does all sums in fractions, and rescans the
whole known graph at every step; some were followed by hand, in the docstrings. Nodes are 0 .. 9, a, b; values stand in
round brackets, weights on the arrows, seeds in square brackets where there are two.
"""

import zlib
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from socialcrawl.crawls.collect.estimators import NAMES
from socialcrawl.crawls.collect.strategies import STRATEGIES
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.simulation import ReplaySetup, simulate

DIGITS = "0123456789ab"


class Drawn(NamedTuple):
    seeds: list[int]
    beta: list[int]
    links: dict[int, dict[int, int]]

    def known(self) -> KnownGraph:
        rows = [self.links[u] for u in range(len(self.beta))]
        return KnownGraph(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            np.array([v for row in rows for v in row], np.int64),
            np.array([a for row in rows for a in row.values()], np.float64),
            np.array(self.beta, np.float64),
        )


def market() -> Drawn:
    r"""A hub without value (1), ties, dead ends (4 and 8), links back to nodes that were fetched.

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
    return Drawn(
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


def towns() -> Drawn:
    r"""Two seeds, 3 asked before 0, that are linked with each other; a and b, worth most, cannot be reached.

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
    return Drawn(
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


def even() -> Drawn:
    r"""Every link weighs 1, so that f_ne = f_n: every regression is singular, nh-n-* is nh-ne-*, opic is opic-e.

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
    return Drawn(
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


def detour() -> Drawn:
    r"""Two ways to 4: 0 2 8 9 4 and the shorter 0 3 4. A dead end without value (5).

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
    return Drawn(
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


GRAPHS = {make.__name__: make() for make in (market, towns, even, detour)}
WAYS = (
    ({"strategy": "greedy"}, 1),
    ({"strategy": "greedy"}, 3),
    ({"strategy": "altered-greedy", "q": 0.5, "zeta": 0.65}, 1),
    ({"strategy": "altered-greedy", "q": 0.0, "zeta": 0.3}, 1),
    ({"strategy": "proportional"}, 1),
    ({"strategy": "proportional"}, 3),
)  # the columns below: how is chosen, and r; the seed of all draws is 1, hybrids switch after 3 steps
GOLDEN = {
    # greedy      the same,   altered     altered     in          the same,
    #             r = 3       0.5, 0.65   0, 0.3      proportion  r = 3
    "market": """
random       159473286   123645789   156479238   146593287   326719548   312874956
bfs          123456789   123456789   217549386   213549876   315724986   312874956
nh-n-sum     126793845   123768945   267938154   267938154   379218645   312786945
nh-n-avg     126793845   123876945   267938154   267938154   379218645   312786945
nh-n-max     126793845   123678945   267938154   267938154   379218645   312786945
nh-e-sum     154697238   132756948   217549638   146975382   316785942   312785964
nh-e-avg     154679382   132546978   217549386   146975382   316874952   312874956
nh-e-max     154697382   132546978   217549638   146975382   316874952   312875946
nh-ne-sum    138792645   132786945   276938154   138792654   379218645   312786945
nh-ne-avg    138792645   132876945   276938154   138792654   379218645   312786945
nh-ne-max    138792645   132786945   276938154   138792654   379218645   312786945
lnh-sum      124596387   123456879   214579638   214596387   326145978   312457968
lnh-avg      124653798   123465798   216453789   214596378   326147598   312475968
lnh-max      124596378   123456978   214596378   214596378   326145978   312457968
lnh-wide     124596387   123456987   214596387   214596387   326145978   312457968
hybrid-sum   138792645   132456879   276938145   138795642   379128645   312457968
hybrid-avg   138792645   132465798   276938145   138792645   379128645   312475968
hybrid-max   138795462   132456978   276938145   138796254   379124685   312457968
opic         123796845   123768945   216973854   216793854   315276984   312785964
opic-e       138792654   132786954   216793854   137928654   315724986   312785964
opic-n       123796845   123768945   216973854   216793854   318279645   312786945
opic-ne      138279645   132786945   216973854   138792654   318279645   312786945
nr           126793845   123876945   263978154   267938154   379286145   312786945
oracle       273896154   231857496   273896154   238796154   379286154   321874956
""",
    "towns": """
random       69148275    62751984    69725814    62598174    27916485    26157984
bfs          67129458    67129458    76259814    76124859    26971584    26175984
nh-n-sum     12659874    12659784    71259864    12658947    26917584    27165984
nh-n-avg     12695874    12695784    79142568    12695847    27961584    27156984
nh-n-max     12659874    12659784    71259864    12695847    26917584    27165984
nh-e-sum     62791548    62791548    62154897    62154897    26971584    26157984
nh-e-avg     62791548    62791548    62154879    62154897    26971584    26157984
nh-e-max     62791548    62791548    62154879    62154897    26971584    26157984
nh-ne-sum    26598174    26159784    62958174    26589147    26917584    26157984
nh-ne-avg    26598174    26159784    62958174    26589147    26917584    26157984
nh-ne-max    26598174    26159784    62958174    26589147    26917584    26157984
lnh-sum      67148295    67145298    76154829    76158429    27914685    26157984
lnh-avg      67148295    67145298    76259814    76154829    27961584    26157984
lnh-max      67148295    67145298    76259814    76154829    27961584    26157984
lnh-wide     67148259    67145298    76154829    76158429    27914586    26157984
hybrid-sum   26578149    26159784    62951487    26591847    26971584    26157984
hybrid-avg   26597814    26159784    62951487    26589147    26915847    26157984
hybrid-max   26578149    26159784    62951487    26591847    26971584    26157984
opic         12657948    12657948    71945826    71692584    26971584    26175984
opic-e       62951784    62159784    62159874    62951874    26971584    26157984
opic-n       12659784    12659784    71945826    12695847    26971584    26157984
opic-ne      26958174    26195784    62951874    62958174    26917584    26157984
nr           12589647    12695784    79145826    79142586    26917584    26157984
oracle       79265814    72695184    79625814    79625814    27961584    26175984
""",
    "even": """
random       159483276a  1236457a89  1539782a46  148593276a  325678a914  312768954a
bfs          123456789a  123456789a  215498376a  21374a8659  325168a974  312768954a
nh-n-sum     12596348a7  12356498a7  25396a1487  25963148a7  315269a487  31264598a7
nh-n-avg     12635948a7  12356498a7  25396a1487  2596148a37  315269a487  312645a987
nh-n-max     12596348a7  12356498a7  25396a1487  25963148a7  315269a487  31264598a7
nh-e-sum     125369487a  123564897a  215498376a  215493867a  325618497a  312674a589
nh-e-avg     123456789a  123456789a  215498376a  2154986a37  325618497a  312768954a
nh-e-max     123456789a  123456789a  215498376a  2154986a37  325618497a  312768954a
nh-ne-sum    12596348a7  12356498a7  25396a1487  25963148a7  315269a487  31264598a7
nh-ne-avg    12635948a7  12356498a7  25396a1487  2596148a37  315269a487  312645a987
nh-ne-max    12596348a7  12356498a7  25396a1487  25963148a7  315269a487  31264598a7
lnh-sum      12347a6985  12345698a7  215943678a  215936a748  3256978a14  31276894a5
lnh-avg      12347698a5  1234567a89  215498376a  215493786a  325917a864  312768954a
lnh-max      12347a5968  12345698a7  21596a4837  2159486a37  325619487a  312768945a
lnh-wide     12347a6985  1234567a98  2159437a68  2159387a46  325619487a  312768945a
hybrid-sum   125936478a  12345698a7  25397a8614  2596387a14  315628a749  31276894a5
hybrid-avg   12649358a7  1234567a89  25397a8614  25937a8614  315678a429  312768954a
hybrid-max   1259437a68  12345698a7  25397a8614  2596387a14  315628a749  312768945a
opic         12359648a7  12356498a7  215469378a  213659a487  315264a879  312674a589
opic-e       12359648a7  12356498a7  215469378a  213659a487  315264a879  312674a589
opic-n       123659a487  1236549a87  215936a487  213659a487  315264987a  312674a589
opic-ne      123659a487  1236549a87  215936a487  213659a487  315264987a  312674a589
nr           12659348a7  12356498a7  25693a1487  2596a31487  315429867a  312684a579
oracle       251486a379  213584769a  251486a937  251486a937  2561a48379  213547a869
""",
    "detour": """
random       15328946ab7 123458697ab 15289436ab7 153467289ab 3145289a67b 31254896a7b
bfs          12358496a7b 12358496a7b 21589436a7b 21348965ab7 31524896ab7 31245896a7b
nh-n-sum     1253894ab67 12358496a7b 2158943ab67 215894a3b67 3142589a6b7 31254896a7b
nh-n-avg     12389ab5467 12385496a7b 2158943ab67 21389ab4567 3142589a6b7 31254896a7b
nh-n-max     1235894ab67 12358496a7b 2158943ab67 215894ab367 3142589a6b7 31254896a7b
nh-e-sum     15346289a7b 13254869a7b 28349a6b157 15346892ab7 315426789ab 31245896a7b
nh-e-avg     15346289a7b 13248569a7b 28349a6b157 1534689a2b7 315426789ab 31245896a7b
nh-e-max     15346289a7b 13245869a7b 28349a6b157 15346892ab7 315426789ab 31245896a7b
nh-ne-sum    1342895ab67 13284596a7b 28349a165b7 13465289ab7 3152489a6b7 31245896a7b
nh-ne-avg    134289ab657 13284596a7b 28349a165b7 13465289ab7 3152489a6b7 31245896a7b
nh-ne-max    134289ab567 13284596a7b 28349a165b7 13465289ab7 3152489a6b7 31245896a7b
lnh-sum      125346789ab 123548967ab 213467589ab 213546789ab 315246879ab 31245896a7b
lnh-avg      125389ab467 12354896a7b 215389ab467 215389ab467 315246789ab 31254896a7b
lnh-max      125389a4b67 123548967ab 215389a4b67 215389a4b67 31524689ab7 31254896a7b
lnh-wide     125346789ab 12354896a7b 213467589ab 215346789ab 315246879ab 31245896a7b
hybrid-sum   134267589ab 132548967ab 2839465a17b 134267589ab 315246879ab 31245896a7b
hybrid-avg   134256879ab 13254896a7b 28394a5167b 134267859ab 315246789ab 31254896a7b
hybrid-max   134256789ab 132548967ab 28394a51b67 134267589ab 31524689ab7 31254896a7b
opic         125346879ab 123548697ab 213468597ab 215346897ab 31524896a7b 31245896a7b
opic-e       135462879ab 132548697ab 213467589ab 135468279ab 315246789ab 31245896a7b
opic-n       12534689ab7 12354869a7b 213468597ab 21534689ab7 31524896ab7 31245896a7b
opic-ne      135462879ab 132548697ab 213468597ab 135468279ab 31524896a7b 31245896a7b
nr           15289ab4637 12348596a7b 253489a61b7 258946ab371 328419a657b 31245896a7b
oracle       289a3b14675 23184596a7b 2839ab14675 289ab346715 328419ab675 321845697ab
""",
}
TABLE = {
    (graph, line.split()[0]): line.split()[1:] for graph, lines in GOLDEN.items() for line in lines.split("\n")[1:-1]
}
EVERYBODY = (*NAMES, "oracle")


def replayed(graph: str, name: str, way, rate: int, budget: int = 12, **more):
    drawn = GRAPHS[graph]
    setup = ReplaySetup(name, budget, refresh_rate=rate, seed=1, switch_after=3, **way, **more)
    return simulate(drawn.known(), drawn.seeds, setup)


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


def referee(graph: Drawn, name: str, way, rate: int, start: str | None = None) -> list[int]:
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


def scored(graph: Drawn, name: str, done, rows, into) -> dict[int, Fraction]:
    """The score of each frontier node, by the known in-links (value, weight) of each, in order of discovery."""
    family, _, rest = name.partition("-")
    if family == "random":
        return dict(zip(into, map(Fraction, draws("random estimator", len(rows), len(into))), strict=True))
    if family == "bfs":
        return {v: Fraction(1, distance(graph, done, v) + 1) for v in into}
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


def draws(purpose: str, n: int, size: int) -> list[float]:
    return np.random.default_rng([1, zlib.crc32(purpose.encode()), n]).random(size).tolist()


def features(links, which) -> list[Fraction]:
    kinds = {"n": [w for w, _ in links], "e": [a for _, a in links], "ne": [w * a for w, a in links]}
    pairs = [x.split("-") for x in which if x != "links"]
    return [Fraction(len(links))] * ("links" in which) + [Fraction(H[h](kinds[of])) for of, h in pairs]


def distance(graph: Drawn, done, node: int) -> int:
    """Rings around the seeds, over all links that are known by now."""
    far, ring = 0, set(graph.seeds)
    while node not in ring:
        far, ring = far + 1, ring | {v for u in ring if u in done for v in graph.links[u]}
    return far


def opic(graph: Drawn, done, by: str) -> dict[int, Fraction]:
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


def navigational(graph: Drawn, done, frontier) -> dict[int, Fraction]:
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
