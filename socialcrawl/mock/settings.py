"""What a person can set about the mock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from socialcrawl.errors import MockError
from socialcrawl.loopback import is_loopback_host

DEFAULT_LIMIT = 300
ENDPOINTS = (
    "/2/users/by",
    "/2/users/by/username/:username",
    "/2/users/:id",
    "/2/users",
    "/2/users/:id/tweets",
    "/2/users/:id/mentions",
    "/2/tweets/search/recent",
    "/2/tweets/counts/recent",
    "/2/usage/tweets",
)


@dataclass(frozen=True)
class MockSettings:
    """The settings of a mock server; wrong ones raise MockError.

    Attributes:
        posts: the file of posts, see `socialcrawl.lab.posts`; None where the posts are given otherwise.
        host, port: where to listen; port 0 picks a free one. Hosts that others can reach need `allow_remote`.
        window: the length of a window, seconds.
        limit: requests per window, for all endpoints or by endpoint (a key of ENDPOINTS; the rest have 300).
        missing: the expected share of accounts that are suspended, protected or deleted, 0..1.
        now: the Unix second at which search and counts stand; None is 30 s after the end of the file.
        report: where the report is written, about every second and at the end; None is nowhere.
        tokens: the bearer tokens that are let in; None lets every token in.
    """

    posts: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    window: float = 900.0
    limit: int | Mapping[str, int] = DEFAULT_LIMIT
    missing: float = 0.0
    now: float | None = None
    report: Path | None = None
    tokens: frozenset[str] | None = field(default=None, repr=False)  # secrets stay out of logs
    allow_remote: bool = False

    def __post_init__(self) -> None:
        if not self.window > 0:
            raise MockError(f"The window is {self.window} s; give a length above 0.")
        if not 0 <= self.missing <= 1:
            raise MockError(f"The share of missing accounts is {self.missing}; give one from 0 to 1.")
        if not 0 <= self.port <= 65535:
            raise MockError(f"The port is {self.port}; give one from 1 to 65535, or 0 for a free one.")
        limits = {"limit": self.limit} if isinstance(self.limit, int) else self.limit
        for name, limit in limits.items():
            if limit < 1:
                raise MockError(f"The limit of {name} is {limit} requests per window; give at least 1.")
            if not isinstance(self.limit, int) and name not in ENDPOINTS:
                raise MockError(f"There is no endpoint {name}; the mock has {', '.join(ENDPOINTS)}.")
        if self.report is not None and not self.report.absolute().parent.is_dir():
            raise MockError(f"There is no folder for the report {self.report}; make the folder or name another file.")
        if self.report is not None and self.report.is_dir():
            raise MockError(f"{self.report} is a folder; name a file for the report.")
        if not self.allow_remote and not is_loopback_host(self.host):
            raise MockError(
                f"The host {self.host} is not this machine alone; give 127.0.0.1, or --allow-remote as well."
            )

    def limit_of(self, endpoint: str) -> int:
        """The requests that one token may send to an endpoint in one window."""
        return self.limit if isinstance(self.limit, int) else self.limit.get(endpoint, DEFAULT_LIMIT)
