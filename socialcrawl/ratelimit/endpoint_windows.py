"""The windows that count the requests to one endpoint, where several endpoints share some of them. Pure.

Endpoints that name the same pool count together, and so do those that are linked by a third one: all of them are one
group, whose windows are one window set of a credential. A request takes a slot of those that count its endpoint.
"""

from collections.abc import Collection, Iterable
from math import inf
from typing import NamedTuple

from socialcrawl.engine.model import Limit, Reply
from socialcrawl.ratelimit.counted_window import AlignedWindow
from socialcrawl.ratelimit.fixed_window import FixedWindow
from socialcrawl.ratelimit.policy import Policy, Pool, Rule
from socialcrawl.ratelimit.window import ROUNDING, Window
from socialcrawl.ratelimit.window_set import WindowSet, find_daily_window, find_tightest


class EndpointPlaces(NamedTuple):
    """The windows of a pool group that count the requests to one endpoint, by their places; headers speak of a head."""

    windows: tuple[int, ...]
    heads: tuple[int, ...]


class PoolGroup:
    """Endpoints that have windows in common.

    Attributes:
        name: distinguishes it from others of the server; no endpoint has such a name.
        endpoints: their names in the policy.
    """

    def __init__(self, policy: Policy, endpoints: Iterable[str]) -> None:
        self.policy, self.endpoints = policy, tuple(sorted(endpoints))
        named = {pool.name: pool for name in self.endpoints for pool in policy.endpoints[name].pools}
        self.pools: tuple[Pool, ...] = tuple(named[name] for name in sorted(named))
        self.name = "/ " + "+".join(sorted(named))

    def list_rules(self, kind: str) -> tuple[Rule, ...]:
        """Return the rules of all its windows for tokens of a kind: of the pools, then of single endpoints."""
        return tuple(rule for _, rule in self._list_owned_rules(kind))

    def find_heads(self, kind: str) -> tuple[int, ...]:
        """Return the places of the first windows of its pools and endpoints, for tokens of a kind."""
        owners = [owner for owner, _ in self._list_owned_rules(kind)]
        return tuple(place for place, owner in enumerate(owners) if owner not in owners[:place])

    def find_places(self, endpoint: str, kind: str) -> EndpointPlaces:
        """Return the windows of an endpoint for tokens of a kind, in the order of its rules.

        All, if it has none for them.
        """
        its = [pool.name for pool in self.policy.endpoints[endpoint].pools] + [endpoint]
        owners = [owner for owner, _ in self._list_owned_rules(kind)]
        groups = [tuple(place for place, owner in enumerate(owners) if owner == name) for name in its]
        its_own = tuple(place for group in groups for place in group)
        return EndpointPlaces(
            its_own or tuple(range(len(owners))), tuple(group[0] for group in groups if group) or (0,)
        )

    def _list_owned_rules(self, kind: str) -> list[tuple[str, Rule]]:
        pools = [(pool.name, rule) for pool in self.pools for rule in pool.get_rules(kind)]
        own = [(name, rule) for name in self.endpoints for rule in self.policy.endpoints[name].get_own_rules(kind)]
        return pools + own


def group_pools(policy: Policy) -> dict[str, PoolGroup]:
    """Return the pool groups of a policy, by the names of their endpoints; endpoints without pools are in none."""
    groups: list[tuple[set[str], set[str]]] = []  # the pools and the endpoints of each
    for name, endpoint in policy.endpoints.items():
        pools, names = {pool.name for pool in endpoint.pools}, {name}
        if not pools:
            continue
        for group in [group for group in groups if group[0] & pools]:
            groups.remove(group)
            pools, names = pools | group[0], names | group[1]
        groups.append((pools, names))
    return {name: group for _, names in groups for group in [PoolGroup(policy, names)] for name in names}


