"""The capture whose authors a campaign begins with: found in the database, checked, and waited for."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from socialcrawl.campaign.settings import Settings, load_stored
from socialcrawl.crawls.base import Crawling
from socialcrawl.crawls.registry import kind_of
from socialcrawl.engine.model import Outcome, Stop, StopKind, Wait
from socialcrawl.engine.protocols import Batch, History
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.database.health import is_missing, open_existing
from socialcrawl.storage.database.lease import find_holder
from socialcrawl.storage.queries.traces import CampaignTraces

PAUSE = 60.0  # seconds until a capture is looked at again, where nothing else is left to do


@dataclass(frozen=True, slots=True)
class CaptureSource:
    """A capture that another campaign of its database follows: campaign.id, name, and its settings as they are now."""

    id: int
    name: str
    settings: Settings

    @property
    def is_endless(self) -> bool:
        """Whether it goes on with new posts as they appear."""
        return kind_of(self.settings).is_endless(self.settings)


def find_capture(connection: Opened, settings: Settings) -> CaptureSource | None:
    """Return the capture that a campaign follows; None: it follows none.

    Raises:
        SettingsError: the database has no such campaign, or it is none that the campaign can follow.
    """
    name = settings.seeds.capture
    if name is None:
        return None
    traces = CampaignTraces(connection)
    if name not in traces.list_campaigns():
        raise SettingsError(_describe_unknown(settings, _list_captures(traces)))
    source = _read_source(traces, name)
    if source.settings.source.platform != settings.source.platform:
        own, other = (find_platform_facts(one.source.platform).title for one in (settings, source.settings))
        raise SettingsError(
            f"[seeds] capture = {name!r} is a capture of {other}, and this campaign reads accounts of {own}: name a "
            f"capture of {own}."
        )
    if not _is_capture(source.settings):
        raise SettingsError(
            f"[seeds] capture = {name!r} is a campaign of kind {source.settings.kind!r} in {settings.database}: name "
            "one that captures posts."
        )
    return source


def describe_capture(settings: Settings) -> Iterator[str]:
    """Yield what a person should know of the capture that a campaign follows, before the campaign runs.

    Raises:
        SettingsError: it is none that the campaign can follow.
    """
    if settings.seeds.capture is None:
        return
    try:
        if is_missing(settings.database):
            yield _describe_unknown(settings, [])
            return
        with open_existing(settings.database) as connection:
            yield from _describe_found(connection, settings)
    except StoreError:  # which a run says
        return


def _describe_found(connection: Opened, settings: Settings) -> Iterator[str]:
    traces, name = CampaignTraces(connection), settings.seeds.capture
    if name not in traces.list_campaigns():
        yield _describe_unknown(settings, _list_captures(traces))
        return
    source = find_capture(connection, settings)
    if source is None:
        return
    topic = source.settings.topic
    if (topic.keywords, topic.patterns) != (settings.topic.keywords, settings.topic.patterns):
        yield (
            f"[seeds] capture = {name!r} has another topic ({', '.join((*topic.keywords, *topic.patterns))}): its "
            "authors are read all the same, and their posts count by the topic of this campaign."
        )


def _describe_unknown(settings: Settings, known: list[str]) -> str:
    """Return what to do about a capture that the database of a campaign does not have; `known` are those it has."""
    there = f"captures in it: {', '.join(known)}" if known else "it has no capture yet"
    return (
        f"[seeds] capture: the database {settings.database} has no campaign {settings.seeds.capture!r} ({there}). Run "
        "the capture first, with the same database, or correct the name."
    )


def _list_captures(traces: CampaignTraces) -> list[str]:
    names = []
    for name in traces.list_campaigns():
        with suppress(SettingsError):  # of a kind or platform that is not installed
            if _is_capture(_read_source(traces, name).settings):
                names.append(name)
    return names


def _is_capture(settings: Settings) -> bool:
    return kind_of(settings).plan_slices(settings) is not None and not kind_of(settings).reads_found(settings)


def _read_source(traces: CampaignTraces, name: str) -> CaptureSource:
    stored = traces.read_campaign(name)
    latest = traces.read_versions(stored)[-1].settings
    return CaptureSource(stored.id, name, load_stored(latest, f"the campaign {name!r}"))


class CaptureFollower:
    """The crawl `inner` of a campaign that follows a capture: it waits for the capture where nothing else is left.

    Args:
        inner: the crawl.
        source: the capture.
        connection: the database.
        steps: how many steps the campaign may do; None: no bound.
    """

    def __init__(self, inner: Crawling, source: CaptureSource, connection: Opened, steps: int | None) -> None:
        self.inner, self.source, self.connection, self.steps = inner, source, connection, steps

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """Return what the inner crawl chooses, or a wait for more authors."""
        choice = self.inner.choose(size, now)
        if not isinstance(choice, Stop) or choice.kind not in (StopKind.DONE, StopKind.FAILED):
            return choice
        if self.steps is not None and self.inner.taken >= self.steps:
            return choice
        name = self.source.name
        if self.source.is_endless or find_holder(self.connection, name) is not None:
            return Wait(now + PAUSE, f"no account is left to read until the capture {name} finds more authors")
        if choice.kind == StopKind.DONE:
            return choice
        searched = self.inner.seeds.answered or self.inner.seeds.missing
        why = f"{choice.why}. The" if searched else "there is no account to start from: the"
        return Stop(choice.kind, f"{why} capture {name} has found no author, and is not running. Run it first")

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Let the inner crawl learn."""
        self.inner.absorb(batch, outcomes)

    def fold(self, history: History) -> None:
        """Let the inner crawl fold."""
        self.inner.fold(history)
