"""Two names of one account: what was known of the one is known of the other."""

from socialcrawl.crawls.track.tracked_graph import CRAWLED, GONE, SUMS, TrackedGraph
from socialcrawl.engine.model import Node
from socialcrawl.graph.relevance import compute_worth

OF_VISITS = ("visits", "outlinks", "yield", "link_score")


def merge(picture: TrackedGraph, alias: Node, node: Node) -> None:
    """Take `alias`, which could not be read under that name, for `node`.

    Links to the one are links to the other; somebody who linked to both counts once where a pair counts once. If only
    the alias was visited, its links, totals and visits are the node's; if both were, they brought the same posts, so
    that the larger total counts. Cash and its history are added up.
    """
    left, row = picture.ensure_row(alias), picture.ensure_row(node)
    picture.bring_back(row)
    if left == row:
        picture.nodes[row] = node  # it changed its name back
        picture.touch((row,))
        return
    picture.rename(alias, row)
    _move_in_links(picture, left, row)
    _move_out_links(picture, left, row)
    if picture.state[left] == CRAWLED and picture.state[row] != CRAWLED:
        _move_visits(picture, left, row)
    picture.move(left, GONE)
    _move_cash(picture, left, row)
    picture.touch((left, row))


def _move_in_links(picture: TrackedGraph, left: int, row: int) -> None:
    """Let links to `left` go to `row`; those between the two are none any more. Sums are added up anew."""
    indegree, parallel = picture.lists["indegree"], picture.target.parallel
    indegree[row] += indegree[left]
    indegree[left] = 0.0
    for source, target in ((left, row), (row, left)):
        if target in picture.links[source]:
            total = picture.links[source].pop(target)
            indegree[row] -= total if parallel == "each" else 1.0
    for own in picture.links:
        if left in own:
            indegree[row] -= parallel == "once" and row in own
            own[row] = own.get(row, 0) + own.pop(left)
    _add_up(picture, left)
    _add_up(picture, row)


def _add_up(picture: TrackedGraph, row: int) -> None:
    """Compute the sums of a row from all links that are known."""
    for name in SUMS:
        picture.lists[name][row] = 0.0
    for source, own in enumerate(picture.links):
        if row in own:
            _add_sums(picture, row, compute_worth(picture.total[source]), own[row])


def _add_sums(picture: TrackedGraph, row: int, value: float, total: int, sign: float = 1.0) -> None:
    """Add the link of a node of some value to the sums of a row, or take it away; none goes below 0 by rounding."""
    alpha = compute_worth(total)
    for name, more in zip(SUMS, (value, alpha, value * alpha), strict=True):
        picture.lists[name][row] = max(0.0, picture.lists[name][row] + sign * more)


def _move_out_links(picture: TrackedGraph, left: int, row: int) -> None:
    """Let links from `left` come from `row`; of a link that both had, and of the value, the larger total counts."""
    mine, other, totals = picture.links[row], picture.links[left], picture.total
    value, former = compute_worth(totals[row]), compute_worth(totals[left])
    if not other and totals[left] <= totals[row]:
        return
    totals[row], totals[left] = max(totals[row], totals[left]), 0
    for target in {**mine, **other}:
        one, two = mine.get(target), other.get(target)
        if one is not None:
            _add_sums(picture, target, value, one, -1.0)
        if two is not None:
            _add_sums(picture, target, former, two, -1.0)
        if one is not None and two is not None:
            picture.lists["indegree"][target] -= min(one, two) if picture.target.parallel == "each" else 1.0
        mine[target] = max(one or 0, two or 0)
        _add_sums(picture, target, compute_worth(totals[row]), mine[target])
    picture.links[left] = {}
    picture.touch(mine)


def _move_visits(picture: TrackedGraph, left: int, row: int) -> None:
    """Let `row` have been visited as `left` was."""
    for name in OF_VISITS:
        picture.lists[name][row], picture.lists[name][left] = picture.lists[name][left], 0.0
    picture.mark[row] = picture.mark[left]
    picture.move(row, CRAWLED)
    picture.note_visit(row, picture.last_at[left])


def _move_cash(picture: TrackedGraph, left: int, row: int) -> None:
    """Let `row` have the cash and the history of `left`, which the virtual page pays no more."""
    picture.join()
    if picture.accounts is not None:
        picture.accounts.merge(left, row)
        if row in picture.lost:
            picture.accounts.leave(row)
        picture.touch_cash((left, row))
