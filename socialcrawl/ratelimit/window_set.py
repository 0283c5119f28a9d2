"""All windows of one credential on one endpoint, which apply at once. Pure: time is passed in."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import reduce
from math import inf
from operator import or_

from socialcrawl.engine.model import USEFUL, Limit, Reply
from socialcrawl.ratelimit.clock_offset import ClockOffset
from socialcrawl.ratelimit.counted_window import AlignedWindow, SlidingWindow
from socialcrawl.ratelimit.fixed_window import FixedWindow
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.window import DAY, Window, find_longest_reset

Places = tuple[int, ...] | None
"""The places in a window set of the windows that count a request; None: all of them do."""


def make_window(rule: Rule, offset: ClockOffset) -> Window:
    """Return the window of a rule; `offset` is the distance to the server's clock."""
    if rule.kind == "sliding":
        return SlidingWindow(rule.k, rule.d)
    if rule.kind == "aligned":
        return AlignedWindow(rule.k, rule.d, offset)
    return FixedWindow(rule.k, rule.d)


class WindowSet:
    """The windows of one credential on one endpoint, or on several that have windows in common (see `EndpointWindows`).

    The first of them is the one that rate-limit headers describe; of several endpoints, one of the `heads`. A window of
    24 hours that only the headers know begins to count when they first mention it.
    """

    def __init__(
        self, credential: str, endpoint: str, rules: Sequence[Rule], offset: ClockOffset, heads: tuple[int, ...] = (0,)
    ) -> None:
        self.credential, self.endpoint, self.offset, self.heads = credential, endpoint, offset, heads
        self.has_aligned = any(rule.kind == "aligned" for rule in rules)
        self.rules = tuple(rules)
        self.windows: list[Window] = []
        self.pauses: dict[str, float] = {}  # endpoints that are paused ("": all), and until when
        self.reasons: dict[str, str] = {}  # why they are paused
        self.clear()

    @property
    def main(self) -> Window:
        """The window that rate-limit headers speak of."""
        return self.windows[0]

    def clear(self) -> None:
        """Begin with windows of which nothing is known."""
        self.closed_until = -inf  # before that instant no request can leave, whatever else happens elsewhere
        self.windows[:] = [make_window(rule, self.offset) for rule in self.rules]
        self.daily = find_daily_window(self.windows)

    def select_windows(self, places: Places) -> list[Window]:
        """Return the windows at some places; one of which only headers know is always among them."""
        return (
            self.windows
            if places is None
            else [*(self.windows[place] for place in places), *self.windows[len(self.rules) :]]
        )

    def find_slot(self, now: float, places: Places = None) -> float:
        """Return the earliest instant at which all windows let a request leave; `now` if at once. Changes nothing."""
        latest = now
        for one in self.windows if places is None else self.select_windows(places):
            when = one.find_slot(now)
            latest = max(latest, when)
        return latest

    def can_send(self, now: float, places: Places = None) -> bool:
        """Return whether all windows let a request leave at `now`."""
        if places is not None:
            return self.find_slot(now, places) <= now
        if now < self.closed_until:
            return False
        for one in self.windows:
            when = one.find_slot(now)
            if when > now:
                # As the server's clock becomes better known, an aligned window may turn out to end sooner.
                self.closed_until = when - self.offset.width if self.has_aligned else when
                return False
        return True

    def take(self, now: float, places: Places = None) -> None:
        """Count a request that leaves at `now` in every window, or in some."""
        self.closed_until = -inf
        for one in self.windows if places is None else self.select_windows(places):
            one.take(now)

    def follow(self, now: float, slack: float, opens: Collection[int], places: Places = None) -> None:
        """Count a request of another process that opens the windows at the places `opens`; see `FixedWindow.follow`."""
        self.closed_until = -inf
        opened = [self.windows[place] for place in opens if place < len(self.rules)]
        for one in self.select_windows(places):
            if isinstance(one, FixedWindow) and one in opened:
                one.follow(now, slack)
            else:
                one.take(now)

    def list_opened(self, sent: float, places: Places = None) -> tuple[int, ...]:
        """Return the places of the windows that the request opens which was taken at `sent`."""
        found = range(len(self.rules)) if places is None else places
        return tuple(
            place for place in found if isinstance(one := self.windows[place], FixedWindow) and one.has_opened(sent)
        )

    def learn(self, sent: float, reply: Reply, places: Places = None, place: int | None = 0) -> None:
        """Take in the reply to the request that left at `sent`; its headers speak of the window at `place`, if any."""
        self.closed_until = -inf
        if not reply.reached:
            for one in self.select_windows(places):
                one.give_back(sent)
            return
        said = (
            find_tightest(reply.limits, daily=False),
            _accept_daily(find_tightest(reply.limits, daily=True), reply.date),
        )
        windows = self.windows if places is None else self.select_windows(places)
        main, daily = (
            None if place is None else self.windows[place],
            self.daily if places is None else find_daily_window(windows),
        )
        if said[1] is not None and daily is None:
            daily = self._begin_daily_window(said[1], sent, places)
            windows = self.select_windows(places)
        for one in windows:
            limit = said[1] if one is daily else said[0] if one is main else None
            one.learn(limit, reply.date, reply.at, sent=sent, counted=reply.kind in USEFUL)

    def close(self, until: float, *, over: bool = False, daily: bool = False, place: int = 0) -> None:
        """Send nothing before `until`; `over`: the server said that the window at `place` (or the day's) ends then."""
        self.closed_until = -inf
        if daily and self.daily is not None:
            self.daily.close(until, over=over)
        else:
            self.windows[place].close(until, over=over and not daily)

    def pause(self, until: float, endpoint: str = "", why: str = "") -> None:
        """Send nothing before `until`, as the server is in trouble (`why`); nothing to one endpoint, if it is named."""
        if until >= self.pauses.get(endpoint, -inf):
            self.pauses[endpoint], self.reasons[endpoint] = until, why
        if not endpoint:
            self.close(until)

    def explain_pause(self, endpoint: str = "") -> str:
        """Return why an endpoint is paused; of all together, if none is named."""
        return self.reasons.get(endpoint) or "the server has a problem; requests continue after a pause"

    def abandon(self, sent: float, places: Places = None) -> None:
        """Note that nobody waits for the reply to the request that left at `sent`."""
        self.closed_until = -inf
        for one in self.select_windows(places):
            if sent in one.received.in_flight:
                one.received.abandon(sent)

    def forget_in_flight(self) -> None:
        """Forget what was in flight (a restart)."""
        self.closed_until = -inf
        for one in self.windows:
            one.forget_in_flight()

    def distrust_past(self) -> None:
        """Note that the instants of the past are not to be trusted: what they made certain may be wrong."""
        self.closed_until = -inf
        for one in self.windows:
            one.distrust_past()

    def probe(self) -> None:
        """Let the next request find out how the windows stand; what is in flight is not forgotten."""
        self.closed_until = -inf
        for one in self.windows:
            one.probe()

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        self.closed_until += delta
        for endpoint in self.pauses:
            self.pauses[endpoint] += delta
        for one in self.windows:
            one.shift(delta)

    def count_slots(self, now: float, until: float, places: Places = None) -> int:
        """Return how many requests may leave from `now` to `until`, if each is answered at once."""
        return min(one.count_slots(now, until) for one in self.select_windows(places))

    def can_foresee(self, until: float, places: Places = None) -> bool:
        """Return whether what `room` says of the time up to `until` is known of all windows."""
        return all(one.can_foresee(until) for one in self.select_windows(places))

    def find_deadline(self, now: float, place: int = 0) -> float:
        """Return when the rest of the main window is lost: 0 where one could begin now, inf where nothing is lost."""
        main = self.windows[place]
        ends = main.find_end(now)
        if ends is None:
            return 0.0 if isinstance(main, FixedWindow) else inf
        return ends

    def explain_wait(self, now: float, places: Places = None) -> str:
        """Return what a request that may not leave at `now` waits for."""
        longest = max(self.select_windows(places), key=lambda one: one.find_slot(now))
        rests = now < longest.closed_until == self.pauses.get("", -inf)
        return self.explain_pause() if rests else longest.explain_wait(now)

    def is_idle(self, now: float) -> bool:
        """Return whether the set may be forgotten: a new one would let the same requests leave."""
        limits = zip(self.windows, self.rules, strict=False)
        learned = len(self.windows) > len(self.rules) or any(one.k != rule.k for one, rule in limits)
        past = now - LAG - max(2.0 * max(one.d for one in self.windows), DAY if learned else 0.0)
        return all(until < past for until in self.pauses.values()) and all(
            not one.received.in_flight
            and max(one.closed_until, *one.received.times[-1:], -inf) < past
            and not (isinstance(one, FixedWindow) and now < one.end)
            for one in self.windows
        )

    def _begin_daily_window(self, limit: Limit, sent: float, places: Places) -> Window:
        """Return the window of a day of which only headers know, from now on."""
        begun = FixedWindow(limit.most, DAY, table=inf)
        begun.length = DAY  # by its name; we see no request open it
        in_flight = self.windows[0].received.in_flight
        if places is not None:  # each request is in flight in every window that counts it
            in_flight = sorted(reduce(or_, (Counter(one.received.in_flight) for one in self.windows)).elements())
        self.windows.append(begun)
        self.daily = self.daily or begun
        for other in in_flight:
            begun.take(other)
        begun.alone = sent  # its headers are all that is known
        return begun


def find_daily_window(windows: Sequence[Window]) -> Window | None:
    """Return the window of a day, of those that are not the main one."""
    return next((one for one in windows[1:] if one.d == DAY), None)


def find_tightest(limits: Sequence[Limit], *, daily: bool) -> Limit | None:
    """Return the header family of the day, or of the window, with the smallest number of requests left."""
    said = [limit for limit in limits if limit.daily == daily]
    return min(said, key=lambda limit: limit.left, default=None)


def _accept_daily(limit: Limit | None, date: float | None) -> Limit | None:
    """Return the limit if its window is open now by the server's clock: a day is long to wait for nothing."""
    if limit is None or limit.most < 1 or date is None or not 0.0 <= limit.resets - date <= find_longest_reset(DAY):
        return None
    return limit
