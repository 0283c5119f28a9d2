"""Which check for deletions a campaign makes: by the jobs of its platform, or by looking posts up."""

from collections.abc import Callable

from socialcrawl.campaign.compliance_check import ComplianceCheck
from socialcrawl.campaign.deletion_check import DeletionCheck
from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.post_recheck import PostRecheck
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.base import Wired
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.sql_store import SqlStore


def make_check(
    plan: Plan, store: SqlStore, planner: WindowPlanner, wire: Wired, now: Callable[[], float]
) -> DeletionCheck:
    """Return the check of a campaign that is open, its planner folded.

    Raises:
        SettingsError: its platform offers none.
    """
    if (jobs := plan.platform.make_compliance_jobs()) is not None:
        return ComplianceCheck(plan, store, planner, wire, now, jobs)
    if (checks := plan.platform.make_stored_look_up(plan.settings)) is not None:
        return PostRecheck(plan, store, planner, wire, now, checks)
    raise SettingsError(
        f"{plan.platform.title} offers no check of what is stored: remove [compliance], if it is there."
    )
