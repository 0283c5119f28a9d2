"""X's JSON as a Page: posts with their occurrences of the topic, whom they mention, profiles, who is missing. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from socialcrawl.engine.mark_order import is_number, make_sort_key
from socialcrawl.engine.model import (
    AccountRow,
    Mention,
    Page,
    PostRow,
    Reason,
    SoughtPost,
    Who,
    format_time,
    parse_time,
)
from socialcrawl.graph.relevance import Hits
from socialcrawl.platforms.hydration import match_sought
from socialcrawl.platforms.json_reader import ACCOUNT_TYPES, POST_TYPES, TEXT_OR_NONE, check_rows
from socialcrawl.platforms.x.source import SNOWFLAKES, STATUS
from socialcrawl.platforms.x.vocabulary import Vocabulary

Json = Mapping[str, Any]
References = tuple[str | None, str | None, str | None]

KINDS = {"replied_to": 0, "retweeted": 1, "reposted": 1, "quoted": 2}
NOTHING: Json = {}
POST_WORDS = ("tweet", "post")  # what the two vocabularies call a post
FEW = 3  # users with posts: that none of this many has a latest one does not happen

made = tuple.__new__  # a NamedTuple at a third of the price of its own constructor


class FieldsMissingError(Exception):
    """Requested fields did not arrive; `args[0]` lists them."""


def parse_posts(payload: Json, words: Vocabulary, hits: Hits, *, keep: bool = False, author: str | None = None) -> Page:
    """Return a page of posts.

    Args:
        payload: the decoded answer of a timeline or a search.
        words: the vocabulary that was asked in.
        hits: occurrences of the topic that count in a post, by its text, its language and when it was written.
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
        references = _parse_references(post.get(words.references))
        rows.append(_parse_post(post, note, references, words, author, keep=keep))
        mentions += [
            made(Mention, (index, who, kind, (), None)) for who, kind in _list_mentions(post, note, references)
        ]
    check_rows(rows, POST_TYPES)
    authors = () if author else tuple(dict.fromkeys(Who(row.author, None) for row in rows))
    users = (payload.get("includes") or NOTHING).get("users") or ()
    return Page(
        posts=rows,
        hits=[hits(row.text, row.lang, row.created_at, row.urls) for row in rows],
        mentions=mentions,
        accounts=check_rows([_parse_account(user, words) for user in users], ACCOUNT_TYPES),
        answered=authors,
        mark=SNOWFLAKES.mark(max((row.id for row in rows), key=make_sort_key, default="")) if author else "",
    )


def find_oldest(page: Page) -> str:
    """Return when the oldest post of a page was written, ISO 8601; "" of an empty one."""
    times = [parse_time(row.created_at) for row in page.posts if row.created_at]
    return format_time(min(times)) if times else ""


def parse_users(payload: Json, words: Vocabulary, *, recent: bool = False) -> Page:
    """Return a page of profiles: accounts found, and those missing with their reason (a protected one is both).

    Args:
        payload: the decoded answer of a look-up.
        words: the vocabulary that was asked in.
        recent: whether the latest post of each user was asked for, which says when it was active last.

    Raises:
        FieldsMissingError: it was, and has come for none of those who are there and have posts, which are not so few
            that these may just have been deleted.
    """
    users: Sequence[Json] = payload.get("data") or ()
    accounts = check_rows([_parse_account(user, words) for user in users], ACCOUNT_TYPES)
    active = [
        (Who(user["id"], user["username"]), _find_written_at(user[words.recent]))
        for user in users
        if words.recent in user
    ]
    if recent and not active and sum(bool(row.posts) and not row.protected for row in accounts) >= FEW:
        raise FieldsMissingError([words.recent])
    hidden = [(Who(row.id, row.username), Reason.PROTECTED) for row in accounts if row.protected]
    return Page(
        accounts=accounts,
        answered=[Who(row.id, row.username) for row in accounts],
        missing=[*hidden, *list_missing(payload.get("errors") or ())],
        active=active,
    )


def count_included(payload: Json, words: Vocabulary) -> int:
    """Return how many posts an answer brings beside what it is about: they are billed."""
    return len((payload.get("includes") or NOTHING).get(words.includes) or ())


def parse_follows(payload: Json, words: Vocabulary, user: str) -> Page:
    """Return a page of whom the user with that id follows, with their profiles; or why that is not to be had."""
    accounts = check_rows([_parse_account(one, words) for one in payload.get("data") or ()], ACCOUNT_TYPES)
    if not accounts and (reason := explain_missing(payload.get("errors") or ())):
        return Page(missing=[(Who(user, None), reason)])
    return Page(accounts=accounts, follows=[Who(row.id, row.username) for row in accounts])


def list_missing(errors: Iterable[Json]) -> list[tuple[Who, Reason]]:
    """Return the users whom partial errors call missing, with the reason.

    Errors of `includes` and of posts are none.
    """
    found = []
    for error in errors:
        if not _is_of_user(error):
            continue
        value = error.get("resource_id") or error.get("value")
        if isinstance(value, str):
            by_name = str(error.get("parameter", "")).startswith("username")
            found.append((Who(None, value) if by_name else Who(value, None), _find_reason(error)))
    return found


