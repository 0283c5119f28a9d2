"""The query language of X's search: words, "phrases", OR, AND by standing side by side, -negation, (groups), operators.

AND binds before OR. Words match whole words without case. Operators: from:, to:, @name, #tag, $tag, url:, lang:,
is:retweet|reply, has:mentions|hashtags|cashtags|links. Others are refused, so that nobody believes they were heeded.

#tag, @name and $tag find what X recognised in a post, whole. In quotes they are words: "#tag" finds `tag` where it is
no hashtag (as X documents it of its enterprise search). url: finds the tokens of a link's address one after another.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from socialcrawl.lab.post_table import fold_name

WORD = re.compile(r"\w+")
_BARE = re.compile(r"(?<!\w)[#@$]\w+|\w+")
_LEXEME = re.compile(r'\s*(?:(-?\()|(\))|(-?)(?:"([^"]*)"|([^\s()"]+)))')
_URL = re.compile(r'\s*(-?)url:"([^"]*)"')
_OPERATOR = re.compile(r"([a-z_]+):(?!//)(.*)", re.DOTALL)


class QueryError(ValueError):
    """A query that cannot be understood; the text says where."""


@dataclass(frozen=True, slots=True)
class SearchedPost:
    """A post as search sees it; all names, tags and words folded."""

    text: str
    words: tuple[str, ...]
    author: str
    mentions: frozenset[str]
    tags: frozenset[str]
    links: bool  # whether it has any
    replied: str | None
    retweet: bool
    lang: str
    cashtags: frozenset[str] = frozenset()
    urls: tuple[tuple[str, ...], ...] = ()  # the words of each link's address

    @property
    def bare(self) -> tuple[str, ...]:
        """The words of the text, "" in place of those that belong to a hashtag, a name or a cashtag."""
        return tuple("" if found[0] in "#@$" else found for found in _BARE.findall(self.text))


Test = Callable[[SearchedPost], bool]


@dataclass(frozen=True)
class Query:
    """A parsed query: its test of a post, and whether it asks for words (which, on X, leaves retweets out)."""

    test: Test
    keyword: bool


@dataclass(frozen=True)
class _QueryPart:
    test: Test
    standalone: bool  # can find posts by itself
    keyword: bool = False


def parse(text: str) -> Query:
    """Return the query in a text.

    Raises:
        QueryError: an unknown operator, an empty query or group, a stray OR, bracket or quote, or only operators
            that need another term (negations, is:, has:, lang:).
    """
    parser = _Parser(text)
    part = parser.disjunction()
    if parser.peek() is not None:
        raise QueryError("there is a closing bracket without an opening one")
    if not part.standalone:
        raise QueryError("Rules must contain at least one positive, non-stopword clause")
    return Query(part.test, part.keyword)


class _Parser:
    def __init__(self, text: str) -> None:
        self._lexemes: list[tuple[str, str, bool]] = []  # kind, text, negated
        place = 0
        text = text.rstrip()
        while place < len(text):
            if match := _URL.match(text, place):
                place = match.end()
                self._lexemes.append(("word", f"url:{match[2]}", bool(match[1])))
                continue
            match = _LEXEME.match(text, place)
            if match is None:
                raise QueryError(f"cannot read from {text[place : place + 20]!r}")
            place = match.end()
            self._lexemes.append(_read_lexeme(match))
        self._at = 0

    def peek(self) -> str | None:
        return self._lexemes[self._at][0] if self._at < len(self._lexemes) else None

    def disjunction(self) -> _QueryPart:
        parts = [self._conjunction()]
        while self.peek() == "OR":
            self._at += 1
            parts.append(self._conjunction())
        if len(parts) == 1:
            return parts[0]
        tests = tuple(part.test for part in parts)
        return _QueryPart(
            lambda post: any(test(post) for test in tests),
            standalone=all(part.standalone for part in parts),
            keyword=any(part.keyword for part in parts),
        )

    def _conjunction(self) -> _QueryPart:
        parts = []
        while self.peek() not in (None, "OR", ")"):
            parts.append(self._term())
        if not parts:
            raise QueryError("a term is missing at the start, at the end, beside OR or in an empty group")
        if len(parts) == 1:
            return parts[0]
        tests = tuple(part.test for part in parts)
        return _QueryPart(
            lambda post: all(test(post) for test in tests),
            standalone=any(part.standalone for part in parts),
            keyword=any(part.keyword for part in parts),
        )

    def _term(self) -> _QueryPart:
        kind, text, negated = self._lexemes[self._at]
        self._at += 1
        if kind == "(":
            part = self.disjunction()
            if self.peek() != ")":
                raise QueryError("there is an opening bracket without a closing one")
            self._at += 1
        else:
            part = _split_phrase(text) if kind == "phrase" else _match_word(text)
        test = part.test
        return _QueryPart(lambda post: not test(post), standalone=False) if negated else part


def _read_lexeme(match: re.Match[str]) -> tuple[str, str, bool]:
    opening, closing, minus, phrase, word = match.groups()
    if opening:
        return "(", "", opening == "-("
    if closing:
        return ")", "", False
    if phrase is not None:
        return "phrase", phrase, bool(minus)
    return ("OR", "", False) if word == "OR" and not minus else ("word", word, bool(minus))


def _split_phrase(text: str) -> _QueryPart:
    wanted = tuple(WORD.findall(fold_name(text)))
    low = fold_name(text)
    if not low.strip():
        raise QueryError("there are quotes with nothing between them")
    if not wanted:  # an emoji or a sign: no words to compare
        return _QueryPart(lambda post: low in post.text, standalone=True, keyword=True)
    if _BARE.findall(low) != list(wanted):  # quoted entities are words
        return _QueryPart(lambda post: _follow(wanted, post.bare), standalone=True, keyword=True)
    if len(wanted) == 1:
        return _QueryPart(lambda post: wanted[0] in post.words, standalone=True, keyword=True)
    return _QueryPart(lambda post: _follow(wanted, post.words), standalone=True, keyword=True)


def _follow(wanted: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Return whether words stand one after another."""
    n = len(wanted)
    return any(words[i : i + n] == wanted for i in range(len(words) - n + 1))


