"""What an instance tells of itself, and of whoever shows it a token."""

from collections.abc import Mapping
from typing import Any

from socialcrawl.mock.mastodon.instances import make_key
from socialcrawl.mock.server_settings import FEED_ACCESS

VERSION = "4.6.4"
RULES = [
    {"id": "1", "text": "Be kind.", "hint": "", "translations": {}},
    {"id": "2", "text": "Ask before you collect posts for research.", "hint": "", "translations": {}},
]
PUBLIC, AUTHENTICATED, DISABLED = FEED_ACCESS
_LIMITS = {
    "statuses": {"max_characters": 500, "max_media_attachments": 4, "characters_reserved_per_url": 23},
    "media_attachments": {
        "description_limit": 10_000,
        "image_matrix_limit": 33_177_600,
        "image_size_limit": 16_777_216,
        "supported_mime_types": ["image/jpeg", "image/png", "image/gif"],
        "video_frame_rate_limit": 120,
        "video_matrix_limit": 8_294_400,
        "video_size_limit": 103_809_024,
    },
    "polls": {
        "max_options": 4,
        "max_characters_per_option": 50,
        "min_expiration": 300,
        "max_expiration": 2_629_746,
    },
}
_ACCOUNTS = {
    "max_display_name_length": 40,
    "max_note_length": 500,
    "max_avatar_description_length": 150,
    "max_header_description_length": 150,
    "max_featured_tags": 10,
    "max_pinned_statuses": 5,
    "max_profile_fields": 4,
    "profile_field_name_limit": 255,
    "profile_field_value_limit": 255,
}


def render_instance_v2(
    domain: str, accounts: int, access: str = PUBLIC, streaming: str | None = None
) -> dict[str, Any]:
    """Return the answer of /api/v2/instance, with the members of the recorded one.

    Args:
        domain: the instance.
        accounts: how many live there.
        access: who is shown hashtag timelines.
        streaming: where its streams are; None: at its own name.
    """
    return {
        "domain": domain,
        "title": "Mastodon",
        "version": VERSION,
        "source_url": "https://github.com/mastodon/mastodon",
        "description": "",
        "usage": {"users": {"active_month": accounts}},
        "thumbnail": {"url": f"https://{domain}/preview.png", "description": ""},
        "icon": [{"src": f"https://{domain}/icon-{size}.png", "size": f"{size}x{size}"} for size in (36, 72, 192)],
        "languages": ["en"],
        "configuration": {
            "urls": _make_urls(domain, streaming),
            "vapid": {"public_key": ""},
            "accounts": _ACCOUNTS,
            **_LIMITS,
            "translation": {"enabled": False},
            "timelines_access": {
                name: {"local": shown, "remote": shown}
                for name, shown in (("live_feeds", PUBLIC), ("hashtag_feeds", access), ("trending_link_feeds", PUBLIC))
            },
            "limited_federation": False,
        },
        "registrations": {
            "enabled": False,
            "approval_required": False,
            "reason_required": False,
            "message": None,
            "min_age": None,
            "url": None,
        },
        "api_versions": {"mastodon": 11},
        "wrapstodon": None,
        "contact": {"email": "", "account": None},
        "rules": RULES,
    }


def render_instance_v1(domain: str, accounts: int, posts: int, streaming: str | None = None) -> dict[str, Any]:
    """Return the answer of /api/v1/instance, see https://docs.joinmastodon.org/entities/V1_Instance/."""
    return {
        "uri": domain,
        "title": "Mastodon",
        "short_description": "",
        "description": "",
        "email": "",
        "version": VERSION,
        "urls": {"streaming_api": streaming or f"wss://{domain}"},
        "stats": {"user_count": accounts, "status_count": posts, "domain_count": 1},
        "thumbnail": f"https://{domain}/preview.png",
        "languages": ["en"],
        "registrations": False,
        "approval_required": False,
        "invites_enabled": False,
        "configuration": {"accounts": {"max_featured_tags": 10}, **_LIMITS},
        "contact_account": None,
        "rules": RULES,
    }


def render_asker(label: str, domain: str, profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return the account of whoever shows a token, which nobody else sees: the file knows nothing of them.

    Args:
        label: the label of the token.
        domain: the instance that is asked.
        profile: any account of that instance, for the members that say nothing of anybody.
    """
    name = f"reader_{label}"
    own = {
        "id": str(make_key(f"{label}@{domain}")),
        "username": name,
        "acct": name,
        "display_name": "",
        "locked": False,
        "note": "",
        "url": f"https://{domain}/@{name}",
        "uri": f"https://{domain}/users/{name}",
        "discoverable": None,
        "indexable": False,
        "noindex": True,
        "last_status_at": None,
        **dict.fromkeys(("followers_count", "following_count", "statuses_count"), 0),
    }
    return {**profile, **own, "source": _SOURCE, "role": _ROLE}


_SOURCE = {
    "privacy": "public",
    "sensitive": False,
    "language": None,
    "note": "",
    "fields": [],
    "follow_requests_count": 0,
    "hide_collections": None,
    "discoverable": None,
    "indexable": False,
    "attribution_domains": [],
    "quote_policy": "public",
}
_ROLE = {
    "id": "-99",
    "name": "",
    "permissions": "65536",
    "color": "",
    "highlighted": False,
    "collection_limit": 10,
}


def _make_urls(domain: str, streaming: str | None) -> dict[str, str | None]:
    return {
        "streaming": streaming or f"wss://{domain}",
        "status": None,
        "about": f"https://{domain}/about",
        "privacy_policy": f"https://{domain}/privacy-policy",
        "terms_of_service": f"https://{domain}/terms-of-service",
    }
