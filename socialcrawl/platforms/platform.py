"""The contract of a platform, as plans and builds use it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from socialcrawl.entities import Entities
from socialcrawl.limits.policy import Policy
from socialcrawl.limits.shape import Roles
from socialcrawl.liveness import Activity
from socialcrawl.model import Credential, Grant, Reply, Request, Who
from socialcrawl.protocols import Source
from socialcrawl.relevance import Links, Topic
from socialcrawl.settings import Settings

if TYPE_CHECKING:
    from socialcrawl.sources.mastodon.about import About

Secret = str | tuple[str, ...]
Variables = str | Sequence[str]
PUBLIC = "public"  # the credential of those who ask without a token


@dataclass(frozen=True, slots=True)
class Terms:
    """A campaign as its platform has to know it.

    Attributes:
        settings: the campaign file.
        topic: what it is about.
        policy: windows, page sizes and prices.
        base: the address of the server.
        names: the accounts to begin with.
        ahead: tells which accounts will probably be read next and have no profile yet.
        activity: the rule by which a probed account is active; None where the campaign probes nobody.
    """

    settings: Settings
    topic: Topic
    policy: Policy
    base: str
    names: Sequence[str] = ()
    ahead: Callable[[], Sequence[Who]] = tuple
    activity: Activity | None = None

    @property
    def links(self) -> Links:
        """What makes a link."""
        return Links.of(self.settings.crawl.links)


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets of a campaign by the names of their credentials, and a folder where a session may be kept."""

    secrets: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    folder: Callable[[], Path] | None = None


class Wired(Protocol):
    """A wire that can be closed."""

    def send(self, grant: Grant) -> Reply:
        """See `protocols.Wire.send`."""

    def close(self) -> None:
        """Let go of the connections."""


class Platform(Protocol):
    """A platform; what differs between them, in one place each."""

    name: str
    title: str
    roles: Roles
    searches: bool
    look_up: bool
    """Whether named accounts are looked up before they are asked."""
    publishing: str
    """What its terms let you publish of what was collected, where they restrict that; "" elsewhere."""
    advice: str
    """What a person can do where the searches find nobody."""
    entities: Entities
    """What it finds in texts beside words."""

    def expanded(self, settings: Settings) -> bool:
        """Whether searches bring all that is needed of the authors; else they are looked up."""

    def credentials(self, settings: Settings) -> list[tuple[Credential, Variables | None]]:
        """The credentials that a campaign asks with, and the environment variables that hold them."""

    def names(self, given: Sequence[str]) -> list[str]:
        """Accounts as a person names them, as the platform does.

        Raises:
            SettingsError: one of them is none.
        """

    def queries(self, settings: Settings, topic: Topic) -> list[str]:
        """The searches that a campaign begins with."""

    def fits(self, settings: Settings, base: str) -> None:
        """Nothing, if the settings are such as the platform needs.

        Raises:
            SettingsError: they are not; the message says what to do.
        """

    def admits(self, settings: Settings, base: str, secrets: Mapping[str, Secret]) -> None:
        """Nothing, if the platform's terms allow these tokens together, by the names of their credentials.

        Raises:
            SettingsError: they do not; the message says what to do and shows no token.
        """

    def application(self, secret: Secret) -> str:
        """What a token says of the application that it belongs to, whose tokens have one bill; "" where nothing."""

    def timeline(self, settings: Settings, base: str) -> str:
        """The endpoint that most requests go to, with its host where there are many."""

    def source(self, terms: Terms, queries: Sequence[str], now: float) -> Source:
        """The platform as conversations."""

    def wire(self, terms: Terms, keys: Keys, now: Callable[[], float]) -> Wired:
        """The door to the platform."""

    def probe(self, terms: Terms, queries: Sequence[str], names: Sequence[str]) -> Request | None:
        """The smallest request that tells whether everything works; None where the settings name nobody to ask."""

    def rules_reader(self, wire: Wired) -> "Callable[[], About] | None":
        """Return what reads the rules of the server behind `wire`, in two requests; None where servers have none."""
