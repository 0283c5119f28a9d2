"""Which campaigns the overview shows, in which order, and what tells those of one name apart."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query

from socialcrawl import CampaignStatus

ALERTS = "alerts"  # the choice of campaigns with alerts, whatever their state
ORDER = {"running": 1, "waiting": 2, "elsewhere": 2, "resting": 3, "idle": 4, "paused": 4, "stopped": 4, "done": 5}
"""The place of each state among campaigns without alerts, which come after those with alerts."""
FEW = 5  # campaigns among which nobody needs to choose
Words = Annotated[str, Query(max_length=200)]
State = Annotated[str, Query(max_length=20)]


@dataclass(frozen=True, slots=True)
class OverviewChoice:
    """Which campaigns somebody wants to see: those with all of some words, and in one state; "" for all."""

    words: str = ""
    state: str = ""

    @property
    def query(self) -> str:
        """The choice as the end of an address; "" where all are chosen."""
        given = {name: value for name, value in (("words", self.words), ("state", self.state)) if value}
        return f"?{urlencode(given)}" if given else ""

    def select(self, campaigns: Iterable[CampaignStatus]) -> list[CampaignStatus]:
        """Return the chosen campaigns, those first that a person should look at, then by state; else as they were."""
        found = [one for one in campaigns if self._has(one)]
        return sorted(found, key=lambda one: 0 if one.alerts else ORDER.get(one.state, 0))

    def _has(self, one: CampaignStatus) -> bool:
        text = " ".join((one.name, one.kind, one.platform, one.state, one.database, one.file or "")).casefold()
        state = not self.state or (bool(one.alerts) if self.state == ALERTS else one.state == self.state)
        return state and all(word in text for word in self.words.casefold().split())


def make_choice(words: Words = "", state: State = "") -> OverviewChoice:
    """Return what the parameters of an address choose."""
    return OverviewChoice(" ".join(words.split()), state)


def list_states(campaigns: Sequence[CampaignStatus]) -> list[str]:
    """Return the states that there are, in the order of the overview."""
    return sorted({one.state for one in campaigns}, key=lambda state: (ORDER.get(state, 0), state))


def tell_apart(campaigns: Sequence[CampaignStatus], folder: Path | None) -> Mapping[str, str]:
    """Return the databases of campaigns whose name others have too, by key; those in `folder` relative to it."""
    names = Counter(one.name for one in campaigns)
    return {one.key: _shorten(one.database, folder) for one in campaigns if names[one.name] > 1}


def _shorten(database: str, folder: Path | None) -> str:
    path = Path(database)
    if folder is not None and path.is_relative_to(folder):
        return str(path.relative_to(folder))
    return database
