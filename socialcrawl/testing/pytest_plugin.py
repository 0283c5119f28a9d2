"""The pytest plug-in: the fixture `social_api`, whose imports only the tests that use it pay for."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest


class StartApi(Protocol):
    """What the fixture `social_api` is."""

    def __call__(self, posts: Any, *, faults: Any = (), **settings: Any) -> Any:
        """Start the social APIs on these posts; see `social_api.serve_posts`."""


@pytest.fixture
def social_api(tmp_path: Path) -> Iterator[StartApi]:
    """Start mocks of X, Bluesky and Mastodon on posts of your own.

    Call it as `api = social_api(posts, limit=5)`. They answer as the platforms do, with windows, bills and faults,
    until the test ends. See `SocialApi` for what `api` has; docs/how-to/test-collectors.md has examples.
    """
    with ExitStack() as running:

        def start(posts: Any, *, faults: Any = (), **settings: Any) -> Any:
            from socialcrawl.testing.social_api import serve_posts  # noqa: PLC0415 - nobody else pays for it

            return running.enter_context(serve_posts(posts, tmp_path, faults=faults, **settings))

        yield start
