"""Campaign files as pages and the API change them: drafts with values that may be wrong, quotes, previews.

Nothing here sends a request to a platform. What takes long runs in a thread, one at a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from socialcrawl import (
    CampaignFile,
    CampaignStatus,
    MatchPreview,
    Project,
    SettingsError,
    StoreError,
    describe_settings,
    match_texts,
)
from socialcrawl.web.edit_fields import BY_HAND, Described, list_keys, refuse_value, show_values

MOST_TEXTS = 20  # pasted posts
SHOWN = 10  # posts of a preview, of each sort
UNSHOWN = ("notify.command",)  # its arguments may be secrets of any form
UNTITLED = "new-campaign"  # how a draft is called whose name was not typed yet


@dataclass(frozen=True, slots=True)
class QuoteView:
    """What a quote says, for pages and the API.

    Attributes:
        text: as `socialcrawl quote` prints it.
        values: its figures; with `curve` where ways of reading can be compared.
        warnings: what `socialcrawl check` warns of.
        variables: the environment variables of tokens, and whether each is set for this server.
        epoch: the keys whose change begins a new epoch, where the campaign has begun.
    """

    text: str
    values: Mapping[str, Any]
    warnings: Sequence[str]
    variables: Mapping[str, bool]
    epoch: Sequence[str] = ()


def describe_values(values: Mapping[str, Any]) -> Described:
    """Return the settings that have an effect in the kind of campaign and on the platform that values name.

    Raises:
        SettingsError: there is no such kind or platform.
    """
    source = values.get("source")
    chosen = {"kind": values.get("kind"), "platform": source.get("platform") if isinstance(source, Mapping) else None}
    return describe(**{name: str(one) for name, one in chosen.items() if one})


@cache
def describe(**chosen: str) -> Described:
    """Return the settings of a kind and platform, made once; see `describe_settings`."""
    return describe_settings(**chosen)


def find_secrets(file: CampaignFile) -> Sequence[str]:
    """Return the keys of a file whose values nobody is shown: programs, and what may be a secret."""
    notify = file.values.get("notify")
    found = [key for key in UNSHOWN if isinstance(notify, Mapping) and key.removeprefix("notify.") in notify]
    try:
        file.settings  # noqa: B018 - whether it raises
    except SettingsError as error:
        found += error.secrets
    return found


def show_file(file: CampaignFile, described: Described) -> dict[str, str]:
    """Return the texts of the fields for a file."""
    return show_values(described, file.values, find_secrets(file))


def has_begun(project: Project, status: CampaignStatus) -> bool:
    """Return whether a campaign is in its database; one that cannot be looked at counts as begun."""
    if status.state == "outdated":
        return True
    try:
        with project.open(status.key) as data:
            return status.name in data.campaigns
    except StoreError:
        return False


def list_fixed(file: CampaignFile) -> Sequence[str]:
    """Return what cannot change once the campaign of a file has begun; without all that rests on wrong values."""
    try:
        return file.fixed
    except SettingsError:
        return ("name", "database", "kind", "seed")


def make_draft(project: Project, values: Mapping[str, Any]) -> CampaignFile:
    """Return a new campaign file to be looked at only; it may lack a name.

    Raises:
        SettingsError: see `Project.draft`.
    """
    return project.draft(values if values.get("name") else {**values, "name": UNTITLED})


def refuse_values(described: Described, values: Mapping[str, Any]) -> None:
    """Check values that a program sends, as those of a form are.

    Raises:
        SettingsError: pages do not set one of them.
    """
    known = dict(list_keys(described))
    flat = {
        f"{name}.{key}" if isinstance(value, Mapping) else name: one
        for name, value in values.items()
        for key, one in (value.items() if isinstance(value, Mapping) else (("", value),))
    }
    nothing: Mapping[str, Any] = {"schema": {}}
    found = {key: refuse_value(key, known.get(key, nothing), one) for key, one in flat.items()}
    wrong = [(key, why) for key, why in found.items() if why and (flat[key] is not None or key in BY_HAND)]
    if wrong:
        hidden = [key for key, _ in wrong if key.endswith("_env")]
        raise SettingsError("\n".join(f"{key}: {why}" for key, why in wrong), wrong, hidden)


def quote_file(file: CampaignFile, *, begun: bool) -> QuoteView:
    """Return what the campaign of a file will need, by its values as they are in memory. Nothing is sent.

    Raises:
        SocialcrawlError: its settings contradict each other, or its database cannot be read.
    """
    warnings = file.check()
    epoch = file.check_change() if begun else []
    campaign = file.to_campaign()
    try:
        quote = campaign.quote(curve=True)
    except SettingsError:  # one way of reading only, or nothing is charged
        quote = campaign.quote()
    return QuoteView(quote.text, quote.to_dict(), warnings, campaign.variables, epoch)


def preview_stored(project: Project, status: CampaignStatus, words: Sequence[Sequence[str]]) -> MatchPreview:
    """Return which posts of a campaign's database match keywords, expressions and languages.

    Raises:
        SocialcrawlError: the topic is unusable, or the database cannot be read.
    """
    keywords, patterns, languages = map(tuple, words)
    with project.open(status.key) as data:
        return data.preview_matches(keywords, patterns=patterns, languages=languages, limit=SHOWN, campaign=status.name)


def preview_texts(platform: str, texts: Sequence[str], words: Sequence[Sequence[str]]) -> MatchPreview:
    """Return which pasted posts match; see `preview_stored`."""
    keywords, patterns, languages = map(tuple, words)
    return match_texts(
        tuple(texts), keywords, patterns=patterns, languages=languages, platform=platform, limit=MOST_TEXTS
    )


def describe_conflict(
    described: Described, was: Mapping[str, str], now: Mapping[str, str], typed: Mapping[str, str]
) -> list[tuple[str, str, str, str]]:
    """Return (key, text when the form was opened, text in the file now, typed text) of what somebody else changed."""
    keys = [key for key, _ in list_keys(described)]
    return [(key, was.get(key, ""), now[key], typed.get(key, "")) for key in keys if now[key] != was.get(key, "")]
