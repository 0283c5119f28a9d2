"""Mocks of social APIs for tests of other people's programs: on their posts, with real windows, bills and faults."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests
from requests.adapters import HTTPAdapter

from socialcrawl.errors import MockError
from socialcrawl.mock.server import MockThread, serve_in_thread
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.text.wording import explain_unknown

FIRST = datetime(2026, 11, 1, 12, tzinfo=UTC)
TIMEOUT = 30.0  # seconds until a request of a test is given up


class MockAdapter(HTTPAdapter):
    """The way of a `requests.Session` to a mock, whatever host is asked; the mock is told that host.

    Args:
        url: the address of the mock.
    """

    def __init__(self, url: str) -> None:
        self.to = urlsplit(url)
        super().__init__()

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        """Send a request to the mock."""
        asked = urlsplit(request.url or "")
        request.headers["Host"] = str(asked.hostname)
        request.url = urlunsplit((self.to.scheme, self.to.netloc, str(asked.path), str(asked.query), ""))
        return super().send(request, *args, **{**options, "timeout": options.get("timeout") or TIMEOUT})


class MockClock:
    """The clock of a mock: that of this machine, and what was slept.

    Give `sleep` to the program under test in place of `time.sleep`: windows end, and nobody waits.

    Attributes:
        slept: the seconds of every sleep, in order.
    """

    def __init__(self) -> None:
        self.slept: list[float] = []

    def time(self) -> float:
        """Return Unix seconds."""
        return time() + sum(self.slept)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)


class SocialApi:
    """Running mocks of X, Bluesky and Mastodon.

    Attributes:
        url: the address at which all of them listen, as `http://127.0.0.1:41234`.
        clock: their clock.
    """

    def __init__(self, mock: MockThread, clock: MockClock) -> None:
        self.url, self.clock, self._mock = mock.url, clock, mock

    def mount(self, session: requests.Session) -> None:
        """Lead a session of requests to the mock, whatever host it asks."""
        for scheme in ("https://", "http://"):
            session.mount(scheme, MockAdapter(self.url))

    def report(self, platform: str = "x") -> dict[str, Any]:
        """Return what the server counted for a platform (x, bluesky or mastodon).

        `received` are the requests by endpoint, `windows` those of each token and window with the statuses that were
        answered, `over` the requests that a limit had no room for; of X `totals` is the bill.
        """
        told = self._mock.report()
        found: dict[str, Any] = told["platforms"].get(platform, told)  # X is at the top
        return found

    def set_faults(self, faults: Sequence[Mapping[str, Any]]) -> None:
        """Replace the faults: tables as in a scenario, `{"kind": "too-many", "platform": "x", "times": 1}`.

        Raises:
            ValueError: a table is wrong; the message says why.
        """
        told = requests.post(f"{self.url}/_mock/faults", json={"fault": [*faults]}, timeout=TIMEOUT)
        if told.status_code != 200:
            raise ValueError(told.json()["error"])


@contextmanager
def serve_posts(
    posts: Path | str | Sequence[Mapping[str, Any]],
    folder: Path,
    *,
    faults: Sequence[Mapping[str, Any]] = (),
    **settings: Any,
) -> Iterator[SocialApi]:
    """Serve posts as X, Bluesky and Mastodon inside the block.

    Args:
        posts: a file of posts (Parquet, CSV or JSON lines), or rows with `author` and `text`, and if you like `id`,
            `created_at`, `mentions`, `reply_to` and `lang`. Rows without a time are a minute apart.
        folder: where rows are written to.
        faults: what goes wrong, see `SocialApi.set_faults`.
        settings: those of `MockSettings`: `limit` and `window` of X, `bluesky_limit`, `mastodon_limit`, `tokens`,
            `credits`, `missing` ...

    Raises:
        PostsFileError: the posts cannot be read.
        MockError: a setting is unknown or wrong.
        ValueError: a fault is wrong.
    """
    known = [field.name for field in fields(MockSettings)]
    if unknown := next((name for name in settings if name not in known), None):
        raise MockError(explain_unknown("setting", unknown, known))
    clock = MockClock()
    with serve_in_thread(_write_posts(posts, folder), time=clock.time, **settings) as mock:
        api = SocialApi(mock, clock)
        if faults:
            api.set_faults(faults)
        yield api


def _write_posts(posts: Path | str | Sequence[Mapping[str, Any]], folder: Path) -> Path:
    if isinstance(posts, Path | str):
        return Path(posts)
    rows = [{"created_at": (FIRST + timedelta(minutes=place)).isoformat(), **row} for place, row in enumerate(posts)]
    file = folder / f"posts-{len(list(folder.glob('posts-*')))}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file
