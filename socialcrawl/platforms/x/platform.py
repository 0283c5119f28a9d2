"""X as a platform."""

import re
from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf
from typing import TYPE_CHECKING

from socialcrawl.campaign.sections import access
from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import Credential, Request
from socialcrawl.engine.protocols import Source
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import EndpointRoles
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.base import CaptureProbe, Keys, Platform, Secret, Template, Terms, Variables
from socialcrawl.platforms.facts import X
from socialcrawl.platforms.hydration import PostLookUp
from socialcrawl.platforms.slice_reading import BY_DEFAULT, SlicePlan
from socialcrawl.platforms.x.applications import POLICY, check_applications, find_application
from socialcrawl.platforms.x.author_queries import restrict_queries
from socialcrawl.platforms.x.compliance_service import XComplianceService
from socialcrawl.platforms.x.entities import ENTITIES
from socialcrawl.platforms.x.live_source import PART, StreamSource, make_rules, make_rules_request, make_tag
from socialcrawl.platforms.x.meters import XMeters, make_probe_request
from socialcrawl.platforms.x.slice_counting import SliceCounting
from socialcrawl.platforms.x.source import (
    ARCHIVE,
    AUTHORS,
    BY_ID,
    BY_NAME,
    EARLIEST,
    FOLLOWING,
    HYDRATION,
    LOOK_UP,
    MENTIONS,
    SEARCH,
    TIMELINE,
    XSource,
    make_time_bounds,
)
from socialcrawl.platforms.x.vocabulary import USER_FIELDS, Vocabulary, find_vocabulary
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.system.loopback import is_loopback

if TYPE_CHECKING:
    from socialcrawl.platforms.x.wire import XWire

PATTERN = re.compile(r"@?[A-Za-z0-9_*]+")
USERNAME = re.compile(r"[A-Za-z0-9_]{1,15}")
USER_PAGE = re.compile(
    r"(?:https?://)?(?:www\.|mobile\.)?(?:x|twitter)\.com/(?!(?:explore|hashtag|home|i|search)\b)@?([a-z0-9_]{1,15})"
    r"/?(?:[?#].*)?\Z",
    re.IGNORECASE,
)
MOST_SHOWN = 10  # wrong names in one message
LONGEST, LONGEST_ARCHIVED = 512, 1_024  # characters of a query of the two searches
RECENT = 7 * 86_400 - 600.0  # seconds that recent search reaches back, less ten minutes in which a request may wait
MARGIN = 3_600.0  # seconds by which searches of the last days begin later than they may, as they take their time
ONLY = "main"  # the name of the token of a campaign that has one, whatever its variable is called


