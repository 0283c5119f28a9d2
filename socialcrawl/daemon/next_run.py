"""What follows a run of a campaign: its state, and when its next run is. Pure.

A run ends because the limiter, a budget or the schedule says so, or because nothing is left to ask.
"""

from dataclasses import dataclass

from socialcrawl.campaign.schedule import Schedule
from socialcrawl.daemon.campaign_state import DONE, RESTING, STOPPED, WAITING
from socialcrawl.engine.model import Stop, StopKind, Wait
from socialcrawl.text.wording import tidy

AGAIN = 900.0  # seconds after which a run that failed is tried again; each further failure doubles them ...
LONGEST = 3600.0  # ... up to this
TRIED_AGAIN = "it is tried again"
"""How the reason of a campaign ends that stopped at a failure."""
RERUN = {
    "raise it and run again to go on": "raise it in the campaign file to go on",
    "buy credits, then run again to go on": "buy credits; to go on at once, pause and resume the campaign",
    "; all is saved, run again later to go on": "",
    "; run again when the billing cycle has begun again": "",
    " and run again": "",
    ": run again;": ";",
    " Run again then;": " It is tried again;",
}
"""What a reason advises where a campaign is run by hand, and what replaces it where a daemon runs it."""
FAR = 600.0  # seconds of rest from which a campaign is closed meanwhile, and its memory given back


@dataclass(frozen=True, slots=True)
class NextRun:
    """What follows: one of `campaign_state.STATES`, why, when the next run is due (None: not by itself).

    `close`: whether the campaign is let go of until then. `same`: whether it belongs to the same turn of its schedule.
    """

    state: str
    why: str
    due: float | None
    close: bool = False
    same: bool = False


def plan_next_run(reason: Wait | Stop, schedule: Schedule, now: float, began: float, failures: int = 0) -> NextRun:
    """Return what follows a run of a campaign.

    Args:
        reason: why it ended; Stop("interrupted") where the time of its turn was over.
        schedule: of the campaign.
        now: Unix seconds.
        began: when the turn of its schedule began.
        failures: runs that failed in a row before it.
    """
    why = remove_rerun_advice(reason.why)
    if isinstance(reason, Wait):
        return _plan_wait(Wait(reason.until, why), schedule, now, began)
    if reason.kind == StopKind.INTERRUPTED:
        return plan_turn(schedule, now, None if schedule.continuous else now)
    if reason.kind == StopKind.DONE:
        return NextRun(DONE, why, None, close=True)
    if reason.kind == StopKind.FAILED and reason.until is not None:  # the platform is down
        return _plan_wait(Wait(reason.until, why), schedule, now, began)
    if reason.kind == StopKind.FAILED:
        due = now + min(LONGEST, AGAIN * 2.0 ** min(failures, 8))
        return NextRun(STOPPED, tidy(f"{why}; {TRIED_AGAIN}"), due, close=True)
    return NextRun(STOPPED, why, reason.until, close=True)


def remove_rerun_advice(why: str) -> str:
    """Return a reason without the advice to run again, which a daemon does by itself."""
    for advice, instead in RERUN.items():
        why = why.replace(advice, instead)
    return tidy(why)


def plan_turn(schedule: Schedule, now: float, last: float | None) -> NextRun:
    """Return what follows where the schedule says when the next turn is.

    `last` is when the last one ended, if one did.
    """
    return _plan_until(schedule.find_begin(now, last), now)


def _plan_wait(wait: Wait, schedule: Schedule, now: float, began: float) -> NextRun:
    """Return when the turn continues: after the wait where the schedule lets it, else with the next turn."""
    due, ends = schedule.find_resumption(wait.until, began, now), schedule.find_end(began)
    lasts = schedule.continuous or schedule.lasting is not None
    if lasts and due == max(now, wait.until) and (ends is None or due < ends):
        return NextRun(WAITING, wait.why, due, same=True)
    return _plan_until(due, now)


def _plan_until(due: float | None, now: float) -> NextRun:
    if due is None:
        return NextRun(DONE, "its schedule has no further time", None, close=True)
    return NextRun(RESTING, "its schedule says when it goes on", due, close=due - now > FAR)
