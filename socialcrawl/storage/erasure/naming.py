"""Whether an original answer names the forgotten, and where: in its address, a field, a text or a link. Pure.

Fields are told apart by what platforms call them: `author_id` holds an id, `username` a name, whatever else is text. A
word of a text is no name without its `@`, a number outside of such a field is no id. An address names the profile of
an account, a post or a page.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

import orjson

from socialcrawl.platforms.facts import find_platform_facts, list_platform_facts
from socialcrawl.storage.erasure.texts import has_link, has_mention

PORTS = {"http": 80, "https": 443}


def find_holders(address: str) -> set[str]:
    """Return the ids and names (in lower case) of the accounts that an address names."""
    for facts in list_platform_facts():
        if (holders := facts.find_holders(address)) is not None:
            return holders
    return set()


def parse_post_address(address: str) -> tuple[str, str] | None:
    """Return what identifies a post in each of its addresses: its author and its key; None where it is no post's."""
    for facts in list_platform_facts():
        if (named := facts.parse_post_address(address)) is not None:
            return named
    return None


def normalize_page(address: str) -> str | None:
    """Return the address of a page in one spelling, without what stands behind `#`; None where it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme not in PORTS or not parts.hostname:
        return None
    host = parts.hostname if port in (None, PORTS[scheme]) else f"{parts.hostname}:{port}"
    return f"{scheme}://{host}{unquote(parts.path or '/')}{f'?{parts.query}' if parts.query else ''}"


KINDS = ("request", "id", "name", "text", "link")  # where a match is; the first of these counts
ID_KEY = re.compile(r"(?:^|_)ids?(?:_str)?$|[a-z]I[dD]s?$|^(?:did|value)$")
NAME_KEYS = frozenset({"username", "screen_name", "in_reply_to_screen_name", "user_name", "handle", "acct", "author",
                       "actor", "value", "resource_id"})  # fmt: skip
BESIDE = frozenset({"context_annotations", "domain", "entity", "geo", "place", "places", "media", "polls", "poll",
                    "application", "attachments"})  # fmt: skip
ASKED_NAMES = frozenset({"usernames", "username", "acct", "actor", "actors", "author", "handle", "handles", "mentions"})
ASKED_TEXTS = frozenset({"query", "q"})
OPERATOR = re.compile(r"(?:\b(?:from|to|mentions|retweets_of):|@)([^\s\"()]+)")
ADDRESS = re.compile(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)
ATTRIBUTE = re.compile(r"""\b(?:href|src|action|content|cite)\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]+)""", re.IGNORECASE)
QUOTED = re.compile(r'"([^"\\\s]+)"')
NUMBER = re.compile(r"(?<!\w)\d+(?!\w)")
TAG = re.compile(r"<[^<>]*>")
ACCOUNT = re.compile(r"/accounts/(\d+)(?:/|$|\?)")
PIECE = re.compile(r"[a-z0-9_]+")
HIDDEN = re.compile(r"\\u00[3-7]|&#", re.IGNORECASE)  # letters that are written otherwise
FEW = 20  # keys that are searched for one by one
END = ".,;:!?)]"  # marks behind an address that are the sentence's


class OriginalAnswer(NamedTuple):
    """An original answer: its address, the values of its headers, its body, the platform and host that it is of."""

    url: str
    headers: str
    body: str
    platform: str | None
    host: str


@dataclass(frozen=True)
class SearchKeys:
    """Whom and what answers are looked through for.

    Attributes:
        platform: that of the accounts.
        ids: of accounts.
        names: of accounts, in lower case.
        posts: ids of posts.
        numbers: (server, number) by which the servers of a federated platform know the accounts.
    """

    platform: str
    ids: frozenset[str]
    names: frozenset[str]
    posts: frozenset[str]
    numbers: frozenset[tuple[str, str]] = frozenset()

    @cached_property
    def keys(self) -> frozenset[str]:
        """The ids of accounts and posts."""
        return self.ids | self.posts

    @cached_property
    def accounts(self) -> frozenset[str]:
        """The ids and names of accounts."""
        return self.ids | self.names

    @cached_property
    def pages(self) -> frozenset[str]:
        """The addresses among the ids, in one spelling."""
        return frozenset(page for key in self.keys if (page := normalize_page(key)) is not None)

    @cached_property
    def single(self) -> frozenset[tuple[str, str]]:
        """The posts, by whom and what their addresses name."""
        return frozenset(address for key in self.posts if (address := parse_post_address(key)) is not None)

    @cached_property
    def pieces(self) -> tuple[str, ...] | None:
        """What an answer has to hold one of, in lower case; None where keys are many, or may be written otherwise."""
        keys = [*self.ids, *self.names, *self.posts]
        found = [_shorten_key(key.lower()) for key in keys] if len(keys) <= FEW else [None]
        texts = [piece for piece in found if piece]
        return None if len(texts) < len(found) else (*texts, *(number for _, number in self.numbers))


def find_match(answer: OriginalAnswer, sought: SearchKeys) -> str | None:
    """Return the kind (see KINDS) of the first match in an answer, None where nothing in it is sought."""
    if not _can_match(answer, sought):
        return None
    found: set[str] = set()
    for kind in _find_matches(answer, sought):
        if kind == KINDS[0]:
            return kind
        found.add(kind)
    return min(found, key=KINDS.index, default=None)


def find_numbers(answer: OriginalAnswer, sought: SearchKeys) -> set[tuple[str, str]]:
    """Return the (server, number) that accounts of a federated platform which are sought have in an answer."""
    if (
        answer.platform != sought.platform
        or not find_platform_facts(sought.platform).federated
        or not _can_match(answer, sought)
    ):
        return set()
    with suppress(orjson.JSONDecodeError):
        return {
            (answer.host, str(item["id"]))
            for item in _iterate_objects(orjson.loads(answer.body))
            if "acct" in item and "id" in item
            if any(_match_field(key, str(item.get(key)), answer, sought) for key in ("acct", "url", "uri"))
        }
    return set()


def _shorten_key(key: str) -> str | None:
    """Return the plain letters that every spelling of a key contains, such as an address spelled as a link."""
    if "://" in key:
        named = parse_post_address(key)
        return None if named is None else max(PIECE.findall(named[1]), key=len, default=None)
    return max(PIECE.findall(key.partition("@")[0] or key), key=len, default=None)


def _can_match(answer: OriginalAnswer, sought: SearchKeys) -> bool:
    """Return whether a match is possible: answers are many, and most have nothing of what is sought."""
    if (pieces := sought.pieces) is None:
        return True
    text = f"{answer.url}\n{answer.headers}\n{answer.body}".lower()
    if HIDDEN.search(text):
        return True
    plain = unquote(unquote(text)) if "%" in text else text
    return any(piece in plain or piece in text for piece in pieces)


def _find_matches(answer: OriginalAnswer, sought: SearchKeys) -> Iterator[str]:
    if _is_asked_about(answer, sought):
        yield "request"
    if any(
        _is_linked(address, sought) or _is_numbered(address, answer.host, sought)
        for address in ADDRESS.findall(answer.headers)
    ):
        yield "link"
    try:
        address = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        yield from _match_body(answer, sought)
        return
    for key, value, beside in _iterate_leaves(address):
        if not beside and answer.platform == sought.platform and (kind := _match_field(key, value, answer, sought)):
            yield kind
        yield from _match_text(value, sought)


def _iterate_leaves(root: Any) -> Iterator[tuple[str, str, bool]]:
    """Yield the texts and whole numbers of JSON: (key, value, whether it is part of a place, a topic or the like)."""
    stack: list[tuple[str, Any, bool]] = [("", root, False)]
    while stack:
        key, value, beside = stack.pop()
        if isinstance(value, dict):
            stack.extend((name, one, beside or name in BESIDE) for name, one in value.items())
            stack.extend(("id", name, beside) for name in value if name.isdecimal() or ":" in name)
        elif isinstance(value, list):
            stack.extend((key, one, beside) for one in value)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            yield key, str(value), beside


def _iterate_objects(root: Any) -> Iterator[dict[str, Any]]:
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def _match_field(key: str, value: str, answer: OriginalAnswer, sought: SearchKeys) -> str | None:
    """Return the kind of a match in a field that holds an id, a name or an address."""
    if ID_KEY.search(key) and (
        value in sought.keys or (_is_account_field(key) and (answer.host, value) in sought.numbers)
    ):
        return "id"
    if "uri" in key.lower() and (value in sought.keys or _is_linked(value, sought)):
        return "id"
    if key.lower() in NAME_KEYS:
        name = value.strip().removeprefix("@").lower()
        own = f"{name}@{answer.host}" if key == "acct" and "@" not in name else name
        return "name" if name in sought.accounts or own in sought.accounts else None
    return "link" if key == "url" and _is_linked(value, sought) else None


def _is_account_field(key: str) -> bool:
    """Return whether a field of Mastodon holds the number of an account."""
    return key.endswith(("account_id", "account_ids"))


def _match_text(escaped: str, sought: SearchKeys) -> Iterator[str]:
    """Yield the kinds of matches in any text, HTML or not."""
    text = unescape(escaped) if "&" in escaped else escaped
    if has_mention(text, sought.names) or ("<" in text and has_mention(TAG.sub("", text), sought.names)):
        yield "text"
    if ":" in text or "/" in text:
        if has_link(text, sought.names, sought.keys) or any(_is_linked(one, sought) for one in ADDRESS.findall(text)):
            yield "link"
        if any(one in sought.keys for facts in list_platform_facts() for one in facts.find_ids(text)):
            yield "id"


def _is_linked(address: str, sought: SearchKeys) -> bool:
    """Return whether an address is that of a page, a profile or a post that is sought."""
    plain = unescape(address).rstrip(END)
    if not sought.accounts.isdisjoint(find_holders(plain)) or plain in sought.keys:
        return True
    return (bool(sought.pages) and normalize_page(plain) in sought.pages) or (
        bool(sought.single) and parse_post_address(plain) in sought.single
    )


def _is_numbered(address: str, host: str, sought: SearchKeys) -> bool:
    return any((host, number) in sought.numbers for number in ACCOUNT.findall(address))


def _match_body(answer: OriginalAnswer, sought: SearchKeys) -> Iterator[str]:
    """Yield the kinds of matches in a body that is no JSON: a page of the web, or an answer that was cut."""
    body = answer.body
    yield from _match_text(body, sought)
    targets = (unescape(attribute.strip("\"'")) for attribute in ATTRIBUTE.findall(body))
    for attribute in targets:
        with suppress(ValueError):
            if _is_linked(urljoin(answer.url, attribute.strip()), sought):
                yield "link"
    if answer.platform != sought.platform or find_platform_facts(answer.platform).pages:
        return
    words = {*QUOTED.findall(body), *NUMBER.findall(body)}
    if not words.isdisjoint(sought.keys):
        yield "id"
    if any(word.lower() in sought.names for word in words):
        yield "name"


def _is_asked_about(answer: OriginalAnswer, sought: SearchKeys) -> bool:
    """Return whether the address that was asked names whom is sought."""
    if answer.platform != sought.platform:
        return False
    if find_platform_facts(answer.platform).pages:
        return _is_linked(answer.url, sought)
    try:
        parts = urlsplit(answer.url)
    except ValueError:
        return True  # it cannot be told
    path = [unquote(part) for part in parts.path.split("/")]
    if not sought.keys.isdisjoint(path) or _is_numbered(parts.path, answer.host, sought):
        return True
    named = (part for before, part in pairwise(path) if before == "username")
    return any(part.lower() in sought.names for part in named) or any(
        _is_sought_parameter(name, value, answer, sought) for name, value in parse_qsl(parts.query)
    )


def _is_sought_parameter(name: str, value: str, answer: OriginalAnswer, sought: SearchKeys) -> bool:
    if name in ASKED_TEXTS:
        spoken = {word.lower().rstrip(END) for word in OPERATOR.findall(value)}
        return not spoken.isdisjoint({key.lower() for key in sought.accounts}) or any(_match_text(value, sought))
    word = {one.strip() for one in (*value.split(","), value)}
    if name in ASKED_NAMES:
        names = {one.removeprefix("@").lower() for one in word}
        names |= {f"{one}@{answer.host}" for one in names if name == "acct" and "@" not in one}
        if not names.isdisjoint(sought.accounts):
            return True
    ids = ID_KEY.search(name) or name in ASKED_NAMES or name.startswith("uri")
    return (bool(ids) and not word.isdisjoint(sought.keys)) or any(
        _is_linked(one, sought) for one in word if ":" in one
    )
