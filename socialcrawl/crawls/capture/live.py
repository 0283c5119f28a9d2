"""How far a capture has read the live stream of its platform: what is complete, what it could not replay. Pure."""

from math import ceil, floor

from socialcrawl.crawls.capture.rules import CaptureRules
from socialcrawl.crawls.seeds import TRIES
from socialcrawl.engine.model import Outcome, Pick
from socialcrawl.engine.stream_places import Place, StreamTurn, parse_part, parse_turn

Span = tuple[float, float]
EVERY = 8  # slices of the past that are read between two looks at the stream
PAUSE, LONGEST = 60.0, 3_600.0  # seconds after which a stream is tried again that could not be read


class LiveProgress:
    """What of a stream was read.

    Args:
        rules: how the stream is read.

    Attributes:
        place: where to go on; None: it was not begun.
        spans: what is complete, in order (Unix seconds, whole); spans that touch are one.
        posts: how many posts came.
        segments: how often it was read.
        retry_at: when to try again, Unix seconds; None: it works.
        lag: seconds by which the last part was behind the time at which it came.
    """

    def __init__(self, rules: CaptureRules) -> None:
        self.rules = rules
        self.place: Place | None = None
        self.spans: list[Span] = []
        self.posts = self.segments = 0
        self.retry_at: float | None = None
        self.lag = 0.0
        self._failures = 0
        self._slices = EVERY  # that were read since

    def plan_turn(self, until: float, now: float, *, busy: bool) -> StreamTurn | None:
        """Return what to ask of the stream next; None where it is not its turn.

        Args:
            until: the end of the span that the capture began with: from there on the stream is wanted.
            now: the time.
            busy: whether slices of the past are to be read meanwhile.
        """
        if not self.rules.live or (self.retry_at is not None and self.retry_at > now):
            return None
        if busy and self._slices < EVERY:
            return None
        return StreamTurn(0.0 if busy else self.rules.segment, self.place or Place(until))

    def note_slice(self) -> None:
        """Take note that a slice of the past was read."""
        self._slices += 1

    def take(self, pick: Pick, outcome: Outcome) -> Span | None:
        """Take what came of a pick; return the span that the stream did not replay, None where there is none."""
        self._slices = 0
        if outcome.missing is not None or not outcome.mark:
            self._failures += 1
            if self._failures >= TRIES:
                self.retry_at = outcome.at + min(LONGEST, PAUSE * 2.0 ** (self._failures - TRIES))
            return None
        self._failures, self.retry_at = 0, None
        part, before = parse_part(outcome.mark), parse_turn(pick.since).place.at
        self.segments += 1
        self.posts += outcome.posts
        self.place, self.lag = part.end, max(0.0, outcome.at - part.end.at)
        hole = part.begin > before
        begin, end = float(ceil(part.begin) if hole else floor(before)), float(floor(part.end.at))
        if begin < end:
            if self.spans and self.spans[-1][1] >= begin:
                begin = self.spans.pop()[0]
            self.spans.append((begin, end))
        return (floor(before) - self.rules.margin, ceil(part.begin) + self.rules.margin) if hole else None
