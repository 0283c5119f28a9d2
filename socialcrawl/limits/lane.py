"""A lane: all windows of one credential on one endpoint, which hold at once. Pure: time is passed in."""

from collections.abc import Sequence
from math import inf

from socialcrawl.limits.counted import AlignedWindow, SlidingWindow
from socialcrawl.limits.fixed import FixedWindow
from socialcrawl.limits.offset import Offset
from socialcrawl.limits.policy import Rule
from socialcrawl.limits.window import DAY, Window, longest
from socialcrawl.model import USEFUL, Limit, Reply


def window(rule: Rule, offset: Offset) -> Window:
    """The window of a rule; `offset` is the distance to the server's clock."""
    if rule.kind == "sliding":
        return SlidingWindow(rule.k, rule.d)
    if rule.kind == "aligned":
        return AlignedWindow(rule.k, rule.d, offset)
    return FixedWindow(rule.k, rule.d)


class Lane:
    """The windows of one credential on one endpoint.

    The first of them is the one that rate-limit headers speak of. A window of 24 hours that only the headers know of
    begins to count when they first tell.
    """

    def __init__(self, credential: str, endpoint: str, rules: Sequence[Rule], offset: Offset) -> None:
        self.credential, self.endpoint, self.offset = credential, endpoint, offset
        self.aligned = any(rule.kind == "aligned" for rule in rules)
        self.rules = tuple(rules)
        self.windows: list[Window] = []
        self.clear()

    @property
    def main(self) -> Window:
        """The window that rate-limit headers speak of."""
        return self.windows[0]

    def clear(self) -> None:
        """Begin with windows of which nothing is known."""
        self.shut = -inf  # before that instant no request can leave, whatever else happens elsewhere
        self.windows[:] = [window(rule, self.offset) for rule in self.rules]
        self.daily = next((one for one in self.windows[1:] if one.d == DAY), None)

    def when(self, now: float) -> float:
        """The earliest instant at which all windows let a request leave; `now` if at once. Changes nothing."""
        latest = now
        for one in self.windows:
            when = one.when(now)
            latest = max(latest, when)
        return latest

    def free(self, now: float) -> bool:
        """Whether all windows let a request leave at `now`."""
        if now < self.shut:
            return False
        for one in self.windows:
            when = one.when(now)
            if when > now:
                # As the server's clock becomes better known, an aligned window may turn out to end sooner.
                self.shut = when - self.offset.width if self.aligned else when
                return False
        return True

    def take(self, now: float) -> None:
        """Count a request that leaves at `now` in every window."""
        self.shut = -inf
        for one in self.windows:
            one.take(now)

    def learn(self, sent: float, reply: Reply) -> None:
        """Take in the reply to the request that left at `sent`."""
        self.shut = -inf
        said = smallest(reply.limits, daily=False), _believable(smallest(reply.limits, daily=True), reply.date)
        main, daily = self.windows[0], self.daily
        if said[1] is not None and daily is None:
            self.daily = daily = FixedWindow(said[1].most, DAY, table=inf)
            self.windows.append(daily)
            for other in main.received.flying:
                daily.take(other)
            daily.alone = sent  # its headers are all that is known
        for one in self.windows:
            limit = said[1] if one is daily else said[0] if one is main else None
            one.learn(limit, reply.date, reply.at, sent=sent, counted=reply.kind in USEFUL)

    def close(self, until: float, *, over: bool = False, daily: bool = False) -> None:
        """Send nothing before `until`; `over`: the server said that the main (or the daily) window ends then."""
        self.shut = -inf
        if daily and self.daily is not None:
            self.daily.close(until, over=over)
        else:
            self.main.close(until, over=over and not daily)

    def abandon(self, sent: float) -> None:
        """Note that nobody waits for the reply to the request that left at `sent`."""
        self.shut = -inf
        for one in self.windows:
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
        for one in self.windows:
            one.shift(delta)

    def room(self, now: float, until: float) -> int:
        """How many requests may leave from `now` to `until`, if each is answered at once."""
        return min(one.room(now, until) for one in self.windows)

    def deadline(self, now: float) -> float:
        """When what is left of the main window is lost: 0 where one could begin now, inf where nothing is ever lost."""
        main = self.windows[0]
        ends = main.ends(now)
        if ends is None:
            return 0.0 if isinstance(main, FixedWindow) else inf
        return ends

    def why(self, now: float) -> str:
        """What a request that may not leave at `now` waits for."""
        return max(self.windows, key=lambda one: one.when(now)).why(now)


def smallest(limits: Sequence[Limit], *, daily: bool) -> Limit | None:
    """Of the header families of the day, or of the window, the one with the smallest number of requests left."""
    said = [limit for limit in limits if limit.daily == daily]
    return min(said, key=lambda limit: limit.left, default=None)


def _believable(limit: Limit | None, date: float | None) -> Limit | None:
    """The limit, if it tells of a window that is open now by the server's clock: a day is long to wait for nothing."""
    if limit is None or limit.most < 1 or date is None or not 0.0 <= limit.resets - date <= longest(DAY):
        return None
    return limit
