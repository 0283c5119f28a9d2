"""The query language of X's search: words, "phrases", OR, AND by standing side by side, -negation, (groups), operators.

AND binds before OR; a minus negates one term, not a group, and does not stand alone. Words match whole words without
case and diacritics. Operators: from:, to:, retweets_of:, @name, #tag, $tag, url:, lang:, conversation_id:,
in_reply_to_tweet_id:, retweets_of_tweet_id:, quotes_of_tweet_id:, is:retweet|reply|quote|verified, -is:nullcast,
has:mentions|hashtags|cashtags|links. Others are refused, so that nobody believes that they were heeded.

#tag, @name and $tag find what X recognised in a post, whole. In quotes they are words: "#tag" finds `tag` where it is
no hashtag (as X documents it of its enterprise search). url: finds the tokens of a link's address one after another.

The sentences about mistakes are those that X was seen to send, with positions from 1. Where none was seen (a negated
group, a value that is no id, an empty group) they are the mock's own.
"""

import re
from dataclasses import dataclass, field

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.query_terms import DEPENDENT, Need, QueryPart, TermError, Test, make_phrase, make_term
from socialcrawl.mock.searched_post import Fold, fold_marks

_LEXEME = re.compile(r'\s*(?:(-?\()|(\))|(-?)(?:"([^"]*)"|([^\s()"]+)))')
_URL = re.compile(r'\s*(-?)url:"([^"]*)"')


class QueryError(ValueError):
    """A query that cannot be understood; the text lists what is wrong and where."""


@dataclass(frozen=True)
class QueryDialect:
    """What differs between platforms that share the language.

    Attributes:
        fold: how words are compared; the posts must be folded alike.
        strict: whether `and` and `or` in lower case, and negated groups, are mistakes, as on X; else `and` and `or`
            are words.
    """

    fold: Fold = fold_marks
    strict: bool = True


X_QUERY = QueryDialect()
PLAIN_QUERY = QueryDialect(fold_name, strict=False)


@dataclass(frozen=True)
class Query:
    """A parsed query: its test of a post, whether it searches for words, and what its posts must have.

    `keyword` and `needs` are those of `query_terms.QueryPart`.
    """

    test: Test
    keyword: bool
    needs: tuple[frozenset[Need], ...] = ()


@dataclass(frozen=True)
class _Lexeme:
    kind: str  # ( ) OR phrase word
    text: str
    negated: bool
    place: int  # from 1


def parse(text: str, dialect: QueryDialect = X_QUERY) -> Query:
    """Return the query in a text.

    Raises:
        QueryError: an unknown operator, an empty query or group, a stray OR, bracket or quote, or only operators
            that need another term (negations, is:, has:, lang:).
    """
    return _Parser(text, dialect).read()