def list_sought(asked: str, page: Page, errors: Iterable[Json]) -> list[SoughtPost]:
    """Return what became of the posts that a look-up named; `asked` are their ids with commas between them."""
    why = {
        str(error.get("resource_id") or error.get("value")): _find_reason(error)
        for error in errors
        if error.get("resource_type") in POST_WORDS and error.get("section") != "includes"
    }
    pairs = [(key, key) for key in asked.split(",")]
    return match_sought(pairs, {row.id for row in page.posts}, why, Reason.DELETED)


def explain_missing(errors: Iterable[Json]) -> Reason | None:
    """Return why a timeline cannot be read, from the first of its errors that says so; None if none does."""
    return next((_find_reason(error) for error in errors if _is_of_user(error)), None)


def find_cursor(payload: Json) -> str | None:
    """Return where the next page begins; None at the end."""
    token = (payload.get("meta") or NOTHING).get("next_token")
    if token is not None and not isinstance(token, str):
        raise TypeError("next_token is not text")
    return token or None


def _is_of_user(error: Json) -> bool:
    return error.get("resource_type") == "user" and error.get("section") != "includes"


def _find_reason(error: Json) -> Reason:
    detail = str(error.get("detail", "")).lower()
    if "suspended" in detail:
        return Reason.SUSPENDED
    if "not-authorized" in str(error.get("type", "")) or "not authorized" in detail:
        return Reason.PROTECTED
    # X answers the same for an account that was deleted and for one that never was.
    return Reason.UNKNOWN if str(error.get("parameter", "")).startswith("username") else Reason.DELETED


def _parse_post(
    post: Json, note: Json, references: References, words: Vocabulary, author: str | None, *, keep: bool
) -> PostRow:
    metrics = post.get("public_metrics") or NOTHING
    entities = note.get("entities") or post.get("entities") or NOTHING
    values = (
        post["id"],
        author or post["author_id"],
        post.get("created_at"),
        note.get("text") or post.get("text") or "",
        post.get("lang"),
        post.get("conversation_id"),
        *references,
        _dump_list([tag["tag"] for tag in tags]) if (tags := entities.get("hashtags")) else None,
        _dump_list([url.get("expanded_url") or url.get("url") for url in urls])
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
    return made(PostRow, values)


def _find_written_at(number: Any) -> str:
    """Return when the post with this id was written, ISO 8601.

    Of one from before snowflakes, the last instant it can be.
    """
    if type(number) is not str or not is_number(number):
        raise TypeError("the id of a post is not a number")
    at = SNOWFLAKES.time(number)
    return format_time(SNOWFLAKES.epoch / 1000 if at is None else at)


def _parse_references(given: Sequence[Json] | None) -> References:
    """Return the ids of the posts that are replied to, reposted and quoted."""
    if not given:
        return (None, None, None)
    ids: list[str | None] = [None, None, None]
    for reference in given:
        place = KINDS.get(reference.get("type", ""))
        if place is not None:
            ids[place] = reference.get("id")
    return (ids[0], ids[1], ids[2])


def _dump_list(values: list[Any]) -> str:
    return orjson.dumps(values).decode()


def _list_mentions(post: Json, note: Json, references: References) -> list[tuple[Who, str]]:
    """Return whom a post mentions, each once, with the strongest kind: reply, repost, mention, quote."""
    entities = post.get("entities")
    named = (entities.get("mentions") or ()) if entities else ()
    if note and (long := note.get("entities")):
        named = [*named, *(long.get("mentions") or ())]
    reply_to = post.get("in_reply_to_user_id")
    quoted = _find_quoted_name(entities or NOTHING, references[2]) if references[2] else None
    if not named and not reply_to and not quoted:
        return []
    kinds: dict[str, tuple[Who, str]] = {}
    kind = "repost" if references[1] is not None or post.get("text", "").startswith("RT @") else "mention"
    for mention in named:
        key, username = mention.get("id"), mention.get("username")
        if type(key) not in TEXT_OR_NONE or type(username) not in TEXT_OR_NONE:
            raise TypeError("the id or the name of a mention is not text")
        if (known := key or (username or "").lower()) and known not in kinds:
            kinds[known] = (made(Who, (key, username)), kind)
            kind = "mention"  # only the first name of a repost is the one reposted
    if reply_to:
        if type(reply_to) is not str:
            raise TypeError("in_reply_to_user_id is not text")
        kinds[reply_to] = (kinds[reply_to][0] if reply_to in kinds else Who(reply_to, None), "reply")
    if quoted and quoted.lower() not in {(who.username or "").lower() for who, _ in kinds.values()}:
        kinds[quoted.lower()] = (made(Who, (None, quoted)), "quote")
    return list(kinds.values())


def _find_quoted_name(entities: Json, key: str) -> str | None:
    """Return the name in the link to the post that is quoted: X names its author nowhere else without an expansion."""
    for url in entities.get("urls") or ():
        found = STATUS.fullmatch(str(url.get("expanded_url")))
        if found and found["id"] == key and found["name"].lower() not in ("i", "anyuser"):
            return found["name"]
    return None


def _parse_account(user: Json, words: Vocabulary) -> AccountRow:
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
