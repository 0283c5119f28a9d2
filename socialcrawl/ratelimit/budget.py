"""Budgets of a campaign: requests, posts, money and time.

What is reserved for requests in flight, at their dearest, counts against the caps until it is settled.
"""

from dataclasses import dataclass, field
from math import inf

from socialcrawl.engine.model import MILLS_PER_DOLLAR, Request, Stop, StopKind
from socialcrawl.text.wording import pluralize


@dataclass(frozen=True, slots=True)
class Caps:
    """What a campaign may spend at most; None is no limit. `money` is in mills of a cent, `seconds` since it began."""

    requests: int | None = None
    posts: int | None = None
    money: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Budget:
    """What was spent and reserved so far, held against the caps.

    Attributes:
        requests, posts, money: spent and reserved, together.
        began: when the first request left.
        flying: requests that are in flight.
        reserved: the posts and the mills that are reserved for them.
    """

    caps: Caps = field(default_factory=Caps)
    requests: int = 0
    posts: int = 0
    money: int = 0
    began: float | None = None
    in_flight: int = 0
    reserved: tuple[int, int] = (0, 0)

    @property
    def spent(self) -> tuple[int, int]:
        """The posts and the mills that are spent, without what is reserved: neither ever falls."""
        return self.posts - self.reserved[0], self.money - self.reserved[1]

    def count_affordable(self, posts: int, money: int, fee: int) -> float:
        """Return how many resources one more request may ask for.

        Args:
            posts: that a resource counts as.
            money: mills that it costs.
            fee: mills that the request costs.
        """
        caps = self.caps
        by_posts = (caps.posts - self.posts) // posts if caps.posts is not None and posts else inf
        by_money = (caps.money - self.money - fee) // money if caps.money is not None and money else inf
        return min(by_posts, by_money)

    def explain_refusal(self, request: Request, posts: int) -> Stop | None:
        """Return why `request`, which may return up to `posts` posts, cannot be paid; None if it can."""
        caps = self.caps
        if caps.requests is not None and self.requests + 1 > caps.requests:
            return _stop_at("max_requests", pluralize(caps.requests, "request"), f"{self.requests:,} were sent")
        if caps.posts is not None and self.posts + posts > caps.posts:
            return _stop_at(
                "max_posts", pluralize(caps.posts, "post"), f"{self.posts:,} were read, a page may hold {posts:,}"
            )
        if caps.money is not None and self.money + request.most > caps.money:
            spent = f"{format_dollars(self.money)} are spent, the next request may cost {format_dollars(request.most)}"
            return _stop_at("max_money", format_dollars(caps.money), spent)
        return None

    def explain_lateness(self, when: float) -> Stop | None:
        """Return why nothing may leave at `when`, which is after the end of the campaign's time; None if it is not."""
        if self.caps.seconds is None or self.began is None or when < self.began + self.caps.seconds:
            return None
        lasting = self.caps.seconds
        length = f"{lasting / 86_400:.3g} days" if lasting >= 172_800 else f"{lasting / 3600:.3g} hours"
        length = length if lasting >= 7_200 else f"{lasting:.3g} s"
        return _stop_at("max_time", length, "counted from its first request")

    def reserve(self, request: Request, posts: int, now: float) -> None:
        """Count a request at its dearest."""
        self.began = now if self.began is None else self.began
        self.requests += 1
        self.posts += posts
        self.money += request.most
        self._count_in_flight(1, posts, request.most)

    def abandon(self, request: Request, posts: int) -> None:
        """Count what was reserved as spent: nobody waits for the reply any more."""
        self._count_in_flight(-1, -posts, -request.most)

    def take_back(self, request: Request, posts: int) -> None:
        """Uncount what was reserved: the request does not leave."""
        self.requests -= 1
        self.posts -= posts
        self.money -= request.most
        self.began = self.began if self.requests else None
        self._count_in_flight(-1, -posts, -request.most)

    def add(self, requests: int, posts: int, money: int, began: float) -> None:
        """Count what requests have used that left from `began` on, all at once."""
        self.began = began if self.began is None else min(self.began, began)
        self.requests += requests
        self.posts += posts
        self.money += money

    def settle(self, request: Request, reserved_posts: int, posts: int, cost: int) -> None:
        """Replace what was reserved by what was used."""
        self.posts += posts - reserved_posts
        self.money += cost - request.most
        self._count_in_flight(-1, -reserved_posts, -request.most)

    def _count_in_flight(self, requests: int, posts: int, money: int) -> None:
        self.in_flight += requests
        self.reserved = self.reserved[0] + posts, self.reserved[1] + money


def format_dollars(mills: int) -> str:
    """Return an amount as people write it: 50,000 mills are $0.50."""
    return f"${mills / MILLS_PER_DOLLAR:,.2f}"


def _stop_at(name: str, cap: str, spent: str) -> Stop:
    return Stop(StopKind.BUDGET, f"the budget {name} = {cap} is reached ({spent}); raise it and run again to go on")
