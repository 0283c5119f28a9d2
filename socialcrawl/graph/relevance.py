"""The worth of a text, a user (beta) and a link (alpha) for a topic (Gouriten et al., section 2.3).

f(x) = 1 + ln x for x > 0, else 0;  beta(u) = f(occurrences in u's posts);
alpha(u, v) = f(occurrences in u's posts that mention v).
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple, Protocol

import orjson

from socialcrawl.engine.model import parse_time
from socialcrawl.errors import SettingsError
from socialcrawl.text.entities import NONE, Entities, count_addresses
from socialcrawl.text.word_boundaries import is_unspaced, make_letter_pattern


class Hits(Protocol):
    """The occurrences of a topic that count in a post; 0 for none. See `Topic.hits`."""

    def __call__(
        self, text: str, lang: str | None, created_at: str | None, urls: str | None = None, names: str | None = None, /
    ) -> int:
        """Count them."""


KINDS = ("mention", "reply", "repost", "quote")
WAYS = ("replies", "reposts", "quotes")
# No words, several languages, a made one; and what X says of posts that are only names, tags, links or too short.
PIECE, RUN = 512, 64  # characters of a text that are normalised together; marks after one of them that are looked at
SHORT = 100_000  # characters; a longer text is counted in little memory
_UNTOLD = re.compile(r"und|zxx|mis|mul|art|q[a-t][a-z]")
_FORMER = {"id": "in", "he": "iw"}  # languages that X names by their codes from before 1989


def compute_worth(occurrences: int) -> float:
    """Return f(x) = 1 + ln x for x > 0, else 0: the value of a user or link with that many occurrences."""
    return 1.0 + math.log(occurrences) if occurrences > 0 else 0.0


def count_within(text: str, spans: Iterable[Sequence[int]], count: Callable[[str], int]) -> int:
    """Return the occurrences in parts of a text, each once: parts that overlap or touch are one.

    Args:
        text: the whole.
        spans: (from, to) of the parts, places of characters in any order.
        count: counts occurrences in a text.
    """
    clipped = ((max(0, begin), min(end, len(text))) for begin, end in spans)
    return sum(count(text[begin:end]) for begin, end in merge_spans(clipped))


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of some parts of a text, in order and apart from each other; empty ones are none."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if begin >= end:
            continue
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def fold(text: str) -> str:
    """Return the form in which texts and keywords are compared: Unicode NFKC, case folded, one i, one apostrophe."""
    if text.isascii():
        return text.lower()
    if len(text) > PIECE:
        return "".join(map(_fold, _split_text(text)))
    return _fold(text)


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = folded.replace("\u0131", "i").replace("\u2019", "'")  # dotless i, apostrophe
    return folded.replace("\ufe0f", "").replace("i\u0307", "i")  # "as a picture"; i with a dot


def may_join(letter: str) -> bool:
    """Return whether a character may become one with those before it: a mark, or a later part of a Hangul syllable."""
    first = unicodedata.normalize("NFKD", letter)[0]
    return unicodedata.category(first)[0] == "M" or "\u1160" <= first <= "\u11ff"


def _split_text(text: str) -> Iterator[str]:
    """Cut a long text where normalising the pieces is normalising the whole: before what is no mark and no part of one.

    Time to normalise grows with the square of a run of marks. One that is longer than any language's is cut too.
    """
    begin, end = 0, PIECE
    while end < len(text):
        last = end + RUN
        while end < min(last, len(text)) and may_join(text[end]):
            end += 1
        yield text[begin:end]
        begin, end = end, end + PIECE
    yield text[begin:]


@dataclass(frozen=True, slots=True)
class Links:
    """What makes a link, and how much an occurrence counts for it: 0 for not at all.

    alpha(u, v) = f(sum of weight * occurrences over u's posts that name v, + `follows` where u follows v).

    Attributes:
        mentions: of a post that names v in any way of which nothing else is said below.
        replies, reposts, quotes: of one that does so by answering, repeating or quoting v; None: as mentions.
        follows: what it is worth that u follows v, whatever u writes.
    """

    mentions: int = 1
    replies: int | None = None
    reposts: int | None = None
    quotes: int | None = None
    follows: int = 0

    def get_weight(self, kind: str) -> int:
        """Return the weight of a kind of mention (mention | reply | repost | quote)."""
        own = {"reply": self.replies, "repost": self.reposts, "quote": self.quotes}.get(kind)
        return self.mentions if own is None else own

    @classmethod
    def of(cls, given: Mapping[str, int]) -> "Links":
        """Return the links of the kinds named, by their weights; no kind named is mentions."""
        if not given:
            return cls()
        replies, reposts, quotes = (given.get(kind) for kind in WAYS)
        return cls(given.get("mentions", 0), replies, reposts, quotes, given.get("follows", 0))

    @property
    def plain(self) -> bool:
        """Whether all mentions count alike, once."""
        return all(self.get_weight(kind) == 1 for kind in KINDS)


@dataclass(frozen=True)
class Topic:
    """What a campaign is about: keywords, phrases, prefixes (`modul*`) and, on request, regular expressions.

    Keywords and phrases match whole words without regard to case; the words of a phrase may be parted by any white
    space. Occurrences do not overlap, and where two keywords start at the same place the longer one counts.
    Regular expressions (`patterns`) see the folded text (NFKC, lower case) and ignore case.

    Keywords that are hashtags, cashtags, @names or addresses of the web match what the platform takes for such: not
    `#climate` in `#climatestrike`, and a link by where it leads. An address matches those below it, too, and counts
    once a post. So does a name with its domain where texts show names without: in posts that name the account.

    Attributes:
        keywords, patterns: see above.
        languages: BCP 47 tags of the languages whose posts count; none: all of them.
        begin, end: posts count that were written at `begin` or later and before `end`, Unix seconds.
        judge: what counts the occurrences in a text in place of the keywords, such as a classifier (1 or 0).
        entities: what the platform finds in texts beside words.

    Raises:
        SettingsError: no keyword at all and no judge, an empty one, one that is only `*`, or an expression that is not
            valid or matches the empty text.
    """

    keywords: Sequence[str] = ()
    patterns: Sequence[str] = ()
    languages: Sequence[str] = ()
    begin: float | None = None
    end: float | None = None
    judge: Callable[[str], int] | None = None
    entities: Entities = NONE
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _addresses: Sequence[str] = field(init=False, repr=False, compare=False)
    _accounts: Mapping[str, re.Pattern[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_lists(self.keywords, self.patterns, needed=self.judge is None)
        addresses = {word: _read_prefix(word, self.entities.address) for word in self.keywords}
        words = [word for word, address in addresses.items() if address is None]
        object.__setattr__(self, "_compiled", _compile(words, self.patterns, self.entities))
        object.__setattr__(self, "_addresses", tuple(filter(None, addresses.values())))
        accounts = {word: _read_prefix(word, self.entities.find_account) for word in words}
        spelled = {name: _compile([word], (), self.entities) for word, name in accounts.items() if name is not None}
        object.__setattr__(self, "_accounts", spelled)

    def count(self, text: str, urls: str | None = None, names: str | None = None) -> int:
        """Return the number of occurrences of the topic in `text`: one compiled pass; an empty match is none.

        Args:
            text: the post.
            urls: see `hits`.
            names: see `hits`.
        """
        if self.judge is not None:
            return self.judge(text)
        linked = count_addresses(self._addresses, text, urls) if self._addresses else 0
        linked += self._count_names(text, names) if self._accounts and names else 0
        if not self.patterns and len(text) <= SHORT:  # faster, but makes a list of all that it finds
            return linked + len(self._compiled.findall(fold(text)))
        return linked + sum(match.end() > match.start() for match in self._compiled.finditer(fold(text)))

    def find_words(self, folded: str) -> list[tuple[int, int]]:
        """Return the places (from, to) of keywords and expressions in a folded text; not of addresses in its links."""
        return [match.span() for match in self._compiled.finditer(folded) if match.end() > match.start()]

    def hits(
        self,
        text: str,
        lang: str | None = None,
        created_at: str | None = None,
        urls: str | None = None,
        names: str | None = None,
        /,
    ) -> int:
        """Return the occurrences that count in a post: none if it is in another language, or was not written in time.

        A post without a language or a time counts too.

        Args:
            text: the post.
            lang: its language as the platform has it, a BCP 47 tag.
            created_at: when it was written, ISO 8601.
            urls: where its links lead, as the platform says, as a JSON list.
            names: other accounts that it mentions, answers or reposts, as the platform calls them, as a JSON list.
        """
        if self.languages and not self._is_in_language(lang):
            return 0
        if (self.begin is not None or self.end is not None) and not self._is_in_time(created_at):
            return 0
        return self.count(text, urls, names)

    def _count_names(self, text: str, names: str) -> int:
        """Return the accounts among the keywords that a post names and does not spell in full: those count as words."""
        folded = fold(text)
        known = [str(name).lower() for name in orjson.loads(names)]
        return sum(
            spelled.search(folded) is None
            and any(one.startswith(name[:-1]) if name.endswith("*") else one == name for one in known)
            for name, spelled in self._accounts.items()
        )

    def _is_in_language(self, lang: str | None) -> bool:
        """Return whether `lang` is one of the languages; zh takes in zh-TW, and zh alone may be zh-TW."""
        language = normalize_language(lang or "und").lower()
        if _UNTOLD.fullmatch(language):
            return True
        own = [normalize_language(one).lower() for one in self.languages]
        return any(language == one or language.startswith(f"{one}-") or one.startswith(f"{language}-") for one in own)

    def _is_in_time(self, created_at: str | None) -> bool:
        try:
            at = parse_time(created_at or "")
        except (ValueError, OverflowError):
            return True
        return (self.begin is None or at >= self.begin) and (self.end is None or at < self.end)

    def build_queries(self, longest: int = 512) -> list[str]:
        """Return the queries that find this topic by an API's keyword search, each at most `longest` characters.

        Languages are asked for too; the time is not, as recent search refuses times that it does not reach.

        A prefix is searched by its stem (the APIs have no wildcard); regular expressions cannot be searched. A phrase
        that is too long is searched by its first words; what cannot be searched at all is left out.
        """
        spoken = " OR ".join(f"lang:{normalize_language(one)}" for one in self.languages)
        spoken = f" ({spoken})" if len(self.languages) > 1 else f" {spoken}" if spoken else ""
        room = longest - len(spoken) - 2 if spoken else longest
        queries: list[list[str]] = []
        for term in dict.fromkeys(_write_term(word, room, self.entities) for word in self.keywords):
            if not term:
                continue
            if queries and len(" OR ".join([*queries[-1], term])) <= room:
                queries[-1].append(term)
            else:
                queries.append([term])
        # Standing side by side binds before OR.
        return [
            (f"({' OR '.join(terms)})" if spoken and len(terms) > 1 else " OR ".join(terms)) + spoken
            for terms in queries
        ]


def normalize_language(language: str) -> str:
    """Return the BCP 47 tag of a language as X writes it: its code in lower case, the older one of two."""
    code, *rest = language.split("-")
    return "-".join([_FORMER.get(code.lower(), code.lower()), *rest])


def _check_lists(keywords: Sequence[str], patterns: Sequence[str], *, needed: bool) -> None:
    if isinstance(keywords, str) or isinstance(patterns, str):
        raise SettingsError('keywords is a list: write keywords = ["word", "a phrase"], with brackets.')
    if needed and not keywords and not patterns:
        raise SettingsError('The topic has no keywords: name at least one, as keywords = ["word", "a phrase"].')


def _read_prefix(keyword: str, read: Callable[[str], str | None]) -> str | None:
    """Return what a keyword is read as, its final `*` included; None where it is a word."""
    found = read(keyword.strip().removesuffix("*"))
    return f"{found}*" if found and keyword.endswith("*") else found


def _compile(keywords: Sequence[str], patterns: Sequence[str], entities: Entities) -> re.Pattern[str]:
    longest_first = sorted(keywords, key=lambda word: len(fold(word.removesuffix("*"))), reverse=True)
    for pattern in patterns:
        _check(pattern)
    words = _list_alternatives([_Word.of(word, entities) for word in longest_first])
    alternatives = [*words, *(f"(?:{pattern})" for pattern in patterns)] or ["(?!)"]
    return re.compile(
        "|".join(alternatives), re.IGNORECASE if patterns else 0
    )  # words and texts are folded: no case is left


class _Word(NamedTuple):
    """A keyword as an expression: of its parts the first letter, what may not stand before it, the rest, and behind."""

    first: str
    before: str
    rest: str
    after: str

    @classmethod
    def of(cls, keyword: str, entities: Entities) -> "_Word":
        """Read a keyword.

        Raises:
            SettingsError: it is empty.
        """
        stem = fold(keyword.removesuffix("*"))
        words = stem.split()
        if not words:
            raise SettingsError(f"The keyword {keyword!r} is empty: remove it, or write a word.")
        mark = entities.mark(stem.strip())
        if mark is not None:
            before, after = mark.edges
        else:
            before = "" if is_unspaced(words[0][0]) else make_letter_pattern()
            after = "" if is_unspaced(words[-1][-1]) else make_letter_pattern()
        rest = r"\s+".join(map(re.escape, [words[0][1:], *words[1:]]))
        return cls(words[0][0], before, rest, "" if keyword.endswith("*") else after)


def _list_alternatives(words: Sequence[_Word]) -> Iterator[str]:
    """Yield the expressions of keywords, the longest first, of which the first that fits counts.

    Sets of letters are long, and named as rarely as can be: they take most of the time to compile. "No letter before"
    is asked after the first letter was found, and the second one behind it, as a search for letters is several times
    faster than one that begins with a question. Keywords that begin with different letters are in nobody's way: they
    are sorted by that.
    """
    for before in dict.fromkeys(word.before for word in words):
        alike = [word for word in words if word.before == before]
        heads = "".join(dict.fromkeys(re.escape(word.first) for word in alike))
        asked = rf"(?<!{before}[{heads}])" if before else ""
        runs = "|".join(_write_run(list(run), after) for after, run in groupby(alike, key=lambda word: word.after))
        seconds = "".join(dict.fromkeys(word.rest[: 1 + word.rest.startswith("\\")] for word in alike))
        near = f"(?=[{seconds}])" if all(word.rest for word in alike) else ""
        yield f"[{heads}]{near}{asked}(?:{runs})"


def _write_run(words: Sequence[_Word], after: str) -> str:
    """Return the expression of some keywords behind their first letters, in their order where these are the same."""
    rests: dict[str, list[str]] = {}
    for word in words:
        rests.setdefault(word.first, []).append(word.rest)
    lookbehinds = "|".join(rf"(?<={re.escape(first)})(?:{'|'.join(each)})" for first, each in rests.items())
    return f"(?:{lookbehinds})(?!{after})" if after else lookbehinds


def _check(pattern: str) -> None:
    try:
        re.compile(f"(?:{pattern})")  # as it will stand among others: no flags for the whole expression
        compiled = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise SettingsError(f"The regular expression {pattern!r} is not valid: {error}.") from error
    if compiled.match(""):
        raise SettingsError(f"The regular expression {pattern!r} matches the empty text: it would count everything.")
    if compiled.groupindex or re.search(r"\\[1-9]|\(\?\(", pattern):
        raise SettingsError(f"The regular expression {pattern!r} names or refers to groups: write it without.")


def _write_term(keyword: str, longest: int, entities: Entities) -> str:
    """Return a keyword as a search writes it: quoted where it is not one plain word; "" if it cannot be searched.

    What is quoted finds words: hashtags and their like are not, and addresses have an operator.
    """
    stem = keyword.strip().removesuffix("*")
    address = entities.address(stem)
    term = f'url:"{address}"' if address else stem if entities.mark(fold(stem)) else ""
    if term:
        return term if len(term) <= longest else ""
    words = keyword.rstrip("*").replace('"', " ").split()
    while words:
        plain = " ".join(words)
        term = f'"{plain}"' if re.search(r"\W", plain) or plain in ("AND", "OR", "NOT") else plain
        if len(term) <= longest:
            return term
        words.pop()
    return ""


NOTHING = Topic(patterns=("(?!)",))
"""The topic of a campaign that has none: no text is about it."""
