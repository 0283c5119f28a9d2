"""What a visit brings to the picture: only what is new (Kumar et al., section III), by differences of totals.

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


def visit(picture: TrackedGraph, node: Node, outcome: Outcome, since: str = "") -> float:
    """Return how much the value of `node` grew by what a visit brought, which the picture now has.

    Args:
        picture: where it is put.
        node: who was visited, with an answer.
        outcome: the answer.
        since: the mark that was asked from; "": everything was asked for.
    """
    row = picture.ensure_row(node)
    before, seen = picture.total[row], invert_worth(outcome.value)
    after = before + seen if since else max(before, seen)
    picture.total[row] = after
    old, new = compute_worth(before), compute_worth(after)
    brought = _count_brought(picture, row, outcome)
    if new != old:
        _spread(picture, row, new - old, brought)
    count, score = _link(picture, row, brought, (old, new), since=bool(since))
    _note(picture, row, outcome, count, score)
    picture.mark[row] = outcome.mark or since or picture.mark[row]
    picture.move(row, CRAWLED)
    picture.note_visit(row, outcome.at)
    pay(picture, row)
    picture.touch(brought)
    picture.touch((row,))
    return new - old


def lose(picture: TrackedGraph, node: Node, *, until: float | None = None, trace: bool = True) -> None:
    """Note that a node cannot be read; what cash it has goes to everybody.

    Args:
        picture: where that is put.
        node: who is lost.
        until: the instant from which it may be asked again (Unix seconds); None: never.
        trace: whether its features stay.
    """
    row = picture.ensure_row(node)
    if until is None:
        picture.move(row, GONE)
    else:
        picture.leave(row, until)
    if not trace:
        for name in LISTS:
            picture.lists[name][row] = 0.0
    if picture.accounts is not None:
        picture.join()
        picture.accounts.leave(row)
        _spill(picture, (row,))
    picture.touch((row,))


def pay(picture: TrackedGraph, row: int) -> None:
    """Pay out the cash of a row to all whom it is known to link to and who are not lost.

    Where topical it is paid to the relevant ones of them, by alpha.
    """
    if (accounts := picture.accounts) is None:
        return
    picture.join()
    own, topical, lost = picture.links[row], picture.target.topical, picture.lost
    if topical or not lost.isdisjoint(own):
        own = {target: seen for target, seen in own.items() if target not in lost and (seen > 0 or not topical)}
    shares = np.array([compute_worth(seen) for seen in own.values()]) if topical else None
    accounts.pay(row, np.fromiter(own, np.int64, len(own)), own.values(), shares)
    _spill(picture, own)


def _spill(picture: TrackedGraph, rows: Iterable[int]) -> None:
    """Let the virtual page lend if it has cash enough, after that of `rows` has changed."""
    picture.touch_cash(rows)
    if picture.accounts is not None and picture.accounts.full:
        picture.touch_cash(picture.accounts.lend(picture.rows(FRONTIER), picture.rows(CRAWLED)).tolist())


def _count_brought(picture: TrackedGraph, row: int, outcome: Outcome) -> dict[int, int]:
    """Return the occurrences of the links in an answer, by row of the target; links to itself do not count."""
    each, known = picture.target.parallel == "each", picture.ensure_row
    brought: dict[int, int] = {}
    for node, alpha in zip(outcome.targets.tolist(), outcome.alpha.tolist(), strict=True):
        target = known(node)
        if target != row:
            brought[target] = brought.get(target, 0) + (round(alpha) if each else invert_worth(alpha))
    return brought


def _link(
    picture: TrackedGraph, row: int, brought: dict[int, int], values: tuple[float, float], *, since: bool
) -> tuple[float, float]:
    """Return how many links are new, and the in-links that those they go to had before.

    Sums and in-degrees have them now.
    """
    own, parallel, (old, new) = picture.links[row], picture.target.parallel, values
    indegree, n_sum, e_sum, relevance = (picture.lists[name] for name in ("indegree", "n_sum", "e_sum", "relevance"))
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


def _spread(picture: TrackedGraph, row: int, growth: float, brought: dict[int, int]) -> None:
    """Move the sums of those whom a row linked to before, and not now, by the growth of its value."""
    n_sum, relevance = picture.lists["n_sum"], picture.lists["relevance"]
    moved = [target for target in picture.links[row] if target not in brought]
    for target in moved:
        n_sum[target] += growth
        relevance[target] += growth * compute_worth(picture.links[row][target])
    picture.touch(moved)


def _note(picture: TrackedGraph, row: int, outcome: Outcome, count: float, score: float) -> None:
    """Count a visit; of a second one or later, its yield and link score (sections II and III)."""
    lists = picture.lists
    if lists["visits"][row]:
        seconds = outcome.at - picture.last_at[row]
        if seconds > 0:
            lists["yield"][row] = count / seconds
        if not picture.target.per_time:
            lists["link_score"][row] = score
        elif seconds > 0:
            lists["link_score"][row] = score / seconds
    lists["visits"][row] += 1
    lists["outlinks"][row] += count
