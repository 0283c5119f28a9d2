"""The forum as a platform: its facts, how members are named, and what makes its source and its wire."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from json_forum.source import MEMBER, SEARCH, ForumSource
from json_forum.wire import ForumWire
from socialcrawl.contracts.platforms import (
    EndpointRoles,
    Keys,
    Platform,
    PlatformFacts,
    Request,
    Settings,
    SettingsError,
    Template,
    Terms,
    Topic,
)

HERE = Path(__file__).parent
NAME = re.compile(r"[a-z0-9_]{1,30}")


class ForumPlatform(Platform):
    """A forum whose members are named by small letters, digits and _."""

    facts = PlatformFacts("forum", "the forum", policy=str(HERE / "forum.toml"))
    roles = EndpointRoles(search=SEARCH, by_name=MEMBER, by_id=MEMBER, timeline=MEMBER, together=1)
    searches = True
    full_name = "write the name of a member"
    template = Template(str(HERE / "campaign-forum.toml"), "name members", "name members")

    def parse_names(self, given: Sequence[str]) -> list[str]:
        """Return members as the forum names them: without @, in small letters."""
        names = [self.normalize(name) for name in given]
        for name, written in zip(names, given, strict=True):
            if not NAME.fullmatch(name):
                raise SettingsError(
                    f"{written!r} is no member of the forum: use letters, digits and _ (under [seeds])."
                )
        return names

    def normalize(self, given: str) -> str:
        """Return how databases spell a name."""
        return given.removeprefix("@").lower()

    def list_queries(self, settings: Settings, topic: Topic) -> list[str]:
        """Return the words to search for: the keywords."""
        return list(topic.keywords) if settings.seeds.search else []

    def get_timeline(self, settings: Settings, base: str) -> str:
        """Return the endpoint of a member's posts."""
        return MEMBER

    def make_source(self, terms: Terms, queries: Sequence[str], now: float) -> ForumSource:
        """Return the conversations with the forum."""
        return ForumSource(terms.policy, queries, terms.settings.source.pages_per_user)

    def make_wire(self, terms: Terms, keys: Keys, now: Callable[[], float]) -> ForumWire:
        """Return what sends requests to the forum."""
        return ForumWire(terms.base, terms.topic, now, terms.settings.source.timeout)

    def make_probe(self, terms: Terms, queries: Sequence[str], names: Sequence[str]) -> Request | None:
        """Return a request for the first page of the first member that is named."""
        return Request((-1, 0), MEMBER, {"name": names[0], "page": "1"}, 20) if names else None
