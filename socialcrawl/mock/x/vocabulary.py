"""The two vocabularies of X: that of tweets (until 2.166) and that of posts (from 2.167), and what a request asks for.

Both are accepted side by side. A request speaks one of them; fields of the other, or unknown ones, are dropped
without a word, as on X.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True)
class MockVocabulary:
    """The words of one dialect.

    Attributes:
        name: `tweet` or `post`; also the count in a bucket is `<name>_count`.
        fields: the word for each field that may be asked for -> our word for it.
        expansions: the word for each expansion -> our word for it.
        problems: the root of the type URIs of problems.
        The others are the dialect's words for what they name.
    """

    name: str
    fields: dict[str, str]
    expansions: dict[str, str]
    history: str
    references: str
    note: str
    includes: str
    reposts: str
    referenced: str
    recent: str
    problems: str


_BOTH_FIELDS = {
    name: name for name in ("id", "text", "created_at", "conversation_id", "entities", "lang", "public_metrics")
}
_BOTH_EXPANSIONS = {name: name for name in ("author_id", "in_reply_to_user_id", "entities.mentions.username")}

TWEET = MockVocabulary(
    name="tweet",
    fields={
        **_BOTH_FIELDS,
        "author_id": "author_id",
        "in_reply_to_user_id": "in_reply_to_user_id",
        "referenced_tweets": "references",
        "note_tweet": "note",
    },
    expansions={
        **_BOTH_EXPANSIONS,
        "referenced_tweets.id": "references",
        "referenced_tweets.id.author_id": "references.author_id",
        "entities.note.mentions.username": "note.mentions",
        "most_recent_tweet_id": "recent",
    },
    history="edit_history_tweet_ids",
    references="referenced_tweets",
    note="note_tweet",
    includes="tweets",
    reposts="retweet_count",
    referenced="referenced_tweets.id",
    recent="most_recent_tweet_id",
    problems="https://api.twitter.com/2/problems/",
)
POST = MockVocabulary(
    name="post",
    fields={**_BOTH_FIELDS, "note_post": "note"},
    expansions={**_BOTH_EXPANSIONS, "referenced_posts": "references", "most_recent_post_id": "recent"},
    history="edit_history_post_ids",
    references="referenced_posts",
    note="note_post",
    includes="posts",
    reposts="repost_count",
    referenced="referenced_posts",
    recent="most_recent_post_id",
    problems="https://api.x.com/2/problems/",
)

USER_FIELDS = frozenset({"created_at", "name", "protected", "public_metrics", "username", "verified"})
_OF_POSTS_ONLY = frozenset(
    {
        *("referenced_posts", "edit_history_post_ids", "username", "affiliation"),
        *("most_recent_post_id", "pinned_post_id", "subscribes_to_you", "post_count"),
    }
)
# What a user's latest post is: a field that may be asked for until 2.166; since then the expansion alone brings it.
_FIELDS_OF_USERS = {"tweet": USER_FIELDS | {TWEET.recent}, "post": USER_FIELDS}
# An expansion brings the field that it expands.
_BROUGHT = {
    "author_id": "author_id",
    "in_reply_to_user_id": "in_reply_to_user_id",
    "references": "references",
    "references.author_id": "references",
    "entities.mentions.username": "entities",
    "note.mentions": "note",
}


@dataclass(frozen=True)
class ShownFields:
    """What a request wants to see, in our words: equal asks are answered by equal bytes."""

    vocabulary: str = "tweet"
    fields: frozenset[str] = field(default_factory=frozenset)
    expansions: frozenset[str] = field(default_factory=frozenset)
    user_fields: frozenset[str] = field(default_factory=frozenset)

    @property
    def words(self) -> MockVocabulary:
        """The vocabulary of the request."""
        return POST if self.vocabulary == "post" else TWEET


def read_shown_fields(given: Mapping[str, str]) -> ShownFields:
    """Return what the parameters of a request (name -> text) ask for.

    A request speaks of posts where it has `post.fields`, or else a field or expansion that only posts have (and no
    `tweet.fields`); otherwise of tweets.
    """
    return _make_shown_fields(
        given.get("post.fields"),
        given.get("tweet.fields"),
        given.get("expansions", ""),
        given.get("user.fields", ""),
        given.get("search_count.fields", ""),
    )


@lru_cache(maxsize=1024)
def _make_shown_fields(posts: str | None, tweets: str | None, expansions: str, users: str, counts: str) -> ShownFields:
    telling = {*_split(expansions), *_split(users), *_split(counts)} & _OF_POSTS_ONLY
    words = POST if posts is not None or (tweets is None and telling) else TWEET
    wanted = {words.fields[name] for name in _split((posts if words is POST else tweets) or "") if name in words.fields}
    expanded = {words.expansions[name] for name in _split(expansions) if name in words.expansions}
    brought = frozenset({words.recent} if "recent" in expanded else ())
    return ShownFields(
        vocabulary=words.name,
        fields=frozenset(wanted | {_BROUGHT[name] for name in expanded if name in _BROUGHT}),
        expansions=frozenset(expanded),
        user_fields=frozenset(_split(users)) & _FIELDS_OF_USERS[words.name] | brought,
    )


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]
