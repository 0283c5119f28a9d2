"""The contract of a platform, as plans and builds use it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import Credential, Grant, Reply, Request, Who
from socialcrawl.engine.protocols import Source
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import EndpointRoles
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.relevance import Links, Topic
from socialcrawl.platforms.facts import PlatformFacts
from socialcrawl.platforms.hydration import FindIds, PostLookUp, find_none
from socialcrawl.platforms.slice_reading import V1, SlicePlan
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.text.entities import NONE, Entities

if TYPE_CHECKING:
    from socialcrawl.platforms.platform_jobs import ComplianceJobs
    from socialcrawl.platforms.post_checks import StoredPostLookUp
    from socialcrawl.platforms.server_info import InstanceRules, Meters

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
        slices: how slices of time are read; None where the campaign reads none.
        ids: finds the ids of posts that were imported to be fetched.
        returns: whether accounts are read again, for what is new since a mark.
        samples: whether accounts are drawn for a sample.
    """

    settings: Settings
    topic: Topic
    policy: Policy
    base: str
    names: Sequence[str] = ()
    ahead: Callable[[], Sequence[Who]] = tuple
    activity: Activity | None = None
    slices: SlicePlan | None = None
    ids: FindIds = find_none
    returns: bool = False
    samples: bool = False

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


