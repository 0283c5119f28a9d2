"""The web as a platform: pages are accounts, their links mentions."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import Request
from socialcrawl.engine.protocols import Source
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import EndpointRoles
from socialcrawl.graph.liveness import Activity
from socialcrawl.platforms.base import Keys, Platform, Template, Terms
from socialcrawl.platforms.facts import WEB
from socialcrawl.platforms.web.source import ROBOTS, WebSource
from socialcrawl.platforms.web.urls import find_server, list_hosts, make_robots_url, normalize_url
from socialcrawl.ratelimit.policy import ANY
from socialcrawl.system.loopback import is_loopback

if TYPE_CHECKING:
    from socialcrawl.platforms.web.wire import WebWire

AGENT = "socialcrawl"  # the name by which robots.txt may speak of us
ALL = ("*",)  # the hosts that are asked: an old dataset names the pages


class WebPlatform(Platform):
    """The pages of web servers, each of which has windows of its own."""

    facts = WEB
    roles = EndpointRoles(search="", by_name=ANY, by_id=ANY, timeline=ANY, together=1, probe=ANY)
    advice = "name pages (usernames = [...])"
    full_name = "write the address of a page in full, as https://example.org/page"
    probe_shows = "its robots.txt was requested"
    template = Template(
        "campaign-web.toml",
        "edit it (usernames, contact)",
        "edit it (contact)",
        'hosts to which requests are sent, and no others: ["example.org", "*.example.com"]; [] is all of the dataset',
    )

    def parse_names(self, given: Sequence[str]) -> list[str]:
        """See `Platform.parse_names`: addresses, in the one form that they have."""
        found = []
        for name in given:
            if _names_user(name):
                raise SettingsError(
                    "A page under [seeds] is named with a user or a password, which would be stored: remove it."
                )
            url = normalize_url(name)
            if url is None:
                raise SettingsError(
                    f"{name!r} is not a page of the web: write it as https://example.org/page (under [seeds])."
                )
            found.append(url)
        return found

    def normalize(self, given: str) -> str:
        """See `Platform.normalize`: the one form of an address."""
        return normalize_url(given) or given

    def check_settings(self, settings: Settings, base: str) -> None:
        """See `Platform.check_settings`: who is asked has to know whom to write to."""
        source = settings.source
        if source.token_env or source.tokens or source.identifier:
            raise SettingsError("Pages of the web are fetched without a token: remove token_env, tokens, identifier.")
        if settings.seeds.search and "search" in settings.seeds.model_fields_set:
            raise SettingsError("The web has no search: set search = false under [seeds], and name pages as usernames.")
        if settings.seeds.lists:
            raise SettingsError("[seeds] lists are Bluesky's: on the web name pages as usernames.")
        if set(settings.crawl.links) != {"mentions"}:
            raise SettingsError('Pages have one kind of link: set links = ["mentions"] under [crawl], or remove it.')
        if not source.contact and not is_loopback(base):
            raise SettingsError(
                "The operator of a web server must be able to reach you: set contact under [source], an address such "
                'as "mailto:me@example.org" or a page about your project. It is sent in the User-Agent.'
            )

    def get_timeline(self, settings: Settings, base: str) -> str:
        """See `Platform.get_timeline`: any page, on a host of its own."""
        return ANY

    def make_source(self, terms: Terms, queries: Sequence[str], now: float) -> Source:
        """See `Platform.make_source`."""
        source = terms.settings.source
        rule = terms.activity or Activity()
        return WebSource(
            terms.policy,
            AGENT,
            hosts=source.hosts or (ALL if terms.activity else list_hosts(terms.names)),
            opt_outs=source.opt_outs,
            activity=terms.activity,
            redirects=rule.redirects,
            soft=rule.soft,
        )

    def make_wire(self, terms: Terms, keys: Keys, now: Callable[[], float]) -> "WebWire":
        """See `Platform.make_wire`."""
        from socialcrawl.platforms.web.wire import WebWire  # noqa: PLC0415 - plans are made without httpx

        source = terms.settings.source
        return WebWire(
            terms.base or None,
            hits=terms.topic.hits,
            now=now,
            timeout=source.timeout,
            deadline=source.deadline,
            contact=source.contact or "",
            keep=source.keep_original,
            whole=source.keep_answers,
        )

    def make_probe(self, terms: Terms, queries: Sequence[str], names: Sequence[str]) -> Request | None:
        """See `Platform.make_probe`: the robots.txt of the first page's host."""
        if not names:
            return None
        return Request((-1, 0), f"{find_server(names[0])}{ROBOTS}", {"url": make_robots_url(names[0])})


def _names_user(address: str) -> bool:
    try:
        return "@" in urlsplit(address).netloc
    except ValueError:  # it is no address at all
        return False
