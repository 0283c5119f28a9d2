"""Bluesky as a platform."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from socialcrawl.campaign.sections.access import AUTO
from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import Credential, Request
from socialcrawl.engine.protocols import Source
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import EndpointRoles
from socialcrawl.graph.relevance import Topic, fold
from socialcrawl.platforms.base import PUBLIC, CaptureProbe, Keys, Platform, Template, Terms, Variables
from socialcrawl.platforms.bluesky.entities import ENTITIES, make_search_v2_parameters
from socialcrawl.platforms.bluesky.opt_outs import LOOK_UP
from socialcrawl.platforms.bluesky.post_mentions import is_did, is_handle, parse_page_address
from socialcrawl.platforms.bluesky.shown_records import CHECK
from socialcrawl.platforms.bluesky.source import (
    FEED,
    FOLLOWS,
    HYDRATION,
    LIST,
    PROFILES,
    SEARCH,
    SEARCH_V2,
    STREAM,
    BlueskySource,
)
from socialcrawl.platforms.facts import BLUESKY
from socialcrawl.platforms.hydration import PostLookUp
from socialcrawl.platforms.live_reading import make_probe_parameters
from socialcrawl.platforms.post_checks import StoredPostLookUp
from socialcrawl.platforms.slice_reading import BY_DEFAULT, V2, SlicePlan
from socialcrawl.system.loopback import is_loopback

if TYPE_CHECKING:
    from socialcrawl.platforms.bluesky.wire import BlueskyWire

ONLY = "main"
EARLIEST = 1_142_899_200.0  # 2006-03-21, Unix seconds: posts that people brought from elsewhere are that old
PAGES = 5  # of a span that is searched, before its rest is cut into new spans
LISTED = re.compile(r"at://([^/\s]+)/app\.bsky\.graph\.list/([^/\s]+)")


class BlueskyPlatform(Platform):
    """Bluesky: its public AppView, or with an app password the server of an account."""

    facts = BLUESKY
    searches = True
    streams = True
    roles = EndpointRoles(
        search=SEARCH,
        by_name=PROFILES,
        by_id=PROFILES,
        timeline=FEED,
        following=FOLLOWS,
        together=LOOK_UP,
        probe=PROFILES,
        probed=LOOK_UP,
        last=FEED,
        inward=SEARCH,
        heeds=True,
        stream=STREAM,
    )
    look_up = True
    reading_keys = ("search",)
    advice = "use other keywords, or name seeds (usernames = [...])"
    entities = ENTITIES
    full_name = "write a handle with its domain, as name.bsky.social, or a DID"
    template = Template(
        "campaign-bluesky.toml",
        "edit it (search is often closed without an app password)",
        "edit it",
    )

    def list_credentials(self, settings: Settings) -> list[tuple[Credential, Variables | None]]:
        """See `Platform.list_credentials`."""
        variable = settings.source.variable
        return [(Credential(ONLY, "user"), variable) if variable else (Credential(PUBLIC, PUBLIC), None)]

    def parse_names(self, given: Sequence[str]) -> list[str]:
        """See `Platform.parse_names`: handles, in lower case, and DIDs; also as the addresses of their pages."""
        return [_parse_name(one) for one in given]

    def identify(self, given: str) -> str:
        """See `Platform.identify`: compliance files have ids that are numbers."""
        return given if given.isdecimal() else super().identify(given)

    def list_queries(self, settings: Settings, topic: Topic) -> list[str]:
        """See `Platform.list_queries`: one for each keyword, as there is no OR; then the lists."""
        words = _list_terms(topic) if settings.seeds.search else ()
        return [*words, *dict.fromkeys(f"{LIST}{_parse_list(address)}" for address in settings.seeds.lists)]

    def check_slices(self, settings: Settings, slices: SlicePlan) -> None:
        """See `Platform.check_slices`: all are tried, as the search is not always closed to who has not signed in."""
        del settings
        self.check_slice_keys(slices, "search", "stream")

    def plan_searches(self, settings: Settings) -> SlicePlan | None:
        """See `Platform.plan_searches`: searchPosts is often closed, and is taken only if the file says so."""
        source = settings.source
        if source.read == AUTO and source.search != V2:
            return None
        return SlicePlan(pages=PAGES, begin=EARLIEST, search=source.search)

    def list_slice_queries(self, settings: Settings, topic: Topic, slices: SlicePlan) -> list[str]:
        """See `Platform.list_slice_queries`: one for each keyword; members of lists have written no posts."""
        del settings, slices
        return _list_terms(topic)

    def get_slice_endpoint(self, slices: SlicePlan) -> str:
        """See `Platform.get_slice_endpoint`."""
        return SEARCH_V2 if slices.search == V2 else SEARCH

    def make_post_look_up(self, settings: Settings) -> PostLookUp:
        """See `Platform.make_post_look_up`."""
        del settings
        return HYDRATION

    def make_stored_look_up(self, settings: Settings) -> StoredPostLookUp:
        """See `Platform.make_stored_look_up`."""
        del settings
        return CHECK

    def check_settings(self, settings: Settings, base: str) -> None:
        """See `Platform.check_settings`."""
        if bool(settings.source.identifier) != bool(settings.source.variable):
            raise SettingsError(
                "To sign in at Bluesky, name both under [source]: identifier, the handle of the account, and "
                "token_env, the environment variable that holds an app password (made under Settings, App passwords)."
            )
        _refuse_tokens(settings, self.title)
        for address in settings.seeds.lists:
            _parse_list(address)

    def get_timeline(self, settings: Settings, base: str) -> str:
        """See `Platform.get_timeline`."""
        return FEED

    def make_source(self, terms: Terms, queries: Sequence[str], now: float) -> Source:
        """See `Platform.make_source`."""
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
            activity=terms.activity,
            opt_outs=terms.settings.source.opt_outs,
            ahead=terms.ahead,
            slices=terms.slices or BY_DEFAULT,
            ids=terms.ids,
        )

    def make_wire(self, terms: Terms, keys: Keys, now: Callable[[], float]) -> "BlueskyWire":
        """See `Platform.make_wire`: with a session where there is a password."""
        from socialcrawl.platforms.bluesky.session import Session, find_sign_in_server  # noqa: PLC0415 - plans are made without httpx
        from socialcrawl.platforms.bluesky.wire import BlueskyWire  # noqa: PLC0415 - as above

        source, sessions = terms.settings.source, {}
        contact = source.contact or ""
        for name, password in keys.secrets.items():
            assert isinstance(password, str)
            assert keys.folder is not None
            who, folder = source.identifier or "", keys.folder() / "sessions"
            sessions[name] = Session(
                find_sign_in_server(terms.base),
                who,
                password,
                folder,
                now=now,
                timeout=source.timeout,
                deadline=source.deadline,
                contact=contact,
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
            deadline=source.deadline,
            stream=_find_stream(terms),
        )

    def make_probe(self, terms: Terms, queries: Sequence[str], names: Sequence[str]) -> Request:
        """See `Platform.make_probe`: the profile of the first account, or else a search for ten posts.

        A capture searches as it will.
        """
        if names:
            return Request((-1, 0), PROFILES, {"ids" if names[0].startswith("did:") else "usernames": names[0]}, 1)
        query = next((query for query in queries if not query.startswith(LIST)), "") or "hello"
        if (terms.slices or BY_DEFAULT).search == V2:
            return Request((-1, 0), SEARCH_V2, {**make_search_v2_parameters(query), "limit": "10"}, 1)
        return Request((-1, 0), SEARCH, {"query": query, "limit": "10"}, 1)

    def list_capture_probes(self, terms: Terms, now: float) -> Sequence[CaptureProbe]:
        """See `Platform.list_capture_probes`: the stream."""
        if not (terms.slices or BY_DEFAULT).live:
            return ()
        request = Request((-1, 1), STREAM, make_probe_parameters(now), 1)
        return [CaptureProbe("stream", request, f"{_find_stream(terms)} streams", "name another Jetstream")]


def _find_stream(terms: Terms) -> str:
    """Return the address of Jetstream."""
    from socialcrawl.platforms.bluesky.jetstream import PUBLIC as JETSTREAM  # noqa: PLC0415 - plans are made without websockets

    return (terms.slices or BY_DEFAULT).stream or (terms.base if is_loopback(terms.base) else JETSTREAM)


def _parse_name(given: str) -> str:
    page = parse_page_address(given.strip())
    if page is not None and page[1] is not None:
        raise SettingsError(f"{given!r} is a list of Bluesky, no account: write it under [seeds] lists.")
    name = (given.strip() if page is None else page[0]).removeprefix("@")
    if is_did(name):
        return name
    if is_handle(name):
        return name.lower()
    raise SettingsError(
        f"{given!r} is not an account of Bluesky: write its handle, such as alice.bsky.social, its DID, or the address "
        "of its page, https://bsky.app/profile/alice.bsky.social (under [seeds])."
    )


def _parse_list(given: str) -> str:
    """Return the at:// address of a list, of itself or of the list's page; its owner is named by DID or handle."""
    address = given.strip()
    found, page = LISTED.fullmatch(address), parse_page_address(address)
    owner, key = (found[1], found[2]) if found is not None else page or ("", None)
    owner = owner.removeprefix("@")
    if key is None or not (is_did(owner) or is_handle(owner)):
        raise SettingsError(
            f"{given!r} is not a list of Bluesky: write at://DID/app.bsky.graph.list/KEY, or the address of its page, "
            "https://bsky.app/profile/NAME/lists/KEY (under [seeds] lists)."
        )
    return f"at://{owner if is_did(owner) else owner.lower()}/app.bsky.graph.list/{key}"


def _list_terms(topic: Topic) -> list[str]:
    return [*dict.fromkeys(filter(None, map(_write_term, topic.keywords)))]


def _write_term(keyword: str) -> str:
    """Return a keyword as Bluesky searches it; "" if there is nothing to search.

    In quotes it finds words, not entities.
    """
    stem = keyword.strip().removesuffix("*")
    if ENTITIES.address(stem) or ENTITIES.mark(fold(stem)):
        return stem
    words = " ".join(keyword.rstrip("*").replace('"', " ").split())
    return f'"{words}"' if re.search(r"\W", words) else words


def _refuse_tokens(settings: Settings, title: str) -> None:
    if settings.source.tokens:
        raise SettingsError(f"[source] tokens are X's: on {title} name one variable, token_env.")
