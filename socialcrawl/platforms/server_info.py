"""What a server tells beside posts and accounts: how many posts it counts, what it has billed, its rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from socialcrawl.engine.model import Grant, Reply, Request


@dataclass(frozen=True, slots=True)
class Usage:
    """The posts that a platform has billed.

    `by_day` maps days (2026-11-20, UTC) to posts, in order; `used` counts those of this billing cycle, `cap` is the
    most it allows, and `reset_day` is the day of the month on which the next one begins. None is what the platform did
    not tell.
    """

    by_day: Mapping[str, int]
    cap: int | None = None
    reset_day: int | None = None
    used: int | None = None


@dataclass(frozen=True, slots=True)
class CountedSpan:
    """The posts that are counted: those written from `begin` on and before `end` (Unix seconds, whole).

    `now` is when the request is made (Unix seconds). `archive` says that the full archive is counted, where a platform
    has two searches; else the posts that its other search still has.
    """

    begin: float
    end: float
    now: float
    archive: bool = True


class Meters(Protocol):
    """A platform that counts posts for a campaign, and tells what it has billed."""

    @property
    def counts(self) -> str:
        """The endpoint that counts the posts of a search."""

    @property
    def usage(self) -> str:
        """The endpoint that tells what was billed."""

    def make_counts_request(self, key: tuple[int, int], query: str) -> Request:
        """Return the request for how many posts of the last seven days a query finds."""

    def parse_counts(self, body: Any) -> int:
        """Return the posts that a query finds, from the answer to `make_counts_request`.

        Raises:
            SourceError: it does not say.
        """

    def get_counts_endpoint(self, span: CountedSpan) -> str:
        """Return the endpoint that counts the posts of a span of time."""

    def count_pages(self, span: CountedSpan) -> int:
        """Return how many requests at most count the posts of a query in a span of time."""

    def make_span_request(
        self, key: tuple[int, int], query: str, span: CountedSpan, cursor: str | None = None
    ) -> Request:
        """Return the request for how many posts of a span of time a query finds, or for the page at `cursor`."""

    def find_counts_cursor(self, body: Any) -> str | None:
        """Return where the counts of a span go on, from the answer to `make_span_request`; None: that was all.

        `parse_counts` reads the number of each page.
        """

    def make_usage_request(self, key: tuple[int, int], days: int) -> Request:
        """Return the request for what was billed in the last `days`."""

    def parse_usage(self, body: Any) -> Usage:
        """Return what was billed, from the answer to `make_usage_request`.

        Raises:
            SourceError: it does not say, or not in numbers.
        """

    def ask(self, wire: Any, grant: Grant) -> tuple[Reply, Any]:
        """Return the reply to one of these requests over the platform's wire, and its decoded JSON."""


@dataclass(frozen=True, slots=True)
class InstanceRules:
    """What a server says of itself to people.

    Attributes:
        rules: one text each, in the server's order; None: it does not tell.
        addresses: of its terms, its privacy policy and the page about it, as far as it names them.
    """

    rules: Sequence[str] | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
