"""How many slots of a window each of several campaigns may take, and when. Pure.

A campaign claims slots while its turn lasts and it has asked for one lately. Of the slots that claimants have and could
have in a period, each has a quota by its weight; odd slots go to whom the last periods have given least. Within its
quota a campaign takes at once. Beyond it, it takes what is not kept for others: of a quota of q slots the j-th is kept
until j / (q + 1) of the period is over, so that a campaign that takes its slots evenly, or sooner, loses none, and
unused slots are released while there is time to use them.
"""

from collections.abc import Mapping
from math import ceil
from typing import Protocol

from socialcrawl.ratelimit.counted_window import TINY
from socialcrawl.ratelimit.window import Window

LATELY = 2.0  # windows: a campaign that has not asked for so long claims nothing
SHORT = 0.5  # of a window: what is left of one when a period begins is counted with the next if it is less


class ShareHolder(Protocol):
    """A campaign as its shares see it."""

    weight: float
    is_claiming: bool


class WindowShares:
    """The shares of campaigns, by name, in the main window of a window set.

    Attributes:
        members: the campaigns that use it.
        begin, end: of the period, which is that of the window where it has an end; else it lasts d seconds.
        used: slots that each has taken in it.
        waiting: campaigns that wait for their share.
    """

    def __init__(self, members: dict[str, ShareHolder] | None = None) -> None:
        self.members: dict[str, ShareHolder] = {} if members is None else members
        self.begin = self.end = -1.0
        self.used: dict[str, int] = {}
        self.waiting: set[str] = set()
        self._asked: dict[str, float] = {}  # when each last asked
        self._owed: dict[str, float] = {}  # parts of slots by which past quotas were below what weights say
        self._odd: dict[str, float] = {}  # the same of this period

    def note_request(self, name: str, now: float) -> None:
        """Note that a campaign wants a slot now."""
        self.members[name].is_claiming = True
        self._asked[name] = now

    def find_slot(self, name: str, window: Window, now: float) -> tuple[float, int]:
        """Return when a campaign may take a slot of an open window (`now` if at once), and how many others have.

        Claims that are given up may make it sooner; a campaign that waits is in `waiting`.
        """
        self._update_period(window, now)
        self.waiting.discard(name)
        claims = self._find_claims(window)
        claims[name] = self.members[name].weight
        if len(claims) == 1:
            return now, 0
        left = max(1, window.k - window.count_used(now))
        quotas = self._compute_quotas(left + sum(self.used.get(one, 0) for one in claims), claims)
        if self.used.get(name, 0) < quotas[name]:
            return now, 0
        lapses = sorted(lapse for one in claims if one != name for lapse in self._find_lapses(one, quotas[one], now))
        if left > len(lapses):
            return now, len(lapses)
        self.waiting.add(name)
        return max(lapses[len(lapses) - left], now + TINY), len(lapses)

    def take(self, name: str, window: Window, now: float) -> None:
        """Count a slot that a campaign takes."""
        self._update_period(window, now)
        self.waiting.discard(name)
        self.used[name] = self.used.get(name, 0) + 1

    def give_back(self, name: str, sent: float) -> None:
        """Uncount a slot that a campaign took at `sent`: its request has not reached the server."""
        if sent >= self.begin and self.used.get(name):
            self.used[name] -= 1

    def release(self, name: str) -> set[str]:
        """Drop the claim of a campaign; return the campaigns that no longer wait for their share."""
        self.waiting.discard(name)
        released, self.waiting = (self.waiting, set()) if name in self._asked else (set(), self.waiting)
        return released

    def leave(self, name: str) -> None:
        """Forget a campaign, except what it has used."""
        for known in (self.members, self._asked, self._owed, self._odd):
            known.pop(name, None)

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set."""
        self.begin, self.end = self.begin + delta, self.end + delta
        self._asked = {name: at + delta for name, at in self._asked.items()}

    def _update_period(self, window: Window, now: float) -> None:
        """Begin a new period when the last one is over; take over its end as the window comes to know it."""
        ends = window.find_end(now)
        begin = self.begin if now < self.end else now
        if ends is not None and ends < begin + SHORT * window.find_length(now):
            ends = None  # what is left of a window whose slots were free before it ended
        if now < self.end:
            self.end = self.end if ends is None else ends
            return
        self.begin, self.end = now, now + window.d if ends is None else ends
        self.used.clear()
        for name, odd in self._odd.items():
            self._owed[name] = self._owed.get(name, 0.0) + odd
        self._odd.clear()

    def _find_claims(self, window: Window) -> dict[str, float]:
        """Return the weights of those that claim slots."""
        since = self.begin - LATELY * window.d
        return {
            name: one.weight
            for name, one in self.members.items()
            if one.is_claiming and self._asked.get(name, since - 1.0) >= since
        }

    def _compute_quotas(self, slots: int, claims: Mapping[str, float]) -> dict[str, int]:
        """Return the slots divided by weight: largest remainders, with what past periods owe added."""
        total = sum(claims.values())
        exact = {name: slots * weight / total for name, weight in claims.items()}
        quotas = {name: int(share) for name, share in exact.items()}
        due = sorted(claims, key=lambda name: (quotas[name] - exact[name] - self._owed.get(name, 0.0), name))
        for name in due[: slots - sum(quotas.values())]:
            quotas[name] += 1
        self._odd = {name: exact[name] - quotas[name] for name in claims}
        return quotas

    def _find_lapses(self, name: str, quota: int, now: float) -> list[float]:
        """Return when each slot that is kept for a campaign will be kept no more."""
        part = (self.end - self.begin) / (quota + 1)  # seconds from one to the next
        open_parts = ceil((self.end - now - TINY) / part) - 1 if part > 0.0 else 0
        kept = min(quota - self.used.get(name, 0), open_parts)
        return [self.end - left * part for left in range(1, kept + 1)]
