"""The demo of a crawl: accounts found from a keyword, compared with what breadth-first and chance would have found."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.api.foreground_run import Ending
from socialcrawl.campaign.plan import read_usernames
from socialcrawl.campaign.sections.access import SEARCHING
from socialcrawl.campaign.settings import CrawlSection, Settings
from socialcrawl.cli.commands.demo_kinds import DemoOptions, KindDemo
from socialcrawl.crawls.collect.estimators.registry import HYBRID
from socialcrawl.crawls.facts import COLLECT
from socialcrawl.errors import SettingsError
from socialcrawl.storage.database.health import open_readable
from socialcrawl.text.wording import pluralize

SEEDS = 20  # accounts that the search for the topic may find in the generated posts
Curves = Mapping[str, NDArray[np.float64]]  # relevance found after each step, by what chose the accounts


class CollectDemo(KindDemo):
    """A crawl, compared with simulated ones where all posts are known."""

    facts = COLLECT
    topic = "accounts that post about"
    tutorial = Path("docs/tutorial/first-network.md")
    page = "charts, who mentions whom"
    query = "select account, relevance, step from top_account limit 9"

    def __init__(self, wanted: DemoOptions, posts: Path, keyword: str) -> None:
        super().__init__(wanted, posts, keyword)
        self.simulated: Curves = {}

    @property
    def is_invented(self) -> bool:
        """See `KindDemo.is_invented`."""
        return bool(self.simulated)

    def make_sections(self) -> dict[str, Any]:
        """See `KindDemo.make_sections`."""
        wanted, names = self.wanted, self._choose_seeds()
        return {
            "seeds": {"search": not names, "usernames": names} | ({"most": SEEDS} if wanted.posts is None else {}),
            "crawl": {
                "estimator": self._choose_estimator(),
                "switch_after": self._choose_switch_after(),
                "refresh_rate": wanted.refresh_rate,
                "control": wanted.control,
                "shadows": [],  # what others would have found is simulated
            }
            | ({} if wanted.steps is None else {"steps": wanted.steps}),
        } | ({} if wanted.max_money is None else {"budget": {"max_money": wanted.max_money}})

    def compare(self, settings: Settings, ending: Ending) -> Ending:
        """Return the ending with what others would have found from the same seeds, where all posts can be read."""
        seeded = self.wanted.read not in SEARCHING  # else there is nobody from whom others could begin
        if self.wanted.posts is None and not self.wanted.missing and seeded:
            self.simulated = self._simulate_others(settings, ending)
        if not self.simulated:
            return ending
        called = {f"{name} (simulated)": curve for name, curve in self.simulated.items()}
        return replace(ending, report=replace(ending.report, baselines=called))

    def collect_values(self) -> dict[str, Any]:
        """See `KindDemo.collect_values`."""
        ends = {name: float(curve[-1]) for name, curve in self.simulated.items()}
        return {"baselines": ends} if ends else {}

    def list_lines(self, settings: Settings, ending: Ending) -> list[str]:
        """See `KindDemo.list_lines`."""
        if not self.simulated:
            return []
        found, gained = ending.report.found, ending.report.gained
        others = ", ".join(f"{name} {curve[-1]:,.0f}" for name, curve in self.simulated.items())
        steps = pluralize(len(found.steps), "step")
        drawn = f" ({gained.drawn:,} of them drawn)" if gained is not None and gained.drawn else ""
        return [
            f"{settings.crawl.estimator} found relevance {found.relevance:,.0f} in {steps}{drawn}",
            f"from the same seeds (simulated, as all posts of the demo are known): {others}",
        ]

    def list_commands(self, settings: Settings, ending: Ending) -> list[str]:
        """See `KindDemo.list_commands`."""
        if not ending.report.found.discovered:
            return []
        where, best = str(settings.database), ending.report.found.discovered[0]["account"]
        words = f"socialcrawl explain {shlex.quote(where)} {shlex.quote(best)}"
        return [f"{words}    why the crawl read its best discovery"]

    def _simulate_others(self, settings: Settings, ending: Ending) -> Curves:
        """Return what breadth-first and chance would have found from the same seeds."""
        from socialcrawl.cli.commands.demo_baselines import list_seeds, simulate_baselines  # noqa: PLC0415

        found = ending.report.found
        if not len(found.steps):
            return {}
        with open_readable(settings.database) as connection:
            seeds = list_seeds(connection, settings.name)
        return simulate_baselines(
            self.posts, self.keyword, seeds, relevance=found.seed_relevance, steps=len(found.steps)
        )

    def _choose_estimator(self) -> str:
        """Return the estimator; where only the switch of a hybrid is given, a hybrid, as in a campaign file."""
        given = self.wanted.given
        return HYBRID if "switch_after" in given and "estimator" not in given else self.wanted.estimator

    def _choose_switch_after(self) -> int:
        """Return the setting's own default on a user's posts; early enough to be seen on the generated ones."""
        if self.wanted.switch_after is not None:
            return self.wanted.switch_after
        return 100 if self.wanted.posts is None else CrawlSection().switch_after

    def _choose_seeds(self) -> list[str]:
        """Return the usernames to begin with, as the mock shows them; none: the keywords are to find them."""
        wanted, posts, keyword = self.wanted, self.posts, self.keyword
        if wanted.seeds is None and wanted.seed_count is None:
            return []
        if wanted.seeds is not None and wanted.seed_count is not None:
            raise SettingsError(
                "--seeds names the accounts to begin with, --seed-size draws some: give one of the two."
            )
        from socialcrawl.lab.post_table import fold_name, read_posts  # noqa: PLC0415
        from socialcrawl.mock.topic_seeds import draw_topic_seeds  # noqa: PLC0415
        from socialcrawl.mock.world import build_world  # noqa: PLC0415

        world = build_world(read_posts(posts))
        usernames = world.accounts.usernames
        if wanted.seeds is not None:
            shown = dict(zip(world.accounts.keys, usernames, strict=True))
            names = [shown.get(fold_name(name), name) for name in read_usernames(wanted.seeds)]
            if not names:
                raise SettingsError(f"The file of seeds {wanted.seeds} names no account: write one username per line.")
            return names
        return draw_topic_seeds(world, keyword, wanted.seed_count or 0, wanted.seed)
