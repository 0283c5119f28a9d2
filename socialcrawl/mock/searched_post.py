"""A post as a search compares it: its words, names and tags, folded as the platform folds them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from unicodedata import normalize

from socialcrawl.lab.post_table import fold_name

WORD = re.compile(r"\w+")
_BARE = re.compile(r"(?<!\w)[#@$]\w+|\w+")
_MARK = re.compile("[\u0300-\u036f]")

Fold = Callable[[str], str]


def fold_marks(text: str) -> str:
    """Return a text in lower case and without diacritics, as X's search compares it: `Café` is `cafe`."""
    low = fold_name(text)
    return low if low.isascii() else normalize("NFC", _MARK.sub("", normalize("NFD", low)))


@dataclass(frozen=True, slots=True)
class SearchedPost:
    """A post as search sees it; all names, tags and words folded, ids 0 where there is none.

    Attributes:
        text: the whole text.
        words: its words, in order.
        author, author_id: the name and the id of its author.
        mentions, tags, cashtags: the names, hashtags and cashtags in it, without their signs.
        links: whether it has any.
        replied: the name of the account that it answers.
        retweet: whether it repeats another.
        lang: its language code.
        urls: the words of each link's address.
        conversation: the id of the post that began the conversation.
        answers: the id of the post that it answers.
        repeats, repeated: the id of the post that it repeats, and the name of that post's author.
        quotes: the ids of the posts that it quotes, which are those to which it has links.
    """

    text: str
    words: tuple[str, ...]
    author: str
    mentions: frozenset[str]
    tags: frozenset[str]
    links: bool
    replied: str | None
    retweet: bool
    lang: str
    cashtags: frozenset[str] = frozenset()
    urls: tuple[tuple[str, ...], ...] = ()
    conversation: int = 0
    answers: int = 0
    repeats: int = 0
    repeated: str | None = None
    quotes: frozenset[int] = frozenset()
    author_id: str = ""

    @property
    def bare(self) -> tuple[str, ...]:
        """The words of the text, "" in place of those that belong to a hashtag, a name or a cashtag."""
        return tuple("" if found[0] in "#@$" else found for found in _BARE.findall(self.text))


def is_bare(text: str) -> bool:
    """Return whether a folded text has no hashtag, name or cashtag."""
    return _BARE.findall(text) == WORD.findall(text)
