"""Look-ups of many accounts at once: seeds, probes of life, and those whom a crawl will probably read next."""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from socialcrawl.engine.model import (
    PUT_OFF,
    Node,
    Outcome,
    Pick,
    Reason,
    Reply,
    ReplyKind,
    Request,
    Stop,
    Unavailable,
    Wait,
    Who,
)
from socialcrawl.engine.protocols import Crawl
from socialcrawl.platforms.excluding import ExcludedAccounts
from socialcrawl.platforms.node_reading import Reading

PICKS = 100  # of the crawl's next ones; some of their accounts are known, and need not be looked up


class ProfileStore(Protocol):
    """A store that knows whose profiles it lacks."""

    def strangers(self, nodes: Sequence[Node], now: float) -> Sequence[Who]:
        """Return those of some accounts whose profiles have to be asked for."""


@dataclass(slots=True)
class LookAhead:
    """Which accounts a campaign will probably read next, of those whose profiles its database lacks.

    The crawl is asked what it would choose now, which changes nothing.

    Attributes:
        store: of the campaign.
        accounts: who is never asked.
        now: the clock.
        crawl: of the campaign, once there is one.
    """

    store: ProfileStore
    accounts: ExcludedAccounts
    now: Callable[[], float]
    crawl: Crawl | None = None

    def __call__(self) -> Sequence[Who]:
        """Return those accounts, the next ones first."""
        choice = () if self.crawl is None else self.crawl.choose(PICKS, self.now())
        nodes = () if isinstance(choice, Wait | Stop) else [pick.node for pick in choice if pick.node >= 0]
        found = self.store.strangers(list(dict.fromkeys(nodes)), self.now())
        return [who for who in found if not self.accounts.excludes_account(who)]


MOST = 4  # requests for the same accounts at most: twice the platform, and what the database answered


def look_up(
    picks: Sequence[Pick],
    accounts: Mapping[Node, Who],
    ask: Callable[[tuple[int, int], Sequence[Who]], Request],
    judge: Callable[[Pick, Reply], Outcome],
    *,
    anew: bool = False,
) -> Generator[Request, Reply, dict[int, Outcome]]:
    """Return the outcomes of picks that one request can name, by n.

    Where a request was granted for some only, as the budget did not pay for more, it is about the first of them: the
    others are asked for next. Whoever was not answered about is asked for once more: the database may hold the answer
    for some only, and a reply that was stored before a restart may be that of fewer accounts, as an id learned in
    between moves an account from the names to the ids.

    Args:
        picks: no more than a request can name.
        accounts: how the platform calls their nodes.
        ask: the request for some accounts, from its key.
        judge: what an answer says of a pick.
        anew: whether what the database holds is no answer: it does not know who is still there.
    """
    outcomes = {pick.n: Outcome(pick.n, pick.node, 0.0, missing=Reason.TEMPORARY) for pick in picks}
    left, part, sent, asked = list(picks), 0, Counter[int](), Counter[int]()
    while left:
        reply = yield ask((picks[0].n, part), [accounts[pick.node] for pick in left])
        nodes = reply.answer.found.keys() | reply.answer.missing.keys()
        first = {pick.n for pick in left[: reply.items or len(left)]}
        about = [pick for pick in left if pick.n in first or pick.node in nodes]
        part += 1
        asked.update(pick.n for pick in about)
        if reply.kind != ReplyKind.HELD:
            sent.update(pick.n for pick in about)
        if not (anew and reply.kind == ReplyKind.HELD):
            outcomes |= {pick.n: judge(pick, reply) for pick in about}
            done = {pick.n for pick in about if reply.kind in PUT_OFF or pick.node in nodes}
            left = [pick for pick in left if pick.n not in done]
        left = [pick for pick in left if sent[pick.n] < 2 and asked[pick.n] < MOST]
    return outcomes


def find_id(reading: Reading, asked: Request) -> Generator[Request, Reply, str | None]:
    """Return the platform id that a look-up tells of the account being read.

    None where it is missing, which is noted.
    """
    reply = yield asked
    reading.take(reply)
    known = reply.answer.found.get(reading.pick.node)
    if known is None and reading.missing is None:
        reading.missing = Reason.UNKNOWN
    return known if reading.missing is None else None


def explain_missing(pick: Pick, reply: Reply) -> Unavailable | None:
    """Return why the account of a pick is missing, as an answer to a look-up tells it; None: it is there."""
    if reply.kind in PUT_OFF:
        return Reason.TEMPORARY
    if pick.node in reply.answer.missing:
        return reply.answer.missing[pick.node]
    return None if pick.node in reply.answer.found else Reason.UNKNOWN


def list_mentioners(reading: Reading) -> Outcome:
    """Return the authors of posts that mention an account, without itself, as targets without weight."""
    pick = reading.pick
    if reading.missing is not None:
        return Outcome(pick.n, pick.node, reading.at, missing=reading.missing, posts=reading.posts)
    nodes = np.array([node for node in reading.found if node != pick.node], np.int64)
    return Outcome(pick.n, pick.node, reading.at, targets=nodes, alpha=np.zeros(len(nodes)), posts=reading.posts)
