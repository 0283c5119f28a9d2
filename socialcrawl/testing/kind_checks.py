"""The contract of a kind of campaign, as checks."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.crawls.base import Crawling, CrawlKind, Progress
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Node
from socialcrawl.testing.crawl_driver import GRAPHS, check_fold, drive
from socialcrawl.testing.known_graphs import DrawnGraph


@dataclass(frozen=True)
class KindCase:
    """A kind of campaign and what its checks need to know.

    Attributes:
        kind: the kind.
        sections: sections of a campaign file of this kind, as `{"wander": {"by": "random"}}`.
        steps: the steps of its crawls on known graphs.
    """

    kind: CrawlKind
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    steps: int = 30

    def make_settings(self, **more: Any) -> Settings:
        """Return a campaign file of this kind; `more` replaces whole sections."""
        given: dict[str, Any] = {"name": "check", "kind": self.kind.facts.name, "crawl": {"steps": self.steps}}
        if "topic" not in self.kind.facts.idle:
            given["topic"] = {"keywords": ["tea"]}
        for name, values in self.sections.items():
            given[name] = {**given.get(name, {}), **values}
        return check_settings({**given, **more}, "the campaign of the checks")

    def make_crawl(self, graph: DrawnGraph) -> Crawling:
        """Return a crawl that starts with the seeds of a graph and has learned nothing yet."""
        settings = self.make_settings()
        self.kind.check(settings)
        return self.kind.make_crawl(settings, Seeds(names=[Node(node) for node in graph.seeds], known=True))


def check_kind_facts(case: KindCase) -> None:
    """Check that the kind has a name, and that its section has a default for each key and survives storing."""
    kind, facts = case.kind, case.kind.facts
    assert isinstance(kind, CrawlKind), f"{kind!r} is no socialcrawl.contracts.kinds.CrawlKind."
    assert re.fullmatch(r"[a-z][a-z0-9_]*", facts.name), f"The name {facts.name!r} needs small letters and digits only."
    if facts.section is not None:
        needed = [key for key, one in facts.section.model_fields.items() if one.is_required()]
        assert not needed, f"The keys {needed} of [{facts.name}] need defaults: an empty section is a valid one."
        unknown = set(facts.keys) - set(facts.section.model_fields)
        assert not unknown, f"The facts name the keys {sorted(unknown)}, which [{facts.name}] has not."
    settings = case.make_settings()
    stored = {key: value for key, value in settings.model_dump(mode="json").items() if value is not None}
    again = check_settings(
        {key: stored[key] for key in ("name", "kind", "topic", facts.name) if key in stored and key not in facts.idle},
        "the stored campaign",
    )
    assert again.section == settings.section, (
        f"[{facts.name}] is {again.section} after it was stored, not {settings.section}."
    )


def check_words(case: KindCase) -> None:
    """Check that the kind says what a campaign does, how far it is, and what it counts."""
    settings = case.make_settings()
    said = case.kind.describe(settings)
    assert isinstance(said, str), f"describe returns {said!r}, no text."
    assert said, "describe returns an empty text."
    for drawn in GRAPHS:
        crawl = case.make_crawl(drawn)
        for _ in range(2):
            progress = case.kind.describe_progress(crawl)
            assert isinstance(progress, Progress), f"describe_progress returns {progress!r}, no Progress."
            for value in (crawl.picks, crawl.taken, crawl.relevance, crawl.seed_relevance, crawl.graph.size):
                assert value >= 0, "picks, taken, relevance, seed_relevance and graph.size count what was done."
            drive(crawl, drawn, most=8)


def check_crawl(case: KindCase) -> None:
    """Check that crawls are the same again, that choosing changes nothing, and that folding is living through."""
    for drawn in GRAPHS:
        for size in (1, 3):
            first, second = (drive(case.make_crawl(drawn), drawn, size) for _ in range(2))
            assert first, "The crawl picks nothing on a known graph."
            assert [batch for batch, _ in first] == [batch for batch, _ in second], "Two crawls of one campaign differ."
            numbers = [pick.n for batch, _ in first for pick in batch]
            assert numbers == list(range(len(numbers))), f"Picks are not numbered from 0 on: {numbers}."
            check_fold(lambda drawn=drawn: case.make_crawl(drawn), drawn, case.kind.facts.name, size)  # type: ignore[misc]


KIND_CHECKS: tuple[Callable[[KindCase], None], ...] = (check_kind_facts, check_words, check_crawl)
"""All checks of a kind of campaign; each is given a `KindCase`."""
