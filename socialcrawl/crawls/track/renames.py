"""Two names of one account: what was known of the one is known of the other."""

from socialcrawl.crawls.track.tracked_graph import CRAWLED, GONE, SUMS, TrackedGraph
from socialcrawl.engine.model import Node
from socialcrawl.graph.relevance import compute_worth

OF_VISITS = ("visits", "outlinks", "yield", "link_score")


def merge(graph: TrackedGraph, alias: Node, node: Node) -> None:
    """Take `alias`, which could not be read under that name, for `node`.

    Links to the one are links to the other; somebody who linked to both counts once where a pair counts once. If only
    the alias was visited, its links, totals and visits are the node's; if both were, they brought the same posts, so
    that the larger total counts. Cash and its history are added up.
    """
    left, row = graph.ensure_row(alias), graph.ensure_row(node)
    graph.bring_back(row)
    if left == row:
        graph.nodes[row] = node  # it changed its name back
        graph.touch((row,))
        return
    graph.rename(alias, row)
    _move_in_links(graph, left, row)
    _move_out_links(graph, left, row)
    if graph.state[left] == CRAWLED and graph.state[row] != CRAWLED:
        _move_visits(graph, left, row)
    graph.move(left, GONE)
    _move_cash(graph, left, row)
    graph.touch((left, row))


def _move_in_links(graph: TrackedGraph, left: int, row: int) -> None:
    """Let links to `left` go to `row`; those between the two are none any more. Sums are added up anew."""
    indegree, parallel = graph.lists["indegree"], graph.target.parallel
    indegree[row] += indegree[left]
    indegree[left] = 0.0
    for source, target in ((left, row), (row, left)):
        if target in graph.links[source]:
            total = graph.links[source].pop(target)
            indegree[row] -= total if parallel == "each" else 1.0
    for own in graph.links:
        if left in own:
            indegree[row] -= parallel == "once" and row in own
            own[row] = own.get(row, 0) + own.pop(left)
    _add_up(graph, left)
    _add_up(graph, row)


def _add_up(graph: TrackedGraph, row: int) -> None:
    """Compute the sums of a row from all links that are known."""
    for name in SUMS:
        graph.lists[name][row] = 0.0
    for source, own in enumerate(graph.links):
        if row in own:
            _add_sums(graph, row, compute_worth(graph.total[source]), own[row])


def _add_sums(graph: TrackedGraph, row: int, value: float, total: int, sign: float = 1.0) -> None:
    """Add the link of a node of some value to the sums of a row, or take it away; none goes below 0 by rounding."""
    alpha = compute_worth(total)
    for name, more in zip(SUMS, (value, alpha, value * alpha), strict=True):
        graph.lists[name][row] = max(0.0, graph.lists[name][row] + sign * more)


def _move_out_links(graph: TrackedGraph, left: int, row: int) -> None:
    """Let links from `left` come from `row`; of a link that both had, and of the value, the larger total counts."""
    mine, other, totals = graph.links[row], graph.links[left], graph.total
    value, former = compute_worth(totals[row]), compute_worth(totals[left])
    if not other and totals[left] <= totals[row]:
        return
    totals[row], totals[left] = max(totals[row], totals[left]), 0
    for target in {**mine, **other}:
        one, two = mine.get(target), other.get(target)
        if one is not None:
            _add_sums(graph, target, value, one, -1.0)
        if two is not None:
            _add_sums(graph, target, former, two, -1.0)
        if one is not None and two is not None:
            graph.lists["indegree"][target] -= min(one, two) if graph.target.parallel == "each" else 1.0
        mine[target] = max(one or 0, two or 0)
        _add_sums(graph, target, compute_worth(totals[row]), mine[target])
    graph.links[left] = {}
    graph.touch(mine)


def _move_visits(graph: TrackedGraph, left: int, row: int) -> None:
    """Let `row` have been visited as `left` was."""
    for name in OF_VISITS:
        graph.lists[name][row], graph.lists[name][left] = graph.lists[name][left], 0.0
    graph.mark[row] = graph.mark[left]
    graph.move(row, CRAWLED)
    graph.note_visit(row, graph.last_at[left])


def _move_cash(graph: TrackedGraph, left: int, row: int) -> None:
    """Let `row` have the cash and the history of `left`, which the virtual page pays no more."""
    graph.join()
    if graph.accounts is not None:
        graph.accounts.merge(left, row)
        if row in graph.lost:
            graph.accounts.leave(row)
        graph.touch_cash((left, row))
