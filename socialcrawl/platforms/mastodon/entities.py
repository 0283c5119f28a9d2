"""What Mastodon finds in a text: hashtags and names by its own expressions (Tag, Account), and links.

It knows no cashtags, and its texts show a name without its domain: whom a post mentions, its data say.
"""

from socialcrawl.platforms.mastodon import account_names
from socialcrawl.text.entities import Entities, Mark

_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"
_BETWEEN = r"\xb7\u30fb\u200c"  # within a hashtag, not at its end

HASHTAG = Mark(
    "#",
    rf"[{_WORD}][{_WORD}{_BETWEEN}]*[\p{{Alphabetic}}{_BETWEEN}][{_WORD}{_BETWEEN}]*[{_WORD}]"
    rf"|[{_WORD}]*\p{{Alphabetic}}[{_WORD}]*",
    r"[=/)\p{L}\p{M}\p{Nd}_]",
    rf"[{_BETWEEN}]*+{{inside}}",
    rf"[{_WORD}]",
)
NAME = Mark(
    "@",
    rf"[a-z0-9_]+(?:[.\-]+[a-z0-9_]+)*(?:@[{_WORD}]+(?:[.\-]+[{_WORD}]+)*)?",
    rf"[=/{_WORD}]",
    "[.-]*+[a-z0-9_]",
)


def _complete_name(word: str) -> str | None:
    found = account_names.complete_name(word, "")
    return found if word.startswith("@") and account_names.is_legal(found) else None


ENTITIES = Entities((HASHTAG, NAME), addresses=True, full_name=_complete_name)
