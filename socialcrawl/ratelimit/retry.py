"""When a request that failed is tried again, and when that is given up. Pure: pauses are returned, nobody sleeps here.

The policies are tenacity's, used as values: how long to wait after the n-th failure, and after how many to stop. Only
the jitter is our own, as it has to be the same again for the same campaign seed.

- Failures in a row of one credential on one endpoint make its pauses longer; a good answer begins the row
  anew. Requests that were in flight together fail together and count once.
- The longest pause after a 429 without a date is a quarter of an hour. A server that does not answer is asked again
  after PROBE seconds at most, unless each try may be billed.
- A request that stays broken is given back to the crawl after TRIES, as a node to ask again later; one that a 429
  without a date refuses, when the longest pause has not helped. While the platform is down (`outage`), a request is
  kept for HOLD first pauses: it is not the node that fails.
- Where a platform is many hosts, the failures of one say nothing about the others; but when MANY in a row do not
  answer, it may be our network: all of them are asked again after a pause.
- A host other than the campaign's own that is in trouble alone (see `outage`) is retried after short pauses, and
  what it does not answer is given back at once when it has failed some times in a row: nobody waits for it.
- With nothing but failures the run stops: after FEW in a row where nothing has worked in it (a wrong address), after as
  many and `give_up` seconds where something has.
"""

from collections.abc import Callable
from math import ceil, inf, log2

from tenacity import RetryCallState, Retrying, stop_after_attempt, wait_exponential

from socialcrawl.engine.draws import draw_uniform
from socialcrawl.engine.model import Grant, Reply, ReplyKind
from socialcrawl.ratelimit.outage import SHORT, FailureStreak, HostHealth, Outage
from socialcrawl.ratelimit.policy import parse_host
from socialcrawl.ratelimit.window import find_longest_reset

TRIES = 3  # times one request is sent before its conversation gets the failure
FEW = 5  # failures in a row after which a run stops in which nothing has worked yet
MANY = 8  # hosts in a row that did not answer, after which none is asked for a while
ENTRIES = 4096  # requests, and credentials on endpoints, whose failures are remembered
JITTER = 0.5  # share of a pause that chance may add
LONGEST = 900.0  # seconds of the longest pause
PROBE = 60.0  # seconds of the longest pause before a server is asked again that does not answer
HOLD = 600.0  # first pauses for which a request is kept while the platform is down
GIVE_UP = 3600.0  # seconds of nothing but failures after which a run stops


