"""Mastodon as a platform: many instances, seen from one of them."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from socialcrawl.campaign.sections.access import AUTO, SEARCHING
from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import Credential, Request, format_time
from socialcrawl.engine.protocols import Source
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import EndpointRoles
from socialcrawl.graph.relevance import Topic, fold
from socialcrawl.platforms.base import PUBLIC, CaptureProbe, Keys, Platform, Template, Terms, Variables, Wired
from socialcrawl.platforms.facts import MASTODON
from socialcrawl.platforms.hydration import PostLookUp
from socialcrawl.platforms.live_reading import make_probe_parameters
from socialcrawl.platforms.mastodon import account_names as naming
from socialcrawl.platforms.mastodon.entities import ENTITIES
from socialcrawl.platforms.mastodon.full_text import list_text_queries, make_control
from socialcrawl.platforms.mastodon.shown_statuses import make_check
from socialcrawl.platforms.mastodon.source import (
    FOLLOWING,
    INSTANCE,
    LOOK_UP,
    PAGED_TAG,
    POST,
    SEARCH,
    STATUSES,
    STREAM,
    TAG,
    MastodonSource,
    find_captured,
    find_hashtag,
    is_plain,
    parse_post_id,
)
from socialcrawl.platforms.post_checks import StoredPostLookUp
from socialcrawl.platforms.slice_reading import BY_DEFAULT, SOURCE, SlicePlan
from socialcrawl.system.loopback import is_loopback

if TYPE_CHECKING:
    from socialcrawl.platforms.mastodon.wire import MastodonWire
    from socialcrawl.platforms.server_info import InstanceRules

ONLY = "main"
USUAL = "https://mastodon.social"
PAGE = re.compile(r"(?:https?://)?([^/?#@\s]+)/(?:@|users/)([^/?#\s]+)/?(?:[?#]\S*)?", re.IGNORECASE)
TIMED = 1_508_284_800.0  # 2017-10-18, Unix seconds: the release of 2.0, since which ids tell their time
PAGES = 5  # of a span that is searched, before its rest is cut into new spans
HASHTAGS_ONLY = "Hashtags were read from their timelines on one instance, so posts without these hashtags are missing."
SEARCHABLE_ONLY = (
    "The full-text search of the instance finds only posts of authors who allow it, and posts that the account of the "
    "token wrote or dealt with."
)
ALL = ["*"]  # the instances that are asked about the accounts of an old dataset: their own


class MastodonPlatform(Platform):
    """Mastodon, and servers that speak as it does."""

    facts = MASTODON
    searches = True
    streams = True
    roles = EndpointRoles(
        search=TAG,
        by_name=LOOK_UP,
        by_id=LOOK_UP,
        timeline=STATUSES,
        following=FOLLOWING,
        together=1,
        probe=LOOK_UP,
        stream=STREAM,
    )
    reading_keys = ("full_text",)
    advice = (
        "keywords are looked for as hashtags: use words that people tag with, name seeds (usernames = [...]), or a "
        "token of your instance (token_env), which opens full search"
    )
    entities = ENTITIES
    full_name = "write it with its instance, as name@domain"
    template = Template(
        "campaign-mastodon.toml",
        "edit it (base_url, contact)",
        "edit it (base_url, contact)",
        'instances whose accounts are checked there: ["fosstodon.org", "*.example"]; [] is all of the dataset',
        'keywords = ["#your_tag"]        # hashtags, whose timelines on your instance are read',
    )

    def list_credentials(self, settings: Settings) -> list[tuple[Credential, Variables | None]]:
        """See `Platform.list_credentials`: a token is of one instance, the others are asked without."""
        variable, public = settings.source.variable, (Credential(PUBLIC, PUBLIC), None)
        if not variable:
            return [public]
        return [(Credential(ONLY, "user", find_home(settings)), variable), public]

    def parse_names(self, given: Sequence[str]) -> list[str]:
        """See `Platform.parse_names`: name@domain; also as the addresses of their pages."""
        names = [naming.complete_name(_parse_page_address(name) or name, "") for name in given]
        for name, original in zip(names, given, strict=True):
            if not naming.is_legal(name):
                raise SettingsError(
                    f"{original!r} is not an account of Mastodon: write it with its instance, such as "
                    "alice@mastodon.social (under [seeds])."
                )
        return names

    def list_queries(self, settings: Settings, topic: Topic) -> list[str]:
        """See `Platform.list_queries`: one for each keyword, also as a hashtag; names and links need a token."""
        words = [" ".join(word.rstrip("*").split()) for word in topic.keywords] if settings.seeds.search else []
        return [word for word in dict.fromkeys(words) if word and (settings.source.variable or not is_plain(word))]

    def check_slices(self, settings: Settings, slices: SlicePlan) -> None:
        """See `Platform.check_slices`: ids tell the time since Mastodon 2.0, and search and streams take a token."""
        self.check_slice_keys(slices, "full_text", "stream")
        if slices.live and not settings.source.variable:
            raise SettingsError(
                "Mastodon streams to its users only: name the environment variable that holds your token under "
                "[source] token_env, or write ongoing = true under [capture] instead of live = true."
            )
        if slices.live and slices.full_text:
            raise SettingsError(
                "Mastodon streams hashtags only, so texts cannot be searched besides: remove live or full_text under "
                "[capture], or write ongoing = true instead of live = true."
            )
        if slices.full_text and not settings.source.variable:
            raise SettingsError(
                f"[{slices.section}] full_text = true takes a token of your instance, whose search shows posts to its "
                "own people only: set token_env under [source] to a token with the scope read, or remove full_text."
            )
        begin, end = settings.topic.span
        if any(at is not None and at < TIMED for at in (slices.begin, begin, end and end - 1)):
            raise SettingsError(
                f"Mastodon's ids tell when posts were written since {format_time(TIMED)[:10]} only: set from under "
                f"[{'topic' if slices.section == SOURCE else slices.section}] to that day or later, and until after it."
            )

    def plan_searches(self, settings: Settings) -> SlicePlan | None:
        """See `Platform.plan_searches`: few posts have hashtags, so "auto" searches only if texts are searched.

        An answer that the database has does not say whether the search works now (see `full_text`).
        """
        source = settings.source
        if source.read == AUTO and not source.full_text:
            return None
        return SlicePlan(pages=PAGES, begin=TIMED, full_text=source.full_text, reuses=False, section=SOURCE)

    def list_slice_queries(self, settings: Settings, topic: Topic, slices: SlicePlan) -> list[str]:
        """See `Platform.list_slice_queries`: a hashtag timeline for each keyword that is a hashtag or can be one.

        With `full_text` only what is written as a hashtag is one, and the other keywords are searched.
        """
        words = [" ".join(word.rstrip("*").split()) for word in topic.keywords]
        if slices.full_text:
            return list_text_queries(words)
        tags = {fold(tag): tag for word in words if (tag := find_captured(word))}
        if not tags:
            reading = 'read = "search"' if slices.section == SOURCE else 'kind = "capture"'
            raise SettingsError(
                f"On Mastodon {reading} reads hashtag timelines, and no keyword is a hashtag: write keywords as "
                f'"#tag" under [topic]; or set full_text = true under [{slices.section}], with a token of your '
                "instance, to search what authors let be searched."
            )
        return list(tags.values())

    def list_slice_doubts(self, topic: Topic, slices: SlicePlan) -> Iterator[str]:
        """See `Platform.list_slice_doubts`: words without a sign are read as hashtags, or not at all."""
        rest = f"; with full_text = true under [{slices.section}] and a token, texts are searched instead"
        rest = "" if slices.full_text else rest
        for keyword in dict.fromkeys(topic.keywords):
            word = " ".join(keyword.rstrip("*").split())
            tag, about = find_captured(word), f"[topic] keywords: {keyword!r}"
            if slices.full_text and not word.startswith("#"):
                continue
            if tag is None:
                yield f"{about} can be no hashtag, so nothing is read for it"
            elif fold(tag) != fold("#" + word.removeprefix("#")):
                yield (
                    f"{about} is read as the hashtag {tag}, because hashtags have letters, digits and _ only. Posts "
                    f"with {tag} count only if they contain {keyword!r} too{rest}"
                )
            elif not word.startswith("#"):
                yield f"{about} is read as the hashtag {tag}, so posts without that sign are not found{rest}"

    def describe_reach(self, queries: Sequence[str], slices: SlicePlan) -> str:
        """See `Platform.describe_reach`: posts with one of the hashtags, and what authors let be searched."""
        tags, texts = _split_queries(queries, slices)
        return " ".join([*([HASHTAGS_ONLY] if tags else []), *([SEARCHABLE_ONLY] if texts else [])])

    def get_slice_endpoint(self, slices: SlicePlan) -> str:
        """See `Platform.get_slice_endpoint`: every page of a hashtag has a bound of ids, and counts as a later page."""
        return SEARCH if slices.full_text else PAGED_TAG

    def list_slice_endpoints(self, settings: Settings, queries: Sequence[str], slices: SlicePlan) -> Sequence[str]:
        """See `Platform.list_slice_endpoints`: with a token, an empty page of a hashtag is checked."""
        tags, texts = _split_queries(queries, slices)
        tagged = [PAGED_TAG, *([INSTANCE] if settings.source.variable else [])]
        return [*([SEARCH] if texts else []), *(tagged if tags else [])]

    def make_post_look_up(self, settings: Settings) -> PostLookUp:
        """See `Platform.make_post_look_up`: of the campaign's own instance, which knows posts by its own numbers."""
        home = find_home(settings)
        return PostLookUp(POST, 1, lambda text: parse_post_id(text, home))

    def make_stored_look_up(self, settings: Settings) -> StoredPostLookUp:
        """See `Platform.make_stored_look_up`."""
        place = urlsplit(settings.source.base_url or USUAL).netloc.lower()
        return make_check(find_home(settings), place, settings.source.hosts)

    def check_settings(self, settings: Settings, base: str) -> None:
        """See `Platform.check_settings`: who is asked has to know whom to write to."""
        source = settings.source
        if source.tokens:
            raise SettingsError("[source] tokens are X's: on Mastodon name one variable, token_env.")
        if source.full_text and source.read not in SEARCHING:
            raise SettingsError(
                'full_text = true under [source] is for read = "search" or "auto", and a capture has its own key under '
                "[capture]: remove it, or set read."
            )
        if settings.seeds.lists:
            raise SettingsError("[seeds] lists are Bluesky's: on Mastodon name usernames.")
        if source.identifier:
            raise SettingsError(
                "[source] identifier is for signing in to Bluesky: on Mastodon token_env alone names a token of your "
                "instance. Nothing was sent."
            )
        if source.base_url == "":
            raise SettingsError(
                "No instance is named: set base_url under [source] to the address of yours, as https://INSTANCE. It "
                "is used for all accounts that are not read on their own instance (hosts). Read its rules first: "
                "socialcrawl doctor shows them."
            )
        if not source.contact and not is_loopback(base):
            raise SettingsError(
                "The operator of an instance must be able to reach you: set contact under [source], an address such as "
                '"mailto:me@example.org" or a page about your project. It is sent in the User-Agent.'
            )

    def get_timeline(self, settings: Settings, base: str) -> str:
        """See `Platform.get_timeline`: on the campaign's own instance."""
        return f"{find_home(settings)}{STATUSES}"

    def make_source(self, terms: Terms, queries: Sequence[str], now: float) -> Source:
        """See `Platform.make_source`."""
        source, pages = terms.settings.source, terms.settings.source.pages_per_user
        return MastodonSource(
            terms.policy,
            queries,
            find_home(terms.settings),
            pages,
            terms.settings.seeds.search_pages,
            instances=source.hosts or (ALL if terms.activity else []),
            follows=pages if terms.links.follows else 0,
            follow=terms.links.follows,
            signed_in=bool(source.variable),
            opt_outs=source.opt_outs,
            begin=terms.topic.begin,
            end=terms.topic.end,
            activity=terms.activity,
            redirects=terms.activity is not None and terms.activity.redirects,
            slices=terms.slices or BY_DEFAULT,
            ids=terms.ids,
        )

    def make_wire(self, terms: Terms, keys: Keys, now: Callable[[], float]) -> "MastodonWire":
        """See `Platform.make_wire`."""
        from socialcrawl.platforms.mastodon.wire import MastodonWire  # noqa: PLC0415 - plans are made without httpx

        source = terms.settings.source
        return MastodonWire(
            terms.base,
            find_home(terms.settings),
            {name: token for name, token in keys.secrets.items() if isinstance(token, str)},
            hits=terms.topic.hits,
            now=now,
            timeout=source.timeout,
            deadline=source.deadline,
            contact=source.contact or "",
            keep=source.keep_original,
            whole=source.keep_answers,
            stream=(terms.slices or BY_DEFAULT).stream,
        )

    def make_probe(self, terms: Terms, queries: Sequence[str], names: Sequence[str]) -> Request:
        """See `Platform.make_probe`: the first account, or else ten posts with a hashtag."""
        own = find_home(terms.settings)
        if names:
            return Request((-1, 0), f"{own}{LOOK_UP}", {"acct": names[0]}, 1)
        word = next(filter(None, map(find_hashtag, queries)), "mastodon")
        return Request((-1, 0), f"{own}{TAG}", {"hashtag": word, "limit": "10"}, 1)

    def list_capture_probes(self, terms: Terms, now: float) -> Sequence[CaptureProbe]:
        """See `Platform.list_capture_probes`: the full-text search, and the stream of a hashtag."""
        own, slices, found = find_home(terms.settings), terms.slices or BY_DEFAULT, []
        if slices.full_text:
            request = make_control((-1, 1), f"{own}{SEARCH}")
            found.append(CaptureProbe("search", request, "the search of texts finds posts"))
        if slices.live:
            tag = next(filter(None, map(find_hashtag, terms.topic.keywords)), "mastodon")
            request = Request((-1, 2), f"{own}{STREAM}", {**make_probe_parameters(now), "tags": tag}, 1)
            hint = "a large instance streams from another server: set stream under [capture] to its address"
            found.append(CaptureProbe("stream", request, f"{slices.stream or terms.base} streams", hint))
        return found

    def make_rules_reader(self, wire: Wired) -> "Callable[[], InstanceRules] | None":
        """See `Platform.make_rules_reader`: each instance has its own."""
        from socialcrawl.platforms.mastodon.wire import MastodonWire  # noqa: PLC0415 - plans are made without httpx

        return wire.read_about if isinstance(wire, MastodonWire) else None


def _split_queries(queries: Sequence[str], slices: SlicePlan) -> tuple[list[str], list[str]]:
    """Return the queries that are read from hashtag timelines, and those that the texts of posts are searched for."""
    texts = [query for query in queries if slices.full_text and not query.startswith("#")]
    return [query for query in queries if query not in texts], texts


def _parse_page_address(address: str) -> str | None:
    """Return the account that a page of an instance shows, of its address as people copy it.

    None for other addresses.
    """
    found = PAGE.fullmatch(address.strip())
    return found and (found[2] if "@" in found[2] else f"{found[2]}@{found[1]}")


def find_home(settings: Settings) -> str:
    """Return the domain of the campaign's own instance, as it ends the names of its accounts."""
    return naming.normalize_domain(settings.source.domain or urlsplit(settings.source.base_url or USUAL).hostname or "")
