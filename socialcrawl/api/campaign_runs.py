"""Campaigns of Python programs: from a file or from values, with their cost, their progress and their end."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from math import ceil, inf
from pathlib import Path
from typing import Any, Self

from socialcrawl.api.argument_checks import FUNCTION, PATH, SWITCH, TEXT, check_arguments, make_whole_rule
from socialcrawl.api.campaign_control import check_cost
from socialcrawl.api.dataset import Dataset
from socialcrawl.api.foreground_run import Ending, run_to_end
from socialcrawl.api.opening import open_dataset
from socialcrawl.api.text_report import TextReport
from socialcrawl.campaign import settings as campaign_settings
from socialcrawl.campaign.build import OpenCampaign
from socialcrawl.campaign.cost_outlook import make_campaign_quote, read_curve
from socialcrawl.campaign.credentials import list_variables
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.run_preview import preview_run
from socialcrawl.campaign.settings import check_settings
from socialcrawl.campaign.settings_errors import FROM_PYTHON
from socialcrawl.engine.model import MILLS_PER_DOLLAR, Grant, Outcome, Reply, Wait, format_time
from socialcrawl.engine.protocols import Batch
from socialcrawl.errors import StoreError
from socialcrawl.render import quote as quote_page
from socialcrawl.render import run_effects
from socialcrawl.render.campaign_report import collect_values, show
from socialcrawl.render.console import render_text
from socialcrawl.render.live_screen import CampaignView, describe_progress
from socialcrawl.render.way_comparison import build_curve, show_curve
from socialcrawl.storage.database.health import is_missing

Keys = dict[str, Any] | None  # a section of a campaign file
OFTEN = 0.5  # seconds between two lines in a notebook, unless a wait begins or ends


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is.

    Attributes:
        campaign: name of the campaign.
        steps: accounts read after the seeds, in all runs so far.
        planned_steps: how many are to be read; None: no limit.
        requests: requests sent in all runs so far.
        posts: posts that the platform counted in all runs so far.
        dollars: their price by the price table; 0 where the platform charges nothing.
        seconds_left: the 95 % range of the seconds to the last step; None while too little is known.
        waiting: what the run waits for; None while it can send requests.
        text: the same as a line of text; during a wait also its reason and its end in UTC.
        until: when the wait ends, as an ISO time in UTC; None while it can send requests.

    Example:
        >>> seen = []
        >>> ending = sc.Campaign.load("new.toml").run(on_progress=seen.append)
        >>> seen[-1].steps, seen[-1].planned_steps, seen[-1].posts, seen[-1].waiting
        (4, 4, 7, None)
        >>> seen[-1].campaign, seen[-1].requests, seen[-1].seconds_left
        ('sky', 7, (0.0, 0.0))
        >>> f"{seen[-1].dollars:.2f}"
        '0.06'
        >>> seen[-1].text.startswith("steps 4 of 4"), seen[-1].until
        (True, None)
    """

    campaign: str
    steps: int
    planned_steps: int | None
    requests: int
    posts: int
    dollars: float
    seconds_left: tuple[float, float] | None
    waiting: str | None
    text: str
    until: str | None = None


class CampaignEnding:
    """How a run ended.

    Attributes:
        state: done, failed, budget (or another cap), room (the disk is full), interrupted, or waiting.
        why: the reason, in a sentence.
        until: when it can go on, as an ISO time in UTC; None where that is not known.
        report: what the campaign has found and what it took.

    Example:
        >>> ending = sc.Campaign.load("new.toml").run(steps=2)
        >>> ending
        <CampaignEnding done: the limit of 2 steps is reached>
        >>> ending.state, ending.until
        ('done', None)
        >>> ending.report.to_dict()["accounts_on_topic"]
        3
    """

    def __init__(self, ending: Ending) -> None:
        reason = ending.reason
        self.state, self.why = str(ending.state), reason.why
        self.until = None if reason.until is None else format_time(reason.until)
        self.report = TextReport(
            render_text(lambda console: show(console, ending.report)), collect_values(ending.report)
        )

    def __repr__(self) -> str:
        return f"<CampaignEnding {self.state}: {self.why}>"

    def _repr_html_(self) -> str:
        """Return the report for a notebook."""
        return TextReport(f"{self.report.text}\n{self.state}: {self.why}", {})._repr_html_()