class XPlatform(Platform):
    """X, by its API v2."""

    facts = X
    searches = True
    streams = True
    roles = EndpointRoles(
        search=SEARCH,
        by_name=BY_NAME,
        by_id=BY_ID,
        timeline=TIMELINE,
        following=FOLLOWING,
        together=LOOK_UP,
        probe=BY_ID,
        probe_named=BY_NAME,
        probed=LOOK_UP,
        latest=True,
        inward=MENTIONS,
        stream=PART,
        match=ARCHIVE,
    )
    look_up = True
    restricts = True
    matches = True
    reading_keys = ("archive",)
    publishing = (
        "X's terms restrict what you may publish: neither post texts nor profiles, nor aggregate metrics of X's users, "
        "such as how many accounts are active. Allowed are ids (export --format ids; at most 1,500,000 post ids in 30 "
        f"days) and analyses of content without names and ids. See {POLICY}"
    )
    advice = "use other keywords, or name seeds (usernames = [...])"
    entities = ENTITIES
    template = Template("campaign.toml", "edit it, export X_BEARER_TOKEN", "edit it, export X_BEARER_TOKEN")

    def has_complete_authors(self, settings: Settings) -> bool:
        """See `Platform.has_complete_authors`: the newer vocabulary names authors by an expansion."""
        return bool(find_vocabulary(settings.source.vocabulary).search)

    def list_credentials(self, settings: Settings) -> list[tuple[Credential, Variables | None]]:
        """See `Platform.list_credentials`."""
        source = settings.source
        given = [(Credential(token.name, token.speaks), token.env) for token in source.tokens]
        return [*given] or [(Credential(ONLY), source.variable)]

    def parse_names(self, given: Sequence[str]) -> list[str]:
        """See `Platform.parse_names`: usernames; also as the addresses of their pages."""
        names = _strip(given)
        if wrong := [repr(name) for name in names if not USERNAME.fullmatch(name)]:
            what = "is not a username" if len(wrong) == 1 else "are not usernames"
            more = f" and {len(wrong) - MOST_SHOWN:,} more" if len(wrong) > MOST_SHOWN else ""
            raise SettingsError(
                f"{', '.join(wrong[:MOST_SHOWN])}{more} {what} of X: letters, digits and _, at most 15, or the address "
                "of the account's page, https://x.com/NAME (under [seeds])."
            )
        return names

    def list_queries(self, settings: Settings, topic: Topic) -> list[str]:
        """See `Platform.list_queries`."""
        return topic.build_queries() if settings.seeds.search else []

    def check_slices(self, settings: Settings, slices: SlicePlan) -> None:
        """See `Platform.check_slices`: the archive and the stream are open to tokens of applications only."""
        self.check_slice_keys(slices, "counts", "replace_rules")
        signed = self._list_users(settings)
        if slices.live and signed:
            raise SettingsError(
                f"X's stream takes bearer tokens of an application only, and {signed[0]!r} is a user's: remove it, or "
                "write ongoing = true instead of live = true under [capture]."
            )
        if slices.archive and signed:
            raise SettingsError(
                f"X's full-archive search takes bearer tokens of an application only, and {signed[0]!r} is a user's: "
                "remove it, or set archive = false under [capture] to search the last 7 days."
            )

    def _list_users(self, settings: Settings) -> list[str]:
        """Return the names of the credentials that speak for a user."""
        return [one.name for one, _ in self.list_credentials(settings) if one.kind != "app"]

    def plan_searches(self, settings: Settings) -> SlicePlan:
        """See `Platform.plan_searches`: searches bill nothing but posts that match."""
        archive = settings.source.archive
        return SlicePlan(pages=1, archive=archive, begin=EARLIEST, back=inf if archive else RECENT - MARGIN, page=100)

    def list_slice_queries(self, settings: Settings, topic: Topic, slices: SlicePlan) -> list[str]:
        """See `Platform.list_slice_queries`."""
        longest = LONGEST_ARCHIVED if slices.archive else LONGEST
        longest -= len(make_rules([""])[0]) if slices.live else 0
        named = settings.accounts
        patterns = [name for name in (*named.exclude, *named.include) if "*" in name and name.strip("@* ")]
        if patterns or (named.include and not named.only):
            raise SettingsError(
                "X's search takes usernames and no patterns: under [accounts], replace "
                f'{(patterns or named.include)[0]!r}. To read posts of some accounts only, write exclude = ["*"] and '
                "their usernames in include."
            )
        only, without = (_strip(named.only), []) if named.only else ([], _strip(named.exclude))
        queries = restrict_queries(topic.build_queries, only=only, without=without, longest=longest)
        if slices.live:
            make_rules(queries)
        return queries

    def get_slice_endpoint(self, slices: SlicePlan) -> str:
        """See `Platform.get_slice_endpoint`."""
        return ARCHIVE if slices.archive else SEARCH

    def make_post_look_up(self, settings: Settings) -> PostLookUp:
        """See `Platform.make_post_look_up`."""
        del settings
        return HYDRATION

    def check_settings(self, settings: Settings, base: str) -> None:
        """See `Platform.check_settings`."""
        for name in (*settings.accounts.exclude, *settings.accounts.include):
            if not PATTERN.fullmatch(name.strip()):
                raise SettingsError(
                    f"{name!r} under [accounts] is not a username of X (letters, digits and _), nor a pattern with *."
                )
        signed = self._list_users(settings)
        source = settings.source
        if source.read != access.TIMELINE and source.archive and signed:
            week = "" if source.read == access.MATCH else ", or set archive = false to search the last 7 days"
            raise SettingsError(
                f'read = "{source.read}" under [source] searches X\'s full archive, which takes bearer tokens of an '
                f"application only, and {signed[0]!r} is a user's: name a bearer token{week}, or remove read."
            )
        if source.read in (access.TIMELINE, access.MATCH) and not source.archive:
            raise SettingsError(
                f'archive = false under [source] searches the last 7 days only, which read = "{source.read}" does not: '
                'remove it; or with kind = "collect" write read = "auto".'
            )
        if settings.seeds.lists:
            raise SettingsError("[seeds] lists are Bluesky's: on X name usernames.")
        if settings.source.identifier:
            raise SettingsError("[source] identifier is for signing in to Bluesky: on X, the token identifies you.")

    def check_tokens(self, settings: Settings, base: str, secrets: Mapping[str, Secret]) -> None:
        """See `Platform.check_tokens`: those of one application; on this machine, where a mock answers, all."""
        if not is_loopback(base):
            named = {
                one.name: env if isinstance(env, str) else env[0] for one, env in self.list_credentials(settings) if env
            }
            check_applications(secrets, settings.source.applications, named)

    def find_application(self, secret: Secret) -> str:
        """See `Platform.find_application`."""
        return find_application(secret)

    def get_timeline(self, settings: Settings, base: str) -> str:
        """See `Platform.get_timeline`."""
        return TIMELINE

    def make_source(self, terms: Terms, queries: Sequence[str], now: float) -> Source:
        """See `Platform.make_source`."""
        settings, words = terms.settings, find_vocabulary(terms.settings.source.vocabulary)
        pages = settings.source.pages_per_user, settings.seeds.search_pages
        bounds = make_time_bounds(terms.topic.begin, terms.topic.end, now)
        follows = settings.source.pages_per_user if terms.links.follows else 0
        slices = terms.slices or BY_DEFAULT
        reach = None if slices.archive else ceil(now - RECENT)
        size = terms.policy.get_endpoint(self.get_slice_endpoint(slices)).page if slices.counted else 0
        matching = None
        if settings.source.pages_after_match is not None:
            matching = terms.topic.build_queries(LONGEST_ARCHIVED // 2), LONGEST_ARCHIVED
        return XSource(
            terms.policy,
            words,
            queries,
            *pages,
            span=bounds,
            follows=follows,
            follow=terms.links.follows,
            activity=terms.activity,
            slices=slices,
            reach=reach,
            count=SliceCounting(words, terms.policy, slices, size, now, reach).count if slices.counted else None,
            ids=terms.ids,
            stream=self._make_stream(terms, words, queries) if slices.live else None,
            matching=matching,
            returns=terms.returns,
            whole=terms.samples,
        )

    def _make_stream(self, terms: Terms, words: Vocabulary, queries: Sequence[str]) -> StreamSource:
        settings, slices = terms.settings, terms.slices or BY_DEFAULT
        authors = AUTHORS if slices.authors else {}
        tag = make_tag(settings.name)
        return StreamSource(words, terms.policy, authors, make_rules(queries), tag, slices.replace_rules)

    def make_wire(self, terms: Terms, keys: Keys, now: Callable[[], float]) -> "XWire":
        """See `Platform.make_wire`: a client for each token."""
        from socialcrawl.platforms.x.wire import XWire, make_client  # noqa: PLC0415 - plans are made without tweepy

        source = terms.settings.source
        waits = source.timeout, source.deadline
        clients = {name: make_client(secret, terms.base, *waits) for name, secret in keys.secrets.items()}
        words = find_vocabulary(source.vocabulary)
        return XWire(clients, words, terms.policy, terms.topic.hits, now, source.keep_original, source.keep_answers)

    def make_meters(self, settings: Settings, policy: Policy) -> XMeters:
        """See `Platform.make_meters`."""
        return XMeters(find_vocabulary(settings.source.vocabulary), policy)

    def make_compliance_jobs(self) -> XComplianceService:
        """See `Platform.make_compliance_jobs`."""
        return XComplianceService()

    def list_capture_probes(self, terms: Terms, now: float) -> Sequence[CaptureProbe]:
        """See `Platform.list_capture_probes`: the rules of the stream, which are free to read."""
        del now
        slices = terms.slices or BY_DEFAULT
        if not slices.live:
            return ()
        request = make_rules_request((-1, 1), make_tag(terms.settings.name), replaces=slices.replace_rules)
        return [CaptureProbe("stream", request, "this app may read the stream, and has no rules of others")]

    def make_probe(self, terms: Terms, queries: Sequence[str], names: Sequence[str]) -> Request:
        """See `Platform.make_probe`: one search of ten posts; with nothing to search for, a look-up of X itself.

        A capture of the full archive searches that.
        """
        query = next(iter(queries or terms.topic.build_queries()), None) or (f"from:{names[0]}" if names else None)
        if query is None:
            asked = {"usernames": "X", "user.fields": USER_FIELDS}
            return Request((-1, 0), BY_NAME, asked, 1, terms.policy.compute_most(BY_NAME, 1))
        words, slices = find_vocabulary(terms.settings.source.vocabulary), terms.slices
        archived = slices.begin if slices is not None and slices.archive else None
        return make_probe_request((-1, 0), query, words, terms.policy, archived)


def _strip(names: Sequence[str]) -> list[str]:
    """Return usernames as X has them; what is none stays."""
    return [USER_PAGE.sub(r"\1", name.strip()).removeprefix("@") for name in names]
