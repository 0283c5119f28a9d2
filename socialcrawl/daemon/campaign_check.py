"""What is wrong with a campaign that can be found without a request, as far as one mistake does not hide another."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from socialcrawl.campaign.plan import Plan, make_plan
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.registry import kind_of
from socialcrawl.daemon.notice_addresses import require_apprise
from socialcrawl.errors import PluginError, SettingsError
from socialcrawl.fleet.dask_client import require_dask
from socialcrawl.fleet.fleet_executor import check_fleet

Made = TypeVar("Made")


def check_campaign(settings: Settings) -> Plan:
    """Return the plan of a campaign.

    Raises:
        SettingsError: with a line for each thing that is wrong, as far as one does not hide another.
    """
    wrong: list[str] = []
    plan = _try_step(lambda: make_plan(settings), wrong)
    if plan is not None:
        _try_step(plan.guard, wrong)
        if settings.fleet.scheduler:
            _try_step(partial(check_fleet, plan), wrong)
            _try_step(require_dask, wrong)
    _try_step(lambda: kind_of(settings).check(settings), wrong)
    if settings.notify.apprise_env:
        _try_step(require_apprise, wrong)
    if wrong or plan is None:
        raise SettingsError("\n".join(dict.fromkeys(wrong)))
    return plan


def _try_step(step: Callable[[], Made], wrong: list[str]) -> Made | None:
    """Return what a step makes; None, and what it says is wrong, where it cannot."""
    try:
        return step()
    except (SettingsError, PluginError) as error:
        wrong.append(str(error))
        return None