class Backoff:
    """Failures in a row, by credential, endpoint and kind, and what follows from them.

    Args:
        pause: seconds of the first pause; each further one doubles it.
        longest: seconds of the longest one, jitter included; of a server that does not answer, at most PROBE.
        give_up: seconds of nothing but failures after which the run stops.
        seed: of the jitter.
    """

    def __init__(self, pause: float = 1.0, longest: float = LONGEST, give_up: float = GIVE_UP, seed: int = 0) -> None:
        steps = 2 + ceil(log2(max(1.0, longest / (1.0 + JITTER) / pause)))  # the longest pause included
        self.policies = {
            "broken": _Pauses(pause, min(longest, PROBE), TRIES),
            "billed": _Pauses(pause, longest, TRIES),
            "backoff": _Pauses(pause, longest, max(TRIES, steps)),
        }
        self.give_up, self.seed, self.hold = give_up, seed, HOLD * pause
        self.streak = FailureStreak()  # of the platform
        self.worked = False  # whether any answer of this run was good
        self.since: float | None = None  # when the first of the failures since the last good answer came
        self.count = 0  # failures since then, those in flight together counted once
        self.draws = 0
        self.hosts_health = HostHealth()  # servers besides the campaign's own
        self.resolve_endpoint: Callable[[str], str] = str  # what is in trouble together, by the name of an endpoint
        self.hosts: set[str] = set()  # that did not answer since the last good answer
        self.silences = 0  # pauses of all hosts since then
        self._silent = -inf  # when the last of them began
        self._rows: dict[tuple[str, str, str], int] = {}  # failures in a row, by credential, endpoint and kind
        self._counted: dict[tuple[str, str, str], float] = {}  # when the last of a row was counted
        self._tries: dict[tuple[tuple[int, int], str], tuple[int, float]] = {}  # failures by request, since when

    @property
    def outage(self) -> Outage | None:
        """The outage of the platform; None while it answers."""
        return self.streak.outage

    def note_answer(self) -> None:
        """Note that the platform is there, whatever it said."""
        self.streak = FailureStreak()

    def note_success(self, grant: Grant) -> None:
        """Note a good answer."""
        self.worked, self.since, self.count = True, None, 0
        self.silences, self._silent = 0, -inf
        self.hosts.clear()
        self.hosts_health.note_success(grant)
        for name in self.policies if self._rows or self._tries else ():
            self._tries.pop((grant.request.key, name), None)
            self._rows.pop(self._make_key(grant, name), None)

    def note_failure(self, grant: Grant, reply: Reply, now: float) -> float | None:
        """Note a failure at `now`: the seconds to pause, or None where the request is given back to the crawl."""
        name = "backoff" if reply.kind in (ReplyKind.BACKOFF, ReplyKind.WINDOW, ReplyKind.DAY) else "broken"
        policy = self.policies["billed" if reply.cost and name == "broken" else name]
        self.since = now if self.since is None else self.since
        row = self._count_failure(self._make_key(grant, name), grant, now)
        if name == "backoff":  # a server that says so is there, and so is the network
            self.hosts.clear()
        elif where := parse_host(grant.request.endpoint):
            self.hosts.add(where)
            self.hosts_health.note_failure(grant, now)
        if name == "broken" and (len(self.hosts) >= MANY or self.hosts_health.is_only(grant.request.endpoint)):
            self.streak.note_failure(grant, reply, now)
        if self._is_given_back((grant.request.key, name), policy, now):
            return None
        return self._draw_pause(policy, row)

    def find_short_pause(self, grant: Grant) -> float | None:
        """Return the longest pause after a request that a server in trouble alone did not answer.

        None where it is not so.

        0: nobody waits for it, and the request is not tried again. Its row of pauses begins anew.
        """
        if not self.hosts_health.has_failed_alone(grant):
            return None
        self._rows.pop(self._make_key(grant, "broken"), None)
        if not self.hosts_health.is_given_up(grant):
            return SHORT
        self._tries.pop((grant.request.key, "broken"), None)
        return 0.0

    def find_silence(self, now: float) -> float | None:
        """Return the seconds for which no host is to be asked.

        None where there is no reason to think that none answers.

        Those that were asked together fail together, and make the pause no longer.
        """
        if len(self.hosts) < MANY:
            return None
        if now >= self._silent:
            self.silences += 1
        pause = self._draw_pause(self.policies["broken"], self.silences)
        self._silent = max(self._silent, now + pause)
        return pause

    def explain_giving_up(self, now: float) -> str | None:
        """Say for how long nothing has worked, where that is reason to stop."""
        # A 429 proves that the address is right: it is waited out as if something had worked.
        # Of several hosts the addresses cannot all be wrong, and those of others' servers nobody has written.
        away = len(self.hosts) > 1 or (self.hosts_health.home != "" and not self.hosts <= {self.hosts_health.home})
        patient = self.worked or away or any(name == "backoff" for _, _, name in self._rows)
        if self.since is None or self.count < FEW or (patient and now - self.since < self.give_up):
            return None
        return f"{self.count} times in a row" + (f", for {now - self.since:.0f} s" if patient else "")

    def count_failures(self, grant: Grant) -> int:
        """Return how many failures in a row the request's credential has had on its endpoint."""
        return self._rows.get(self._make_key(grant, "broken"), 0)

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set."""
        self.since = None if self.since is None else self.since + delta
        self._silent += delta
        self.hosts_health.shift(delta)
        self.streak.shift(delta)
        self._tries = {request: (tries, since + delta) for request, (tries, since) in self._tries.items()}
        self._counted = {window_set: at + delta for window_set, at in self._counted.items()}

    def reset(self) -> None:
        """Forget all failures, and the pauses that were drawn."""
        self.start_run()
        self.draws = 0

    def start_run(self) -> None:
        """Begin with new patience: a new run."""
        self.worked, self.since, self.count = False, None, 0
        self.silences, self._silent = 0, -inf
        self.hosts.clear()
        self.hosts_health.start_run()
        self.streak = FailureStreak()
        self._rows.clear()
        self._counted.clear()
        self._tries.clear()

    def _is_given_back(self, request: tuple[tuple[int, int], str], policy: "_Pauses", now: float) -> bool:
        """Count a failure of a request; whether it has been tried often enough."""
        tries, since = self._tries.get(request, (0, now))
        self._tries[request] = tries + 1, since
        held = self.worked and request[1] == "broken" and self.outage is not None and now - since < self.hold
        if held or not policy.should_stop(tries + 1):
            if len(self._tries) > ENTRIES:
                del self._tries[next(iter(self._tries))]
            return False
        del self._tries[request]
        return True

    def _count_failure(self, window_set: tuple[str, str, str], grant: Grant, now: float) -> int:
        if window_set not in self._rows or grant.at >= self._counted[window_set]:
            self._rows[window_set] = self._rows.get(window_set, 0) + 1
            self.count += 1
            self._counted[window_set] = now
        row = self._rows[window_set]
        if len(self._rows) > ENTRIES:
            del self._rows[next(iter(self._rows))]
        if len(self._counted) > 2 * ENTRIES:
            self._counted = {one: at for one, at in self._counted.items() if one in self._rows}
        return row

    def _make_key(self, grant: Grant, name: str) -> tuple[str, str, str]:
        return grant.credential, self.resolve_endpoint(grant.request.endpoint), name

    def _draw_pause(self, policy: "_Pauses", row: int) -> float:
        self.draws += 1
        return policy.compute_pause(row, 1.0 + JITTER * float(draw_uniform(self.seed, "pause", self.draws, 1)[0]))


class _Pauses:
    """How long to wait after failures in a row, and after how many tries a request is given back.

    Args:
        first: seconds of the first pause; each further one doubles it.
        longest: seconds of the longest one, jitter included.
        tries: of one request.
    """

    def __init__(self, first: float, longest: float, tries: int) -> None:
        wait = wait_exponential(multiplier=first, max=max(min(first, longest), longest / (1.0 + JITTER)))
        self._policy, self._longest = Retrying(stop=stop_after_attempt(tries), wait=wait), longest

    def compute_pause(self, row: int, jitter: float) -> float:
        """Return the seconds to wait after this number of failures in a row."""
        return min(self._longest, float(self._policy.wait(self._make_attempt(row))) * jitter)

    def should_stop(self, tries: int) -> bool:
        """Return whether a request was tried often enough."""
        return bool(self._policy.stop(self._make_attempt(tries)))

    def _make_attempt(self, number: int) -> RetryCallState:
        state = RetryCallState(self._policy, None, (), {})
        state.attempt_number = number
        return state


def find_reset(reply: Reply, d: float) -> tuple[float, bool] | None:
    """Return seconds until a window or day used up by a 429 is over, and whether it is then; None: they are absurd.

    The server's clock tells; without it, or a reset, a window is over after d seconds, and after a day's is asked soon.
    """
    daily = reply.kind == ReplyKind.DAY
    resets = [limit.resets for limit in reply.limits if limit.left == 0 and limit.daily == daily]
    if not resets or reply.date is None:
        return (LONGEST, False) if daily else (d, True)
    rest = max(resets) - reply.date + 1.0
    return (max(1.0, rest), True) if rest <= find_longest_reset(d) else None
