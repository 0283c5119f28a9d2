"""Who a crawl will probably read next, for sources that look several accounts up in one request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from socialcrawl.engine.model import Node, Stop, Wait, Who
from socialcrawl.engine.protocols import Crawl
from socialcrawl.platforms.excluding import ExcludedAccounts

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
        return [who for who in found if who.username is None or not self.accounts.excludes(who.username)]
