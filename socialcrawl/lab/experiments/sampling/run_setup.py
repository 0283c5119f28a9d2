"""What the commands of `socialcrawl lab sampling` are asked for, and what all of them do with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.sampling import file_worlds
from socialcrawl.lab.experiments.sampling.file_worlds import TopicRequest as Named
from socialcrawl.lab.experiments.sampling.generated_webs import TopicWebParameters, generate_web
from socialcrawl.lab.experiments.sampling.known_walks import METHODS, WalkSetup
from socialcrawl.lab.experiments.sampling.worlds import InlinkSearch, PageWorld
from socialcrawl.text.wording import explain_unknown

TITLES = {
    "fig1": "Out-degrees of pages on topic (figure 1)",
    "fig2": "Domains of pages on topic (figure 2)",
    "fig3": "Shares of sub-topics (figure 3)",
    "fig4": "Two classifiers, hard focus (figure 4)",
    "fig5": "Topics compared, hard focus (figure 5)",
    "bias": "The exact law of walks on frozen lists",
    "audit": "How often the truth lies in the 95 % interval",
    "gap": "Spectral gaps of the graphs that walks are on",
    "ends": "Ends of n walks against the last nodes of one",
}
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class WorldOptions:
    """The world that a command is to be done in: at most one file; without one, a generated world.

    Attributes:
        pages, posts, web: files.
        topics: as they were asked for; those that a world has by itself, if none.
        size, trap, seed: of a generated world.
        wider: names as of topics, of what is on the topics above them all; those that a world has by itself, if none.
        per_run: whether each run has its own generated world.
    """

    pages: Path | None
    posts: Path | None
    web: Path | None
    topics: tuple[str, ...]
    size: int
    trap: float
    seed: int
    wider: tuple[str, ...] = ()
    per_run: bool = False

    def iterate_worlds(self, setup: WalkSetup) -> Iterator[tuple[PageWorld, WalkSetup]]:
        """Yield the world with the setup of all its runs; with `per_run` a world for each run, of consecutive seeds.

        Raises:
            SettingsError: as `make_world`; or a file is given, and a generated world for each run is asked for.
        """
        if self.per_run and (self.pages or self.posts or self.web):
            raise SettingsError("--graph-per-run is about generated worlds: leave out --pages, --posts and --web.")
        if not self.per_run:
            yield self.make_world(), setup
        for number in range(setup.runs if self.per_run else 0):
            world = replace(self, seed=self.seed + number).make_world()
            yield world, replace(setup, seed=setup.seed + number, runs=1)

    def make_world(self) -> PageWorld:
        """Return the world.

        Raises:
            SettingsError: there are two, one cannot be read, or it has not such topics.
        """
        if sum(file is not None for file in (self.pages, self.posts, self.web)) > 1:
            raise SettingsError("Give one of --pages, --posts and --web: a command is done in one world.")
        asked, above = [_parse_topic(word) for word in self.topics], [Named(word.strip()) for word in self.wider]
        if self.pages or self.posts:
            if not asked:
                raise SettingsError("Say what is looked for: --topic WORD, or --topic WORD=PART,PART.")
            both = [*above, *asked]  # a name that is both keeps its parts
            world = (
                file_worlds.read_page_world(self.pages, both)
                if self.pages
                else file_worlds.read_post_world(Path(str(self.posts)), both)
            )
        else:
            world = (
                file_worlds.read_web_world(self.web)
                if self.web
                else generate_web(TopicWebParameters(self.size, self.trap, self.seed))
            )
        chosen = [world.find_topic(one.name) for one in asked] or list(world.topics.values())
        if above:
            wider = np.logical_or.reduce([world.find_topic(one.name).on for one in above])
            chosen = [replace(topic, wider=wider) for topic in chosen]
        return replace(world, topics={topic.name: topic for topic in chosen})


def _parse_topic(word: str) -> Named:
    name, _, parts = word.partition("=")
    return Named(name.strip(), tuple(part.strip() for part in parts.split(",") if part.strip()))


@dataclass(frozen=True)
class WalkOptions:
    """How walks were asked for.

    Attributes:
        methods: those only, if any.
        setup: how they are made.
    """

    methods: tuple[str, ...]
    setup: WalkSetup

    def choose_methods(self, usual: Sequence[str]) -> tuple[str, ...]:
        """Return the methods asked for, or the usual ones.

        Raises:
            SettingsError: there is no such method.
        """
        if unknown := [name for name in self.methods if name not in METHODS]:
            raise SettingsError(explain_unknown("method", unknown[0], METHODS))
        return self.methods or tuple(usual)


def make_setup(*, covers: float, first: int, seed: int, avoid: str, **rest: Any) -> WalkSetup:
    """Return how walks are made, from options.

    Raises:
        SettingsError: an option is out of range.
    """
    if avoid not in (known := ("off", "host", "community")):
        raise SettingsError(explain_unknown("--avoid", avoid, known))
    return WalkSetup(search=InlinkSearch(covers, first or None), seed=seed, more={"trap": avoid}, **rest)
