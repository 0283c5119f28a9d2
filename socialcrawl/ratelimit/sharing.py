"""Shares of one lane: how many of the slots of a window each of the campaigns that claim some may take, and when. Pure.

A campaign claims slots while it is hungry and has asked for one lately. Of the slots that claimants have and could
have in a period, each has a quota by its weight; odd slots go to whom the last periods have given least. Within its
quota a campaign takes at once. Beyond it, it takes what is not kept for others: of a quota of q slots the j-th is kept
until j / (q + 1) of the period is over, so that whoever takes its slots evenly, or sooner, loses none, and what nobody
takes is left to the others while there is time to use it.
"""

from collections.abc import Mapping
from math import ceil
from typing import Protocol

from socialcrawl.ratelimit.counted_window import TINY
from socialcrawl.ratelimit.window import Window

LATELY = 2.0  # windows: who has not asked for so long claims nothing
SHORT = 0.5  # of a window: what is left of one when a period begins is counted with the next if it is less


class Claimant(Protocol):
    """A campaign as its shares see it."""

    weight: float
    eager: bool


class Shares:
    """The shares of campaigns, by name, in the main window of a lane.

    Attributes:
        members: the campaigns that use the lane.
        begin, end: of the period, which is that of the window where it has an end; else it lasts d seconds.
        used: slots that each has taken in it.
        waiting: campaigns that were told to wait for their share.
    """

    def __init__(self, members: dict[str, Claimant] | None = None) -> None:
        self.members: dict[str, Claimant] = {} if members is None else members
        self.begin = self.end = -1.0
        self.used: dict[str, int] = {}
        self.waiting: set[str] = set()
        self._asked: dict[str, float] = {}  # when each last asked
        self._owed: dict[str, float] = {}  # parts of slots by which past quotas were below what weights say
        self._odd: dict[str, float] = {}  # the same of this period

    def ask(self, name: str, now: float) -> None:
        """Note that a campaign wants a slot now."""
        self.members[name].eager = True
        self._asked[name] = now

    def until(self, name: str, window: Window, now: float) -> tuple[float, int]:
        """Return when a campaign may take a slot of a window that is open, `now` if at once.

        And how many are kept for others.

        Given up claims may make it sooner; whoever waits is in `waiting`.
        """
        self._turn(window, now)
        self.waiting.discard(name)
        claims = self._claims(window)
        claims[name] = self.members[name].weight
        if len(claims) == 1:
            return now, 0
        left = max(1, window.k - window.used(now))
        quotas = self._quotas(left + sum(self.used.get(one, 0) for one in claims), claims)
        if self.used.get(name, 0) < quotas[name]:
            return now, 0
        lapses = sorted(lapse for one in claims if one != name for lapse in self._lapses(one, quotas[one], now))
        if left > len(lapses):
            return now, len(lapses)
        self.waiting.add(name)
        return max(lapses[len(lapses) - left], now + TINY), len(lapses)

    def take(self, name: str, window: Window, now: float) -> None:
        """Count a slot that a campaign takes."""
        self._turn(window, now)
        self.waiting.discard(name)
        self.used[name] = self.used.get(name, 0) + 1

    def give_back(self, name: str, sent: float) -> None:
        """Uncount a slot that a campaign took at `sent`: its request has not reached the server."""
        if sent >= self.begin and self.used.get(name):
            self.used[name] -= 1

    def release(self, name: str) -> set[str]:
        """Return the campaigns that need not wait for their share any more, as `name` claims nothing now."""
        self.waiting.discard(name)
        told, self.waiting = (self.waiting, set()) if name in self._asked else (set(), self.waiting)
        return told

    def leave(self, name: str) -> None:
        """Forget a campaign, but for what it has used."""
        for known in (self.members, self._asked, self._owed, self._odd):
            known.pop(name, None)

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set."""
        self.begin, self.end = self.begin + delta, self.end + delta
        self._asked = {name: at + delta for name, at in self._asked.items()}

    def _turn(self, window: Window, now: float) -> None:
        """Begin a new period when the last one is over; take over its end as the window comes to know it."""
        ends = window.ends(now)
        begin = self.begin if now < self.end else now
        if ends is not None and ends < begin + SHORT * window.lasts(now):
            ends = None  # what is left of a window whose slots were free before it ended
        if now < self.end:
            self.end = self.end if ends is None else ends
            return
        self.begin, self.end = now, now + window.d if ends is None else ends
        self.used.clear()
        for name, odd in self._odd.items():
            self._owed[name] = self._owed.get(name, 0.0) + odd
        self._odd.clear()

    def _claims(self, window: Window) -> dict[str, float]:
        """Return the weights of those that claim slots."""
        since = self.begin - LATELY * window.d
        return {
            name: one.weight
            for name, one in self.members.items()
            if one.eager and self._asked.get(name, since - 1.0) >= since
        }

    def _quotas(self, slots: int, claims: Mapping[str, float]) -> dict[str, int]:
        """Return the slots divided by weight: largest remainders, with what past periods owe added."""
        whole = sum(claims.values())
        exact = {name: slots * weight / whole for name, weight in claims.items()}
        quotas = {name: int(share) for name, share in exact.items()}
        due = sorted(claims, key=lambda name: (quotas[name] - exact[name] - self._owed.get(name, 0.0), name))
        for name in due[: slots - sum(quotas.values())]:
            quotas[name] += 1
        self._odd = {name: exact[name] - quotas[name] for name in claims}
        return quotas

    def _lapses(self, name: str, quota: int, now: float) -> list[float]:
        """Return when each slot that is kept for a campaign will be kept no more."""
        part = (self.end - self.begin) / (quota + 1)  # seconds from one to the next
        open_parts = ceil((self.end - now - TINY) / part) - 1 if part > 0.0 else 0
        kept = min(quota - self.used.get(name, 0), open_parts)
        return [self.end - left * part for left in range(1, kept + 1)]
