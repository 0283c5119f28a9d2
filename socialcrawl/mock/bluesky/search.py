"""Search for posts, over all of the world, newest first: its parameters and the filters that may stand in its query."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from urllib.parse import urlsplit

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.bluesky.identifiers import BlueskyNames, parse_record_key
from socialcrawl.mock.bluesky.parameters import (
    RefusalError,
    check_identifier,
    cut_page,
    make_refusal,
    parse_second,
    read_limit,
    read_moment,
    require,
)
from socialcrawl.mock.bluesky.post_json import find_tags
from socialcrawl.mock.bluesky.view_json import BlueskyViews
from socialcrawl.mock.query import PLAIN_QUERY, QueryError, parse
from socialcrawl.mock.search import read_post
from socialcrawl.mock.searched_post import WORD, SearchedPost
from socialcrawl.mock.service import MockRequest, MockResponse
from socialcrawl.mock.text_index import TextIndex
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.entities import find_links

_READ = 50_000  # posts held as search sees them, about 60 MB
_LEXEME = re.compile(r'"[^"]*"|[^\s()"]+')


class PostFinder:
    """The posts of a world that a query finds; those that repeat others are found by none.

    Args:
        world: the posts.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._index = TextIndex(world.texts, fold_name)
        self._read = lru_cache(_READ)(self._reading)
        # A query is paged through: its posts are found once.
        self.matches = lru_cache(256)(self._matches)

    def _matches(self, text: str) -> NDArray[np.int64]:
        """Return the positions that a query finds (see `socialcrawl.mock.query`.

        An empty one finds all): int64[m], ascending.

        Raises:
            QueryError: the query cannot be understood.
        """
        record = self._world.record
        if record is not None and text in record.searches:
            return record.searches[text]
        if not text:
            return np.flatnonzero(self._original)
        test = parse(text, PLAIN_QUERY).test
        posts = self._candidates(text)
        return np.array([post for post in posts[self._original[posts]].tolist() if test(self._read(post))], np.int64)

    def _reading(self, post: int) -> SearchedPost:
        return read_post(self._world, post, fold=fold_name)

    @cached_property
    def _original(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._world.references.retweeted_id < 0
        return found

    def _candidates(self, text: str) -> NDArray[np.int64]:
        """Return posts among which all that match are: of a query that has words only, those whose texts have them."""
        lexemes = _LEXEME.findall(text)
        every = "OR" not in lexemes and "(" not in text  # each must match, except for those that must not
        needles = set()
        for lexeme in lexemes:
            words = WORD.findall(fold_name(lexeme))
            if not words or ":" in lexeme or "@" in lexeme:
                return np.arange(len(self._world.ids))
            if lexeme != "OR" and not (every and lexeme.startswith("-")):
                needles.add(max(words, key=len))
        return reduce(np.intersect1d if every else np.union1d, [self._index.find(needle) for needle in sorted(needles)])


DEPTH = 10_000  # posts of a search that cursors reach
_SORTS, _SORTS_V2 = ("top", "latest"), ("top", "recent")
_FILTERS_V2 = {
    "authors": "author", "mentions": "mentions", "domains": "domain", "urls": "url", "hashtags": "tag",
    "languages": "lang",
}  # fmt: skip
"""What searchPosts calls a filter of searchPostsV2."""
_FLAGS_V2 = ("excludeReplies", "repliesOnly", "hasMedia", "hasVideo")
_UNSERVED_V2 = ("following", "embeddedAtUris", "excludeEmbeddedAtUris")
_RECENT = 7 * 86_400.0  # seconds before the newest post that searchPostsV2 reaches without allTime: a guess
_EVERYTHING = "*"  # a query without words: search cannot be asked without any
# Outside quotes only: what is quoted is matched first and stays.
_FILTER = re.compile(
    r'"[^"]*"|(?<![^\s])(from|to|mentions|lang|since|until):(\S+)|(?<![^\s])(@)([\w.-]+\.[\w-]+)|(?<!\S)(#)([^\s"]+)'
)


@dataclass
class _Wanted:
    """What is searched for: words, and what the posts must have besides."""

    words: str
    authors: list[str] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    langs: list[str] = field(default_factory=list)
    since: list[float] = field(default_factory=list)
    until: list[float] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)

    def matches(self, text: str) -> bool:
        """Return whether a post has all the tags, and links to the pages and domains, as its facets name them."""
        if not (self.tags or self.pages or self.domains):
            return True
        named = {fold_name(tag) for _, _, tag in find_tags(text)}
        led = {link["url"] for link in find_links(text)}
        hosts = {urlsplit(link).hostname for link in led}
        return (
            named.issuperset(map(fold_name, self.tags))
            and led.issuperset(self.pages)
            and hosts.issuperset(self.domains)
        )


