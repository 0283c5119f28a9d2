"""Not being caught: a walk that keeps to one host jumps to another one (Bar-Yossef et al., section 4)."""

from collections import deque

from socialcrawl.engine.splitmix import draw_numbers, start_stream


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

    def catches(self, group: int) -> bool:
        """Whether one more visit to this group would be more than half of the window, and there is another way."""
        leaves = len(self._last) >= self.window and self._last[0] == group
        if not group or 2 * (self._times.get(group, 0) + 1 - leaves) <= self.window:
            return False
        return any(other != group for other in self._pages)

    def jump(self) -> int:
        """Return the place to go on from."""
        luck = float(draw_numbers(self._start, self.jumps, 1)[0])
        self.jumps += 1
        pages = [*self._pages.values()]
        return pages[int(luck * len(pages))]
