"""Where a word may end, by the properties that Unicode gives each character (package regex)."""

import re
from functools import cache
from itertools import pairwise

import regex

# Scripts written without spaces between words: UAX 14 breaks their lines by dictionary, by syllable or anywhere.
SCRIPTS = (
    "Ahom", "Balinese", "Batak", "Bopomofo", "Brahmi", "Cham", "Dives_Akuru", "Grantha", "Gurung_Khema", "Han",
    "Hiragana", "Javanese", "Katakana", "Kawi", "Khitan_Small_Script", "Khmer", "Lao", "Makasar", "Myanmar",
    "New_Tai_Lue", "Nushu", "Tai_Le", "Tai_Tham", "Tai_Viet", "Tangut", "Thai", "Tulu_Tigalari", "Yi",
)  # fmt: skip
_WITHIN = "".join(rf"\p{{sc={name}}}" for name in SCRIPTS)
_SHARED = r"\p{lb=ID}\p{lb=CJ}\p{lb=NS}"  # signs that several of them share, such as the long vowel of kana
_PICTURES = r"\p{So}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{blk=Misc_Symbols}\p{blk=Dingbats}"
UNSPACED = rf"[{_WITHIN}{_SHARED}{_PICTURES}]"
LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--{UNSPACED}--\p{{Variation_Selector}}]"
"""What may not stand beside a whole word: letters with their marks, and digits, of scripts with spaces."""
# Both are sets as version 1 of regex writes them. `re` matches a short list of ranges several times faster.

_SEARCHABLE = rf"[\p{{L}}\p{{N}}{_PICTURES}]"

_ENDS = 0x20000  # what comes later is Chinese, unassigned, or a variation selector


@cache
def is_unspaced(letter: str) -> bool:
    """Return whether both sides of a character are edges of words: it is a picture, or of a script without spaces."""
    return regex.fullmatch(UNSPACED, letter, regex.V1) is not None


def is_searchable(text: str) -> bool:
    """Return whether a text has anything that searches find: a letter, a digit or a picture."""
    return regex.search(_SEARCHABLE, text, regex.V1) is not None


@cache
def make_letter_pattern() -> str:
    """Return an expression of `re` for one character of LETTER. The first call takes about 0.05 s."""
    return make_pattern(LETTER)


@cache
def make_pattern(wanted: str) -> str:
    r"""Return an expression of `re` for one character of a set that `regex` knows.

    Its ranges are those by which the set differs from `\w`; unassigned characters fall where that is shorter.
    """
    every = "".join(map(chr, range(_ENDS)))
    found = (
        re.finditer(r"\w+", every),
        regex.finditer(f"{wanted}+", every, regex.V1),
        regex.finditer(r"\P{Cn}+", every),
    )
    kinds = [{place for run in runs for place in run.span()} for runs in found]
    less, more, state = _Ranges(), _Ranges(), [False, False, False]
    places = sorted({0, _ENDS}.union(*kinds))
    for first, end in pairwise(places):
        state = [inside != (first in turns) for inside, turns in zip(state, kinds, strict=True)]
        word, inside, assigned = state
        less.add(first, end - 1, wanted=word and not inside, free=not word)
        more.add(first, end - 1, wanted=inside and not word, free=inside or not assigned)
    rest = "" if regex.fullmatch(wanted, chr(_ENDS), regex.V1) else f"{chr(_ENDS)}-{chr(0x10FFFF)}"
    return rf"(?:[^\W{less}{rest}]|[{more}])"


class _Ranges:
    """Ranges of characters as a set of `re` lists them; they may hold characters that are `free` to be in or out."""

    def __init__(self) -> None:
        self._found: list[list[int]] = []
        self._open = False

    def add(self, first: int, last: int, *, wanted: bool, free: bool) -> None:
        """Take in the characters from `first` to `last` where they are wanted; called in their order."""
        if wanted and self._open:
            self._found[-1][1] = last
        elif wanted:
            self._found.append([first, last])
        self._open = wanted or (self._open and free)

    def __str__(self) -> str:
        return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in self._found)
