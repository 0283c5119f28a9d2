"""When a request that failed is tried again, and when that is given up. Pure: pauses are returned, nobody sleeps here.

The policies are tenacity's, used as values: how long to wait after the n-th failure, and after how many to stop. Only
the jitter is our own, as it has to be the same again for the same campaign seed.

- Failures of a lane (one credential on one endpoint) in a row make its pauses longer, up to a quarter of an hour; a
  good answer begins the row anew. Requests that were in flight together fail together and count once.
- A request that stays broken is given back to the crawl after TRIES, as a node to ask again later; one that a 429
  without a date refuses, when the longest pause has not helped.
- With nothing but failures the run stops: after FEW in a row where nothing has worked in it (a wrong address), after as
  many and `give_up` seconds where something has.
"""

from math import ceil, log2

from tenacity import RetryCallState, Retrying, stop_after_attempt, wait_exponential

from socialcrawl.draws import uniform
from socialcrawl.model import Grant, Reply

TRIES = 3  # times one request is sent before the talk is told that it stays broken
FEW = 5  # failures in a row after which a run stops in which nothing has worked yet
JITTER = 0.5  # share of a pause that chance may add
LONGEST = 900.0  # seconds of the longest pause
GIVE_UP = 3600.0  # seconds of nothing but failures after which a run stops


class Backoff:
    """Failures in a row, by lane and kind, and what follows from them.

    Args:
        pause: seconds of the first pause; each further one doubles it.
        longest: seconds of the longest one, jitter included.
        give_up: seconds of nothing but failures after which the run stops.
        seed: of the jitter.
    """

    def __init__(self, pause: float = 1.0, longest: float = LONGEST, give_up: float = GIVE_UP, seed: int = 0) -> None:
        top = max(pause, longest / (1.0 + JITTER))
        steps = 2 + ceil(log2(top / pause))  # the longest pause included
        wait = wait_exponential(multiplier=pause, max=top)
        self.policies = {
            "broken": Retrying(stop=stop_after_attempt(TRIES), wait=wait),
            "backoff": Retrying(stop=stop_after_attempt(max(TRIES, steps)), wait=wait),
        }
        self.longest, self.give_up, self.seed = longest, give_up, seed
        self.worked = False  # whether any answer of this run was good
        self.since: float | None = None  # when the first of the failures since the last good answer came
        self.count = 0  # failures since then, those in flight together counted once
        self.draws = 0
        self._rows: dict[tuple[str, str, str], int] = {}  # failures in a row, by credential, endpoint and kind
        self._counted: dict[tuple[str, str, str], float] = {}  # when the last of a row was counted
        self._tries: dict[tuple[tuple[int, int], str], int] = {}  # failures by request and kind

    def good(self, grant: Grant) -> None:
        """Note a good answer."""
        self.worked, self.since, self.count = True, None, 0
        for name in self.policies:
            self._tries.pop((grant.request.key, name), None)
            self._rows.pop((grant.credential, grant.request.endpoint, name), None)

    def failed(self, grant: Grant, reply: Reply, now: float) -> float | None:
        """Note a failure at `now`: the seconds to pause, or None where the request is given back to the crawl."""
        name = "backoff" if reply.kind in ("backoff", "window", "day") else "broken"
        policy = self.policies[name]
        self.since = now if self.since is None else self.since
        row = self._row((grant.credential, grant.request.endpoint, name), grant, now)
        request = grant.request.key, name
        tries = self._tries[request] = self._tries.get(request, 0) + 1
        if policy.stop(_attempt(policy, tries)):
            del self._tries[request]
            return None
        self.draws += 1
        jitter = 1.0 + JITTER * float(uniform(self.seed, "pause", self.draws, 1)[0])
        return min(self.longest, float(policy.wait(_attempt(policy, row))) * jitter)

    def hopeless(self, now: float) -> str | None:
        """For how long nothing has worked, in words, where that is reason to stop."""
        # A 429 proves that the address is right: it is waited out as if something had worked.
        patient = self.worked or any(name == "backoff" for _, _, name in self._rows)
        if self.since is None or self.count < FEW or (patient and now - self.since < self.give_up):
            return None
        return f"{self.count} times in a row" + (f", for {now - self.since:.0f} s" if patient else "")

    def row(self, grant: Grant) -> int:
        """How many failures in a row the server's trouble has cost the lane of a request."""
        return self._rows.get((grant.credential, grant.request.endpoint, "broken"), 0)

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set."""
        self.since = None if self.since is None else self.since + delta
        self._counted = {lane: at + delta for lane, at in self._counted.items()}

    def anew(self) -> None:
        """Begin with new patience: a new run."""
        self.worked, self.since, self.count = False, None, 0
        self._rows.clear()
        self._counted.clear()
        self._tries.clear()

    def _row(self, lane: tuple[str, str, str], grant: Grant, now: float) -> int:
        if lane not in self._rows or grant.at >= self._counted[lane]:
            self._rows[lane] = self._rows.get(lane, 0) + 1
            self.count += 1
            self._counted[lane] = now
        return self._rows[lane]


def _attempt(policy: Retrying, number: int) -> RetryCallState:
    state = RetryCallState(policy, None, (), {})
    state.attempt_number = number
    return state
