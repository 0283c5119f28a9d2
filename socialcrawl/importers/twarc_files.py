"""X's JSON as twarc and others keep it, line by line, into pages.

twarc2 keeps the answers of API v2 as they came ({"data": [...], "includes": {...}, "__twarc": {...}}), or flattened:
a post a line, with its author inside. twarc 1 kept posts of API 1.1; they are put into the words of v2 first. So all
of them are read by the parser that reads the live platform. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from socialcrawl.engine.model import AccountRow, Page, Who, format_time
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.relevance import Hits
from socialcrawl.platforms.x.parse import FieldsMissingError, parse_posts, parse_users
from socialcrawl.platforms.x.vocabulary import POST, TWEET, Vocabulary
from socialcrawl.storage.imports.parsed_page import ParsedPage

Json = Mapping[str, Any]
# An archive was asked for what others needed: of a post, its id, author and text have to be there.
OLD = replace(TWEET, required=frozenset({"id", "text"}))
NEW = replace(POST, required=frozenset({"id", "text"}))
NEW_WORDS = ("referenced_posts", "note_post")
PROFILE = ("public_metrics", "description", "protected")  # a user with none of these is a name only
JUNK = (FieldsMissingError, TypeError, KeyError, AttributeError, ValueError, IndexError)


@dataclass(frozen=True, slots=True)
class TwarcLine:
    """What one line holds: posts and users in the words of API v2, and when they were fetched."""

    posts: Sequence[Json]
    users: Sequence[Json] = ()
    at: str | None = None
    words: Vocabulary = OLD


@dataclass
class TwarcPages:
    """Lines on their way to becoming a page; `count` counts the topic in a text."""

    count: Hits
    trouble: LineErrors
    keep: bool = False
    lines: list[tuple[str, TwarcLine]] = field(default_factory=list)
    waiting: int = 0

    def add(self, place: str, line: TwarcLine, most: int) -> Iterator[ParsedPage]:
        """Yield what became a page when `line` was added: lines fetched at another time, or `most` posts."""
        if self.lines and (self.lines[0][1].at, self.lines[0][1].words) != (line.at, line.words):
            yield from self.flush()
        self.lines.append((place, line))
        self.waiting += len(line.posts) + len(line.users)
        if self.waiting >= most:
            yield from self.flush()

    def flush(self) -> Iterator[ParsedPage]:
        """Yield the lines that wait, as a page; where that fails, one by one, so that only the bad ones are missing."""
        lines, self.lines, self.waiting = self.lines, [], 0
        if not lines:
            return
        try:
            yield self._make_page([line for _, line in lines])
        except JUNK:
            yield from self._flush_apart(lines)

    def _flush_apart(self, lines: Sequence[tuple[str, TwarcLine]]) -> Iterator[ParsedPage]:
        for place, line in lines:
            for some in [line.posts[i : i + 1] for i in range(max(1, len(line.posts)))]:
                try:
                    found = self._make_page([replace(line, posts=some)])
                except JUNK as error:
                    self.trouble.add(place, _describe_error(error))
                    continue
                yield found

    def _make_page(self, lines: Sequence[TwarcLine]) -> ParsedPage:
        first = lines[0]
        posts = [post for line in lines for post in line.posts]
        for post in posts:
            if lacking := first.words.lacks(post, search=True):
                raise FieldsMissingError(lacking)
        users = {user["id"]: user for line in lines for user in line.users}  # the last one counts
        complete = [user for user in users.values() if any(key in user for key in PROFILE)]
        page = parse_posts({"data": posts}, first.words, self.count, keep=self.keep)
        accounts: Sequence[AccountRow] = parse_users({"data": complete}, first.words).accounts
        others = [Who(key, user.get("username")) for key, user in users.items() if not any(k in user for k in PROFILE)]
        _check_texts([key for who in others for key in who])
        at = first.at or max((row.created_at for row in page.posts if row.created_at), default=None)
        kept = Page(page.posts, page.hits, page.mentions, accounts)
        times = [None if first.at is None else (first.at, first.at)] * len(page.posts)
        return ParsedPage(kept, at, times, named=others)


def parse_line(given: Json) -> TwarcLine | None:
    """Return the posts of a line, whichever of the three forms it has; None if it has none of them.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: it is damaged.
    """
    alone = any(
        key in given for key in ("text", "full_text", "author")
    )  # it is a post itself, no answer that holds some
    if not alone and isinstance(data := given.get("data"), list | dict):
        return _parse_answer(given, [data] if isinstance(data, dict) else data)
    if isinstance(given.get("user"), dict) and ("full_text" in given or "text" in given):
        return TwarcLine([_convert_post(given)], [_convert_user(given["user"])])
    if isinstance(given.get("author"), dict) or ("author_id" in given and "author" not in given):
        return _parse_flat(given)
    return TwarcLine([]) if not alone and ("errors" in given or "__twarc" in given) else None  # an answer without posts


def _parse_answer(given: Json, data: Sequence[Json]) -> TwarcLine:
    users = (given.get("includes") or {}).get("users") or []
    at = _parse_fetched(given)
    if data and all("username" in one and "text" not in one for one in data):
        return TwarcLine([], [*users, *data], at, _detect_vocabulary(data))
    return TwarcLine(data, users, at, _detect_vocabulary(data))


def _parse_flat(given: Json) -> TwarcLine:
    """Return a post with those it speaks of inside, as `twarc2 flatten` writes it."""
    users = [user for key in ("in_reply_to_user", "author") if isinstance(user := given.get(key), dict) and user]
    post = dict(given)
    if "author_id" not in post:
        post["author_id"] = given["author"]["id"]
    return TwarcLine([post], users, _parse_fetched(given), _detect_vocabulary([given]))


def _detect_vocabulary(posts: Sequence[Json]) -> Vocabulary:
    return NEW if any(word in post for post in posts for word in NEW_WORDS) else OLD


def _parse_fetched(given: Json) -> str | None:
    at = (given.get("__twarc") or {}).get("retrieved_at")
    return None if at is None else format_time(_parse_moment(datetime.fromisoformat(at)))


def _parse_moment(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _convert_post(given: Json) -> dict[str, Any]:
    """Return a post of API 1.1 in the words of v2."""
    extended = given.get("extended_tweet") or given
    entities = {**(given.get("entities") or {}), **(extended.get("entities") or {})}
    mentions = [
        {"id": user.get("id_str"), "username": user["screen_name"]} for user in entities.get("user_mentions") or ()
    ]
    referred = {
        "replied_to": given.get("in_reply_to_status_id_str"),
        "retweeted": (given.get("retweeted_status") or {}).get("id_str"),
        "quoted": given.get("quoted_status_id_str"),
    }
    return {
        "id": given.get("id_str") or str(given["id"]),
        "author_id": given["user"].get("id_str") or str(given["user"]["id"]),
        "created_at": _convert_time(given.get("created_at")),
        "text": next(one[key] for one in (extended, given) for key in ("full_text", "text") if key in one),
        "lang": given.get("lang"),
        "in_reply_to_user_id": given.get("in_reply_to_user_id_str"),
        "referenced_tweets": [{"type": kind, "id": key} for kind, key in referred.items() if key],
        "entities": {
            "mentions": mentions,
            "hashtags": [{"tag": tag["text"]} for tag in entities.get("hashtags") or ()],
            "urls": entities.get("urls") or [],
        },
        "public_metrics": {
            "like_count": given.get("favorite_count"),
            "reply_count": given.get("reply_count"),
            "retweet_count": given.get("retweet_count"),
            "quote_count": given.get("quote_count"),
        },
    }


def _convert_user(given: Json) -> dict[str, Any]:
    """Return a user of API 1.1 in the words of v2."""
    same = {key: given[key] for key in ("name", "description", "protected", "verified", "url") if key in given}
    return {
        **same,
        "id": given.get("id_str") or str(given["id"]),
        "username": given["screen_name"],
        "created_at": _convert_time(given.get("created_at")),
        "public_metrics": {
            "followers_count": given.get("followers_count"),
            "following_count": given.get("friends_count"),
            "tweet_count": given.get("statuses_count"),
            "listed_count": given.get("listed_count"),
        },
    }


def _convert_time(text: str | None) -> str | None:
    """Convert a time such as `Wed Oct 10 20:19:24 +0000 2018` to the form of v2."""
    if text is None:
        return None
    moment = datetime.strptime(text, "%a %b %d %H:%M:%S %z %Y").astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _check_texts(values: Sequence[Any]) -> None:
    if not all(value is None or isinstance(value, str) for value in values):
        raise TypeError("the id or the name of a user is not text")


def _describe_error(error: Exception) -> str:
    if isinstance(error, FieldsMissingError):
        return f"a post has no {', '.join(error.args[0])}"
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
