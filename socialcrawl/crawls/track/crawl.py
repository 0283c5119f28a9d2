"""Track: a crawl that keeps the important part of a graph fresh, as the loop can drive it.

Pick n goes back to an account that was visited (a recrawl) or visits a new one (an expansion), by a coin
(`visit_policies.py`); both ask only for what is new. The seeds come first, in their order, as in Collect. `choose`
changes nothing; `absorb` and `fold` are the only methods that do. It never waits, reads or writes; time is an argument.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.node_limit import stop_at_limit
from socialcrawl.crawls.seeds import REST, TRIES, Seeds
from socialcrawl.crawls.track.renames import merge
from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.tracked_graph import CRAWLED, FRONTIER, GONE, TrackedGraph
from socialcrawl.crawls.track.visit_changes import lose, note_evidence, visit
from socialcrawl.crawls.track.visit_policies import PolicyMixture
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reason, SameAs, Stop, StopKind, Unavailable, Wait
from socialcrawl.engine.protocols import Batch, History, skip_known
from socialcrawl.importance.opic import Cash

FOR_GOOD = (Reason.FORGOTTEN, Reason.EXCLUDED, Reason.OPTED_OUT)  # it is not the account that is away
DOUBLINGS = 64  # of a pause: more would be no number


class Track:
    """A crawl of expansions and recrawls with a budget of `steps`; `width(act)` says how many picks a request answers.

    Args:
        seeds: where it starts.
        choice: the policies.
        steps: how many expansions and recrawls there may be; None: no bound.
        width: how many picks of an act one request can answer.
        mark: the platform's mark of an instant (Unix seconds), "" where it has none.
        window: seconds back that anything is asked for, w; None: as far as there is something.
        rest: seconds that an account is left alone after a visit.
        again: seconds after which an account that was lost may be asked again, twice as long after each further loss in
            a row; None: never.
        target: what is looked for, and how links count.
        cash: OPIC's accounts, fresh, where they are not the plain ones; by itself the crawl makes those if target or
            policies ask for them.

    Attributes:
        picks: all decisions so far, the next pick's n; `taken`: those after the seeds, what the budget counts.
        relevance: how much the values of accounts grew by picks after the seeds; `seed_relevance`: by the seeds.
        imported: accounts whose posts came from a file.
        captured: the value of the posts that are held of authors whom a capture brought, who were not visited yet.
        graph: what is known.
        gone: why nodes are asked no more, or are away, until they are read again; `losses`: how often in a row.
        failures: how often nodes failed in a row; `resting`: the pick from which they may be asked again.
    """

    def __init__(
        self,
        seeds: Seeds,
        choice: PolicyMixture,
        steps: int | None,
        width: Callable[[Act], int] = lambda _: 1,
        *,
        mark: Callable[[float], str] = lambda _: "",
        window: float | None = None,
        rest: float = 0.0,
        again: float | None = None,
        target: Target | None = None,
        cash: Cash | None = None,
    ) -> None:
        self.seeds, self.steps, self.width, self.mark, self.window = seeds, steps, width, mark, window
        self.target = target or Target()
        self.choice = choice.aim_at(self.target.column)
        if cash is None and (self.target.cash or "cash" in {self.target.column, *self.choice.columns}):
            cash = Cash(self.target.small)
        self.graph = TrackedGraph(self.target, cash, rest)
        self.picks = self.taken = self.imported = 0
        self.relevance = self.seed_relevance = 0.0
        self.again, self.latest = again, 0.0  # of all answers
        self.captured: dict[Node, float] = {}
        self._sown = False
        self.gone: dict[Node, str] = {}
        self.losses: dict[Node, int] = {}
        self.failures: dict[Node, int] = {}
        self.resting: dict[Node, int] = {}

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """Return the next `size` picks: seeds while there are any, then what the policies say, no node twice."""
        act, nodes = self.seeds.choose_next(size, self.width)
        if nodes:
            return tuple(self._make_seed_pick(self.picks + i, node, act, now) for i, node in enumerate(nodes))
        if not self.seeds.asked and not self.imported and not self.captured:
            return Stop(StopKind.FAILED, self.seeds.explain_empty())
        most = size * self.width(Act.RECRAWL)
        left = most if self.steps is None else min(most, self.steps - self.taken)
        if left <= 0:
            return stop_at_limit(self.steps or 0, self.taken)
        self.graph.wake(now)
        return self._pick_returning(left, now) or self._pick_by_policy(left, now) or self._pick_later(left, now)

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Learn what the visits brought, in pick order."""
        for pick, outcome in zip(batch, outcomes, strict=True):
            self._take(pick, outcome)
        if self.captured and not self.seeds.choose_next(1, self.width)[1]:
            self._start(self.captured)
        if self.resting:
            self._wake()

    def fold(self, history: History) -> None:
        """Absorb every finished batch in turn, except for those that were absorbed before."""
        for batch, outcomes in skip_known(history, self.picks):
            self.absorb(batch, outcomes)

    def compute_importance(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return OPIC's importance of rows of the graph, float64; zeros where no cash is kept.

        It is (H + C) / (G + 1), or by what the target's memory holds.
        """
        accounts = self.graph.accounts
        return np.zeros(len(rows)) if accounts is None else accounts.compute_importance(rows)

    def rank_nodes(self, top: int | None = None) -> list[tuple[Node, float]]:
        """Return the nodes of most weight by the target, with it, in the order of weight.

        Of equals those discovered first.

        Crawled nodes and the frontier take part. The weight is the importance, the in-degree, or the relevance of those
        who link there.
        """
        rows, weights = self.list_weights()
        order = np.argsort(-weights, kind="stable")[:top]
        nodes = self.graph.nodes
        return [(nodes[row], weight) for row, weight in zip(rows[order], weights[order].tolist(), strict=True)]

    def list_weights(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows that take part in `standing`, in order of discovery, and their weights, float64."""
        graph = self.graph
        there = np.array(graph.state, np.int64) != GONE
        there[[*graph.away]] = False
        rows = np.flatnonzero(there)
        weights = (
            self.compute_importance(rows) if self.target.name == "importance" else graph.column(self.target.name)[rows]
        )
        return rows, weights

    # -- Choosing

    def _pick_returning(self, left: int, now: float) -> Batch:
        """Return the seeds that were unavailable before they were read: no policy has to ask for them."""
        graph = self.graph
        rows = [row for row in graph.away if graph.may_return(row) and self._is_unread_seed(row)][:left]
        return tuple(
            self._make_seed_pick(self.picks + i, graph.nodes[row], Act.SEED, now) for i, row in enumerate(rows)
        )

    def _is_unread_seed(self, row: int) -> bool:
        return self.graph.state[row] == FRONTIER and self.graph.nodes[row] in self.seeds

    def _pick_by_policy(self, left: int, now: float) -> Batch:
        picked: list[Pick] = []
        barred: frozenset[Node] = frozenset()
        for n in range(self.picks, self.picks + left):
            if (found := self.choice.pick(self.graph, n, barred)) is None:
                break
            act, node, score = found
            picked.append(self._make_pick(n, node, act, score, now))
            if len(picked) < left:
                barred |= {node}
        return tuple(picked)

    def _make_seed_pick(self, n: int, node: Node, act: Act, now: float) -> Pick:
        """Return a pick of the line of the seeds."""
        return Pick(n, node, act, since=self._find_mark(node, now) if act == Act.SEED else "")

    def _make_pick(self, n: int, node: Node, act: Act, score: float, now: float) -> Pick:
        return Pick(n, node, act, score, self.graph.features(self.graph.row(node)), self._find_mark(node, now))

    def _find_mark(self, node: Node, now: float) -> str:
        """Return the mark from which a visit asks: that of the one before, but nothing from before the window."""
        graph, row = self.graph, self.graph.row(node)
        begin = -math.inf if self.window is None else now - self.window
        if row >= 0 and graph.last_at[row] >= begin:
            return graph.mark[row]
        return "" if self.window is None else self.mark(begin)

    def _pick_later(self, left: int, now: float) -> Batch | Wait | Stop:
        """Wait for the next account whose rest is over, or pick those that failed before their time, with none due."""
        soonest = self.graph.find_soonest() if self.choice.policies[Act.RECRAWL] is not None else None
        pause = self._find_pause()
        if soonest is not None:
            until = soonest if pause is None else min(soonest, pause)
            return Wait(until, "every account in reach was visited a short while ago")
        nodes = list(self.resting)[:left]
        if nodes:
            return tuple(self._make_late_pick(self.picks + i, node, now) for i, node in enumerate(nodes))
        if self.seeds.unread and not self.imported and not self.captured:
            return Stop(StopKind.FAILED, self.seeds.explain_empty())
        if pause is not None:
            return Wait(pause, "only accounts are left that could not be read; they are tried again then")
        return Stop(StopKind.DONE, "no account is left: every account in reach was read, or cannot be read")

    def _find_pause(self) -> float | None:
        """Return when the next pause is over of those who are away and would be asked; None where there is nobody."""
        policies = self.choice.policies
        states = [state for act, state in ((Act.EXPAND, FRONTIER), (Act.RECRAWL, CRAWLED)) if policies[act] is not None]
        pauses = self.graph.list_pauses()
        wanted = (row for row in pauses if self.graph.state[row] in states or self._is_unread_seed(row))
        return min((pauses[row] for row in wanted), default=None)

    def _make_late_pick(self, n: int, node: Node, now: float) -> Pick:
        unread = Act.SEED if node in self.seeds else Act.EXPAND
        return self._make_pick(n, node, Act.RECRAWL if self.graph.is_crawled(node) else unread, 0.0, now)

    # -- Learning

    def _take(self, pick: Pick, outcome: Outcome) -> None:
        self.picks = pick.n + 1
        self.latest = max(self.latest, outcome.at)
        self.graph.learn(self.latest)
        if pick.act in (Act.SEARCH, Act.RESOLVE):
            self.seeds.absorb(pick, outcome, self._was_asked)
            return
        if pick.act == Act.CAPTURED:
            self._note_captured(pick, outcome)
            return
        node, missing = pick.node, outcome.missing
        if pick.act in (Act.SEED, Act.IMPORT):
            self._sow(node)
            if pick.act == Act.SEED:
                self.seeds.note_done(node, missing)
            else:
                self.seeds.bring(node)
                self.imported += missing is None
        else:
            self.taken += 1
        self._wake_up(node)
        if missing is not None:
            self._miss(pick, missing)
            return
        self.failures.pop(node, None)
        self._restore(node)
        if self.captured.get(node):  # from now on what was read counts
            note_evidence(self.graph, node, self.captured[node], 0.0)
            self.captured[node] = 0.0
        gain = visit(self.graph, node, outcome, pick.since)
        if pick.act == Act.SEED:
            self.seed_relevance += gain
        elif pick.act != Act.IMPORT:
            self.relevance += gain

    def _was_asked(self, node: Node) -> bool:
        """Return whether a node was asked before and does not wait for another time."""
        row = self.graph.row(node)
        asked = row >= 0 and (self.graph.state[row] != FRONTIER or row in self.graph.away)
        return asked and node not in self.resting

    def _sow(self, node: Node) -> None:
        """Make the seeds known, all at once, when the first of them is asked; they share OPIC's cash to start with."""
        self._start(self.seeds.ready or [node])

    def _start(self, nodes: Iterable[Node]) -> None:
        """Let the crawl begin with these nodes, once."""
        if not self._sown:
            self._sown = True
            self.graph.start([self.graph.ensure_row(node) for node in nodes])

    def _note_captured(self, pick: Pick, outcome: Outcome) -> None:
        """Learn what is held of the posts of an account: it stays in the frontier, as they are not all of its posts."""
        if outcome.missing is not None:
            self._miss(pick, outcome.missing)
            return
        note_evidence(self.graph, pick.node, self.captured.get(pick.node, 0.0), outcome.value)
        self.captured[pick.node] = outcome.value

    def _miss(self, pick: Pick, why: Unavailable) -> None:
        """Learn that a node could not be read."""
        node = pick.node
        if isinstance(why, SameAs):
            merge(self.graph, node, why.node)
            self._restore(node)
            self._restore(why.node)
            self.failures.pop(node, None)
        elif why == Reason.TEMPORARY:
            self._fail(node, pick.n)
        else:
            self._lose(node, why)

    def _fail(self, node: Node, n: int) -> None:
        self.failures[node] = self.failures.get(node, 0) + 1
        if self.failures[node] < TRIES:
            self.resting[node] = n + REST
            self.graph.sleep(self.graph.ensure_row(node), asleep=True)
        else:
            self._lose(node, Reason.TEMPORARY)

    def _lose(self, node: Node, why: Reason) -> None:
        until = None
        if self.again is not None and why not in FOR_GOOD:
            self.failures.pop(node, None)  # somebody who fails three times more is lost once more
            self.losses[node] = losses = self.losses.get(node, 0) + 1
            until = self.latest + self.again * 2.0 ** min(losses - 1, DOUBLINGS)
        lose(self.graph, node, until=until, trace=why != Reason.FORGOTTEN)
        if why != Reason.FORGOTTEN:
            self.gone[node] = why

    def _restore(self, node: Node) -> None:
        """Take a node for lost no longer."""
        self.gone.pop(node, None)
        self.losses.pop(node, None)

    def _wake_up(self, node: Node) -> None:
        if self.resting.pop(node, None) is not None:
            self.graph.sleep(self.graph.ensure_row(node), asleep=False)

    def _wake(self) -> None:
        """Offer those again who have rested enough; seeds go back in line."""
        for node in [node for node, until in self.resting.items() if until <= self.picks]:
            self._wake_up(node)
            if not self.graph.is_crawled(node):
                self.seeds.retry(node)