Flags = Mapping[str, bool]


class BlueskySearchEndpoint:
    """The endpoints app.bsky.feed.searchPosts and searchPostsV2.

    Args:
        world: the posts; those of missing accounts are not found.
        names: how accounts are called.
        changes: what became of them.
        depth: how many posts of a search cursors reach.
        depth_v2: the same of searchPostsV2; None: all, as nothing is documented.
    """

    def __init__(
        self,
        world: World,
        names: BlueskyNames,
        changes: WorldChanges,
        depth: int = DEPTH,
        depth_v2: int | None = None,
    ) -> None:
        self._depth, self._depth_v2 = depth, len(world.ids) if depth_v2 is None else depth_v2
        self._world, self._names, self._changes = world, names, changes
        self._finder = PostFinder(world)

    def search_posts(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """Return a page of the posts found, newest first (`top` has nothing else to go by, as nobody knows likes)."""
        q, size = require(asked, "q"), read_limit(asked, 25)
        if (asked.one("sort") or "latest") not in _SORTS:
            raise make_refusal(f"Error: sort must be one of ({'|'.join(_SORTS)})")
        return self._show_page(asked, views, f"search {q}", self._find_posts(asked, q), size=size, depth=self._depth)

    def search_posts_v2(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """Return a page of searchPostsV2: of each filter one value suffices; `recent` is the order in time."""
        q, size = asked.one("query") or "", read_limit(asked, 25)
        flags = {name: _read_flag(asked, name) for name in (*_FLAGS_V2, "allTime")}
        _check_v2(asked, q, flags)
        if (asked.one("sort") or "top") not in _SORTS_V2:
            raise make_refusal(f"Error: sort must be one of ({'|'.join(_SORTS_V2)})")
        times = [(name, value) for name, value in asked.query if name in ("since", "until")]
        found = self._find_posts(replace(asked, query=times), q)
        if not flags["allTime"] and asked.one("since") is None and len(found):
            created = self._world.created_at
            found = found[created[found] >= float(created.max()) - _RECENT]
        for name in _FILTERS_V2:
            some, others = (self._find_any(asked, name, given) for given in (name, _exclude(name)))
            found = found if some is None else np.intersect1d(found, some)
            found = found if others is None else np.setdiff1d(found, others)
        found = self._keep_answers(asked, found, flags)
        return self._show_page(asked, views, f"search v2 {q}", found, size=size, depth=self._depth_v2)

    def _find_any(self, asked: MockRequest, name: str, given: str) -> NDArray[np.int64] | None:
        """Return the posts that have any value of the parameter `given`, a filter as `name` is; None: it is not set."""
        values = [value for key, value in asked.query if key == given]
        some = [self._find_posts(replace(asked, query=[(_FILTERS_V2[name], value)]), _EVERYTHING) for value in values]
        return reduce(np.union1d, some) if some else None

    def _keep_answers(self, asked: MockRequest, found: NDArray[np.int64], flags: Flags) -> NDArray[np.int64]:
        """Return the posts that are replies, or none, as was wanted; no post of a file has media."""
        references = self._world.references
        replies = references.replied_account[found] >= 0
        if flags["excludeReplies"] or flags["repliesOnly"]:
            found = found[replies if flags["repliesOnly"] else ~replies]
        for name, of in (("replyParentUri", references.replied_post), ("threadRootUri", references.conversation)):
            if (uri := asked.one(name)) is not None:
                number = parse_record_key(uri.rpartition("/")[2])
                found = found[[of[post] >= 0 and self._world.ids[of[post]] == number for post in found.tolist()]]
        return found[:0] if flags["hasMedia"] or flags["hasVideo"] else found

    def _show_page(
        self, asked: MockRequest, views: BlueskyViews, place: str, found: NDArray[np.int64], *, size: int, depth: int
    ) -> MockResponse:
        """Return a page of the posts at these positions, the last first; cursors reach the first `depth` of them."""
        part, cursor = cut_page(asked, self._changes, place, size=size, n=min(len(found), depth))
        page = found[::-1][part].tolist()
        more = {"hitsTotal": len(found)} if cursor is None else {"cursor": cursor, "hitsTotal": len(found)}
        body = b'{"posts":' + views.posts(page) + b"," + orjson.dumps(more)[1:]
        return MockResponse(200, body, posts=len(page))

    def _find_posts(self, asked: MockRequest, q: str) -> NDArray[np.int64]:
        wanted = self._make_filters(asked, q)
        try:
            found = self._changes.select_existing(self._finder.matches(wanted.words))
        except QueryError as error:
            raise RefusalError("BadQueryString", f"The query cannot be parsed: {error}") from error
        world = self._world
        keep = self._changes.visible[found]
        for name in wanted.authors:
            keep &= world.author[found] == self._find_row(name, "author")
        for name in wanted.answered:
            keep &= world.references.replied_account[found] == self._find_row(name, "to")
        for name in wanted.mentioned:
            row = self._find_row(name, "mentions")
            keep &= np.isin(found, world.mentioned_in.of(row) if row >= 0 else [])
        for since in wanted.since:
            keep &= world.created_at[found] >= since
        for until in wanted.until:
            keep &= world.created_at[found] < until
        found = found[keep]
        langs = {lang.casefold() for lang in wanted.langs}
        spoken = [post for post in found.tolist() if {world.language(post).casefold()} >= langs]
        return np.array([post for post in spoken if wanted.matches(world.texts[post])], np.int64)

    def _make_filters(self, asked: MockRequest, q: str) -> _Wanted:
        """Return the filters of the query and of the parameters together."""
        filters = [[part for part in match.groups() if part] for match in _FILTER.finditer(q)]
        given = [(name, value) for name, value in filter(None, filters)]
        words = _FILTER.sub(lambda match: "" if any(match.groups()) else match[0], q)
        given += [(name, value) for name in ("author", "mentions", "lang") if (value := asked.one(name))]
        labels = [value for name, value in asked.query if name == "tag"]
        pages = [value for name, value in asked.query if name == "url"]
        domains = [value for name, value in asked.query if name == "domain"]
        words = "" if words.strip() == _EVERYTHING else words
        wanted = _Wanted(words.strip(), tags=labels, pages=pages, domains=domains)
        lists = {"from": wanted.authors, "author": wanted.authors, "to": wanted.answered, "lang": wanted.langs}
        lists |= {"mentions": wanted.mentioned, "@": wanted.mentioned, "#": labels}
        moments = {"since": wanted.since, "until": wanted.until}
        for name, value in given:
            if name in moments:
                moments[name].append(parse_second(value, name))
            else:
                lists[name].append(value)
        for name, held in moments.items():
            if (parameter := read_moment(asked, name)) is not None:
                held.append(parameter)
        return wanted

    def _find_row(self, actor: str, name: str) -> int:
        """Return the row of an account, -2 where there is none (-1 stands for nobody)."""
        actor = actor.removeprefix("@")
        if "." not in actor and not actor.startswith("did:"):
            actor = f"{actor}.{self._names.domain}"  # the label alone, as people write it
        row = self._names.row(check_identifier(fold_name(actor), name) if not actor.startswith("did:") else actor)
        return -2 if row is None else row


def _exclude(name: str) -> str:
    """Return the parameter of searchPostsV2 that excludes what the parameter `name` includes."""
    return f"exclude{name[0].upper()}{name[1:]}"


def _read_flag(asked: MockRequest, name: str) -> bool:
    value = asked.one(name)
    if value not in (None, "true", "false"):
        raise make_refusal(f"Error: {name} must be a boolean")
    return value == "true"


def _check_v2(asked: MockRequest, q: str, flags: Flags) -> None:
    """Raise RefusalError for parameters of searchPostsV2 that it does not take together, or that are not served."""
    names = {name for name, _ in asked.query}
    if unserved := sorted(names.intersection(_UNSERVED_V2)):
        raise make_refusal(f"Error: the mock does not serve {unserved[0]}")
    filters = {*_FILTERS_V2, "replyParentUri", "threadRootUri"}
    if not q and not names & filters and not flags["hasMedia"] and not flags["hasVideo"]:
        raise make_refusal("A query or at least one filter is required")
    if flags["excludeReplies"] and flags["repliesOnly"]:
        raise make_refusal("excludeReplies and repliesOnly are mutually exclusive")
