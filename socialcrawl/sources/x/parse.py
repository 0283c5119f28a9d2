"""X's JSON as a Page: posts with their occurrences of the topic, whom they mention, profiles, who is missing. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from socialcrawl.model import AccountRow, Mention, Page, PostRow, Who
from socialcrawl.sources.x.vocabulary import Vocabulary

Json = Mapping[str, Any]
Count = Callable[[str], int]
References = tuple[str | None, str | None, str | None]

KINDS = {"replied_to": 0, "retweeted": 1, "reposted": 1, "quoted": 2}
NOTHING: Json = {}


class FieldsMissingError(Exception):
    """Requested fields did not arrive; `args[0]` lists them."""


def posts_page(
    payload: Json, words: Vocabulary, count: Count, *, keep: bool = False, author: str | None = None
) -> Page:
    """A page of posts.

    Args:
        payload: the decoded answer of a timeline or a search.
        words: the vocabulary that was asked in.
        count: occurrences of the topic in a text.
        keep: whether each post's original JSON is kept.
        author: whose timeline it is; None for a search, whose posts name their authors.

    Raises:
        FieldsMissingError: a field that was asked for is not there (X leaves out unknown ones silently).
    """
    posts: Sequence[Json] = payload.get("data") or ()
    if posts and (lacking := words.lacks(posts[0], search=author is None)):
        raise FieldsMissingError(lacking)
    rows: list[PostRow] = []
    mentions: list[Mention] = []
    for index, post in enumerate(posts):
        note = post.get(words.note) or NOTHING
        references = _references(post.get(words.references))
        rows.append(_post(post, note, references, words, author, keep=keep))
        mentions += [Mention(index, who, kind) for who, kind in _mentioned(post, note, references)]
    authors = () if author else tuple(dict.fromkeys(Who(row.author, None) for row in rows))
    users = (payload.get("includes") or NOTHING).get("users") or ()
    return Page(
        posts=rows,
        hits=[count(row.text) for row in rows],
        mentions=mentions,
        accounts=[_account(user, words) for user in users],
        answered=authors,
    )


def users_page(payload: Json, words: Vocabulary) -> Page:
    """A page of profiles: accounts found, and those missing with their reason (a protected one is both)."""
    accounts = [_account(user, words) for user in payload.get("data") or ()]
    hidden = [(Who(row.id, row.username), "protected") for row in accounts if row.protected]
    return Page(
        accounts=accounts,
        answered=[Who(row.id, row.username) for row in accounts],
        missing=[*hidden, *missing(payload.get("errors") or ())],
    )


def missing(errors: Iterable[Json]) -> list[tuple[Who, str]]:
    """The users whom partial errors call missing, with the reason; errors of `includes` and of posts are none."""
    found = []
    for error in errors:
        if error.get("resource_type") != "user" or error.get("section") == "includes":
            continue
        value = str(error.get("resource_id") or error.get("value") or "")
        by_name = str(error.get("parameter", "")).startswith("username")
        found.append((Who(None, value) if by_name else Who(value, None), _reason(error)))
    return found


def _reason(error: Json) -> str:
    detail = str(error.get("detail", "")).lower()
    if "suspended" in detail:
        return "suspended"
    if "not-authorized" in str(error.get("type", "")) or "not authorized" in detail:
        return "protected"
    # X answers the same for an account that was deleted and for one that never was.
    return "unknown" if str(error.get("parameter", "")).startswith("username") else "deleted"


def _post(
    post: Json, note: Json, references: References, words: Vocabulary, author: str | None, *, keep: bool
) -> PostRow:
    metrics = post.get("public_metrics") or NOTHING
    entities = note.get("entities") or post.get("entities") or NOTHING
    reply_to, repost_of, quote_of = references
    return PostRow(
        post["id"],
        author or post["author_id"],
        post.get("created_at"),
        note.get("text") or post.get("text") or "",
        post.get("lang"),
        post.get("conversation_id"),
        reply_to,
        repost_of,
        quote_of,
        _listed([tag["tag"] for tag in tags]) if (tags := entities.get("hashtags")) else None,
        _listed([url.get("expanded_url") or url.get("url") for url in urls])
        if (urls := entities.get("urls"))
        else None,
        metrics.get("like_count"),
        metrics.get("reply_count"),
        metrics.get(words.reposts),
        metrics.get("quote_count"),
        metrics.get("bookmark_count"),
        metrics.get("impression_count"),
        orjson.dumps(post).decode() if keep else None,
    )


def _references(given: Sequence[Json] | None) -> References:
    """The ids of the posts that are replied to, reposted and quoted."""
    if not given:
        return (None, None, None)
    ids: list[str | None] = [None, None, None]
    for reference in given:
        place = KINDS.get(reference.get("type", ""))
        if place is not None:
            ids[place] = reference.get("id")
    return (ids[0], ids[1], ids[2])


def _listed(values: list[Any]) -> str:
    return orjson.dumps(values).decode()


def _mentioned(post: Json, note: Json, references: References) -> list[tuple[Who, str]]:
    """Whom a post mentions, each once, with the strongest kind: reply, repost, mention."""
    entities = post.get("entities")
    named = (entities.get("mentions") or ()) if entities else ()
    if note and (long := note.get("entities")):
        named = [*named, *(long.get("mentions") or ())]
    reply_to = post.get("in_reply_to_user_id")
    if not named and not reply_to:
        return []
    kinds: dict[str, tuple[Who, str]] = {}
    kind = "repost" if references[1] is not None or post.get("text", "").startswith("RT @") else "mention"
    for mention in named:
        key, username = mention.get("id"), mention.get("username")
        if (known := key or (username or "").lower()) and known not in kinds:
            kinds[known] = (Who(key, username), kind)
            kind = "mention"  # only the first name of a repost is the one reposted
    if reply_to:
        kinds[reply_to] = (kinds[reply_to][0] if reply_to in kinds else Who(reply_to, None), "reply")
    return list(kinds.values())


def _account(user: Json, words: Vocabulary) -> AccountRow:
    metrics = user.get("public_metrics") or NOTHING
    return AccountRow(
        user["id"],
        user["username"],
        user.get("name"),
        user.get("description"),
        user.get("created_at"),
        metrics.get("followers_count"),
        metrics.get("following_count"),
        metrics.get(words.posts),
        metrics.get("listed_count"),
        user.get("protected"),
        user.get("verified"),
        user.get("url"),
    )
