"""What a run would do with a campaign file: the change is applied to the database, looked at, and rolled back."""

from dataclasses import dataclass

from socialcrawl.campaign.build import begin_or_change
from socialcrawl.campaign.cost_outlook import has_begun, make_campaign_quote
from socialcrawl.campaign.plan import Plan
from socialcrawl.engine.clock import SystemClock
from socialcrawl.forecast.quote import Quote
from socialcrawl.storage.change_state import SettingChange, list_changes, read_state
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.database.trial import open_trial
from socialcrawl.storage.queries.statistics import list_new_starts
from socialcrawl.storage.retopic import TopicTotals


@dataclass(frozen=True, slots=True)
class RunPreview:
    """What a run would do before and after its first request.

    Attributes:
        begun: whether the campaign has run before.
        changes: the settings that differ.
        before, after: what matches the topic, if stored posts would be scored again; else None.
        searches: the texts that would be searched; empty where all were.
        names: the usernames that would be looked up or read as seeds, in lower case.
        quote: what the campaign would still need.
    """

    begun: bool
    changes: list[SettingChange]
    before: TopicTotals | None
    after: TopicTotals | None
    searches: list[str]
    names: list[str]
    quote: Quote


def preview_run(plan: Plan, *, change: bool) -> RunPreview:
    """Return what a run of a campaign would do. Nothing is sent, and nothing in the database changes.

    It takes as long as applying the change: the time grows with the stored posts if the topic changed.

    Args:
        plan: the campaign.
        change: whether a changed topic, seeds or estimator is applied, as by `run --change`.

    Raises:
        SettingsError: the run would be refused: something differs that cannot change, or `change` is False.
        StoreError: the database cannot be used, has an older schema, or another process runs this campaign.
    """
    if not has_begun(plan):
        names = list(dict.fromkeys(name.lower() for name in plan.usernames))
        return RunPreview(False, [], None, None, list(plan.queries), names, make_campaign_quote(plan))
    settings = plan.settings
    with open_trial(settings.database) as connection:
        lease = Lease(connection, settings.name)
        try:
            before = read_state(connection, settings.name)
            number = begin_or_change(connection, plan, SystemClock().now(), change=change)
            after = read_state(connection, settings.name)
            assert before is not None
            assert after is not None
            with connection.begin():
                searches, names = list_new_starts(
                    connection, number, settings.source.platform, plan.queries, plan.usernames
                )
            rescored = after.topics > before.topics
            return RunPreview(
                True,
                list_changes(before, after),
                before.totals if rescored else None,
                after.totals if rescored else None,
                searches,
                names,
                make_campaign_quote(plan, changed=connection),
            )
        finally:
            lease.release()
