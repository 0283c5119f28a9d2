"""The words of a post as searches find them: the same on every database, for stored posts and for queries. Pure.

Case, accents and width make no difference. Scripts without spaces between words, and pictures, become every two
neighbouring characters, and the last one alone: so any part of a run is found, as a phrase.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from socialcrawl.text.word_boundaries import LETTER, UNSPACED, make_pattern

MOST = 16_000  # words of a text that count: PostgreSQL counts positions up to 16,383
LONGEST = 64  # characters of a word that count
TAGGED = r"[[\p{L}\p{M}\p{N}_]--\p{Variation_Selector}]"
ASCII, ASCII_TAG = re.compile(r"[a-z0-9_]+"), re.compile(r"[#@](?<![a-z0-9_].)[a-z0-9_]+")


class PostWords(NamedTuple):
    """What searches find in a text.

    Attributes:
        words: in order.
        tags: hashtags and mentions, with their # or @; their words are among the `words` too.
    """

    words: list[str]
    tags: list[str]


class _Folding(dict[int, str]):
    """What each character is compared as, looked up once."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code).casefold()).lower()
        kept = "".join(part for part in parts if not "\u0300" <= part <= "\u036f")
        self[code] = unicodedata.normalize("NFC", kept)
        return self[code]


_folding = _Folding()


def normalize(text: str) -> str:
    """Return a text with accents as parts of their letters: `find_spans` counts the characters of this form."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Return a text as it is compared: without case, accents and width."""
    return text.lower() if text.isascii() else normalize(text).translate(_folding)


def read_words(text: str) -> PostWords:
    """Return the words, hashtags and mentions of a text."""
    folded = fold(text)
    tagged = "#" in folded or "@" in folded
    if folded.isascii():
        words, tags = ASCII.findall(folded), ASCII_TAG.findall(folded) if tagged else []
    else:
        word, tag = _make_patterns()
        words = [one for match in word.finditer(folded) for one in _split_run(match)]
        tags = tag.findall(folded) if tagged else []
    if len(folded) > LONGEST:
        words, tags = [one[:LONGEST] for one in words[:MOST]], [one[:LONGEST] for one in tags[:MOST]]
    return PostWords(words, tags)


def read_query_words(text: str) -> tuple[PostWords, bool]:
    """Return the words of a part of a query, and whether the last of them is only the beginning of a word.

    Where a run without spaces ends, the run that is searched may go on.
    """
    words, tags = read_words(text)
    runs = [match[1] for match in _make_patterns()[0].finditer(fold(text))]
    if not runs or runs[-1] is None:
        return PostWords(words, tags), False
    return (PostWords(words, tags), True) if len(runs[-1]) == 1 else (PostWords(words[:-1], tags), False)


def find_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a text as `read_words` has them, with the first character of each and the one after it.

    Args:
        text: a text as `normalize` returns it.
    """
    places: list[int] = []
    folded = []
    for place, letter in enumerate(text):
        folded.append(fold(letter))
        places += [place] * len(folded[-1])
    places.append(len(text))
    for match in _make_patterns()[0].finditer("".join(folded)):
        for number, word in enumerate(_split_run(match)):
            begin = match.start() + (number if match[1] is not None else 0)
            yield word[:LONGEST], places[begin], places[begin + len(word) - 1] + 1


def _split_run(match: re.Match[str]) -> Iterator[str]:
    run = match[0]
    if match[1] is None:
        yield run
    else:
        yield from (run[place : place + 2] for place in range(len(run)))


@cache
def _make_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the expressions for words, where group 1 is a run without spaces, and for tags."""
    letter, unspaced, tagged = make_pattern(LETTER), make_pattern(UNSPACED), make_pattern(TAGGED)
    return re.compile(f"({unspaced}+)|{letter}+"), re.compile(f"[#@](?<!{letter}.){tagged}+")
