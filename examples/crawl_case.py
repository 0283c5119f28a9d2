"""The use cases of section 2.2 through the one loop: on a world at hand, without waiting, by a virtual clock."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import (
    Act,
    Grant,
    Node,
    Outcome,
    Page,
    Pick,
    Reply,
    ReplyKind,
    Request,
    Stop,
    StopKind,
    Who,
)
from socialcrawl.engine.protocols import Batch, Conversation, Ledger, Source, Store, Wire
from socialcrawl.errors import SettingsError
from socialcrawl.lab.instant import make_parts
from socialcrawl.ratelimit.budget import Budget, Caps
from socialcrawl.storage.memory_store import MemoryStore

START = "start"  # the request that gives the seeds their nodes; it is answered here and costs nothing


def crawl_case(
    source: Source,
    wire: Wire,
    seeds: Sequence[str],
    estimator: str,
    steps: int,
    *,
    seed: int = 1,
    requests: int | None = None,
    size: int = 1,
    store: Store | None = None,
) -> list[tuple[str, float]]:
    """Return the crawl sequence v1 ... vn as (key, beta), without the seeds; a node that is missing has the value 0.

    Args:
        source: one of `sources.cases`.
        wire: the world it asks.
        seeds: V0, the keys of the nodes to start from.
        estimator: the name of an estimator (`collect.estimators.NAMES`).
        steps: n, the nodes to ask after the seeds; fewer where the frontier runs out.
        seed: the seed of estimators that draw.
        requests: the most requests, the seeds' included; None for no limit. It may end the crawl within a node, whose
            first pages are then kept by the store.
        size: r, the nodes decided together.
        store: where the crawl is remembered, a new one if None; the same again goes on where it stopped.

    Raises:
        SettingsError: there are no seeds, none of them answers, or the estimator is unknown.
    """
    if not seeds or isinstance(seeds, str):
        raise SettingsError("There are no seeds: give a list with at least one node to start from.")
    memory = MemoryStore() if store is None else store
    line = Seeds([Node(-1)], look_up=False)
    crawl = Collect(line, make_estimator(estimator, seed=seed), steps, source.width)
    made = make_parts(crawl, _Started(source, seeds), memory, _Door(wire))
    end = run(replace(made, planner=_Counted(requests)), size=size)
    if isinstance(end, Stop) and end.kind == StopKind.FAILED:
        raise SettingsError(f"None of the seeds answers (the first is {seeds[0]!r}): start from other nodes.")
    taken = [(pick, o) for batch, outcomes in memory.history() for pick, o in zip(batch, outcomes, strict=True)]
    asked = memory.accounts([pick.node for pick, _ in taken if pick.act == Act.EXPAND])
    return [(str(asked[pick.node].id), outcome.value) for pick, outcome in taken if pick.act == Act.EXPAND]


class _Started:
    """A source whose seeds are found by a first request, so that any store numbers them by their keys."""

    def __init__(self, source: Source, seeds: Sequence[str]) -> None:
        self.source, self.seeds = source, list(dict.fromkeys(seeds))

    def width(self, act: Act) -> int:
        return self.source.width(act)

    def mark(self, at: float) -> str:
        return self.source.mark(at)

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        first = tuple(pick for pick in batch if pick.act == Act.SEARCH)
        return [
            *map(self._talk, first),
            *self.source.start_conversations(tuple(p for p in batch if p not in first), accounts),
        ]

    def _talk(self, pick: Pick) -> Conversation:
        reply = yield Request((pick.n, 0), START, {"keys": json.dumps(self.seeds)})
        nodes = np.array(list(reply.answer.found), np.int64)
        return {pick.n: Outcome(pick.n, pick.node, reply.at, targets=nodes, alpha=np.zeros(len(nodes)))}


class _Door:
    """The wire of a case; the request for the seeds is answered at the door."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def send(self, grant: Grant) -> Reply:
        if grant.request.endpoint != START:
            return self.wire.send(grant)
        keys = json.loads(grant.request.params["keys"])
        return Reply(ReplyKind.OK, grant.at, Page(answered=[Who(key, None) for key in keys]))


class _Counted:
    """A planner that allows so many requests, at any time; the one for the seeds' nodes is none."""

    def __init__(self, requests: int | None) -> None:
        self.budget = Budget(Caps(requests))

    def take(self, request: Request, now: float) -> Grant | Stop:
        if request.endpoint != START:
            if stop := self.budget.explain_refusal(request, 0):
                return stop
            self.budget.reserve(request, 0, now)
        return Grant(request, "main", now)

    def abandon(self, grant: Grant) -> None:
        """Nothing: nobody counts."""

    def settle(self, grant: Grant, reply: Reply, now: float) -> None:
        return None

    def fold(self, ledger: Ledger, now: float) -> None:
        for grant, _ in ledger:
            if grant.request.endpoint != START:
                self.budget.reserve(grant.request, 0, grant.at)