class Campaign:
    """A campaign: its settings, and what can be done with it. Nothing is sent before `run`.

    Args:
        name: letters, digits and _ . -
        kind: collect (the default), track, refresh, sample, capture, or one that a package adds.
        database: a file or an address of PostgreSQL; None: the file NAME.db in the current folder.
        seed: of all random draws, 0 or more.
        topic: the keys of this section of a campaign file (docs/reference/campaign-keys.md), as in
            `topic={"keywords": ["telescope"]}`; so are the following.
        accounts: accounts that are never read.
        seeds: where the campaign starts, as in `seeds={"usernames": ["ann"]}`.
        crawl: how accounts are chosen, as in `crawl={"steps": 200}`.
        track: for kind="track".
        refresh: for kind="refresh".
        sample: for kind="sample".
        capture: for kind="capture".
        budget: what it may spend, as in `budget={"max_money": 5}`.
        source: the platform, as in `source={"platform": "bluesky"}`.
        limits: where your access differs from the platform's limits.
        schedule: when a daemon works on it.
        compliance: how often a daemon checks for deletions, as in `compliance={"every": "1d"}`.
        fleet: workers that send its requests, as in `fleet={"scheduler": "tcp://10.0.0.1:8786"}`.
        notify: notices of a daemon.
        added: the section of a kind that another package adds.

    Raises:
        SettingsError: with one line for each key that is wrong.

    Example:
        >>> campaign = sc.Campaign(name="sky", topic={"keywords": ["telescope"]}, source={"platform": "bluesky"})
        >>> campaign.settings["topic"]["keywords"]
        ['telescope']
    """

    @check_arguments(name=TEXT)
    def __init__(
        self,
        name: str,
        *,
        kind: str | None = None,
        database: str | Path | None = None,
        seed: int | None = None,
        topic: Keys = None,
        accounts: Keys = None,
        seeds: Keys = None,
        crawl: Keys = None,
        track: Keys = None,
        refresh: Keys = None,
        sample: Keys = None,
        capture: Keys = None,
        budget: Keys = None,
        source: Keys = None,
        limits: Keys = None,
        schedule: Keys = None,
        compliance: Keys = None,
        fleet: Keys = None,
        notify: Keys = None,
        **added: Any,
    ) -> None:
        given = {key: value for key, value in locals().items() if key not in ("self", "added") and value is not None}
        self._settings = check_settings({"database": f"{name}.db", **given, **added}, FROM_PYTHON)

    @classmethod
    @check_arguments(path=PATH)
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the campaign of a file; paths in it are relative to its folder.

        Raises:
            SettingsError: the file is missing or no TOML, or a key is unknown or out of range.

        Example:
            >>> campaign = sc.Campaign.load("example.toml")
            >>> campaign.name, campaign.database
            ('sky', 'example.db')
        """
        made = cls.__new__(cls)
        made._settings = campaign_settings.read(Path(path))  # noqa: SLF001 (of an object of this class)
        return made

    @property
    def name(self) -> str:
        """The name of the campaign."""
        return self._settings.name

    @property
    def database(self) -> str:
        """The file or the address of the database."""
        return str(self._settings.database)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings as plain values of JSON, defaults included."""
        return self._settings.model_dump(mode="json")

    def __repr__(self) -> str:
        return f"<Campaign {self.name}: {self._settings.kind}, {self._settings.source.platform}, into {self.database}>"

    def open(self) -> Dataset:
        """Open its database for reading.

        Raises:
            StoreError: the campaign has not run yet.

        Example:
            >>> with sc.Campaign.load("example.toml").open() as data:
            ...     print(data.campaigns)
            ['sky']
        """
        if is_missing(self._settings.database):
            raise StoreError(f"There is no database {self.database} yet: run the campaign first, with run().")
        return open_dataset(self.database)

    @property
    def variables(self) -> dict[str, bool]:
        """The environment variables that hold its tokens and notice addresses, and whether each is set here.

        Example:
            >>> sc.Campaign.load("new.toml").variables
            {'SOCIALCRAWL_TEST_TOKEN': True}
        """
        return list_variables(self._settings)

    @check_arguments(curve=SWITCH)
    def quote(self, *, curve: bool = False) -> TextReport:
        """Return the requests, time and cost that it will need: at most, and probably. Nothing is sent.

        Args:
            curve: also compare what searches, matches and timelines find for the money, by what the database holds.

        Raises:
            SettingsError: the settings contradict each other, or there is nothing to compare.
            StoreError: its database cannot be read.

        Example:
            >>> quote = sc.Campaign.load("new.toml").quote()
            >>> quote.to_dict()["at_most"]["requests"]
            11
        """
        plan = make_plan(self._settings)
        found = make_campaign_quote(plan)
        text = render_text(lambda console: quote_page.show(console, plan, found))
        values = quote_page.build_object(plan, found)
        if not curve:
            return TextReport(text, values)
        compared = read_curve(plan)
        more = render_text(lambda console: show_curve(console, compared))
        return TextReport(f"{text}\n{more}", values | {"curve": build_curve(compared)})

    @check_arguments(steps=make_whole_rule(1), change=SWITCH)
    def preview(self, *, steps: int | None = None, change: bool = False) -> TextReport:
        """Return what `run` would do: which settings differ, what is scored and searched again, requests and cost.

        Nothing is sent, and the database stays as it is.

        Args:
            steps: see `run`.
            change: see `run`.

        Raises:
            SettingsError: the run would be refused, as it would without `change` for a changed topic.
            StoreError: the database cannot be used, or another process runs this campaign.

        Example:
            >>> preview = sc.Campaign.load("new.toml").preview(steps=2)
            >>> print(preview.text.splitlines()[0])
            The campaign 'sky' has not begun. Its first run would need:
        """
        plan = make_plan(self._settings.limit_steps(steps))
        found = preview_run(plan, change=change)
        text = render_text(lambda console: run_effects.show(console, plan, found))
        return TextReport(text, run_effects.build_object(plan, found))

    @check_arguments(steps=make_whole_rule(1), on_progress=FUNCTION, accept_cost=SWITCH, change=SWITCH)
    def run(
        self,
        *,
        steps: int | None = None,
        on_progress: Callable[[RunProgress], None] | None = None,
        accept_cost: bool = False,
        change: bool = False,
    ) -> CampaignEnding:
        """Run or resume the campaign until it is done or stopped.

        In the main thread, Ctrl-C (the stop button of a notebook) stops it within some seconds; everything that arrived
        is stored, and the next run goes on from there. Tokens are read from the environment.

        Args:
            steps: stop after this many accounts; None: as the settings say.
            on_progress: is called with a RunProgress after each reply and batch, and when a wait begins or ends, in the
                thread that runs. What it raises ends the run, as a crash would: nothing that was stored is lost.
                None: a line shows the progress in a notebook, nothing elsewhere.
            accept_cost: run although it may cost more than `confirm_above` under budget.
            change: apply a changed topic, seeds or estimator to a campaign that has begun.

        Raises:
            SettingsError: a token is missing, or a live host has no budget.
            CostError: it may cost more than `confirm_above` under budget.
            StoreError: the database cannot be used, or another process runs this campaign.

        Example:
            >>> campaign = sc.Campaign.load("new.toml")
            >>> campaign.run(steps=2).why
            'the limit of 2 steps is reached'
            >>> campaign.run().why  # the other steps of the file
            'the limit of 4 steps is reached'
        """
        settings = self._settings.limit_steps(steps)
        plan = make_plan(settings)
        for doubt in plan.doubts:
            warnings.warn(doubt, stacklevel=2)
        if not accept_cost:
            check_cost(plan)
        if on_progress is not None:
            view: CampaignView = _ProgressView(on_progress)
        else:
            show_line = _make_notebook_line()
            view = CampaignView() if show_line is None else _ProgressView(show_line, OFTEN)
        return CampaignEnding(run_to_end(settings, view, change=change))


