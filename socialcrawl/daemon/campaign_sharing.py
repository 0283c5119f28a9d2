"""The campaigns that daemons of a PostgreSQL database share: which this one runs, and which it leaves to others.

Each daemon writes what it can run, reads what the others can, and places the campaigns by the same rule
(`placement`). It gives away what is placed elsewhere, and takes what is placed here once nobody else has it. Two
daemons that disagree for a moment do no harm: the lease decides who runs a campaign.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from socialcrawl.campaign.credentials import has_tokens
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings
from socialcrawl.daemon.campaign_runner import CampaignRunner
from socialcrawl.daemon.campaign_state import DONE, PAUSED, STOPPED, is_settled
from socialcrawl.daemon.daemon_records import DaemonRecords
from socialcrawl.daemon.metrics import SharedDaemon
from socialcrawl.daemon.placement import DaemonShare, place_campaigns
from socialcrawl.errors import SocialcrawlError
from socialcrawl.storage.daemons import CampaignLease
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.system.locks import is_alive


class ChangedHands(NamedTuple):
    """The campaigns that this daemon gives away, and those that it takes over.

    `hung`: as the database knows them, those whose daemons hang and were cut off from it. `lacking`: those that this
    daemon cannot run for want of a token, as far as that is new.
    """

    given: list[CampaignRunner]
    taken: list[CampaignRunner]
    hung: list[CampaignLease]
    lacking: list[CampaignRunner]


class CampaignSharing:
    """What a daemon knows of the daemons of each server beside it; a file is used by one daemon at a time.

    Args:
        name: daemon.id.
        weight: its share of the campaigns, relative to the others.
        books: its rows in the databases.
    """

    def __init__(self, name: str, weight: float, books: DaemonRecords) -> None:
        self.name, self.weight, self.books = name, weight, books
        self._written: dict[DatabaseAddress, frozenset[str]] = {}
        self._reasons: dict[DatabaseAddress, dict[str, str]] = {}
        self._expected: dict[DatabaseAddress, set[str]] = {}
        self._servers: dict[CampaignRunner, tuple[Settings, str | None]] = {}
        self._lacking: dict[DatabaseAddress, set[str]] = {}

    def is_begun(self, where: DatabaseAddress) -> bool:
        """Return whether the campaigns of a database have been placed, or need not be."""
        return isinstance(where, Path) or where in self._reasons

    def find_reason(self, settings: Settings) -> str | None:
        """Return why a campaign is not to be run here, as of the last look; None: it may be."""
        return self._reasons.get(settings.database, {}).get(settings.name)

    def is_expected(self, settings: Settings) -> bool:
        """Return whether a campaign is to be run here once the daemon that has it gives it away."""
        return settings.name in self._expected.get(settings.database, ())

    def list_daemons(self, now: float) -> list[SharedDaemon]:
        """Return the daemons of each server, this one included, as of the last look; `now` in Unix seconds."""
        found = []
        for where in list(self._reasons):
            held, clock = self.books.list_held(where), self.books.read_clock(where, now)
            for one in self.books.list_living(where):
                names = [name for name, its in held.items() if its.daemon == one.id and its.released is None]
                found.append(SharedDaemon(one.process, clock - one.beat, one.weight, names))
        return found

    def decide(
        self, where: DatabaseAddress, held: Mapping[str, CampaignLease], runners: Sequence[CampaignRunner], now: float
    ) -> ChangedHands:
        """Place the campaigns of a database; give away and take over what has changed.

        Args:
            where: the database.
            held: how its campaigns stand, by name.
            runners: its campaigns, as this daemon has them.
            now: Unix seconds.
        """
        changed = ChangedHands([], [], [], [])
        if isinstance(where, Path):
            return changed
        able = [runner for runner in runners if runner.is_able]
        lacking = [runner for runner in able if not self._has_tokens(runner)]
        told = self._lacking.get(where, set())
        changed.lacking.extend(runner for runner in lacking if runner.name not in told)
        self._lacking[where] = {runner.name for runner in lacking}
        placed = self._place(where, held, frozenset(one.name for one in able if one not in lacking), now)
        reasons, expected = dict[str, str](), set[str]()
        known = self._reasons.get(where, {})
        for runner in runners:
            name, target = runner.name, placed.get(runner.name, self.name)
            if target != self.name:
                reasons[name] = f"the daemon {target} runs it: campaigns are shared among daemons"
                runner.give_way(reasons[name])
                changed.given.append(runner)
                continue
            one = held.get(name)
            other = self.books.find_other(where, name, now, is_alive)
            if one is not None and other is None and not runner.open and one.daemon != self.name:
                is_ended = self.books.end_silent_sessions(where, one, now)
                changed.hung.extend([one] if is_ended else [])
                # Its heartbeat is older than its last statement: it is taken over only when that is old, too.
                other = one if is_ended is False else None
            if other is not None:
                reasons[name] = f"the daemon {other.daemon} runs it: it is taken over when that lets go"
                expected |= {name} & placed.keys()
            elif name in known:
                runner.take_over(held.get(name))
                changed.taken.append(runner)
        self._expected[where] = expected
        self._reasons[where] = reasons  # from now on: a run that begins meanwhile waits for what was taken over
        return changed

    def _place(
        self, where: DatabaseAddress, held: Mapping[str, CampaignLease], able: frozenset[str], now: float
    ) -> dict[str, str]:
        if self._written.get(where) != able and self.books.write_share(where, self.weight, able, now):
            self._written[where] = able
        others = [
            DaemonShare(one.id, one.weight, one.campaigns)
            for one in self.books.list_living(where)
            if one.id != self.name and not one.asked
        ]
        if not others:
            return {}
        owners = {name: one.daemon for name, one in held.items() if one.daemon is not None}
        active = {name for name, one in held.items() if not _is_at_rest(one)}
        return place_campaigns([DaemonShare(self.name, self.weight, able), *others], owners, active)

    def _has_tokens(self, runner: CampaignRunner) -> bool:
        """Return whether the tokens of a campaign are here, and no other process of this machine uses them."""
        if runner.open:
            return True
        known = self._servers.get(runner)
        if known is None or known[0] is not runner.settings:
            known = self._servers[runner] = runner.settings, _find_server(runner.settings)
        return known[1] is not None and has_tokens(runner.settings, known[1])


def _is_at_rest(one: CampaignLease) -> bool:
    """Return whether a campaign causes no work until a person or its file lets it go on."""
    ended = one.state in (DONE, PAUSED, STOPPED) and one.until is None and is_settled(one.state, one.why)
    return one.paused is not None or ended


def _find_server(settings: Settings) -> str | None:
    try:
        return make_plan(settings).base
    except SocialcrawlError:
        return None