class EndpointWindows:
    """The windows of a set that count the requests to one endpoint.

    Headers speak of the head of one of its pools, or of its own first rule: of that which their numbers fit; where they
    fit several, of that of which less is left, as servers speak of the window that is closest to its end. A guess makes
    things stricter only: a fixed window, whose end headers may bring nearer, takes none.

    Args:
        window_set: holds all windows.
        endpoint: with its host.
        part: the places of its windows in the set.
    """

    def __init__(self, window_set: WindowSet, endpoint: str, part: EndpointPlaces) -> None:
        self.window_set, self.endpoint, self.places, self.heads = window_set, endpoint, part.windows, part.heads
        self.credential = window_set.credential
        self.last_place = self.heads[0]  # the place of the window of which the last headers spoke
        self.is_sure = True  # whether that is no guess
        self.closed_until = -inf  # other endpoints may open the windows at any time

    @property
    def windows(self) -> list[Window]:
        """The windows that count its requests."""
        return self.window_set.select_windows(self.places)

    @property
    def main(self) -> Window:
        """The window that the last headers spoke of."""
        return self.window_set.windows[self.last_place]

    def find_slot(self, now: float) -> float:
        """Return the earliest instant at which a request may leave; `now` if at once. Changes nothing."""
        return max(self.window_set.find_slot(now, self.places), self._paused_until)

    def can_send(self, now: float) -> bool:
        """Return whether a request may leave at `now`."""
        return now >= self._paused_until and self.window_set.can_send(now, self.places)

    def take(self, now: float) -> None:
        """Count a request that leaves at `now`."""
        self.window_set.take(now, self.places)

    def follow(self, now: float, slack: float, opens: Collection[int]) -> None:
        """Count a request of another process, see `WindowSet.follow`."""
        self.window_set.follow(now, slack, opens, self.places)

    def list_opened(self, sent: float) -> tuple[int, ...]:
        """See `WindowSet.list_opened`."""
        return self.window_set.list_opened(sent, self.places)

    def learn(self, sent: float, reply: Reply) -> None:
        """Take in the reply to the request that left at `sent`."""
        self.last_place, self.is_sure = self._find_window(sent, reply)
        is_usable = self.is_sure or not isinstance(self.main, FixedWindow)
        self.window_set.learn(sent, reply, self.places, self.last_place if is_usable else None)

    def close(self, until: float, *, over: bool = False, daily: bool = False) -> None:
        """Send nothing before `until` to any endpoint of a window; `over`: the server said that it ends then.

        Which it is, the headers said; without them, it may be any of its pools.
        """
        its = find_daily_window(self.windows) if daily else None
        if its is not None:
            self.window_set.close(until, over=over, place=self.window_set.windows.index(its))
        elif over and not daily:
            self.window_set.close(until, over=self.is_sure, place=self.last_place)
        else:
            for place in self.heads:
                self.window_set.close(until, place=place)

    def pause(self, until: float, why: str = "") -> None:
        """Send nothing to this endpoint before `until`: it is in trouble (`why`), others need not be."""
        self.window_set.pause(until, self.endpoint, why)

    def abandon(self, sent: float) -> None:
        """Note that nobody waits for the reply to the request that left at `sent`."""
        self.window_set.abandon(sent, self.places)

    def count_slots(self, now: float, until: float) -> int:
        """Return how many requests may leave from `now` to `until`, if each is answered at once."""
        return self.window_set.count_slots(max(now, self._paused_until), until, self.places)

    def can_foresee(self, until: float) -> bool:
        """See `WindowSet.can_foresee`."""
        return self.window_set.can_foresee(until, self.places)

    def find_deadline(self, now: float) -> float:
        """See `WindowSet.find_deadline`."""
        return self.window_set.find_deadline(now, self.heads[0])

    def explain_wait(self, now: float) -> str:
        """Return what a request that may not leave at `now` waits for."""
        if now < self._paused_until and self._paused_until >= self.window_set.find_slot(now, self.places):
            return self.window_set.explain_pause(self.endpoint)
        return self.window_set.explain_wait(now, self.places)

    @property
    def _paused_until(self) -> float:
        return self.window_set.pauses.get(self.endpoint, -inf)

    def _find_window(self, sent: float, reply: Reply) -> tuple[int, bool]:
        """Return the place of the window that headers speak of, and whether that is sure."""
        limit = find_tightest(reply.limits, daily=False)
        heads, windows, rules = self.heads, self.window_set.windows, self.window_set.rules
        if len(heads) == 1:
            return heads[0], True
        alike = [at for at in heads if limit is not None and limit.most == rules[at].k]
        if limit is not None:
            heads = tuple(alike or (at for at in heads if limit.most == windows[at].k)) or heads
            heads = tuple(at for at in heads if _may_end(windows[at], limit, sent, reply)) or heads
        return min(heads, key=lambda at: windows[at].k - windows[at].count_used(sent)), len(alike) == 1


def _may_end(window: Window, limit: Limit, sent: float, reply: Reply) -> bool:
    """Return whether a window may end when the headers say, whole seconds or not."""
    rest = 0.0 if reply.date is None else limit.resets - reply.date
    if not 0.0 <= rest <= window.d + ROUNDING:
        return False
    if isinstance(window, AlignedWindow):
        return abs(limit.resets - round(limit.resets / window.d) * window.d) < ROUNDING
    if isinstance(window, FixedWindow) and reply.date is not None and sent < window.end:
        return window.early - ROUNDING <= reply.at + rest and sent + rest <= window.end + ROUNDING
    return True


RequestWindows = WindowSet | EndpointWindows
"""What limits the requests to an endpoint: a window set of its own, or its windows in a set with other endpoints."""