def make_campaign(settings: campaign_settings.Settings) -> Campaign:
    """Return the campaign that settings describe, which were checked."""
    made = Campaign.__new__(Campaign)
    made._settings = settings  # noqa: SLF001 (of an object of this module)
    return made


class _ProgressView(CampaignView):
    """Calls a function with how far a run is; `often`: the seconds between two calls, unless a wait begins or ends."""

    def __init__(self, watch: Callable[[RunProgress], None], often: float = 0.0) -> None:
        super().__init__()
        self._watch, self._often = watch, often
        self._told = -inf

    def begin(self, campaign: OpenCampaign) -> None:
        super().begin(campaign)
        self._tell()

    def sent(self, grant: Grant) -> None:
        super().sent(grant)
        if self.wait is not None:
            self._end_wait()

    def landed(self, grant: Grant, reply: Reply) -> None:
        super().landed(grant, reply)
        self._tell()

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        super().learned(batch, outcomes)
        self._tell()

    def waits(self, wait: Wait) -> None:
        super().waits(wait)
        self._tell(at_once=True)

    def end(self) -> None:
        super().end()
        self._end_wait()

    def _end_wait(self) -> None:
        """Tell it however recent the last call is: else the last line could be a wait that is over."""
        self.wait = None
        self._tell(at_once=True)

    def _tell(self, *, at_once: bool = False) -> None:
        if not at_once and time.monotonic() - self._told < self._often:
            return
        self._told = time.monotonic()
        campaign = self.campaign
        assert campaign is not None
        posts, mills = campaign.planner.budget.spent
        text, wait = describe_progress(campaign), self.wait
        self._watch(
            RunProgress(
                campaign.settings.name,
                campaign.crawl.taken,
                campaign.settings.crawl.steps,
                campaign.planner.budget.requests,
                posts,
                mills / MILLS_PER_DOLLAR,
                self.remaining(campaign),
                None if wait is None else wait.why,
                text if wait is None else f"{text}  waiting until {_format_end(wait.until)}: {wait.why}",
                None if wait is None else format_time(wait.until),
            )
        )


def _format_end(instant: float) -> str:
    """Return the time of day when a wait ends, to the next second; with the date unless it is within a day."""
    end = datetime.fromtimestamp(ceil(instant), UTC)
    return f"{end:%H:%M:%S} UTC" if instant - time.time() < 86_400 else f"{end:%Y-%m-%d %H:%M} UTC"


def _make_notebook_line() -> Callable[[RunProgress], None] | None:
    """Return what shows the progress as one line of a notebook; None where no notebook runs this program."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None:
        return None
    handle = import_module("IPython.display").display({"text/plain": "starting"}, raw=True, display_id=True)
    return lambda progress: handle.update({"text/plain": progress.text}, raw=True)
