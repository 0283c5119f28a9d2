"""The two vocabularies of X API v2: `tweet` (until 2.166) and `post` (since 2.167, summer 2026).

An unknown or wrong-dialect field is not rejected by X: it is silently left out and the page is billed. So a request
speaks one vocabulary only, and `lacks` checks that what was asked for has really arrived.

Expansions are billed, so the old vocabulary uses none; the new one can name the author of a post only by one, and uses
it only where the author is not known anyway (search). A user's latest post is a plain field in the old vocabulary; in
the new one it is an expansion, which brings the post and its price besides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import explain_unknown

USER_FIELDS = "created_at,description,protected,public_metrics,url,verified"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One dialect: what to ask for, and what the answers call it.

    `probe` asks a look-up of users for their latest posts, whose ids are in the field `recent`.
    """

    name: str
    fields: Mapping[str, str]
    search: Mapping[str, str]
    required: frozenset[str]
    note: str
    references: str
    reposts: str
    posts: str
    recent: str
    includes: str
    probe: Mapping[str, str]

    def lacks(self, post: Mapping[str, Any], *, search: bool) -> list[str]:
        """Return the requested fields that every post must have and this one has not, in alphabetical order."""
        needed = self.required | {"author_id"} if search else self.required
        return sorted(needed - post.keys())

    def asks_recent(self, params: Mapping[str, str]) -> bool:
        """Return whether a look-up asks for the latest post of each user."""
        return any(self.recent in params.get(name, "").split(",") for name in ("user.fields", "expansions"))


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
    recent="most_recent_tweet_id",
    includes="tweets",
    probe={"user.fields": f"{USER_FIELDS},most_recent_tweet_id"},
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
    recent="most_recent_post_id",
    includes="posts",
    probe={"user.fields": USER_FIELDS, "expansions": "most_recent_post_id"},
)

VOCABULARIES = {TWEET.name: TWEET, POST.name: POST}


def find_vocabulary(name: str) -> Vocabulary:
    """Return the vocabulary called `name`.

    Raises:
        SettingsError: there is none of that name.
    """
    if name not in VOCABULARIES:
        raise SettingsError(explain_unknown("vocabulary", name, VOCABULARIES))
    return VOCABULARIES[name]
