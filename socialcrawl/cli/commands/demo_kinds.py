"""What a demo of each kind of campaign does, beside what all demos do; what people can set about it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console

from socialcrawl.api.foreground_run import Ending
from socialcrawl.campaign.settings import Settings
from socialcrawl.cli.commands.run import run_campaign
from socialcrawl.crawls.facts import DEFAULT, KindFacts
from socialcrawl.storage.database.address import DatabaseAddress

STEPS = 600  # of a demo that names neither these nor an amount of money


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What a person can set about the demo; see `socialcrawl demo --help`.

    `given` has the options that were set, as they are written, by their names here.
    """

    posts: Path | None
    keyword: str | None
    seeds: Path | None
    seed_count: int | None
    seed: int
    steps: int | None
    estimator: str
    switch_after: int | None
    refresh_rate: int
    control: float
    window: float
    limit: int
    missing: float
    vocabulary: str
    database: DatabaseAddress | None
    max_money: float | None = None
    pages_per_user: int = 32
    read: str = "timeline"
    kind: str = DEFAULT.name
    ui: bool = False
    given: Mapping[str, str] = field(default_factory=dict)


class KindDemo(ABC):
    """A demo of one kind: which campaign it runs, how, and what it says of it at the end.

    Args:
        wanted: what the person set.
        posts: the file of all posts.
        keyword: the topic.
    """

    facts: ClassVar[KindFacts]
    topic: ClassVar[str]
    """What is found of the keyword, as the words before it."""
    tutorial: ClassVar[Path]
    """The page that continues from the demo, in a clone of the repository."""
    page: ClassVar[str]
    """What its page shows, beside how it was collected."""
    query: ClassVar[str]
    """A query of the database that is worth a look."""
    unused: ClassVar[Sequence[str]] = ()
    """The options that have no effect, by their names in `DemoOptions`."""

    def __init__(self, wanted: DemoOptions, posts: Path, keyword: str) -> None:
        self.wanted, self.posts, self.keyword = wanted, posts, keyword

    @abstractmethod
    def make_sections(self) -> dict[str, Any]:
        """Return the sections of the campaign that differ between kinds.

        Raises:
            SettingsError: what the person set makes no campaign.
        """

    @property
    @abstractmethod
    def is_invented(self) -> bool:
        """Whether it is known that all stored posts are generated, so that names and texts may be shown."""

    def run(self, settings: Settings, console: Console, *, quiet: bool) -> Ending:
        """Run the campaign to its end."""
        return run_campaign(settings, console, quiet=quiet)

    @abstractmethod
    def compare(self, settings: Settings, ending: Ending) -> Ending:
        """Compare what was found with what else is known of these posts, and return the ending to be shown."""

    @abstractmethod
    def collect_values(self) -> dict[str, Any]:
        """Return the comparison as plain values, for scripts."""

    @abstractmethod
    def list_lines(self, settings: Settings, ending: Ending) -> list[str]:
        """Return the comparison as lines."""

    def list_commands(self, settings: Settings, ending: Ending) -> list[str]:
        """Return commands that are worth a try on the database, beside the query."""
        del settings, ending
        return []
