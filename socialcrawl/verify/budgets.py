"""The settings of a campaign as they changed, and whether its requests stayed within the budgets that were in force."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from socialcrawl.campaign.plan import make_word_topic
from socialcrawl.campaign.settings import Settings
from socialcrawl.engine.model import MILLS_PER_DOLLAR, ReplyKind, parse_time
from socialcrawl.errors import SettingsError
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.storage.counting_rule import CountingRule
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.storage.versions import TOPIC, Version, compare_settings
from socialcrawl.text.wording import parse_seconds
from socialcrawl.verify.findings import MALFORMED, Check
from socialcrawl.verify.story import CampaignRecord

RECOUNTED = "an earlier socialcrawl may have counted the same keywords by another rule"
NAMED = {"seeds.usernames", "seeds.file", "seeds.lists", "topic.model"}
"""These change also where a file names others, which is not stored, or as exports do not have them."""


class BudgetCheck:
    """What a campaign has spent, request by request, held against the budget of the settings in force.

    What is in flight counts at its dearest before a request is sent, so sums of what was used never exceed a budget.

    Args:
        connection: the database, in a transaction.
        story: the campaign.
        prices: its price table; None: it is not here.

    Attributes:
        check: what came of it.
    """

    def __init__(self, connection: Opened, story: CampaignRecord, prices: Policy | None) -> None:
        self.check = Check("budgets")
        self._versions = CampaignTraces(connection).read_versions(story.begun)
        self._prices = prices
        self._used: dict[str, float] = {"max_requests": 0, "max_posts": 0, "max_money": 0, "max_time": 0.0}
        self._caps = [_read_caps(one) for one in self._versions]
        self._began: float | None = None
        self._exceeded: set[str] = set()

    def add(self, row: Any) -> None:
        """Count a request; those of a ledger come in the order in which they were sent."""
        if row.kind == ReplyKind.HELD:
            return
        sent = parse_time(row.sent_at)
        self._began = sent if self._began is None else min(self._began, sent)
        endpoint = None if self._prices is None else self._prices.find_endpoint(row.endpoint)
        of_posts = endpoint is not None and endpoint.returns == "post"
        lost = row.arrived_at is None or row.kind == ReplyKind.LOST
        self._used["max_requests"] += 1
        self._used["max_posts"] += min(row.items, row.items if lost else row.posts or 0) if of_posts else 0
        self._used["max_money"] += row.most if row.cost is None else min(row.most, row.cost)
        self._used["max_time"] = sent - self._began
        caps = self._find_budget(row)
        over = [name for name, cap in caps.items() if self._used[name] > cap]
        for name in over:
            if name not in self._exceeded:  # each request after it exceeds it as well
                self.check.differ(
                    f"request {row.id}", f"used of {name}", self._used[name], f"at most {caps[name]:,.0f}"
                )
        self._exceeded = {*over}
        if not over and caps:
            self.check.prove()

    def _find_budget(self, row: Any) -> dict[str, float]:
        """Return the budget under which a request was sent: later settings than it began with may finish an open batch.

        Instants are of clocks that may be set, so that of two budgets the larger one counts.
        """
        pairs = list(zip(self._versions, self._caps, strict=True))
        decided = [caps for one, caps in pairs if one.first <= row.n or not one.number][-1]
        sent = [caps for one, caps in pairs if one.at <= row.sent_at or not one.number][-1]
        return {name: max(cap, sent[name]) for name, cap in decided.items() if name in sent}


def _read_caps(version: Version) -> dict[str, float]:
    given = version.settings.get("budget") or {}
    caps: dict[str, float] = {name: given[name] for name in ("max_requests", "max_posts") if given.get(name)}
    if given.get("max_money"):
        caps["max_money"] = round(given["max_money"] * MILLS_PER_DOLLAR)
    if given.get("max_time"):
        caps["max_time"] = parse_seconds(given["max_time"])
    return caps


def check_settings(connection: Opened, story: CampaignRecord) -> Check:
    """Check that the settings of a campaign changed as it wrote down, and began as it began."""
    check = Check("settings")
    try:
        _compare_settings(check, connection, story)
        _compare_topics(check, connection, story)
    except SettingsError as error:  # a file of the campaign is not here
        check.leave(str(error))
    except MALFORMED as error:
        check.differ("version", "rows", f"{error} ({type(error).__name__})", "settings that can be read")
    return check


def _compare_settings(check: Check, connection: Opened, story: CampaignRecord) -> None:
    known: Sequence[Version] = CampaignTraces(connection).read_versions(story.begun)
    for key in compare_settings(story.begun.settings, known[0].settings):
        check.differ("version 0", key, _read_setting(known[0].settings, key), _read_setting(story.begun.settings, key))
    check.prove(not check.differing)
    for before, after in pairwise(known):
        changed = compare_settings(before.settings, after.settings)
        if {*changed} <= {*after.changed} <= {*changed} | NAMED:
            check.prove()
        else:
            check.differ(f"version {after.number}", "changed", after.changed, changed)


def _compare_topics(check: Check, connection: Opened, story: CampaignRecord) -> None:
    """Hold each new topic against the settings: versions and epochs of topics have been stored together from the first.

    A program that counts the same keywords by another rule begins an epoch too, and no version.
    """
    traces = CampaignTraces(connection)
    changed = {
        one.first for one in traces.read_versions(story.begun) if TOPIC in {key.split(".")[0] for key in one.changed}
    }
    for number, first, _, why in traces.read_epochs(story.begun.id):
        if TOPIC not in why.split(","):
            continue
        if first in changed:
            check.prove()
        elif TOPIC not in story.kind.facts.fixed and _is_recounted(story.find_stage(first).settings):
            check.leave(RECOUNTED)
        else:
            check.differ(f"epoch {number}", "why", why, "no other topic in table version")


def _is_recounted(settings: Settings) -> bool:
    """Return whether an earlier program counted the words of a topic by another rule."""
    return settings.topic.model is None and CountingRule.from_topic(make_word_topic(settings)).since > 1


def _read_setting(settings: Any, key: str) -> Any:
    for name in key.split("."):
        settings = (settings or {}).get(name)
    return settings
