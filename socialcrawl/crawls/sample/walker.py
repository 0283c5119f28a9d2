"""One walk: where it is, what it drew, and where it has been.

A walk that keeps to one host is caught there, and jumps to another one (Bar-Yossef et al., section 4).
"""

from array import array
from collections import deque
from collections.abc import Sequence

from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.engine.draws import draw_numbers, start_stream


class HostTrap:
    """The hosts of a walk's last visits, and the last pages of its last hosts.

    "If the new node chosen to be visited makes the frequency of one of these hosts exceed L/2, then the algorithm
    ignores the new node and jumps": one of the last H distinct hosts is drawn (the trap may be among them), the walk
    goes to the page that it visited last there. Free steps are no visits; nodes without a host (group 0) trap nobody.
    Where the walk has seen no other host there is nowhere to jump to, and the step is taken.

    Args:
        window: L.
        hosts: H.
        seed: of the jumps.
        walker: the number of the walk.

    Attributes:
        jumps: how often it jumped.
    """

    def __init__(self, window: int, hosts: int, seed: int, walker: int) -> None:
        self.window, self.hosts = window, hosts
        self.jumps = 0
        self._start = start_stream(seed, f"jump {walker}")
        self._last: deque[int] = deque()  # the groups of the last L visits
        self._times: dict[int, int] = {}
        self._pages: dict[int, int] = {}  # group -> the place last visited there, the latest group last

    def visit(self, place: int, group: int) -> None:
        """Note a visit."""
        self._last.append(group)
        if len(self._last) > self.window:
            old = self._last.popleft()
            self._times[old] -= 1
            if not self._times[old]:
                del self._times[old]
        self._times[group] = self._times.get(group, 0) + 1
        if group:
            self._pages.pop(group, None)
            self._pages[group] = place
            if len(self._pages) > self.hosts:
                del self._pages[next(iter(self._pages))]

    def is_trapped(self, group: int) -> bool:
        """Return whether one more visit to this group would exceed half of the window, and there is another way."""
        leaves = len(self._last) >= self.window and self._last[0] == group
        if not group or 2 * (self._times.get(group, 0) + 1 - leaves) <= self.window:
            return False
        return any(other != group for other in self._pages)

    def jump(self) -> int:
        """Return the place to go on from."""
        number = float(draw_numbers(self._start, self.jumps, 1)[0])
        self.jumps += 1
        pages = [*self._pages.values()]
        return pages[int(number * len(pages))]


BLOCK = 64  # draws made together
STAYED, ARRIVED, JUMPED = 0, 1, 2
NOTHING = -1  # instead of a code


class Walker:
    """A walk under way. Its path is a function of the lists and of its own draws, never of when it was moved.

    A row of it is a draw: where the walk was, which neighbour was drawn there, and whether it had just come there.

    Attributes:
        number: of the walk.
        at: the place where it is, -1 before it has begun.
        code: the neighbour drawn that has to be gone to or not, NOTHING when the next one is to be drawn.
        off: C, steps since it was on topic; `home`: p, the place where it was then.
        topical: on-topic visits so far.
        met: the latest place it has met; `fresh`: the step at which that was.
        why: what ended it, a word; "" while it goes on.
        places: int32, codes: int64, came: int8, the rows.
    """

    __slots__ = (
        *(
            "_chances",
            "_draws",
            "_judging",
            "_start",
            "at",
            "came",
            "code",
            "codes",
            "fresh",
            "home",
            "how_came",
            "met",
            "number",
            "off",
        ),
        *("places", "topical", "trap", "why"),
    )

    def __init__(self, rules: WalkRules, number: int) -> None:
        self.number, self.at, self.code, self.off, self.home = number, -1, NOTHING, 0, -1
        self.topical, self.met, self.fresh, self.why = 0, -1, 0, ""
        self.places, self.codes, self.came = array("i"), array("q"), array("b")
        self.how_came = ARRIVED
        self.trap = HostTrap(rules.trap_window, rules.trap_hosts, rules.seed, number) if rules.trap != "off" else None
        self._start = start_stream(rules.seed, f"walk {number}")
        self._draws: list[float] = []
        self._judging = start_stream(rules.seed, f"accept {number}")
        self._chances: tuple[int, list[float]] = -1, []

    @property
    def steps(self) -> int:
        """How many neighbours it has drawn: the steps that were not free."""
        return len(self.codes)

    def draw(self, codes: Sequence[int], begin: int, end: int) -> None:
        """Draw one of `codes[begin:end]`, the neighbours of where it is, and note it."""
        mine = self.codes
        step = len(mine) % BLOCK
        if not step:
            self._draws = draw_numbers(self._start, len(mine), BLOCK).tolist()
        self.code = code = codes[begin + int(self._draws[step] * (end - begin))]
        mine.append(code)
        self.places.append(self.at)
        self.came.append(self.how_came)
        self.how_came = STAYED

    def draw_chance(self) -> float:
        """Return the number from 0 to 1 that decides about the neighbour drawn last: the same each time."""
        block, step = divmod(len(self.codes) - 1, BLOCK)
        if self._chances[0] != block:
            self._chances = block, draw_numbers(self._judging, block * BLOCK, BLOCK).tolist()
        return self._chances[1][step]

    def go(self, place: int, group: int, on: int, arrival: int = ARRIVED) -> None:
        """Be at a place of this group, on topic or not, having ARRIVED or JUMPED there."""
        self.at, self.code, self.how_came = place, NOTHING, arrival
        if on:
            self.topical += 1
            self.off, self.home = 0, place
        if self.trap is not None:
            self.trap.visit(place, group)
