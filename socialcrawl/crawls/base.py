"""The contract of a kind of campaign: all that differs between kinds is asked of one of these."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.facts import KindFacts
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Act, Node, Pick
from socialcrawl.engine.protocols import Crawl
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.graph.liveness import Activity
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.base import Platform
from socialcrawl.platforms.focusing import Predicate
from socialcrawl.platforms.registry import platform_of
from socialcrawl.platforms.server_info import CountedSpan
from socialcrawl.platforms.slice_reading import SlicePlan

if TYPE_CHECKING:
    from socialcrawl.forecast.quote import Quote
    from socialcrawl.forecast.reading_curve import ReadingRecord
    from socialcrawl.storage.database.connection import Opened
    from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
    from socialcrawl.storage.sql_store import SqlStore

MINUTES = 2_000  # before a request, at which its choice is looked for: a window of a day, and more
Width = Callable[[Act], int]
Mark = Callable[[float], str]


def one_each(_act: Act) -> int:
    """Return 1: how many picks a request answers where nobody is asked."""
    return 1


def no_mark(_at: float) -> str:
    """Return "": the mark of an instant where nobody is asked."""
    return ""


def list_minutes(at: float, *, is_timed: bool) -> Iterator[float]:
    """Yield the moment of a request, and where the time decides what is chosen, each minute before it."""
    yield at
    if is_timed:
        yield from (at - 60.0 * minutes for minutes in range(1, MINUTES))


def describe_open_end(read: str) -> str:
    """Return that nothing but the budget ends a campaign that reads accounts so, as a sentence."""
    return f'With read = "{read}", only the budget bounds what is found and spent.'


class AccountCounts(Protocol):
    """How many accounts a crawl knows."""

    @property
    def size(self) -> int:
        """All of them."""

    @property
    def left(self) -> int:
        """Those that are still ahead."""


class Crawling(Crawl, Protocol):
    """The crawl of a campaign, which also counts what it has done."""

    @property
    def seeds(self) -> Seeds:
        """Where it starts."""

    @property
    def graph(self) -> AccountCounts:
        """What it knows."""

    @property
    def picks(self) -> int:
        """The number of picks."""

    @property
    def taken(self) -> int:
        """The number of steps."""

    @property
    def relevance(self) -> float:
        """What the steps found."""

    @property
    def seed_relevance(self) -> float:
        """What the seeds found."""


class Progress(NamedTuple):
    """How far a crawl is, in the words of its kind.

    Attributes:
        done: what its steps are called, as "tested".
        found: what it found, for a line.
        ahead: what is still ahead, for a line.
        rows: the same for a live screen, with a heading each.
    """

    done: str
    found: str
    ahead: str
    rows: Sequence[tuple[str, str]]


class ReportRequest(NamedTuple):
    """What a report is asked for: how many accounts to list, the present (Unix seconds), words of sub-topics."""

    top: int = 15
    now: float | None = None
    sub: Sequence[str] = ()


class NextReason(NamedTuple):
    """Why an account is next: an explanation; `drawn` for comparison, as `draws.assign_arms`, 0: not drawn."""

    explanation: Any
    drawn: int = 0


class Snapshot(NamedTuple):
    """The table in which a campaign writes what it knows of each account. All of it follows from its history.

    Attributes:
        title: what `verify` calls it.
        rows: the rows of a crawl, by account.node.
        write: writes them.
        read: reads those of a campaign.id, in a transaction.
    """

    title: str
    rows: Callable[[Any], Mapping[int, Any]]
    write: Callable[["SqlStore", Any], None]
    read: Callable[["Opened", int], Mapping[int, Any]]


class CrawlKind(ABC):
    """One kind of campaign: how it is configured, what it decides by, and what is said of it.

    Attributes:
        facts: its name, its section of the campaign file, and the rules for that.
        matter: what matters to it, for datasheets.
        does: what it does, as a clause: "which ...".
        unasked: what `explain` says of an account that it has not read.
        drawn: how the accounts that it read were chosen, where they are not chosen by relevance; "" elsewhere.
        paper: the publication of its method, as a reference; "" where there is none.
        focus: how it prefers accounts, where it does, for the sentence that its collection is no random sample.
        features: the names of the features of its picks.
        private: keys of its section that name people, files or words that judge them, which a datasheet does not tell.
        dataset: whether it is about the accounts of an imported dataset, so that nothing is searched for.
        collection: whether the accounts that it read are a collection, of which an audit tells how much it has.
        matches: whether it can read accounts by searches for what matches, where its platform can.
        matched: how the sentence ends that says that accounts were read by such searches; `{pages}`: of each at most.
        searches: whether it can find accounts by searches for the topic, span of time by span of time.
        returns: whether it reads accounts again, for what is new since a mark.
        sample: whether what it draws is a sample, on which an audit rests.
        hydrates: whether it fetches posts whose ids are imported.
        reuses: whether answers that the database has from a short while ago count.
    """

    facts: ClassVar[KindFacts]
    matter: ClassVar[str] = ""
    does: ClassVar[str] = "which is of a kind that another package adds"
    unasked: ClassVar[str] = "it was not read yet"
    drawn: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    focus: ClassVar[str] = ""
    features: ClassVar[Sequence[str]] = COLUMNS
    private: ClassVar[Sequence[str]] = ()
    dataset: ClassVar[bool] = False
    collection: ClassVar[bool] = False
    matches: ClassVar[bool] = False
    matched: ClassVar[str] = "."
    searches: ClassVar[bool] = False
    returns: ClassVar[bool] = False
    sample: ClassVar[bool] = False
    hydrates: ClassVar[bool] = False
    reuses: ClassVar[bool] = True

    @abstractmethod
    def make_crawl(self, settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Crawling:
        """Return the crawl of a campaign, which has learned nothing yet.

        Args:
            settings: those of the campaign.
            seeds: where it starts.
            width: its source's, where anybody is asked.
            mark: likewise.
        """

    def check(self, settings: Settings) -> None:
        """Check that what chooses for a campaign can be made.

        Raises:
            SettingsError: it cannot.
        """
        del settings

    @abstractmethod
    def describe(self, settings: Settings) -> str:
        """Return how a campaign goes on, for people: how many steps, and what chooses them."""

    def count(self, settings: Settings, platform: Platform) -> Mapping[str, Any]:
        """Return the fields of `CampaignParameters`, by name, in which the kind differs from others."""
        del settings, platform
        return {}

    def needs_topic(self, settings: Settings) -> bool:
        """Return whether a campaign that has neither keywords nor patterns is wrong.

        Raises:
            SettingsError: it is, and this kind says better what to do.
        """
        del settings
        return True

    def needs_start(self, settings: Settings) -> bool:
        """Return whether a campaign that has neither searches nor accounts to begin with is wrong."""
        del settings
        return not self.dataset

    def list_queries(self, settings: Settings, platform: Platform, topic: Topic) -> list[str]:
        """Return the searches of a campaign, each of which is a node.

        Raises:
            SettingsError: its platform has no such searches.
        """
        return [] if self.dataset else platform.list_queries(settings, topic)

    def predicates(self, settings: Settings) -> tuple[Predicate, Predicate | None] | None:
        """Return what judges whether an account is on the topic, and on a wider one; None where nobody is judged.

        Raises:
            SettingsError: nothing tells it, or a file that tells it cannot be read.
        """
        del settings
        return None

    def make_judge(self, settings: Settings) -> Callable[[str], int] | None:
        """Return what counts the occurrences of the topic in a text in place of the keywords; None: the keywords do.

        Raises:
            SettingsError: a file that tells it cannot be read.
        """
        model, checksum = settings.topic.model, settings.topic.model_checksum
        if model is None:
            return None
        from socialcrawl.crawls.text_models.model_file import read_model  # noqa: PLC0415 - few campaigns have one

        return read_model(model, checksum).hits

    def describe_progress(self, crawl: Any) -> Progress:
        """Return how far a crawl of this kind is."""
        found = f"{crawl.relevance:,.1f} found ({crawl.seed_relevance:,.1f} more in the seeds)"
        accounts = f"{crawl.graph.size:,} known, {crawl.graph.left:,} in the frontier"
        return Progress(
            "steps",
            f"relevance {crawl.relevance:,.1f}",
            f"frontier {crawl.graph.left:,}",
            [("relevance", found), ("accounts", accounts)],
        )

    def list_moments(self, crawl: Any, sent_at: float | None) -> Iterator[float]:
        """Yield the moments at which a stored batch may have been chosen, the likeliest first.

        Override it if choices depend on the time: `verify` makes them again at each moment, until one is the stored
        choice.

        Args:
            crawl: the crawl before that choice.
            sent_at: when the first request of the batch was sent, Unix seconds; None: there was none.
        """
        del crawl
        yield sent_at or 0.0

    def bound_marks(self, crawl: Any, sent_at: float | None) -> tuple[str, str] | None:
        """Return the first and the last mark that a pick of a stored batch can have; None where it has only one.

        Args:
            crawl: see `list_moments`.
            sent_at: likewise.
        """
        del crawl, sent_at
        return None

    def tolerance(self, settings: Settings) -> float:
        """Return by how much scores may differ that were computed in another order; 0.0 where they are exact."""
        del settings
        return 0.0

    def restore_section(self, section: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return its section, as a database keeps it, with what it meant to the version that stored it."""
        return section

    def tests_linked(self, settings: Settings) -> bool:
        """Return whether accounts are tested to which an imported dataset only links."""
        del settings
        return False

    def find_counted_span(self, settings: Settings, began: float | None, now: float) -> CountedSpan | None:
        """Return the span of time in which a platform is to count posts; None: the last seven days.

        Args:
            settings: those of the campaign.
            began: when its first request was sent, Unix seconds; None: it has not begun.
            now: Unix seconds.
        """
        del settings, began, now
        return None

    def find_follower(self, settings: Settings) -> Callable[..., Crawl] | None:
        """Return what makes a crawl whose way to choose may change while it runs; None: it stays as it is.

        It is called with the crawl within its bounds, the crawl itself, the database, campaign.id, and as keywords
        `now`, the clock, and `tell`, which is told of a change, or None.
        """
        del settings
        return None

    def explain_estimate(self, settings: Settings, quote: "Quote", steps: float) -> Iterator[str]:
        """Yield sentences on what the probable numbers of a quote assume of this kind.

        Args:
            settings: those of the campaign.
            quote: the quote.
            steps: the number of steps that are still to come.
        """
        del settings, quote, steps
        yield from ()

    def read_reading_records(
        self, traces: "CampaignTraces", settings: Settings, post_price: int
    ) -> "dict[str, ReadingRecord]":
        """Return what each way of reading accounts has found on the topic.

        Args:
            traces: the database of the campaign.
            settings: those of the campaign.
            post_price: of a post, in mills.
        """
        del traces, settings, post_price
        return {}

    def has_searched_all(self, traces: "CampaignTraces", settings: Settings) -> bool:
        """Return whether a campaign that has begun reads only what searches return, and has searched all of the time.

        Args:
            traces: its database.
            settings: those of the campaign.
        """
        del traces, settings
        return False

    def limit_quote(self, settings: Settings) -> str:
        """Return a sentence on what may end a campaign before what is quoted; "" where nothing does."""
        return "" if settings.source.pages_after_match is None else describe_open_end(settings.source.read)

    def report(self, traces: "CampaignTraces", campaign: "StoredCampaign", asked: ReportRequest) -> Any:
        """Return what a campaign knows beside the counts that all kinds have; None: nothing.

        Raises:
            SettingsError: its settings, or what is asked, are not understood.
        """
        if asked.sub:
            raise SettingsError(
                f"This campaign samples nothing: take --sub {asked.sub[0]} out, or name one of kind sample."
            )

    def explain(self, traces: "CampaignTraces", campaign: "StoredCampaign", user: str) -> Any:
        """Return when and why a campaign asked `user`, a username or id.

        Raises:
            SettingsError: its settings are not understood, or it does not know the account.
        """
        from socialcrawl.crawls.trace import trace_account  # noqa: PLC0415 - plans are made without SQLAlchemy

        return trace_account(traces, campaign, user)

    def explain_from(
        self,
        traces: "CampaignTraces",
        campaign: "StoredCampaign",
        user: str,
        hold: Callable[[], AbstractContextManager[Any]],
    ) -> Any:
        """Return the same as `explain`; `hold` yields the campaign's crawl with its history, where that helps."""
        del hold
        return self.explain(traces, campaign, user)

    def explain_next(
        self, traces: "CampaignTraces", campaign: "StoredCampaign", crawl: Any, batch: Sequence[Pick]
    ) -> Mapping[Node, NextReason]:
        """Return why a crawl that has folded its history chooses the accounts of a batch next.

        None of them where this kind explains no single one.
        """
        del traces, campaign, crawl, batch
        return {}

    def tell_choice(self, section: Mapping[str, Any], platform: str) -> Iterator[str]:
        """Yield sentences for a datasheet on how a campaign chose, from the settings of its section."""
        del section, platform
        yield f"kind: `{self.facts.name}`, {self.does}"

    def tell_method(self, section: Mapping[str, Any]) -> Iterator[str]:
        """Yield sentences for a methods paragraph on methods that its section names and `paper` does not describe."""
        del section
        yield from ()

    def publish(self, section: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a datasheet may tell of its section: all but `private` and what names files."""
        return {key: value for key, value in section.items() if key not in (*self.facts.files, *self.private)}

    def hides_judge(self, section: Mapping[str, Any]) -> bool:
        """Return whether what a datasheet does not tell decides where texts match the topic, from its section."""
        del section
        return False

    def snapshot(self) -> Snapshot | None:
        """Return the table in which campaigns write what they know of each account; None: there is none."""
        return None

    def plan_slices(self, settings: Settings) -> SlicePlan | None:
        """Return how the campaign reads slices of time; None where it reads none."""
        del settings
        return None

    def reads_found(self, settings: Settings) -> bool:
        """Return whether accounts are read from what searches of slices of time returned."""
        del settings
        return False

    def is_endless(self, settings: Settings) -> bool:
        """Return whether a campaign goes on with new posts as they appear, without an end."""
        del settings
        return False

    def activity(self, settings: Settings) -> Activity | None:
        """Return the rule by which a probed account is active; None where the campaign probes nobody."""
        del settings
        return None


def remember_seeds(
    settings: Settings, names: Sequence[Node], topics: Sequence[int] = (), queries: Sequence[Node] = ()
) -> Seeds:
    """Return the seeds of a crawl that folds a stored history and asks nobody.

    Args:
        settings: those of the campaign.
        names: the accounts it named.
        topics: the first pick.n under each new topic.
        queries: its searches; none where nobody looks at what is searched next.
    """
    asked = platform_of(settings)
    look_up = not asked.has_complete_authors(settings)
    return Seeds(queries, names, settings.seeds.most, look_up=look_up, topics=topics, known=not asked.look_up)