def _match_word(text: str) -> _QueryPart:
    low = fold_name(text)
    name = low[1:]
    if low.startswith("@") and WORD.fullmatch(name):
        return _QueryPart(lambda post: name in post.mentions, standalone=True, keyword=True)
    if low.startswith("#") and WORD.fullmatch(name):
        return _QueryPart(lambda post: name in post.tags, standalone=True, keyword=True)
    if low.startswith("$") and WORD.fullmatch(name):
        return _QueryPart(lambda post: name in post.cashtags, standalone=True, keyword=True)
    match = _OPERATOR.fullmatch(low)
    return _make_operator(match[1], match[2]) if match else _split_phrase(text)


def _make_operator(name: str, value: str) -> _QueryPart:
    user = value.removeprefix("@")
    known: dict[str, Test] = {
        "is:retweet": lambda post: post.retweet,
        "is:reply": lambda post: post.replied is not None,
        "has:mentions": lambda post: bool(post.mentions),
        "has:hashtags": lambda post: bool(post.tags),
        "has:cashtags": lambda post: bool(post.cashtags),
        "has:links": lambda post: post.links,
    }
    if test := known.get(f"{name}:{value}"):
        return _QueryPart(test, standalone=False)
    if name == "url" and (tokens := tuple(WORD.findall(value))):
        return _QueryPart(
            lambda post: any(_follow(tokens, words) for words in post.urls), standalone=True, keyword=True
        )
    if name == "from" and user:
        return _QueryPart(lambda post: post.author == user, standalone=True)
    if name == "to" and user:
        return _QueryPart(lambda post: post.replied == user, standalone=True)
    if name == "lang" and value:
        return _QueryPart(lambda post: post.lang.casefold() == value, standalone=False)
    raise QueryError(f"Reference to invalid operator '{name}:{value}'. Operator is not available in this mock")
