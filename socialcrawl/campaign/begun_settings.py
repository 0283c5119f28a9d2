"""What a campaign file does not say is as it was where the campaign has begun, although defaults have changed since."""

from pathlib import Path
from typing import Any

from socialcrawl.campaign.settings import CrawlSection, Settings
from socialcrawl.crawls.facts import list_foreign_keys
from socialcrawl.errors import SettingsError, StoreError

KEPT = ("estimator", "shadows")  # keys under [crawl] whose defaults are for new campaigns


def keep_begun(settings: Settings) -> Settings:
    """Return settings in which what its file does not say is as it was, where the campaign has begun: defaults change.

    This is about the keys of KEPT. Where the database cannot be asked, a run says so.

    Raises:
        SettingsError: the estimator is also a shadow, or there is no shadow to follow.
    """
    said = settings.crawl.model_fields_set
    silent = [key for key in KEPT if key not in said]
    held = _read_begun(settings) if silent else {}
    values = dict(settings.crawl) | {key: held[key] for key in silent if key in held}
    if "shadows" in list_foreign_keys(settings.kind):
        values["shadows"] = held.get("shadows", [])
    elif "shadows" not in said:
        values["shadows"] = [name for name in values["shadows"] if name != values["estimator"]]
    crawl = CrawlSection.model_construct(said, **values)  # what the file does not say is still not said
    if crawl.follow and not crawl.shadows:
        raise SettingsError("follow = true under [crawl] follows a shadow, and this campaign has none: name shadows.")
    try:
        crawl.require_others()
    except ValueError as error:
        raise SettingsError(f"[crawl] {error}.") from error
    return settings.model_copy(update={"crawl": crawl})


def _read_begun(settings: Settings) -> dict[str, Any]:
    """Return the section [crawl] with which a campaign was run last; {} where it has not begun, or cannot be read."""
    if isinstance(settings.database, Path) and not settings.database.exists():
        return {}
    from socialcrawl.storage.campaigns import read_settings  # noqa: PLC0415 - plans are made without SQLAlchemy

    try:
        return dict(read_settings(settings.database, settings.name).get("crawl", {}))
    except StoreError:
        return {}
