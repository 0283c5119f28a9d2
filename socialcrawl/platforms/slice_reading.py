"""How a slice of time is read, page by page, whatever the platform. Pure."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from math import inf

from socialcrawl.engine.mark_order import make_sort_key
from socialcrawl.engine.model import Outcome, Pick, Reason, Reply, ReplyKind, Request, format_time, parse_time
from socialcrawl.engine.time_spans import find_next_second, parse_span
from socialcrawl.platforms.node_reading import Reading

V1, V2 = "v1", "v2"
CAPTURE, SOURCE = "capture", "source"  # sections of a campaign file


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """How slices of time are read.

    Attributes:
        pages: after how many pages the rest of a slice is left to other slices.
        archive: whether the full archive is searched, where there are two searches.
        authors: whether the authors' profiles are fetched too, where they are billed.
        begin: when the first slice begins, Unix seconds; None: not known.
        search: which search is used, where a platform has two versions: v1 | v2.
        full_text: whether texts are searched too, where a platform else reads hashtags.
        counted: into how many slices at least a query's span is cut by counts of its posts; 0: they are not counted.
        live: whether a stream is read too.
        stream: the address of the server that streams; "": the platform's usual one.
        replace_rules: whether rules of a stream that others made are deleted, where a stream has rules.
        back: how long before its end the whole span begins at most, in seconds, as searches find nothing older.
        page: posts of a page at most; 0: as many as the platform returns.
        reuses: whether answers that the database has count: they do not say whether a search works now.
        section: of the campaign file that says so, for messages: capture | source.
    """

    pages: int = 20
    archive: bool = True
    authors: bool = False
    begin: float | None = None
    counted: int = 0
    search: str = V1
    full_text: bool = False
    live: bool = False
    stream: str = ""
    replace_rules: bool = False
    back: float = inf
    page: int = 0
    reuses: bool = True
    section: str = CAPTURE


BY_DEFAULT = SlicePlan()

Read = Callable[[Request], Generator[Request, Reply, Reply]]
"""Sends the request for a page, with what else has to be sent for it, and returns the reply."""


def send(request: Request) -> Generator[Request, Reply, Reply]:
    """Return the reply to a request for a page that one answer tells all of."""
    return (yield request)


class SliceReading(Reading):
    """The pages of a slice of time, newest posts first; `mark` is when the oldest post so far was written."""

    def __init__(self, pick: Pick) -> None:
        super().__init__(pick)
        self.mark = ""

    def take(self, reply: Reply) -> bool:
        """Add a page; False if there is nothing more to ask."""
        before, self.mark = self.mark, ""
        more = super().take(reply)
        if reply.kind in (ReplyKind.INVALID, ReplyKind.MISSING):  # a page that was to come is lacking
            self.missing = self.missing or Reason.TEMPORARY
        self.mark = min((mark for mark in (before, self.mark) if mark), key=make_sort_key, default="")
        return more

    def make_slice_outcome(self, rest: float | None = None) -> Outcome:
        """Return the outcome: the authors found, as of a search.

        Args:
            rest: from when on the slice was read (Unix seconds); None: from its begin.
        """
        missing, mark = (self.missing, "") if rest is None else (None, format_time(rest))
        return replace(self.make_search_outcome(), missing=missing, mark=mark)


def read_slice(
    pick: Pick, pages: int, ask: Callable[[int, str | None], Request], read: Read = send
) -> Generator[Request, Reply, Outcome]:
    """Return the outcome of a slice, whose pages come newest first.

    If the slice has more pages than a pick may read, or one cannot be had, what was read so far is complete from the
    second after the oldest post on, and the rest is left to other slices. A second is read on, however many posts it
    has: others of the same second may be on the next page.

    Args:
        pick: the slice.
        pages: how many pages a pick may read.
        ask: returns the request for a page by its number, from 1, and the cursor.
        read: sends that request, where it takes more than one to read a page.
    """
    begin, end = parse_span(pick.since)
    reading, cursor, part = SliceReading(pick), None, 0
    while True:
        part += 1
        reply = yield from read(ask(part, cursor))
        if reading.is_expired(reply, cursor):
            cursor = None
            continue
        more = reading.take(reply) and reply.cursor is not None
        cursor = reply.cursor
        rest = find_next_second(parse_time(reading.mark)) if reading.mark else end
        cut = part >= pages if more else reading.missing is not None
        if cut and begin < rest < end:
            return reading.make_slice_outcome(rest)
        if not more:
            return reading.make_slice_outcome()
