"""A lane: all windows of one credential on one endpoint, which hold at once. Pure: time is passed in."""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import inf
from operator import or_

from socialcrawl.engine.model import USEFUL, Limit, Reply
from socialcrawl.ratelimit.clock_offset import Offset
from socialcrawl.ratelimit.counted_window import AlignedWindow, SlidingWindow
from socialcrawl.ratelimit.fixed_window import FixedWindow
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.received import LAG
from socialcrawl.ratelimit.window import DAY, Window, longest

Some = tuple[int, ...] | None
"""The places in a lane of the windows that count a request; None: all of them do."""


def window(rule: Rule, offset: Offset) -> Window:
    """Return the window of a rule; `offset` is the distance to the server's clock."""
    if rule.kind == "sliding":
        return SlidingWindow(rule.k, rule.d)
    if rule.kind == "aligned":
        return AlignedWindow(rule.k, rule.d, offset)
    return FixedWindow(rule.k, rule.d)


class Lane:
    """The windows of one credential on one endpoint, or on several that have windows in common (see `Strand`).

    The first of them is the one that rate-limit headers speak of; of several endpoints, one of the `heads`. A window of
    24 hours that only the headers know of begins to count when they first tell.
    """

    def __init__(
        self, credential: str, endpoint: str, rules: Sequence[Rule], offset: Offset, heads: tuple[int, ...] = (0,)
    ) -> None:
        self.credential, self.endpoint, self.offset, self.heads = credential, endpoint, offset, heads
        self.aligned = any(rule.kind == "aligned" for rule in rules)
        self.rules = tuple(rules)
        self.windows: list[Window] = []
        self.gates: dict[str, float] = {}  # endpoints of several that rest ("": all), and until when
        self.reasons: dict[str, str] = {}  # why they rest
        self.clear()

    @property
    def main(self) -> Window:
        """The window that rate-limit headers speak of."""
        return self.windows[0]

    def clear(self) -> None:
        """Begin with windows of which nothing is known."""
        self.shut = -inf  # before that instant no request can leave, whatever else happens elsewhere
        self.windows[:] = [window(rule, self.offset) for rule in self.rules]
        self.daily = day(self.windows)

    def those(self, some: Some) -> list[Window]:
        """Return the windows at some places; one of which only headers know is always among them."""
        return (
            self.windows
            if some is None
            else [*(self.windows[place] for place in some), *self.windows[len(self.rules) :]]
        )

    def when(self, now: float, some: Some = None) -> float:
        """Return the earliest instant at which all windows let a request leave; `now` if at once. Changes nothing."""
        latest = now
        for one in self.windows if some is None else self.those(some):
            when = one.when(now)
            latest = max(latest, when)
        return latest

    def free(self, now: float, some: Some = None) -> bool:
        """Return whether all windows let a request leave at `now`."""
        if some is not None:
            return self.when(now, some) <= now
        if now < self.shut:
            return False
        for one in self.windows:
            when = one.when(now)
            if when > now:
                # As the server's clock becomes better known, an aligned window may turn out to end sooner.
                self.shut = when - self.offset.width if self.aligned else when
                return False
        return True

    def take(self, now: float, some: Some = None) -> None:
        """Count a request that leaves at `now` in every window, or in some."""
        self.shut = -inf
        for one in self.windows if some is None else self.those(some):
            one.take(now)

    def learn(self, sent: float, reply: Reply, some: Some = None, place: int | None = 0) -> None:
        """Take in the reply to the request that left at `sent`; its headers speak of the window at `place`, if any."""
        self.shut = -inf
        if not reply.reached:
            for one in self.those(some):
                one.give_back(sent)
            return
        said = smallest(reply.limits, daily=False), _believable(smallest(reply.limits, daily=True), reply.date)
        windows = self.windows if some is None else self.those(some)
        main, daily = None if place is None else self.windows[place], self.daily if some is None else day(windows)
        if said[1] is not None and daily is None:
            daily = self._begun(said[1], sent, some)
            windows = self.those(some)
        for one in windows:
            limit = said[1] if one is daily else said[0] if one is main else None
            one.learn(limit, reply.date, reply.at, sent=sent, counted=reply.kind in USEFUL)

    def close(self, until: float, *, over: bool = False, daily: bool = False, place: int = 0) -> None:
        """Send nothing before `until`; `over`: the server said that the window at `place` (or the day's) ends then."""
        self.shut = -inf
        if daily and self.daily is not None:
            self.daily.close(until, over=over)
        else:
            self.windows[place].close(until, over=over and not daily)

    def rest(self, until: float, endpoint: str = "", why: str = "") -> None:
        """Send nothing before `until`, as the server is in trouble (`why`); nothing to one endpoint, if it is named."""
        if until >= self.gates.get(endpoint, -inf):
            self.gates[endpoint], self.reasons[endpoint] = until, why
        if not endpoint:
            self.close(until)

    def trouble(self, endpoint: str = "") -> str:
        """Return why an endpoint rests; of all together, if none is named."""
        return self.reasons.get(endpoint) or "the server is in trouble, and is asked again after a pause"

    def abandon(self, sent: float, some: Some = None) -> None:
        """Note that nobody waits for the reply to the request that left at `sent`."""
        self.shut = -inf
        for one in self.those(some):
            if sent in one.received.flying:
                one.received.abandon(sent)

    def sound(self) -> None:
        """Forget what was in flight (a restart)."""
        self.shut = -inf
        for one in self.windows:
            one.sound()

    def doubt(self) -> None:
        """Note that the instants of the past are not to be trusted: what they made certain may be wrong."""
        self.shut = -inf
        for one in self.windows:
            one.doubt()

    def probe(self) -> None:
        """Let the next request find out how the windows stand; what is in flight is not forgotten."""
        self.shut = -inf
        for one in self.windows:
            one.probe()

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        self.shut += delta
        for endpoint in self.gates:
            self.gates[endpoint] += delta
        for one in self.windows:
            one.shift(delta)

    def room(self, now: float, until: float, some: Some = None) -> int:
        """Return how many requests may leave from `now` to `until`, if each is answered at once."""
        return min(one.room(now, until) for one in self.those(some))

    def foresees(self, until: float, some: Some = None) -> bool:
        """Return whether what `room` says of the time up to `until` is known of all windows."""
        return all(one.foresees(until) for one in self.those(some))

    def deadline(self, now: float, place: int = 0) -> float:
        """When what is left of the main window is lost: 0 where one could begin now, inf where nothing is ever lost."""
        main = self.windows[place]
        ends = main.ends(now)
        if ends is None:
            return 0.0 if isinstance(main, FixedWindow) else inf
        return ends

    def why(self, now: float, some: Some = None) -> str:
        """Return what a request that may not leave at `now` waits for."""
        longest = max(self.those(some), key=lambda one: one.when(now))
        rests = now < longest.closed_until == self.gates.get("", -inf)
        return self.trouble() if rests else longest.why(now)

    def quiet(self, now: float) -> bool:
        """Return whether the lane may be let go: a new one would let the same requests leave."""
        limits = zip(self.windows, self.rules, strict=False)
        learned = len(self.windows) > len(self.rules) or any(one.k != rule.k for one, rule in limits)
        past = now - LAG - max(2.0 * max(one.d for one in self.windows), DAY if learned else 0.0)
        return all(until < past for until in self.gates.values()) and all(
            not one.received.flying
            and max(one.closed_until, *one.received.times[-1:], -inf) < past
            and not (isinstance(one, FixedWindow) and now < one.end)
            for one in self.windows
        )

    def _begun(self, limit: Limit, sent: float, some: Some) -> Window:
        """Return the window of a day of which only headers know, from now on."""
        begun = FixedWindow(limit.most, DAY, table=inf)
        begun.length = DAY  # by its name; we see no request open it
        flying = self.windows[0].received.flying
        if some is not None:  # each request is in flight in every window that counts it
            flying = sorted(reduce(or_, (Counter(one.received.flying) for one in self.windows)).elements())
        self.windows.append(begun)
        self.daily = self.daily or begun
        for other in flying:
            begun.take(other)
        begun.alone = sent  # its headers are all that is known
        return begun


def day(windows: Sequence[Window]) -> Window | None:
    """Return the window of a day, of those that are not the main one."""
    return next((one for one in windows[1:] if one.d == DAY), None)


def smallest(limits: Sequence[Limit], *, daily: bool) -> Limit | None:
    """Of the header families of the day, or of the window, the one with the smallest number of requests left."""
    said = [limit for limit in limits if limit.daily == daily]
    return min(said, key=lambda limit: limit.left, default=None)


def _believable(limit: Limit | None, date: float | None) -> Limit | None:
    """The limit, if it tells of a window that is open now by the server's clock: a day is long to wait for nothing."""
    if limit is None or limit.most < 1 or date is None or not 0.0 <= limit.resets - date <= longest(DAY):
        return None
    return limit