@dataclass
class _Parser:
    text: str
    dialect: QueryDialect
    _at: int = 0
    _lexemes: list[_Lexeme] = field(default_factory=list)
    _mistakes: list[str] = field(default_factory=list)  # of the grammar
    _invalid: list[str] = field(default_factory=list)  # of single terms

    def read(self) -> Query:
        """Return the query; a wrong one raises QueryError with all that is wrong."""
        self._split()
        part = self._read_disjunction()
        if self._peek() is not None:
            self._mistakes.append(f"missing EOF at ')' (at position {self._lexemes[self._at].place})")
        elif not part.standalone and not self._mistakes:
            self._mistakes.append(_describe_dependent(part))
        if mistakes := [*self._mistakes, *self._invalid]:
            raise QueryError(", ".join(mistakes))
        return Query(part.test, part.keyword, part.needs)

    def _split(self) -> None:
        place, text = 0, self.text.rstrip()
        while place < len(text):
            match = _URL.match(text, place) or _LEXEME.match(text, place)
            if match is None:
                raise QueryError(f"cannot read from {text[place : place + 20]!r}")
            start = match.end() - len(match[0].lstrip()) + 1
            place = match.end()
            if match.re is _URL:
                self._lexemes.append(_Lexeme("word", f"url:{match[2]}", bool(match[1]), start))
            else:
                self._lexemes.append(_read_lexeme(match, start))

    def _peek(self) -> str | None:
        return self._lexemes[self._at].kind if self._at < len(self._lexemes) else None

    def _read_disjunction(self) -> QueryPart:
        parts = [self._read_conjunction()]
        while self._peek() == "OR":
            self._at += 1
            parts.append(self._read_conjunction())
        return parts[0] if len(parts) == 1 else _join_by_or(parts)

    def _read_conjunction(self) -> QueryPart:
        parts = []
        while self._peek() not in (None, "OR", ")"):
            parts.append(self._read_term())
        if not parts:
            raise QueryError("a term is missing at the start, at the end, beside OR or in an empty group")
        return parts[0] if len(parts) == 1 else _join_by_and(parts)

    def _read_term(self) -> QueryPart:
        lexeme = self._lexemes[self._at]
        self._at += 1
        part = self._read_group(lexeme) if lexeme.kind == "(" else self._make_term(lexeme)
        return _negate(part) if lexeme.negated else part

    def _read_group(self, lexeme: _Lexeme) -> QueryPart:
        if lexeme.negated and self.dialect.strict:
            self._mistakes.append(f"Negate each operator and not a group (at position {lexeme.place})")
        part = self._read_disjunction()
        if self._peek() == ")":
            self._at += 1
        else:
            self._mistakes.append(f"Missing closing parenthesis (at position {len(self.text.rstrip()) + 1})")
        return part

    def _make_term(self, lexeme: _Lexeme) -> QueryPart:
        text, fold = lexeme.text, self.dialect.fold
        if self.dialect.strict and lexeme.kind == "word" and text.lower() in _JOINED_BY:
            self._mistakes.append(_describe_ambiguous(text, lexeme.place))
        try:
            if lexeme.kind == "phrase":
                return make_phrase(text, fold)
            return make_term(text, fold, place=lexeme.place, negated=lexeme.negated)
        except TermError as error:
            self._invalid.append(str(error))
            depends = text.split(":")[0].lower() in DEPENDENT
            return QueryPart(lambda _: False, standalone=not depends, dependent=lexeme.place if depends else None)


def _read_lexeme(match: re.Match[str], place: int) -> _Lexeme:
    opening, closing, minus, phrase, word = match.groups()
    if opening:
        return _Lexeme("(", "", opening == "-(", place)
    if closing:
        return _Lexeme(")", "", negated=False, place=place)
    if phrase is not None:
        return _Lexeme("phrase", phrase, bool(minus), place)
    kind = "OR" if word == "OR" and not minus else "word"
    return _Lexeme(kind, word, bool(minus), place)


def _join_by_or(parts: list[QueryPart]) -> QueryPart:
    tests = tuple(part.test for part in parts)
    alone = [part for part in parts if not part.standalone]
    needs = (frozenset().union(*(part.needs[0] for part in parts)),) if all(part.needs for part in parts) else ()
    return QueryPart(
        lambda post: any(test(post) for test in tests),
        standalone=not alone,
        keyword=any(part.keyword for part in parts),
        needs=needs,
        dependent=alone[0].dependent if alone else None,
    )


def _join_by_and(parts: list[QueryPart]) -> QueryPart:
    tests = tuple(part.test for part in parts)
    return QueryPart(
        lambda post: all(test(post) for test in tests),
        standalone=any(part.standalone for part in parts),
        keyword=any(part.keyword for part in parts),
        needs=tuple(need for part in parts for need in part.needs),
        dependent=next((part.dependent for part in parts if part.dependent is not None), None),
    )


def _negate(part: QueryPart) -> QueryPart:
    test = part.test
    return QueryPart(lambda post: not test(post), standalone=False)


_JOINED_BY = {"and": "a space", "or": "OR"}


def _describe_ambiguous(word: str, place: int) -> str:
    low = word.lower()
    return (
        f"Ambiguous use of {low} as a keyword. Use {_JOINED_BY[low]} to logically join two clauses, "
        f'or "{low.upper()}" to treat as a keyword. (at position {place})'
    )


def _describe_dependent(part: QueryPart) -> str:
    if part.dependent is None:
        return "Rules must contain at least one positive, non-stopword clause"
    return f"is/has/lang cannot be used as a standalone operator (at position {part.dependent})"
