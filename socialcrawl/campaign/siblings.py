"""What the other campaigns of a database have sent with the tokens of one, and read in its billing cycle.

The journals of tokens are one machine's; ledgers are wherever the database is asked from. A ledger has the names of
tokens only. Which tokens these are, the settings say that each campaign ran with last, and the environment of this
process: the tokens themselves are in no database, nor is anything that they could be tried against.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

import orjson

from socialcrawl.campaign.credentials import CampaignAccess, mark_tokens, read_token
from socialcrawl.campaign.policies import load_policy, load_policy_file
from socialcrawl.campaign.settings import Settings, load_stored
from socialcrawl.engine.model import Grant
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.base import Platform, Secret, Variables
from socialcrawl.platforms.registry import platform_of
from socialcrawl.ratelimit.billing_cycle import BillingCycle, CycleCount, find_cycle
from socialcrawl.ratelimit.other_processes import OtherProcesses
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.ratelimit.shared_windows import SentRequest
from socialcrawl.storage.database.connection import identify_database
from socialcrawl.storage.ledger.request_log import SiblingCampaign, find_siblings
from socialcrawl.storage.sql_store import SqlStore

DAY = 86_400.0
SKEW = 600.0  # seconds by which the clocks of two machines may differ


class Siblings:
    """The other campaigns of a campaign's database.

    Args:
        store: of the campaign.
        access: its tokens.
        policy: its windows, and the cap of its billing cycle.
        cycle_day: the day of the month on which that begins.
        others: what other processes have sent is counted by these from a row on; None: by nobody.
    """

    def __init__(
        self,
        store: SqlStore,
        access: CampaignAccess,
        policy: Policy,
        cycle_day: int,
        others: OtherProcesses | None = None,
    ) -> None:
        self.store, self.policy, self.cycle_day, self.others = store, policy, cycle_day, others
        self._names = {mark: name for name, mark in access.marks.items()}
        self._database = identify_database(store.connection)

    def name_ledger(self, campaign: str) -> str:
        """Return what tells the ledger of a campaign of this database from all others."""
        return f"{campaign!r} ({self._database})"

    def list_sent(self, since: float) -> dict[str, list[SentRequest]]:
        """Return what has been sent since an instant (Unix seconds) with tokens of the campaign, by ledger.

        Raises:
            StoreError: the database cannot be read.
        """
        found = {}
        early = since if self.others is None else since - SKEW
        for one in self._find_siblings(early):
            its, _ = read_marks(one.settings)
            names = {name: self._names[mark] for name, mark in its.items() if mark in self._names}
            rows = one.ledger.since(early) if names else ()
            clocks = one.ledger.read_clocks(early) if names and self.others is not None else {}
            sent = [
                SentRequest(
                    names[grant.credential],
                    grant.request.endpoint,
                    grant.at,
                    None if reply is None else reply.at,
                    self._find_ahead(grant, clocks),
                )
                for grant, reply in rows
                if grant.credential in names and (reply is None or reply.reached)
                if reply is not None or not self._is_in_flight(one.name, grant)
            ]
            found[self.name_ledger(one.name)] = [one for one in sent if one.left + one.ahead >= since]
        return found

    def read_cycles(self, now: float, known: Collection[str] = ()) -> dict[str, CycleCount]:
        """Return what was read in the billing cycle that `now` (Unix seconds) falls in, by ledger.

        Args:
            now: the instant.
            known: ledgers that need not be read.

        Raises:
            StoreError: the database cannot be read.
        """
        found, begin = {}, find_cycle(now, self.cycle_day)[0] - DAY  # what was sent before may have come since
        for one in self._find_siblings(begin):
            name, (_, bills) = self.name_ledger(one.name), read_marks(one.settings)
            if bills and name not in known:
                read = BillingCycle(self.policy.cap, self.cycle_day)
                for sums in one.ledger.after(begin):
                    read.settle(0, self.policy.count_posts(sums), sums.day)
                found[name] = bills, read
        return found

    def _find_siblings(self, since: float) -> list[SiblingCampaign]:
        """Return the other campaigns, without what is counted as other processes reserve it."""
        until = None if self.others is None else self.others.seen
        return find_siblings(self.store.connection, self.store.campaign, since, until)

    def _find_ahead(self, grant: Grant, clocks: Mapping[float, float]) -> float:
        """Return by how many seconds our clock is ahead of that of a request's sender; 0 where nobody knows."""
        clock = clocks.get(grant.at)
        if self.others is None or clock is None:
            return 0.0
        return clock - grant.at - self.others.offset.low

    def _is_in_flight(self, campaign: str, grant: Grant) -> bool:
        return self.others is not None and self.others.is_pending(self.name_ledger(campaign), grant.at)


def unite(*reports: Mapping[str, Sequence[SentRequest]]) -> dict[str, list[SentRequest]]:
    """Return what several have told of each ledger; a request that several tell of is one, as the first tells it."""
    found: dict[str, list[SentRequest]] = {}
    for ledger in dict.fromkeys(ledger for one in reports for ledger in one):
        alike: dict[tuple[str, str, float], list[SentRequest]] = {}
        for one in reports:
            own: dict[tuple[str, str, float], list[SentRequest]] = {}
            for sent in one.get(ledger, ()):
                own.setdefault((sent.credential, sent.endpoint, round(sent.left, 6)), []).append(sent)
            for key, its in own.items():
                alike[key] = max(alike.get(key, []), its, key=len)
        found[ledger] = [sent for its in alike.values() for sent in its]
    return found


def read_marks(settings: str) -> tuple[dict[str, str], frozenset[str]]:
    """Return the marks (`credentials.mark_tokens`) of those tokens of stored settings that are set here.

    Args:
        settings: all of a campaign's, as JSON.
    """
    named = _identify_settings(settings)
    if named is None:
        return {}, frozenset()
    platform, base, credentials = named
    tokens: dict[str, Secret] = {}
    for name, variables in credentials:
        with suppress(SettingsError):  # this process may not have it
            tokens[name] = read_token(variables)
    return mark_tokens(platform, base, tokens)


@lru_cache(maxsize=1024)
def _identify_settings(settings: str) -> tuple[Platform, str, list[tuple[str, Variables | None]]] | None:
    """Return the platform and server of stored settings, and the variables of its credentials.

    None: they make no sense.
    """
    try:
        settings_then = load_stored(orjson.loads(settings), "the database")
    except SettingsError:
        return None
    platform = platform_of(settings_then)
    return (
        platform,
        _find_server(settings_then),
        [(one.name, variables) for one, variables in platform.list_credentials(settings_then)],
    )


def _find_server(settings: Settings) -> str:
    source = settings.source
    if source.base_url:
        return source.base_url
    if source.policy is not None:
        with suppress(SettingsError):  # the file may be on another machine
            return load_policy_file(source.policy).base_url
    return load_policy(source.platform).base_url
