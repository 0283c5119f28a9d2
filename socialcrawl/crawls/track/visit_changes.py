"""What a visit brings to the graph: only what is new (Kumar et al., section III), by differences of totals.

Of a visit that asked for what came since a mark, everything is new. Of another, what goes beyond the totals known: a
link that is gone from the answer stays. Values, weights and their sums move by differences of f of the totals, as f is
not additive (Gouriten et al., section 2.3). All is O(links of the visit), except for a visit that changes the account's
own value: that moves the sums of all whom it ever linked to.
"""

from collections.abc import Iterable

import numpy as np

from socialcrawl.crawls.track.target import invert_worth
from socialcrawl.crawls.track.tracked_graph import CRAWLED, FRONTIER, GONE, LISTS, TrackedGraph
from socialcrawl.engine.model import Node, Outcome
from socialcrawl.graph.relevance import compute_worth


def visit(graph: TrackedGraph, node: Node, outcome: Outcome, since: str = "") -> float:
    """Return how much the value of `node` grew by what a visit brought, which the graph now has.

    Args:
        graph: where it is put.
        node: who was visited, with an answer.
        outcome: the answer.
        since: the mark that was asked from; "": everything was asked for.
    """
    row = graph.ensure_row(node)
    before, seen = graph.total[row], invert_worth(outcome.value)
    after = before + seen if since else max(before, seen)
    graph.total[row] = after
    old, new = compute_worth(before), compute_worth(after)
    brought = _count_brought(graph, row, outcome)
    if new != old:
        _spread(graph, row, new - old, brought)
    count, score = _link(graph, row, brought, (old, new), since=bool(since))
    _note(graph, row, outcome, count, score)
    graph.mark[row] = outcome.mark or since or graph.mark[row]
    graph.move(row, CRAWLED)
    graph.note_visit(row, outcome.at)
    pay(graph, row)
    graph.touch(brought)
    graph.touch((row,))
    return new - old


def lose(graph: TrackedGraph, node: Node, *, until: float | None = None, trace: bool = True) -> None:
    """Note that a node cannot be read; what cash it has goes to everybody.

    Args:
        graph: where that is put.
        node: who is lost.
        until: the instant from which it may be asked again (Unix seconds); None: never.
        trace: whether its features stay.
    """
    row = graph.ensure_row(node)
    if until is None:
        graph.move(row, GONE)
    else:
        graph.leave(row, until)
    if not trace:
        for name in LISTS:
            graph.lists[name][row] = 0.0
    if graph.accounts is not None:
        graph.join()
        graph.accounts.leave(row)
        _spill(graph, (row,))
    graph.touch((row,))


def note_evidence(graph: TrackedGraph, node: Node, before: float, value: float) -> None:
    """Add `node` by its posts that are stored: they count as a link from an account of value `value`.

    That moves the sums over its links, and not its in-degree: nobody links to it. A node that was visited stays as is.

    Args:
        graph: where it is put.
        node: whose posts they are.
        before: the value that was noted last; 0 where none was.
        value: the value of the posts.
    """
    row = graph.ensure_row(node)
    if graph.state[row] == FRONTIER:
        graph.lists["n_sum"][row] += value - before
        graph.lists["e_sum"][row] += value - before
        graph.lists["relevance"][row] += value * value - before * before
    graph.touch((row,))


def pay(graph: TrackedGraph, row: int) -> None:
    """Pay out the cash of a row to all whom it is known to link to and who are not lost.

    Where topical it is paid to the relevant ones of them, by alpha.
    """
    if (accounts := graph.accounts) is None:
        return
    graph.join()
    own, topical, lost = graph.links[row], graph.target.topical, graph.lost
    if topical or not lost.isdisjoint(own):
        own = {target: seen for target, seen in own.items() if target not in lost and (seen > 0 or not topical)}
    shares = np.array([compute_worth(seen) for seen in own.values()]) if topical else None
    accounts.pay(row, np.fromiter(own, np.int64, len(own)), own.values(), shares)
    _spill(graph, own)


def _spill(graph: TrackedGraph, rows: Iterable[int]) -> None:
    """Let the virtual page lend if it has cash enough, after that of `rows` has changed."""
    graph.touch_cash(rows)
    if graph.accounts is not None and graph.accounts.full:
        graph.touch_cash(graph.accounts.lend(graph.rows(FRONTIER), graph.rows(CRAWLED)).tolist())


def _count_brought(graph: TrackedGraph, row: int, outcome: Outcome) -> dict[int, int]:
    """Return the occurrences of the links in an answer, by row of the target; links to itself do not count."""
    each, known = graph.target.parallel == "each", graph.ensure_row
    brought: dict[int, int] = {}
    for node, alpha in zip(outcome.targets.tolist(), outcome.alpha.tolist(), strict=True):
        target = known(node)
        if target != row:
            brought[target] = brought.get(target, 0) + (round(alpha) if each else invert_worth(alpha))
    return brought


def _link(
    graph: TrackedGraph, row: int, brought: dict[int, int], values: tuple[float, float], *, since: bool
) -> tuple[float, float]:
    """Return how many links are new, and the in-links that those they go to had before.

    Sums and in-degrees have them now.
    """
    own, parallel, (old, new) = graph.links[row], graph.target.parallel, values
    indegree, n_sum, e_sum, relevance = (graph.lists[name] for name in ("indegree", "n_sum", "e_sum", "relevance"))
    count = score = 0.0
    for target, seen in brought.items():
        prior = own.get(target)
        if prior is None:
            gain, was = seen, 0.0
            n_sum[target] += new
        else:
            gain, was = seen if since else max(0, seen - prior), compute_worth(prior)
            n_sum[target] += new - old
        own[target] = total = (prior or 0) + gain
        now = compute_worth(total) if gain else was
        e_sum[target] += now - was
        relevance[target] += new * now - old * was
        again = parallel == "visits" and (since or gain > 0)
        links = gain if parallel == "each" else 1 if prior is None or again else 0
        score += links * indegree[target]
        indegree[target] += links
        count += links
    return count, score


def _spread(graph: TrackedGraph, row: int, growth: float, brought: dict[int, int]) -> None:
    """Move the sums of those whom a row linked to before, and not now, by the growth of its value."""
    n_sum, relevance = graph.lists["n_sum"], graph.lists["relevance"]
    moved = [target for target in graph.links[row] if target not in brought]
    for target in moved:
        n_sum[target] += growth
        relevance[target] += growth * compute_worth(graph.links[row][target])
    graph.touch(moved)


def _note(graph: TrackedGraph, row: int, outcome: Outcome, count: float, score: float) -> None:
    """Count a visit; of a second one or later, its yield and link score (sections II and III)."""
    lists = graph.lists
    if lists["visits"][row]:
        seconds = outcome.at - graph.last_at[row]
        if seconds > 0:
            lists["yield"][row] = count / seconds
        if not graph.target.per_time:
            lists["link_score"][row] = score
        elif seconds > 0:
            lists["link_score"][row] = score / seconds
    lists["visits"][row] += 1
    lists["outlinks"][row] += count
