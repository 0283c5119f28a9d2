"""The accounts in Mastodon's JSON: what they are called, their profiles, and whether they want no crawlers. Pure."""

from collections.abc import Mapping
from typing import Any

from socialcrawl.engine.model import AccountRow, Who
from socialcrawl.graph.liveness import DAY
from socialcrawl.platforms.json_reader import (
    Json,
    expect_object,
    expect_text,
    format_moment,
    has_object,
    parse_count,
    parse_text,
    parse_unix_time,
)
from socialcrawl.platforms.mastodon import account_names
from socialcrawl.platforms.mastodon.post_text import parse_html
from socialcrawl.text.entities import has_opt_out


def complete_name(acct: Any, domain: str) -> str | None:
    """Return the name in full of whom the instance of `domain` calls `acct`; None where nobody can be called so."""
    name = account_names.complete_name(acct, domain) if isinstance(acct, str) else ""
    return name if account_names.is_legal(name) else None


def parse_who(profile: Any, domain: str) -> Who:
    """Return whose profile this is, as the instance of `domain` says.

    Raises:
        TypeError: it has no name that an account can have.
    """
    name = expect_text(complete_name(expect_object(profile).get("acct"), domain))
    return Who(name, name)


def parse_account(profile: Json, whose: Who) -> AccountRow:
    """Return a profile as a row; what it says of itself becomes plain text."""
    called = str(whose.id)
    return AccountRow(
        called,
        called,
        parse_text(profile.get("display_name")),
        parse_html(parse_text(profile.get("note")) or "").text or None,
        format_moment(profile.get("created_at")),
        parse_count(profile.get("followers_count")),
        parse_count(profile.get("following_count")),
        parse_count(profile.get("statuses_count")),
        None,
        None,  # `locked` is about who may follow, not about who may read
        None,
        parse_text(profile.get("url")),
    )


def has_opted_out(profile: Mapping[str, Any]) -> bool:
    """Return whether the account wants no crawlers: `noindex`, or a hashtag by which it opts out (`has_opt_out`)."""
    if profile.get("noindex") is True:
        return True
    fields = profile.get("fields")
    texts = [
        profile.get("note"),
        *(part for field in _parse_fields(fields) for part in (field.get("name"), field.get("value"))),
    ]
    return any(has_opt_out(parse_html(one).text) for one in texts if isinstance(one, str) and "#" in one)


def shows_opted_out(answer: Any) -> bool:
    """Return whether an answer shows an account that wants no crawlers: then it is not kept as it came."""
    return has_object(answer, lambda one: "acct" in one and has_opted_out(one))


def find_last_active(profile: Json) -> str:
    """Return when the account last posted, as far as the answering instance knows; "" where it knows of no post.

    Mastodon tells a day, other servers an instant; a repost counts as a post.
    """
    date = parse_text(profile.get("last_status_at")) or ""
    day = DAY.fullmatch(date) is not None and parse_unix_time(date) is not None
    return date if day else format_moment(date) or ""


def _parse_fields(value: Any) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
