"""What a capture is to read, and in which order. Pure."""

from dataclasses import dataclass
from math import floor

NEWEST, OLDEST, EVEN = "newest", "oldest", "even"
ORDERS = (NEWEST, OLDEST, EVEN)
SHORTEST = 3_600.0  # seconds of a part at least: shorter ones cost a request each and mostly return nothing
LAG = 60.0  # seconds until a new post can be found: what was posted later is left to the next search
ROUNDING = 60.0  # seconds to which the end of a capture that names none is rounded


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """The span of time of a capture and how it is read.

    Attributes:
        begin: when it begins, Unix seconds, whole.
        end: when it ends (exclusive); None: when it is begun.
        order: of the parts: NEWEST or OLDEST first, or EVEN, drawn at random over the whole span.
        parts: into how many parts of equal length the span is cut at first.
        pages: how many pages of a slice are read before the rest of it becomes a slice.
        ongoing: whether new posts are read as they appear, once the span is read.
        soonest, latest: seconds between two searches for new posts, at least and at most.
        margin: seconds by which a search for new posts overlaps with what was read.
        live: whether new posts are read from the platform's stream.
        segment: seconds of the stream that are stored together.
        counts: whether the platform counts the posts of each query first, so that the span is cut by their number.
    """

    begin: float
    end: float | None = None
    order: str = NEWEST
    parts: int = 64
    pages: int = 20
    ongoing: bool = False
    soonest: float = 60.0
    latest: float = 3_600.0
    margin: float = 120.0
    live: bool = False
    segment: float = 20.0
    counts: bool = False

    def find_end(self, now: float) -> float:
        """Return up to when posts can be found at `now`, as far as they are wanted (Unix seconds)."""
        latest = float(floor((now - LAG) / ROUNDING) * ROUNDING)
        return latest if self.end is None else min(latest, self.end)
