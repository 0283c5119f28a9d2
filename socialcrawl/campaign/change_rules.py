"""What may change in the file of a campaign that has begun, by its files alone: a run compares the database besides."""

from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.sections.access import READING_KEYS
from socialcrawl.storage.identity import SettingDifference, check_changes, compare_identities

WHOSE = ("name", "database")
"""With another of these, the campaign is another one."""
SOURCE = ("platform", "pages_per_user", *READING_KEYS)


def list_fixed(plan: Plan) -> list[str]:
    """Return what cannot change once a campaign has begun: dotted keys, and sections of which no key can."""
    return [*WHOSE, "kind", "seed", "crawl.links", *(f"source.{key}" for key in SOURCE), *plan.fixed]


def compare_plans(before: Plan, after: Plan) -> list[str]:
    """Return the dotted keys whose change begins a new epoch of a campaign that has begun.

    Raises:
        SettingsError: something differs that cannot change.
    """
    old, new = before.settings, after.settings
    own = [
        SettingDifference(key, "", str(getattr(old, key))) for key in WHOSE if getattr(old, key) != getattr(new, key)
    ]
    found = compare_identities(old.identity(before.usernames), new.identity(after.usernames), ())
    check_changes(old.name, [*own, *found], (*after.fixed, *WHOSE))
    return [one.dotted_key for one in found]
