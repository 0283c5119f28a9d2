"""The terms of a query: words, phrases, entities and operators, each with its test of a post.

A term also names what the posts that it finds must have (`needs`), so that a search reads few posts of an archive.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from socialcrawl.mock.searched_post import WORD, Fold, SearchedPost, is_bare

_OPERATOR = re.compile(r"([a-z_]+):(?!//)(.*)", re.DOTALL)
_ID = re.compile(r"[0-9]{1,19}")
_SIGMA = frozenset("σς")  # which of both a capital becomes depends on the letters around it

# Operators of X that need a word, a name or the like beside them.
DEPENDENT = frozenset({"is", "has", "lang"})
# Operators that X has and a file of posts has no data for: refused, so that nobody believes that they were heeded.
UNAVAILABLE = frozenset(
    {
        *("has:media", "has:images", "has:video_link", "has:geo"),
        *("context", "entity", "list", "place", "place_country", "point_radius", "bounding_box"),
        *("min_likes", "min_replies", "min_reposts"),
    }
)

Test = Callable[[SearchedPost], bool]
Need = tuple[str, str]  # ("text", part of a folded text) or ("author", folded name)


class TermError(ValueError):
    """A term that is not valid; the text is the platform's sentence."""


@dataclass(frozen=True)
class QueryPart:
    """A part of a query.

    Attributes:
        test: whether it finds a post.
        standalone: whether it can find posts by itself.
        keyword: whether it searches for words (which, on X, leaves retweets out).
        needs: sets of needs; a post that it finds has at least one of each set.
        dependent: the position of its first operator that cannot stand alone, from 1; None where it has none.
    """

    test: Test
    standalone: bool
    keyword: bool = False
    needs: tuple[frozenset[Need], ...] = ()
    dependent: int | None = None


def make_phrase(text: str, fold: Fold) -> QueryPart:
    """Return the term for a word or for words one after another; entities in it count as words.

    Raises:
        TermError: the text is empty.
    """
    low = fold(text)
    wanted = tuple(WORD.findall(low))
    if not low.strip():
        raise TermError("there are quotes with nothing between them")
    if not wanted:  # an emoji or a sign: no words to compare
        return _make_keyword(lambda post: low in post.text, low)
    longest = max(wanted, key=len)
    if not is_bare(low):  # quoted entities are words
        return _make_keyword(lambda post: _follow(wanted, post.bare), longest)
    if len(wanted) == 1:
        return _make_keyword(lambda post: wanted[0] in post.words, longest)
    return _make_keyword(lambda post: _follow(wanted, post.words), longest)


def _make_keyword(test: Test, needed: str) -> QueryPart:
    return QueryPart(test, standalone=True, keyword=True, needs=_need_text(needed))


def _need_text(part: str) -> tuple[frozenset[Need], ...]:
    return () if _SIGMA & set(part) else (frozenset({("text", part)}),)


def _follow(wanted: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Return whether words stand one after another."""
    n = len(wanted)
    return any(words[i : i + n] == wanted for i in range(len(words) - n + 1))


def make_term(text: str, fold: Fold, *, place: int, negated: bool) -> QueryPart:
    """Return the term for a lexeme without quotes.

    Args:
        text: the lexeme, without its minus.
        fold: how texts are compared.
        place: its position in the query, from 1.
        negated: whether there is a minus before it.

    Raises:
        TermError: no such operator, or a value that it cannot have.
    """
    low = fold(text)
    name = low[1:]
    if WORD.fullmatch(name):
        if low.startswith("@"):  # a post can mention a name that its text does not have
            return QueryPart(lambda post: name in post.mentions, standalone=True, keyword=True)
        if low.startswith("#"):
            return _make_keyword(lambda post: name in post.tags, name)
        if low.startswith("$"):
            return _make_keyword(lambda post: name in post.cashtags, name)
    match = _OPERATOR.fullmatch(low)
    if match is None:
        return make_phrase(text, fold)
    return _make_operator(match[1], match[2], place=place, negated=negated)


_KNOWN: dict[str, Test] = {
    "is:retweet": lambda post: post.retweet,
    "is:reply": lambda post: post.replied is not None,
    "is:quote": lambda post: bool(post.quotes) and not post.retweet,
    "is:verified": lambda _: False,  # nobody on the mock is, as its users say
    "is:nullcast": lambda _: False,
    "has:mentions": lambda post: bool(post.mentions),
    "has:hashtags": lambda post: bool(post.tags),
    "has:cashtags": lambda post: bool(post.cashtags),
    "has:links": lambda post: post.links,
}


def _make_operator(name: str, value: str, *, place: int, negated: bool) -> QueryPart:
    whole = f"{name}:{value}"
    if whole == "is:nullcast" and not negated:
        raise TermError(f"The operator 'is:nullcast' must be negated (at position {place})")
    if test := _KNOWN.get(whole):
        return QueryPart(test, standalone=False, dependent=place)
    if name == "lang" and value:
        return QueryPart(lambda post: post.lang.casefold() == value, standalone=False, dependent=place)
    if name == "url" and (tokens := tuple(WORD.findall(value))):
        return _make_keyword(lambda post: any(_follow(tokens, words) for words in post.urls), max(tokens, key=len))
    if test := _make_id_test(name, value, place) or _make_name_test(name, value.removeprefix("@")):
        needs = (frozenset({("author", value.removeprefix("@"))}),) if name == "from" else ()
        return QueryPart(test, standalone=True, needs=needs)
    raise TermError(_describe_invalid(name, value))


def _make_name_test(name: str, user: str) -> Test | None:
    """Return the test for an operator with the name of an account; None where there is no such operator or name."""
    tests: dict[str, Test] = {
        "from": lambda post: user in (post.author, post.author_id),
        "to": lambda post: post.replied == user,
        "retweets_of": lambda post: post.repeated == user,
    }
    return tests.get(name) if user else None


def _make_id_test(name: str, value: str, place: int) -> Test | None:
    """Return the test for an operator with the id of a post; None where there is no such operator."""
    number = int(value) if _ID.fullmatch(value) else 0
    tests: dict[str, Test] = {
        "conversation_id": lambda post: post.conversation == number,
        "in_reply_to_tweet_id": lambda post: post.answers == number,
        "retweets_of_tweet_id": lambda post: post.repeats == number,
        "quotes_of_tweet_id": lambda post: number in post.quotes,
    }
    if name in tests and not number:
        raise TermError(f"Invalid value '{value}' for the operator '{name}' (at position {place})")
    return tests.get(name)


def _describe_invalid(name: str, value: str) -> str:
    shown = f"{name}:{value}" if name in DEPENDENT else name
    if shown in UNAVAILABLE:
        return f"Reference to invalid operator '{shown}'. Operator is not available in this mock"
    return f"Reference to invalid operator '{shown}'"
