"""Places in a live stream, and the parts of it that were read, as picks, requests and outcomes write them. Pure."""

from dataclasses import dataclass

from socialcrawl.engine.model import format_time, parse_time

SAME = 1e-5  # seconds: more than is lost as a time is written


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stream was read up to.

    Attributes:
        at: all that came before was read, Unix seconds.
        cursor: how the server calls this place, with a rising number at its end; "": it does not know it.
    """

    at: float
    cursor: str = ""

    @property
    def number(self) -> int:
        """The number of the event: those of one connection rise."""
        return int(self.cursor.rpartition(":")[2]) if self.cursor else -1

    def is_same(self, other: "Place") -> bool:
        """Return whether two places are one, also where one of them was written and parsed: to the microsecond."""
        return self.cursor == other.cursor and abs(self.at - other.at) < SAME

    def __str__(self) -> str:
        return f"{format_time(self.at)} {self.cursor}".rstrip()


@dataclass(frozen=True, slots=True)
class StreamPart:
    """A part of a stream that was read.

    Attributes:
        begin: from when on it is complete, Unix seconds.
        end: up to where.
    """

    begin: float
    end: Place

    def __str__(self) -> str:
        return f"{format_time(self.begin)}/{self.end}"


@dataclass(frozen=True, slots=True)
class StreamTurn:
    """What a pick asks of a stream.

    Attributes:
        seconds: how long it may wait for posts; 0: what has come is wanted.
        place: where to go on.
    """

    seconds: float
    place: Place

    def __str__(self) -> str:
        return f"{self.seconds:g} {self.place}"


def parse_place(text: str) -> Place:
    """Return the place of its text.

    Raises:
        ValueError: it is none.
    """
    at, _, cursor = text.partition(" ")
    return Place(parse_time(at), cursor)


def parse_part(text: str) -> StreamPart:
    """Return the part of a stream of its text; errors as of `parse_place`."""
    begin, _, end = text.partition("/")
    return StreamPart(parse_time(begin), parse_place(end))


def parse_turn(text: str) -> StreamTurn:
    """Return what a pick asks of a stream, of its text; errors as of `parse_place`."""
    seconds, _, place = text.partition(" ")
    return StreamTurn(float(seconds), parse_place(place))
