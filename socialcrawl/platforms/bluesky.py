"""Bluesky as a platform."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from socialcrawl.errors import SettingsError
from socialcrawl.limits.shape import Roles
from socialcrawl.model import Credential, Request
from socialcrawl.platforms.platform import PUBLIC, Keys, Terms, Variables
from socialcrawl.protocols import Source
from socialcrawl.relevance import Topic
from socialcrawl.settings import Settings
from socialcrawl.sources.bluesky.naming import DID, HANDLE
from socialcrawl.sources.bluesky.source import FEED, FOLLOWS, LIST, LOOK_UP, PROFILES, SEARCH, BlueskySource

if TYPE_CHECKING:
    from socialcrawl.sources.bluesky.wire import BlueskyWire

ONLY = "main"
LISTED = re.compile(r"at://\S+/app\.bsky\.graph\.list/\S+")


class Bluesky:
    """Bluesky: its public AppView, or with an app password the server of an account."""

    name = "bluesky"
    title = "Bluesky"
    roles = Roles(search=SEARCH, by_name=PROFILES, by_id=PROFILES, timeline=FEED, following=FOLLOWS, together=LOOK_UP)
    searches = True
    look_up = True

    def expanded(self, settings: Settings) -> bool:
        """See `Platform.expanded`: posts name their authors by id and handle."""
        return True

    def credentials(self, settings: Settings) -> list[tuple[Credential, Variables | None]]:
        """See `Platform.credentials`."""
        variable = settings.source.variable
        return [(Credential(ONLY, "user"), variable) if variable else (Credential(PUBLIC, PUBLIC), None)]

    def names(self, given: Sequence[str]) -> list[str]:
        """See `Platform.names`: handles, in lower case, and DIDs."""
        names = [name.strip().removeprefix("@") for name in given]
        for name in names:
            if not (HANDLE.fullmatch(name) or DID.fullmatch(name)):
                raise SettingsError(
                    f"{name!r} is no account of Bluesky: write its handle, such as alice.bsky.social, or its DID "
                    "(under [seeds])."
                )
        return [name if name.startswith("did:") else name.lower() for name in names]

    def queries(self, settings: Settings, topic: Topic) -> list[str]:
        """See `Platform.queries`: one for each keyword, as there is no OR; then the lists."""
        words = dict.fromkeys(filter(None, map(_term, topic.keywords))) if settings.seeds.search else ()
        return [*words, *(f"{LIST}{address}" for address in settings.seeds.lists)]

    def fits(self, settings: Settings, base: str) -> None:
        """See `Platform.fits`."""
        if bool(settings.source.identifier) != bool(settings.source.variable):
            raise SettingsError(
                "To sign in at Bluesky, name both under [source]: identifier, the handle of the account, and "
                "token_env, the environment variable that holds an app password (made under Settings, App passwords)."
            )
        _no_tokens(settings, self.title)
        for address in settings.seeds.lists:
            if not LISTED.fullmatch(address):
                raise SettingsError(
                    f"{address!r} is no list of Bluesky: write at://DID/app.bsky.graph.list/KEY (under [seeds] lists)."
                )

    def timeline(self, settings: Settings, base: str) -> str:
        """See `Platform.timeline`."""
        return FEED

    def source(self, terms: Terms, queries: Sequence[str], now: float) -> Source:
        """See `Platform.source`."""
        pages = terms.settings.source.pages_per_user
        return BlueskySource(
            terms.policy,
            queries,
            pages,
            terms.settings.seeds.search_pages,
            follows=pages if terms.links.follows else 0,
            follow=terms.links.follows,
            begin=terms.topic.begin,
            end=terms.topic.end,
        )

    def wire(self, terms: Terms, keys: Keys, now: Callable[[], float]) -> "BlueskyWire":
        """See `Platform.wire`: with a session where there is a password."""
        from socialcrawl.sources.bluesky.session import Session, sign_in_at  # noqa: PLC0415 - plans are made without httpx
        from socialcrawl.sources.bluesky.wire import BlueskyWire  # noqa: PLC0415 - as above

        source, sessions = terms.settings.source, {}
        contact = source.contact or ""
        for name, password in keys.secrets.items():
            assert isinstance(password, str)
            assert keys.folder is not None
            who, folder = source.identifier or "", keys.folder() / "sessions"
            sessions[name] = Session(
                sign_in_at(terms.base), who, password, folder, now=now, timeout=source.timeout, contact=contact
            )
        return BlueskyWire(
            terms.base,
            terms.topic.hits,
            now,
            source.timeout,
            contact,
            keep=source.keep_original,
            whole=source.keep_answers,
            sessions=sessions,
        )

    def probe(self, terms: Terms, queries: Sequence[str], names: Sequence[str]) -> Request:
        """See `Platform.probe`: the profile of the first account, or else a search for one post."""
        if names:
            return Request((-1, 0), PROFILES, {"ids" if names[0].startswith("did:") else "usernames": names[0]}, 1)
        query = next((query for query in queries if not query.startswith(LIST)), "") or "hello"
        return Request((-1, 0), SEARCH, {"query": query, "limit": "1"}, 1)


def _term(keyword: str) -> str:
    """A keyword as Bluesky searches it; "" if there is nothing to search."""
    words = " ".join(keyword.rstrip("*").replace('"', " ").split())
    return f'"{words}"' if re.search(r"\W", words) else words


def _no_tokens(settings: Settings, title: str) -> None:
    if settings.source.tokens:
        raise SettingsError(f"[source] tokens are X's: on {title} name one variable, token_env.")