@dataclass(frozen=True, slots=True)
class CaptureProbe:
    """A request that tells whether something that a capture reads, beside its usual search, can be read.

    Attributes:
        name: what it is: stream | search.
        request: the request.
        shows: what is known if it is answered.
        hint: what to do if it is not; "": the answer says it.
    """

    name: str
    request: Request
    shows: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A campaign file to begin with, and what is to be done with it next.

    Attributes:
        file: a file in the folder config, or an absolute path.
        then: what a person does next.
        then_of_dataset: the same where a dataset names the accounts.
        hosts: the comment on the key hosts where a dataset tells who is asked; "": the template has no such key.
        sliced: the line on keywords where the search is read by slices of time; "": that of the file.
    """

    file: str
    then: str
    then_of_dataset: str
    hosts: str = ""
    sliced: str = ""


class Platform(ABC):
    """A platform; what differs between them, in one place each.

    Attributes:
        facts: its name, and what every floor may know of it.
        roles: its endpoints, by what a crawl does with them.
        searches: whether it has a search.
        streams: whether it has a stream of new posts that captures can read.
        look_up: whether named accounts are looked up before they are asked.
        restricts: whether searches of slices of time can be restricted to accounts.
        matches: whether accounts can be read by a search for those of their posts that match.
        reading_keys: keys under [source] that say how accounts are read, and are for this platform.
        publishing: what its terms let you publish of what was collected, where they restrict that; "" elsewhere.
        advice: what a person can do where the searches find nobody.
        entities: what it finds in texts beside words.
        full_name: how a person writes a name that is not whole.
        probe_shows: what `probe` brings where that is no posts; "" where it brings posts.
        template: a campaign file to begin with; None: there is none.
    """

    facts: ClassVar[PlatformFacts]
    roles: ClassVar[EndpointRoles]
    searches: ClassVar[bool] = False
    streams: ClassVar[bool] = False
    look_up: ClassVar[bool] = False
    restricts: ClassVar[bool] = False
    matches: ClassVar[bool] = False
    reading_keys: ClassVar[Sequence[str]] = ()
    publishing: ClassVar[str] = ""
    advice: ClassVar[str] = "name seeds (usernames = [...])"
    entities: ClassVar[Entities] = NONE
    full_name: ClassVar[str] = "write it in full"
    probe_shows: ClassVar[str] = ""
    template: ClassVar[Template | None] = None

    @property
    def title(self) -> str:
        """What sentences call it."""
        return self.facts.title

    def has_complete_authors(self, settings: Settings) -> bool:
        """Return whether searches bring all that is needed of the authors; else they are looked up."""
        del settings
        return True

    def list_credentials(self, settings: Settings) -> list[tuple[Credential, Variables | None]]:
        """Return the credentials that a campaign asks with, and the environment variables that hold them."""
        del settings
        return [(Credential(PUBLIC, PUBLIC), None)]

    @abstractmethod
    def parse_names(self, given: Sequence[str]) -> list[str]:
        """Return accounts as the platform names them, of how a person does.

        Raises:
            SettingsError: one of them is none.
        """

    def identify(self, given: str) -> str:
        """Return the id or name of an account that is to be forgotten, as databases have it.

        Raises:
            SettingsError: it is none.
        """
        (name,) = self.parse_names([given])
        return name

    def normalize(self, given: str) -> str:
        """Return how databases spell the name or id of an account or a post, whatever it is."""
        return given

    def list_queries(self, settings: Settings, topic: Topic) -> list[str]:
        """Return the searches that a campaign begins with."""
        del settings, topic
        return []

    def check_slices(self, settings: Settings, slices: SlicePlan) -> None:
        """Check that a campaign can search slices of time here.

        Raises:
            SettingsError: it cannot; the message says what to do.
        """
        del settings, slices
        raise SettingsError(
            f'There is no search of {self.title} by time yet, which kind = "capture" needs: take kind = "collect".'
        )

    def check_slice_keys(self, slices: SlicePlan, *known: str) -> None:
        """Check that no key under [capture] is set that belongs to another platform; `known` are its own.

        Raises:
            SettingsError: one is.
        """
        given = {"counts": bool(slices.counted), "search": slices.search != V1, "full_text": slices.full_text}
        given |= {"stream": bool(slices.stream), "replace_rules": slices.replace_rules}
        for name, is_set in given.items():
            if is_set and name not in known:
                raise SettingsError(f"[capture] {name} belongs to another platform than {self.title}: remove it.")

    def list_slice_queries(self, settings: Settings, topic: Topic, slices: SlicePlan) -> list[str]:
        """Return the searches of a campaign that reads slices of time."""
        del slices
        return self.list_queries(settings, topic)

    def plan_searches(self, settings: Settings) -> SlicePlan | None:
        """Return how a collection searches the topic, span by span, to read accounts from what that returns.

        None: it cannot, or reading accounts finds more for its cost.
        """
        del settings
        return None

    def list_slice_doubts(self, topic: Topic, slices: SlicePlan) -> Iterator[str]:
        """Yield what a person should know of keywords that slices of time cannot be searched for as they stand."""
        del topic, slices
        yield from ()

    def describe_reach(self, queries: Sequence[str], slices: SlicePlan) -> str:
        """Return which posts searches of slices of time can find, as a sentence; "" where these are all that match."""
        del queries, slices
        return ""

    def get_slice_endpoint(self, slices: SlicePlan) -> str:
        """Return the endpoint of a search of a slice of time."""
        del slices
        return self.roles.search

    def list_slice_endpoints(self, settings: Settings, queries: Sequence[str], slices: SlicePlan) -> Sequence[str]:
        """Return the endpoints that searches of slices of time use, for quotes: that of the pages first."""
        del settings, queries
        return [self.get_slice_endpoint(slices)]

    def make_post_look_up(self, settings: Settings) -> PostLookUp | None:
        """Return how a campaign asks for posts by their ids; None where the platform has no such request."""
        del settings
        return None

    def check_settings(self, settings: Settings, base: str) -> None:
        """Check that the settings are such as the platform needs.

        Raises:
            SettingsError: they are not; the message says what to do.
        """
        del settings, base

    def check_tokens(self, settings: Settings, base: str, secrets: Mapping[str, Secret]) -> None:
        """Check that the platform's terms allow these tokens together, by the names of their credentials.

        Raises:
            SettingsError: they do not; the message says what to do and shows no token.
        """
        del settings, base, secrets

    def find_application(self, secret: Secret) -> str:
        """Return what a token says of the application that it belongs to, whose tokens have one bill; "": nothing."""
        del secret
        return ""

    @abstractmethod
    def get_timeline(self, settings: Settings, base: str) -> str:
        """Return the endpoint that most requests go to, with its host where there are many."""

    @abstractmethod
    def make_source(self, terms: Terms, queries: Sequence[str], now: float) -> Source:
        """Return the platform as conversations."""

    @abstractmethod
    def make_wire(self, terms: Terms, keys: Keys, now: Callable[[], float]) -> Wired:
        """Return the wire to the platform."""

    @abstractmethod
    def make_probe(self, terms: Terms, queries: Sequence[str], names: Sequence[str]) -> Request | None:
        """Return the smallest request that tells whether everything works; None where nobody is named to ask."""

    def list_capture_probes(self, terms: Terms, now: float) -> Sequence[CaptureProbe]:
        """Return what tells whether a capture can read what `make_probe` does not try, such as a stream.

        Args:
            terms: the campaign, with `slices`.
            now: the time, Unix seconds.
        """
        del terms, now
        return ()

    def make_meters(self, settings: Settings, policy: Policy) -> "Meters | None":
        """Return what asks the platform how many posts it counts and has billed; None where it tells neither."""
        del settings, policy
        return None

    def make_compliance_jobs(self) -> "ComplianceJobs | None":
        """Return what asks the platform in jobs which stored ids are to be deleted; None where it has no such jobs."""
        return None

    def make_stored_look_up(self, settings: Settings) -> "StoredPostLookUp | None":
        """Return how a campaign looks up whether stored posts are still shown; None where it is not to."""
        del settings
        return None

    def make_rules_reader(self, wire: Wired) -> "Callable[[], InstanceRules] | None":
        """Return what reads the rules of the server behind `wire`, in two requests; None where servers have none."""
        del wire
        return None
