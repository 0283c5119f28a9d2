"""One walk: where it is, what it drew, and where it has been."""

from array import array
from collections.abc import Sequence

from socialcrawl.crawls.sample.host_traps import HostTrap
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.engine.splitmix import draw_numbers, start_stream

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
            "_how",
            "_luck",
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
        self._luck: list[float] = []

    @property
    def steps(self) -> int:
        """How many neighbours it has drawn: the steps that were not free."""
        return len(self.codes)

    def draw(self, codes: Sequence[int], begin: int, end: int) -> None:
        """Draw one of `codes[begin:end]`, the neighbours of where it is, and note it."""
        mine = self.codes
        step = len(mine) % BLOCK
        if not step:
            self._luck = draw_numbers(self._start, len(mine), BLOCK).tolist()
        self.code = code = codes[begin + int(self._luck[step] * (end - begin))]
        mine.append(code)
        self.places.append(self.at)
        self.came.append(self.how_came)
        self.how_came = STAYED

    def go(self, place: int, group: int, on: int, rules: int = ARRIVED) -> None:
        """Be at a place of this group, on topic or not, having ARRIVED or JUMPED there."""
        self.at, self.code, self.how_came = place, NOTHING, rules
        if on:
            self.topical += 1
            self.off, self.home = 0, place
        if self.trap is not None:
            self.trap.visit(place, group)
