"""A platform behind its gate: who may ask, what counts it, what it answers; X is one, every service is another."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from socialcrawl.mock.service import Guest, MockRequest, MockResponse, Service, WindowState
from socialcrawl.mock.window_counts import WindowCounts
from socialcrawl.mock.world_changes import WorldChanges


class AnswerCounter(Protocol):
    """A window that notes the statuses of answers."""

    answers: Counter[int]


@dataclass(frozen=True, slots=True)
class Entry:
    """What the gate says of a request.

    Attributes:
        refused: whether a limit has no room for it.
        headers: those that tell of the limits, as they stood when it arrived.
        windows: where the status of its answer is noted.
        standing: how the windows of a service stood.
    """

    refused: bool
    headers: Mapping[str, str]
    windows: Sequence[AnswerCounter]
    standing: Sequence[WindowState] = ()

    def note(self, status: int) -> None:
        """Note the status that was answered."""
        for window in self.windows:
            window.answers[status] += 1


@dataclass
class RequestBook:
    """What a platform counted besides its windows.

    Requests by endpoint, those without a good token, answers, and the posts that streams sent.
    """

    received: Counter[str] = field(default_factory=Counter)
    unauthorized: Counter[str] = field(default_factory=Counter)
    forbidden: Counter[str] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)
    streamed: Counter[str] = field(default_factory=Counter)

    def turn_away(self, endpoint: str, status: int) -> None:
        """Count a request that was not let in: 401 for its token, 403 for the kind of its token."""
        (self.forbidden if status == 403 else self.unauthorized)[endpoint] += 1

    def report(self) -> dict[str, Any]:
        """Return the counts as plain values for JSON."""
        return {
            "received": dict(self.received),
            "unauthorized": dict(self.unauthorized),
            "forbidden": dict(self.forbidden),
            "answers": {str(status): n for status, n in sorted(self.answers.items())},
            "streamed": dict(self.streamed),
        }


class MockPlatform(Protocol):
    """One platform of the mock, in the steps that every request passes."""

    @property
    def name(self) -> str:
        """Its name, as in settings and scenarios."""

    @property
    def book(self) -> RequestBook:
        """What it counted."""

    @property
    def changes(self) -> WorldChanges | None:
        """What has become of the world here; None where it is none of posts."""

    def endpoints(self) -> Sequence[tuple[str, str]]:
        """Return its (method, template)s."""

    def guest(self, asked: MockRequest) -> Guest | MockResponse:
        """Return who asks, or the refusal."""

    def take(self, asked: MockRequest, guest: Guest) -> Entry:
        """Return the entry of a request, counted."""

    def spent(self, asked: MockRequest, entry: Entry) -> Entry:
        """Return the same entry, had nothing been left."""

    def too_many(self, asked: MockRequest, entry: Entry) -> MockResponse:
        """Return the 429 of the platform, complete."""

    def answer(self, asked: MockRequest, guest: Guest, entry: Entry) -> MockResponse:
        """Return the answer to a request that was let in, complete."""

    def report(self) -> dict[str, Any]:
        """Return all that it counted, as plain values for JSON."""


class ServicePlatform:
    """A service as a platform.

    Args:
        service: what it answers and which windows it has.
        changes: those that the service was made with, if any.
    """

    def __init__(self, service: Service, changes: WorldChanges | None) -> None:
        self.name, self.book, self.changes = service.name, RequestBook(), changes
        self._service = service
        self._counts = WindowCounts()

    def endpoints(self) -> Sequence[tuple[str, str]]:
        """Return those of the service."""
        return self._service.endpoints()

    def guest(self, asked: MockRequest) -> Guest | MockResponse:
        """Return whom the service lets in."""
        return self._service.guest(asked)

    def take(self, asked: MockRequest, guest: Guest) -> Entry:
        """Return the request in all windows that the service names for it."""
        slots, refused = self._counts.take(self._service.counted(asked, guest), asked.now)
        return self._entry(asked, Entry(refused, {}, slots, [slot.standing() for slot in slots]))

    def spent(self, asked: MockRequest, entry: Entry) -> Entry:
        """Return the same windows without anything left in them."""
        return self._entry(asked, replace(entry, standing=[replace(one, left=0) for one in entry.standing]))

    def _entry(self, asked: MockRequest, entry: Entry) -> Entry:
        return replace(entry, headers=self._service.limits(asked, entry.standing))

    def too_many(self, asked: MockRequest, entry: Entry) -> MockResponse:
        """Return the service's own 429, with the headers of the limits."""
        return _add_headers(self._service.too_many(asked, entry.standing), entry)

    def answer(self, asked: MockRequest, guest: Guest, entry: Entry) -> MockResponse:
        """Return the service's answer, with the headers of the limits."""
        return _add_headers(self._service.answer(asked, guest), entry)

    def report(self) -> dict[str, Any]:
        """Return requests, windows and answers."""
        return {**self.book.report(), **self._counts.report()}


def _add_headers(response: MockResponse, entry: Entry) -> MockResponse:
    return replace(response, headers={**entry.headers, **response.headers})
