"""The two vocabularies of X API v2: `tweet` (until 2.166) and `post` (since 2.167, summer 2026).

An unknown or wrong-dialect field is not rejected by X: it is silently left out and the page is billed. So a request
speaks one vocabulary only, and `lacks` checks that what was asked for has really arrived.

Expansions are billed, so the old vocabulary uses none; the new one can name the author of a post only by one, and uses
it only where the author is not known anyway (search).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socialcrawl.errors import SettingsError

USER_FIELDS = "created_at,description,protected,public_metrics,url,verified"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One dialect: what to ask for, and what the answers call it."""

    name: str
    fields: Mapping[str, str]
    search: Mapping[str, str]
    required: frozenset[str]
    note: str
    references: str
    reposts: str
    posts: str

    def lacks(self, post: Mapping[str, Any], *, search: bool) -> list[str]:
        """The requested fields that every post must have and this one has not, in alphabetical order."""
        needed = self.required | {"author_id"} if search else self.required
        return sorted(needed - post.keys())


TWEET = Vocabulary(
    name="tweet",
    fields={
        "tweet.fields": "author_id,conversation_id,created_at,entities,in_reply_to_user_id,lang,note_tweet,"
        "public_metrics,referenced_tweets"
    },
    search={},
    required=frozenset({"author_id", "conversation_id", "created_at", "public_metrics"}),
    note="note_tweet",
    references="referenced_tweets",
    reposts="retweet_count",
    posts="tweet_count",
)

POST = Vocabulary(
    name="post",
    fields={"post.fields": "conversation_id,created_at,entities,lang,note_post,public_metrics"},
    search={"expansions": "author_id", "user.fields": USER_FIELDS},
    required=frozenset({"conversation_id", "created_at", "public_metrics"}),
    note="note_post",
    references="referenced_posts",
    reposts="repost_count",
    posts="post_count",
)

VOCABULARIES = {TWEET.name: TWEET, POST.name: POST}


def vocabulary(name: str) -> Vocabulary:
    """The vocabulary called `name`.

    Raises:
        SettingsError: there is none of that name.
    """
    if name not in VOCABULARIES:
        raise SettingsError(f"vocabulary = {name!r} is unknown: write one of {', '.join(VOCABULARIES)}.")
    return VOCABULARIES[name]
