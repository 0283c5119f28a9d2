"""Which posts the searches of a campaign can find, for those who read its data."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from socialcrawl.campaign.settings import load_stored
from socialcrawl.crawls.registry import find_kind
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.registry import platform_of


def describe_search_reach(given: Mapping[str, Any], queries: Sequence[str]) -> str:
    """Return which posts searches of slices of time can find, as a sentence.

    "" where a campaign makes none, where they find all that matches, and where its settings are not understood.

    Args:
        given: the stored settings of a campaign.
        queries: what it searches for.
    """
    with suppress(SettingsError):
        settings = load_stored(dict(given), "the campaign")
        slices = find_kind(settings.kind).plan_slices(settings) if queries else None
        return "" if slices is None else platform_of(settings).describe_reach(queries, slices)
    return ""
