"""When a campaign of a daemon has to check what its platform no longer shows, and the removal of that between its runs.

The checks themselves use the open campaign (`campaign.deletion_check`). What they find is removed while no campaign
of the database runs: this one is closed, and others are paused, as a command with --pause does it.
"""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from math import inf

from socialcrawl.campaign.build import OpenCampaign
from socialcrawl.campaign.check_selection import make_check
from socialcrawl.campaign.deletion_check import JobResult, apply_result
from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import Wait
from socialcrawl.errors import HeldError, SocialcrawlError, StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import Pauser
from socialcrawl.storage.database.connection import Opened, open_database

AGAIN = 900.0  # seconds until a check that could not go on is tried again
REST = 15.0  # seconds for others where a check could go on at once
YIELD = 5.0  # seconds until other campaigns that were paused are looked at again
ROUNDS = 12  # looks after which they are left alone, and resumed


class ComplianceUpkeep:
    """The checks of one campaign.

    Args:
        settings: its campaign file.
        now: the clock, Unix seconds.

    Attributes:
        due: when something is to be done (Unix seconds); infinite where nothing is.
        trouble: why the last check did not go on; "": it did.
    """

    def __init__(self, settings: Settings, now: Callable[[], float]) -> None:
        self.settings, self.now, self.trouble = settings, now, ""
        self.every = settings.compliance.seconds
        self.due = inf if self.every is None else now()
        self._result: JobResult | None = None
        self._paused: list[str] = []
        self._rounds = 0

    def is_due(self) -> bool:
        """Return whether something is to be done now."""
        return self.now() >= self.due

    @property
    def is_ready(self) -> bool:
        """Whether there is a result to apply, for which the campaign has to be closed."""
        return self._result is not None

    def advance(self, campaign: OpenCampaign) -> None:
        """Do the steps of the check that need no waiting, with the campaign open and its ledger counted."""
        assert self.every is not None
        parts = campaign.plan, campaign.store, campaign.planner, campaign.wire, campaign.clock.now
        check = make_check(*parts)
        found = check.advance(self.now() - self.every)
        if isinstance(found, JobResult):
            self._result = found
        elif isinstance(found, Wait):
            self.due = found.until if found.until > self.now() else self.now() + REST
        else:
            self.due = check.find_next(self.every)
        self.trouble = ""

    def apply(self) -> None:
        """Remove what the result names, with the campaign closed; where others run, they are paused first.

        Raises:
            StoreError: the database cannot be used.
        """
        assert self._result is not None
        with open_database(self.settings.database, create=False, durable=True) as connection:
            waits = False
            try:
                apply_result(connection, self._result, self.settings.source.platform, self.now())
                self._result, self.trouble = None, ""
                self.due = inf if self.every is None else self.now()
            except HeldError as error:
                self._rounds += 1
                waits = self._rounds < ROUNDS
                if waits:
                    self._pause_others(connection)
                    self.due, self.trouble = self.now() + YIELD, f"it waits for other campaigns ({error})"
                else:
                    self.fail(error)
            finally:
                if not waits:
                    self._resume_others(connection)

    def take_over(self, settings: Settings) -> "ComplianceUpkeep":
        """Return the checks by another campaign file of the campaign; what was to be removed is still removed."""
        other = ComplianceUpkeep(settings, self.now)
        if self._result is not None:
            other._result, other._paused, other._rounds = self._result, self._paused, self._rounds
            other.due = self.now()
        return other

    def let_go(self) -> None:
        """Resume campaigns that were paused, as nothing is removed before this campaign may run again."""
        if self._paused:
            with suppress(StoreError), open_database(self.settings.database, create=False) as connection:
                self._resume_others(connection)

    def _pause_others(self, connection: Opened) -> None:
        held = [one.campaign for one in daemons.read_leases(connection) if one.is_alive(self.now())]
        names = [name for name in held if name != self.settings.name]
        self._paused += daemons.pause_campaigns(connection, names, self.now(), _name_pauser())

    def _resume_others(self, connection: Opened) -> None:
        self._rounds = 0
        if self._paused:
            daemons.resume_campaigns(connection, self._paused, _name_pauser())
            self._paused.clear()

    def fail(self, error: SocialcrawlError) -> None:
        """Note that the check did not go on, which is tried again later."""
        self._result = None
        self.due, self.trouble = self.now() + AGAIN, str(error)

    def postpone(self, until: float) -> None:
        """Do nothing before an instant."""
        self.due = until


def _name_pauser() -> Pauser:
    return Pauser("compliance", os.getpid(), socket.gethostname())
